/* tare/monitor.h: what a run's tensors are like, step by step. A part of tare.h, which says what holds for all calls
 * and includes this. */
#ifndef TARE_MONITOR_H
#define TARE_MONITOR_H

#include <tare/tare.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a monitor of tensors -------------------------------------------------------------------------------- */

typedef struct tare_monitor tare_monitor;

/* `config_json` may be NULL: {"every":10,"sinks":[{"jsonl":"a.jsonl"}]}. "every": of so many steps one is looked at,
 * the first one among them; "sinks": files that get a line of "tare.monitor/1" for each. A file that cannot be written
 * stops nothing: tare_monitor_report says what went wrong with it, and it gets no more lines. *out is owned. */
TARE_API int32_t tare_monitor_create(tare_monitor** out, const char* config_json, tare_error* error);
TARE_API void tare_monitor_destroy(tare_monitor* monitor);

/* Looks at tensors of the step that is under way, at once, if that is one of those that are looked at: `group` says
 * what they are ("weights", "inputs", "exp_avg_sq"), names[i] is that of tensors[i]. Of every dtype of tare_tensor, in
 * the host's memory: a GPU's, which nobody can look at without a wait, is TARE_E_INVALID_ARGUMENT, and nothing is noted
 * then. Names are copied; the data is read before this returns. */
TARE_API int32_t tare_monitor_observe(tare_monitor* monitor, const char* group, const char* const* names,
                                      const tare_tensor* tensors, uint64_t count, tare_error* error);

/* Ends the step that is under way; `step` is its number in the run. What was seen of it goes to the sinks. `stream`:
 * NULL. */
TARE_API int32_t tare_monitor_step(tare_monitor* monitor, int64_t step, tare_stream stream, tare_error* error);

/* JSON "tare.monitor/1": "steps" that ended; "sinks", each with the "failure" that stopped it, or null; once a step was
 * looked at, its number, "step", and its "tensors": "group", "name", "dtype", "count", "nans", "infinities" and, of the
 * finite values alone, "zeros", "subnormals" (not zero, and below the dtype's smallest normal number), "min", "max",
 * "max_abs", "mean", "mean_abs", "std" (of the whole population), "norm" (those are null where no value is finite) and
 * "exponents": in "bins"[i] the magnitudes from 2^("lowest" + i) to below twice that, "below" and "above" the others.
 * *out is owned. */
TARE_API int32_t tare_monitor_report(tare_text** out, const tare_monitor* monitor, tare_error* error);

#ifdef __cplusplus
}
#endif
#endif
