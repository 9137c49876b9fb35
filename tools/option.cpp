#include "tools/option.hpp"

OptionTable joined(std::initializer_list<OptionTable> tables) {
  OptionTable all;
  for (const OptionTable& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}
