/* tare/comm.h: scalers of many ranks. A part of tare.h, which says what holds for all calls and includes this. */
#ifndef TARE_COMM_H
#define TARE_COMM_H

#include <tare/tare.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ranks ----------------------------------------------------------------------------------------------- */

/* A group of ranks (processes or threads) that reduce with one another by an engine of yours. tare has none of its own
 * and starts no thread for it. */
typedef struct tare_comm tare_comm;

enum {
  TARE_MAX_U64 = 1, /* the greatest, of 64-bit words; a MAX of int64 does as well: no place has words of either sign */
  TARE_SUM_F64 = 2  /* the sum, of doubles */
};

/* How ranks reduce. The function is called in the calls of a scaler that has the comm, by the thread that makes them;
 * it must return normally: no exception, no longjmp. */
typedef struct tare_collectives {
  uint64_t struct_size; /* sizeof(tare_collectives) */
  void* context;        /* handed to the function; borrowed until the comm and all scalers that have it are gone */
  /* Makes each of the `count` numbers at `data` that of all ranks by `operation`, one of the two above, with the same
   * bits on every rank. On the stream's device; for a CPU scaler `stream` is NULL, and all is done when it returns. 0,
   * or a number of yours for a failure (a rank that is gone, a time that is over), after which `data` may be anything.
   */
  int32_t (*all_reduce)(void* context, void* data, uint64_t count, int32_t operation, tare_stream stream);
  /* 1: `data` may be memory of a GPU, in calls of scalers and slots there; functions then only enqueue, on that stream,
   * which may be captured. 0: for the CPU alone. */
  uint64_t device_memory;
  /* What tare_fp8_all_reduce needs besides, else NULL. `from` has `bytes` for each rank, in their order, and `to` gets
   * as many from each; of all_gather `from` has `bytes` for all. Ranks have the same order in both. As all_reduce
   * otherwise.
   */
  int32_t (*all_to_all)(void* context, const void* from, void* to, uint64_t bytes, tare_stream stream);
  int32_t (*all_gather)(void* context, const void* from, void* to, uint64_t bytes, tare_stream stream);
} tare_collectives;

/* `collectives` is copied. *out is owned. */
TARE_API int32_t tare_comm_from_callbacks(tare_comm** out, const tare_collectives* collectives, tare_error* error);

/* The ranks of an MPI communicator, by the module libtare_mpi.so, which is built where CMake finds MPI (TARE_MPI), for
 * that MPI. `config_json` may be NULL:
 *   {"communicator":0,       MPI_Comm_c2f(it), an integer; MPI_COMM_WORLD without it
 *    "timeout_seconds":60}   how long a call waits for the other ranks; without it as long as MPI does: often for ever.
 *                          In its time a rank gives up its core while it waits, which MPICH does not by itself
 * A call of all its ranks: what is made is a duplicate (MPI_Comm_dup), which reports errors and does not end the
 * program for them. The duplicate is freed with the last of the comm and those that have it, which all ranks do in the
 * same order, before MPI_Finalize; one that is left then stays as it is.
 *
 * Between MPI_Init and MPI_Finalize, by the thread that called MPI_Init, or with MPI_THREAD_SERIALIZED any that calls
 * at its own time: else TARE_E_REFUSED, which tells the module's MPI. A reduction that fails, or that others do not
 * come to in time, is TARE_E_BACKEND with MPI's error class, or 0, as detail, and so is each one after it: what is left
 * is to end the program (MPI_Abort). What an MPI does of itself about a rank that died, mpirun's ending of the others
 * say, it does. TARE_E_UNSUPPORTED where the module cannot be opened, or this process runs another MPI than it was
 * built for. *out is owned. */
TARE_API int32_t tare_comm_from_mpi(tare_comm** out, const char* config_json, tare_error* error);

