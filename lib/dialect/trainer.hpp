// Programs that train: where they keep a scaler that is another framework's, how their runs lie in folders, and what a
// resume of each release does with the state. Each is filled in by its file in frameworks/, with its line in
// trainers.inc; the formats of states are dialects.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/files.hpp"
#include "lib/dialect/dialect.hpp"
#include "lib/dialect/rank_sizes.hpp"
#include "lib/dialect/saves.hpp"

namespace tare {

struct FoundScaler;

/// How a rank is written into a file's name: the word, then a separator, then a number or more.
struct RankWord {
  std::string_view word;
  bool needs_separator;              ///< "tp_0" is a rank, "tp8" a size
  std::size_t numbers = 1;           ///< at most this many, joined by '_': Megatron's mp_rank_TT_PPP_EEE
  std::string_view file = {};        ///< how the names of those files are written, with stars; empty: no matter
  std::string_view own_folder = {};  ///< of a rank's file alone, which repeats its number: "ckpt_" of ckpt_7/rank_7
  /// How many of the numbers, from the first, tell ranks apart that hold the same layers (tensor- and data-parallel
  /// ones); those behind them hold others (stages of a pipeline, experts).
  std::size_t same_layers = 9;
};

/// A number of ranks that a file says.
struct StoredSize {
  RankSizes::Size size;
  std::string_view keys;  ///< from the root, with dots between them
};

/// How the names of a kind of rank files count ranks.
struct RankFiles {
  std::string_view group;                ///< as rank_group has it; with '/' at its end: its beginning
  std::array<RankSizes::Size, 3> sizes;  ///< one a number, as far as a name has them
};

/// A file that is always written beside another, in one folder.
struct FilePair {
  std::string_view file, beside;
  std::string_view what;  ///< the other is: "where Megatron keeps its grad scaler"
};

/// Files of which all of a kind are not there.
struct AbsentFiles {
  std::string beside;  ///< a file that is there
  std::string message;
  std::vector<std::string> names;  ///< what they may be called
};

/// What a save's files and sizes show to be absent.
using FindAbsent = std::vector<AbsentFiles> (*)(std::span<const std::string> paths, const SizesByFolder& sizes);

/// A text file beside a run's saves that names the one to resume from.
struct RunPointer {
  /// The folder or file that its text means; nothing for a text that the trainer would not take.
  using Target = std::optional<std::string> (*)(std::string_view text);

  std::string_view file;
  Target target;
  std::string_view beginning = {};  ///< of its text, which may have several lines then; empty: any, in one line
  std::string_view when = {};       ///< it is followed: "where ... is set"; empty: always
  /// The absolute path that the trainer opens as it stands, wherever the run lies now. Null: it opens none.
  Target elsewhere = nullptr;
};

/// How a folder holds a run's saves, and which of them a resume takes. A row that asks for something beside or inside
/// counts before those that do not.
struct RunFolder {
  enum class Takes : std::uint8_t {
    link,     ///< what the link of that name leads to; a copy of the run may hold its text in a file
    file,     ///< the file of that name, which is a copy of another save
    highest,  ///< the one with the highest number
    pointed,  ///< the one that the trainer's first pointer names, and without that none
    asked,    ///< the one that the user names: there is no rule
  };

  Takes takes;
  std::string_view name;              ///< one '#' stands for a number; without one, stars for anything
  std::string_view beside = {};       ///< something else that is there then, written likewise; empty: no matter
  std::string_view inside = {};       ///< a path that each save has in it; empty: no matter
  std::optional<FileType> type = {};  ///< of a save; none: no matter
};

/// What stands, or does not, at a place of a file.
struct Condition {
  enum class Is : std::uint8_t {
    set,     ///< there is something, and it is neither None, nor False, nor an empty list
    there,   ///< there is something
    absent,  ///< there is nothing
    unset,   ///< there is nothing, or None, False, or an empty list
  };

