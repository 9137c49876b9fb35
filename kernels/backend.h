/* What a backend does, as a table of C functions: the CPU gives one, and so does the module libtare_cuda.so. Whoever
 * gives it and whoever calls it come from one build: the table's size and `release` must agree, and structures of
 * kernels/ are passed as they lie in memory. Addresses are where the backend computes: device memory may be handed on,
 * not read. Arguments are checked before. Functions return a status as tare.h numbers it. On a GPU they only enqueue on
 * `stream` but where they say that they wait, and the device that is current at a call is so after it; the CPU has
 * finished when a call returns. What a scaler and its lists, or slots and their casts, are told counts in the order of
 * the calls, whatever streams they come on. */
#ifndef TARE_KERNELS_BACKEND_H
#define TARE_KERNELS_BACKEND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Written where a function does not return 0, and not read before. */
typedef struct tare_backend_error {
  int32_t status;
  int32_t detail; /* cudaError_t, errno, or 0 */
  char message[512];
  char hint[128];
} tare_backend_error;

enum {
  TARE_BACKEND_REPORT = 1,
  TARE_BACKEND_STEP = 2,
  TARE_BACKEND_PUT_SCALE = 3,
  TARE_BACKEND_TAKE_OVER = 4,
  TARE_BACKEND_REPORT_LAYER = 5,
  TARE_BACKEND_FOLLOW_REDUCED = 6, /* noop, and what its lists show, say what found-inf says now */
  TARE_BACKEND_STEP_ELSEWHERE = 7  /* of policy "torch": its rule on a caller's state, not on its own */
};

/* Something that a scaler does without a list. */
typedef struct tare_backend_command {
  int32_t what;
  int32_t overflow;      /* REPORT */
  double scale;          /* PUT_SCALE */
  const void* running;   /* TAKE_OVER: a rule::RunningState, copied */
  const void* layer;     /* REPORT_LAYER: a rule::LayerStatistics, copied */
  const void* elsewhere; /* STEP_ELSEWHERE: a kernels::TorchPlaces, copied */
} tare_backend_command;

enum { TARE_BACKEND_OBSERVE = 1, TARE_BACKEND_UNSCALE = 2, TARE_BACKEND_WRITE = 3, TARE_BACKEND_SCALE = 4 };

/* One pass over a list, with what it found going to the scaler; SCALE looks for nothing. */
typedef struct tare_backend_pass {
  int32_t what;
  int32_t unscales; /* WRITE: whether values are multiplied by the inverse scale */
  int32_t steps;    /* whether the scaler's step follows, on a GPU in the same launch */
  float limit;      /* WRITE: of clipping by value; infinity: none */
  double clip_norm; /* WRITE: above 0, then values are read twice: for the norm, and to be written */
  double threshold;
  const void* outputs; /* WRITE: as many kernels::Tensor as the list has */
} tare_backend_pass;

/* What a pass, or a report, found on this rank. */
typedef struct tare_backend_findings {
  int32_t what;       /* the pass; 0: a report */
  const void* core;   /* the scaler's kernels::ScalerCore, of before */
  void* seen;         /* a kernels::Statistics */
  int32_t* found_inf; /* 0 or 1 */
} tare_backend_findings;

enum {
  TARE_BACKEND_RECORD = 1, /* a kernels::RankRecord */
  TARE_BACKEND_SLOTS = 2,  /* a kernels::fp8::Slots, in host memory, whose arrays are a GPU's: amaxes and counts */
  TARE_BACKEND_WORDS = 3,  /* four words, of each the greatest */
  /* The rest are tare_backend_numbers. */
  TARE_BACKEND_MAXIMA = 4,   /* words in place, of each the greatest */
  TARE_BACKEND_SUMS = 5,     /* doubles in place, summed up */
  TARE_BACKEND_TO_ALL = 6,   /* `count` bytes for each rank, as many from each */
  TARE_BACKEND_FROM_ALL = 7, /* `count` bytes of each rank */
  TARE_BACKEND_SUM_E4M3 = 8, /* values in place, summed up as the engine does it */
  TARE_BACKEND_SUM_E5M2 = 9
};

