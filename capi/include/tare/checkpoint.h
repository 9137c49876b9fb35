/* tare/checkpoint.h: checkpoints and what else a run left behind. A part of tare.h, which says what holds for all
 * calls and includes this. */
#ifndef TARE_CHECKPOINT_H
#define TARE_CHECKPOINT_H

#include <tare/tare.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- checkpoints ----------------------------------------------------------------------------------------- */

/* The JSON of `tare inspect --json` ("tare.inspect/1"). Nothing stored in the file is run. `options_json` may be NULL:
 * {"globals":false}, true: also what a pickle would import; {"histories":false}: where long fields (amax histories) are
 * more than 65,536 numbers in all, their shapes alone are told, true: the numbers; "state_folder": by whose key pending
 * edits are known ("sealed"), as for tare_checkpoint_edit. While somebody edits it waits a second at most, and then
 * "pending" says so; TARE_E_BUSY: it is written again each time that it is read. *out is owned. */
TARE_API int32_t tare_checkpoint_inspect(tare_text** out, const char* path, const char* options_json,
                                         tare_error* error);

/* A checkpoint in storage of the caller's own: an object store, an archive, memory. The functions return 0 or an errno.
 * They are called during tare_checkpoint_inspect_with alone, by the calling thread, and must return normally: no
 * exception, no longjmp. Paths are `path` as it was given, and that with "/NAME" behind it. */
typedef struct tare_source {
  uint64_t struct_size; /* sizeof(tare_source) */
  void* context;        /* handed to every function */
  /* Bytes of a file. ENOENT where there is none of that name, EISDIR for a folder. */
  int32_t (*size)(void* context, const char* path, uint64_t* size);
  /* Fills `to` with `size` bytes from `offset`, which lie inside the file: all of them, or an errno. */
  int32_t (*read)(void* context, const char* path, uint64_t offset, void* to, uint64_t size);
  /* Calls `add` for each name in a folder, not below it; `add` gives 0, or an errno where it wants no more. NULL: only
   * single files are read. */
  int32_t (*list)(void* context, const char* folder, int32_t (*add)(void* listing, const char* name, int32_t is_folder),
                  void* listing);
} tare_source;

/* As tare_checkpoint_inspect, reading through `source`: the few ranges that it takes. *out is owned. */
TARE_API int32_t tare_checkpoint_inspect_with(tare_text** out, const tare_source* source, const char* path,
                                              const char* options_json, tare_error* error);

/* Changes scaler state in all files of a checkpoint as one transaction, and gives the plan as it was carried out
 * ("tare.edit/1"). `edit_json`:
 *   {"schema":"tare.edit/1","set":{"scale":1024},"at":null,"all":false,"dry_run":false,"force":false,"history":true}
 * "align":true: copies that disagree first get the state that most of them have, of equals the first in
 * file order (finding "no-majority"); "set" may then be empty.
 * "hard_links":true: also in files that have other names; "content_addressed":true: also in files that are named by
 * what they hold. "state_folder": where the user's key lies that journals are sealed with, an absolute path; without it
 * .local/state/tare in the home that /etc/passwd names; where that is none, no edit is sealed ("journal-unsealed").
 * "layer":"layers.3.*": FP8 state ("scale.input"); "wait_seconds":5: how long to try again where somebody else is
 * editing, before it is TARE_E_BUSY.
 * "trust_journal":true: rolls back what an interrupted edit left also where its journal is not sealed with that key
 * (the finding "trusted-journal" tells what was written where): else TARE_E_REFUSED. Any status but TARE_OK: nothing is
 * changed, or what is left to roll back is said, here and as "pending" by inspect. What goes wrong once the change is
 * made is a finding ("not-durable", "checksum-not-read" ...), and where no memory is left to tell of it, "number" is 0.
 * *out is owned. */
TARE_API int32_t tare_checkpoint_edit(tare_text** out, const char* path, const char* edit_json, tare_error* error);

/* Brings back the exact bytes from before the last edit. `options_json` may be NULL:
 * {"hard_links":false}, true: also in files that have other names; "id": of the edit to take back, as history shows it;
 * "state_folder", "trust_journal" and "wait_seconds" as for tare_checkpoint_edit: edits whose records are not sealed
 * with the key do not count. Statuses and findings as for an edit; TARE_E_IO: there is nothing at `path`, and no record
 * of it. *out is owned. */
