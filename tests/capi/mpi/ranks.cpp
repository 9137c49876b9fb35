// Processes of mpirun as ranks of a comm. Exit 0 if what the first argument names is as it should be on this rank.
#include <mpi.h>
#include <signal.h>
#include <tare/tare.h>

#include <cstdio>
#include <functional>
#include <thread>
#include <utility>

#include "tests/capi/fp8_ranks.hpp"
#include "tests/capi/fp8_sums.hpp"
#include "tests/capi/trained.hpp"

using namespace tare::test;

namespace {

constexpr const char* torch = R"({"policy":"torch","initial_scale":65536,"growth_interval":5})";
/// MPICH's ranks wait without giving up the core that others want; those that wait for a time of ours give it up.
#if defined(OPEN_MPI)
constexpr const char* patient = nullptr;
#else
constexpr const char* patient = R"({"timeout_seconds":300})";
#endif
int rank = 0;
int ranks = 1;

/// Says on which rank and what, and ends all of them.
[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "rank %d of %d: %s\n", rank, ranks, what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void require(bool holds, const std::string& what) {
  if (!holds) fail(what);
}

void say(const char* what) {
  std::printf("%s\n", what);
  std::fflush(stdout);
}

class Comm {
 public:
  explicit Comm(const char* config = patient) {
    tare_error error = TARE_ERROR_INIT;
    if (tare_comm_from_mpi(&comm_, config, &error) != TARE_OK) fail(error.message);
  }
  ~Comm() { tare_comm_destroy(comm_); }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  void give_to(const Trained& one) const {
    require(tare_scaler_set_comm(one.scaler, comm_, nullptr, nullptr) == TARE_OK, "set_comm");
  }
  void give_to(tare_fp8* slots) const { require(tare_fp8_set_comm(slots, comm_, nullptr) == TARE_OK, "fp8_set_comm"); }

 private:
  tare_comm* comm_ = nullptr;
};

/// A scaler of this rank, and one that sees the gradients of all: the same after every step.
void run_beside_one_that_sees_all(const char* policy, std::size_t count) {
  const auto own = static_cast<std::size_t>(rank);
  const auto all = static_cast<std::size_t>(ranks);
  Trained alone(policy, all);
  Trained together(policy, 1);
  const Comm comm;
  comm.give_to(together);
  const std::vector<Step> steps = random_steps(count, all);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    fill(alone, steps[i], 0, all);
    fill(together, steps[i], own, 1);
    const std::string expected = make(alone, steps[i], std::ranges::any_of(steps[i].reported, std::identity{}));
    const std::string seen = make(together, steps[i], steps[i].reported[own]);
    require(seen == expected, "step " + std::to_string(i) + ": " + seen + " and not " + expected);
    require(same_bits(together.written.data(), alone.written.data() + own * elements, elements), "written values");
  }
  const json told = json::parse(together.text(tare_scaler_statistics));
  require(told["skipped"].get<std::size_t>() > count / 20 && told["growths"].get<std::size_t>() > count / 200,
          "too little happened: " + told.dump());
}

void alike() {
  run_beside_one_that_sees_all(torch, 10000);
}

/// DeepSpeed's raises at its minimum, on every rank; a floor of Megatron's, its hysteresis.
void other_policies() {
  run_beside_one_that_sees_all(
      R"({"policy":"megatron","initial_scale":65536,"growth_interval":7,"hysteresis":2,"min_scale":1})", 1000);
  run_beside_one_that_sees_all(R"({"policy":"deepspeed","initial_scale":16,"scale_window":4,"min_scale":4})", 1000);
}

/// FP8 slots of this rank, and those of one that sees the values of all.
void fp8() {
  const auto all = static_cast<std::size_t>(ranks);
  for (const char* policy : fp8_policies) {
    SlotsOfRank alone(policy);
    SlotsOfRank together(policy);
    const Comm comm;
    comm.give_to(together.get());
    RandomValues random;
    for (int step = 0; step < 1500; ++step) {
      const std::vector<RankValues> values = random.next(all);
      for (const RankValues& of_rank : values) alone.look_at(of_rank);
      together.look_at(values[static_cast<std::size_t>(rank)]);
      alone.update();
      require(together.update() == TARE_OK, "update");
      if (step % 10 != 0 && step > 100) continue;
      require(together.told() == alone.told(), std::string(policy) + ", step " + std::to_string(step));
    }
  }
}

/// Gradients in fp8, beside what the formats say of those of all.
void sums() {
  for (const char* config : {patient, R"({"timeout_seconds":60})"}) {
    for (const char* policy : {"fp8_lm", "fp8_static"}) {
      SumSlots slots(policy);
      const Comm comm(config);
      comm.give_to(slots.get());
      for (std::size_t step = 0; step < 60; ++step) {
        require(slots.step(step, static_cast<std::size_t>(rank), static_cast<std::size_t>(ranks)),
                std::string(policy) + ", step " + std::to_string(step));
      }
    }
  }
}

int32_t sum(const SumSlots& slots, const std::vector<Gradient>& list, tare_error& error) {
  const InMemory values(list);
  error = TARE_ERROR_INIT;
  const int32_t status = slots.all_reduce(values, &error);
  require(status == TARE_OK || values.is(list), "gradients changed in a call that failed");
  return status;
}

/// Every rank is told that the last one has other gradients, and the comm goes on.
void other_lists() {
  const SumSlots slots("fp8_lm");
  const Comm comm;
  comm.give_to(slots.get());
  const std::function<void(std::vector<Gradient>&)> changes[] = {
      [](auto& list) { list.pop_back(); }, [](auto& list) { list.clear(); },
      [](auto& list) { list[1].dtype = TARE_BF16; }, [](auto& list) { list[0].codes.pop_back(); },
      [](auto& list) { list[2].codes.resize(100000); }};
  for (const auto& change : changes) {
    std::vector<Gradient> list = gradients_of(1, static_cast<std::size_t>(rank));
    tare_error error = TARE_ERROR_INIT;
    require(sum(slots, list, error) == TARE_OK, error.message);
    if (rank == ranks - 1) change(list);
    require(sum(slots, list, error) == TARE_E_MISMATCH, "other gradients are not told");
    const std::string told(error.message);
    require(told.starts_with("the ranks of the comm give from ") ||
                told.starts_with("the gradients of the comm's ranks differ in counts, dtypes, formats, options or mu"),
            told);
  }
}

/// The last rank leaves out a sum, and updates: all are told, and the comm goes on.
void other_call() {
  const SumSlots slots("fp8_lm");
  const Comm comm;
  comm.give_to(slots.get());
  for (int i = 0; i < 10; ++i) {
    const std::string before = state_of(slots.get());
    tare_error error = TARE_ERROR_INIT;
    const std::vector<Gradient> list = gradients_of(1, static_cast<std::size_t>(rank));
    const int32_t status = rank == ranks - 1 ? tare_fp8_update(slots.get(), nullptr, &error) : sum(slots, list, error);
    require(status == TARE_E_MISMATCH, "another call is not told");
    require(std::string(error.message).starts_with("the ranks of the comm are not in the same call"), error.message);
    require(state_of(slots.get()) == before, "slots changed in a call that failed");
    require(sum(slots, list, error) == TARE_OK, error.message);
  }
}

/// Of replicated gradients the last rank has one tensor less, another time a value more: all are told, and go on.
void other_replicated() {
  Trained one(torch, 1);
  tare_comm* comm = nullptr;
  tare_error error = TARE_ERROR_INIT;
  require(tare_comm_from_mpi(&comm, patient, &error) == TARE_OK, error.message);
  require(tare_scaler_set_comm(one.scaler, comm, R"({"gradients":"replicated"})", nullptr) == TARE_OK, "set_comm");
  tare_comm_destroy(comm);
  std::vector<float> values(8, infinity);
  const tare_tensor tensors[2] = {{values.data(), 3, TARE_F32, 0}, {values.data() + 4, 2, TARE_F32, 0}};
  const tare_tensor more[2] = {tensors[0], {values.data() + 4, 3, TARE_F32, 0}};
  const bool is_other = rank == ranks - 1;
  for (int i = 0; i < 10; ++i) {
    const std::string before = one.text(tare_scaler_statistics);
    require(tare_scaler_observe(one.scaler, is_other && i % 2 == 0 ? more : tensors, is_other && i % 2 == 1 ? 1 : 2,
                                nullptr, &error) == TARE_E_MISMATCH,
            "other gradients are not told");
    require(std::string(error.message).starts_with("the ranks of the comm are not at the same number of values: from "),
            error.message);
    require(one.text(tare_scaler_statistics) == before, "noted what was seen in a call that failed");
    require(tare_scaler_observe(one.scaler, tensors, 2, nullptr, &error) == TARE_OK, error.message);
    require(tare_scaler_update(one.scaler, nullptr, nullptr) == TARE_OK, "update");
  }
}

/// Lists of a scaler are each rank's own: any number of tensors, of any size, none at all.
void own_lists() {
  Trained one(torch, 1);
  const Comm comm;
  comm.give_to(one);
  std::vector<float> values(static_cast<std::size_t>(100 * rank + 1), 1.0f);
  const tare_tensor tensor{values.data(), values.size(), TARE_F32, 0};
  require(tare_scaler_observe(one.scaler, &tensor, rank == 0 ? 0 : 1, nullptr, nullptr) == TARE_OK, "observe");
  std::size_t expected = 0;
  for (int i = 1; i < ranks; ++i) expected += static_cast<std::size_t>(100 * i + 1);
  const json told = json::parse(one.text(tare_scaler_statistics));
  require(told["accumulated"]["count"] == expected, told.dump());
}

int32_t observe(const Trained& one, tare_error& error) {
  error = TARE_ERROR_INIT;
  return tare_grads_observe(one.grads, nullptr, &error);
}

/// Ranks by the parity of their number: what one half sees the other does not.
void halves() {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  Trained one(torch, 1);
  {
    const std::string config = "{\"communicator\":" + std::to_string(MPI_Comm_c2f(half)) + "}";
    const Comm comm(config.c_str());
    comm.give_to(one);
  }
  MPI_Comm_free(&half);  // the scaler's is another
  if (rank == 0) one.values[0] = infinity;
  tare_error error = TARE_ERROR_INIT;
  require(observe(one, error) == TARE_OK, error.message);
  require(one.shown<int32_t>(TARE_POINTER_NOOP) == (rank % 2 == 0 ? 1 : 0), "noop of the other half");
}

void other_scale() {
  Trained one(torch, 1);
  const Comm comm;
  comm.give_to(one);
  if (rank == 1) tare_scaler_set_scale(one.scaler, 1024, nullptr, nullptr);
  tare_error error = TARE_ERROR_INIT;
  require(observe(one, error) == TARE_E_MISMATCH, "another scale is not told");
  require(std::string(error.message).starts_with("the ranks of the comm are not at the same scale: from 1024.0 to "),
          error.message);
}

/// The last rank leaves out a call: the others are told in time, then and at each later call.
void skips() {
  Trained one(torch, 1);
  const Comm comm(R"({"timeout_seconds":1})");
  comm.give_to(one);
  tare_error error = TARE_ERROR_INIT;
  require(observe(one, error) == TARE_OK, error.message);
  if (rank != ranks - 1) {
    require(observe(one, error) == TARE_E_BACKEND, "nobody came, and it went well");
    require(std::string(error.message).starts_with("the other ranks did not come within 1.0 seconds\n"), error.message);
    require(observe(one, error) == TARE_E_BACKEND, "a comm that failed goes on");
    require(std::string(error.message).starts_with("an earlier all-reduce of this comm failed\n"), error.message);
    say("[dying]");
    std::this_thread::sleep_for(std::chrono::seconds(3));  // until all have said so
    MPI_Abort(MPI_COMM_WORLD, 7);
  }
  std::this_thread::sleep_for(std::chrono::seconds(60));
}

/// Likewise of gradients in fp8.
void skips_a_sum() {
  const SumSlots slots("fp8_lm");
  const Comm comm(R"({"timeout_seconds":1})");
  comm.give_to(slots.get());
  const InMemory values(gradients_of(1, static_cast<std::size_t>(rank)));
  tare_error error = TARE_ERROR_INIT;
  require(slots.all_reduce(values, &error) == TARE_OK, error.message);
  if (rank != ranks - 1) {
    const std::string before = state_of(slots.get());
    require(slots.all_reduce(values, &error) == TARE_E_BACKEND, "nobody came, and it went well");
    require(std::string(error.message).starts_with("the other ranks did not come within 1.0 seconds\n"), error.message);
    require(tare_fp8_update(slots.get(), nullptr, &error) == TARE_E_BACKEND, "a comm that failed goes on");
    require(state_of(slots.get()) == before, "slots changed in a call that failed");
    say("[dying]");
    std::this_thread::sleep_for(std::chrono::seconds(3));  // until all have said so
    MPI_Abort(MPI_COMM_WORLD, 7);
  }
  std::this_thread::sleep_for(std::chrono::seconds(60));
}

/// A rank that is killed between two steps. What becomes of the others is MPI's to say: they end.
void killed() {
  Trained one(torch, 1);
  const Comm comm;
  comm.give_to(one);
  tare_error error = TARE_ERROR_INIT;
  for (int step = 0;; ++step) {
    if (rank == ranks - 1 && step == 100) {
      say("[dying]");
      raise(SIGKILL);
    }
    if (observe(one, error) != TARE_OK) fail(error.message);
    tare_scaler_update(one.scaler, nullptr, nullptr);
  }
}

/// Likewise, in the middle of sums of gradients.
void killed_in_a_sum() {
  const SumSlots slots("fp8_lm");
  const Comm comm;
  comm.give_to(slots.get());
  std::jthread killer;
  if (rank == ranks - 1) {
    killer = std::jthread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      say("[dying]");
      raise(SIGKILL);
    });
  }
  for (std::size_t step = 0;; ++step) {
    tare_error error = TARE_ERROR_INIT;
    if (slots.all_reduce(InMemory(gradients_of(step, static_cast<std::size_t>(rank))), &error) != TARE_OK) {
      fail(error.message);
    }
  }
}

