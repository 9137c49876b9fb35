// The records of MindSpore's `.ckpt`: a `Checkpoint` message, which is one `Value` after the other. A parameter is one
// record, or several in a row with its name, each a slice of its bytes and each with its whole shape; behind all there
// can be a checksum. Source: mindspore/ccsrc/utils/checkpoint.proto, mindspore/train/serialization.py.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/source.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

struct MindsporeParameter {
  std::string name;
  std::string type;                 ///< "Float32", "str" ...; empty for a map parameter, whose parts are not read
  std::vector<std::int64_t> shape;  ///< empty for a scalar, which files say by no dims or by [0]
  std::vector<Span> slices;         ///< its bytes, in order
};

/// Type and shape; the type is one of size 0 where tare does not know it.
Tensor described(const MindsporeParameter& parameter);

struct MindsporeRecords {
  std::vector<MindsporeParameter> parameters;  ///< in file order, no name twice
  std::optional<Span> checksum;                ///< ten bytes, big-endian: the CRC-32 of all before "crc_num"
};

/// "crc_num", which stands between the records and the checksum.
inline constexpr std::string_view mindspore_checksum_word = "crc_num";

/// Hops over the records; no tensor is read. Throws `corrupt` for what MindSpore could not load or did not write: a
/// field cut off or missing, a name twice, slices that do not agree, another number of bytes than the shape needs.
MindsporeRecords read_mindspore_records(const Source& source);

}  // namespace tare
