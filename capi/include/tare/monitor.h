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

/* `config_json` may be NULL:
 *   {"every":10,             of so many steps one is looked at, the first one among them
 *    "groups":{"weights":{"every":100,        the tensors of a group (tare_monitor_observe): another number of steps,
 *                                             a multiple of the other one, or 0: never
 *                         "names":["*.w"]}},  and patterns: of names that match none nothing is looked at
 *    "sinks":[{"jsonl":"a.jsonl"},            a file that gets a line of "tare.monitor/1" for each
 *             {"tensorboard":"runs/a",        a folder for an event file of TensorBoard's
 *              "tags":"megatron"},            whose tag the scale bears: "loss-scale"; "deepspeed":
 *                                             "Train/Samples/loss_scale"
 *             {"openmetrics":"scaler.prom"}], a file of the last one's numbers, whole at any time, for Prometheus
 *    "format":"f16",         what gradients are computed in, or "bf16", whose range loses nothing
 *    "warn":{"underflow":0.05,   of gradients, or of a tensor's: from this share of zeros on it is told
 *            "zeros":0.5,        of a tensor's gradients: from this share of zeros on, of whatever cause, it is one of
 *                                the "layers_zero" of the report
 *            "rise":0.01,        from this rise of the former share on, over the last 1,000 steps ...
 *            "confidence":0.99,  ... if it is as sure as this (Mann and Kendall's test; the slope is Theil and Sen's)
 *            "overflows":0.02,   share of the last 1,000 steps that are skipped, once the first search for a scale ends
 *            "low_scale":8,      scales below this
 *            "falling":4,        so many halvings of the scale, less its doublings, over the last 1,000 steps, likewise
 *            "stuck":10,         so many steps in a row, from 1 on, that are skipped at a scale that does not move
 *            "looks":10,         so many looks in a row, from 1 on, have to show it (the scale, zeros)
 *            "ignore":["*embed*"]}}   patterns of names whose gradients do not count
 * Files are written by a thread of the monitor's, which there is only with sinks. A file that cannot be written stops
 * nothing: it gets no more, and is told once among the findings and always in the report. The shares are
 * practitioners': below 1 % and level is fine, 5 % is not. *out is owned. */
TARE_API int32_t tare_monitor_create(tare_monitor** out, const char* config_json, tare_error* error);

/* Waits until the sinks have what they are owed, and joins the thread. */
TARE_API void tare_monitor_destroy(tare_monitor* monitor);

/* *out: 1 where a tensor of that group and name is looked at in the step that is under way, else 0: whether it is worth
 * copying from a GPU. */
TARE_API int32_t tare_monitor_looks(int32_t* out, const tare_monitor* monitor, const char* group, const char* name,
                                    tare_error* error);

/* Looks at tensors of the step that is under way, at once, if they are looked at in that: `group` says what they are
 * ("weights", "inputs", "exp_avg_sq"), names[i] is that of tensors[i]. Of every dtype of tare_tensor, in the host's
 * memory: a GPU's is TARE_E_INVALID_ARGUMENT, and nothing is noted then (tare_monitor_observe_on looks at that). Names
 * are copied; the data is read before this returns. */
TARE_API int32_t tare_monitor_observe(tare_monitor* monitor, const char* group, const char* const* names,
                                      const tare_tensor* tensors, uint64_t count, tare_error* error);

/* The same of values that bear a loss scale: all but the counts, and "subnormals", is told of the values divided by it.
 * So gradients, before anything unscales them, have the histogram that tare_monitor_at_scale asks. A scale that is not
 * finite, or not above 0, is TARE_E_INVALID_ARGUMENT, and nothing is noted. */
TARE_API int32_t tare_monitor_observe_scaled(tare_monitor* monitor, const char* group, const char* const* names,
                                             const tare_tensor* tensors, uint64_t count, double scale,
                                             tare_error* error);

/* The same of values on `device`, "cuda:0" or another GPU, or "cpu": a look is enqueued on `stream`, behind what writes
 * the tensors there, and this does not wait for it, once earlier steps have been of this size: until then there is
 * memory to be had. The tensors are borrowed until the look has run; what comes behind it on the stream may write and
 * free them. It tells what the CPU would, to the bit. Cannot be captured: TARE_E_BACKEND. TARE_E_UNSUPPORTED: there is
 * no CUDA. */
TARE_API int32_t tare_monitor_observe_on(tare_monitor* monitor, const char* device, const char* group,
                                         const char* const* names, const tare_tensor* tensors, uint64_t count,
                                         double scale, tare_stream stream, tare_error* error);

/* The same of values whose loss scale lies in the memory of that device, as torch's does: it is read there in its turn,
 * and borrowed as the tensors are. Where it turns out to be not finite, or not above 0, the tensors are told as if they
 * held no values; on "cpu" that is TARE_E_INVALID_ARGUMENT. */
