/* Inference in fp8 of two linear layers with a ReLU between them. Scales are calibrated: delayed scaling looks at some
 * batches, its scales are frozen and written to a file, as a checkpoint's would be. Whoever serves the model reads
 * them, quantises the weights once and the activations of each request; no step moves a scale. Beside it a request with
 * scales of its own, made of what it brings (dynamic): slower by a pass, and right where requests are unlike those that
 * calibrated.
 *
 *     cc -std=c99 fp8_inference.c -ltare -lm && ./a.out scales.json */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tare/tare.h>

enum { BATCH = 16, WIDTH = 128, HIDDEN = 256 };
enum { W1 = 0, W2 = 1, X1 = 2, X2 = 3, SLOTS = 4 };

#define NAMES "[\"fc1.weight\",\"fc2.weight\",\"fc1.input\",\"fc2.input\"]"

static tare_error error = TARE_ERROR_INIT;

static void must(int32_t status) {
  if (status == TARE_OK) return;
  fprintf(stderr, "%s\n", error.message);
  exit(1);
}

static uint32_t seed = 1;

/* Of both signs, most of them small. */
static void fill(float* values, size_t count, float magnitude) {
  for (size_t i = 0; i < count; ++i) {
    float value;
    seed = seed * 1664525u + 1013904223u;
    value = (float)(seed >> 8) / 8388608.0f - 1.0f;
    values[i] = value * fabsf(value) * magnitude;
  }
}

static float weight1[HIDDEN * WIDTH], weight2[WIDTH * HIDDEN];
static uint8_t quantised1[HIDDEN * WIDTH], quantised2[WIDTH * HIDDEN];

static void quantise(tare_fp8* fp8, uint32_t slot, uint8_t* out, const float* in, uint64_t count) {
  const tare_tensor values = {(void*)in, count, TARE_F32, 0};
  const tare_tensor bytes = {out, count, TARE_F8E4M3FN, 0};
  must(tare_fp8_quantize(fp8, &bytes, &values, &slot, 1, NULL, &error));
}

/* What an e4m3 pattern stands for, as the hardware's matrix units read it. */
static float value_of(uint8_t pattern) {
  const int exponent = (pattern & 0x78) >> 3, mantissa = pattern & 7;
  const float magnitude = ldexpf((float)(exponent == 0 ? mantissa : mantissa + 8), (exponent == 0 ? 1 : exponent) - 10);
  return (pattern & 0x80) != 0 ? -magnitude : magnitude;
}

/* out = in weight^T, unscaled by `inverse`; negative sums are 0 where `relu`. */
static void product(float* out, const uint8_t* in, const uint8_t* weight, int depth, int columns, float inverse,
                    int relu) {
  for (int row = 0; row < BATCH; ++row) {
    for (int column = 0; column < columns; ++column) {
      float sum = 0;
      for (int k = 0; k < depth; ++k) sum += value_of(in[row * depth + k]) * value_of(weight[column * depth + k]);
      out[row * columns + column] = relu && sum < 0 ? 0 : sum * inverse;
    }
  }
}

/* The same in double: what the model answers. */
static void exact_product(double* out, const double* in, const float* weight, int depth, int columns, int relu) {
  for (int row = 0; row < BATCH; ++row) {
    for (int column = 0; column < columns; ++column) {
      double sum = 0;
      for (int k = 0; k < depth; ++k) sum += in[row * depth + k] * (double)weight[column * depth + k];
      out[row * columns + column] = relu && sum < 0 ? 0 : sum;
    }
  }
}

/* Activations by slots `first` and `first + 1` of one handle, the weights' inverse scales from another. */
typedef struct served {
  tare_fp8* activations;
  uint32_t first;
  int looks_first; /* dynamic: the scale is made of the tensor that it is for */
  const float* weight_inverse;
} served;

static void activate(const served* s, uint32_t layer, uint8_t* out, const float* in, uint64_t count) {
  const uint32_t slot = s->first + layer;
  if (s->looks_first) {
    const tare_tensor values = {(void*)in, count, TARE_F32, 0};
    must(tare_fp8_observe(s->activations, &values, &slot, 1, NULL, &error));
    must(tare_fp8_update(s->activations, NULL, &error));
  }
  quantise(s->activations, slot, out, in, count);
}

static void answer(const served* s, float* out, const float* in) {
  static uint8_t bytes1[BATCH * WIDTH], bytes2[BATCH * HIDDEN];
  static float hidden[BATCH * HIDDEN];
  const float* inverse = NULL;
  must(tare_fp8_scale_pointer(&inverse, s->activations, TARE_FP8_SCALE_INV, &error));
  activate(s, 0, bytes1, in, BATCH * WIDTH);
  product(hidden, bytes1, quantised1, WIDTH, HIDDEN, inverse[s->first] * s->weight_inverse[W1], 1);
  activate(s, 1, bytes2, hidden, BATCH * HIDDEN);
  product(out, bytes2, quantised2, HIDDEN, WIDTH, inverse[s->first + 1] * s->weight_inverse[W2], 0);
}

