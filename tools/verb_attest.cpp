#include <memory>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/files.hpp"
#include "lib/checkpoint/plain_states.hpp"
#include "lib/codec/json_line.hpp"
#include "lib/codec/state_file.hpp"
#include "lib/report/report.hpp"
#include "lib/report/unfinished.hpp"
#include "tools/journals.hpp"
#include "tools/network.hpp"
#include "tools/network_options.hpp"
#include "tools/open.hpp"
#include "tools/outcome.hpp"
#include "tools/output_file.hpp"
#include "tools/render.hpp"
#include "tools/standard_input.hpp"
#include "tools/tell_made.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

constexpr const char* attest_closing_words =
    "Every class and function that a pickle names is listed with its place, also in pickles inside pickles, such as\n"
    "TransformerEngine's extra state: allowed (by weights_only), framework, unknown, or dangerous (os.system ...).\n"
    "Nothing is imported or run.\n\n"
    "Every file of a folder counts, hidden ones and those of no known kind, and every byte: what is packed as\n"
    "bz2, xz or 7z, is code, leads out of the folder, hides behind or between what a format says, or is a pickle as\n"
    "well, is listed.\n"
    "What cannot be read is told, with what loading it would call before it fails.\n"
    "Of a run folder the checkpoint that it leads to is read; its other folders are listed; --all reads them.\n\n"
    "--write-plain writes what `tare inspect --save` does; of several states a list (tare.states/1).\n\n"
    "Exit 0: plain data. 1: something in it is not, or is not accounted for.\n"
    "Examples:\n"
    "  tare attest checkpoint.pt\n"
    "  tare attest checkpoint.pt --torch 2.5\n"
    "  tare attest run --all\n"
    "  tare attest checkpoint.pt --write-plain scaler.json";

struct AttestVerbOptions {
  std::vector<std::string> paths;
  std::string torch;
  std::string plain;
  std::size_t jobs = 0;
  std::optional<std::string> at;
  bool all = false;
  bool json = false;
  bool json_lines = false;
  bool force = false;
};

void require_named(const std::string& path) {
  if (path != standard_input_path) return;
  throw Error(Status::refused, "attest reads files, more than once, and no pipe",
              "give the file's name; ./- for one called -");
}

struct Attested {
  Checkpoint checkpoint;
  Attestation attestation;
  std::vector<Pending> unfinished;
};

/// In every checkpoint that is read.
std::vector<Pending> unfinished_while_attested(const AttestVerbOptions& options, const std::string& path,
                                               const std::optional<Pending>& pending) {
  if (options.all && !is_url(path)) return unfinished_below({path}, scope_for_reading);
  return pending ? std::vector{*pending} : std::vector<Pending>{};
}

/// What is no checkpoint is judged by its bytes; where there is nothing to say of them, it stays an error.
Attested attested(const Terminal& terminal, const AttestVerbOptions& options, TorchRelease release,
                  const std::string& path) {
  require_named(path);
  const AttestScope scope = options.all ? AttestScope::everything : AttestScope::checkpoint;
  try {
    Opened opened = open_for_reading(terminal, path, {});
    std::vector<Pending> unfinished = unfinished_while_attested(options, path, opened.pending);
    tell_unfinished(terminal, unfinished);
    tell_foreign_records(terminal, opened.checkpoint);
    Attestation attestation = attest(opened.checkpoint, release, scope, files_of(path));
    return {std::move(opened.checkpoint), std::move(attestation), std::move(unfinished)};
  } catch (const Error& error) {
    if (!options.plain.empty()) throw;
    Checkpoint checkpoint = unopened(path, error, files_of(path));
    Attestation attestation = attest(checkpoint, release, scope, files_of(path));
    if (attestation.is_plain()) throw;
    return {std::move(checkpoint), std::move(attestation), {}};
  }
}

int tell(const Terminal& terminal, const AttestVerbOptions& options, const Attested& attested) {
  const Checkpoint& checkpoint = attested.checkpoint;
  const Attestation& attestation = attested.attestation;
  if (!options.plain.empty()) write_state_files(plain_states(checkpoint, options.at), options.plain);
  const bool is_json = options.json || options.json_lines;
  const auto answer = [&] {
    const std::string whole = is_json ? attest_json(checkpoint, attestation, attested.unfinished)
                                      : render_attestation(terminal, checkpoint, attestation);
    return options.json_lines ? JsonLine().of(whole) : whole;
  };
  if (options.plain.empty()) {
    terminal.answer(answer());
  } else if (const int code = tell_made(terminal, answer); code != exit_done) {
    return code;
  }
  return attestation.is_plain() ? exit_done : exit_no;
}

int attest_all(const Terminal& terminal, const AttestVerbOptions& options) {
  const std::vector<std::string> paths = reached(options.paths);
  const TorchRelease release = options.torch.empty() ? newest_torch_release() : require_torch_release(options.torch);
  if (!options.plain.empty() && paths.size() > 1) {
    throw Error(Status::invalid_argument, "--write-plain takes the state of one PATH", "attest them one by one");
  }
  reach_output(options.plain);
  if (!options.plain.empty()) require_replaceable(terminal, options.plain, options.force);
  return outcome_of_each<Attested>(
      terminal, paths, options.jobs > 0 ? options.jobs : usual_jobs(files_of(paths.front())),
      [&](const std::string& path) { return attested(terminal, options, release, path); },
      [&](const std::string&, const Attested& one) { return tell(terminal, options, one); });
}

}  // namespace

Verb attest_verb() {
  auto options = std::make_shared<AttestVerbOptions>();
  return {
      .name = "attest",
      .purpose = "Show what a checkpoint can do to whoever loads it",
      .options = joined(
          {{
               {"PATH", &options->paths, "As for inspect", Presence::required},
               {"--torch", &options->torch, "The torch release whose weights_only counts (default: the newest known)"},
               {"--write-plain", &options->plain,
                "Also write the scalers' and the FP8 state to a .json file (.h5: where HDF5 can be loaded)"},
               {"--at", &options->at,
                "Which scaler to write, by its path; of FP8 state, which layers (* and ? are wildcards)"},
               {"--force", &options->force, "Replace the file of --write-plain"},
               {"--all", &options->all, "Of a run folder every checkpoint, and not that alone which it leads to"},
               {"--jobs", &options->jobs, "How many checkpoints are read at the same time (default: 2; of URLs 8)"},
               {"--json", &options->json, "Answer in JSON (schema tare.attest/1): a document a PATH"},
               {"--json-lines", &options->json_lines, "The same, a document a line"},
           },
           network_options()}),
      .beside = {{"--at", "--write-plain"}},
      .closing_words = attest_closing_words,
      .run = [options](const Terminal& t) { return attest_all(t, *options); },
  };
}
