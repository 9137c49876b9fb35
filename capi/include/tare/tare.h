/* tare.h: loss scalers of mixed-precision training and their state; checkpoint.h and comm.h, which it brings, have
 * checkpoints, and what many ranks do together.
 *
 *     tare_scaler* scaler = NULL;
 *     tare_error error = TARE_ERROR_INIT;
 *     if (tare_scaler_create(&scaler, "{\"policy\":\"torch\",\"initial_scale\":65536}", &error)) puts(error.message);
 *     tare_tensor gradients = {values, count, TARE_F32, 0};
 *     tare_scaler_unscale(scaler, &gradients, 1, NULL, &error);      divides in place, notes infinities and nan
 *     tare_scaler_update(scaler, NULL, &error);                      grows, keeps or backs off, as the framework would
 *     tare_scaler_destroy(scaler);
 *
 * The library may be linked or opened with dlopen; every function has C linkage and plain C types. What it promises:
 *
 *   [P1]  Functions that take a const handle may run at the same time on one handle. Others need it for themselves.
 *         Different handles are independent (a tare_grads counts as its scaler, a tare_fp8_casts as its tare_fp8;
 *         handles of one tare_comm: comm.h).
 *
 *   [P2]  Nothing happens when the library is loaded: no thread, no allocation, no device is touched.
 *
 *   [P3]  No exception, signal handler or change of locale leaves a call; no environment variable is read. (libhdf5 and
 *         the libraries under it read some of their own when HDF5 is first written; no result of tare's goes by them.)
 *
 *   [P4]  Worker threads belong to one scaler or set of FP8 slots ("threads" in its configuration, 1: none), or to one
 *         monitor with sinks, and are joined at its destroy; those that read and write many checkpoint files at once
 *         end before the call does. In a forked child a handle may only be destroyed.
 *
 *   [P5]  Bad arguments get a status: NULL pointers, unknown dtypes, counts that overflow, misaligned data, handles of
 *         another kind, and destroyed ones as long as their memory was not given out again. A failed
 *         call leaves its handle as it was, and *out, where there is one, NULL. (TARE_E_RULE is no failed call: the
 *         scaler is what the framework's object would be after raising.)
 *
 *   [P6]  The caller's floating-point environment (rounding, flush-to-zero, traps) neither matters nor is changed.
 *
 *   [P7]  A failed allocation is status 3 (TARE_E_OUT_OF_MEMORY) and loses nothing. (Not one of libhdf5's own, which it
 *         does not survive: before HDF5 is written, the system is asked for what that takes.)
 *
 *   [P8]  Nothing is allocated or waited for in the step once a first step was made: unscale, observe, both reports,
 *         update and all of tare_grads but create and statistics; of tare_fp8 observe, update, quantize and dequantize,
 *         all of tare_fp8_casts but create, and of tare_quantizer. Lists that are handed over anew each time are known
 * if their counts, dtypes and slots are those of one of the last 8 (fp8: 16).
 *
 *   [P9]  Within a major version symbols and numbers are only added, never changed or taken away.
 *
 *   [P10] What a CUDA handle is told counts in the order of the calls, whatever streams they come on: a stream other
 *         than the last one waits for it. Replays of captured graphs are put in order by who replays them.
 *
 * Words: owned - yours to destroy; borrowed - valid until the named event, never free it; copied - the library keeps no
 * pointer; waits - returns when the stream has come that far (the CPU has always finished when a call returns).
 *
 * Order of arguments: results first, then the handle, its arguments, the stream, the error. Every function but the
 * plain getters and the destroys returns a status. */
#ifndef TARE_TARE_H
#define TARE_TARE_H

#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define TARE_API __attribute__((visibility("default")))
#else
#define TARE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version --------------------------------------------------------------------------------------------- */

#define TARE_VERSION_MAJOR 0
#define TARE_VERSION_MINOR 1
#define TARE_VERSION_PATCH 0
/* That of this header; tare_version() tells the library's. */
#define TARE_VERSION (TARE_VERSION_MAJOR * 0x1000000u + TARE_VERSION_MINOR * 0x1000u + TARE_VERSION_PATCH)

/* major << 24 | minor << 12 | patch */
TARE_API uint32_t tare_version(void);
/* "0.1.0"; borrowed for ever. */
TARE_API const char* tare_version_string(void);

/* ---- status and error ------------------------------------------------------------------------------------ */

/* Never changed, never reused. */
enum {
  TARE_OK = 0,
  TARE_E_INVALID_ARGUMENT = 1,
  TARE_E_WRONG_KIND = 2, /* a call that this handle's policy has no use for */
  TARE_E_OUT_OF_MEMORY = 3,
  TARE_E_UNSUPPORTED = 10, /* this build, device or release cannot do it */
  TARE_E_BACKEND = 20,     /* CUDA is missing or failed; detail: cudaError_t. Or a comm failed: comm.h */
  TARE_E_IO = 30,          /* detail: errno */
  TARE_E_CORRUPT = 31,     /* a file contradicts its format, or itself */
  TARE_E_NOT_FOUND = 32,   /* what was asked for is not in there; the message lists what is */
  TARE_E_MISMATCH = 33,    /* fine by itself, but not beside what it is for */
  TARE_E_REFUSED = 34,     /* ambiguous or dangerous: the message says what would make it allowed */
  TARE_E_CONFLICT = 35,    /* copies in a checkpoint disagree */
  TARE_E_BUSY = 36,        /* somebody else is editing the checkpoint */
  TARE_E_RULE = 40,        /* the scaler's own rule raised: DeepSpeed at its minimum ... */
  TARE_E_INTERNAL = 90
};

