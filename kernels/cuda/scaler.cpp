#include <algorithm>

#include "kernels/cuda/list.hpp"
#include "kernels/cuda/reach.hpp"

namespace tare::kernels::cuda {
namespace {

void require_reachable(const TorchPlaces& places, int device) {
  const std::pair<const char*, const void*> all[] = {
      {"the scale", places.scale}, {"the growth tracker", places.growth_tracker}, {"found-inf", places.found_inf}};
  for (const auto& [name, data] : all) {
    const std::string place = unreachable_place(data, device);
    if (!place.empty()) refuse_place(name, place, device);
  }
}

}  // namespace

DeviceScaler::DeviceScaler(int device, const rule::RunningState& running) : device_(device), order_(device_) {
  const OnDevice here(device);
  ScalerCore fresh;
  take_over(fresh, running);
  core_.reserve(1);
  check(cudaMemcpyAsync(core_.data(), &fresh, sizeof fresh, cudaMemcpyHostToDevice, device_.own_stream()),
        "make a scaler");
  device_.finish_own();
}

DeviceScaler::~DeviceScaler() = default;

void DeviceScaler::obey(CommandArguments asked, cudaStream_t stream) {
  const OnDevice here(device_.ordinal());
  if (asked.command == Command::step_elsewhere) require_reachable(asked.elsewhere, device_.ordinal());
  order_.take_turn(stream, [&](Capture) {
    if (asked.command == Command::report && joins_ranks()) return join_ranks(asked, stream);
    launch(asked, stream);
  });
}

void DeviceScaler::join_by(const tare_backend_reduction& reduction) {
  const OnDevice here(device_.ordinal());
  record_.reserve(1);
  reduction_ = reduction;
}

void DeviceScaler::join_ranks(CommandArguments asked, cudaStream_t stream) {
  asked.ranks.record = record_.data();
  asked.ranks.same_values = reduction_.same_values;
  asked.command = Command::tell_ranks;
  launch(asked, stream);
  tare_backend_error error;
  if (reduction_.enqueue(reduction_.context, TARE_BACKEND_RECORD, record_.data(), stream, &error) != done) {
    throw Refusal(error.status, error.detail, error.message, error.hint);
  }
  asked.command = Command::hear_ranks;
  launch(asked, stream);
}

void DeviceScaler::launch(CommandArguments& asked, cudaStream_t stream) const {
  asked.core = core();
  device_.launch(command_kernel(), 1, 1, &asked, stream);
}

void DeviceScaler::follow_reduced(cudaStream_t stream) {
  const OnDevice here(device_.ordinal());
  order_.take_turn(stream, [&](Capture) {
    CommandArguments asked;
    asked.command = Command::follow_reduced;
    std::size_t done = 0;
    do {  // once at least: the scaler has a noop of its own
      asked.list_count = static_cast<std::int32_t>(std::min(lists_.size() - done, std::size_t{most_followers}));
      std::copy_n(lists_.begin() + static_cast<std::ptrdiff_t>(done), asked.list_count, asked.lists);
      launch(asked, stream);
      done += static_cast<std::size_t>(asked.list_count);
    } while (done < lists_.size());
  });
}

void DeviceScaler::forget(ListCore* list) {
  std::erase(lists_, list);
}

ScalerCore DeviceScaler::read(cudaStream_t stream) const {
  const OnDevice here(device_.ordinal());
  require_uncaptured(stream);
  order_.wait(stream);
  ScalerCore copy;
  check(cudaMemcpyAsync(&copy, core(), sizeof copy, cudaMemcpyDeviceToHost, stream), "read a scaler");
  check(cudaStreamSynchronize(stream), "wait for the stream");
  if (copy.raised == rule::Raised::nothing && copy.parting.is == 0) return copy;
  CommandArguments told;
  told.command = Command::forget_raised;
  launch(told, stream);
  check(cudaStreamSynchronize(stream), "wait for the stream");
  return copy;
}

}  // namespace tare::kernels::cuda
