// Drives anything that quantises matrices through those of tests/vectors/quantized.json, and counts what differs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tare::quantizer_vectors {

using Json = nlohmann::ordered_json;
using Bytes = std::vector<std::uint8_t>;

/// A matrix in host memory, with room for both sides.
struct Matrix {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::int32_t dtype = 0;
  Bytes values;
  Bytes rowwise, rowwise_scales, columnwise, columnwise_scales;
  float amax = 0;
  float scale = 0;
};

/// What quantises, by a configuration; any failure throws.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual void quantise(const std::string& config, Matrix& matrix) = 0;
  /// From the rowwise side, and from the columnwise one.
  virtual Bytes values_of_rows(const std::string& config, Matrix& matrix) = 0;
  virtual Bytes values_of_columns(const std::string& config, Matrix& matrix) = 0;
};

inline std::uint64_t splitmix64(std::uint64_t state) {
  std::uint64_t z = state + 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/// As make_quantized.py has them.
inline Bytes values_of(std::uint64_t seed, std::uint64_t rows, std::uint64_t columns, std::int32_t dtype,
                       std::uint64_t special) {
  static constexpr std::uint32_t specials[3][9] = {
      {0, 0x80000000, 1, 0x807FFFFF, 0x7F7FFFFF, 0x7FC00000, 0xFF812345, 0x7F800000, 0xFF800000},
      {0, 0x8000, 1, 0x83FF, 0x7BFF, 0x7E00, 0xFC01, 0x7C00, 0xFC00},
      {0, 0x8000, 1, 0x807F, 0x7F7F, 0x7FC0, 0xFF81, 0x7F80, 0xFF80}};
  const std::size_t size = dtype == 1 ? 4 : 2;
  Bytes bytes(rows * columns * size);
  for (std::uint64_t i = 0; i < rows * columns; ++i) {
    const std::uint64_t h = splitmix64((seed << 32) + i);
    const std::uint64_t row = i / columns;
    const std::uint64_t sign = h >> 16 & 1;
    const std::uint64_t octave = (h >> 33) % 14;
    std::uint64_t pattern = sign << 31 | (100 + row * 3 % 23 + octave) << 23 | (h >> 40 & 0x7FFFFF);
    if (dtype == 4) pattern >>= 16;
    if (dtype == 3) pattern = sign << 15 | (1 + row * 3 % 15 + octave) << 10 | (h >> 47 & 0x3FF);
    if (special != 0 && h % 61 == 0) pattern = specials[dtype == 1 ? 0 : dtype - 2][(h >> 8) % special];
    std::memcpy(bytes.data() + i * size, &pattern, size);
  }
  return bytes;
}

inline std::string hex(const Bytes& bytes) {
  std::string text;
  char digits[3];
  for (const std::uint8_t byte : bytes) {
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

inline std::string written(const Bytes& bytes) {
  if (bytes.size() <= 1200) return hex(bytes);
  std::uint64_t digest = 0xCBF29CE484222325u;
  for (const std::uint8_t byte : bytes) digest = (digest ^ byte) * 0x100000001B3u;
  char text[32];
  std::snprintf(text, sizeof text, "fnv1a:%016llx", static_cast<unsigned long long>(digest));
  return text;
}

inline std::string written(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  char text[16];
  std::snprintf(text, sizeof text, "%08x", bits);
  return text;
}

inline std::uint64_t up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

/// Room for what a recipe makes of a matrix, all 0xee.
inline void make_room(const std::string& recipe, Matrix& matrix) {
  const std::uint64_t values = matrix.rows * matrix.columns;
  const bool halves = recipe == "nvfp4";
  const std::uint64_t length = recipe == "mxfp8" ? 32 : recipe == "nvfp4" ? 16 : 128;
  std::uint64_t row_scales = matrix.rows * up(matrix.columns, length);
  std::uint64_t column_scales = matrix.columns * up(matrix.rows, length);
  if (recipe == "blockwise_2d") row_scales = column_scales = up(matrix.rows, 128) * up(matrix.columns, 128);
  if (recipe == "current" || recipe == "delayed") row_scales = column_scales = 1;
  const std::uint64_t size = recipe == "mxfp8" || recipe == "nvfp4" ? 1 : 4;
  matrix.rowwise.assign(halves ? values / 2 : values, 0xee);
  matrix.columnwise = matrix.rowwise;
  matrix.rowwise_scales.assign(row_scales * size, 0xee);
  matrix.columnwise_scales.assign(column_scales * size, 0xee);
}

struct Tally {
  std::size_t cases = 0;
  std::vector<std::string> differences;
};

/// All cases of a recipe.
inline Tally run(const std::string& folder, const std::string& recipe, Subject& subject) {
  const Json all = Json::parse(std::ifstream(folder + "/quantized.json"));
  const Json specials = {{"", 0}, {"zeros", 2}, {"numbers", 4}, {"nan", 7}, {"infinities", 9}};
  const Json dtypes = {{"f32", 1}, {"f16", 3}, {"bf16", 4}};
  Tally tally;
  for (const Json& one : all.at("cases")) {
    if (one.at("config").at("recipe") != recipe) continue;
    Matrix matrix;
    matrix.rows = one.at("rows");
    matrix.columns = one.at("columns");
    matrix.dtype = dtypes.at(one.at("dtype").get<std::string>());
    matrix.values = values_of(one.at("seed"), matrix.rows, matrix.columns, matrix.dtype,
                              specials.at(one.at("special").get<std::string>()));
    const auto given = static_cast<std::uint32_t>(std::stoul(one.at("given").get<std::string>(), nullptr, 16));
    std::memcpy(&matrix.scale, &given, sizeof given);
    make_room(recipe, matrix);
    const std::string config = one.at("config").dump();
    subject.quantise(config, matrix);
    const Bytes back = subject.values_of_rows(config, matrix);
    const Json& expected = one.at("expected");
    const auto compare = [&](const char* name, const std::string& have) {
      if (!expected.contains(name) || have == expected.at(name).get<std::string>()) return;
      tally.differences.push_back(one.at("config").dump() + " seed " + one.at("seed").dump() + ": " + name);
    };
    compare("rowwise", written(matrix.rowwise));
    compare("rowwise_scales", written(matrix.rowwise_scales));
    compare("columnwise", written(matrix.columnwise));
    compare("columnwise_scales", written(matrix.columnwise_scales));
    compare("amax", written(matrix.amax));
    compare("scale", written(matrix.scale));
    compare("back", written(back));
    const bool same_bytes = recipe == "current" || recipe == "delayed" || recipe == "blockwise_2d";
    if (same_bytes && subject.values_of_columns(config, matrix) != back) {
      tally.differences.push_back(config + " seed " + one.at("seed").dump() + ": back from columns");
    }
    ++tally.cases;
  }
  return tally;
}

}  // namespace tare::quantizer_vectors
