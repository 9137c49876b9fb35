#include "lib/objects/object_changes.hpp"

#include <fmt/format.h>

#include <exception>
#include <numeric>

#include "lib/base/error.hpp"
#include "lib/base/parallel.hpp"
#include "lib/objects/new_version.hpp"

namespace tare {
namespace {

constexpr int attempts = 3;

[[noreturn]] void throw_changed(const std::string& path) {
  throw Error(Status::refused, path + ": somebody else changed it since it was read",
              "see what it is now, and try again");
}

/// Nothing where the object is no longer what was seen.
std::optional<ObjectSeen> make(ObjectClaim& claim, const FileRecord& record, const ObjectSeen& seen) {
  ObjectLayer& objects = claim.home().objects();
  const std::string path = claim.home().path(record);
  const NewVersion made(record);
  const NewBytes old = [&](Span span) { return objects.read(path, seen, span); };
  const NewBytes bytes = [&](Span span) { return made.read(span, old); };
  claim.keep();
  const ObjectVersions& versions = versions_of(record);
  WholeObjects* const wholes = objects.whole_objects();
  if (wholes != nullptr && is_composed(record) && shrinks_alone(record)) {
    return wholes->bring_back(path, seen, versions.kept_after);
  }
  if (versions.upload.empty()) return objects.replace(path, seen, bytes({0, made.size()}));
  const auto parts = wholes == nullptr ? made.parts() : made.whole_and_pieces();
  return objects.compose(path, seen, versions.upload, parts, bytes, [&] { claim.keep(); });
}

void begin_upload(const ObjectHome& home, FileRecord& record, const ObjectSeen& seen) {
  ObjectVersions versions = versions_of(record);
  versions.upload = is_composed(record) ? home.objects().begin(home.path(record), seen) : "";
  set_versions(record, std::move(versions));
}

void give_up_upload(const ObjectHome& home, const FileRecord& record) {
  const std::string& upload = versions_of(record).upload;
  if (!upload.empty()) home.objects().give_up(home.path(record), upload);
}

/// It was new when it was looked at. False where it is something else by now.
bool make_old(ObjectClaim& claim, const FileRecord& record, const ObjectSeen& seen) {
  FileRecord back = inverse_of_object(record);
  begin_upload(claim.home(), back, seen);
  try {
    if (make(claim, back, seen)) return true;
  } catch (...) {
    give_up_upload(claim.home(), back);
    throw;
  }
  give_up_upload(claim.home(), back);
  return false;
}

void roll_back_one(ObjectClaim& claim, const FileRecord& record) {
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const auto seen = claim.home().objects().look(claim.home().path(record));
    if (object_state(claim.home(), record, seen) != FileState::after) return;
    if (make_old(claim, record, *seen)) return;
  }
  throw Error(Status::busy, claim.home().path(record) + ": somebody else writes it again and again", "try again");
}

/// What undo brings back where it cannot be made of the new version. False where the object is no longer what was seen.
bool copy_if_needed(ObjectClaim& claim, const FileRecord& record, const ObjectSeen& seen) {
  WholeObjects* const wholes = claim.home().objects().whole_objects();
  if (wholes == nullptr || !is_composed(record) || !grows_alone(record)) return true;
  claim.keep();
  return wholes->copy(claim.home().path(record), seen);
}

/// What is to be made old where something failed.
class Progress {
 public:
  explicit Progress(std::size_t count) : touched_(count, 0), made_(count) {}

  void touch(std::size_t i) { touched_[i] = 1; }
  void leave(std::size_t i) { touched_[i] = 0; }
  void made(std::size_t i, ObjectSeen seen) { made_[i] = std::move(seen); }
  [[nodiscard]] std::vector<std::size_t> touched() const {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < touched_.size(); ++i) {
      if (touched_[i] != 0) numbers.push_back(i);
    }
    return numbers;
  }
  std::vector<ObjectSeen> take() { return std::move(made_); }

 private:
  std::vector<char> touched_;
  std::vector<ObjectSeen> made_;
};

void apply_one(ObjectClaim& claim, std::size_t i, const ObjectSeen& seen, Progress& progress) {
  const FileRecord& record = claim.journal().files[i];
  progress.touch(i);
  if (copy_if_needed(claim, record, seen)) {
    if (auto made = make(claim, record, seen)) return progress.made(i, *std::move(made));
  }
  // It may be ours: the answer that said so can be lost.
  const auto now = claim.home().objects().look(claim.home().path(record));
  if (object_state(claim.home(), record, now) == FileState::after) return progress.made(i, *now);
  progress.leave(i);
  throw_changed(claim.home().path(record));
}

