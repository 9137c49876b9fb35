#include <optional>
#include <string>
#include <vector>

#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "lib/base/error.hpp"
#include "lib/monitor/monitor.hpp"
#include "lib/scaler/config_values.hpp"

using namespace tare;
using namespace tare::capi;

struct tare_monitor {
  Tag<0x74617238> tag = {};
  monitor::Monitor monitor;
};

namespace {

std::string text_of(const char* text, const char* what) {
  require(text, what);
  std::string copy = text;
  if (is_utf8(copy)) return copy;
  throw Error(Status::invalid_argument, std::string(what) + " \"" + escaped(copy) + "\" is no UTF-8");
}

std::vector<std::string> names_of(const char* const* names, std::size_t count) {
  std::vector<std::string> copies;
  if (count == 0) return copies;
  require(names, "names");
  copies.reserve(count);
  for (std::size_t i = 0; i < count; ++i) copies.push_back(text_of(names[i], "a name"));
  return copies;
}

/// -1: the CPU.
int gpu_named(const std::string& device) {
  if (const std::optional<int> found = find_cuda_device(device)) return *found;
  throw Error(Status::invalid_argument, "there is no device \"" + escaped(device) + "\"",
              "Devices: cpu, cuda:0, cuda:1 ...");
}

/// Before so many names are read.
void require_as_many(uint64_t names, std::size_t tensors) {
  if (names == tensors) return;
  throw Error(Status::mismatch,
              std::to_string(names) + " names are for a list of " + std::to_string(tensors) + " tensors",
              "Give a name for each tensor of the list, in its order.");
}

}  // namespace

int32_t tare_monitor_create(tare_monitor** out, const char* config_json, tare_error* error) {
  return guard_making(
      out, error, [&] { return new tare_monitor{.monitor = monitor::Monitor(monitor::parse_config(config_json))}; });
}

int32_t tare_monitor_looks(int32_t* out, const tare_monitor* monitor, const char* group, const char* name,
                           tare_error* error) {
  return guard(error, [&] {
    require(out, "out");
    require(monitor, "monitor");
    *out = monitor->monitor.looks_at(text_of(group, "group"), text_of(name, "name")) ? 1 : 0;
  });
}

int32_t tare_monitor_observe(tare_monitor* monitor, const char* group, const char* const* names,
                             const tare_tensor* tensors, uint64_t count, tare_error* error) {
  return tare_monitor_observe_scaled(monitor, group, names, tensors, count, 1, error);
}

int32_t tare_monitor_observe_scaled(tare_monitor* monitor, const char* group, const char* const* names,
                                    const tare_tensor* tensors, uint64_t count, double scale, tare_error* error) {
  return guard(error, [&] {
    monitor::Monitor& watching = live(monitor, "monitor").monitor;
    const auto list = tensors_of(tensors, count);
    watching.observe(text_of(group, "group"), names_of(names, list.size()), list, scale);
  });
}

int32_t tare_monitor_observe_on(tare_monitor* monitor, const char* device, const char* group, const char* const* names,
                                const tare_tensor* tensors, uint64_t count, double scale, tare_stream stream,
                                tare_error* error) {
  return guard(error, [&] {
    monitor::Monitor& watching = live(monitor, "monitor").monitor;
    const int gpu = gpu_named(text_of(device, "device"));
    const auto list = tensors_of(tensors, count);
    const auto named = names_of(names, list.size());
    if (gpu < 0) return watching.observe(text_of(group, "group"), named, list, scale);
    watching.observe_on_gpu(gpu, text_of(group, "group"), named, list, {.known = scale}, stream);
  });
}

int32_t tare_monitor_observe_scaled_on(tare_monitor* monitor, const char* device, const char* group,
                                       const char* const* names, const tare_tensor* tensors, uint64_t count,
                                       const float* scale, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    monitor::Monitor& watching = live(monitor, "monitor").monitor;
    const int gpu = gpu_named(text_of(device, "device"));
    require(scale, "scale");
    const auto list = tensors_of(tensors, count);
    const auto named = names_of(names, list.size());
    if (gpu < 0) return watching.observe(text_of(group, "group"), named, list, *scale);
    watching.observe_on_gpu(gpu, text_of(group, "group"), named, list, {.place = scale}, stream);
  });
}

