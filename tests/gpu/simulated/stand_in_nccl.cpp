#include "tests/gpu/simulated/stand_in_nccl.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "kernels/element.hpp"
#include "tests/gpu/simulated/streams.hpp"

using namespace tare::kernels::test;

namespace {

constexpr int success = 0;
constexpr int invalid_argument = 4;
constexpr int invalid_usage = 5;
constexpr int uint8 = 1;
constexpr int uint32 = 3;
constexpr int uint64 = 5;
constexpr int float64 = 8;
constexpr int e4m3 = 10;
constexpr int e5m2 = 11;
constexpr int sum = 0;

struct Shape {
  std::size_t count;
  int type;
  int operation;
  bool operator==(const Shape&) const = default;
};

/// What a rank brings to a round: from where, one after another, and to where.
struct Brought {
  std::vector<const void*> from;
  std::vector<void*> to;
};

/// A reduction, or an exchange, that ranks come to one after another.
struct Round {
  Shape shape;
  std::vector<std::vector<unsigned char>> given;  // by rank; empty: not there yet
  std::vector<std::vector<void*>> places;
  std::size_t there = 0;
};

/// What ncclSend and ncclRecv asked for in the group that is open.
struct Pending {
  void* comm = nullptr;
  std::size_t count = 0;
  cudaStream_t stream = nullptr;
  std::map<int, const void*> sent;
  std::map<int, void*> received;
};
thread_local Pending pending;

[[noreturn]] void refuse(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

int version = 22809;
int device = 0;
int next_answer = success;
thread_local int groups = 0;
thread_local int open_groups = 0;

std::size_t size_of(const Shape& shape) {
  const bool is_byte = shape.type == uint8 || shape.type == e4m3 || shape.type == e5m2;
  return shape.count * (is_byte ? 1 : shape.type == uint32 ? 4 : 8);
}

/// Rounded at each addition, and never beyond the largest.
template <class Format>
void add_in_fp8(unsigned char* into, const unsigned char* more, const Shape& shape) {
  for (std::size_t i = 0; i < shape.count; ++i) {
    into[i] = tare::kernels::cuda::saturated<Format>(tare::widen<Format>(into[i]) + tare::widen<Format>(more[i]));
  }
}

template <class Number>
void add_in(unsigned char* into, const unsigned char* more, const Shape& shape) {
  for (std::size_t i = 0; i < shape.count; ++i) {
    Number one;
    Number other;
    std::memcpy(&one, into + i * sizeof one, sizeof one);
    std::memcpy(&other, more + i * sizeof one, sizeof one);
    const Number both = shape.operation == sum ? static_cast<Number>(one + other) : one > other ? one : other;
    std::memcpy(into + i * sizeof one, &both, sizeof one);
  }
}

void add_up(Round& round) {
  std::vector<unsigned char> all = round.given[0];
  for (std::size_t rank = 1; rank < round.given.size(); ++rank) {
    const unsigned char* more = round.given[rank].data();
    if (round.shape.type == uint32) add_in<std::uint32_t>(all.data(), more, round.shape);
    if (round.shape.type == uint64) add_in<std::uint64_t>(all.data(), more, round.shape);
    if (round.shape.type == float64) add_in<double>(all.data(), more, round.shape);
    if (round.shape.type == e4m3) add_in_fp8<tare::F8E4m3fn>(all.data(), more, round.shape);
    if (round.shape.type == e5m2) add_in_fp8<tare::F8E5m2>(all.data(), more, round.shape);
  }
  for (const auto& places : round.places) std::memcpy(places[0], all.data(), all.size());
}

/// To each rank what every one brought for all, or for it.
void hand_over(const Round& round) {
  const std::size_t size = size_of(round.shape);
  for (std::size_t rank = 0; rank < round.places.size(); ++rank) {
    for (std::size_t of = 0; of < round.given.size(); ++of) {
      const bool is_gathered = round.shape.operation == gathered;
      void* const to =
          is_gathered ? static_cast<unsigned char*>(round.places[rank][0]) + of * size : round.places[rank][of];
      std::memcpy(to, round.given[of].data() + (is_gathered ? 0 : rank * size), size);
    }
  }
}

}  // namespace

struct NcclRanks::World {
  struct Comm {
    World* world;
    std::size_t rank;
    int failure = success;
    std::size_t came = 0;  // to rounds
  };

  std::vector<Comm> comms;
  std::map<std::size_t, Round> rounds;  // those that are not over
  std::vector<NcclCall> calls;
  std::size_t met = 0;

  bool aborted = false;

