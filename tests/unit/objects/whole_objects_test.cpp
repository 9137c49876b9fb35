// Stores that copy no part of an object: large ones grow behind their end, and come back from a copy.
#include "lib/base/error.hpp"
#include "lib/objects/object_transaction.hpp"
#include "tests/catch.hpp"
#include "tests/unit/objects/at_each_request.hpp"
#include "tests/unit/objects/bucket.hpp"

namespace tare::test {
namespace {

/// One object of a size, which an edit makes longer by a few bytes.
struct Growing {
  explicit Growing(std::size_t size = least_composed_bytes) : old(size, std::byte{'a'}) {
    store.copies_wholes = true;
    store.put(model, old);
    edited = old;
    edited.insert(edited.end(), {std::byte{'x'}, std::byte{'y'}});
  }

  [[nodiscard]] FileEdit appended() {
    FileEdit edit{model, {}, {}, store.look(model)->tag};
    edit.change.append = Append{old.size(), {std::byte{'x'}}, {std::byte{'y'}}, "scale"};
    return edit;
  }
  [[nodiscard]] FileEdit patched() {
    FileEdit edit{model, {}, {}, store.look(model)->tag};
    edit.change.patches = {{7, Bytes(2, std::byte{'a'}), Bytes(2, std::byte{'b'}), "scale"}};
    return edit;
  }
  Receipt make(const FileEdit& edit, TransactionOptions options = Bucket::sealed()) {
    return commit(store, {edit}, {{model, "scaler", "scale", "1", "2"}}, options);
  }
  UndoResult take_back() { return undo(store, folder, key_of(1), {}); }
  [[nodiscard]] std::size_t copies() {
    std::size_t count = 0;
    for (const std::string& name : store.names_below(folder)) count += name.ends_with(".kept") ? 1 : 0;
    return count;
  }
  [[nodiscard]] bool is_tidy() const { return !store.has(folder + "/.tare/pending") && store.uploads.empty(); }

