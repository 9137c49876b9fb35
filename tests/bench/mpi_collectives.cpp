// What ranks of MPI take: a scaler's packed record beside an all-reduce for each number, and gradients in fp8 beside
// MPI's own sums of f32 and of bf16 (an operation of ours: MPI has no such type).
//
//   tests/capi/mpi/run.sh mpiexec RANKS prints build/release/tests/capi/mpi/bench_mpi_collectives [VALUES [yields]]
//
// yields: whoever waits gives up his core each time that he looks; of more ranks than cores MPICH's do not by
// themselves.
#include <mpi.h>
#include <sched.h>
#include <tare/tare.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

constexpr int rounds = 9;

int rank = 0;
int ranks = 1;
bool yields = false;

void must(int32_t status, const tare_error& error) {
  if (status == TARE_OK) return;
  std::fprintf(stderr, "rank %d: %s\n", rank, error.message);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void all_reduce(void* data, int count, MPI_Datatype type, MPI_Op operation) {
  if (!yields) {
    MPI_Allreduce(MPI_IN_PLACE, data, count, type, operation, MPI_COMM_WORLD);
    return;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(MPI_IN_PLACE, data, count, type, operation, MPI_COMM_WORLD, &request);
  int done = 0;
  for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); done == 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) {
    sched_yield();
  }
}

void meet() {
  int nothing = 0;
  all_reduce(&nothing, 1, MPI_INT, MPI_MAX);
}

/// The median over rounds of the slowest rank's time of one call, in seconds.
template <class Call>
double time_of(int calls, const Call& call) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    meet();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    double own = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
    all_reduce(&own, 1, MPI_DOUBLE, MPI_MAX);
    times.push_back(own);
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[rounds / 2];
}

void say(const char* what, double seconds, double bytes) {
  if (rank != 0) return;
  std::printf("%-58s %5d %12.1f us", what, ranks, seconds * 1e6);
  if (bytes > 0) std::printf(" %10.2f MB a rank", bytes / 1e6);
  std::printf("\n");
}

/// Found-inf, the greatest magnitude, the sum of squares and three counts.
void reduce_apart() {
  std::int32_t found_inf = 0;
  float greatest = 1;
  double squares = 1;
  std::uint64_t counts[3] = {1, 0, 0};
  all_reduce(&found_inf, 1, MPI_INT32_T, MPI_MAX);
  all_reduce(&greatest, 1, MPI_FLOAT, MPI_MAX);
  all_reduce(&squares, 1, MPI_DOUBLE, MPI_SUM);
  for (std::uint64_t& count : counts) all_reduce(&count, 1, MPI_UINT64_T, MPI_SUM);
}

void compare_records(const tare_comm* comm) {
  tare_error error = TARE_ERROR_INIT;
  tare_scaler* scaler = nullptr;
  tare_grads* grads = nullptr;
  float values[8] = {1, 2, 3};
  const tare_tensor tensor{values, 8, TARE_F32, 0};
  must(tare_scaler_create(&scaler, R"({"policy":"torch"})", &error), error);
  must(tare_grads_create(&grads, scaler, &tensor, 1, &error), error);
  const int calls = yields ? 20 : 200;
  say("a pass over 8 values, alone", time_of(calls, [&] { tare_grads_observe(grads, nullptr, nullptr); }), 0);
  must(tare_scaler_update(scaler, nullptr, &error), error);
  must(tare_scaler_set_comm(scaler, comm, nullptr, &error), error);
  say("the same with the packed record (2 all-reduces)",
      time_of(calls, [&] { must(tare_grads_observe(grads, nullptr, &error), error); }), 0);
  say("6 all-reduces, one for each number", time_of(calls, reduce_apart), 0);
  tare_grads_destroy(grads);
  tare_scaler_destroy(scaler);
}

float widened(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}
std::uint16_t narrowed(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
void add_bf16(void* more, void* into, int* count, MPI_Datatype*) {
  const auto* from = static_cast<const std::uint16_t*>(more);
  auto* to = static_cast<std::uint16_t*>(into);
  for (int i = 0; i < *count; ++i) to[i] = narrowed(widened(to[i]) + widened(from[i]));
}

void compare_sums(const tare_comm* comm, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank));
  std::normal_distribution<float> normal;
  std::vector<float> wide(count);
  for (float& value : wide) value = normal(random);
  std::vector<std::uint16_t> narrow(count);
  std::ranges::transform(wide, narrow.begin(), narrowed);
  const double share = 2.0 * (ranks - 1) / ranks * static_cast<double>(count);
  const auto whole = static_cast<int>(count);
  say("gradients: MPI's sum of f32", time_of(1, [&] { all_reduce(wide.data(), whole, MPI_FLOAT, MPI_SUM); }),
      4 * share);
  MPI_Op add = MPI_OP_NULL;
  MPI_Op_create(add_bf16, 1, &add);
  say("gradients: MPI's sum of bf16, by an operation of ours",
      time_of(1, [&] { all_reduce(narrow.data(), whole, MPI_UINT16_T, add); }), 2 * share);
  MPI_Op_free(&add);
  tare_error error = TARE_ERROR_INIT;
  tare_fp8* slots = nullptr;
  must(tare_fp8_create(&slots, R"({"policy":"fp8_static"})", &error), error);
  must(tare_fp8_set_comm(slots, comm, &error), error);
  std::ranges::transform(narrow, wide.begin(), widened);
  for (const auto& [what, tensor] :
       {std::pair{"gradients: in fp8, f32 in memory", tare_tensor{wide.data(), count, TARE_F32, 0}},
        {"gradients: in fp8, bf16 in memory", tare_tensor{narrow.data(), count, TARE_BF16, 0}}}) {
    say(what,
        time_of(1, [&] { must(tare_fp8_all_reduce(slots, &tensor, nullptr, 1, nullptr, nullptr, &error), error); }),
        share);
  }
  tare_fp8_destroy(slots);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  tare_error error = TARE_ERROR_INIT;
  tare_comm* comm = nullptr;
  yields = argc > 2;
  must(tare_comm_from_mpi(&comm, yields ? R"({"timeout_seconds":300})" : nullptr, &error), error);
  compare_records(comm);
  compare_sums(comm, argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4000000);
  tare_comm_destroy(comm);
  MPI_Finalize();
  return 0;
}
