#include "lib/base/distant_files.hpp"

namespace tare {

bool is_distant(const Files& files) {
  return dynamic_cast<const DistantFiles*>(&files) != nullptr;
}

std::size_t most_at_once(const Files& files) {
  constexpr std::size_t of_a_disk = 16;
  if (!files.is_shareable()) return 1;
  const auto* distant = dynamic_cast<const DistantFiles*>(&files);
  return distant == nullptr ? of_a_disk : distant->most_at_once();
}

bool lists_all(const Files& files, const std::string& folder) {
  const auto* distant = dynamic_cast<const DistantFiles*>(&files);
  return distant == nullptr || distant->lists_all(folder);
}

}  // namespace tare