typedef struct tare_backend_numbers {
  void* from;
  void* to;
  uint64_t count;
} tare_backend_numbers;

/* How ranks are joined; a function gives a status, and nothing is noted of what it fails for. */
typedef struct tare_backend_reduction {
  void* context;
  /* The CPU's: makes of `seen` and `found_inf` those of all ranks. */
  int32_t (*join)(void* context, const tare_backend_findings* findings, tare_backend_error* error);
  /* A GPU's: enqueues that of all ranks in the place of `data`, one of the above in the GPU's memory. */
  int32_t (*enqueue)(void* context, int32_t what, void* data, void* stream, tare_backend_error* error);
  int32_t takes_slots; /* whether SLOTS is one of what `enqueue` takes; else MAXIMA and SUMS stand for it */
  int32_t same_values; /* a GPU's: whether ranks whose RECORDs are of other counts of values part */
} tare_backend_reduction;

/* How gradients become those of all ranks. */
typedef struct tare_backend_sum {
  uint64_t ranks;
  uint64_t rank;
  uint64_t bucket_bytes; /* of fp8 under way at once */
  int32_t by_engine;     /* SUM_E4M3 and SUM_E5M2; else TO_ALL, a sum here, FROM_ALL */
  double fixed_mu;       /* of slots that have none */
  double summands;       /* what sums are divided by */
  const tare_backend_reduction* reduction;
} tare_backend_sum;

enum { TARE_BACKEND_NOTE = 1, TARE_BACKEND_QUANTISE = 2, TARE_BACKEND_DEQUANTISE = 3 };

typedef struct tare_backend_scaler tare_backend_scaler;
typedef struct tare_backend_list tare_backend_list;
typedef struct tare_backend_slots tare_backend_slots;
typedef struct tare_backend_casts tare_backend_casts;
typedef struct tare_backend_sums tare_backend_sums;
typedef struct tare_backend_looks tare_backend_looks;
typedef struct tare_backend_quantiser tare_backend_quantiser;

/* Where to copy what was seen; null: what an addition does not have. */
typedef struct tare_backend_seen {
  void* summaries;  /* of tensors: a kernels::Summary each */
  void* statistics; /* of a list: a kernels::Statistics for each tensor */
  void* finite;     /* of one that counts finite values: a kernels::FiniteValues for each */
  void* list;       /* its kernels::ListCore */
  void* scaler;     /* its scaler's kernels::ScalerCore */
  void* standing;   /* of somebody else's scaler: a kernels::ScalerStanding */
} tare_backend_seen;

