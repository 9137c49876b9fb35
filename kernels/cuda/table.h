/* What libtare asks of libtare_cuda.so, as a table of C functions. Both come from one build: the table's size and
 * `release` must agree, and structures of kernels/ are passed as they lie in memory. Addresses called device memory may
 * be handed on, not read. Functions return a status as tare.h numbers it, and only enqueue on `stream` but where they
 * say that they wait. The device that is current at a call is so after it. */
#ifndef TARE_KERNELS_CUDA_TABLE_H
#define TARE_KERNELS_CUDA_TABLE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tare_cuda_error {
  int32_t status;
  int32_t detail; /* cudaError_t, or 0 */
  char message[512];
} tare_cuda_error;

enum {
  TARE_CUDA_REPORT = 1,
  TARE_CUDA_STEP = 2,
  TARE_CUDA_PUT_SCALE = 3,
  TARE_CUDA_TAKE_OVER = 4,
  TARE_CUDA_REPORT_LAYER = 5,
  TARE_CUDA_FOLLOW_REDUCED = 6 /* noop, and what its lists show, say what found-inf says now */
};

/* Something that a scaler does without a list. */
typedef struct tare_cuda_command {
  int32_t what;
  int32_t overflow;    /* REPORT */
  double scale;        /* PUT_SCALE */
  const void* running; /* TAKE_OVER: a rule::RunningState, copied */
  const void* layer;   /* REPORT_LAYER: a rule::LayerStatistics, copied */
} tare_cuda_command;

enum { TARE_CUDA_OBSERVE = 1, TARE_CUDA_UNSCALE = 2, TARE_CUDA_WRITE = 3 };

/* One pass over a list, with what it found going to the scaler. */
typedef struct tare_cuda_pass {
  int32_t what;
  int32_t unscales; /* WRITE: whether values are multiplied by the inverse scale */
  int32_t steps;    /* whether the scaler's step follows, in the same launch */
  float limit;      /* WRITE: of clipping by value; infinity: none */
  double clip_norm; /* WRITE: above 0, then values are read twice: for the norm, and to be written */
  double threshold;
  const void* outputs; /* WRITE: as many kernels::Tensor as the list has */
} tare_cuda_pass;

typedef struct tare_cuda_scaler tare_cuda_scaler;
typedef struct tare_cuda_list tare_cuda_list;
typedef struct tare_cuda_slots tare_cuda_slots;
typedef struct tare_cuda_casts tare_cuda_casts;

enum { TARE_CUDA_NOTE = 1, TARE_CUDA_QUANTISE = 2, TARE_CUDA_DEQUANTISE = 3 };

typedef struct tare_cuda_table {
  uint64_t struct_size;
  const char* release;
  /* `running`: a rule::RunningState. Waits. */
  int32_t (*scaler_make)(tare_cuda_scaler** out, int32_t device, const void* running, tare_cuda_error* error);
  void (*scaler_end)(tare_cuda_scaler* scaler);
  /* Its kernels::ScalerCore, in device memory, where it stays. */
  void* (*scaler_core)(const tare_cuda_scaler* scaler);
  int32_t (*scaler_do)(tare_cuda_scaler* scaler, const tare_cuda_command* command, void* stream,
                       tare_cuda_error* error);
  /* Waits for the stream and copies the kernels::ScalerCore. What its rule raised is reported once. */
  int32_t (*scaler_read)(const tare_cuda_scaler* scaler, void* core, void* stream, tare_cuda_error* error);

  int32_t (*list_make)(tare_cuda_list** out, tare_cuda_scaler* scaler, tare_cuda_error* error);
  void (*list_end)(tare_cuda_list* list);
  /* Its kernels::ListCore, in device memory, where it stays. */
  void* (*list_core)(const tare_cuda_list* list);
  /* `tensors`: kernels::Tensor, checked. Waits for what was done with the scaler before; a captured list is refused. */
  int32_t (*list_assign)(tare_cuda_list* list, const void* tensors, uint64_t count, tare_cuda_error* error);
  /* *same is 0, and nothing done, for other counts or dtypes. */
  int32_t (*list_rebind)(tare_cuda_list* list, const void* tensors, uint64_t count, int32_t* same,
                         tare_cuda_error* error);
  /* Whether a graph may still use it. */
  int32_t (*list_is_captured)(const tare_cuda_list* list);
  int32_t (*list_pass)(tare_cuda_list* list, const tare_cuda_pass* pass, void* stream, tare_cuda_error* error);
  /* Waits and copies its kernels::ListCore and a kernels::Statistics for each tensor. */
  int32_t (*list_read)(const tare_cuda_list* list, void* core, void* each, void* stream, tare_cuda_error* error);

  /* FP8 slots. `like`, `into` and `from` are kernels::fp8::Slots whose arrays are in host memory. Waits. */
  int32_t (*slots_make)(tare_cuda_slots** out, int32_t device, const void* like, tare_cuda_error* error);
  void (*slots_end)(tare_cuda_slots* slots);
  /* A kernels::fp8::Slots whose arrays are in device memory, where they stay. */
  const void* (*slots_arrays)(const tare_cuda_slots* slots);
  int32_t (*slots_step)(tare_cuda_slots* slots, void* stream, tare_cuda_error* error);
  /* Wait. Of the same rule and shape, for as many slots. */
  int32_t (*slots_read)(const tare_cuda_slots* slots, const void* into, void* stream, tare_cuda_error* error);
  int32_t (*slots_write)(tare_cuda_slots* slots, const void* from, void* stream, tare_cuda_error* error);

  int32_t (*casts_make)(tare_cuda_casts** out, tare_cuda_slots* slots, tare_cuda_error* error);
  void (*casts_end)(tare_cuda_casts* casts);
  /* `tensors`: kernels::Tensor, checked; `slots`: one a tensor. As list_assign. */
  int32_t (*casts_assign)(tare_cuda_casts* casts, const void* tensors, const uint32_t* slots, uint64_t count,
                          tare_cuda_error* error);
  /* *same is 0, and nothing done, for other counts, dtypes or slots. */
  int32_t (*casts_rebind)(tare_cuda_casts* casts, const void* tensors, const uint32_t* slots, uint64_t count,
                          int32_t* same, tare_cuda_error* error);
  int32_t (*casts_are_captured)(const tare_cuda_casts* casts);
  /* `outputs`: as many kernels::Tensor as the list has; NOTE needs none. */
  int32_t (*casts_run)(tare_cuda_casts* casts, int32_t what, const void* outputs, void* stream, tare_cuda_error* error);
} tare_cuda_table;

/* The only symbol that the module exports. */
typedef const tare_cuda_table* (*tare_cuda_entry_point)(void);
#define TARE_CUDA_ENTRY_POINT "tare_cuda_module"

#ifdef __cplusplus
}
#endif
#endif
