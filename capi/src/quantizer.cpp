#include <cstddef>
#include <limits>

#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"

using namespace tare;
using namespace tare::capi;

namespace {

using kernels::fp8::Matrix;
using kernels::fp8::Side;

static_assert(sizeof(tare_side) == sizeof(Side) && sizeof(tare_matrix) == sizeof(Matrix));
static_assert(offsetof(tare_side, scales) == offsetof(Side, scales));
static_assert(offsetof(tare_side, row_stride) == offsetof(Side, row_stride));
static_assert(offsetof(tare_side, column_stride) == offsetof(Side, column_stride));
static_assert(offsetof(tare_matrix, values) == offsetof(Matrix, values));
static_assert(offsetof(tare_matrix, rows) == offsetof(Matrix, rows));
static_assert(offsetof(tare_matrix, columns) == offsetof(Matrix, columns));
static_assert(offsetof(tare_matrix, dtype) == offsetof(Matrix, dtype));
static_assert(offsetof(tare_matrix, rowwise) == offsetof(Matrix, rowwise));
static_assert(offsetof(tare_matrix, columnwise) == offsetof(Matrix, columnwise));
static_assert(offsetof(tare_matrix, amax) == offsetof(Matrix, amax));
static_assert(offsetof(tare_matrix, scale) == offsetof(Matrix, scale));

std::span<const Matrix> matrices_of(const tare_matrix* matrices, uint64_t count) {
  if (count == 0) return {};
  require(matrices, "matrices");
  if (count > static_cast<uint64_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(tare_matrix)) {
    throw Error(Status::invalid_argument,
                "a list of " + std::to_string(count) + " matrices is beyond the address space");
  }
  return {reinterpret_cast<const Matrix*>(matrices), static_cast<std::size_t>(count)};
}

}  // namespace

int32_t tare_quantizer_create(tare_quantizer** out, const char* config_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(config_json, "config_json");
    return new tare_quantizer{.quantizer = std::make_unique<Quantizer>(parse_quantizer_config(config_json))};
  });
}

int32_t tare_quantizer_quantize(tare_quantizer* quantizer, const tare_matrix* matrices, uint64_t count,
                                tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(quantizer, "quantizer");
    quantizer->quantizer->quantise(matrices_of(matrices, count), stream);
  });
}

int32_t tare_quantizer_dequantize(tare_quantizer* quantizer, const tare_matrix* matrices, uint64_t count,
                                  tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(quantizer, "quantizer");
    quantizer->quantizer->dequantise(matrices_of(matrices, count), stream);
  });
}

void tare_quantizer_destroy(tare_quantizer* quantizer) {
  destroy(quantizer);
}