  const std::string folder = run_folder + "/weights";
  MemoryObjects store;
  Bytes old, edited;
};

TEST_CASE("a large object that grows is copied, made longer, and brought back from its copy, which goes then") {
  Growing scene;
  scene.make(scene.appended());
  CHECK(scene.store.bytes(model) == scene.edited);
  CHECK(scene.copies() == 1);
  CHECK(scene.is_tidy());
  CHECK(scene.take_back().kind == UndoKind::undone);
  CHECK(scene.store.bytes(model) == scene.old);
  CHECK(scene.copies() == 0);
  CHECK(scene.is_tidy());
  CHECK(status_of([&] { scene.take_back(); }) == Status::refused);
}

TEST_CASE("of several objects each large one that grew is brought back from its copy, wherever it stands among them") {
  for (const char* small : {"a.pt", "z.pt"}) {
    INFO(small);
    Growing scene;
    const std::string other = scene.folder + "/" + small;
    scene.store.put(other, Bytes(1'000, std::byte{'a'}));
    FileEdit edit = scene.appended();
    edit.path = other;
    edit.version = scene.store.look(other)->tag;
    edit.change.append->old_size = 1'000;
    std::vector<FileEdit> edits = {edit, scene.appended()};
    if (other > model) std::swap(edits[0], edits[1]);
    const auto make = [&] { commit(scene.store, edits, {{model, "scaler", "scale", "1", "2"}}, Bucket::sealed()); };
    make();
    CHECK(scene.store.bytes(other).size() == 1'002);
    CHECK(scene.copies() == 1);
    scene.take_back();
    CHECK(scene.store.bytes(other).size() == 1'000);
    CHECK(scene.store.bytes(model) == scene.old);
    CHECK(scene.copies() == 0);
    for (FileEdit& again : edits) again.version = scene.store.look(again.path)->tag;
    make();
    CHECK(scene.copies() == 1);
    scene.store.now += long_enough;
    prune(scene.store, scene.folder, key_of(1), {});
    CHECK(scene.copies() == 0);
  }
}

TEST_CASE("without history no copy is left, and forgetting an edit forgets its copy") {
  Growing unrecorded;
  TransactionOptions options = Bucket::sealed();
  options.keep_history = false;
  unrecorded.make(unrecorded.appended(), options);
  CHECK(unrecorded.store.bytes(model) == unrecorded.edited);
  CHECK(unrecorded.copies() == 0);
  Growing forgotten;
  forgotten.make(forgotten.appended());
  forgotten.store.now += long_enough;
  CHECK(prune(forgotten.store, forgotten.folder, key_of(1), {}).records == 1);
  CHECK(forgotten.copies() == 0);
  CHECK(forgotten.store.bytes(model) == forgotten.edited);
}

TEST_CASE("what changes in the middle of a large object is refused there, unless all of it may be sent") {
  for (const std::size_t size : {least_composed_bytes - 1, least_composed_bytes, least_composed_bytes + 1}) {
    INFO(size);
    Growing scene(size);
    const bool is_large = size >= least_composed_bytes;
    CHECK(status_of([&] { scene.make(scene.patched()); }) == (is_large ? Status::refused : Status::ok));
    CHECK((scene.store.bytes(model) == scene.old) == is_large);
    Growing whole(size);
    TransactionOptions options = Bucket::sealed();
    options.send_whole = true;
    whole.make(whole.patched(), options);
    CHECK(whole.store.bytes(model)[7] == std::byte{'b'});
    CHECK(whole.copies() == 0);
    whole.take_back();
    CHECK(whole.store.bytes(model) == whole.old);
    CHECK(whole.is_tidy());
  }
}

TEST_CASE("a small object that grows is sent whole, and needs no copy") {
  Growing scene(least_composed_bytes - 1);
  scene.make(scene.appended());
  CHECK(scene.store.bytes(model) == scene.edited);
  CHECK(scene.copies() == 0);
  scene.take_back();
  CHECK(scene.store.bytes(model) == scene.old);
}

TEST_CASE("wherever the growth of an object stops, recovery makes it old, without a copy, or finds it new, with one") {
  const std::size_t stops =
      at_each_request<Growing>([](Growing&) {}, [](Growing& scene) { scene.make(scene.appended()); },
                               [](Growing& scene) {
                                 const bool is_recorded = scene.store.has(scene.folder + "/.tare/000001.edit");
                                 recover_around(scene.store, scene.folder, key_of(1), {});
                                 CHECK(scene.store.bytes(model) == (is_recorded ? scene.edited : scene.old));
                                 CHECK(scene.copies() == (is_recorded ? 1 : 0));
                                 CHECK_FALSE(scene.store.has(scene.folder + "/.tare/pending"));
                                 if (!is_recorded) return;
                                 scene.take_back();
                                 CHECK(scene.store.bytes(model) == scene.old);
                                 CHECK(scene.copies() == 0);
                               });
  CHECK(stops > 14);
}

TEST_CASE("wherever the undo of a growth stops, recovery makes the object new again, with its copy, or finds it old") {
  const std::size_t stops = at_each_request<Growing>(
      [](Growing& scene) { scene.make(scene.appended()); }, [](Growing& scene) { scene.take_back(); },
      [](Growing& scene) {
        const bool is_undone = scene.store.has(scene.folder + "/.tare/000001.undone");
        recover_around(scene.store, scene.folder, key_of(1), {});
        CHECK(scene.store.bytes(model) == (is_undone ? scene.old : scene.edited));
        CHECK_FALSE(scene.store.has(scene.folder + "/.tare/pending"));
        if (is_undone) return;
        scene.take_back();
        CHECK(scene.store.bytes(model) == scene.old);
        CHECK(scene.copies() == 0);
      });
  CHECK(stops > 8);
}

TEST_CASE("an object that somebody else writes while it is copied or made longer keeps that") {
  for (const char* request : {"copy ", "part of ", "complete "}) {
    INFO(request);
    Growing scene;
    const Bytes theirs(2'000, std::byte{'c'});
    scene.store.on_change = [&, is_written = false](const std::string& made) mutable {
      if (is_written || made != request + model) return;
      is_written = true;
      scene.store.put(model, theirs);
    };
    CHECK(status_of([&] { scene.make(scene.appended()); }) == Status::refused);
    CHECK(scene.store.bytes(model) == theirs);
    CHECK(scene.is_tidy());
  }
}

TEST_CASE("a record says what the object was and what it became, and keeps no upload") {
  const auto versions_in = [](const MemoryObjects& store, const std::string& record) {
    const auto journal = decoded(SharedBytes::copy_of(store.bytes(record)), "a record", key_of(1));
    REQUIRE(journal);
    REQUIRE(journal->files.size() == 1);
    return versions_of(journal->files[0]);
  };
  Growing scene;
  const ObjectSeen before = *scene.store.look(model);
  scene.make(scene.appended());
  const ObjectSeen after = *scene.store.look(model);
  const std::string record = scene.folder + "/.tare/000001.";
  CHECK(versions_in(scene.store, record + "edit") ==
        ObjectVersions{before.tag, after.tag, before.kept, after.kept, ""});
  scene.take_back();
  CHECK(versions_in(scene.store, record + "undone").upload.empty());
  Bucket parts({model});
  const ObjectSeen old = *parts.store.look(model);
  parts.edit();
  CHECK(versions_in(parts.store, scene.folder + "/.tare/000001.edit") ==
        ObjectVersions{old.tag, parts.store.look(model)->tag, "", "", ""});
}

}  // namespace
}  // namespace tare::test