/* Yours, also on the stack; may be NULL wherever it is taken. Set struct_size; at most that many bytes are written. One
 * that is all 0 counts as one of this struct's size. After a call `status` is what the call returned; `message` is one
 * line of UTF-8 that names the place and the value (bytes of a path that are no UTF-8 as \xNN), then, where there is
 * one, a newline and a hint. Empty after a success. */
typedef struct tare_error {
  uint64_t struct_size;
  int32_t status;
  int32_t detail;
  char message[1024];
} tare_error;
#define TARE_ERROR_INIT         \
  {                             \
    sizeof(tare_error), 0, 0, { \
      0                         \
    }                           \
  }

/* "out of memory"; "unknown" for a number that is no status. Borrowed for ever. */
TARE_API const char* tare_status_name(int32_t status);

/* ---- tensors and streams --------------------------------------------------------------------------------- */

enum { TARE_F32 = 1, TARE_F64 = 2, TARE_F16 = 3, TARE_BF16 = 4, TARE_F8E4M3FN = 5, TARE_F8E5M2 = 6 };
/* What fields of a scaler are kept in besides; no tensor is. TARE_BOOL is one byte, 0 or 1. */
enum { TARE_I32 = 16, TARE_I64 = 17, TARE_BOOL = 18 };

/* A contiguous array where the scaler computes: host memory for a CPU scaler, device memory for a CUDA scaler. Frozen
 * at 24 bytes. */
typedef struct tare_tensor {
  void* data;     /* aligned to the element; may be NULL if count is 0 */
  uint64_t count; /* elements */
  int32_t dtype;
  int32_t reserved; /* 0 */
} tare_tensor;

/* CUDA's own stream type: of the device's primary context, as the CUDA runtime, torch and JAX make them. NULL is the
 * legacy default stream; CPU scalers ignore it.
 *
 * CUDA graphs. Every call that takes a stream and does not wait may be captured, the first of a list, too. A call that
 * waits is TARE_E_BACKEND while its stream is captured. Neither that, nor handles that are made and destroyed
 * meanwhile, loses anybody's capture.
 *
 * A graph looks at the tensors, outputs and options that it was captured with, whatever came after; a captured pass or
 * cast binds its addresses first, which is one small launch more. It goes on from where the handle stands at each
 * replay: after a load or a new scale, from those (parameters of FP8 slots stay as captured). Calls outside of graphs
 * look at the tensors that they, or the last rebind, were given.
 *
 * What was captured is kept until its handle is destroyed: a tare_grads as it is, and lists that were handed over with
 * the call besides the last ones of [P8]. A graph goes before the handles that it was captured from. */
typedef struct CUstream_st* tare_stream;

typedef struct tare_scaler tare_scaler;
typedef struct tare_grads tare_grads;
typedef struct tare_fp8 tare_fp8;
typedef struct tare_fp8_casts tare_fp8_casts;
typedef struct tare_state tare_state;
typedef struct tare_states tare_states;
typedef struct tare_text tare_text;

/* ---- text ------------------------------------------------------------------------------------------------ */

/* UTF-8 with a NUL behind it; never NULL, "" for NULL. Borrowed until the text is destroyed. */
TARE_API const char* tare_text_data(const tare_text* text);
/* Bytes before the NUL. */
TARE_API uint64_t tare_text_size(const tare_text* text);
/* NULL is fine, here and in every destroy. */
TARE_API void tare_text_destroy(tare_text* text);

/* ---- loss scalers ---------------------------------------------------------------------------------------- */

/* Makes a scaler from JSON: {"policy":"torch","initial_scale":65536,"device":"cpu","threads":1}.
 *
 * "policy" is one of tare_policies; parameters bear the framework's names ("growth_interval", DeepSpeed's
 * "scale_window") or tare's own words for them ("initial_scale", "window"), and start at the framework's defaults.
 * Besides: "variant", "floor" and "ceiling" (bounds of the scale that no framework has; off by default), "device"
 * ("cpu", "cuda:0"), "threads", "underflow_threshold" (what statistics count as below), and "finite_statistics"
 * (tare_grads_statistics; false by default). Policy "megatron" takes Megatron's arguments as well ("loss_scale",
 * "initial_loss_scale", "min_loss_scale", "loss_scale_window", "fp16", "bf16") and chooses as it does between a dynamic
 * scaler, a constant one and none. *out is owned. TARE_E_INVALID_ARGUMENT names the allowed keys or range. */
TARE_API int32_t tare_scaler_create(tare_scaler** out, const char* config_json, tare_error* error);

