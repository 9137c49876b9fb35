#include "lib/monitor/monitor.hpp"

#include <iterator>
#include <utility>

#include "lib/device/backend.hpp"
#include "lib/monitor/text.hpp"
#include "lib/scaler/lists.hpp"

namespace tare::monitor {

Monitor::Monitor(Config config) : every_(config.every) {
  for (std::string& path : config.line_files) sinks_.emplace_back(std::move(path));
}

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
  under_way_.insert(under_way_.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
}

void Monitor::step(std::int64_t number) {
  if (looks()) {
    const std::string line = sinks_.empty() ? "" : line_of(number, under_way_);
    last_ = ObservedStep{number, std::exchange(under_way_, {})};
    for (LineFile& sink : sinks_) sink.add(line);
  }
  ++steps_;
}

std::string Monitor::report() const {
  return report_of(steps_, last_, sinks_);
}

}  // namespace tare::monitor
