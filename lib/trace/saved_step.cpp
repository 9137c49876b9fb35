#include "lib/trace/saved_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/holds.hpp"
#include "lib/base/letters.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/container/container.hpp"
#include "lib/dialect/trainer.hpp"

namespace tare {
namespace {

/// Files with these endings are no checkpoints, whatever number is in their names.
constexpr auto other_endings = std::to_array<std::string_view>(
    {".log",  ".txt",  ".json", ".jsonl", ".csv",    ".tsv",     ".out", ".err", ".md",   ".py",
     ".sh",   ".yaml", ".yml",  ".wandb", ".png",    ".gz",      ".zst", ".db",  ".prom", ".tmp",
     ".part", ".jpg",  ".jpeg", ".gif",   ".webp",   ".svg",     ".pdf", ".mp4", ".wav",  ".html",
     ".toml", ".ini",  ".cfg",  ".lock",  ".sha256", ".parquet", ".gguf"});

constexpr auto names_while_written = std::to_array<std::string_view>({"*.orbax-checkpoint-tmp*", "*.tmp-*"});

/// What counts steps, keys with dots between them: DeepSpeed's, Megatron's, Lightning's and others', mmengine's.
constexpr auto step_keys =
    std::to_array<std::string_view>({"global_steps", "iteration", "global_step", "num_updates", "global_batch_idx",
                                     "batch_idx_train", "step", "iter", "meta.iter"});
constexpr std::string_view skipped_key = "skipped_steps";
constexpr std::string_view epoch_key = "epoch";

/// fairseq's list of the optimizers that the run has had, each with what it has counted.
constexpr std::string_view optimizers_key = "optimizer_history";
constexpr std::string_view updates_key = "num_updates";

/// A word behind which a name tells a number.
struct StepWord {
  std::string_view word;
  bool may_mean_epochs = false;
};

constexpr auto step_words = std::to_array<StepWord>(
    {{"global_step"}, {"step"}, {"iteration"}, {"iter"}, {"checkpoint", true}, {"ckpt", true}, {"update"}, {"ba"}});

struct NamedStep {
  std::int64_t number;
  bool may_be_epoch;
};

struct Digits {
  std::int64_t number;
  std::size_t end;
};

/// Whether it begins with a date of a month and a day that there are, whose year is no step: "2024-05-01".
bool is_dated(std::string_view text) {
  constexpr std::string_view shape = "0000-00-00";
  const bool is_longer_number = text.size() > shape.size() && is_digit(text[shape.size()]);
  const bool has_shape = text.size() >= shape.size() && !is_longer_number &&
                         std::equal(shape.begin(), shape.end(), text.begin(),
                                    [](char wanted, char c) { return wanted == '0' ? is_digit(c) : c == wanted; });
  if (!has_shape) return false;
  const std::string_view century = text.substr(0, 2), month = text.substr(5, 2), day = text.substr(8, 2);
  return (century == "19" || century == "20") && "01" <= month && month <= "12" && "01" <= day && day <= "31";
}

std::optional<Digits> digits_at(std::string_view name, std::size_t at) {
  if (is_dated(name.substr(at))) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  return Digits{number, static_cast<std::size_t>(end - name.data())};
}

/// fairseq's checkpoint_3_2500.pt is of epoch 3, update 2500.
std::optional<std::int64_t> fairseq_update(std::string_view name) {
  constexpr std::string_view beginning = "checkpoint_", ending = ".pt";
  if (!name.starts_with(beginning) || !name.ends_with(ending)) return std::nullopt;
  const auto epoch = digits_at(name, beginning.size());
  if (!epoch || name[epoch->end] != '_') return std::nullopt;
  const auto update = digits_at(name, epoch->end + 1);
  const bool is_all = update && update->end + ending.size() == name.size();
  return is_all ? std::optional(update->number) : std::nullopt;
}

std::optional<NamedStep> named_step(std::string_view name) {
  if (const auto update = fairseq_update(name)) return NamedStep{*update, false};
  for (const auto& [word, may_mean_epochs] : step_words) {
    std::size_t at = name.rfind(word);
    if (at == name.npos) continue;
    at = std::min(name.find_first_not_of("-_=.", at + word.size()), name.size());
    if (const auto digits = digits_at(name, at)) return NamedStep{digits->number, may_mean_epochs};
  }
  const bool is_number = !name.empty() && std::ranges::all_of(name, is_digit);
  const auto digits = is_number ? digits_at(name, 0) : std::nullopt;
  return digits ? std::optional(NamedStep{digits->number, false}) : std::nullopt;
}

/// A counter of any run: a whole number that is no chance value of another thing.
std::optional<std::int64_t> counted(const Tree& tree, NodeId node) {
  if (node == nowhere) return std::nullopt;
  const Value value = tree.value(node, 1);
  const Value* number = value.number();
  if (number == nullptr) return std::nullopt;
  const double counter = number->as_double();
  constexpr double most = 9e15;
  return counter >= 0 && counter <= most ? std::optional(static_cast<std::int64_t>(counter)) : std::nullopt;
}

std::optional<std::int64_t> last_updates(const Tree& tree) {
  const NodeId optimizers = tree.find(tree.root, optimizers_key);
  if (optimizers == nowhere || tree.kind(optimizers) != Kind::list || tree.items(optimizers).empty()) return {};
  return counted(
      tree, at_keys(tree, fmt::format("{}.{}.{}", optimizers_key, tree.items(optimizers).size() - 1, updates_key)));
}

struct Counted {
  SavedCounters counters;
  std::optional<std::int64_t> epoch;
};

/// What one of its files counts. Throws what opening it throws: it may be a part of a container.
void read_counters(const CheckpointFile& file, const Files& files, Counted& found) {
  const auto container = open_container(files.open(file.location));
  const Tree& tree = container->tree();
  auto& [step, skipped] = found.counters;
  for (const std::string_view key : step_keys) {
    if (!step) step = counted(tree, at_keys(tree, key));
  }
  if (!step) step = last_updates(tree);
  if (!found.epoch) found.epoch = counted(tree, tree.find(tree.root, epoch_key));
  if (const auto count = counted(tree, tree.find(tree.root, skipped_key))) {
    skipped = static_cast<std::uint64_t>(*count);
  }
}

/// accelerate's, whose "step" counts the batches of an epoch, and none where none are accumulated. Source:
/// accelerate 1.x, accelerator.py, _do_sync, and checkpointing.py, save_accelerator_state.
constexpr std::string_view random_states = "random_states_";

/// The counters stand beside the scaler, or in another file: DeepSpeed's in that of the model.
Counted read_counters(const Checkpoint& checkpoint, const Files& files) {
  constexpr std::size_t files_most = 8;
  const std::size_t scalers = checkpoint.scalers.empty() ? 0 : checkpoint.scalers.front().copies.front().file;
  std::vector<std::size_t> order;
  if (!checkpoint.files.empty()) order.push_back(scalers);
  for (std::size_t i = 0; i < checkpoint.files.size() && order.size() < files_most; ++i) {
    if (i != scalers) order.push_back(i);
  }
  Counted found;
  for (const std::size_t file : order) {
    if (file_name(checkpoint.files[file].path).starts_with(random_states)) continue;
    try {
      read_counters(checkpoint.files[file], files, found);
    } catch (const Error&) {
      continue;
    }
    if (found.counters.step) break;
  }
  return found;
}

/// The folders that accelerate itself names, checkpoint_3 of a project's checkpoints, are numbered by saves and not by
/// steps; those that a script names, step_300, are not.
bool is_numbered_by_saves(const std::string& path, const Files& files) {
  return is_named("checkpoint_#", file_name(path)) &&
         files.type(fmt::format("{}/{}0.pkl", path, random_states)) == FileType::file;
}

/// timm's checkpoint-10.pth.tar is of epoch 10, as it says itself.
std::optional<std::int64_t> step_told_by(std::string_view name, const std::optional<std::int64_t>& epoch) {
  const auto told = named_step(name);
  if (!told || (told->may_be_epoch && told->number == epoch)) return std::nullopt;
  return told->number;
}

}  // namespace

bool is_numbered(std::string_view name) {
  return std::ranges::any_of(name, is_digit);
}

std::optional<std::int64_t> step_in_name(std::string_view name) {
  const auto told = named_step(name);
  return told ? std::optional(told->number) : std::nullopt;
}

bool is_no_checkpoint(std::string_view name) {
  return name.find("tfevents") != name.npos || holds(other_endings, extension(name));
}

bool is_being_written(std::string_view folder) {
  return std::ranges::any_of(names_while_written, [&](std::string_view name) { return is_named(name, folder); });
}

std::optional<std::int64_t> step_of_path(const std::string& path, const Files& files) {
  return is_numbered_by_saves(path, files) ? std::nullopt : step_in_name(file_name(path));
}

SavedCounters counters_of(const Checkpoint& checkpoint, const std::string& path, const Files& files) {
  auto [counters, epoch] = read_counters(checkpoint, files);
  if (counters.step || is_numbered_by_saves(path, files)) return counters;
  counters.step = step_told_by(file_name(path), epoch);
  if (counters.step || checkpoint.scalers.empty()) return counters;
  const CheckpointFile& first = checkpoint.files[checkpoint.scalers.front().copies.front().file];
  counters.step = step_told_by(file_name(first.path), epoch);
  return counters;
}

}  // namespace tare
