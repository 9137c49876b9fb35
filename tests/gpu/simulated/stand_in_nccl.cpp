#include "tests/gpu/simulated/stand_in_nccl.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "tests/gpu/simulated/streams.hpp"

using namespace tare::kernels::test;

namespace {

constexpr int success = 0;
constexpr int invalid_argument = 4;
constexpr int uint32 = 3;
constexpr int uint64 = 5;
constexpr int float64 = 8;
constexpr int sum = 0;

struct Shape {
  std::size_t count;
  int type;
  int operation;
  bool operator==(const Shape&) const = default;
};

/// A reduction that ranks come to one after another.
struct Round {
  Shape shape;
  std::vector<std::vector<unsigned char>> given;  // by rank; empty: not there yet
  std::vector<void*> places;
  std::size_t there = 0;
};

int version = 22809;
int device = 0;
int next_answer = success;
thread_local int groups = 0;
thread_local int open_groups = 0;

std::size_t size_of(const Shape& shape) {
  return shape.count * (shape.type == uint32 ? 4 : 8);
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
  }
  for (void* place : round.places) std::memcpy(place, all.data(), all.size());
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

  /// The rank is at its next round.
  std::size_t come(Comm& comm, void* data, const Shape& shape) {
    const std::size_t number = comm.came++;
    Round& round = rounds[number];
    if (round.there == 0) {
      round = {shape, std::vector<std::vector<unsigned char>>(comms.size()), std::vector<void*>(comms.size()), 0};
    }
    if (round.shape != shape) {
      std::fprintf(stderr, "ranks come to different reductions\n");
      std::abort();
    }
    const auto* bytes = static_cast<const unsigned char*>(data);
    round.given[comm.rank].assign(bytes, bytes + size_of(shape));
    round.places[comm.rank] = data;
    if (++round.there == comms.size()) {
      add_up(round);
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
  --open_groups;
  return success;
}
int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int operation, void* given, void* stream) {
  const std::lock_guard guard(runtime_lock());
  if (const int refused = std::exchange(next_answer, success); refused != success) return refused;
  if (from != to) return invalid_argument;  // all of ours are in place
  auto& comm = *static_cast<Comm*>(given);
  const auto on = static_cast<cudaStream_t>(stream);
  comm.world->calls.push_back({comm.rank, count, type, operation, on, open_groups > 0 ? groups : 0});
  const Shape shape{count, type, operation};
  const cudaError_t enqueued = enqueue_gate(on, [&comm, to, shape] {
    auto number = std::make_shared<std::size_t>(~std::size_t{0});
    return [&comm, to, shape, number] {
      if (*number == ~std::size_t{0}) *number = comm.world->come(comm, to, shape);
      return !comm.world->rounds.contains(*number);
    };
  });
  return enqueued == cudaSuccess ? success : 1;  // ncclUnhandledCudaError
}
}