TARE_API int32_t tare_monitor_observe_scaled_on(tare_monitor* monitor, const char* device, const char* group,
                                                const char* const* names, const tare_tensor* tensors, uint64_t count,
                                                const float* scale, tare_stream stream, tare_error* error);

/* Notes that a tensor of the step that is under way is that which was observed as `known_name` of `known_group`: what
 * one layer gives is what the next one takes. It is looked at once and told under both names. Notes nothing where this
 * group and name are not looked at; else TARE_E_INVALID_ARGUMENT where the other was not in this step. Whether its
 * values are still the same is the caller's to know. */
TARE_API int32_t tare_monitor_observe_again(tare_monitor* monitor, const char* group, const char* name,
                                            const char* known_group, const char* known_name, tare_error* error);

/* Notes what the list's last pass (tare_grads_unscale, _observe, _write) found, if the step that is under way is one
 * that is looked at: without a pass of its own, and without touching the gradients. Several lists of a step add up;
 * each is added behind its pass and before the next one. names[i] is that of the list's i-th tensor, `count` how many
 * there are: another number than the list has tensors is TARE_E_MISMATCH. Names are copied. Waits, in steps that are
 * looked at. TARE_E_RULE: the scaler's rule raised on a GPU, and this is the first call that waits since. */
TARE_API int32_t tare_monitor_add_grads(tare_monitor* monitor, const tare_grads* grads, const char* const* names,
                                        uint64_t count, tare_stream stream, tare_error* error);

/* The same of a list on a GPU, for which nothing waits: what the pass found is copied on `stream`, and told once the
 * step is settled (tare_monitor_settled). What the rule raises is not told here. Cannot be captured: TARE_E_BACKEND. Of
 * a list on the CPU it is tare_monitor_add_grads. */
TARE_API int32_t tare_monitor_add_grads_on(tare_monitor* monitor, tare_grads* grads, const char* const* names,
                                           uint64_t count, tare_stream stream, tare_error* error);

/* How a scaler that is not the library's stands: its scale, and how many steps it has made, skipped, grown and fallen
 * at since it was made; in the place of what the lists' scaler tells. Notes nothing in steps that are not looked at.
 * TARE_E_INVALID_ARGUMENT: one of these is negative. */
TARE_API int32_t tare_monitor_add_scaler(tare_monitor* monitor, double scale, int64_t steps, int64_t skipped,
                                         int64_t growths, int64_t backoffs, tare_error* error);

/* The same of numbers in the memory of `device`, "cuda:0" or another GPU, which are copied on `stream`, in their turn;
 * or of "cpu". NULL: 0; `scale` is not. */
TARE_API int32_t tare_monitor_add_scaler_on(tare_monitor* monitor, const char* device, const float* scale,
                                            int64_t steps, const int64_t* skipped, const int64_t* growths,
                                            const int64_t* backoffs, tare_stream stream, tare_error* error);

/* Ends the step that is under way; `step` is its number in the run. What was seen of it is examined (with looks of GPUs
 * later: tare_monitor_settled) and handed over to the sinks, for which nothing waits: of steps that come while 64 are
 * waiting to be written, sinks miss the last, and the report counts them ("left_out"). A number that is not above the
 * last one's is of another start of the run: what was seen from there on is forgotten. `stream`: NULL. */
TARE_API int32_t tare_monitor_step(tare_monitor* monitor, int64_t step, tare_stream stream, tare_error* error);

/* *out: 1 once the last step that was looked at is examined, 0 while a GPU is still to look at tensors of it
 * (tare_monitor_observe_on). Such a step is examined, told and handed to the sinks by this, by tare_monitor_wait, or by
 * the tare_monitor_step of a later step, whichever finds that the GPU has finished; the calls ..._on and
 * tare_monitor_step of the next step that is looked at wait for it. Report, findings and a saved state tell nothing of
 * it before. */
TARE_API int32_t tare_monitor_settled(int32_t* out, tare_monitor* monitor, tare_error* error);

/* Waits for GPUs, so that it is. */
TARE_API int32_t tare_monitor_wait(tare_monitor* monitor, tare_error* error);

