// Quantised matrices: every instruction set writes the same bytes, whatever the shape, and rows of panels do what one
// value at a time does.
#include "kernels/cpu/quantiser.hpp"

#include <cstring>
#include <random>

#include "tests/catch.hpp"
#include "tests/unit/cpu/reference.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;
using fp8::Format;
using fp8::Scaling;

namespace {

/// Both sides of a matrix, and their scales, with margins that nobody may write to.
struct Quantised {
  std::vector<unsigned char> rowwise, columnwise;
  std::vector<std::uint32_t> row_scales, column_scales;  // or as many bytes: compared as they lie there
  float amax = 0;
  float scale = 2.5f;

  explicit Quantised(std::uint64_t values)
      : rowwise(values + 16, 0xee),
        columnwise(values + 16, 0xee),
        row_scales(values + 1, ~0u),
        column_scales(values + 1, ~0u) {}
  bool operator==(const Quantised&) const = default;
};

Quantised quantised(cpu::InstructionSet set, const fp8::Quantisation& how, Array& values, std::uint64_t columns) {
  Quantised into(values.count());
  fp8::Matrix matrix = {};
  matrix.struct_size = sizeof matrix;
  matrix.values = values.tensor().data;
  matrix.rows = columns == 0 ? 0 : values.count() / columns;
  matrix.columns = columns;
  matrix.dtype = values.dtype();
  matrix.rowwise = {into.rowwise.data(), into.row_scales.data(), 0, 0};
  matrix.columnwise = {into.columnwise.data(), into.column_scales.data(), 0, 0};
  matrix.amax = &into.amax;
  matrix.scale = &into.scale;
  cpu::Quantiser(1, how, set).quantise({&matrix, 1});
  return into;
}

}  // namespace

TEST_CASE("every instruction set quantises matrices of any shape to the same bytes") {
  std::mt19937_64 random(21);
  constexpr fp8::Quantisation all[] = {
      {Scaling::delayed, Format::e4m3, 0, 0},      {Scaling::current, Format::e5m2, 1, 0},
      {Scaling::mxfp8, Format::e4m3, 0, 0},        {Scaling::mxfp8, Format::e5m2, 0, 0},
      {Scaling::blockwise_1d, Format::e4m3, 1, 0}, {Scaling::blockwise_2d, Format::e4m3, 0, 1.0f},
      {Scaling::nvfp4, Format::e2m1, 0, 0}};
  constexpr std::uint64_t shapes[][2] = {{1, 2}, {2, 34}, {32, 32}, {34, 18}, {150, 514}, {132, 130}};
  for (const fp8::Quantisation& how : all) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      for (const auto& [rows, columns] : shapes) {
        INFO(static_cast<int>(how.scaling) << " " << name_of(dtype) << " " << rows << " x " << columns);
        Array values(dtype, rows * columns, random() % 3);
        fill(values, random, random() % 2 == 0);
        const Quantised expected = quantised(cpu::InstructionSet::portable, how, values, columns);
        CHECK(expected.rowwise[values.count()] == 0xee);
        CHECK(expected.columnwise[values.count()] == 0xee);
        for (const cpu::InstructionSet set : available_sets()) {
          CHECK(quantised(set, how, values, columns) == expected);
        }
      }
    }
  }
}

TEST_CASE("a row of any format is cast as one value at a time, for every f16 and bf16 and near every border") {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < 1u << 16; ++i) {
    values.push_back(widen<F16>(static_cast<std::uint16_t>(i)));
    values.push_back(widen<Bf16>(static_cast<std::uint16_t>(i)));
    values.push_back(std::nextafter(values.back(), 0.0f));
  }
  const std::vector<float> ones(values.size(), 1.0f);
  const auto count = static_cast<std::uint32_t>(values.size());
  std::vector<std::uint8_t> expected[3];
  for (const float value : values) {
    expected[0].push_back(fp8::quantised<Format::e4m3>(value));
    expected[1].push_back(fp8::quantised<Format::e5m2>(value));
    expected[2].push_back(fp8::quantised<Format::e2m1>(value));
  }
  for (const cpu::InstructionSet set : available_sets()) {
    for (int format = 0; format < 3; ++format) {
      INFO(cpu::name_of(set) << " " << format);
      std::vector<std::uint8_t> bytes(values.size());
      cpu::panels_of(set).cast[format](values.data(), ones.data(), count, bytes.data());
      CHECK(bytes == expected[format]);
    }
  }
}

TEST_CASE("an amax sees infinities and no NaN") {
  const float infinity = INFINITY;
  std::vector<float> values(cpu::panel_step, -2.0f);
  for (const cpu::InstructionSet set : available_sets()) {
    INFO(cpu::name_of(set));
    const cpu::PanelTable& code = cpu::panels_of(set);
    values[5] = NAN;
    values[6] = -1e-45f;
    CHECK(code.amax(values.data(), cpu::panel_step) == bits_of(2.0f));
    values[7] = -infinity;
    CHECK(code.amax(values.data(), cpu::panel_step) == bits_of(infinity));
    std::vector<std::uint32_t> columns(cpu::panel_step, bits_of(1.0f));
    code.raise(values.data(), cpu::panel_step, columns.data());
    CHECK(columns[4] == bits_of(2.0f));
    CHECK(columns[5] == bits_of(1.0f));
    CHECK(columns[6] == bits_of(1.0f));
    CHECK(columns[7] == bits_of(infinity));
    values[7] = 0;
  }
}
