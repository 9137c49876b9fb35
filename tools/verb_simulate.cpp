#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/edit/request.hpp"
#include "lib/report/health.hpp"
#include "tools/network.hpp"
#include "tools/network_options.hpp"
#include "tools/open.hpp"
#include "tools/render.hpp"
#include "tools/render_health.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct SimulateVerbOptions {
  std::vector<std::string> paths, set, amaxes;
  std::string policy, windows, hysteresis, floors, initial, tag, maxima, below;
  std::string histories, algorithms, margins, format;
  bool explain = false;
  bool json = false;
};

/// "max,most_recent"
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t from = 0; !text.empty() && from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    words.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return words;
}

/// "500,1000,2^11"
std::vector<double> numbers_of(const std::string& option, const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& word : words_of(text)) {
    const auto number = parse_number(word);
    if (!number) {
      throw Error(Status::invalid_argument, fmt::format("{}: '{}' is no list of numbers", option, text),
                  "numbers with commas between: 500,1000,2000");
    }
    numbers.push_back(*number);
  }
  return numbers;
}

/// A truth value counts as 1 or 0.
double one_number_of(const std::string& option, const std::string& text) {
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  const std::vector<double> numbers = numbers_of(option, text);
  if (numbers.size() == 1) return numbers.front();
  throw Error(Status::invalid_argument, fmt::format("{}: '{}' is not one number", option, text),
              "--window, --hysteresis, --floor and --initial take several, with commas between");
}

Sweep sweep_of(const SimulateVerbOptions& options) {
  Sweep sweep;
  const std::string policy = options.policy.empty() ? sweep.policy : options.policy;
  const std::size_t blank = policy.find(' ');
  sweep.policy = policy.substr(0, blank);
  if (blank != std::string::npos) sweep.variant = policy.substr(blank + 1);
  sweep.windows = numbers_of("--window", options.windows);
  sweep.hysteresis = numbers_of("--hysteresis", options.hysteresis);
  sweep.floors = numbers_of("--floor", options.floors);
  sweep.initial_scales = numbers_of("--initial", options.initial);
  for (const std::string& text : options.set) {
    const Assignment assignment = parse_assignment(text);
    sweep.parameters.set(assignment.key,
                         one_number_of("--set " + assignment.key, text.substr(assignment.key.size() + 1)));
  }
  return sweep;
}

SimulationRequest request_of(const SimulateVerbOptions& options) {
  SimulationRequest request{.targets = options.paths};
  request.sweep = sweep_of(options);
  request.wants_explanation = options.explain;
  const bool names_settings = !options.policy.empty() || !options.windows.empty() || !options.hysteresis.empty() ||
                              !options.floors.empty() || !options.initial.empty() || !options.set.empty();
  request.wants_sweep = names_settings || !options.explain;
  if (!options.below.empty()) request.options.below = one_number_of("--below", options.below);
  return request;
}

// ---- FP8

struct Given {
  const char* option;
  const std::string* text;
};

/// Throws `invalid_argument` for the first that is given: `whose` has no such thing.
void refuse_given(std::initializer_list<Given> options, std::string_view whose, const char* advice) {
  for (const Given& given : options) {
    if (given.text->empty()) continue;
    throw Error(Status::invalid_argument, fmt::format("{}: {} has no such setting", given.option, whose), advice);
  }
}

/// Whose recipes are to be tried; null where loss scales are meant.
const Fp8PolicySpec* fp8_policy_of(const SimulateVerbOptions& options) {
  const bool asks = !options.amaxes.empty() || !options.histories.empty() || !options.algorithms.empty() ||
                    !options.margins.empty() || !options.format.empty();
  if (options.policy.empty()) return asks ? find_fp8_policy("transformer_engine") : nullptr;
  const Fp8PolicySpec* policy = find_fp8_policy(options.policy);
  if (policy == nullptr && !options.amaxes.empty()) {
    throw Error(Status::invalid_argument, fmt::format("--amax: '{}' is no policy of FP8", escaped(options.policy)),
                "`--policy transformer_engine`, te_current, fp8_static, msamp, flax_fp8, keras_fp8, torchao_delayed, "
                "torchao_dynamic");
  }
  return policy;
}

/// A number, a truth value, or a word.
StateValue parameter_value(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  if (const auto number = parse_number(text)) return *number;
  return text;
}

Dtype format_of(const SimulateVerbOptions& options) {
  if (options.format.empty()) return Dtype::f8_e4m3fn;
  if (const auto format = find_fp8_format(options.format)) return *format;
  throw Error(Status::invalid_argument, fmt::format("--format: '{}' is none", escaped(options.format)),
              "e4m3, e5m2, f16");
}

Fp8Sweep fp8_sweep_of(const SimulateVerbOptions& options, const Fp8PolicySpec& policy) {
  Fp8Sweep sweep{.policy = &policy,
                 .history_lengths = numbers_of("--history", options.histories),
                 .margins = numbers_of("--margin", options.margins),
                 .algorithms = words_of(options.algorithms)};
  for (const std::string& text : options.set) {
    const Assignment assignment = parse_assignment(text);
    sweep.parameters.set(assignment.key, parameter_value(text.substr(assignment.key.size() + 1)));
  }
  return sweep;
}

/// `unfinished` takes the edits of the checkpoints that are read.
std::vector<Amaxes> amaxes_of(const SimulateVerbOptions& options, const Terminal& terminal,
                              std::vector<Pending>& unfinished) {
  std::vector<Amaxes> tensors;
  const Files& files = one_storage_of(options.paths);
  for (const std::string& series : options.amaxes) {
    tensors.push_back(amaxes_of(read_series(options.paths, series, {.files = &files}), series, format_of(options)));
  }
  if (!options.amaxes.empty()) return tensors;
  for (const std::string& path : options.paths) {
    const Opened opened = open_for_reading(terminal, path, {.files = &files_of(path)});
    if (opened.pending) unfinished.push_back(*opened.pending);
    std::ranges::move(amaxes_of(opened.checkpoint), std::back_inserter(tensors));
  }
  return tensors;
}

