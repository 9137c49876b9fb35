#include "lib/collective/mpi_module/group.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

#include "kernels/backend_edge.hpp"
#include "lib/base/text.hpp"
#include "lib/collective/communicator.hpp"
#include "lib/collective/mpi_table.h"

namespace tare::mpi {
namespace {

using kernels::Refusal;

constexpr const char* gone_hint = "Another rank may be gone, or not have made this call: end the program.";

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  int kind = 0;
  MPI_Error_string(code, text, &length);
  MPI_Error_class(code, &kind);
  throw Refusal(kernels::backend_failed, kind, std::string("MPI cannot ") + what + ": " + text, gone_hint);
}

/// "Open MPI v4.1.4", "MPICH Version: 4.0.2"
std::string name_of_library() {
  char text[std::max(MPI_MAX_LIBRARY_VERSION_STRING, 8192)] = {};  // 8192: MPICH's, which may answer in another's place
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string name(text);
  name.resize(std::min(name.size(), name.find_first_of(",\n\r")));
  for (char& letter : name) letter = letter == '\t' ? ' ' : letter;
  return name;
}

#if defined(OPEN_MPI)
constexpr bool is_built_for_open_mpi = true;
#else
constexpr bool is_built_for_open_mpi = false;
#endif

/// The process's own MPI goes before the one that this was linked with, and handles of one are none of the other's.
/// (MPICH's kin have one ABI.)
void require_same_mpi() {
  const std::string running = name_of_library();
  if (running.starts_with("Open MPI") == is_built_for_open_mpi) return;
  throw Refusal(kernels::unsupported, 0,
                "this process has " + running + ", libtare_mpi.so was built for " +
                    (is_built_for_open_mpi ? "Open MPI" : "MPICH"),
                "Build tare with that MPI: MPI_C_COMPILER says which.");
}

struct Kind {
  MPI_Datatype type;
  MPI_Op how;
};

Kind kind_of(std::int32_t operation) {
  if (operation == static_cast<std::int32_t>(Operation::max_u64)) return {MPI_UINT64_T, MPI_MAX};
  return {MPI_DOUBLE, MPI_SUM};
}

/// As long as it lives, errors of this communicator are returned, and do not end the job.
class ReturnedErrors {
 public:
  explicit ReturnedErrors(MPI_Comm communicator) : communicator_(communicator) {
    MPI_Comm_get_errhandler(communicator, &before_);
    MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  }
  ~ReturnedErrors() {
    MPI_Comm_set_errhandler(communicator_, before_);
    MPI_Errhandler_free(&before_);
  }
  ReturnedErrors(const ReturnedErrors&) = delete;
  ReturnedErrors& operator=(const ReturnedErrors&) = delete;

 private:
  MPI_Comm communicator_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

/// Of any number: what is no communicator is an error of the world's, and since MPI 4 of MPI_COMM_SELF's.
bool is_group_of_ranks(MPI_Comm communicator) {
  if (communicator == MPI_COMM_NULL) return false;
  const ReturnedErrors of_world(MPI_COMM_WORLD);
  const ReturnedErrors of_self(MPI_COMM_SELF);
  int joins_two_groups = 0;
  const int code = MPI_Comm_test_inter(communicator, &joins_two_groups);
  int kind = 0;
  MPI_Error_class(code, &kind);
  if (kind == MPI_ERR_COMM) return false;
  check(code, "use a communicator");
  return joins_two_groups == 0;
}

bool is_over() {
  int finalized = 0;
  return MPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0;
}

}  // namespace

void require_mpi() {
  require_same_mpi();
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0 || is_over()) {
    throw Refusal(
        kernels::refused, 0,
        "MPI (" + name_of_library() + ") " + (initialized == 0 ? "was not started" : "has ended") + " in this process",
        "Call between MPI_Init and MPI_Finalize.");
  }
  int promised = MPI_THREAD_SINGLE;
  int is_main = 0;
  MPI_Query_thread(&promised);
  MPI_Is_thread_main(&is_main);
  if (is_main != 0 || promised >= MPI_THREAD_SERIALIZED) return;
  throw Refusal(kernels::refused, 0, "MPI was promised calls by the thread that started it alone",
                "Call from that thread, or start MPI with MPI_Init_thread and MPI_THREAD_SERIALIZED.");
}

