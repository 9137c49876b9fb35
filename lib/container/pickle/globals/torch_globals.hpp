// What torch.load(weights_only=True) lets a pickle name, release by release: torch/_weights_only_unpickler.py of each.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tare {

/// A minor release, by its place in torch_releases().
using TorchRelease = std::size_t;

/// "1.13", which brought weights_only, to the newest that is known here, in their order.
std::span<const std::string_view> torch_releases();
TorchRelease newest_torch_release();
/// Of "2.6" or "2.6.1". Nothing for others; releases behind the newest are not known to allow what it does.
std::optional<TorchRelease> find_torch_release(std::string_view version);

/// The same; throws `invalid_argument` and names the releases.
TorchRelease require_torch_release(std::string_view version);

/// Whether that release takes the name as it is, without add_safe_globals.
bool weights_only_allows(TorchRelease release, std::string_view module, std::string_view name);
/// Whether some release does.
bool weights_only_ever_allowed(std::string_view module, std::string_view name);
/// The first release that does and from which on all do; nothing where the newest does not.
std::optional<TorchRelease> weights_only_since(std::string_view module, std::string_view name);

}  // namespace tare