[[noreturn]] void throw_back(ObjectClaim& claim, const Progress& progress, const Error& error) {
  try {
    claim.confirm();
    give_up_uploads(claim.home(), claim.journal().files);
    roll_back(claim, progress.touched(), {});
    let_go_of_copies(claim.home(), claim.journal().files);
    claim.withdraw();
  } catch (const Error& problem) {
    throw Error(error.status,
                fmt::format("{}; nor can the state before be brought back now: {}", error.what(), problem.what()),
                "the next edit or undo does it");
  }
  throw error;
}

}  // namespace

bool is_composed(const FileRecord& record) {
  return std::min(record.size_before, record.size_after) >= least_composed_bytes;
}

bool grows_alone(const FileRecord& record) {
  return record.swaps.empty() && record.size_before < record.size_after;
}

bool shrinks_alone(const FileRecord& record) {
  return record.swaps.empty() && record.size_after < record.size_before;
}

void let_go_of_copies(const ObjectHome& home, const std::vector<FileRecord>& records) {
  WholeObjects* const wholes = home.objects().whole_objects();
  if (wholes == nullptr) return;
  for (const FileRecord& record : records) {
    if (!is_composed(record) || !grows_alone(record)) continue;
    wholes->remove_copy(home.path(record), versions_of(record).kept_before);
  }
}

void let_go_of_copies_brought_back(const ObjectHome& home, const std::vector<FileRecord>& records) {
  WholeObjects* const wholes = home.objects().whole_objects();
  if (wholes == nullptr) return;
  for (const FileRecord& record : records) {
    if (!is_composed(record) || !shrinks_alone(record)) continue;
    wholes->remove_copy(home.path(record), versions_of(record).kept_after);
  }
}

FileRecord inverse_of_object(const FileRecord& record) {
  FileRecord back = inverse(record);
  ObjectVersions versions = versions_of(record);
  versions.kept_after = versions.kept_before;
  set_versions(back, std::move(versions));
  return back;
}

FileState object_state(const ObjectHome& home, const FileRecord& record, const std::optional<ObjectSeen>& seen) {
  if (!seen) return FileState::foreign;
  if (seen->tag == versions_of(record).tag_before) return FileState::before;
  return file_state(readable(home.objects(), home.path(record), *seen), record);
}

void begin_uploads(const ObjectHome& home, std::vector<FileRecord>& records, const std::vector<ObjectSeen>& seen) {
  for (std::size_t i = 0; i < records.size(); ++i) begin_upload(home, records[i], seen[i]);
}

void drop_uploads(const ObjectHome& home, const std::vector<FileRecord>& records) {
  for (const FileRecord& record : records) {
    const std::string& upload = versions_of(record).upload;
    if (!upload.empty()) home.objects().drop(home.path(record), upload);
  }
}

void give_up_uploads(const ObjectHome& home, const std::vector<FileRecord>& records) {
  for (const FileRecord& record : records) give_up_upload(home, record);
}

std::vector<ObjectSeen> apply(ObjectClaim& claim, const std::vector<ObjectSeen>& seen) {
  const std::size_t count = claim.journal().files.size();
  Progress progress(count);
  try {
    for_each_parallel(
        count, [&](std::size_t i) { apply_one(claim, i, seen[i], progress); }, {},
        claim.home().objects().most_at_once());
    claim.confirm();
  } catch (const Error& error) {
    throw_back(claim, progress, error);
  }
  return progress.take();
}

void roll_back(ObjectClaim& claim, const std::vector<std::size_t>& numbers, const RecoverOptions& options) {
  const ObjectHome& home = claim.home();
  const std::vector<FileRecord>& files = claim.journal().files;
  const std::size_t most = home.objects().most_at_once();
  std::vector<char> is_foreign(numbers.size(), 0);
  const auto look = [&](std::size_t i) {
    const FileRecord& record = files[numbers[i]];
    const FileState state = object_state(home, record, home.objects().look(home.path(record)));
    is_foreign[i] = state == FileState::before || state == FileState::after ? 0 : 1;
  };
  for_each_parallel(numbers.size(), look, {}, most);
  for (std::size_t i = 0; i < numbers.size() && !options.abandon_foreign_files; ++i) {
    if (is_foreign[i] == 0) continue;
    throw Error(
        Status::refused,
        home.path(files[numbers[i]]) + ": is neither what it was before the interrupted edit nor what that made of it",
        fmt::format("somebody else wrote it since; once you are sure of all objects, remove {}", home.pending()));
  }
  for_each_parallel(
      numbers.size(), [&](std::size_t i) { roll_back_one(claim, files[numbers[i]]); }, {}, most);
}

}  // namespace tare