/* Makes a scaler that goes on where `state` stands; what the state does not name starts as the framework starts it.
 * `config_json` may be NULL; its parameters go before the state's, and so does its variant, of those that keep the same
 * fields (DeepSpeed's "fused" and "unfused"). TARE_E_MISMATCH lists fields whose names are misspelt and parameters
 * that the policy does not know. *out is owned, the state is copied. */
TARE_API int32_t tare_scaler_create_from_state(tare_scaler** out, const tare_state* state, const char* config_json,
                                               tare_error* error);

/* Joins its threads. Every tare_grads of the scaler must be gone. */
TARE_API void tare_scaler_destroy(tare_scaler* scaler);

/* JSON of every policy: its framework, what drives it, parameters (names, words, types, defaults, ranges) and fields.
 * *out is owned. */
TARE_API int32_t tare_policies(tare_text** out, tare_error* error);

/* What to multiply the loss by. Waits. */
TARE_API int32_t tare_scaler_scale(double* out, const tare_scaler* scaler, tare_stream stream, tare_error* error);

enum {
  TARE_POINTER_SCALE = 1,         /* float */
  TARE_POINTER_INVERSE_SCALE = 2, /* float: 1 / scale, rounded once; of "layerwise" 1 / accumulated */
  TARE_POINTER_FOUND_INF = 3,     /* float: not 0 if anything since the last update was infinite or nan */
  TARE_POINTER_NOOP = 4,          /* int32_t: the same as 1 and 0 */
  TARE_POINTER_MULTIPLIER = 5     /* float: what an optimizer multiplies gradients by: inverse scale, clipping */
};
/* Borrowed until destroy, and stable until then, also through load; device memory for a CUDA scaler. A scale kept as a
 * double shows rounded to float. `which` is one of TARE_POINTER_. */
TARE_API int32_t tare_scaler_pointer(const void** out, const tare_scaler* scaler, int32_t which, tare_error* error);

/* Multiplies every tensor by the inverse scale, in place, to the bit as torch does it but for the bits of a nan
 * (torch's own differ from CPU to CPU), and notes infinities and nan. f32, f64, f16 and bf16. Found-inf and statistics
 * accumulate until update. `tensors` is copied, the data borrowed until the stream passes. */
TARE_API int32_t tare_scaler_unscale(tare_scaler* scaler, const tare_tensor* tensors, uint64_t count,
                                     tare_stream stream, tare_error* error);

/* The same without writing; the two f8 types too. */
TARE_API int32_t tare_scaler_observe(tare_scaler* scaler, const tare_tensor* tensors, uint64_t count,
                                     tare_stream stream, tare_error* error);

/* Multiplies every tensor by the scale, in place: f32, f64, f16 and bf16; a loss before backward. Each product is
 * formed in float32 (f64: in double) with the scale as TARE_POINTER_SCALE shows it, and rounded once to the tensor's
 * type. (torch rounds the scale to f16 or bf16 first where the loss is of such: 65536 is infinite there.) Infinities
 * and nan are not noted. Lists and lifetimes as for unscale. */
TARE_API int32_t tare_scaler_scale_tensors(tare_scaler* scaler, const tare_tensor* tensors, uint64_t count,
                                           tare_stream stream, tare_error* error);

/* For callers with their own check: not 0 if this step overflowed. Accumulates. */
TARE_API int32_t tare_scaler_report_overflow(tare_scaler* scaler, int32_t overflow, tare_stream stream,
                                             tare_error* error);

/* What policy "layerwise" goes by: one layer's weights, and the gradient that comes into the layer, still scaled. */
typedef struct tare_layer {
  uint64_t struct_size; /* sizeof(tare_layer) */
  double fan_in;        /* products in an element of the gradient that goes on: W.shape[0], times a kernel's area */
  double prev_scale;    /* field "accumulated" of the layer nearer the loss; 1 for the nearest */
  float gradient_mean;
  float gradient_deviation;
  float weight_mean;
  float weight_deviation;
  float largest_product; /* |gradient x weight|, the greatest that the least and greatest of each make */
  int32_t reserved;      /* 0 */
} tare_layer;

/* What the next update of a layer's scaler goes by, which without it keeps the scale. A second one before the update
 * takes the first's place. TARE_E_WRONG_KIND for another policy than "layerwise", TARE_E_INVALID_ARGUMENT for a
 * prev_scale that is not positive. `layer` is copied. */
TARE_API int32_t tare_scaler_report_layer(tare_scaler* scaler, const tare_layer* layer, tare_stream stream,
                                          tare_error* error);

/* One step of the rule with what was accumulated, which is then cleared. Where the rule raises, the CPU returns
 * TARE_E_RULE at once; CUDA latches it and the next call that waits returns it. Policy "torch" raises, as torch does,
 * when nothing was unscaled, observed or reported since the last update; an empty list counts as looked at, as that of
 * a rank without gradients. */
TARE_API int32_t tare_scaler_update(tare_scaler* scaler, tare_stream stream, tare_error* error);

