#include "lib/monitor/event_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>

#include "lib/base/error.hpp"
#include "lib/monitor/event_record.hpp"

namespace tare::monitor {
namespace {

constexpr auto tag_table = std::to_array<EventTags>({
    {"megatron", "loss-scale"},                 // Megatron-LM, training_log(): --log-loss-scale-to-tensorboard
    {"deepspeed", "Train/Samples/loss_scale"},  // DeepSpeed, engine.py: _write_monitor(); its steps are samples
});

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// In the order in which TensorBoard reads the files of a folder: the time stands first.
std::string new_file_name() {
  static std::atomic<unsigned> files{0};
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0 || host.front() == '\0') host = {'h', 'o', 's', 't'};
  return fmt::format("events.out.tfevents.{:010}.{}.{}.{}.tare", static_cast<std::int64_t>(now()), host.data(),
                     getpid(), files++);
}

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw_io(folder, error.value());
}

void add_gradient(EventSummary& summary, const Gradient& gradient) {
  summary.add_scalar("gradients/max_abs/" + gradient.name, gradient.seen.max_abs);
  if (gradient.lost) summary.add_scalar("gradients/lost/" + gradient.name, *gradient.lost);
}

/// A tensor of one value, such as a loss, is that value.
void add_tensor(EventSummary& summary, const Observed& tensor) {
  const std::string tag = tensor.group + "/" + tensor.name;
  const Summary& seen = tensor.summary;
  if (seen.count == 1 && seen.finite() == 1) return summary.add_scalar(tag, seen.mean);
  if (seen.finite() != 0) summary.add_scalar(tag + "/norm", norm(seen));
  summary.add_exponents(tag + "/log2", seen.exponents);
}

EventSummary summary_of(const ObservedStep& step, const EventTags& tags) {
  EventSummary summary;
  if (step.scaler) {
    summary.add_scalar(tags.scale, step.scaler->scale);
    summary.add_scalar("skipped", static_cast<double>(step.scaler->skipped));
  }
  if (step.signals.lost) summary.add_scalar("gradients/lost", *step.signals.lost);
  if (step.signals.headroom_bits) summary.add_scalar("gradients/headroom_bits", *step.signals.headroom_bits);
  if (step.signals.layers_lost) summary.add_scalar("gradients/layers_lost", *step.signals.layers_lost);
  if (step.signals.layers_zero) summary.add_scalar("gradients/layers_zero", *step.signals.layers_zero);
  for (const Gradient& gradient : step.gradients) add_gradient(summary, gradient);
  for (const Observed& tensor : step.tensors) add_tensor(summary, tensor);
  return summary;
}

}  // namespace

const EventTags* find_event_tags(std::string_view name) {
  for (const EventTags& tags : tag_table) {
    if (tags.name == name) return &tags;
  }
  return nullptr;
}

std::string event_tag_names() {
  std::string names;
  for (const EventTags& tags : tag_table) names.append(names.empty() ? "" : ", ").append(tags.name);
  return names;
}

void EventFile::write(const ObservedStep& step) {
  const double time = now();
  if (file_.empty()) {
    make_folder(path());
    file_ = path() + "/" + new_file_name();
  }
  const bool begins = !last_ || *last_ >= step.step;
  std::string records = begins ? start_record(time, step.step) : "";
  records += summary_record(time, step.step, summary_of(step, tags_));
  const std::string head = version_record(time);
  append_whole(file_, std::as_bytes(std::span(head)), std::as_bytes(std::span(records)));
  last_ = step.step;
}

}  // namespace tare::monitor
