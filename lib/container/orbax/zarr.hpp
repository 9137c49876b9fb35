// Zarr arrays, versions 2 and 3, as far as a scaler's values need them: arrays of one chunk. What an array is stands in
// a JSON document (`.zarray`, `zarr.json`), its elements in the chunk, behind a chain of encodings. Source: the
// specifications of zarr 2 and 3, and of zarr 3's sharding_indexed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/budget.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

enum class ZarrCodec : std::uint8_t {
  zstd,
  crc32c,        ///< four bytes behind the others
  shard_of_one,  ///< sharding_indexed with one inner chunk: its place (two u64) and a CRC-32C of that behind it
};

struct ZarrArray {
  Tensor tensor;
  std::vector<ZarrCodec> codecs;  ///< in the order of encoding
  std::string chunk;              ///< the key of the only one, below the array's own: "0", "c", "c/0/0"
};

/// The document's name below an array's key.
inline constexpr std::string_view zarr2_document = ".zarray";
inline constexpr std::string_view zarr3_document = "zarr.json";

/// The array that a document describes. `name` is whose it is, `budget` that of what it stands in. Throws `corrupt`
/// where the document is none, and `unsupported`, saying of what, for an array of several chunks or one that is encoded
/// another way.
ZarrArray zarr_array(ByteView document, std::string_view document_name, const std::string& name,
                     const std::shared_ptr<Budget>& budget = nullptr);

/// The elements in a chunk, and a chunk of elements: row-major, little-endian. Decoding throws `corrupt` where the
/// chunk is not what the array says. What it unpacks to is taken from `budget`, if there is one.
Bytes zarr_elements(const ZarrArray& array, ByteView chunk, const std::string& name, Budget* budget = nullptr);
Bytes zarr_chunk(const ZarrArray& array, ByteView elements);

}  // namespace tare
