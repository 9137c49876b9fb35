#include "kernels/cpu/workers.hpp"
#include "tests/catch.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

using tare::kernels::cpu::Workers;

TEST_CASE("each round of a job runs once on every worker, and is over when run returns") {
  for (const unsigned count : {0u, 1u, 2u, 5u}) {
    Workers workers(count);
    CHECK(workers.count() == std::max(count, 1u));
    std::atomic<unsigned> calls{0};
    auto job = [&] { calls.fetch_add(1); };
    for (unsigned round = 1; round <= 300; ++round) {
      workers.run(job);
      if (calls != round * workers.count()) FAIL("round " << round << " had " << calls << " calls in all");
    }
  }
}

TEST_CASE("one worker is the calling thread itself") {
  Workers workers(1);
  std::thread::id id;
  auto job = [&] { id = std::this_thread::get_id(); };
  workers.run(job);
  CHECK(id == std::this_thread::get_id());
}

TEST_CASE("workers leave signals to the host's threads, whose mask stays as it was") {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  Workers workers(3);
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  CHECK(sigismember(&before, SIGUSR1) == sigismember(&after, SIGUSR1));
  const auto caller = std::this_thread::get_id();
  std::atomic<int> blocked{0};
  auto job = [&] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    if (std::this_thread::get_id() != caller) blocked += sigismember(&mask, SIGUSR1);
  };
  workers.run(job);
  CHECK(blocked == 2);
}

TEST_CASE("a forked child can destroy workers whose threads it does not have") {
  auto workers = std::make_unique<Workers>(4);
  auto job = [] {};
  workers->run(job);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // instead of waiting for ever
    workers.reset();
    _exit(7);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
  workers->run(job);
}