std::string refused(const char* config, int32_t expected) {
  tare_comm* comm = nullptr;
  tare_error error = TARE_ERROR_INIT;
  require(tare_comm_from_mpi(&comm, config, &error) == expected && comm == nullptr, error.message);
  return error.message;
}

/// Another thread than the one that started MPI, which was not promised any.
void threads() {
  int promised = 0;
  MPI_Query_thread(&promised);
  Trained one(torch, 1);
  const Comm comm;
  comm.give_to(one);
  int32_t status = TARE_OK;
  tare_error error = TARE_ERROR_INIT;
  std::thread([&] { status = observe(one, error); }).join();
  require(status == (promised >= MPI_THREAD_SERIALIZED ? TARE_OK : TARE_E_REFUSED), error.message);
}

/// A number that is no communicator is refused, and the job, whose errors end it, goes on.
void refusals() {
  for (const int number : {MPI_Comm_c2f(MPI_COMM_NULL), 123456, -7}) {
    const std::string config = "{\"communicator\":" + std::to_string(number) + "}";
    const std::string said = refused(config.c_str(), TARE_E_INVALID_ARGUMENT);
    require(said.find("is no group of ranks") != std::string::npos, said);
  }
  for (const MPI_Comm communicator : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(communicator, &handler);
    require(handler == MPI_ERRORS_ARE_FATAL, "the job's errors no longer end it");
  }
}