  /// The rank is at its next round.
  std::size_t come(Comm& comm, const Brought& brought, const Shape& shape) {
    const std::size_t number = comm.came++;
    Round& round = rounds[number];
    if (round.there == 0) {
      round = {shape, std::vector<std::vector<unsigned char>>(comms.size()),
               std::vector<std::vector<void*>>(comms.size()), 0};
    }
    if (round.shape != shape) refuse("ranks come to different reductions");
    for (const void* from : brought.from) {
      const auto* bytes = static_cast<const unsigned char*>(from);
      round.given[comm.rank].insert(round.given[comm.rank].end(), bytes, bytes + size_of(shape));
    }
    round.places[comm.rank] = brought.to;
    if (++round.there == comms.size()) {
      if (shape.operation >= gathered) {
        hand_over(round);
      } else {
        add_up(round);
      }
      rounds.erase(number);
      ++met;
    }
    return number;
  }
};

using Comm = NcclRanks::World::Comm;

NcclRanks::NcclRanks(std::size_t ranks) : world_(new World) {
  for (std::size_t rank = 0; rank < ranks; ++rank) world_->comms.push_back({world_, rank});
}
NcclRanks::~NcclRanks() {
  delete world_;
}
void* NcclRanks::comm(std::size_t rank) const {
  return &world_->comms.at(rank);
}
std::vector<NcclCall> NcclRanks::take_calls() {
  return std::exchange(world_->calls, {});
}
std::size_t NcclRanks::met() const {
  return world_->met;
}
void NcclRanks::abort() {
  const std::lock_guard guard(runtime_lock());
  world_->aborted = true;
}
void NcclRanks::fail(std::size_t rank, int result) {
  world_->comms.at(rank).failure = result;
}

void tare::kernels::test::say_nccl_version(int number) {
  version = number;
}
void tare::kernels::test::refuse_an_all_reduce(int result) {
  next_answer = result;
}
void tare::kernels::test::say_nccl_device(int number) {
  device = number;
}
int tare::kernels::test::open_nccl_groups() {
  return open_groups;
}

namespace {

int enqueue_round(Comm& comm, const Brought& brought, const Shape& shape, cudaStream_t stream) {
  comm.world->calls.push_back(
      {comm.rank, shape.count, shape.type, shape.operation, stream, open_groups > 0 ? groups : 0});
  const cudaError_t enqueued = enqueue_gate(stream, [&comm, brought, shape] {
    auto number = std::make_shared<std::size_t>(~std::size_t{0});
    return [&comm, brought, shape, number] {
      if (comm.world->aborted) return true;
      if (*number == ~std::size_t{0}) *number = comm.world->come(comm, brought, shape);
      return !comm.world->rounds.contains(*number);
    };
  });
  return enqueued == cudaSuccess ? success : 1;  // ncclUnhandledCudaError
}

/// Of one communicator, of as many bytes, on one stream.
Pending& pending_of(void* comm, std::size_t count, int type, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  if (type != uint8) refuse("ncclSend or ncclRecv of something else than bytes");
  if (pending.comm == nullptr) pending = {comm, count, on, {}, {}};
  if (pending.comm != comm || pending.count != count || pending.stream != on) refuse("a group of different exchanges");
  return pending;
}

/// Every rank gets as much as it gives.
int exchange_pending() {
  const Pending asked = std::exchange(pending, {});
  auto& comm = *static_cast<Comm*>(asked.comm);
  if (asked.sent.size() != comm.world->comms.size() || asked.received.size() != comm.world->comms.size()) {
    refuse("a group that does not exchange with every rank");
  }
  Brought brought;
  for (const auto& [rank, from] : asked.sent) brought.from.push_back(from);
  for (const auto& [rank, to] : asked.received) brought.to.push_back(to);
  return enqueue_round(comm, brought, {asked.count, uint8, exchanged}, asked.stream);
}

}  // namespace

extern "C" {

int ncclGetVersion(int* out) {
  *out = version;
  return success;
}
const char* ncclGetErrorString(int result) {
  return result == invalid_argument ? "invalid argument" : "remote process exited or there was a network error";
}
int ncclCommCuDevice(void*, int* out) {
  *out = device;
  return device < 0 ? invalid_argument : success;
}
int ncclCommGetAsyncError(void* comm, int* out) {
  *out = static_cast<Comm*>(comm)->failure;
  return success;
}
int ncclGroupStart() {
  if (open_groups++ == 0) ++groups;
  return success;
}
int ncclGroupEnd() {
  const std::lock_guard guard(runtime_lock());
  const int exchanged_all = open_groups == 1 && pending.comm != nullptr ? exchange_pending() : success;
  --open_groups;
  return exchanged_all;
}
int ncclCommCount(void* comm, int* out) {
  *out = static_cast<int>(static_cast<Comm*>(comm)->world->comms.size());
  return success;
}
int ncclSend(const void* from, std::size_t count, int type, int rank, void* comm, void* stream) {
  if (open_groups == 0) return invalid_usage;  // would wait for a receiver that comes later
  pending_of(comm, count, type, stream).sent[rank] = from;
  return success;
}
int ncclRecv(void* to, std::size_t count, int type, int rank, void* comm, void* stream) {
  if (open_groups == 0) return invalid_usage;
  pending_of(comm, count, type, stream).received[rank] = to;
  return success;
}
int ncclAllGather(const void* from, void* to, std::size_t count, int type, void* comm, void* stream) {
  const std::lock_guard guard(runtime_lock());
  return enqueue_round(*static_cast<Comm*>(comm), {{from}, {to}}, {count, type, gathered},
                       static_cast<cudaStream_t>(stream));
}
int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int operation, void* comm, void* stream) {
  const std::lock_guard guard(runtime_lock());
  if (const int refused = std::exchange(next_answer, success); refused != success) return refused;
  if (from != to) return invalid_argument;  // all of ours are in place
  return enqueue_round(*static_cast<Comm*>(comm), {{from}, {to}}, {count, type, operation},
                       static_cast<cudaStream_t>(stream));
}
}
