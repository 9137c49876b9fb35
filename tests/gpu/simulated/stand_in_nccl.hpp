// A NCCL over the simulated runtime: ranks of one process, whose streams meet in each reduction.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

namespace tare::kernels::test {

/// What is no reduction, in the place of an operation.
inline constexpr int gathered = 100;
inline constexpr int exchanged = 101;

/// An ncclAllReduce that was enqueued, numbers as nccl.h has them, an ncclAllGather, or a group of ncclSend and
/// ncclRecv
/// (`count`: to each rank); `group`: the n-th group of its thread, from 1, or 0.
struct NcclCall {
  std::size_t rank;
  std::size_t count;
  int type;
  int operation;
  cudaStream_t stream;
  int group;
  bool operator==(const NcclCall&) const = default;
};

/// Ranks of one communicator; what a rank is given is an ncclComm_t.
class NcclRanks {
 public:
  explicit NcclRanks(std::size_t ranks);
  ~NcclRanks();
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  void* comm(std::size_t rank) const;
  /// What was enqueued since the last time.
  std::vector<NcclCall> take_calls();
  /// Reductions that all ranks came to.
  std::size_t met() const;
  /// As ncclCommAbort on every rank: nobody waits any more.
  void abort();
  /// As an error that NCCL finds while the host does something else.
  void fail(std::size_t rank, int result);

  struct World;

 private:
  World* world_;
};

/// As later calls find it: the version, what the next ncclAllReduce answers, the device that communicators are on.
void say_nccl_version(int version);
void refuse_an_all_reduce(int result);
void say_nccl_device(int device);
/// Groups that are open in this thread.
int open_nccl_groups();

}  // namespace tare::kernels::test
