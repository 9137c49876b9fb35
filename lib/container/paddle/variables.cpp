// A file: u32 version, u64 count of levels of detail and for each its size and bytes, u32 version of the tensor, i32
// size of its description (protobuf: type, dims), the elements up to the end.
#include "lib/container/paddle/variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/file_variables.hpp"
#include "lib/container/protobuf.hpp"

namespace tare {
namespace {

constexpr std::string_view format_name = "paddle_lod_tensor";
constexpr std::uint64_t most_levels = 16;
constexpr std::uint64_t longest_description = 1024;

struct TypeCode {
  std::uint64_t code;
  std::string_view type;
};

/// framework.proto's VarType.Type.
constexpr auto type_codes = std::to_array<TypeCode>({
    {0, "bool"},
    {1, "int16"},
    {2, "int32"},
    {3, "int64"},
    {4, "float16"},
    {5, "float32"},
    {6, "float64"},
    {20, "uint8"},
    {21, "int8"},
    {22, "bfloat16"},
    {23, "complex64"},
    {24, "complex128"},
    {32, "float8_e4m3fn"},
    {33, "float8_e5m2"},
});

class VariableReader {
 public:
  explicit VariableReader(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  FileVariable read() {
    if (number<std::uint32_t>() != 0) fail("a version that tare does not know");
    const auto levels = number<std::uint64_t>();
    if (levels > most_levels) fail(fmt::format("{} levels of detail", levels));
    for (std::uint64_t i = 0; i < levels; ++i) skip(number<std::uint64_t>());
    if (number<std::uint32_t>() != 0) fail("a version of the tensor that tare does not know");
    const auto size = number<std::int32_t>();
    if (size <= 0 || static_cast<std::uint64_t>(size) > std::min(longest_description, rest())) {
      fail(fmt::format("a description of {} bytes", size));
    }
    FileVariable variable{source_, described({at_, static_cast<std::uint64_t>(size)}), {}, "", 0};
    skip(static_cast<std::uint64_t>(size));
    variable.elements = {at_, rest()};
    check(variable);
    return variable;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(Status::corrupt, fmt::format("{}: Paddle variable at offset {}: {}", source_->name(), at_, problem),
                "the file is damaged, or is no variable of paddle.static.io.save_vars");
  }

  [[nodiscard]] std::uint64_t rest() const { return source_->size() - at_; }

  void skip(std::uint64_t size) {
    if (size > rest()) fail(fmt::format("{} bytes, where {} are left", size, rest()));
    at_ += size;
  }

  template <Plain T>
  T number() {
    if (rest() < sizeof(T)) fail("ends too soon");
    const T value = load_le<T>(source_->read({at_, sizeof(T)}).data());
    at_ += sizeof(T);
    return value;
  }

  [[nodiscard]] Tensor described(Span message) const {
    Tensor tensor;
    tensor.library = "tensor";
    ProtobufReader protobuf(*source_);
    while (message.size > 0) {
      const ProtobufField field = protobuf.take(message);
      if (field.number == 1 && !field.is_run) tensor.type = type_of(field.value);
      if (field.number == 2) protobuf.add_numbers(field, tensor.shape, limits::max_tensor_dimensions);
    }
    return tensor;
  }

  static ElementType type_of(std::uint64_t code) {
    const auto known =
        std::find_if(type_codes.begin(), type_codes.end(), [&](const auto& t) { return t.code == code; });
    return known == type_codes.end() ? ElementType{} : element_type(known->type);
  }

  void check(const FileVariable& variable) const {
    const Tensor& tensor = variable.tensor;
    if (tensor.type.size == 0) fail("a type that tare does not know");
    const std::uint64_t size = variable.elements.size;
    if (size % tensor.type.size == 0 && size / tensor.type.size == tensor.count()) return;
    fail(fmt::format("{} bytes are not what {} takes", size, tensor.type_text()));
  }

  std::shared_ptr<const Source> source_;
  std::uint64_t at_ = 0;
};

}  // namespace

bool starts_like_paddle_variable(ByteView head) {
  // Two versions of 0 around a count of no levels, and a description that starts with its type.
  constexpr std::size_t zeros = 16;
  constexpr std::byte type_field{0x08};
  if (head.size() <= zeros + sizeof(std::uint32_t)) return false;
  const auto size = load_le<std::uint32_t>(head.data() + zeros);
  const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
  return std::all_of(head.begin(), head.begin() + zeros, is_zero) && size >= 2 && size <= longest_description &&
         head[zeros + sizeof(std::uint32_t)] == type_field;
}

std::unique_ptr<Container> open_paddle_variable(const std::shared_ptr<const Source>& source) {
  return open_file_variables(format_name, {VariableReader(source).read()}, {});
}

std::unique_ptr<Container> open_paddle_variables(const SourceFolder& folder, const std::vector<std::string>& names) {
  std::vector<FileVariable> variables;
  variables.reserve(names.size());
  for (const std::string& name : names) {
    variables.push_back(VariableReader(folder.open(name)).read());
    variables.back().key = name;
    variables.back().part = variables.size() - 1;
  }
  return open_file_variables(format_name, std::move(variables), names);
}

}  // namespace tare
