/* tare/quantizer.h: matrices to fp8 and fp4 with scales of their own values. A part of tare.h, which says what holds
 * for all calls and includes this. */
#ifndef TARE_QUANTIZER_H
#define TARE_QUANTIZER_H

#include <tare/tare.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- quantizers ------------------------------------------------------------------------------------------ */

/* Quantises matrices by one recipe, and keeps nothing of them. */
typedef struct tare_quantizer tare_quantizer;

/* A matrix quantised along its rows, or along its columns. Scales are what data is multiplied by to be values again;
 * that of block (i, j), counted along the side as its data lies in memory, is at i * row_stride + j * column_stride.
 * Both 0: the scales lie row after row, without gaps. (Rows padded to a multiple of 4 have a row_stride; scales that
 * are kept transposed, as those of TransformerEngine's blocks, a column_stride.) Strides that lead beyond the address
 * space: TARE_E_INVALID_ARGUMENT. */
typedef struct tare_side {
  void* data;   /* NULL: not wanted */
  void* scales; /* see the recipe; not NULL where there is data, but of "current" and "delayed" that are quantized */
  uint64_t row_stride;
  uint64_t column_stride;
} tare_side;

/* Where the quantizer computes, as a tare_tensor; all of it is borrowed until the stream passes, and overlaps nothing.
 */
typedef struct tare_matrix {
  uint64_t struct_size; /* sizeof(tare_matrix) */
  void* values;         /* row after row, without gaps: read by quantize, written by dequantize */
  uint64_t rows;
  uint64_t columns;
  int32_t dtype;    /* of the values: TARE_F32, TARE_F16 or TARE_BF16 */
  int32_t reserved; /* 0 */
  tare_side rowwise;
  tare_side columnwise;
  float* amax;  /* one float; see the recipe. NULL: not wanted */
  float* scale; /* likewise */
} tare_matrix;

/* Makes a quantizer from JSON: {"recipe":"current","format":"e4m3","device":"cpu","threads":1}.
 *
 * "recipe" is one of TransformerEngine 2.20's, whose files are named here. Its arithmetic was written down a second
 * time from those (tests/vectors/make_quantized.py), and results are those of that program to the bit;
 * TransformerEngine itself, which needs a GPU, was not run beside it.
 *
 * "current": one scale of the whole matrix, from its greatest magnitude (common/recipe/current_scaling.cu,
 * recipe_common.cuh). "amax_epsilon" (0): the amax is that at least; "force_pow_2_scales" (false): scales are rounded
 * down to a power of two. `amax` and `scale` are written where they are not NULL, and the one float at each side's
 * scales is 1 / scale. Columnwise data is transposed: columns x rows.
 *
 * "delayed": the same with the scale that stands at `scale`: a slot's (tare_fp8_scale_pointer). `amax` is raised: the
 * slot's in progress (tare_fp8_accumulators). (common/transpose/cast_transpose.cu.)
 *
 * "mxfp8": blocks of 32 values with a power of two each, kept as its exponent, a byte (E8M0). Rowwise a block is 32 of
 * a row, and scales are rows x ceil(columns / 32); columnwise it is 32 of a column, data lies in rows as the values do,
 * and scales are ceil(rows / 32) x columns. (common/cast/mxfp8/quantize_mxfp8.cuh.)
 *
 * "blockwise_1d", "blockwise_2d": tiles of 1 x 128 or 128 x 128 values with a float each; "amax_epsilon" as above,
 * "force_pow_2_scales" is true unless said. Columnwise data is transposed, with tiles of its own rows. Scales are
 * ceil(rows / 1 or 128) x ceil(columns / 128) of a side as it lies in memory.
 * (common/transpose/quantize_transpose_vector_blockwise.cu, quantize_transpose_square_blockwise.cu.)
 *
 * "nvfp4": blocks of 16 values of E2M1, two in a byte, the first in its lower half, with an E4M3 scale each, and one
 * float for all: `amax`, which must be there and is written; so is `scale`, 2688 / amax, if not NULL. Columnwise data
 * is transposed. Scales are rows x ceil(columns / 16) of a side as it lies in memory, whose rows are of an even number
 * of values. Rounded to nearest even: "stochastic_rounding" and "random_hadamard_transform" are TARE_E_UNSUPPORTED.
 * (common/cast/nvfp4/core_nvfp4.cuh, specialized/quantize_transpose_nvfp4_tuned_1D.cuh, without fast math.)
 *
 * Blocks at the edges are of what is there. "format": "e4m3" or "e5m2", of "nvfp4" "e2m1". "device": "cpu", "cuda:0";
 * "threads": that work on the CPU (1). *out is owned. TARE_E_INVALID_ARGUMENT names the allowed keys.
 *
 * Values are multiplied in float32 and rounded to nearest even; what is beyond the format's largest becomes it. A NaN
 * becomes the format's without a sign; E2M1, which has none, takes its largest, 6. No amax sees a NaN. */
TARE_API int32_t tare_quantizer_create(tare_quantizer** out, const char* config_json, tare_error* error);

/* Quantises each matrix into those of its sides that have data; one at least. On a GPU one launch for up to 128
 * matrices, and one more before it where a scale is made of a whole matrix ("current", "nvfp4"): a kernel cannot wait
 * for all of its blocks where they do not all run at once. Nothing is uploaded, allocated or waited for, from the first
 * call on, and any call may be captured. `matrices` is copied; those that follow one another with one dtype go
 * together. */
TARE_API int32_t tare_quantizer_quantize(tare_quantizer* quantizer, const tare_matrix* matrices, uint64_t count,
                                         tare_stream stream, tare_error* error);

/* The way back, from the rowwise side, or from the columnwise one where there is no rowwise data. What is made is
 * rounded to the values' dtype; a NaN of fp8 stays one. */
TARE_API int32_t tare_quantizer_dequantize(tare_quantizer* quantizer, const tare_matrix* matrices, uint64_t count,
                                           tare_stream stream, tare_error* error);

/* Joins its threads. */
TARE_API void tare_quantizer_destroy(tare_quantizer* quantizer);

#ifdef __cplusplus
}
#endif
#endif