/// A module of another MPI than the process has.
void other_mpi() {
  const std::string said = refused(nullptr, TARE_E_UNSUPPORTED);
  require(said.find("libtare_mpi.so was built for ") != std::string::npos, said);
}

/// Without MPI_Init, and after MPI_Finalize, nothing waits or ends the program; what is left is only destroyed.
void outside() {
  const std::string before = refused(nullptr, TARE_E_REFUSED);
  require(before.find("was not started in this process") != std::string::npos, before);
  MPI_Init(nullptr, nullptr);
  {
    Trained one(torch, 1);
    const Comm comm;
    comm.give_to(one);
    MPI_Finalize();
    tare_error error = TARE_ERROR_INIT;
    if (observe(one, error) != TARE_E_REFUSED) std::exit(1);
  }
  const std::string after = refused(nullptr, TARE_E_REFUSED);
  if (after.find("has ended in this process") == std::string::npos) std::exit(1);
}

constexpr std::pair<const char*, void (*)()> modes[] = {{"alike", alike},
                                                        {"other_policies", other_policies},
                                                        {"halves", halves},
                                                        {"other_scale", other_scale},
                                                        {"skips", skips},
                                                        {"killed", killed},
                                                        {"threads", threads},
                                                        {"refusals", refusals},
                                                        {"fp8", fp8},
                                                        {"sums", sums},
                                                        {"other_lists", other_lists},
                                                        {"own_lists", own_lists},
                                                        {"other_replicated", other_replicated},
                                                        {"other_call", other_call},
                                                        {"skips_a_sum", skips_a_sum},
                                                        {"killed_in_a_sum", killed_in_a_sum},
                                                        {"other_mpi", other_mpi}};

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "outside") {
    outside();
    return 0;
  }
  const auto found = std::ranges::find(modes, mode, [](const auto& one) { return one.first; });
  if (found == std::end(modes)) return 2;
  MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* started = std::getenv("TARE_RANKS");
  const bool is_together = started == nullptr || std::to_string(ranks) == started;
  if (is_together) found->second();
  say(is_together ? "[ok]" : "[alone]");
  MPI_Finalize();
  return 0;
}
