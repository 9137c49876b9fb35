/* A linear layer whose matrix products take fp8: y = x w^T forward, dx = dy w and dw = dy^T x backward, with delayed
 * scaling as TransformerEngine does it. Inputs and weights are quantised with their slots' scales, multiplied as fp8,
 * and the product is unscaled by the two inverse scales.
 *
 *     cc -std=c99 fp8_linear.c -ltare -lm
 *
 * Every result is held to what the formats promise. Rounding to fp8 moves a value by at most a 2^-(m + 1)-th of itself
 * (m bits of mantissa), or, below the least normal number, by half of the least denormal; beyond the largest it is cut
 * off. A sum of products is then off by at most the sum of |x| ew + |w| ex + ex ew, and by its own rounding. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <tare/tare.h>

enum { ROWS = 24, IN = 96, OUT = 40 };
enum { X = 0, W = 1, DY = 2, SLOTS = 3 };

static const char config[] =
    "{\"policy\":\"transformer_engine\",\"amax_history_len\":16,"
    "\"slots\":[\"input\",\"weight\",\"grad_output\"],\"format\":[\"e4m3\",\"e4m3\",\"e5m2\"]}";

static tare_error error = TARE_ERROR_INIT;

static void must(int32_t status) {
  if (status == TARE_OK) return;
  fprintf(stderr, "%s\n", error.message);
  exit(1);
}

/* ---- the layer */

typedef struct matrix {
  int rows, columns;
  float* values;
  uint8_t* quantised;
  int slot;
} matrix;

static matrix make(int rows, int columns, int slot) {
  const size_t count = (size_t)rows * (size_t)columns;
  matrix made = {rows, columns, malloc(count * sizeof(float)), malloc(count), slot};
  if (made.values == NULL || made.quantised == NULL) exit(1);
  return made;
}

static uint64_t count_of(const matrix* m) {
  return (uint64_t)m->rows * (uint64_t)m->columns;
}

/* Quantises with the slot's scale, and raises its amax. */
static void quantise(tare_fp8* fp8, const matrix* m) {
  const tare_tensor in = {m->values, count_of(m), TARE_F32, 0};
  const tare_tensor out = {m->quantised, count_of(m), m->slot == DY ? TARE_F8E5M2 : TARE_F8E4M3FN, 0};
  const uint32_t slot = (uint32_t)m->slot;
  must(tare_fp8_quantize(fp8, &out, &in, &slot, 1, NULL, &error));
}

/* What an fp8 pattern stands for, as the hardware's matrix units read it. */
static float value_of(uint8_t pattern, int slot) {
  const int mantissa_bits = slot == DY ? 2 : 3;
  const int bias = slot == DY ? 15 : 7;
  const int exponent = (pattern & 0x7f) >> mantissa_bits;
  const int mantissa = pattern & ((1 << mantissa_bits) - 1);
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  const float magnitude = ldexpf((float)whole, (exponent == 0 ? 1 : exponent) - bias - mantissa_bits);
  return (pattern & 0x80) != 0 ? -magnitude : magnitude;
}

/* Element (i, k) of a matrix, or of its transpose. */
static size_t at(const matrix* m, int transposed, int i, int k) {
  return transposed ? (size_t)k * (size_t)m->columns + (size_t)i : (size_t)i * (size_t)m->columns + (size_t)k;
}

/* ---- how far off it may be */

static double rounding_error(double value, int slot, double scale) {
  const double half_step = slot == DY ? 0x1p-3 : 0x1p-4;
  const double half_denormal = slot == DY ? 0x1p-17 : 0x1p-10;
  const double largest = slot == DY ? 57344 : 448;
  const double scaled = fabs(value) * scale;
  /* The scale itself and the product with it are floats: two more roundings, of a 2^-24th each. */
  double error_of_scaled = scaled * (half_step + 0x1p-22);
  if (error_of_scaled < half_denormal) error_of_scaled = half_denormal;
  if (scaled > largest) error_of_scaled += scaled - largest;
  return error_of_scaled / scale;
}

/* a b, with the operands transposed where asked, `depth` products a sum; gives the greatest share of the bound that an
 * error took. */