TARE_API int32_t tare_checkpoint_undo(tare_text** out, const char* path, const char* options_json, tare_error* error);

/* What `tare fp8 VERB` does, with the answer of an edit. `fp8_json`: {"verb":"resize","history_length":1024}; "verb" is
 * strip ("remove", "for"), reset ("history_length"), recompute, rename ("from", "to"), resize ("history_length"),
 * reencode ("for":"2.4", "force"), inject ("for") or regroup ("for"); "layer" chooses layers, * and ? are wildcards.
 * `state`: what inject puts in; NULL for the other verbs, and where "state" is the path of a state file. The rest as
 * for tare_checkpoint_edit. *out is owned. */
TARE_API int32_t tare_checkpoint_fp8(tare_text** out, const char* path, const tare_state* state, const char* fp8_json,
                                     tare_error* error);

/* What was edited ("tare.history/1"). `options_json` may be NULL: {"prune":true}: forgets it, and with it the means to
 * undo, and gives what is left; "state_folder", and for "prune" "trust_journal", as for tare_checkpoint_edit. *out is
 * owned. */
TARE_API int32_t tare_checkpoint_history(tare_text** out, const char* path, const char* options_json,
                                         tare_error* error);

/* How the scaler state of two checkpoints differs ("tare.diff/1"). `options_json` may be NULL: {"state_folder":"/..."},
 * by whose key pending edits are known; those of either are in the answer ("pending"). *out is owned. */
TARE_API int32_t tare_checkpoint_diff(tare_text** out, const char* a, const char* b, const char* options_json,
                                      tare_error* error);

/* Carries the state of `source` (a checkpoint, or a state file of tare's) to another framework ("tare.migrate/1"; of
 * "rename" "tare.edit/1"). `options_json` says where to, by one of
 *   {"to":"megatron","output":"grad_scaler.pt"}   a new file; .json and .h5 hold a state for tare itself
 *   {"into":"run/global_step4200"}                a checkpoint, whose scaler ("into_at") takes the state over
 *   {"rename":"lightning:2.2"}                    the key in `source` that another release of its trainer looks for
 * and besides "at" (which scaler of `source`), "set":{"window":500} (what `source` does not hold), "strict":true
 * (TARE_E_REFUSED where anything is lost, or the two rules part), "align", "force" (values that the framework could not
 * use; replaces the file that is there). "to" a policy of FP8 ("flax_fp8") takes the FP8 state of `source`, of the
 * layers that match "at", into a state of tare's own. "into" takes FP8 state where `source` has no loss scaler, or
 * "fp8" is true: into the layers of the same names, as "modules":{"layers":"params.layers"} puts parts of their paths;
 * "into_at" is a pattern of these layers then. The rest as for tare_checkpoint_edit. *out is owned. */
TARE_API int32_t tare_checkpoint_migrate(tare_text** out, const char* source, const char* options_json,
                                         tare_error* error);

/* Writes a new file that holds the state alone, as a framework would save it: a trainer that is no Python writes the
 * scaler.pt of torch. `options_json` may be NULL: {"framework":"torch"} (the state's policy; others are migrated to),
 * "set", "strict" and "force" as for tare_checkpoint_migrate. *out, owned: "tare.migrate/1". */
TARE_API int32_t tare_checkpoint_write(tare_text** out, const tare_state* state, const char* path,
                                       const char* options_json, tare_error* error);

/* The state of one scaler of a checkpoint, ready for tare_scaler_create_from_state or tare_scaler_load: fields that the
 * file does not hold are as the framework starts them, as in its own resume; parameters that it does not hold are those
 * of the configuration that was saved in the same checkpoint (Megatron's args, DeepSpeed's ds_config, fairseq's cfg,
 * Keras' config.json), else left out. `at` is its path as inspect shows it; NULL: the only one, else TARE_E_REFUSED
 * with the list. Where there is no loss scaler, or `at` is a layer or a pattern of layers ("layers.3.*"), it is the FP8
 * state of these, ready for tare_fp8_create_from_state. *out is owned. */