/* What an update did. */
typedef struct tare_outcome {
  uint64_t struct_size; /* sizeof(tare_outcome) */
  double old_scale;
  double new_scale;
  int32_t found_inf;  /* 1: something was infinite or nan, or was reported to be */
  int32_t skipped;    /* 1: the optimizer's step is to be skipped */
  int32_t grew;       /* 1: the scale is greater than before */
  int32_t backed_off; /* 1: it is smaller */
} tare_outcome;

/* tare_scaler_update, and what it did, also where that is TARE_E_RULE. Waits. */
TARE_API int32_t tare_scaler_update_outcome(tare_outcome* out, tare_scaler* scaler, tare_stream stream,
                                            tare_error* error);

/* torch._amp_update_scale_, for those who replace just that: one step of the scaler's rule on the caller's scale and
 * tracker, by the caller's found-inf (0 or not; nan counts). The scaler gives rule, parameters and device and stays as
 * it is. The three lie where it computes, each aligned and apart from the others, and are borrowed until the stream
 * passes. TARE_E_WRONG_KIND for another policy than "torch". */
TARE_API int32_t tare_scaler_update_elsewhere(tare_scaler* scaler, float* scale, int32_t* growth_tracker,
                                              const float* found_inf, tare_stream stream, tare_error* error);

/* Memory of a field, by native name or role, where the scaler computes: what is written there the next update goes by.
 * "inverse_scale" is what unscaling multiplies by; it follows the scale at each update, set_scale and load, so that
 * whoever writes a scale writes it, too. *dtype: TARE_F32, TARE_F64, TARE_I32, TARE_I64 or TARE_BOOL. Borrowed until
 * destroy, and stable until then. TARE_E_NOT_FOUND names the fields; TARE_E_UNSUPPORTED: one that is kept as a number
 * of Python's. */
TARE_API int32_t tare_scaler_field(void** out, int32_t* dtype, const tare_scaler* scaler, const char* key,
                                   tare_error* error);

/* A field, parameter or counter of a scaler that runs, by any key of a state ("growth_interval", "scale",
 * "statistics.skipped"). Wait. Setting keeps found-inf of the step that is under way; its statistics start anew.
 * TARE_E_NOT_FOUND names what there is, TARE_E_MISMATCH: the policy cannot hold it. */
TARE_API int32_t tare_scaler_number(double* out, const tare_scaler* scaler, const char* key, tare_stream stream,
                                    tare_error* error);
TARE_API int32_t tare_scaler_integer(int64_t* out, const tare_scaler* scaler, const char* key, tare_stream stream,
                                     tare_error* error);
TARE_API int32_t tare_scaler_set_number(tare_scaler* scaler, const char* key, double value, tare_stream stream,
                                        tare_error* error);
TARE_API int32_t tare_scaler_set_integer(tare_scaler* scaler, const char* key, int64_t value, tare_stream stream,
                                         tare_error* error);

/* torch's update(new_scale): counters are kept. TARE_E_RULE: a scale that the policy cannot hold;
 * TARE_E_INVALID_ARGUMENT: nan, 0, less, or what becomes 0 where the policy keeps it. Nothing changes then. */
TARE_API int32_t tare_scaler_set_scale(tare_scaler* scaler, double scale, tare_stream stream, tare_error* error);

/* For a caller's own all-reduce between unscale and update: *bytes of float32 (one: found-inf of all that was looked
 * at), to be reduced with MAX or SUM. Borrowed until destroy. Update goes by what is there then; whoever reads noop, or
 * a list's found-inf, calls tare_scaler_report_reduced first. */
TARE_API int32_t tare_scaler_accumulators(void** out, uint64_t* bytes, const tare_scaler* scaler, tare_error* error);

/* Behind such an all-reduce: noop says what found-inf says now, and where that is not 0, so do found-inf and noop of
 * every tare_grads of the scaler (which list it was on another rank, nobody knows): all ranks skip, or none. */
TARE_API int32_t tare_scaler_report_reduced(tare_scaler* scaler, tare_stream stream, tare_error* error);

/* JSON "tare.statistics/1": steps, skipped, growths, backoffs; count, zeros, below, max_abs, norm of the values as they
 * were read, since the last update ("accumulated") and in the step before it ("last_step"). Waits. *out is owned. */
TARE_API int32_t tare_scaler_statistics(tare_text** out, const tare_scaler* scaler, tare_stream stream,
                                        tare_error* error);

/* All that the scaler is, as a state of its own. Waits. *out is owned. */
TARE_API int32_t tare_scaler_save(tare_state** out, const tare_scaler* scaler, tare_stream stream, tare_error* error);

/* Takes a state of the same policy: all of its fields, and those parameters that it holds. TARE_E_MISMATCH lists every
 * name that is missing, extra or bad, and nothing changes. Clears what was accumulated. The state is copied. A constant
 * scaler of Megatron's saves {}, as there, and takes nothing from any state of that policy. */
TARE_API int32_t tare_scaler_load(tare_scaler* scaler, const tare_state* state, tare_stream stream, tare_error* error);

/* ---- prepared lists of gradients ------------------------------------------------------------------------- */

