#include "lib/monitor/monitor.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "kernels/cpu/summarise.hpp"
#include "lib/base/error.hpp"
#include "lib/base/glob.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/finding_json.hpp"
#include "lib/device/backend.hpp"
#include "lib/monitor/at_scale.hpp"
#include "lib/monitor/saved.hpp"
#include "lib/monitor/text.hpp"
#include "lib/scaler/lists.hpp"

namespace tare::monitor {

namespace {

/// All of them or none.
template <class Item>
void append(std::vector<Item>& to, std::vector<Item>& more) {
  to.insert(to.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
}

void require_scale(double scale) {
  if (is_finite(scale) && scale > 0) return;
  throw Error(Status::invalid_argument, "scale is " + float_text(scale), "Give one that is finite and above 0.");
}

}  // namespace

Monitor::Monitor(Config config)
    : every_(config.every),
      groups_(std::move(config.groups)),
      examiner_(std::move(config.limits), config.format),
      told_failures_(config.sinks.size()),
      writer_(make_sinks(config.sinks)) {}

Monitor::~Monitor() {
  try {
    wait();
  } catch (...) {  // the device is broken, or there is no memory: there is nobody left to tell
    return;
  }
}

bool Monitor::looks_at(const std::string& group, const std::string& name) const {
  if (!looks()) return false;
  const auto own = std::ranges::find(groups_, group, &GroupConfig::name);
  if (own == groups_.end()) return true;
  if (own->every == 0 || steps_ % own->every != 0) return false;
  const auto matches = [&](const std::string& pattern) { return glob_matches(pattern, name); };
  return own->patterns.empty() || std::ranges::any_of(own->patterns, matches);
}

std::vector<Observed> Monitor::chosen(const std::string& group, std::span<const std::string> names,
                                      std::span<const kernels::Tensor> tensors,
                                      std::vector<kernels::Tensor>& looked_at) const {
  std::vector<Observed> some;
  some.reserve(tensors.size());
  looked_at.reserve(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!looks_at(group, names[i])) continue;
    Observed& one = some.emplace_back();  // braced, GCC 12 loses a member when memory runs out half-way
    one.group = group;
    one.name = names[i];
    one.dtype = tensors[i].dtype;
    looked_at.push_back(tensors[i]);
  }
  return some;
}

void Monitor::observe(const std::string& group, std::span<const std::string> names,
                      std::span<const kernels::Tensor> tensors, double scale) {
  require_scale(scale);
  require_usable(cpu_backend(), tensors, kernels::Use::read);
  if (!looks()) return;
  std::vector<kernels::Tensor> looked_at;
  std::vector<Observed> more = chosen(group, names, tensors, looked_at);
  for (std::size_t i = 0; i < more.size(); ++i) more[i].summary = kernels::cpu::summarise(looked_at[i], scale);
  append(under_way_.tensors, more);
}

void Monitor::observe_on_gpu(int gpu, const std::string& group, std::span<const std::string> names,
                             std::span<const kernels::Tensor> tensors, const kernels::BorneScale& scale,
                             kernels::Stream stream) {
  require_scale(scale.known);
  require_usable(cuda_backend(), tensors, kernels::Use::read);
  if (!looks()) return;
  std::vector<kernels::Tensor> looked_at;
  std::vector<Observed> more = chosen(group, names, tensors, looked_at);
  if (more.empty()) return;
  wait();
  std::vector<Observed>& noted = under_way_.tensors;
  noted.reserve(noted.size() + more.size());
  gpu_looks_.add(gpu, looked_at, scale, stream, noted.size());
  append(noted, more);
}

void Monitor::observe_again(const std::string& group, const std::string& name, const std::string& known_group,
                            const std::string& known) {
  if (!looks_at(group, name)) return;
  std::vector<Observed>& noted = under_way_.tensors;
  const auto is_known = [&](const Observed& one) { return one.group == known_group && one.name == known; };
  const auto found = std::find_if(noted.rbegin(), noted.rend(), is_known);
  if (found == noted.rend()) {
    throw Error(Status::invalid_argument,
                "no \"" + escaped(known) + "\" of \"" + escaped(known_group) + "\" was looked at in this step",
                "Observe it first, or this tensor itself.");
  }
  Observed one;
  one.group = group;
  one.name = name;
  one.dtype = found->dtype;
  const auto place = static_cast<std::size_t>(noted.rend() - found) - 1;
  one.same_as = found->same_as.value_or(place);
  noted.push_back(std::move(one));
}

namespace {

/// Of a list, without what was found.
std::vector<Gradient> named(const Grads& grads, std::span<const std::string> names) {
  std::vector<Gradient> some;
  some.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    Gradient& one = some.emplace_back();
    one.name = names[i];
    one.dtype = grads.tensors()[i].dtype;
    one.threshold = grads.scaler().threshold();
  }
  return some;
}

}  // namespace