TARE_API int32_t tare_checkpoint_state(tare_state** out, const char* path, const char* at, tare_error* error);

/* The same with options, which may be NULL: {"at":null,"state_folder":"/..."}: by whose key pending edits are known, as
 * for tare_checkpoint_edit. TARE_E_BUSY: one of the user's own is not finished. *out is owned. */
TARE_API int32_t tare_checkpoint_state_as(tare_state** out, const char* path, const char* options_json,
                                          tare_error* error);

/* The JSON of `tare attest --json` ("tare.attest/1"): every class and function that the checkpoint's pickles name,
 * those inside other pickles included, with place and verdict, and what of its files is not accounted for; "plain" is
 * true where every byte of every file is, reading it (torch.load, pickle.load) runs nothing, and no text in it is of a
 * known kind that frameworks call things by. Nothing is imported or run.
 * `options_json` may be NULL: {"torch":"2.6","all":true}, the release whose weights_only counts (the newest known), and
 * whether of a run folder all checkpoints are read (false: what it leads to, and "unread" tells the other folders).
 * "state_folder" as for tare_checkpoint_inspect; "pending" lists the edits of what was read that are not finished.
 * *out is owned. */
TARE_API int32_t tare_checkpoint_attest(tare_text** out, const char* path, const char* options_json, tare_error* error);

/* ---- what a run left ------------------------------------------------------------------------------------- */

/* The JSON of `tare trace --json` ("tare.trace/1"): the scale, the overflows and the skipped steps that the logs, event
 * files, tables and checkpoints at `paths` tell of. `paths` are `path_count` files and folders of one run; what is not
 * told is left out. Files that are damaged or unfinished are read as far as they go, with a warning in the answer.
 * `options_json` may be NULL: {"tag":"train/loss_scale"}, of several series that could be the scale, the one of that
 * name; "state_folder" as for tare_checkpoint_inspect: "pending" lists the edits of its checkpoints that are not
 * finished, whose values may not be those that rule. Memory is bounded while it is read; the answer has a line for each
 * step that is told. TARE_E_NOT_FOUND where a path is not there, TARE_E_IO where it cannot be read. *out is owned. */
TARE_API int32_t tare_trace_read(tare_text** out, const char* const* paths, uint64_t path_count,
                                 const char* options_json, tare_error* error);

/* ---- a run's health -------------------------------------------------------------------------------------- */

/* The JSON of `tare doctor --json` ("tare.findings/1"): what is wrong with the checkpoints, logs and event files at
 * `paths`, `path_count` files and folders of one run: since which step, with the evidence in numbers, what to do, and
 * the last healthy checkpoint before the trouble. Sick runs are TARE_OK: the answer tells them. `options_json` may be
 * NULL: {"thresholds":{"collapse-overflows":12},"tag":"train/loss_scale"}; `tare doctor --rules` lists the thresholds,
 * "tag" is the series that is the scale. "state_folder" as for tare_checkpoint_inspect: "pending" lists the edits at
 * `paths` and below them that are not finished, and no finding is about these. TARE_E_NOT_FOUND where a path is not
 * there, TARE_E_IO where it cannot be read, and what tare_checkpoint_inspect returns for a checkpoint that is damaged.
 * *out is owned. */
TARE_API int32_t tare_health_doctor(tare_text** out, const char* const* paths, uint64_t path_count,
                                    const char* options_json, tare_error* error);

/* The JSON of `tare timeline --json` ("tare.timeline/1"): the run's checkpoints, what lies between them, the curve of
 * its scale, its overflows. Options: "thresholds" and "tag", as above, "state_folder" as for tare_trace_read.
 * TARE_E_NOT_FOUND where nothing tells a scale. *out is owned. */
TARE_API int32_t tare_health_timeline(tare_text** out, const char* const* paths, uint64_t path_count,
                                      const char* options_json, tare_error* error);

/* The lines of `tare ls --json` ("tare.ls/1"): of each checkpoint at `paths` and below them one document, on a line of
 * its own: its path, step, framework, scale, and the warnings and errors. What cannot be read is told in its place.
 * `options_json` may be NULL: {"state_folder":"..."} as for tare_checkpoint_inspect: "pending" is the edit of that
 * checkpoint that is not finished, or null. TARE_E_IO where a path is not there,
 * TARE_E_NOT_FOUND where nothing at it or below it is a checkpoint. *out is owned. */