/* A list made ready once and used every step, one an optimizer: it has a found-inf of its own, and adds to its
 * scaler's. Descriptors are copied, data borrowed. *out is owned; destroy it before the scaler. */
TARE_API int32_t tare_grads_create(tare_grads** out, tare_scaler* scaler, const tare_tensor* tensors, uint64_t count,
                                   tare_error* error);

/* Other addresses for the same counts and dtypes; TARE_E_MISMATCH for other ones. */
TARE_API int32_t tare_grads_rebind(tare_grads* grads, const tare_tensor* tensors, uint64_t count, tare_stream stream,
                                   tare_error* error);

/* As tare_scaler_unscale and tare_scaler_observe. Found-inf of the list is set anew by each. */
TARE_API int32_t tare_grads_unscale(tare_grads* grads, tare_stream stream, tare_error* error);
TARE_API int32_t tare_grads_observe(tare_grads* grads, tare_stream stream, tare_error* error);

/* The same with tare_scaler_update right behind it; on a GPU the two are one launch. For scalers whose step has one
 * list, or for its last. */
TARE_API int32_t tare_grads_unscale_and_update(tare_grads* grads, tare_stream stream, tare_error* error);
TARE_API int32_t tare_grads_observe_and_update(tare_grads* grads, tare_stream stream, tare_error* error);

/* Writes the i-th tensor, unscaled, clipped and cast, into out[i]: as many elements, f32, f64, f16 or bf16; its own
 * input (of the same size of element) or memory that overlaps nothing. `options_json` may be NULL:
 *   {"unscale":true,     false: the values are already unscaled
 *    "clip_norm":1.0,    as torch's clip_grad_norm_: times min(1, clip_norm / (norm + 1e-6)), norm of the whole list
 *    "clip_value":0.5}   as torch's clip_grad_value_ */
TARE_API int32_t tare_grads_write(tare_grads* grads, const tare_tensor* out, uint64_t count, const char* options_json,
                                  tare_stream stream, tare_error* error);

/* As tare_scaler_pointer: scale and inverse scale are the scaler's, found-inf, noop and multiplier the list's own. */
TARE_API int32_t tare_grads_pointer(const void** out, const tare_grads* grads, int32_t which, tare_error* error);

/* For a caller's own all-reduce between a list's pass and the update, an optimizer at a time, as torch's sharded scaler
 * makes it: *bytes of float32 (one: the list's found-inf), to be reduced with MAX or SUM. Borrowed until destroy. */
TARE_API int32_t tare_grads_accumulators(void** out, uint64_t* bytes, const tare_grads* grads, tare_error* error);

/* Behind such an all-reduce: the list's noop says what its found-inf says now, and the scaler's found-inf and noop take
 * it in; other lists stay as they are. (The multiplier clips by this rank's norm: a comm has that of all.) */
TARE_API int32_t tare_grads_report_reduced(tare_grads* grads, tare_stream stream, tare_error* error);

/* JSON "tare.grads/1": what the last unscale, observe or write found in the values as they were read: "found_inf",
 * "total", and "tensors", one for each in the list's order, with count, zeros, below, max_abs, sum_of_squares, norm.
 * One infinity makes these infinite, one nan makes them nan. With the scaler's "finite_statistics" each has besides
 * them how many "nans" and "infinities" there were, and "finite_max_abs" and "finite_norm" of the other values (the
 * total of a comm's sharded gradients has not: tare_scaler_set_comm). The pass itself counts them: a piece of 64 KiB at
 * most that is not finite throughout is looked at once more, before anything is written over it; on the CPU while it is
 * in the cache, on a GPU in a launch behind the pass, and where the pass writes all values are read ahead of it for
 * that. Waits. *out is owned. */
TARE_API int32_t tare_grads_statistics(tare_text** out, const tare_grads* grads, tare_stream stream, tare_error* error);

TARE_API void tare_grads_destroy(tare_grads* grads);

/* ---- FP8 slots ------------------------------------------------------------------------------------------- */

/* Many slots in one handle; a slot is what a framework keeps of one tensor that is cast to fp8: a scale, the amax in
 * progress, perhaps a history of it. From JSON:
 *
 *   {"policy":"transformer_engine","slots":["fc1.input","fc1.weight"],"format":"e4m3","amax_history_len":1024,"margin":0}
 *
 * "policy" is one of tare_fp8_policies: transformer_engine ("variant": fused_bulk, fused_single, unfused), te_current,
 * fp8_static, msamp, flax_fp8, keras_fp8, torchao_delayed ("variant": 0.7, 0.6, 0.4: the releases of torchao that round
 * alike), torchao_dynamic, fp8_lm. "slots": how many (1), or a name for each. "format": "e4m3", "e5m2", "f16" (MS-AMP's
 * scaled halves), of msamp "bf16" and "f32" (scale 1), for all or a list of each. "device": "cpu", "cuda:0"; "threads":
 * that cast on the CPU (1). Parameters bear the framework's names; "initial_scale" may be a list, one for each slot.
 * fp8_lm's mu grows a little each step
 * ("variant":"continuous"), or by "growth_exponent" powers of two after "growth_steps" clean steps in a row
 * ("stepped"); "counted" says which values make a step crowded. *out is owned. TARE_E_INVALID_ARGUMENT names the
 * allowed keys or range.
 *
 * A step: transformer_engine, msamp, torchao_delayed, fp8_static and fp8_lm note what they quantize, and update behind
 * it prepares the next step. te_current, torchao_dynamic, flax_fp8 and keras_fp8 are told first: observe, update,
 * quantize. So is torchao_delayed in the first step of a process, before its usual order: that update puts the amax at
 * the newest end of the history, which no other step changes. (torchao notes the last cast's amax of a step, these
 * slots the greatest; without a cast torchao notes its old amax again, these slots 0.) */
