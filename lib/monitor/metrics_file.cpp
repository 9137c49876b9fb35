#include "lib/monitor/metrics_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "lib/base/open_metrics.hpp"
#include "lib/base/own_content.hpp"
#include "lib/codec/new_file.hpp"

namespace tare::monitor {
namespace {

void add_layers(OpenMetrics& metrics, const std::vector<Gradient>& gradients) {
  metrics.family("tare_monitor_layer_lost", "gauge", "Share of a layer's gradients that became zero.");
  std::map<std::string_view, double> lost;  // of several tensors of one name the worst
  for (const Gradient& gradient : gradients) {
    if (!gradient.lost) continue;
    double& most = lost.try_emplace(gradient.name, *gradient.lost).first->second;
    most = std::max(most, *gradient.lost);
  }
  for (const auto& [name, share] : lost) {
    metrics.sample("tare_monitor_layer_lost", share,
                   fmt::format(",layer=\"{}\"", OpenMetrics::label(std::string(name))));
  }
}

/// Counters on a GPU are whatever stands there.
std::uint64_t count_of(std::int64_t counter) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(counter, 0));
}

}  // namespace

void MetricsFile::write(const ObservedStep& step) {
  OpenMetrics metrics(path());  // files of one folder are told apart by it
  metrics.gauge("tare_monitor_step", "The last step that was looked at.", static_cast<double>(step.step));
  if (step.scaler) {
    metrics.gauge("tare_monitor_scale", "The loss scale.", step.scaler->scale);
    metrics.counter("tare_monitor_steps", "Steps of the scaler.", count_of(step.scaler->steps));
    metrics.counter("tare_monitor_skipped", "Steps that it skipped.", count_of(step.scaler->skipped));
  }
  metrics.gauge("tare_monitor_gradients_lost", "Share of the gradients that became zero.", step.signals.lost);
  metrics.gauge("tare_monitor_headroom_bits", "Doublings that the greatest gradient can take.",
                step.signals.headroom_bits);
  metrics.gauge("tare_monitor_layers_lost", "Share of the layers whose gradients became zero to a share that is told.",
                step.signals.layers_lost);
  metrics.gauge("tare_monitor_layers_zero", "Share of the layers that have many zeros, of whatever cause.",
                step.signals.layers_zero);
  if (!step.gradients.empty()) add_layers(metrics, step.gradients);
  metrics.findings(step.findings);
  const std::string text = metrics.take();
  require_own_content(path(), OpenMetrics::beginning, "tare's metrics");
  write_whole_file(path(), std::as_bytes(std::span(text)));
}

}  // namespace tare::monitor
