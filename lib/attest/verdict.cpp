#include "lib/attest/verdict.hpp"

#include "lib/attest/framework_class.hpp"
#include "lib/container/pickle/read/global.hpp"

namespace tare {

std::string_view name(Verdict verdict) {
  constexpr std::string_view names[] = {"allowed", "framework", "unknown", "dangerous"};
  return names[static_cast<std::size_t>(verdict)];
}

Verdict verdict_of(std::string_view module, std::string_view name, TorchRelease release) {
  if (weights_only_allows(release, module, name)) return Verdict::allowed;
  if (trust_of(module, name) == Trust::dangerous) return Verdict::dangerous;
  const bool is_known = is_framework_class(module, name) || weights_only_ever_allowed(module, name);
  return is_known ? Verdict::framework : Verdict::unknown;
}

}  // namespace tare
