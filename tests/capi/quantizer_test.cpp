// Matrices quantised through the C ABI: TransformerEngine's bits, and what is said of bad ones.
#include "tests/quantizer_vectors.hpp"

#include <tare/tare.h>

#include <cmath>

#include "tests/catch.hpp"
#include "tests/places.hpp"

namespace {

using tare::quantizer_vectors::Bytes;

struct Quantizer {
  tare_quantizer* handle = nullptr;
  tare_error error = TARE_ERROR_INIT;

  explicit Quantizer(const std::string& config) {
    const int32_t status = tare_quantizer_create(&handle, config.c_str(), &error);
    INFO(error.message);
    REQUIRE(status == TARE_OK);
  }
  ~Quantizer() { tare_quantizer_destroy(handle); }
  Quantizer(const Quantizer&) = delete;
  Quantizer& operator=(const Quantizer&) = delete;

  int32_t quantize(const tare_matrix& matrix) { return tare_quantizer_quantize(handle, &matrix, 1, nullptr, &error); }
  int32_t dequantize(const tare_matrix& matrix) {
    return tare_quantizer_dequantize(handle, &matrix, 1, nullptr, &error);
  }
};

tare_matrix described(tare::quantizer_vectors::Matrix& matrix, void* values) {
  return {.struct_size = sizeof(tare_matrix),
          .values = values,
          .rows = matrix.rows,
          .columns = matrix.columns,
          .dtype = matrix.dtype,
          .reserved = 0,
          .rowwise = {matrix.rowwise.data(), matrix.rowwise_scales.data(), 0, 0},
          .columnwise = {matrix.columnwise.data(), matrix.columnwise_scales.data(), 0, 0},
          .amax = &matrix.amax,
          .scale = &matrix.scale};
}

class OnCpu final : public tare::quantizer_vectors::Subject {
 public:
  void quantise(const std::string& config, tare::quantizer_vectors::Matrix& matrix) override {
    Quantizer quantizer(config);
    REQUIRE(quantizer.quantize(described(matrix, matrix.values.data())) == TARE_OK);
  }
  Bytes values_of_rows(const std::string& config, tare::quantizer_vectors::Matrix& matrix) override {
    Bytes values(matrix.values.size(), 0xee);
    tare_matrix given = described(matrix, values.data());
    given.columnwise = {};
    back(config, given);
    return values;
  }
  Bytes values_of_columns(const std::string& config, tare::quantizer_vectors::Matrix& matrix) override {
    Bytes values(matrix.values.size(), 0xee);
    tare_matrix given = described(matrix, values.data());
    given.rowwise = {};
    back(config, given);
    return values;
  }

 private:
  static void back(const std::string& config, const tare_matrix& matrix) {
    Quantizer quantizer(config);
    REQUIRE(quantizer.dequantize(matrix) == TARE_OK);
  }
};

void check_vectors(const std::string& recipe, std::size_t cases) {
  OnCpu cpu;
  const auto tally = tare::quantizer_vectors::run(TARE_TEST_SOURCE "/vectors", recipe, cpu);
  for (const std::string& difference : tally.differences) UNSCOPED_INFO(difference);
  CHECK(tally.differences.empty());
  CHECK(tally.cases == cases);
}

bool says(const tare_error& error, const char* word) {
  return std::strstr(error.message, word) != nullptr;
}

constexpr const char* recipes[] = {"current", "delayed", "mxfp8", "blockwise_1d", "blockwise_2d", "nvfp4"};

std::string config_of(const std::string& recipe, const std::string& more = "") {
  return R"({"recipe":")" + recipe + "\"" + more + "}";
}

}  // namespace

TEST_CASE("current scaling: every matrix has TransformerEngine's bytes and scales") {
  check_vectors("current", 60);
}

TEST_CASE("delayed scaling: every matrix and its transpose are of the scale that was given") {
  check_vectors("delayed", 30);
}

TEST_CASE("MXFP8: every matrix has TransformerEngine's bytes and scales, along rows and columns") {
  check_vectors("mxfp8", 30);
}

TEST_CASE("blockwise: every matrix has TransformerEngine's bytes and scales") {
  check_vectors("blockwise_1d", 60);
  check_vectors("blockwise_2d", 60);
}

TEST_CASE("NVFP4: every matrix has TransformerEngine's nibbles and scales, along rows and columns") {
  check_vectors("nvfp4", 15);
}

