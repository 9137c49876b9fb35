// A fixed set of threads that belong to one owner: made once, asleep between jobs, joined at the end. Nothing here
// allocates after construction. No other thread pool (OpenMP, TBB) is brought into the host process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tare::kernels::cpu {

class Workers {
 public:
  /// `count` workers, the calling thread among them: 1 makes no thread. Throws std::system_error if the system refuses
  /// a thread; those made until then are joined.
  explicit Workers(unsigned count);
  /// Joins. In a forked child, where the threads do not exist, it only lets go of them.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  unsigned count() const { return static_cast<unsigned>(threads_.size()) + 1; }

  /// Calls job() once on every worker and returns when all have returned. One caller at a time; job must not throw.
  template <class Job>
  void run(Job& job) {
    run([](void* context) { (*static_cast<Job*>(context))(); }, &job);
  }

 private:
  using Call = void (*)(void* context);

  void run(Call call, void* context);
  void serve();
  void stop();

  std::vector<std::thread> threads_;
  const pid_t owner_;
  Call call_ = nullptr;  // this and context_ are written before, and read after, a change of round_
  void* context_ = nullptr;
  std::atomic<std::uint32_t> round_{0};
  std::atomic<std::uint32_t> busy_{0};
  bool stopping_ = false;
};

}  // namespace tare::kernels::cpu
