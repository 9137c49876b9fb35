#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/edit/request.hpp"
#include "lib/report/health.hpp"
#include "tools/network.hpp"
#include "tools/network_options.hpp"
#include "tools/render_health.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct Options {
  std::vector<std::string> paths, set;
  std::string policy, windows, hysteresis, floors, initial, tag, maxima, below;
  bool explain = false;
  bool json = false;
};

/// "500,1000,2^11"
std::vector<double> numbers_of(const std::string& option, const std::string& text) {
  std::vector<double> numbers;
  for (std::size_t from = 0; !text.empty() && from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const auto number = parse_number(text.substr(from, comma - from));
    if (!number) {
      throw Error(Status::invalid_argument, fmt::format("{}: '{}' is no list of numbers", option, text),
                  "numbers with commas between: 500,1000,2000");
    }
    numbers.push_back(*number);
    from = comma + 1;
  }
  return numbers;
}

Sweep sweep_of(const Options& options) {
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
                         numbers_of("--set " + assignment.key, text.substr(assignment.key.size() + 1)).front());
  }
  return sweep;
}

SimulationRequest request_of(const Options& options) {
  SimulationRequest request{.targets = options.paths};
  request.sweep = sweep_of(options);
  request.wants_explanation = options.explain;
  const bool names_settings = !options.policy.empty() || !options.windows.empty() || !options.hysteresis.empty() ||
                              !options.floors.empty() || !options.initial.empty() || !options.set.empty();
  request.wants_sweep = names_settings || !options.explain;
  if (!options.below.empty()) request.options.below = numbers_of("--below", options.below).front();
  return request;
}

int simulate_verb_run(const Terminal& terminal, const Options& options) {
  for (const std::string& path : options.paths) reach(path);
  const SimulationRequest request = request_of(options);
  TraceOptions reading;
  reading.tag = options.tag;
  reading.files = &files_of(options.paths.front());
  const Trace trace = read_trace(options.paths, reading);
  std::optional<Trace> maxima;
  if (!options.maxima.empty()) {
    reading.tag = options.maxima;
    maxima = read_trace(options.paths, reading);
  }
  const Simulation answer = simulation_of(trace, maxima ? &*maxima : nullptr, request);
  terminal.answer(options.json ? simulation_json(answer) : render_simulation(terminal, answer));
  return answer.explained && answer.explained->exact.empty() && answer.explained->has_moved ? exit_no : exit_done;
}

}  // namespace

Verb simulate_verb() {
  auto options = std::make_shared<Options>();
  return {
      .name = "simulate",
      .purpose = "What other settings, or another framework's rule, would have done in a run that was recorded",
      .options = joined(
          {{{"TRACE", &options->paths, "Logs, event files, run folders: of one run", Presence::required},
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
            {"--json", &options->json, "Answer in JSON (schema tare.simulate/1)"}},
           network_options()}),
      .closing_words =
          "A clean step tells that its scale was low enough, an overflow that it was too high, and neither more: so "
          "each\n"
          "answer is a range from what is sure to what is possible. With --maxima it is exact.\n"
          "With --explain, exit 1: no policy reproduces the run.\n"
          "Examples:\n"
          "  tare simulate train.log --policy megatron --window 500,1000,2000 --hysteresis 1,2\n"
          "  tare simulate run --explain",
      .run = [options](const Terminal& t) { return simulate_verb_run(t, *options); },
  };
}