TARE_API int32_t tare_fp8_create(tare_fp8** out, const char* config_json, tare_error* error);

/* Slots that go on where `state` stands: of tare_fp8_save, or of a file. `config_json` may be NULL; it says "device",
 * "threads", and the length of histories by the policy's name for it ("amax_history_len"): each amax is then where the
 * rule looks for one of its age, as `tare fp8 resize` does it. Nothing else. *out is owned, the state is copied. */
TARE_API int32_t tare_fp8_create_from_state(tare_fp8** out, const tare_state* state, const char* config_json,
                                            tare_error* error);
TARE_API void tare_fp8_destroy(tare_fp8* fp8);

/* JSON "tare.fp8_policies/1": every policy, its parameters (names, words, defaults, ranges) and fields. *out is owned.
 */
TARE_API int32_t tare_fp8_policies(tare_text** out, tare_error* error);

/* How many slots there are. */
TARE_API int32_t tare_fp8_count(uint64_t* out, const tare_fp8* fp8, tare_error* error);

/* The number of the slot with that name. TARE_E_MISMATCH: none has it, or several. */
TARE_API int32_t tare_fp8_slot(uint32_t* out, const tare_fp8* fp8, const char* name, tare_error* error);

/* Raises the amax of slots[i] by the greatest magnitude of tensors[i]: f32, f16 or bf16. `slots` may be NULL: the i-th
 * tensor is of slot i; a slot may come several times. Lists are copied, data borrowed until the stream passes. */
TARE_API int32_t tare_fp8_observe(tare_fp8* fp8, const tare_tensor* tensors, const uint32_t* slots, uint64_t count,
                                  tare_stream stream, tare_error* error);

/* A step of every slot's rule: the new scale, and the amax in progress into the history. */
TARE_API int32_t tare_fp8_update(tare_fp8* fp8, tare_stream stream, tare_error* error);

enum {
  TARE_FP8_SCALE = 1,    /* what values are multiplied by to become fp8 */
  TARE_FP8_SCALE_INV = 2 /* what fp8 is multiplied by to be values again: what a matrix product takes */
};
/* One float a slot. Borrowed until destroy, and stable until then, also through load; device memory for slots on a GPU.
 * (flax and Keras keep the second and divide by it: their "scale".) */
TARE_API int32_t tare_fp8_scale_pointer(const float** out, const tare_fp8* fp8, int32_t which, tare_error* error);

/* For a caller's own all-reduce between quantize (or observe) and update: *bytes of float32, the amax in progress of
 * each slot, to be reduced with MAX; one may be written by the caller instead of observed. Borrowed until destroy. */
TARE_API int32_t tare_fp8_accumulators(void** out, uint64_t* bytes, const tare_fp8* fp8, tare_error* error);

/* Writes the i-th input (f32, f16 or bf16), scaled by its slot, into out[i]: as many elements, of its slot's format;
 * memory that overlaps nothing. What is beyond fp8's largest value becomes it, beyond wider ones infinity; NaN stays
 * NaN. To the bit as the framework does it in float32. TARE_E_UNSUPPORTED for wider ones on a GPU. `slots` as above. */
TARE_API int32_t tare_fp8_quantize(tare_fp8* fp8, const tare_tensor* out, const tare_tensor* in, const uint32_t* slots,
                                   uint64_t count, tare_stream stream, tare_error* error);

/* The way back: from the slot's format into f32, f16 or bf16. */
TARE_API int32_t tare_fp8_dequantize(tare_fp8* fp8, const tare_tensor* out, const tare_tensor* in,
                                     const uint32_t* slots, uint64_t count, tare_stream stream, tare_error* error);

/* A list made ready once and cast every step, a layer's tensors say: what tare_grads is to a scaler. `inputs` and
 * `slots` as above, values or fp8; descriptors are copied, data borrowed. *out is owned; destroy it before its slots.
 */
TARE_API int32_t tare_fp8_casts_create(tare_fp8_casts** out, tare_fp8* fp8, const tare_tensor* inputs,
                                       const uint32_t* slots, uint64_t count, tare_error* error);

/* Other addresses for the same counts and dtypes; TARE_E_MISMATCH for other ones. */
TARE_API int32_t tare_fp8_casts_rebind(tare_fp8_casts* casts, const tare_tensor* inputs, uint64_t count,
                                       tare_stream stream, tare_error* error);

