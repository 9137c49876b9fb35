// Others who begin, end or tidy up between two calls of ours.
#include <cerrno>
#include <filesystem>
#include <functional>

#include "lib/base/error.hpp"
#include "lib/transaction/claim.hpp"
#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/transaction/forwarding_files.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

namespace fs = std::filesystem;

/// Somebody else acts when it is asked whether a journal is held, or when one is opened; as often as `act` says so.
class BusyFiles final : public ForwardingFiles {
 public:
  /// Whether that was it. An error number: the call fails with it.
  using Act = std::function<int()>;

  int is_locked(int descriptor) override {
    const int result = ForwardingFiles::is_locked(descriptor);
    if (on_look) on_look();
    return result;
  }
  int try_lock(int descriptor) override {
    const int failure = on_lock ? on_lock() : 0;
    return failure != 0 ? -failure : ForwardingFiles::try_lock(descriptor);
  }
  int open_at(int folder, const std::string& name, int flags, mode_t mode) override {
    const int failure = on_open && name == "pending" ? on_open() : 0;
    return failure != 0 ? -failure : ForwardingFiles::open_at(folder, name, flags, mode);
  }

  std::function<void()> on_look;
  Act on_lock, on_open;
};

struct Interrupted : Scratch {
  Interrupted() {
    edit(file, 8, noise(8, 2));
    edited = bytes_of(file);
    fs::rename(record, pending);
  }
  [[nodiscard]] Scope scope(FileLayer& files) const { return scope_of(files, folder(), folder()); }

  std::string file = write("scaler.pt", noise(100, 1));
  std::string record = path(".tare/000001.edit");
  std::string pending = path(".tare/pending");
  Bytes edited;
};

TEST_CASE("an edit that ends while somebody looks is not told as interrupted") {
  const Interrupted scene;
  BusyFiles files;
  CHECK(find_pending(scene.scope(files))->state == PendingState::interrupted);
  files.on_look = [&] { fs::rename(scene.pending, scene.record); };
  CHECK_FALSE(find_pending(scene.scope(files)));
  files.on_look = {};
  CHECK_FALSE(find_pending(scene.scope(files)));
  CHECK(bytes_of(scene.file) == scene.edited);
}

TEST_CASE("an edit that ends while somebody waits to take it back is not taken back") {
  for (const bool while_it_is_locked : {true, false}) {
    const Interrupted scene;
    BusyFiles files;
    const auto end = [&] {
      if (exists(scene.pending)) fs::rename(scene.pending, scene.record);
      return 0;
    };
    (while_it_is_locked ? files.on_lock : files.on_open) = end;
    CHECK(recover(scene.scope(files)).empty());
    CHECK(bytes_of(scene.file) == scene.edited);
    CHECK(exists(scene.record));
  }
}

/// An edit that others disturb `times` times is made; at the sixteenth it is told that the folder is busy.
void check_that_fifteen_are_borne(int times, FileLayer& files, const Scratch& scratch, const std::string& path) {
  const TransactionOptions options = sealed({.upper = scratch.folder(), .recovery = {}});
  const Status status = status_of([&] { commit(files, {patch_edit(path, 8, noise(8, 2))}, {}, options); });
  CHECK(status == (times < 16 ? Status::ok : Status::busy));
  CHECK((bytes_of(path) == noise(100, 1)) == (times == 16));
}

TEST_CASE(
    "where the last editor out takes the folder away again and again, the next one makes it again, sixteen times") {
  for (const int times : {0, 1, 15, 16}) {
    INFO(times << " times");
    const Scratch scratch;
    const std::string path = scratch.write("scaler.pt", noise(100, 1));
    BusyFiles files;
    files.on_open = [&, left = times]() mutable {
      if (left-- <= 0) return 0;
      fs::remove(scratch.path(".tare"));
      return ENOENT;
    };
    check_that_fifteen_are_borne(times, files, scratch, path);
  }
}

TEST_CASE("a journal that others take away before it is locked is made anew, sixteen times") {
  for (const int times : {1, 15, 16}) {
    INFO(times << " times");
    const Scratch scratch;
    const std::string path = scratch.write("scaler.pt", noise(100, 1));
    BusyFiles files;
    files.on_lock = [&, left = times]() mutable {
      if (left-- > 0) fs::remove(scratch.path(".tare/pending"));
      return 0;
    };
    check_that_fifteen_are_borne(times, files, scratch, path);
  }
}

TEST_CASE("a journal that comes and goes at each look is somebody at work, and nothing is written") {
  const Scratch scratch;
  const std::string path = scratch.write("scaler.pt", noise(100, 1));
  BusyFiles files;
  int looks = 0;
  files.on_open = [&] {
    ++looks;
    return EEXIST;  // and where it is looked for it is gone
  };
  const FileEdit wanted = patch_edit(path, 8, noise(8, 2));
  CHECK(status_of([&] { commit(files, {wanted}, {}, sealed()); }) == Status::busy);
  CHECK(looks == claim_attempts);
  CHECK(bytes_of(path) == noise(100, 1));
}

}  // namespace
}  // namespace tare::test
