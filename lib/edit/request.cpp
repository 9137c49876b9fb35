#include "lib/edit/request.hpp"

#include "lib/base/error.hpp"

namespace tare {

Assignment parse_assignment(const std::string& text) {
  const std::size_t middle = text.find('=');
  if (middle == std::string::npos || middle == 0) {
    throw Error(Status::invalid_argument, "'" + text + "' is no KEY=VALUE", "write it as scale=65536");
  }
  return {text.substr(0, middle), text.substr(middle + 1)};
}

}  // namespace tare