/* As tare_fp8_observe, tare_fp8_quantize and tare_fp8_dequantize. */
TARE_API int32_t tare_fp8_casts_observe(tare_fp8_casts* casts, tare_stream stream, tare_error* error);
TARE_API int32_t tare_fp8_casts_quantize(tare_fp8_casts* casts, const tare_tensor* out, uint64_t count,
                                         tare_stream stream, tare_error* error);
TARE_API int32_t tare_fp8_casts_dequantize(tare_fp8_casts* casts, const tare_tensor* out, uint64_t count,
                                           tare_stream stream, tare_error* error);
TARE_API void tare_fp8_casts_destroy(tare_fp8_casts* casts);

/* JSON "tare.fp8/1": for each slot its name and format, "scale", "amax" in progress, "max" of the history, how much of
 * it is filled or not finite, and "margin_bits": how often the greatest value could double before it is cut off. Waits.
 * *out is owned. */
TARE_API int32_t tare_fp8_statistics(tare_text** out, const tare_fp8* fp8, tare_stream stream, tare_error* error);

/* All that the slots are, as a state: histories have a row a slot, each as its framework's array. Waits. *out is owned.
 * Written as HDF5 they are packed; JSON is for sets of some thousand entries. */
TARE_API int32_t tare_fp8_save(tare_state** out, const tare_fp8* fp8, tare_stream stream, tare_error* error);

/* The slots' scales as they are now, as a state of policy "fp8_static": calibrated, for inference, where no step moves
 * them. TARE_E_UNSUPPORTED for fp8_lm, whose mu is no tensor's scale. Waits. *out is owned. */
TARE_API int32_t tare_fp8_freeze(tare_state** out, const tare_fp8* fp8, tare_stream stream, tare_error* error);

/* Takes a state of the same policy, as many slots and the same length of history. TARE_E_MISMATCH says what does not
 * fit, and nothing changes. The state is copied. Waits; graphs that were captured before keep their parameters. */
TARE_API int32_t tare_fp8_load(tare_fp8* fp8, const tare_state* state, tare_stream stream, tare_error* error);

/* ---- state ----------------------------------------------------------------------------------------------- */

/* Reads tare's own JSON or HDF5, or lerobot's scaler_state.json, by content. *out is owned. HDF5 needs no libhdf5
 * for that, and may have been written or changed by another program (h5py, h5repack): tare_state_findings says so. */
TARE_API int32_t tare_state_read(tare_state** out, const char* path, tare_error* error);

/* What whoever read the state from a file should know, as JSON "tare.findings/1": code "checksum-differs" where an HDF5
 * file has no checksum of tare's, or one that is not that of its bytes. *out is owned. */
TARE_API int32_t tare_state_findings(tare_text** out, const tare_state* state, tare_error* error);

/* Writes by the path's ending (.json, .h5, .hdf5); the file appears whole or not at all. `options_json` may be NULL:
 * {"compression":"gzip"|"zstd"|"none"} for HDF5, {"shape":"tare"|"lerobot"} for JSON; the first is the default. An
 * option of the other format is status 1. */
TARE_API int32_t tare_state_write(const tare_state* state, const char* path, const char* options_json,
                                  tare_error* error);

/* {"policy":"torch","fields":{"scale":65536,"_growth_tracker":3}} is enough; `size` bytes, no NUL needed. *out is
 * owned. */
TARE_API int32_t tare_state_from_json(tare_state** out, const char* text, uint64_t size, tare_error* error);
/* The whole state as JSON "tare.state/1". *out is owned. */
TARE_API int32_t tare_state_to_json(tare_text** out, const tare_state* state, tare_error* error);

/* The contents of such a file in memory; `format` is an ending as above. *out is owned: tare_text_size bytes, of HDF5
 * no text. */
TARE_API int32_t tare_state_to_bytes(tare_text** out, const tare_state* state, const char* format,
                                     const char* options_json, tare_error* error);
/* Either format, by content. *out is owned. */
TARE_API int32_t tare_state_from_bytes(tare_state** out, const void* data, uint64_t size, tare_error* error);
/* *out is owned. */
TARE_API int32_t tare_state_clone(tare_state** out, const tare_state* state, tare_error* error);

enum {
  TARE_KIND_NONE = 0,
  TARE_KIND_NUMBER = 1, /* a float */
  TARE_KIND_INTEGER = 2,
  TARE_KIND_BOOLEAN = 3,
  TARE_KIND_TEXT = 4,
  TARE_KIND_ARRAY = 5,
  TARE_KIND_JSON = 6 /* something else that was kept as it stood */
};
/* A key is a role ("scale"; not of FP8 states), a native name ("_growth_tracker", "growth_tracker"), or a name in full
 * ("params.growth_interval"); "policy" is text. TARE_E_NOT_FOUND names what there is. */