/* The ranks of NCCL's communicator `nccl_comm`, an ncclComm_t: for scalers and slots on its GPU. It is borrowed until
 * the comm and all that have it are gone, and so is the NCCL that made it: what this process has loaded as
 * libnccl.so.2, of version 2.9 or a later 2 (no other copy is looked for: it would not know the communicator).
 *
 * A scaler's pass is then the pass, two small launches, and between them one group of two ncclAllReduce on the stream
 * of the call, 10 ncclUint64 with ncclMax and 4 ncclDouble with ncclSum, or of replicated gradients one, of 14
 * ncclUint64 with ncclMax; slots' update one of ncclUint32 with ncclMax, of fp8_lm with two of ncclUint64;
 * tare_fp8_all_reduce takes ncclSend and ncclRecv in groups, and ncclAllGather, of ncclUint8. The host waits for
 * nothing where that function does not say so, and graphs take it as it is. Not between ncclGroupStart and ncclGroupEnd
 * of yours. NCCL runs what is on one communicator in one order: that of the calls, the same on all ranks.
 *
 * Where ranks part, a scaler's calls return before anybody knows: the list's noop is 1, nothing else is noted, and the
 * next call that waits (tare_scaler_scale, _save, ...) is TARE_E_MISMATCH, once. An error that NCCL told of the
 * communicator before, or tells now, is TARE_E_BACKEND with its ncclResult_t as detail. A rank that is gone leaves the
 * stream waiting until ncclCommAbort ends it. TARE_E_UNSUPPORTED where there is no such NCCL. *out is owned. */
TARE_API int32_t tare_comm_from_nccl(tare_comm** out, void* nccl_comm, tare_error* error);

/* May come before that of a scaler that has it, which keeps what it needs. */
TARE_API void tare_comm_destroy(tare_comm* comm);

/* From here on the scaler's unscale, observe and report_overflow, and the passes of its tare_grads (unscale, observe,
 * write, with or without the update), are calls of all ranks: each joins what it found with what the others found,
 * before anybody goes by it. Found-inf, noop, scale, multiplier, clipping by norm and the statistics, the scaler's and
 * a list's in total, are then those of all ranks' values; a list's statistics by tensor stay its rank's, and so does
 * what "finite_statistics" count, which a total of sharded gradients is without. update reduces nothing: it goes by
 * what was joined. Neither do scale_tensors, update_elsewhere and report_reduced. `comm` may be NULL: alone again.
 *
 * `options_json` may be NULL: {"gradients":"sharded"}, each rank looks at values of its own (shards, or other layers);
 * counts and sums of squares are added up. "replicated": all look at the same values, as after an all-reduce of them,
 * which count once. All ranks give the same options.
 *
 * Order: all ranks make the same of those calls in the same order, from the same state; lists of sharded gradients may
 * differ, and may be empty. A call takes two all_reduces, of 10 words and then of 4 numbers (words, too, of replicated
 * gradients). Where ranks are not in the same kind of call, step or scale, or have not as many replicated values, it is
 * TARE_E_MISMATCH on every one of them (on a GPU of the next call that waits). A function that fails is TARE_E_BACKEND,
 * with what it returned as detail. Both leave the scaler as it was; values that the pass was to write are written. A
 * rank that makes no call leaves the others waiting as long as their engine waits, and so does one that is refused for
 * its arguments.
 *
 * Threads: as the scaler [P1]; handles that share a comm need it one after another, in the same order on every rank.
 * TARE_E_UNSUPPORTED: a scaler on a GPU with a comm for the CPU, or the other way round. TARE_E_WRONG_KIND: policy
 * "layerwise". TARE_E_REFUSED: something was looked at since the last update. */
TARE_API int32_t tare_scaler_set_comm(tare_scaler* scaler, const tare_comm* comm, const char* options_json,
                                      tare_error* error);