typedef struct tare_backend_table {
  uint64_t struct_size;
  const char* release;
  /* `place`: a GPU's number; how many threads a CPU scaler has. `running`: a rule::RunningState. Waits. */
  int32_t (*scaler_make)(tare_backend_scaler** out, int32_t place, const void* running, tare_backend_error* error);
  void (*scaler_end)(tare_backend_scaler* scaler);
  /* Its kernels::ScalerCore, where it stays. */
  void* (*scaler_core)(const tare_backend_scaler* scaler);
  /* *raised: a rule::Raised, if the backend has finished; a GPU's is there at the next read. */
  int32_t (*scaler_do)(tare_backend_scaler* scaler, const tare_backend_command* command, int32_t* raised, void* stream,
                       tare_backend_error* error);
  /* Waits for the stream and copies the kernels::ScalerCore. What its rule raised and nobody was told of is there once.
   */
  int32_t (*scaler_read)(const tare_backend_scaler* scaler, void* core, void* stream, tare_backend_error* error);
  /* Findings are joined so from now on; null: no longer. Copied. Where ranks part on a GPU, the kernels::ScalerCore
   * that is read next says so once. */
  int32_t (*scaler_join)(tare_backend_scaler* scaler, const tare_backend_reduction* reduction,
                         tare_backend_error* error);

  int32_t (*list_make)(tare_backend_list** out, tare_backend_scaler* scaler, tare_backend_error* error);
  void (*list_end)(tare_backend_list* list);
  /* Its kernels::ListCore, where it stays. */
  void* (*list_core)(const tare_backend_list* list);
  /* Its passes count finite values beside others from now on; to be said before tensors are assigned. */
  void (*list_count_finite)(tare_backend_list* list);
  /* `tensors`: kernels::Tensor, copied. Waits for what was done with the scaler before; a captured list is refused, and
   * so is memory that the backend cannot reach, here and wherever tensors are taken. */
  int32_t (*list_assign)(tare_backend_list* list, const void* tensors, uint64_t count, tare_backend_error* error);
  /* *same is 0, and nothing done, for other counts or dtypes. */
  int32_t (*list_rebind)(tare_backend_list* list, const void* tensors, uint64_t count, int32_t* same,
                         tare_backend_error* error);
  /* Whether a graph may still use it. */
  int32_t (*list_is_captured)(const tare_backend_list* list);
  /* *raised: as scaler_do's, of the step. */
  int32_t (*list_pass)(tare_backend_list* list, const tare_backend_pass* pass, int32_t* raised, void* stream,
                       tare_backend_error* error);
  /* Its found-inf was reduced: noop says the same, and the scaler takes it in. */
  int32_t (*list_follow)(tare_backend_list* list, void* stream, tare_backend_error* error);
  /* Waits and copies its kernels::ListCore, a kernels::Statistics for each tensor and, of a list that counts finite
   * values, a kernels::FiniteValues for each (null: of another). */
  int32_t (*list_read)(const tare_backend_list* list, void* core, void* each, void* finite, void* stream,
                       tare_backend_error* error);

  /* FP8 slots. `place` as above. `like`, `into` and `from` are kernels::fp8::Slots whose arrays are in host memory.
   * Waits. */
  int32_t (*slots_make)(tare_backend_slots** out, int32_t place, const void* like, tare_backend_error* error);
  void (*slots_end)(tare_backend_slots* slots);
  /* A kernels::fp8::Slots with the arrays that it computes with, which stay where they are. */
  const void* (*slots_arrays)(const tare_backend_slots* slots);
  int32_t (*slots_step)(tare_backend_slots* slots, void* stream, tare_backend_error* error);
  /* Steps go by what all ranks saw from now on; null: no longer. Copied. With `words`, four in host memory, these
   * become the greatest of all ranks' instead, and nothing else changes: waits. A null function: the caller joins ranks
   * before each step. */
  int32_t (*slots_join)(tare_backend_slots* slots, const tare_backend_reduction* reduction, uint64_t* words,
                        tare_backend_error* error);
  /* Wait. Of the same rule and shape, for as many slots. */
  int32_t (*slots_read)(const tare_backend_slots* slots, const void* into, void* stream, tare_backend_error* error);
  int32_t (*slots_write)(tare_backend_slots* slots, const void* from, void* stream, tare_backend_error* error);

  int32_t (*casts_make)(tare_backend_casts** out, tare_backend_slots* slots, tare_backend_error* error);
  void (*casts_end)(tare_backend_casts* casts);
  /* `tensors`: kernels::Tensor; `slots`: one a tensor; both copied. As list_assign. */
  int32_t (*casts_assign)(tare_backend_casts* casts, const void* tensors, const uint32_t* slots, uint64_t count,
                          tare_backend_error* error);
  /* *same is 0, and nothing done, for other counts, dtypes or slots. */
  int32_t (*casts_rebind)(tare_backend_casts* casts, const void* tensors, const uint32_t* slots, uint64_t count,
                          int32_t* same, tare_backend_error* error);
  int32_t (*casts_are_captured)(const tare_backend_casts* casts);
  /* `outputs`: as many kernels::Tensor as the list has; NOTE needs none. */
  int32_t (*casts_run)(tare_backend_casts* casts, int32_t what, const void* outputs, void* stream,
                       tare_backend_error* error);
  /* casts_assign and casts_run of a list that is not kept; null where a list has to be made ready first. */
  int32_t (*slots_cast)(tare_backend_slots* slots, int32_t what, const void* tensors, const uint32_t* slots_of,
                        uint64_t count, const void* outputs, tare_backend_error* error);

  /* Gradients that ranks sum in fp8; null on the CPU, as the next seven. How many ranks there are, and which this one
   * is. Waits. */
  int32_t (*slots_count_ranks)(tare_backend_slots* slots, const tare_backend_reduction* reduction, uint64_t* ranks,
                               uint64_t* rank, void* stream, tare_backend_error* error);
  /* `list`: how many gradients, and a digest of what they are; the slots' mu are told with them. With `words`, four in
   * host memory, waits and copies the greatest of all ranks' words: the count, the digest of list and mu, each before
   * its complement. */
  int32_t (*slots_compare)(tare_backend_slots* slots, const tare_backend_reduction* reduction, const uint64_t* list,
                           uint64_t* words, void* stream, tare_backend_error* error);
  int32_t (*sums_make)(tare_backend_sums** out, tare_backend_slots* slots, tare_backend_error* error);
  void (*sums_end)(tare_backend_sums* sums);
  /* As casts_assign; `formats`: of each tensor's slot. */
  int32_t (*sums_assign)(tare_backend_sums* sums, const void* tensors, const uint32_t* slots, const int32_t* formats,
                         uint64_t count, const tare_backend_sum* how, tare_backend_error* error);
  /* *same is 0, and nothing done, for other counts, dtypes, slots, ranks or ways to sum. */
  int32_t (*sums_rebind)(tare_backend_sums* sums, const void* tensors, const uint32_t* slots, uint64_t count,
                         const tare_backend_sum* how, int32_t* same, tare_backend_error* error);
  int32_t (*sums_are_captured)(const tare_backend_sums* sums);
  int32_t (*sums_run)(tare_backend_sums* sums, const tare_backend_sum* how, void* stream, tare_backend_error* error);

  /* Tensors looked at, with what was found read later. Null on the CPU, which summarises at once. */
  int32_t (*looks_make)(tare_backend_looks** out, int32_t place, tare_backend_error* error);
  /* Waits for the looks that were not read. */
  void (*looks_end)(tare_backend_looks* looks);
  /* `tensors`: kernels::Tensor, whose values bear `scale`, a kernels::BorneScale; borrowed until the look is done, and
   * so is the scale's place. Not in a capture. Waits where there is not yet the memory for it. */
  int32_t (*looks_add)(tare_backend_looks* looks, const void* tensors, uint64_t count, const void* scale, void* stream,
                       tare_backend_error* error);
  /* What the last pass of a list found, and how its scaler stands then; likewise. */
  int32_t (*looks_add_list)(tare_backend_looks* looks, tare_backend_list* list, void* stream,
                            tare_backend_error* error);
  /* How a scaler of somebody else's stands; likewise. `places`: a kernels::ScalerPlaces. */
  int32_t (*looks_add_scaler)(tare_backend_looks* looks, const void* places, void* stream, tare_backend_error* error);
  /* *done: whether what was added since the last read has been looked at. */
  int32_t (*looks_ask)(const tare_backend_looks* looks, int32_t* done, tare_backend_error* error);
  /* Waits, and copies what was added since the last read: one `into` for each addition, in their order. */
  int32_t (*looks_read)(tare_backend_looks* looks, const tare_backend_seen* into, tare_backend_error* error);

  /* Matrices with scales of their own values. `place` as slots_make's; `how`: a kernels::fp8::Quantisation, copied.
   * Waits. */
  int32_t (*quantiser_make)(tare_backend_quantiser** out, int32_t place, const void* how, tare_backend_error* error);
  void (*quantiser_end)(tare_backend_quantiser* quantiser);
  /* `what`: QUANTISE or DEQUANTISE. `matrices`: kernels::fp8::Matrix, whose arrays are borrowed. */
  int32_t (*quantiser_run)(tare_backend_quantiser* quantiser, int32_t what, const void* matrices, uint64_t count,
                           void* stream, tare_backend_error* error);
} tare_backend_table;

/* The only symbol that the CUDA module exports. */
typedef const tare_backend_table* (*tare_cuda_entry_point)(void);
#define TARE_CUDA_ENTRY_POINT "tare_cuda_module"

#ifdef __cplusplus
}
#endif
#endif