/* JSON "tare.monitor/1": "steps" that ended; "sinks", each with the "failure" that stopped it, or null; "left_out",
 * steps that they missed; once a step was looked at, its number, "step", and its "tensors": "group", "name", "dtype",
 * "count", "nans", "infinities" and, of the finite values alone, "zeros", "subnormals" (not zero, and below the dtype's
 * smallest normal number), "min", "max", "max_abs", "mean", "mean_abs", "std" (of the whole population), "norm" (those
 * are null where no value is finite; what a double cannot hold, as the squares of some f64, is "inf", or 0), "min_abs"
 * (the least magnitude that is not zero, or null), the "scale" that was divided out and "exponents": in "bins"[i] the
 * magnitudes from 2^("lowest" + i) to below twice that, "below" and "above" the others; its "gradients", of lists that
 * were added: "name", "dtype" and, as in "tare.grads/1", of the values as the pass read them, "count", "zeros",
 * "below", "max_abs", "norm", with the scaler's "finite_statistics" "nans", "infinities", "finite_max_abs",
 * "finite_norm"; how many looks in a row all of them were zero, "zero_looks", and the step of the first, "zero_since",
 * or null (of names that are ignored no such count is kept); and the "scaler" of the last list: "scale", "steps",
 * "skipped", "growths" and "backoffs" as they were when it was added, or null. Of each of the gradients, and as a whole
 * in "signals": "lost", the share that became zero for want of range (below), and "headroom_bits", doublings of the
 * greatest magnitude until the format's largest number; null where they tell nothing, as in a step that overflowed.
 * "signals" also has the trend of "lost", "lost_slope" (a step) and "lost_confidence" (that it rises), and how many
 * tensors of gradients, "layers", the step had that are not ignored, with the share of them that lost as much as is
 * told ("layers_lost") and that had as many zeros as "zeros" says, of whatever cause ("layers_zero"); null where there
 * are none, as in a step that overflowed. "findings": as below. Waits until the sinks have what they are owed. *out is
 * owned.
 *
 * What is lost: zeros, and values "below" the scaler's "underflow_threshold" if that is 2^-24 or less. A threshold
 * above that, such as 2^-20, tells zeros of range from those that a layer has by itself (embeddings, dead units): if n
 * values are not zero and b of those are below it, no more than b n / (n - b) zeros count. */
TARE_API int32_t tare_monitor_report(tare_text** out, const tare_monitor* monitor, tare_error* error);

/* JSON "tare.at-scale/1": what the values of each tensor of the last step that was looked at would become if they were
 * multiplied by `scale` and rounded to `format`, "f16", "bf16", "f8e5m2" or "f8e4m3fn". "step" (null before the first),
 * "scale", "format" and "tensors": "group", "name", "count", the "zeros" that are there already, and of the other
 * finite values [how many for sure, how many at most] would be: "becomes_zero", "becomes_subnormal" (below the format's
 * smallest normal number once they are rounded, and not zero), "becomes_infinite" (or nan, in f8e4m3fn). The bounds are
 * as far apart as the values of one bin, and none where all values lie on one side. An unknown format, a scale that is
 * not finite or not above 0: TARE_E_INVALID_ARGUMENT. *out is owned. */
TARE_API int32_t tare_monitor_at_scale(tare_text** out, const tare_monitor* monitor, double scale, const char* format,
                                       tare_error* error);

/* JSON "tare.findings/1", as tare_health_doctor gives it: what was wrong at the last step that was looked at, the
 * gravest first; none where nothing was. "path" names the tensor, or the worst of several; "step" is where it began.
 * Codes: "collapse" (an error: gradients that are infinite or nan in so many looks in a row), "stuck-at-floor" (an
 * error: steps are skipped and the scale does not move), "oscillating" (a note: whenever the scale grows, it falls
 * back), "falling" (the scale, and it has not come back), "gradient-underflow", "underflow-rising", "layer-underflow",
 * "beyond-f16-range" (a layer that loses small gradients while its greatest leave no room), "layer-frozen" (all
 * gradients zero; of these three the evidence has the share of the "layers" of which it is so), "low-scale",
 * "too-many-overflows", "tensor-not-finite", "adam-underflow" (group "exp_avg_sq" in f16), "gradient-not-finite",
 * "sink-failed". *out is owned. */
TARE_API int32_t tare_monitor_findings(tare_text** out, const tare_monitor* monitor, tare_error* error);

/* What the steps that ended leave for those to come (trends, how long something has held, how many steps there were),
 * as a state of policy "monitor", "params.version" 1: for tare_state_write, or for tare_states_add beside that of the
 * scaler. The configuration, sinks, what was noted of the step that is under way and the last report are no part of it.
 * *out is owned. */
TARE_API int32_t tare_monitor_save(tare_state** out, const tare_monitor* monitor, tare_error* error);

/* Goes on where that was saved, with this monitor's configuration: the next steps that are looked at are those that
 * would have been, and are told with what was seen before. What was noted and told by this monitor is forgotten.
 * TARE_E_MISMATCH: a state of another policy, or one that lacks a value or holds what no monitor saves;
 * TARE_E_UNSUPPORTED: one of a newer version; nothing changes then. The state is copied. */
TARE_API int32_t tare_monitor_load(tare_monitor* monitor, const tare_state* state, tare_error* error);

#ifdef __cplusplus
}
#endif
#endif