MPI_Comm communicator_at(const std::int32_t* handle) {
  const MPI_Comm communicator = handle == nullptr ? MPI_COMM_WORLD : MPI_Comm_f2c(static_cast<MPI_Fint>(*handle));
  if (is_group_of_ranks(communicator)) return communicator;
  throw Refusal(kernels::invalid_argument, 0,
                "communicator " + std::to_string(handle == nullptr ? 0 : *handle) + " is no group of ranks",
                "Give the number that MPI_Comm_c2f makes of an intracommunicator.");
}

Group::Group(MPI_Comm communicator, double timeout_seconds)
    : timeout_seconds_(timeout_seconds), buffer_(std::make_unique<std::vector<std::byte>>()) {
  check(MPI_Comm_dup(communicator, &ranks_), "make a communicator");
  MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN);
  check(MPI_Comm_size(ranks_, &count_), "make a communicator");
}

Group::~Group() {
  if (broken_) {
    buffer_.release();  // a reduction that nobody waits for may end yet
  } else if (!is_over()) {
    MPI_Comm_free(&ranks_);
  }
}

void Group::require_whole(std::uint64_t count) const {
  require_mpi();
  if (broken_) throw Refusal(kernels::backend_failed, 0, "an earlier all-reduce of this comm failed", gone_hint);
  if (count <= static_cast<std::uint64_t>(std::numeric_limits<int>::max())) return;
  throw Refusal(kernels::unsupported, 0, "MPI takes at most 2147483647 numbers, not " + std::to_string(count));
}

void Group::exchange(std::int32_t what, const void* from, void* to, std::uint64_t bytes) {
  require_whole(bytes);
  const int count = static_cast<int>(bytes);
  broken_ = true;
  if (!std::isinf(timeout_seconds_)) {
    exchange_in_time(what, from, to, count);
  } else if (what == TARE_MPI_ALL_TO_ALL) {
    check(MPI_Alltoall(from, count, MPI_BYTE, to, count, MPI_BYTE, ranks_), "exchange");
  } else {
    check(MPI_Allgather(from, count, MPI_BYTE, to, count, MPI_BYTE, ranks_), "exchange");
  }
  broken_ = false;
}

void Group::exchange_in_time(std::int32_t what, const void* from, void* to, int bytes) {
  const std::size_t all = static_cast<std::size_t>(bytes) * static_cast<std::size_t>(count_);
  const std::size_t given = what == TARE_MPI_ALL_TO_ALL ? all : static_cast<std::size_t>(bytes);
  buffer_->resize(given + all);
  std::memcpy(buffer_->data(), from, given);
  std::byte* const got = buffer_->data() + given;
  MPI_Request request = MPI_REQUEST_NULL;
  const auto start = what == TARE_MPI_ALL_TO_ALL ? MPI_Ialltoall : MPI_Iallgather;
  check(start(buffer_->data(), bytes, MPI_BYTE, got, bytes, MPI_BYTE, ranks_, &request), "exchange");
  wait(request);
  std::memcpy(to, got, all);
}

void Group::all_reduce(void* data, std::uint64_t count, std::int32_t operation) {
  require_whole(count);
  const auto [type, how] = kind_of(operation);
  broken_ = true;
  if (std::isinf(timeout_seconds_)) {
    check(MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), type, how, ranks_), "reduce");
  } else {
    reduce_in_time(data, static_cast<int>(count), type, how);
  }
  broken_ = false;
}

void Group::reduce_in_time(void* data, int count, MPI_Datatype type, MPI_Op how) {
  const auto* const bytes = static_cast<const std::byte*>(data);
  constexpr std::size_t size = 8;  // of a word, and of a double
  buffer_->assign(bytes, bytes + static_cast<std::size_t>(count) * size);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(MPI_IN_PLACE, buffer_->data(), count, type, how, ranks_, &request), "reduce");
  wait(request);
  std::memcpy(data, buffer_->data(), buffer_->size());
}

void Group::wait(MPI_Request& request) const {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int done = 0;;) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "reduce");
    if (done != 0) return;
    if (std::chrono::duration<double>(Clock::now() - start).count() > timeout_seconds_) break;
    std::this_thread::yield();
  }
  throw Refusal(kernels::backend_failed, 0,
                "the other ranks did not come within " + float_text(timeout_seconds_) + " seconds", gone_hint);
}

}  // namespace tare::mpi