TEST_CASE("what a quantizer makes does not depend on threads, on sides that are not wanted, or on its list") {
  for (const std::string recipe : recipes) {
    INFO(recipe);
    tare::quantizer_vectors::Matrix large, small;
    large.rows = 606;
    large.columns = 1030;
    small.rows = 4;
    small.columns = 34;
    large.dtype = small.dtype = TARE_BF16;
    for (auto* matrix : {&large, &small}) {
      matrix->values = tare::quantizer_vectors::values_of(3, matrix->rows, matrix->columns, matrix->dtype, 7);
      matrix->scale = 3;
      tare::quantizer_vectors::make_room(recipe, *matrix);
    }
    tare::quantizer_vectors::Matrix alone = large;
    Quantizer one(config_of(recipe));
    Quantizer several(config_of(recipe, R"(,"threads":4)"));
    REQUIRE(one.quantize(described(alone, alone.values.data())) == TARE_OK);
    const tare_matrix both[] = {described(small, small.values.data()), described(large, large.values.data())};
    REQUIRE(tare_quantizer_quantize(several.handle, both, 2, nullptr, nullptr) == TARE_OK);
    CHECK(alone.rowwise == large.rowwise);
    CHECK(alone.rowwise_scales == large.rowwise_scales);
    CHECK(alone.columnwise == large.columnwise);
    CHECK(alone.columnwise_scales == large.columnwise_scales);
    CHECK(alone.amax == large.amax);
    for (const bool rowwise : {true, false}) {
      tare::quantizer_vectors::make_room(recipe, alone);
      tare_matrix half = described(alone, alone.values.data());
      (rowwise ? half.columnwise : half.rowwise) = {};
      REQUIRE(one.quantize(half) == TARE_OK);
      CHECK((alone.rowwise == large.rowwise) == rowwise);
      CHECK((alone.columnwise == large.columnwise) == !rowwise);
    }
  }
}

TEST_CASE("scales lie where their strides say: padded rows, and transposed as TransformerEngine keeps blocks") {
  tare::quantizer_vectors::Matrix matrix;
  matrix.rows = 40;
  matrix.columns = 300;
  matrix.dtype = TARE_F32;
  matrix.values = tare::quantizer_vectors::values_of(4, matrix.rows, matrix.columns, matrix.dtype, 0);
  tare::quantizer_vectors::make_room("blockwise_1d", matrix);
  tare_matrix given = described(matrix, matrix.values.data());
  Quantizer quantizer(config_of("blockwise_1d"));
  REQUIRE(quantizer.quantize(given) == TARE_OK);
  std::vector<float> turned(3 * 44, -1.0f);
  given.rowwise.scales = turned.data();
  given.rowwise.row_stride = 1;
  given.rowwise.column_stride = 44;
  std::vector<float> padded(300 * 4, -1.0f);
  given.columnwise.scales = padded.data();
  given.columnwise.row_stride = 4;
  given.columnwise.column_stride = 1;
  REQUIRE(quantizer.quantize(given) == TARE_OK);
  const auto* rows = reinterpret_cast<const float*>(matrix.rowwise_scales.data());
  const auto* columns = reinterpret_cast<const float*>(matrix.columnwise_scales.data());
  std::size_t wrong = 0;
  for (std::size_t row = 0; row < 44; ++row) {
    for (std::size_t block = 0; block < 3; ++block) {
      wrong += turned[block * 44 + row] != (row < 40 ? rows[row * 3 + block] : -1.0f);
    }
  }
  for (std::size_t i = 0; i < padded.size(); ++i) wrong += padded[i] != (i % 4 == 0 ? columns[i / 4] : -1.0f);
  CHECK(wrong == 0);
  Bytes back(matrix.values.size()), expected(matrix.values.size());
  given.values = back.data();
  REQUIRE(quantizer.dequantize(given) == TARE_OK);
  tare_matrix plain = described(matrix, expected.data());
  REQUIRE(quantizer.dequantize(plain) == TARE_OK);
  CHECK(back == expected);
}

