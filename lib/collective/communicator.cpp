#include "lib/collective/communicator.hpp"

#include <string>

#include "lib/base/error.hpp"

namespace tare {
namespace {

class CallersCommunicator : public Communicator {
 public:
  explicit CallersCommunicator(const Collectives& collectives) : collectives_(collectives) {}

  void maximum(std::span<std::uint64_t> words, kernels::Stream stream) override {
    all_reduce(words.data(), words.size(), Operation::max_u64, stream);
  }
  void sum(std::span<double> numbers, kernels::Stream stream) override {
    all_reduce(numbers.data(), numbers.size(), Operation::sum_f64, stream);
  }

 private:
  void all_reduce(void* data, std::size_t count, Operation operation, kernels::Stream stream) const {
    const std::int32_t failure = collectives_.all_reduce(
        collectives_.context, data, count, static_cast<std::int32_t>(operation), static_cast<CUstream_st*>(stream));
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
