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
  void require_exchange() const override {
    if (collectives_.all_to_all != nullptr && collectives_.all_gather != nullptr) return;
    throw Error(Status::unsupported,
                std::string("the comm's callbacks have no ") +
                    (collectives_.all_to_all == nullptr ? "all_to_all" : "all_gather"),
                "Set both in tare_collectives, or use tare_comm_from_mpi.");
  }
  void all_to_all(const void* from, void* to, std::uint64_t bytes, kernels::Stream stream) override {
    exchange(collectives_.all_to_all, "all_to_all", from, to, bytes, stream);
  }
  void all_gather(const void* from, void* to, std::uint64_t bytes, kernels::Stream stream) override {
    exchange(collectives_.all_gather, "all_gather", from, to, bytes, stream);
  }
  void require_fp8_sum() const override { refuse_fp8_sum("the comm's callbacks have"); }
  void sum_fp8(void*, std::uint64_t, Dtype, kernels::Stream) override { require_fp8_sum(); }
  void reduce(std::span<const RankNumbers> parts, kernels::Stream stream) override {
    for (const RankNumbers& part : parts) reduce_one(part, stream);
  }

 private:
  void reduce_one(const RankNumbers& part, kernels::Stream stream) const {
    const std::int32_t failure =
        collectives_.all_reduce(collectives_.context, part.data, part.count, static_cast<std::int32_t>(part.operation),
                                static_cast<CUstream_st*>(stream));
    check(failure, "all_reduce");
  }
  void exchange(Collectives::Exchange function, const char* name, const void* from, void* to, std::uint64_t bytes,
                kernels::Stream stream) const {
    check(function(collectives_.context, from, to, bytes, static_cast<CUstream_st*>(stream)), name);
  }
  static void check(std::int32_t failure, const char* function) {
    if (failure == 0) return;
    throw Error(Status::backend, std::string(function) + " of the comm's callbacks returned " + std::to_string(failure),
                "Another rank may be gone: end this one, or make a comm of those that are left.", failure);
  }

  Collectives collectives_;
};

}  // namespace

void refuse_fp8_sum(const char* engine) {
  throw Error(Status::unsupported, std::string(engine) + " no sum of fp8",
              "Leave the option \"adder\" out: ranks then add their shares, whatever the engine.");
}

std::shared_ptr<Communicator> communicator_of(const Collectives& collectives) {
  return std::make_shared<CallersCommunicator>(collectives);
}

}  // namespace tare