TEST_CASE("strides that lead out of the address space are refused, of every side, before a byte is written") {
  constexpr uint64_t far[] = {~0ull, ~0ull / 2 + 1, ~0ull / 2, ~0ull / 3 + 1, ~0ull / 4 + 1};
  for (const std::string recipe : {"mxfp8", "blockwise_1d", "blockwise_2d", "nvfp4"}) {
    tare::quantizer_vectors::Matrix matrix;
    matrix.rows = matrix.columns = 600;  // several blocks in every direction
    matrix.dtype = TARE_F32;
    matrix.values = tare::quantizer_vectors::values_of(5, matrix.rows, matrix.columns, matrix.dtype, 0);
    tare::quantizer_vectors::make_room(recipe, matrix);
    const tare::quantizer_vectors::Matrix before = matrix;
    Quantizer quantizer(config_of(recipe));
    for (const bool is_rowwise : {true, false}) {
      for (const uint64_t stride : far) {
        for (const auto& [row_stride, column_stride] :
             {std::pair{stride, uint64_t{0}}, {uint64_t{0}, stride}, {stride, stride}}) {
          INFO(recipe << ' ' << is_rowwise << ' ' << row_stride << ' ' << column_stride);
          tare_matrix given = described(matrix, matrix.values.data());
          tare_side& side = is_rowwise ? given.rowwise : given.columnwise;
          side.row_stride = row_stride;
          side.column_stride = column_stride;
          CHECK(quantizer.quantize(given) == TARE_E_INVALID_ARGUMENT);
          CHECK(says(quantizer.error, is_rowwise ? "rowwise scales" : "columnwise scales"));
          CHECK(says(quantizer.error, "beyond the address space"));
          (is_rowwise ? given.columnwise : given.rowwise) = {};
          CHECK(quantizer.dequantize(given) == TARE_E_INVALID_ARGUMENT);
        }
      }
    }
    CHECK(matrix.rowwise == before.rowwise);
    CHECK(matrix.columnwise_scales == before.columnwise_scales);
    CHECK(matrix.values == before.values);
  }
}

TEST_CASE("a stride that no step is taken by may be of any size") {
  float values[32] = {1};
  uint8_t data[32] = {}, scale = 0;
  Quantizer quantizer(config_of("mxfp8"));
  CHECK(quantizer.quantize(
            {sizeof(tare_matrix), values, 1, 32, TARE_F32, 0, {data, &scale, ~0ull, ~0ull}, {}, {}, {}}) == TARE_OK);
  CHECK(scale != 0);
}

TEST_CASE("the delayed recipe casts with a slot's scale and raises its amax") {
  tare_fp8* fp8 = nullptr;
  REQUIRE(tare_fp8_create(&fp8, R"({"policy":"fp8_static","initial_scale":8})", nullptr) == TARE_OK);
  const float* scale = nullptr;
  void* amax = nullptr;
  uint64_t bytes = 0;
  REQUIRE(tare_fp8_scale_pointer(&scale, fp8, TARE_FP8_SCALE, nullptr) == TARE_OK);
  REQUIRE(tare_fp8_accumulators(&amax, &bytes, fp8, nullptr) == TARE_OK);
  float values[] = {1, -2, 3, NAN, 0.5f, -0.25f};
  uint8_t data[6] = {}, turned[6] = {};
  float inverse[2] = {};
  const tare_matrix matrix = {sizeof(tare_matrix),
                              values,
                              2,
                              3,
                              TARE_F32,
                              0,
                              {data, inverse, 0, 0},
                              {turned, inverse + 1, 0, 0},
                              static_cast<float*>(amax),
                              const_cast<float*>(scale)};
  Quantizer quantizer(config_of("delayed"));
  REQUIRE(quantizer.quantize(matrix) == TARE_OK);
  CHECK(*static_cast<float*>(amax) == 3);
  CHECK(inverse[0] == 0.125f);
  CHECK(inverse[1] == 0.125f);
  const uint8_t rows[] = {0x50, 0xd8, 0x5c, 0x7f, 0x48, 0xc0};  // 8, -16, 24, NaN, 4, -2
  for (int i = 0; i < 6; ++i) {
    CHECK(data[i] == rows[i]);
    CHECK(turned[i % 3 * 2 + i / 3] == rows[i]);
  }
  tare_fp8_destroy(fp8);
}

