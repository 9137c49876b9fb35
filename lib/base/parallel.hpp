// Many files at once, where one after the other is slow; and work for all cores.
#pragma once

#include <cstddef>
#include <functional>

namespace tare {

/// Calls `task` with 0 to `count` - 1, each once. The calling thread does all of it as long as that is fast: reading a
/// file from a local disk takes less than starting a thread. Where tasks turn out to be slow (a network file system, a
/// server) or most of them to wait (for a disk that syncs), up to `most` threads, of 1 on, share them; all have ended
/// when this returns. Where a task throws, no other is begun, and the first exception is thrown after all have ended.
/// `on_progress` is called now and then, by the calling thread, with how many are done.
void for_each_parallel(std::size_t count, const std::function<void(std::size_t)>& task,
                       const std::function<void(std::size_t done)>& on_progress, std::size_t most = 16);

/// The same where each task is known to wait for something far away: all threads are there from the first task on.
void for_each_waiting(std::size_t count, const std::function<void(std::size_t)>& task,
                      const std::function<void(std::size_t done)>& on_progress, std::size_t most);

/// Calls `work` on the calling thread, and at the same time on others: as many together as there are cores, `most` and
/// 16 at the most. For what computes; each call takes its share from what they have in common. Where calls throw, the
/// first exception is thrown after all have ended.
void on_each_core(std::size_t most, const std::function<void()>& work);

}  // namespace tare