int simulate_fp8_run(const Terminal& terminal, const SimulateVerbOptions& options, const Fp8PolicySpec& policy) {
  refuse_given({{"--window", &options.windows},
                {"--hysteresis", &options.hysteresis},
                {"--floor", &options.floors},
                {"--initial", &options.initial},
                {"--below", &options.below},
                {"--maxima", &options.maxima},
                {"--tag", &options.tag}},
               policy.name, "recipes of FP8 have --history, --algo, --margin, --format and --set");
  if (options.explain) throw Error(Status::invalid_argument, "--explain: only a loss scale's rule is looked for");
  if (!options.format.empty() && options.amaxes.empty()) {
    throw Error(Status::invalid_argument, "--format: a checkpoint's tensors have their own formats",
                "name the series of a log with --amax");
  }
  std::vector<Pending> unfinished;
  std::vector<Amaxes> tensors = amaxes_of(options, terminal, unfinished);
  tell_unfinished(terminal, unfinished);
  const Fp8Simulation answer = simulation_of(options.paths, std::move(tensors), fp8_sweep_of(options, policy));
  terminal.answer(options.json ? fp8_simulation_json(answer, unfinished) : render_fp8_simulation(terminal, answer));
  return exit_done;
}

int simulate_verb_run(const Terminal& terminal, SimulateVerbOptions& options) {
  options.paths = reached(options.paths);
  if (const Fp8PolicySpec* policy = fp8_policy_of(options)) return simulate_fp8_run(terminal, options, *policy);
  refuse_given({{"--history", &options.histories},
                {"--algo", &options.algorithms},
                {"--margin", &options.margins},
                {"--format", &options.format}},
               options.policy, "name a policy of FP8: --policy transformer_engine");
  const SimulationRequest request = request_of(options);
  TraceOptions reading;
  reading.tag = options.tag;
  reading.files = &one_storage_of(options.paths);
  const Trace trace = read_trace(options.paths, reading);
  const std::vector<Pending> unfinished = unfinished_of(options.paths, trace);
  tell_unfinished(terminal, unfinished);
  std::optional<Trace> maxima;
  if (!options.maxima.empty()) maxima = read_series(options.paths, options.maxima, reading);
  const Simulation answer = simulation_of(trace, maxima ? &*maxima : nullptr, request);
  terminal.answer(options.json ? simulation_json(answer, unfinished) : render_simulation(terminal, answer));
  return answer.explained && answer.explained->exact.empty() && answer.explained->has_moved ? exit_no : exit_done;
}

}  // namespace

Verb simulate_verb() {
  auto options = std::make_shared<SimulateVerbOptions>();
  return {
      .name = "simulate",
      .purpose = "What other settings, or another framework's rule, would have done in a run that was recorded",
      .options = joined(
          {{{"TRACE", &options->paths, "Logs, event files, run folders: of one run; of FP8, checkpoints",
             Presence::required},
            {"--policy", &options->policy,
             "Whose rule: torch (unless said otherwise), megatron, \"deepspeed fused\" ..."},
            {"--window", &options->windows,
             "Clean steps that a growth needs; several with commas are tried one by one"},
            {"--hysteresis", &options->hysteresis, "Overflows that a back-off needs; several likewise"},
            {"--floor", &options->floors, "The least scale; several likewise"},
            {"--initial", &options->initial, "The first scale, instead of the trace's; several likewise"},
            {"--set", &options->set, "KEY=VALUE: another parameter of the policy"},
            {"--below", &options->below, "Count the steps with a scale below this, instead of 1024"},
            {"--maxima", &options->maxima, "The series with the largest absolute gradient of each step, unscaled"},
            {"--explain", &options->explain, "Find the policy and the parameters that reproduce the run"},
            {"--tag", &options->tag, "The series that is the scale, where there are several"},
            {"--history", &options->histories, "FP8: how many amaxes a scale is made of; several are tried one by one"},
            {"--algo", &options->algorithms, "FP8: max (of the history), most_recent; several likewise"},
            {"--margin", &options->margins, "FP8: powers of two that stay free; several likewise"},
            {"--amax", &options->amaxes, "FP8: a series of one tensor's amaxes, instead of a checkpoint's histories"},
            {"--format", &options->format, "FP8: that such tensors are cast to: e4m3 (unless said otherwise), e5m2"},
            {"--json", &options->json, "Answer in JSON (schema tare.simulate/1; of FP8, tare.simulate-fp8/1)"}},
           network_options()}),
      .closing_words =
          "A clean step tells that its scale was low enough, an overflow that it was too high, and neither more: so "
          "each\n"
          "answer is a range from what is sure to what is possible. With --maxima it is exact.\n"
          "With --explain, exit 1: no policy reproduces the run.\n"
          "Of FP8 (--policy transformer_engine, te_current, msamp, flax_fp8 ...), TRACE is a checkpoint, whose amax\n"
          "histories are the last steps of each tensor; or a log, with --amax. Each cast has the scale that the "
          "recipe\n"
          "would have given it: it saturates, or leaves bits of the format's range unused.\n"
          "Examples:\n"
          "  tare simulate train.log --policy megatron --window 500,1000,2000 --hysteresis 1,2\n"
          "  tare simulate run --explain\n"
          "  tare simulate model.pt --policy transformer_engine --history 16,1024 --algo max,most_recent --margin 0,1",
      .run = [options](const Terminal& t) { return simulate_verb_run(t, *options); },
  };
}