void Monitor::add_gradients(const Grads& grads, std::span<const std::string> names, kernels::Stream stream) {
  if (!looks()) return;
  const GradsReport found = grads.last_pass(stream);
  const ScalerReport scaler = grads.scaler().report(stream);
  std::vector<Gradient> more = named(grads, names);
  for (std::size_t i = 0; i < more.size(); ++i) {
    more[i].seen = found.tensors[i];
    if (!found.finite.empty()) more[i].finite = found.finite[i];
  }
  append(under_way_.gradients, more);
  const rule::Counters& counted = scaler.counters;
  add_scaler({scaler.scale, counted.steps, counted.skipped, counted.growths, counted.backoffs});
}

void Monitor::add_gradients_on_gpu(Grads& grads, std::span<const std::string> names, kernels::Stream stream) {
  if (grads.scaler().cuda_device() < 0) return add_gradients(grads, names, stream);
  if (!looks()) return;
  wait();
  std::vector<Gradient> more = named(grads, names);
  std::vector<Gradient>& noted = under_way_.gradients;
  noted.reserve(noted.size() + more.size());
  gpu_looks_.add(grads, stream, noted.size());
  append(noted, more);
}

void Monitor::add_scaler(const ScalerSeen& scaler) {
  for (const std::int64_t counter : {scaler.steps, scaler.skipped, scaler.growths, scaler.backoffs}) {
    if (counter < 0) {
      throw Error(Status::invalid_argument, "a counter of the scaler is " + std::to_string(counter),
                  "Give those of its whole life: they begin with 0.");
    }
  }
  if (!looks()) return;
  under_way_.scaler = scaler;
  if (!awaited_) gpu_looks_.keep_scaler();
}

void Monitor::add_scaler_on_gpu(int gpu, const kernels::ScalerPlaces& places, kernels::Stream stream) {
  if (!looks()) return;
  wait();
  gpu_looks_.add(gpu, places, stream);
}

void Monitor::step(std::int64_t number) {
  if (looks()) {
    wait();
    under_way_.step = number;
    if (gpu_looks_.is_empty()) {
      examine(under_way_);
    } else {
      awaited_ = std::exchange(under_way_, {});
    }
  } else {
    static_cast<void>(is_settled());
  }
  ++steps_;
}

bool Monitor::is_settled() {
  if (awaited_ && gpu_looks_.are_done()) wait();
  return !awaited_;
}

void Monitor::wait() {
  if (!awaited_) return;
  try {
    gpu_looks_.read(*awaited_);
  } catch (const Error&) {  // what the GPU saw is lost, and the step with it
    awaited_.reset();
    throw;
  }
  examine(*awaited_);
  awaited_.reset();
}

void Monitor::examine(ObservedStep& ended) {
  Examiner next = examiner_;  // a step for which there is no memory changes nothing
  for (Observed& one : ended.tensors) {
    if (one.same_as) one.summary = ended.tensors[*one.same_as].summary;
  }
  next.examine(ended);
  const std::size_t failures = writer_.failures();
  const auto told = static_cast<std::size_t>(std::ranges::count(told_failures_, true));
  if (failures > told) tell_failures(ended, failures);
  const auto seen = std::make_shared<ObservedStep>();
  *seen = std::exchange(ended, {});
  last_ = seen;
  examiner_ = std::move(next);
  for (std::size_t i = 0; failures > told && i < told_failures_.size(); ++i) {
    told_failures_[i] = !writer_.sinks()[i]->failure().empty();
  }
  writer_.put(last_);
}

void Monitor::tell_failures(ObservedStep& ended, std::size_t count) const {
  for (std::size_t i = 0; i < told_failures_.size(); ++i) {
    const auto& sink = writer_.sinks()[i];
    if (told_failures_[i] || sink->failure().empty()) continue;
    HealthFinding& finding = ended.findings.emplace_back();
    finding.severity = Severity::warning;
    finding.code = "sink-failed";
    finding.message = "nothing more is written: " + escaped(sink->failure());
    finding.advice = "Training goes on; make the monitor anew once it can be written";
    finding.file = sink->path();
    finding.evidence.emplace_back("sinks", static_cast<double>(count));
  }
  std::ranges::stable_sort(ended.findings, std::greater{}, &HealthFinding::severity);
}

ScalerState Monitor::save() const {
  return to_state({steps_, examiner_.memory()});
}

void Monitor::load(const ScalerState& state) {
  Saved saved = saved_from(state);
  steps_ = saved.steps;
  examiner_.remember(std::move(saved.memory));
  under_way_ = {};
  awaited_.reset();
  gpu_looks_.forget();
  last_ = nullptr;
}

std::string Monitor::at_scale(double scale, const std::string& format) const {
  require_scale(scale);
  const std::optional<Dtype> narrow = find_narrow_format(format);
  if (narrow) return at_scale_text(last_.get(), scale, *narrow);
  throw Error(Status::invalid_argument, "there is no format \"" + escaped(format) + "\" to round to",
              "Give f16, bf16, f8e5m2 or f8e4m3fn.");
}

std::string Monitor::findings() const {
  const auto found = last_ ? std::span<const HealthFinding>(last_->findings) : std::span<const HealthFinding>{};
  return json::text_of(json::findings_members({}, found, {}).take());
}

std::string Monitor::report() const {
  writer_.wait();
  return report_of(steps_, last_.get(), writer_);
}

}  // namespace tare::monitor
