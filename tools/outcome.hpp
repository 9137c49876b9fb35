// What became of a verb: its own answer, or what went wrong as a message and an exit code.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/files.hpp"
#include "lib/base/parallel.hpp"
#include "tools/terminal.hpp"

/// Runs `verb`. What it throws is told on stderr, and its kind gives the exit code; ReaderLeft is not told of: whoever
/// reads no further (`tare inspect | head`) has what was wanted.
int outcome(const Terminal& terminal, const std::function<int()>& verb);

/// The same for each of `paths`, of which none keeps another from its turn, until ReaderLeft, which is thrown; the
/// highest exit code.
int outcome_of_each(const Terminal& terminal, const std::vector<std::string>& paths,
                    const std::function<int(const std::string&)>& verb);

/// What several threads made of a path before its turn, or why they could not.
template <class Prepared>
struct Turn {
  std::optional<Prepared> prepared;
  std::exception_ptr problem;

  Prepared take() {
    if (problem) std::rethrow_exception(problem);
    return *std::move(prepared);
  }
};

/// The same in two steps: `jobs` paths are prepared at the same time, then one after the other is told of.
template <class Prepared>
int outcome_of_each(const Terminal& terminal, const std::vector<std::string>& paths, std::size_t jobs,
                    const std::function<Prepared(const std::string&)>& prepare,
                    const std::function<int(const std::string&, Prepared)>& tell) {
  std::vector<Turn<Prepared>> turns;
  std::size_t next = 0;
  return outcome_of_each(terminal, paths, [&](const std::string& path) {
    if (next == turns.size()) {
      const auto batch = std::span(paths).subspan(static_cast<std::size_t>(&path - paths.data()));
      turns = std::vector<Turn<Prepared>>(std::min(jobs, batch.size()));
      next = 0;
      const auto make = [&](std::size_t i) {
        try {
          turns[i].prepared.emplace(prepare(batch[i]));
        } catch (...) {
          turns[i].problem = std::current_exception();
        }
      };
      tare::for_each_parallel(turns.size(), make, {}, jobs);
    }
    return tell(path, turns[next++].take());
  });
}

/// How many checkpoints are read at the same time unless the user says it: each reads its files at once, too.
std::size_t usual_jobs(const tare::Files& files);