int32_t tare_monitor_observe_again(tare_monitor* monitor, const char* group, const char* name, const char* known_group,
                                   const char* known_name, tare_error* error) {
  return guard(error, [&] {
    monitor::Monitor& watching = live(monitor, "monitor").monitor;
    watching.observe_again(text_of(group, "group"), text_of(name, "name"), text_of(known_group, "known_group"),
                           text_of(known_name, "known_name"));
  });
}

int32_t tare_monitor_add_grads(tare_monitor* monitor, const tare_grads* grads, const char* const* names, uint64_t count,
                               tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    monitor::Monitor& watching = live(monitor, "monitor").monitor;
    const Grads& list = *live(grads, "grads").grads;
    require_as_many(count, list.tensors().size());
    watching.add_gradients(list, names_of(names, list.tensors().size()), stream);
  });
}

int32_t tare_monitor_add_scaler(tare_monitor* monitor, double scale, int64_t steps, int64_t skipped, int64_t growths,
                                int64_t backoffs, tare_error* error) {
  return guard(error, [&] { live(monitor, "monitor").monitor.add_scaler({scale, steps, skipped, growths, backoffs}); });
}

int32_t tare_monitor_add_grads_on(tare_monitor* monitor, tare_grads* grads, const char* const* names, uint64_t count,
                                  tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    monitor::Monitor& watching = live(monitor, "monitor").monitor;
    Grads& list = *live(grads, "grads").grads;
    require_as_many(count, list.tensors().size());
    watching.add_gradients_on_gpu(list, names_of(names, list.tensors().size()), stream);
  });
}

int32_t tare_monitor_add_scaler_on(tare_monitor* monitor, const char* device, const float* scale, int64_t steps,
                                   const int64_t* skipped, const int64_t* growths, const int64_t* backoffs,
                                   tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    monitor::Monitor& watching = live(monitor, "monitor").monitor;
    const int gpu = gpu_named(text_of(device, "device"));
    require(scale, "scale");
    if (gpu >= 0) {
      return watching.add_scaler_on_gpu(
          gpu,
          {.scale = scale, .skipped = skipped, .growths = growths, .backoffs = backoffs, .known = {.steps = steps}},
          stream);
    }
    const auto at = [](const int64_t* number) { return number == nullptr ? 0 : *number; };
    watching.add_scaler({*scale, steps, at(skipped), at(growths), at(backoffs)});
  });
}

int32_t tare_monitor_step(tare_monitor* monitor, int64_t step, tare_stream, tare_error* error) {
  return guard(error, [&] { live(monitor, "monitor").monitor.step(step); });
}

int32_t tare_monitor_settled(int32_t* out, tare_monitor* monitor, tare_error* error) {
  return guard(error, [&] {
    require(out, "out");
    *out = live(monitor, "monitor").monitor.is_settled() ? 1 : 0;
  });
}

int32_t tare_monitor_wait(tare_monitor* monitor, tare_error* error) {
  return guard(error, [&] { live(monitor, "monitor").monitor.wait(); });
}

int32_t tare_monitor_save(tare_state** out, const tare_monitor* monitor, tare_error* error) {
  return guard_making(out, error, [&] {
    require(monitor, "monitor");
    return new tare_state{.state = monitor->monitor.save()};
  });
}

int32_t tare_monitor_load(tare_monitor* monitor, const tare_state* state, tare_error* error) {
  return guard(error, [&] {
    monitor::Monitor& watching = live(monitor, "monitor").monitor;
    require(state, "state");
    watching.load(state->state);
  });
}

int32_t tare_monitor_report(tare_text** out, const tare_monitor* monitor, tare_error* error) {
  return guard_making(out, error, [&] {
    require(monitor, "monitor");
    return new_text(monitor->monitor.report());
  });
}

int32_t tare_monitor_at_scale(tare_text** out, const tare_monitor* monitor, double scale, const char* format,
                              tare_error* error) {
  return guard_making(out, error, [&] {
    require(monitor, "monitor");
    return new_text(monitor->monitor.at_scale(scale, text_of(format, "format")));
  });
}

int32_t tare_monitor_findings(tare_text** out, const tare_monitor* monitor, tare_error* error) {
  return guard_making(out, error, [&] {
    require(monitor, "monitor");
    return new_text(monitor->monitor.findings());
  });
}

void tare_monitor_destroy(tare_monitor* monitor) {
  destroy(monitor);
}