static double product(const matrix* a, int a_transposed, const matrix* b, int b_transposed, int rows, int columns,
                      int depth, const float* scale, const float* scale_inv) {
  double worst = 0;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      float sum = 0;
      double exact = 0, bound = 0, magnitude = 0;
      for (int k = 0; k < depth; ++k) {
        const size_t p = at(a, a_transposed, i, k), q = at(b, b_transposed, k, j);
        const double x = (double)a->values[p], y = (double)b->values[q];
        const double ex = rounding_error(x, a->slot, (double)scale[a->slot]);
        const double ey = rounding_error(y, b->slot, (double)scale[b->slot]);
        sum += value_of(a->quantised[p], a->slot) * value_of(b->quantised[q], b->slot);
        exact += x * y;
        bound += fabs(x) * ey + fabs(y) * ex + ex * ey;
        magnitude += (fabs(x) + ex) * (fabs(y) + ey);
      }
      {
        const float result = sum * (scale_inv[a->slot] * scale_inv[b->slot]);
        const double share = fabs((double)result - exact) / (bound + magnitude * depth * 0x1p-24);
        if (!(share <= worst)) worst = share; /* a nan, too */
      }
    }
  }
  return worst;
}

/* ---- training */

static uint32_t seed = 1;

static float random_value(void) {
  seed = seed * 1664525u + 1013904223u;
  return (float)(seed >> 8) / 8388608.0f - 1.0f;
}

static void fill(matrix* m, float magnitude) {
  for (uint64_t i = 0; i < count_of(m); ++i) {
    const float value = random_value();
    m->values[i] = value * value * value * magnitude; /* most of them small, as gradients are */
  }
}

static double step(tare_fp8* fp8, int number, matrix* x, matrix* w, matrix* dy) {
  const float* scale = NULL;
  const float* scale_inv = NULL;
  double shares[3];
  double worst = 0;
  must(tare_fp8_scale_pointer(&scale, fp8, TARE_FP8_SCALE, &error));
  must(tare_fp8_scale_pointer(&scale_inv, fp8, TARE_FP8_SCALE_INV, &error));
  fill(x, 3.0f + (float)(number % 5));
  fill(w, 0.05f);
  fill(dy, 1e-5f * (float)(1 + number % 3));
  quantise(fp8, x);
  quantise(fp8, w);
  quantise(fp8, dy);
  shares[0] = product(x, 0, w, 1, ROWS, OUT, IN, scale, scale_inv);  /* y */
  shares[1] = product(dy, 0, w, 0, ROWS, IN, OUT, scale, scale_inv); /* dx */
  shares[2] = product(dy, 1, x, 0, OUT, IN, ROWS, scale, scale_inv); /* dw */
  must(tare_fp8_update(fp8, NULL, &error));
  for (int i = 0; i < 3; ++i) {
    if (!(shares[i] <= worst)) worst = shares[i];
  }
  return worst;
}

int main(void) {
  tare_fp8* fp8 = NULL;
  tare_state* state = NULL;
  matrix x = make(ROWS, IN, X), w = make(OUT, IN, W), dy = make(ROWS, OUT, DY);
  const float* scale = NULL;
  double worst = 0;
  must(tare_fp8_create(&fp8, config, &error));
  for (int number = 0; number < 40; ++number) {
    const double share = step(fp8, number, &x, &w, &dy);
    if (!(share <= worst)) worst = share;
    if (number != 20) continue;
    must(tare_fp8_save(&state, fp8, NULL, &error)); /* as a checkpoint would, and on from it */
    tare_fp8_destroy(fp8);
    must(tare_fp8_create_from_state(&fp8, state, NULL, &error));
    tare_state_destroy(state);
  }
  must(tare_fp8_scale_pointer(&scale, fp8, TARE_FP8_SCALE, &error));
  printf("40 steps: the greatest error is %.2f of its bound; scales %g, %g, %g\n", worst, (double)scale[X],
         (double)scale[W], (double)scale[DY]);
  tare_fp8_destroy(fp8);
  for (matrix* m = &x; m != NULL; m = m == &x ? &w : m == &w ? &dy : NULL) {
    free(m->values);
    free(m->quantised);
  }
  /* A bound that no error comes near would prove nothing. */
  return worst <= 1 && worst > 0.05 ? 0 : 1;
}
