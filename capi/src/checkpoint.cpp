#include <optional>
#include <vector>

#include "capi/src/caller_files.hpp"
#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "capi/src/options.hpp"
#include "lib/checkpoint/choose.hpp"
#include "lib/checkpoint/difference.hpp"
#include "lib/checkpoint/plain_states.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/report/report.hpp"
#include "lib/report/unfinished.hpp"
#include "lib/state/policy_state.hpp"

using namespace tare;
using namespace tare::capi;

namespace {

struct Reading {
  Journals journals = {};
  InspectParts parts = {};

  [[nodiscard]] OptionPlaces places() {
    return {{"globals", &parts.globals}, {"histories", &parts.histories}, journals.place()};
  }
};

/// Whether FP8 state is meant: a loss scaler is the first that one looks for, wherever there is one.
bool means_fp8(const Checkpoint& checkpoint, const Choice& choice) {
  bool has_loss_scaler = false;
  bool has_fp8 = false;
  bool is_layer_meant = false;
  for (const Scaler& scaler : checkpoint.scalers) {
    const FoundScaler& state = scaler.state();
    const bool is_fp8 = state.dialect->kind == "fp8";
    if (!is_fp8 && (!choice.at || state.path == *choice.at)) return false;
    has_loss_scaler = has_loss_scaler || !is_fp8;
    has_fp8 = has_fp8 || is_fp8;
    is_layer_meant = is_layer_meant || (is_fp8 && choice.at && is_layer(state, *choice.at));
  }
  return is_layer_meant || (has_fp8 && !has_loss_scaler);
}

/// All layers that are alike, or those that the pattern chooses.
ScalerState fp8_state_in(const Checkpoint& checkpoint, const Choice& choice) {
  chosen_fp8(checkpoint, {choice.at, true});  // names the layers where none is meant
  std::vector<NamedState> states = plain_states(checkpoint, choice.at);
  if (states.size() == 1) return std::move(states.front().state);
  std::string names;
  for (const NamedState& state : states) names.append(names.empty() ? "" : ", ").append(escaped(state.path));
  throw Error(Status::refused, checkpoint.resolved + ": the FP8 state makes no single state: " + names,
              "\"at\" chooses layers that are alike: a path, or a pattern with * and ?.");
}

ScalerState read_state(const char* path, const Choice& choice, const Journals& journals) {
  const Checkpoint checkpoint = open_finished(path, {}, journals.scopes_for_reading());
  if (means_fp8(checkpoint, choice)) return fp8_state_in(checkpoint, choice);
  return completed(to_state(chosen_scalers(checkpoint, choice).front()->state()));
}

tare_text* inspection(const Checkpoint& checkpoint, const std::optional<Pending>& pending, InspectParts parts) {
  return new_text(
      json::gathered([&](const json::TextSink& sink) { write_inspect_json(checkpoint, pending, parts, sink); }));
}

SettledCheckpoint settled(const char* path, const Journals& journals) {
  return open_settled(path, {}, journals.scopes_for_reading());
}

/// What is not finished in either.
std::vector<Pending> unfinished_of_both(const SettledCheckpoint& a, const SettledCheckpoint& b) {
  std::vector<Pending> unfinished;
  for (const SettledCheckpoint* one : {&a, &b}) {
    if (one->pending) unfinished.push_back(*one->pending);
  }
  return unfinished;
}

/// In every checkpoint that is looked at.
std::vector<Pending> unfinished_while_attested(const SettledCheckpoint& read, AttestScope scope,
                                               const Journals& journals) {
  if (scope == AttestScope::everything) {
    return unfinished_below({read.checkpoint.target}, journals.scopes_for_reading());
  }
  return read.pending ? std::vector{*read.pending} : std::vector<Pending>{};
}

}  // namespace

int32_t tare_checkpoint_inspect(tare_text** out, const char* path, const char* options_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    Reading reading;
    take_options(options_json, "the options", reading.places());
    const auto [checkpoint, pending] =
        open_settled(path, {.list_globals = reading.parts.globals}, reading.journals.scopes_for_reading());
    return inspection(checkpoint, pending, reading.parts);
  });
}

int32_t tare_checkpoint_inspect_with(tare_text** out, const tare_source* source, const char* path,
                                     const char* options_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(source, "source");
    require(path, "path");
    Reading reading;
    take_options(options_json, "the options", reading.places());
    const CallerFiles files(*source);
    const Checkpoint checkpoint = open_checkpoint(path, {.list_globals = reading.parts.globals, .files = &files});
    return inspection(checkpoint, std::nullopt, reading.parts);
  });
}

int32_t tare_checkpoint_diff(tare_text** out, const char* a, const char* b, const char* options_json,
                             tare_error* error) {
  return guard_making(out, error, [&] {
    require(a, "a");
    require(b, "b");
    Journals journals;
    take_options(options_json, "the options", {journals.place()});
    const SettledCheckpoint one = settled(a, journals);
    const SettledCheckpoint other = settled(b, journals);
    const auto found = differences(one.checkpoint, other.checkpoint);
    return new_text(diff_json(one.checkpoint, other.checkpoint, found, unfinished_of_both(one, other)));
  });
}

int32_t tare_checkpoint_attest(tare_text** out, const char* path, const char* options_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    std::string release;
    bool all = false;
    Journals journals;
    take_options(options_json, "the options", {{"torch", &release}, {"all", &all}, journals.place()});
    const TorchRelease torch = release.empty() ? newest_torch_release() : require_torch_release(release);
    const SettledCheckpoint read = settled(path, journals);
    const AttestScope scope = all ? AttestScope::everything : AttestScope::checkpoint;
    const Attestation attestation = attest(read.checkpoint, torch, scope);
    return new_text(attest_json(read.checkpoint, attestation, unfinished_while_attested(read, scope, journals)));
  });
}

int32_t tare_checkpoint_state(tare_state** out, const char* path, const char* at, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    Choice choice;
    if (at != nullptr) choice.at = at;
    return new tare_state{.state = read_state(path, choice, {})};
  });
}

int32_t tare_checkpoint_state_as(tare_state** out, const char* path, const char* options_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(path, "path");
    Choice choice;
    Journals journals;
    take_options(options_json, "the options", {{"at", &choice.at}, journals.place()});
    return new tare_state{.state = read_state(path, choice, journals)};
  });
}
