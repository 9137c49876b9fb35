// Processes that are stopped at any of their requests to a store, and what they leave to the next one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/catch.hpp"
#include "tests/unit/objects/memory_objects.hpp"

namespace tare::test {

/// So many seconds after a process's last sign of life what it began is taken back.
constexpr std::int64_t long_enough = 61;

/// `work` by a process that is stopped at that request. False where it came to its end.
template <class Work>
bool is_stopped(MemoryObjects& store, std::size_t request, Moment moment, const Work& work) {
  store.stop_at(request, moment);
  bool is_stopped = false;
  try {
    work();
  } catch (const Stopped&) {
    is_stopped = true;
  }
  store.go_on();
  return is_stopped;
}

/// Calls `check` long after each request at which the work can be stopped, with a scene of its own. How many.
template <class Scene, class Prepare, class Work, class Check>
std::size_t at_each_request(const Prepare& prepare, const Work& work, const Check& check) {
  std::size_t stops = 0;
  for (const Moment moment : {Moment::before, Moment::after}) {
    for (std::size_t request = 1;; ++request, ++stops) {
      Scene scene;
      prepare(scene);
      if (!is_stopped(scene.store, request, moment, [&] { work(scene); })) break;
      INFO("request " << request << (moment == Moment::before ? " is not made" : " is the last"));
      scene.store.now += long_enough;
      check(scene);
    }
  }
  return stops;
}

}  // namespace tare::test
