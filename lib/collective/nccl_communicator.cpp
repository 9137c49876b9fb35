#include "lib/collective/nccl_communicator.hpp"

#include <cstddef>
#include <string>
#include <thread>

#include "lib/base/error.hpp"
#include "lib/collective/nccl_library.hpp"

namespace tare {
namespace {

// Of nccl.h, the same in all of version 2.
constexpr int success = 0;
constexpr int in_progress = 7;
constexpr int adding = 0;
constexpr int bytes_type = 1;  // ncclUint8
constexpr int e4m3_type = 10;  // from 2.24 on, as the next
constexpr int e5m2_type = 11;

struct Kind {
  int type;
  int operation;
};

/// ncclUint32 3, ncclUint64 5, ncclFloat64 8; ncclSum 0, ncclMax 2.
Kind kind_of(Operation operation) {
  switch (operation) {
    case Operation::max_u64:
      return {5, 2};
    case Operation::sum_f64:
      return {8, 0};
    case Operation::max_u32:
      return {3, 2};
    case Operation::sum_u64:
      return {5, 0};
  }
  throw std::logic_error("no such operation");
}

class NcclCommunicator : public Communicator {
 public:
  explicit NcclCommunicator(void* comm) : nccl_(nccl_of_process()), comm_(comm) {
    const int result = nccl_.device_of(comm, &device_);
    if (result == success) return;
    throw Error(Status::invalid_argument, std::string("NCCL does not take it for a communicator: ") + text_of(result),
                "Hand over an ncclComm_t that is ready, of this process's own NCCL.", result);
  }

  void require_device(int device) const override {
    if (device == device_) return;
    const std::string own = "the comm is one of NCCL's on cuda:" + std::to_string(device_);
    if (device < 0) {
      throw Error(Status::unsupported, own + ", and this computes on the CPU",
                  "Use tare_comm_from_mpi or tare_comm_from_callbacks.");
    }
    throw Error(Status::unsupported, own + ", and this computes on cuda:" + std::to_string(device),
                "Both must be on the same GPU.");
  }
  bool takes(Operation) const override { return true; }
  void require_exchange() const override {}
  void all_to_all(const void* from, void* to, std::uint64_t bytes, kernels::Stream stream) override {
    int ranks = 0;
    check(nccl_.count_ranks(comm_, &ranks), "count the ranks of");
    const auto* const source = static_cast<const std::byte*>(from);
    auto* const target = static_cast<std::byte*>(to);
    group([&](const auto& note) {
      for (int rank = 0; rank < ranks; ++rank) {
        const std::size_t at = static_cast<std::size_t>(rank) * bytes;
        note(nccl_.send(source + at, bytes, bytes_type, rank, comm_, stream));
        note(nccl_.receive(target + at, bytes, bytes_type, rank, comm_, stream));
      }
    });
  }
  void all_gather(const void* from, void* to, std::uint64_t bytes, kernels::Stream stream) override {
    group([&](const auto& note) { note(nccl_.all_gather(from, to, bytes, bytes_type, comm_, stream)); });
  }
  void require_fp8_sum() const override { require_fp8(nccl_); }
  void sum_fp8(void* data, std::uint64_t count, Dtype format, kernels::Stream stream) override {
    const int type = format == Dtype::f8_e4m3fn ? e4m3_type : e5m2_type;
    group([&](const auto& note) { note(nccl_.all_reduce(data, data, count, type, adding, comm_, stream)); });
  }

  void reduce(std::span<const RankNumbers> parts, kernels::Stream stream) override {
    group([&](const auto& note) {
      for (const RankNumbers& part : parts) {
        const Kind kind = kind_of(part.operation);
        note(nccl_.all_reduce(part.data, part.data, part.count, kind.type, kind.operation, comm_, stream));
      }
    });
  }

 private:
  /// What `enqueue` asks for as one; it notes what each call answers.
  template <class Enqueue>
  void group(const Enqueue& enqueue) const {
    check(state(), "go on with");
    check(nccl_.group_start(), "begin");
    int first_failure = success;
    enqueue([&](int result) {
      if (first_failure == success && result != in_progress) first_failure = result;
    });
    const int ended = nccl_.group_end();  // even so: a group that stays open takes in what others enqueue
    check(first_failure, "enqueue");
    if (ended != in_progress) return check(ended, "enqueue");
    check(settled(), "enqueue");
  }
  /// What became of all that was asked of the communicator before.
  int state() const {
    int failure = success;
    const int result = nccl_.failure_of(comm_, &failure);
    return result != success ? result : failure;
  }
  /// A communicator that does not block is still getting ready.
  int settled() const {
    for (;;) {
      const int now = state();
      if (now != in_progress) return now;
      std::this_thread::yield();
    }
  }
  std::string text_of(int result) const {
    const char* const text = nccl_.text_of(result);
    return (text != nullptr ? text : "unknown") + std::string(" (") + std::to_string(result) + ")";
  }
  void check(int result, const char* what) const {
    if (result == success) return;
    throw Error(Status::backend, std::string("NCCL cannot ") + what + " a reduction: " + text_of(result),
                "Another rank may be gone: end this one with ncclCommAbort, or make a communicator of those left.",
                result);
  }

  NcclLibrary nccl_;
  void* comm_;
  int device_ = -1;
};

}  // namespace

std::shared_ptr<Communicator> communicator_of_nccl(void* comm) {
  return std::make_shared<NcclCommunicator>(comm);
}

}  // namespace tare