  std::string_view keys;       ///< from the root, with dots between them; a number is an item of a list, too
  std::string_view says = {};  ///< it is one of these texts, with '|' between them; empty: no matter
  Is is = Is::set;
};

/// What releases do with the state when they resume.
struct Resume {
  enum class Stored : std::uint8_t { no, yes, either };  ///< whether the checkpoint holds it
  /// Whether a file is one that the row is about, where no keys tell.
  using IsAbout = bool (*)(const Tree& tree, const std::deque<FoundScaler>& scalers);

  std::string_view since = {},
                   until = {};  ///< the first and the last release that do; empty: from the first, to the newest
  std::string_view when = {};   ///< the releases in words, where no number tells: "before November 2021"
  Stored stored = Stored::either;
  /// All of them hold of the file. A row with conditions of its own is told of every file that meets them, one without
  /// of the trainer's files.
  std::span<const Condition> needs = {};
  IsAbout is_about = nullptr;      ///< a condition, too
  std::string_view what = {};      ///< "keeps no scaler: a resumed run starts anew at 65536"
  std::string_view helps = {};     ///< what a user can do; empty: nothing
  std::string_view source = {};    ///< the thread or the line of source
  bool was_run = false;            ///< reproduced by a script in tests/fidelity; otherwise it was read
  std::string_view why_read = {};  ///< then: why it was not run
};

/// A folder in torch's distributed format to which a trainer adds files of its own.
struct DistributedFolder {
  std::span<const std::string_view> items = {};        ///< the trainer's: the key of some item begins so
  std::span<const std::string_view> other_items = {};  ///< no scaler is in items whose keys begin so
  std::string_view note = {};         ///< a file that is written last: without it the folder is no checkpoint
  std::string_view common_key = {};   ///< where the note has it, `common_file` belongs to the checkpoint
  std::string_view common_file = {};  ///< where it is there, items that begin with `common_items` are not loaded
  std::string_view common_items = {};
  std::string_view group_word = {};  ///< what stands in front of a data-parallel group's number in a state's path
};

/// A note among saves of one folder that names the last of them.
struct SaveNote {
  std::string_view file, key;
};

/// Which of a folder's files is the last save, where each is one by its name. Nothing where another file may belong to
/// one, or two have an equal right.
using ChooseSave = std::optional<Saves> (*)(const std::vector<std::string>& names);

struct Trainer {
  std::string_view name;                ///< as reports name it
  std::string_view keeps = "torch";     ///< the dialect of the state under `places`
  std::span<const KeptAt> places = {};  ///< the first that fits counts; before the dialect's own
  std::span<const EmptyAt> empty_at = {};
  std::span<const RankWord> rank_words = {};
  std::span<const RankFiles> rank_files = {};
  std::span<const StoredSize> sizes = {};  ///< in order: the first that is there counts
  std::span<const FilePair> pairs = {};
  FindAbsent find_absent = nullptr;
  std::span<const RunPointer> pointers = {};  ///< before its `runs`
  std::span<const RunFolder> runs = {};
  std::string_view unfinished = {};  ///< behind a save's name, without ".ckpt": a file that is there until it is whole
  SaveNote last_save = {};
  ChooseSave choose_save = nullptr;
  DistributedFolder distributed = {};
  /// Its checkpoints without a scaler: keys with dots between them, all of which are there and not False.
  std::span<const std::string_view> marks = {};
  /// Keys that are all in its files, whose optimizer's floats are float16 in the file alone.
  std::span<const std::string_view> halves_optimizer = {};
  std::string_view marked_file = {};  ///< the file of its marks; a star stands for anything; empty: any
  std::string_view dialect = {};      ///< every state of that dialect is its own
  std::string_view version_at = {};   ///< keys with dots between them
  std::span<const Resume> resumes = {};
};

std::span<const Trainer* const> trainers();

/// Whether `name` is written as `pattern` says: with one '#' for a number, or with stars for anything.
bool is_named(std::string_view pattern, std::string_view name);

/// The node under keys with dots between them, seen through objects; a number is an item of a list, or an integer among
/// the keys of a map. Nowhere where there is none.
NodeId at_keys(const Tree& tree, std::string_view keys);

}  // namespace tare
