#include "lib/monitor/monitor.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/codec/finding_json.hpp"
#include "lib/device/backend.hpp"
#include "lib/monitor/text.hpp"
#include "lib/scaler/lists.hpp"

namespace tare::monitor {

namespace {

/// All of them or none.
template <class Item>
void append(std::vector<Item>& to, std::vector<Item>& more) {
  to.insert(to.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
}

}  // namespace

Monitor::Monitor(Config config)
    : every_(config.every), examiner_(std::move(config.limits), config.format), writer_(make_sinks(config.sinks)) {}

void Monitor::observe(const std::string& group, std::span<const std::string> names,
                      std::span<const kernels::Tensor> tensors) {
  require_usable(cpu_backend(), tensors, kernels::Use::read);
  if (!looks()) return;
  std::vector<Observed> more;
  more.reserve(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Observed& one = more.emplace_back();  // braced, GCC 12 loses a member when memory runs out half-way
    one.group = group;
    one.name = names[i];
    one.dtype = tensors[i].dtype;
    one.summary = summary_of(tensors[i]);
  }
  append(under_way_.tensors, more);
}

void Monitor::add_gradients(const Grads& grads, std::span<const std::string> names, kernels::Stream stream) {
  const std::span<const kernels::Tensor> tensors = grads.tensors();
  if (!looks()) return;
  const GradsReport found = grads.last_pass(stream);
  const ScalerReport scaler = grads.scaler().report(stream);
  std::vector<Gradient> more;
  more.reserve(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Gradient& one = more.emplace_back();
    one.name = names[i];
    one.dtype = tensors[i].dtype;
    one.seen = found.tensors[i];
    one.threshold = found.threshold;
  }
  append(under_way_.gradients, more);
  under_way_.scaler = ScalerSeen{scaler.scale, scaler.counters.steps, scaler.counters.skipped};
}

void Monitor::step(std::int64_t number) {
  if (looks()) {
    under_way_.step = number;
    Examiner next = examiner_;  // a step for which there is no memory changes nothing
    next.examine(under_way_);
    const std::size_t failures = writer_.failures();
    if (failures > told_failures_) tell_failures(failures);
    const auto seen = std::make_shared<ObservedStep>();
    *seen = std::exchange(under_way_, {});
    last_ = seen;
    examiner_ = std::move(next);
    told_failures_ = std::max(told_failures_, failures);
    writer_.put(last_);
  }
  ++steps_;
}

void Monitor::tell_failures(std::size_t count) {
  for (const auto& sink : writer_.sinks()) {
    if (sink->failure().empty()) continue;
    HealthFinding& finding = under_way_.findings.emplace_back();
    finding.severity = Severity::warning;
    finding.code = "sink-failed";
    finding.message = "nothing more is written: " + escaped(sink->failure());
    finding.advice = "Training goes on; make the monitor anew once it can be written";
    finding.file = sink->path();
    finding.evidence.emplace_back("sinks", static_cast<double>(count));
  }
}

std::string Monitor::findings() const {
  return json::findings_text(
      {}, last_ ? std::span<const HealthFinding>(last_->findings) : std::span<const HealthFinding>{}, {});
}

std::string Monitor::report() const {
  writer_.wait();
  return report_of(steps_, last_.get(), writer_);
}

}  // namespace tare::monitor
