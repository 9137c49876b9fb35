// Ranks of MPI that reduce with one another, in a communicator of their own. Throws kernels::Refusal.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tare::mpi {

class Group {
 public:
  /// A call of all ranks of `communicator`, which stays the caller's.
  Group(MPI_Comm communicator, double timeout_seconds);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// `operation`: a tare::Operation. After a reduction that failed all others do.
  void all_reduce(void* data, std::uint64_t count, std::int32_t operation);
  /// `what`: a TARE_MPI_ALL_TO_ALL ...
  void exchange(std::int32_t what, const void* from, void* to, std::uint64_t bytes);

 private:
  void reduce_in_time(void* data, int count, MPI_Datatype type, MPI_Op how);
  void exchange_in_time(std::int32_t what, const void* from, void* to, int bytes);
  void require_whole(std::uint64_t count) const;
  void wait(MPI_Request& request) const;

  MPI_Comm ranks_ = MPI_COMM_NULL;
  double timeout_seconds_;
  bool broken_ = false;
  int count_ = 1;                                   // of ranks
  std::unique_ptr<std::vector<std::byte>> buffer_;  // what MPI may still write into when we no longer wait
};

/// Throws where MPI does not run in this process (any more), or was not promised calls by this thread.
void require_mpi();

/// That of Fortran's handle; null: MPI_COMM_WORLD. Throws `invalid_argument` for what is no group of ranks.
MPI_Comm communicator_at(const std::int32_t* handle);

}  // namespace tare::mpi
