// What loaders could take a file for beside what it is: a pickle that starts with the same bytes, a tar archive, a zip
// at its end, HDF5 behind a block of the user's. Loaders go by their own first look, not by the file's format.
#pragma once

#include <string_view>

#include "lib/attest/doubt.hpp"
#include "lib/base/source.hpp"
#include "lib/container/pickle/read/probe.hpp"

namespace tare {

/// Without words where there is nothing of the kind. `format` is the container's, or one of these.
Doubt other_nature(const Source& source, std::string_view format);

/// What loaders of pickles come to. REQUIRES: they do not fail at once.
std::string words_of(const PickleProbe& probe);

/// Formats of files that are no container's.
inline constexpr std::string_view text_format = "text";
inline constexpr std::string_view picture_format = "picture";
inline constexpr std::string_view record_format = "records";  ///< of a tokenizer, of events
inline constexpr std::string_view zip_format = "zip";         ///< of no framework
inline constexpr std::string_view compressed_format = "compressed";
inline constexpr std::string_view elements_format = "elements";  ///< packed or not, that another file speaks of
inline constexpr std::string_view parts_format = "parts";        ///< which are judged one by one; some may be archives

}  // namespace tare