/* The error of an answer, as a share of the answer, both as root mean squares. */
static double error_of(const served* s, float magnitude) {
  static float in[BATCH * WIDTH], out[BATCH * WIDTH];
  static double wide[BATCH * WIDTH], hidden[BATCH * HIDDEN], exact[BATCH * WIDTH];
  double wrong = 0, whole = 0;
  fill(in, BATCH * WIDTH, magnitude);
  for (int i = 0; i < BATCH * WIDTH; ++i) wide[i] = (double)in[i];
  exact_product(hidden, wide, weight1, WIDTH, HIDDEN, 1);
  exact_product(exact, hidden, weight2, HIDDEN, WIDTH, 0);
  answer(s, out, in);
  for (int i = 0; i < BATCH * WIDTH; ++i) {
    wrong += ((double)out[i] - exact[i]) * ((double)out[i] - exact[i]);
    whole += exact[i] * exact[i];
  }
  return sqrt(wrong / whole);
}

/* Looks at batches as training would, and writes the scales that it comes to. */
static void calibrate(const char* path) {
  static float in[BATCH * WIDTH], hidden[BATCH * HIDDEN];
  static double wide[BATCH * WIDTH], exact[BATCH * HIDDEN];
  tare_fp8* fp8 = NULL;
  tare_state* state = NULL;
  must(
      tare_fp8_create(&fp8, "{\"policy\":\"transformer_engine\",\"amax_history_len\":32,\"slots\":" NAMES "}", &error));
  for (int batch = 0; batch < 32; ++batch) {
    const uint32_t slots[SLOTS] = {W1, W2, X1, X2};
    fill(in, BATCH * WIDTH, 3.0f);
    for (int i = 0; i < BATCH * WIDTH; ++i) wide[i] = (double)in[i];
    exact_product(exact, wide, weight1, WIDTH, HIDDEN, 1);
    for (int i = 0; i < BATCH * HIDDEN; ++i) hidden[i] = (float)exact[i];
    {
      const tare_tensor tensors[SLOTS] = {{weight1, HIDDEN * WIDTH, TARE_F32, 0},
                                          {weight2, WIDTH * HIDDEN, TARE_F32, 0},
                                          {in, BATCH * WIDTH, TARE_F32, 0},
                                          {hidden, BATCH * HIDDEN, TARE_F32, 0}};
      must(tare_fp8_observe(fp8, tensors, slots, SLOTS, NULL, &error));
    }
    must(tare_fp8_update(fp8, NULL, &error));
  }
  must(tare_fp8_freeze(&state, fp8, NULL, &error));
  must(tare_state_write(state, path, NULL, &error));
  tare_state_destroy(state);
  tare_fp8_destroy(fp8);
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "scales.json";
  tare_fp8 *frozen = NULL, *own = NULL;
  tare_state* state = NULL;
  const float* scale = NULL;
  float before[SLOTS];
  double worst_static = 0, worst_dynamic = 0;
  fill(weight1, HIDDEN * WIDTH, 0.2f);
  fill(weight2, WIDTH * HIDDEN, 0.1f);
  calibrate(path);

  must(tare_state_read(&state, path, &error));
  must(tare_fp8_create_from_state(&frozen, state, NULL, &error));
  tare_state_destroy(state);
  must(tare_fp8_create(&own, "{\"policy\":\"te_current\",\"slots\":2}", &error));
  quantise(frozen, W1, quantised1, weight1, HIDDEN * WIDTH);
  quantise(frozen, W2, quantised2, weight2, WIDTH * HIDDEN);
  must(tare_fp8_scale_pointer(&scale, frozen, TARE_FP8_SCALE, &error));
  memcpy(before, scale, sizeof before);
  {
    served by_calibration = {frozen, X1, 0, NULL}, by_request = {own, 0, 1, NULL};
    double far_static, far_dynamic;
    must(tare_fp8_scale_pointer(&by_calibration.weight_inverse, frozen, TARE_FP8_SCALE_INV, &error));
    by_request.weight_inverse = by_calibration.weight_inverse;
    for (int request = 0; request < 8; ++request) {
      const double one = error_of(&by_calibration, 3.0f), other = error_of(&by_request, 3.0f);
      if (!(one <= worst_static)) worst_static = one; /* a nan, too */
      if (!(other <= worst_dynamic)) worst_dynamic = other;
      must(tare_fp8_update(frozen, NULL, &error)); /* a loop that updates all its slots does no harm */
    }
    far_static = error_of(&by_calibration, 30.0f);
    far_dynamic = error_of(&by_request, 30.0f);
    printf("error of answers: calibrated %.4f, dynamic %.4f; of requests 10 times as large %.4f and %.4f\n",
           worst_static, worst_dynamic, far_static, far_dynamic);
    tare_fp8_destroy(own);
    if (memcmp(before, scale, sizeof before) != 0) return 1; /* frozen */
    tare_fp8_destroy(frozen);
    /* Rounding to e4m3 is off by a 16th at most, 3 % on average, in each operand; what is cut off is off by far more.
     */
    return worst_static > 0.005 && worst_static < 0.06 && worst_dynamic < 0.06 && far_dynamic < 0.06 && far_static > 0.2
               ? 0
               : 1;
  }
}
