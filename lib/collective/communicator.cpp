#include "lib/collective/communicator.hpp"

#include <string>

#include "lib/base/error.hpp"

namespace tare {
namespace {

class CallersCommunicator : public Communicator {
 public:
  explicit CallersCommunicator(const Collectives& collectives) : collectives_(collectives) {}

  void require_device(int device) const override {
    if (device < 0 || collectives_.takes_device_memory) return;
    throw Error(Status::unsupported, "the comm's callbacks do not say that they take memory of a GPU",
                "Set device_memory in tare_collectives where they do, or use tare_comm_from_nccl.");
  }
  bool takes(Operation operation) const override {
    return operation == Operation::max_u64 || operation == Operation::sum_f64;
  }
  void reduce(std::span<const RankNumbers> parts, kernels::Stream stream) override {
    for (const RankNumbers& part : parts) reduce_one(part, stream);
  }

 private:
  void reduce_one(const RankNumbers& part, kernels::Stream stream) const {
    const std::int32_t failure =
        collectives_.all_reduce(collectives_.context, part.data, part.count, static_cast<std::int32_t>(part.operation),
                                static_cast<CUstream_st*>(stream));
    if (failure == 0) return;
    throw Error(Status::backend, "all_reduce of the comm's callbacks returned " + std::to_string(failure),
                "Another rank may be gone: end this one, or make a comm of those that are left.", failure);
  }

  Collectives collectives_;
};

}  // namespace

std::shared_ptr<Communicator> communicator_of(const Collectives& collectives) {
  return std::make_shared<CallersCommunicator>(collectives);
}

}  // namespace tare