/* From here on tare_fp8_update is a call of all ranks: the amaxes in progress become the greatest of any rank's in one
 * all_reduce of a word a slot (on the CPU with two more, that tell the call, and of six at least), before the rule goes
 * by them (what TransformerEngine's reduce_amax does); of fp8_lm the values and those at the largest are added up in
 * another one of two numbers a slot. Then scales and histories are those of one process that saw all values. Of other
 * calls tare_fp8_all_reduce alone reduces. `comm` may be NULL: alone again. On the CPU an update that meets an
 * all-reduce of another rank is TARE_E_MISMATCH on both.
 *
 * With a comm this is a call of all ranks itself, an all_reduce of 4 words: TARE_E_MISMATCH on every one of them where
 * they have not as many slots of the same policy, parameters, names and formats; states are not compared, and ranks
 * that start from different histories are alike once these are over and each slot has seen a value that is not 0.
 * Failures, order and threads: as above; an update that fails leaves the slots as they were. TARE_E_UNSUPPORTED: slots
 * on a GPU with a comm for the CPU, or the other way round. */
TARE_API int32_t tare_fp8_set_comm(tare_fp8* fp8, const tare_comm* comm, tare_error* error);

/* Makes of gradients (f32, f16, bf16; in place; any number of tensors) the mean over all ranks of the slots' comm, in
 * fp8: FP8-LM's all-reduce (arXiv 2310.18313, 2.1). Half the bytes of bf16 go over the wire. `slots`: which slot each
 * is of, NULL: the i-th of slot i; a slot gives the format, and may have many tensors.
 *
 *   factor = largest of the format / amax * mu    amax: the greatest of all ranks, each tensor's own. mu: the slot's of
 *                                                 policy "fp8_lm", which halves where sums saturate and else grows;
 *                                                 1 / sqrt(ranks) of every other policy, as MS-AMP has it
 *   each value is made fp8; all-to-all: every rank gets its share of all ranks' bytes; sums in f32, in the order of the
 *   ranks, are made fp8 once; all-gather; what is written is sum / (factor * ranks)
 *
 * Two roundings a value, then, whatever the number of ranks, and the same bits on every rank, on a GPU those of the
 * CPU. Sums at the largest, or beyond, count in slots of "fp8_lm" with the values that were summed: tare_fp8_update, of
 * all ranks, moves mu by them, and tare_fp8_save keeps it. Other policies note nothing. A tensor that is not finite on
 * any rank is NaN on all, and noted nowhere.
 *
 * `options_json` may be NULL:
 *   {"operation":"mean",        or "sum"
 *    "adder":"ranks",           as above; "engine": the fp8 of each rank goes to NCCL's own sum, which rounds at every
 *                               addition: 2.24 or later, on a GPU of compute capability 9.0 or later, and nowhere else.
 *                               Sums at the largest then count, whatever the slots' "counted"
 *    "bucket_bytes":67108864}   how many values are under way at once, up to 2^30; buffers are two to three times that
 *
 * A call of all ranks, with the same list and options: TARE_E_MISMATCH on every one of them where counts, dtypes,
 * formats, options or mu differ, and nothing has changed. Six collectives, of which the first call alone has two, and
 * two more for each bucket beyond the first. After a failure of the engine (TARE_E_BACKEND) gradients may be anything;
 * slots are as they were. TARE_E_REFUSED: no comm. TARE_E_UNSUPPORTED: a comm without all_to_all and all_gather, or
 * without the adder; format f16.
 *
 * On a GPU all is enqueued on `stream`. The host waits for it where this list is not that of the last call, or the comm
 * or the slots' state is new: then it hears what the others gave. Where it is, nothing waits, and graphs take the call;
 * so a rank that comes with another list is told, and those that have the old one wait in their streams, as for a rank
 * that is gone. Buffers are kept for the last two lists, and for those that graphs hold. By callbacks this has run
 * on a card; by NCCL in simulations of a GPU alone, with a stand-in for it. */
TARE_API int32_t tare_fp8_all_reduce(tare_fp8* fp8, const tare_tensor* gradients, const uint32_t* slots, uint64_t count,
                                     const char* options_json, tare_stream stream, tare_error* error);

#ifdef __cplusplus
}
#endif
#endif