TEST_CASE("a quantizer says what it does not take") {
  tare_quantizer* made = nullptr;
  tare_error error = TARE_ERROR_INIT;
  const auto refused = [&](const char* config, int32_t status, const char* word) {
    INFO(config);
    CHECK(tare_quantizer_create(&made, config, &error) == status);
    INFO(error.message);
    CHECK(says(error, word));
    CHECK(made == nullptr);
  };
  refused(nullptr, TARE_E_INVALID_ARGUMENT, "config_json");
  refused("{}", TARE_E_INVALID_ARGUMENT, "mxfp8");
  refused(R"({"recipe":"mxfp4"})", TARE_E_INVALID_ARGUMENT, "mxfp4");
  refused(R"({"recipe":"mxfp8","format":"e2m1"})", TARE_E_INVALID_ARGUMENT, "e4m3, e5m2");
  refused(R"({"recipe":"nvfp4","format":"e4m3"})", TARE_E_INVALID_ARGUMENT, "e2m1");
  refused(R"({"recipe":"mxfp8","amax_epsilon":1})", TARE_E_INVALID_ARGUMENT, "amax_epsilon");
  refused(R"({"recipe":"current","amax_epsilon":-1})", TARE_E_INVALID_ARGUMENT, "amax_epsilon");
  refused(R"({"recipe":"current","amax_epsilon":1e40})", TARE_E_INVALID_ARGUMENT, "amax_epsilon");
  refused(R"({"recipe":"current","force_pow_2_scales":1})", TARE_E_INVALID_ARGUMENT, "force_pow_2_scales");
  refused(R"({"recipe":"current","device":"gpu"})", TARE_E_INVALID_ARGUMENT, "gpu");
  refused(R"({"recipe":"nvfp4","stochastic_rounding":true})", TARE_E_UNSUPPORTED, "nearest even");
  refused(R"({"recipe":"nvfp4","random_hadamard_transform":true})", TARE_E_UNSUPPORTED, "as they are");
  CHECK(tare_quantizer_create(nullptr, config_of("current").c_str(), &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(says(error, "out"));
  tare_quantizer_destroy(nullptr);
}

TEST_CASE("a quantizer names what is wrong with a matrix, and leaves all of them alone") {
  float values[32] = {1};
  uint8_t data[32] = {};
  float scales[32] = {};
  float amax = 7;
  float scale = 1;
  const tare_matrix fine = {sizeof(tare_matrix), values, 4, 8, TARE_F32, 0, {data, scales, 0, 0}, {}, &amax, &scale};
  const auto refused = [&](const char* recipe, auto change, int32_t status, const char* word) {
    INFO(recipe << " " << word);
    Quantizer quantizer(config_of(recipe));
    tare_matrix list[] = {fine, fine};
    change(list[1]);
    CHECK(tare_quantizer_quantize(quantizer.handle, list, 2, nullptr, &quantizer.error) == status);
    INFO(quantizer.error.message);
    CHECK(says(quantizer.error, "matrix 1"));
    CHECK(says(quantizer.error, word));
    CHECK(amax == 7);
  };
  const int32_t bad = TARE_E_INVALID_ARGUMENT;
  refused(
      "current", [](tare_matrix& m) { m.struct_size = 8; }, bad, "struct_size");
  refused(
      "current", [](tare_matrix& m) { m.reserved = 1; }, bad, "reserved");
  refused(
      "current", [](tare_matrix& m) { m.dtype = 99; }, bad, "99");
  refused(
      "current", [](tare_matrix& m) { m.dtype = TARE_F64; }, TARE_E_UNSUPPORTED, "f64");
  refused(
      "current", [](tare_matrix& m) { m.rows = UINT64_MAX / 8; }, bad, "address space");
  refused(
      "current", [](tare_matrix& m) { m.values = nullptr; }, bad, "values");
  refused(
      "current", [&](tare_matrix& m) { m.values = reinterpret_cast<char*>(values) + 1; }, bad, "multiple of 4");
  refused(
      "current", [](tare_matrix& m) { m.rowwise.data = nullptr; }, bad, "neither");
  refused(
      "current", [&](tare_matrix& m) { m.rowwise.scales = data + 1; }, bad, "rowwise scales");
  refused(
      "mxfp8", [](tare_matrix& m) { m.rowwise.scales = nullptr; }, bad, "rowwise scales");
  refused(
      "delayed", [](tare_matrix& m) { m.scale = nullptr; }, bad, "scale");
  refused(
      "nvfp4", [](tare_matrix& m) { m.amax = nullptr; }, bad, "amax");
  refused(
      "nvfp4", [](tare_matrix& m) { m.columns = 7; }, bad, "even");
  Quantizer quantizer(config_of("current"));
  CHECK(tare_quantizer_quantize(nullptr, &fine, 1, nullptr, &quantizer.error) == bad);
  CHECK(says(quantizer.error, "quantizer"));
  CHECK(tare_quantizer_quantize(quantizer.handle, nullptr, 1, nullptr, &quantizer.error) == bad);
  CHECK(says(quantizer.error, "matrices"));
  CHECK(tare_quantizer_quantize(quantizer.handle, &fine, UINT64_MAX, nullptr, &quantizer.error) == bad);
  CHECK(tare_quantizer_quantize(quantizer.handle, nullptr, 0, nullptr, &quantizer.error) == TARE_OK);
  tare_matrix empty = fine;
  empty.rows = 0;
  CHECK(quantizer.quantize(empty) == TARE_OK);
  CHECK(amax == 0);
  CHECK(scales[0] == 1);
  tare_matrix no_scales = fine;
  no_scales.rowwise.scales = nullptr;
  CHECK(quantizer.quantize(no_scales) == TARE_OK);
  CHECK(quantizer.dequantize(no_scales) == bad);
  CHECK(says(quantizer.error, "rowwise scales"));
}