TARE_API int32_t tare_state_kind(int32_t* out, const tare_state* state, const char* key, tare_error* error);
/* Integers, booleans (0 and 1) and text such as "0x1p16" or "nan" are numbers too. */
TARE_API int32_t tare_state_number(double* out, const tare_state* state, const char* key, tare_error* error);
/* TARE_E_MISMATCH for a number that is not whole. */
TARE_API int32_t tare_state_integer(int64_t* out, const tare_state* state, const char* key, tare_error* error);
/* Of a text; of anything else its JSON. *out is owned. */
TARE_API int32_t tare_state_text(tare_text** out, const tare_state* state, const char* key, tare_error* error);
/* *count is the room in `out` before and the number of elements after; with `out` NULL only *count is set. Too little
 * room is TARE_E_INVALID_ARGUMENT. Elements stand in C order. */
TARE_API int32_t tare_state_array(double* out, uint64_t* count, const tare_state* state, const char* key,
                                  tare_error* error);
/* The sizes of an array's dimensions; *rank as *count above. */
TARE_API int32_t tare_state_shape(uint64_t* out, uint64_t* rank, const tare_state* state, const char* key,
                                  tare_error* error);
/* How many keys there are, and each in full; *out is owned. */
TARE_API int32_t tare_state_count(uint64_t* out, const tare_state* state, tare_error* error);
TARE_API int32_t tare_state_key(tare_text** out, const tare_state* state, uint64_t index, tare_error* error);

/* A value keeps its kind: an integer stays one, an array of text is not one of numbers, and of numbers 0 and 1 alone
 * are true or false; an array of several dimensions keeps its shape, which as many elements fill. TARE_E_MISMATCH where
 * the policy or the array cannot hold it, TARE_E_INVALID_ARGUMENT for a text that is no UTF-8. */
TARE_API int32_t tare_state_set_number(tare_state* state, const char* key, double value, tare_error* error);
TARE_API int32_t tare_state_set_integer(tare_state* state, const char* key, int64_t value, tare_error* error);
TARE_API int32_t tare_state_set_text(tare_state* state, const char* key, const char* value, tare_error* error);
TARE_API int32_t tare_state_set_array(tare_state* state, const char* key, const double* values, uint64_t count,
                                      tare_error* error);

/* Takes a value out; not "policy". TARE_E_NOT_FOUND names what there is. */
TARE_API int32_t tare_state_remove(tare_state* state, const char* key, tare_error* error);

/* The state in another policy's terms: "torch", "megatron", "deepspeed", "deepspeed fused" ... Counters are set so that
 * the next growth and the next back-off come at the same step, where the target can hold that; where it cannot, the
 * report says where the two part. *report, unless `report` is NULL: JSON
 * "tare.conversion/1", what became of every value (carried, converted, assumed, defaulted, clamped, implied, lost),
 * traps, and where the two rules part if both go on. *out and *report are owned. TARE_E_UNSUPPORTED: a state that no
 * rule runs.
 * A set of FP8 slots goes into another FP8 policy: "transformer_engine", "msamp", "flax_fp8", "keras_fp8" ...; its
 * scales multiply by what they did, its histories are in that framework's order. Into "fp8_static" it is frozen:
 * calibrated, for inference. */
TARE_API int32_t tare_state_convert(tare_state** out, const tare_state* state, const char* policy, tare_text** report,
                                    tare_error* error);
TARE_API void tare_state_destroy(tare_state* state);

/* ---- several states ---------------------------------------------------------------------------------------- */

/* States by name, in one file, JSON or HDF5 ("tare.states/1"), as `tare inspect --save` writes where a checkpoint holds
 * several: loss scalers, and FP8 sets beside them. Of a checkpoint the names are paths in it. An empty list; *out is
 * owned. */
TARE_API int32_t tare_states_create(tare_states** out, tare_error* error);
/* Reads such a file; one of a single state, JSON or HDF5, is a list of one, whose name is "". *out is owned. */
TARE_API int32_t tare_states_read(tare_states** out, const char* path, tare_error* error);
/* By the ending .json, .h5 or .hdf5; the file appears whole or not at all. TARE_E_INVALID_ARGUMENT for another one. */
TARE_API int32_t tare_states_write(const tare_states* states, const char* path, tare_error* error);
TARE_API int32_t tare_states_count(uint64_t* out, const tare_states* states, tare_error* error);
/* The name of the index-th; *out is owned. */
TARE_API int32_t tare_states_name(tare_text** out, const tare_states* states, uint64_t index, tare_error* error);
/* A copy of the state of that name; of a single one `name` may be NULL. TARE_E_NOT_FOUND where there is none. *out is
 * owned. */
TARE_API int32_t tare_states_get(tare_state** out, const tare_states* states, const char* name, tare_error* error);
/* Behind the others; the state is copied. TARE_E_REFUSED for a name that is there, TARE_E_INVALID_ARGUMENT for one that
 * is no UTF-8. */
TARE_API int32_t tare_states_add(tare_states* states, const char* name, const tare_state* state, tare_error* error);
TARE_API void tare_states_destroy(tare_states* states);

#ifdef __cplusplus
}
#endif

#include <tare/checkpoint.h> /* they need all of the above */
#include <tare/comm.h>
#include <tare/monitor.h>
#include <tare/quantizer.h>
#endif