TARE_API int32_t tare_health_list(tare_text** out, const char* const* paths, uint64_t path_count,
                                  const char* options_json, tare_error* error);

/* The JSON of `tare simulate --json` ("tare.simulate/1"): what other settings would have done in the run, as ranges
 * from what is sure to what is possible. `options_json` may be NULL:
 *   {"policy":"megatron","window":[500,1000],"hysteresis":[1,2],"floor":1,"initial":65536,"parameters":{"min_scale":1},
 *    "below":1024,"maxima":"grad_max","explain":true,"tag":"train/loss_scale"}
 * Numbers and lists of them: every combination is one setting. "policy" is torch unless said otherwise ("variant": one
 * of its variants); "maxima" is the series with the largest absolute gradient of each step; "explain" looks for the
 * policy that reproduces the run; "state_folder" as for tare_trace_read. TARE_E_REFUSED where the trace tells of
 * overflows alone, TARE_E_INVALID_ARGUMENT for a parameter that the policy lacks. *out is owned.
 *
 * Of a policy of FP8 ("transformer_engine", "te_current", "fp8_static", "msamp", "flax_fp8", "keras_fp8",
 * "torchao_delayed", "torchao_dynamic") the answer is
 * "tare.simulate-fp8/1": how often each recipe's casts would have saturated, and how many bits of range stayed unused.
 *   {"policy":"transformer_engine","history":[16,1024],"algo":["max","most_recent"],"margin":[0,1],"format":"e4m3",
 *    "amax":["fc1_input_amax"],"parameters":{"variant":"unfused"}}
 * The paths are checkpoints, whose amax histories are the last steps of each tensor; with "amax", a run's logs, and
 * each name the series of one tensor, cast to "format" (e4m3 unless said otherwise). TARE_E_NOT_FOUND where there is no
 * amax. */
TARE_API int32_t tare_health_simulate(tare_text** out, const char* const* paths, uint64_t path_count,
                                      const char* options_json, tare_error* error);

/* A run that is under way, followed as `tare watch` does: its logs as they grow, through rotation and restarts, and its
 * checkpoints once they are whole. Reads alone; threads that open a checkpoint end with the look. One thread at a time
 * may use a handle. */
typedef struct tare_watch tare_watch;

/* `options_json` may be NULL: {"thresholds":{"low-scale":2},"tag":"train/loss_scale","settle":5,"state_folder":"..."}:
 * as for tare_health_doctor; "settle": how many seconds a checkpoint must be left alone before it is read, 0 to 86400.
 * Reads nothing yet. *out is owned. */
TARE_API int32_t tare_watch_create(tare_watch** out, const char* const* paths, uint64_t path_count,
                                   const char* options_json, tare_error* error);

/* What changed since the look before, a line of JSON each ("tare.watch/1"); empty where nothing did. The first look
 * returns at once with what is there; later ones at the first change, after `seconds` (0 to 86400) at the latest. On
 * network file systems, which tell of none, and for checkpoints that have not settled, it looks again meanwhile. An
 * edit that was interrupted is told once, as a "warning". TARE_E_NOT_FOUND where the first look finds nothing at one of
 * the paths; what is taken away later is told, and comes back. *out is owned. */
TARE_API int32_t tare_watch_look(tare_text** out, tare_watch* watch, double seconds, tare_error* error);

/* How the run stood at the last look: a line of JSON ("tare.watch/1", event "stands"): steps, overflows, restarts,
 * scale, newest checkpoint, "findings" that hold now, the last healthy checkpoint. *out is owned. */
TARE_API int32_t tare_watch_status(tare_text** out, const tare_watch* watch, tare_error* error);

/* The same as OpenMetrics 1.0, which Prometheus' node exporter takes from a text file, too. *out is owned. */
TARE_API int32_t tare_watch_metrics(tare_text** out, const tare_watch* watch, tare_error* error);

/* NULL is allowed. */
TARE_API void tare_watch_destroy(tare_watch* watch);

#ifdef __cplusplus
}
#endif
#endif
