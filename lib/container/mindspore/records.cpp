#include "lib/container/mindspore/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/keyed_hash.hpp"
#include "lib/base/letters.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/protobuf.hpp"

namespace tare {
namespace {

constexpr std::uint64_t checksum_size = 10;
constexpr std::uint64_t longest_type = 64;
constexpr std::uint64_t bytes_a_parameter = sizeof(MindsporeParameter) + 64;  // with its name among the others

/// Field numbers of checkpoint.proto.
namespace checkpoint_field {
constexpr std::uint64_t value = 1;
}
namespace value_field {
constexpr std::uint64_t tag = 1, tensor = 2, map_tensor = 3;
}
namespace tensor_field {
constexpr std::uint64_t dims = 1, type = 2, content = 3;
}

std::optional<Span> find_checksum(const Source& source) {
  constexpr std::uint64_t trailer = mindspore_checksum_word.size() + checksum_size;
  if (source.size() < trailer) return std::nullopt;
  const Bytes word = source.read({source.size() - trailer, mindspore_checksum_word.size()});
  if (as_text(word) != mindspore_checksum_word) return std::nullopt;
  return Span{source.size() - checksum_size, checksum_size};
}

std::uint64_t stored_bytes(const MindsporeParameter& parameter) {
  const auto add = [](std::uint64_t sum, const Span& slice) { return sum + slice.size; };
  return std::accumulate(parameter.slices.begin(), parameter.slices.end(), std::uint64_t{0}, add);
}

class RecordReader {
 public:
  explicit RecordReader(const Source& source) : source_(source), protobuf_(source) {}

  MindsporeRecords read() {
    records_.checksum = find_checksum(source_);
    const std::uint64_t trailer = records_.checksum ? checksum_size + mindspore_checksum_word.size() : 0;
    Span rest{0, source_.size() - trailer};
    while (rest.size > 0) {
      at_ = rest.offset;
      const ProtobufField field = protobuf_.take(rest);
      if (field.number != checkpoint_field::value || !field.is_run) fail("no record of a parameter");
      add(read_value(field.run));
    }
    require_whole();
    return std::move(records_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(Status::corrupt, fmt::format("{}: MindSpore record at offset {}: {}", source_.name(), at_, problem),
                "the file is damaged, or was never finished: take another copy");
  }

  void require_run(const ProtobufField& field, bool is_first) const {
    if (!field.is_run) fail(fmt::format("field {} is a number", field.number));
    if (!is_first) fail(fmt::format("field {} is there twice", field.number));
  }

  MindsporeParameter read_value(Span message) {
    MindsporeParameter parameter;
    bool has_tensor = false;
    while (message.size > 0) {
      const ProtobufField field = protobuf_.take(message);
      if (field.number == value_field::tag) {
        require_run(field, parameter.name.empty());
        parameter.name = protobuf_.text(field.run, limits::max_parameter_name_bytes);
      } else if (field.number == value_field::tensor || field.number == value_field::map_tensor) {
        require_run(field, !has_tensor);
        has_tensor = true;
        if (field.number == value_field::tensor) read_tensor(field.run, parameter);
      }
    }
    if (parameter.name.empty()) fail("has no name");
    if (!has_tensor) fail(fmt::format("{} has no tensor", parameter.name));
    return parameter;
  }

  void read_tensor(Span message, MindsporeParameter& parameter) {
    while (message.size > 0) {
      const ProtobufField field = protobuf_.take(message);
      if (field.number == tensor_field::dims) {
        protobuf_.add_numbers(field, parameter.shape, limits::max_tensor_dimensions);
      } else if (field.number == tensor_field::type) {
        require_run(field, parameter.type.empty());
        parameter.type = protobuf_.text(field.run, longest_type);
      } else if (field.number == tensor_field::content) {
        require_run(field, parameter.slices.empty());
        parameter.slices.push_back(field.run);
      }
    }
    if (parameter.type.empty()) fail(fmt::format("{} has no type", parameter.name));
    if (parameter.slices.empty()) fail(fmt::format("{} has no contents", parameter.name));
    if (parameter.shape == std::vector<std::int64_t>{0}) parameter.shape.clear();
  }

  /// A record of its own, or the next slice of the one before.
  void add(MindsporeParameter next) {
    auto& parameters = records_.parameters;
    if (!parameters.empty() && parameters.back().name == next.name && !next.slices.empty()) {
      MindsporeParameter& whole = parameters.back();
      if (whole.type != next.type || whole.shape != next.shape) {
        fail(fmt::format("a slice of {} with another type or shape than the one before", next.name));
      }
      whole.slices.push_back(next.slices.front());
      return;
    }
    require_whole();
    if (parameters.size() == limits::max_parameters) {
      throw Error(Status::refused, fmt::format("{}: more than {} parameters", source_.name(), limits::max_parameters));
    }
    source_.budget()->take_memory(bytes_a_parameter + 2 * next.name.size() +
                                  next.shape.size() * sizeof(next.shape.front()));
    if (!names_.insert(next.name).second) fail(fmt::format("{} is there twice", next.name));
    parameters.push_back(std::move(next));
  }

  /// The last parameter has all of its bytes.
  void require_whole() const {
    if (records_.parameters.empty()) return;
    const MindsporeParameter& last = records_.parameters.back();
    const Tensor tensor = described(last);
    if (tensor.type.size == 0) return;
    const std::uint64_t count = tensor.count();
    const std::uint64_t stored = stored_bytes(last);
    if (stored % tensor.type.size == 0 && stored / tensor.type.size == count) return;
    throw Error(Status::corrupt,
                fmt::format("{}: {} has {} bytes, and its shape [{}] of {} needs {} elements", source_.name(),
                            last.name, stored, fmt::join(last.shape, ", "), last.type, count),
                "the file is damaged, or was never finished: take another copy");
  }

  const Source& source_;
  ProtobufReader protobuf_;
  MindsporeRecords records_;
  std::unordered_set<std::string, KeyedHash> names_;
  std::uint64_t at_ = 0;  ///< of the record that is read
};

}  // namespace

Tensor described(const MindsporeParameter& parameter) {
  // MindSpore's names of types are torch's, with capitals: "Float32", "BFloat16".
  Tensor tensor;
  tensor.library = "tensor";
  tensor.type = element_type(in_small_letters(parameter.type));
  tensor.shape = parameter.shape;
  return tensor;
}

MindsporeRecords read_mindspore_records(const Source& source) {
  return RecordReader(source).read();
}

}  // namespace tare
