// The tare command: picks a verb and runs it.
#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <span>

#include "tools/command_line.hpp"
#include "tools/journals.hpp"
#include "tools/network.hpp"
#include "tools/outcome.hpp"
#include "tools/standard_streams.hpp"
#include "tools/verb.hpp"
#include "tools/version.hpp"

namespace {

constexpr const char* command_closing_words =
    "KEYs are roles, the same words for every framework (scale, window, growth_tracker, hysteresis ...), or the names\n"
    "that the framework itself uses. Nothing stored in a checkpoint is ever run.\n\n"
    "From the symptom to the command:\n"
    "  my loss scale is 0, or tiny               tare doctor RUN; tare edit CHECKPOINT scale=65536\n"
    "  \"already at minimum\", \"Minimum loss scale reached\", \"OVERFLOW! Skipping step\"\n"
    "                                            tare doctor train.log RUN; tare timeline RUN\n"
    "  is the run still well?                    tare watch RUN\n"
    "  which checkpoints are there?              tare ls RUNS\n"
    "  which window, which hysteresis?           tare simulate train.log --window 500,1000,2000\n"
    "  FP8 state will not load                   tare inspect model.pt; tare fp8 --help\n"
    "  \"weights_only\" refuses a file            tare attest FILE\n"
    "  ranks disagree, a rank's file is missing  tare inspect CHECKPOINT; tare edit CHECKPOINT --align\n\n"
    "Examples:\n"
    "  tare inspect run/global_step4200\n"
    "  tare edit run/global_step4200 scale=65536\n"
    "  tare undo run/global_step4200\n"
    "  tare inspect s3://bucket/run/step100\n"
    "  tare help edit\n\n"
    "Exit codes: 0 done; 1 the answer is no (copies disagree, something differs); 2 wrong usage;\n"
    "3 cannot be read, written or locked; 4 valid but refused; 5 the change is made, but its answer cannot be written.";

/// A process that lives for milliseconds spends much of them on page faults: its heap is one piece that starts with
/// huge pages, where the system has them, so that most runs take a single fault for all their memory.
void prepare_heap() {
  constexpr int most_in_heap = 32 << 20;  // of one allocation, that malloc allows
  constexpr int heap_bytes = most_in_heap - (2 << 20);
  constexpr std::uintptr_t huge_page = 2 << 20;
  mallopt(M_MMAP_THRESHOLD, most_in_heap);
  mallopt(M_TRIM_THRESHOLD, most_in_heap);
  mallopt(M_MXFAST, 0);     // what lies in fast bins is joined again and again as large pieces are freed between
  mallopt(M_ARENA_MAX, 4);  // threads wait for files more than for each other
  auto* const whole = static_cast<char*>(std::malloc(heap_bytes));  // the heap grows by this much at once, and keeps it
  if (whole == nullptr) return;
  const std::uintptr_t before_first_page = -reinterpret_cast<std::uintptr_t>(whole) % huge_page;
  madvise(whole + before_first_page, heap_bytes - huge_page, MADV_HUGEPAGE);
  std::free(whole);
  // Address space alone, never touched and never given back: what comes next starts at the first page.
  [[maybe_unused]] static void* volatile const below = std::malloc(before_first_page);
}

}  // namespace

int main(int argc, char** argv) {
  if (!secure_standard_streams()) return exit_failed;
  const std::span<char* const> words(argv, static_cast<std::size_t>(argc));
  keep_arguments(argv);
  keep_command(words);
  prepare_heap();
  Verb command = {
      .name = "tare",
      .purpose =
          "tare: inspect, edit, diagnose and undo loss-scaler state inside checkpoints, in place and without Python",
      .verbs = {inspect_verb(), get_verb(), edit_verb(), fp8_verb(), undo_verb(), history_verb(), diff_verb(),
                migrate_verb(), attest_verb(), trace_verb(), doctor_verb(), simulate_verb(), timeline_verb(),
                watch_verb(), ls_verb()},
      .closing_words = command_closing_words,
  };
  command.verbs.push_back(completion_verb(command));
  command.verbs.push_back(manual_verb(command));
  TerminalOptions options;
  add_terminal_options(command, options);
  Run run;
  if (const auto exit_code = parse_words(command, version_text(), words, run)) {
    return *exit_code;
  }
  const Terminal terminal(options);
  return outcome(terminal, [&] { return run(terminal); });
}
