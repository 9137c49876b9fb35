// The manifest that vouches for a Megatron checkpoint's files goes along with them.
#include "lib/edit/integrity.hpp"

#include "lib/base/error.hpp"
#include "lib/base/sha256.hpp"
#include "tests/catch.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

std::string digest(const std::string& text) {
  Sha256 sum;
  sum.add(as_bytes(text));
  return sum.finish();
}

std::string manifest(const std::string& digest_of_shard) {
  return R"({"algorithm": "sha256", "files": {".metadata": "0", "__0_0.distcp" :)" + (" \"" + digest_of_shard) +
         R"(", "metadata.json": "1"}})";
}

FileEdit edit_of(const Scratch& scratch, const std::string& name, FileChange change) {
  FileEdit edit{scratch.path(name), std::move(change), {}};
  struct stat now {};
  REQUIRE(::stat(edit.path.c_str(), &now) == 0);
  edit.planned = now;
  return edit;
}

Bytes bytes(const std::string& text) {
  return {as_bytes(text).begin(), as_bytes(text).end()};
}

Status status_of(const std::vector<FileEdit>& edits, const IntegrityOptions& options = {}) {
  return test::status_of([&] { renewed_manifests(edits, options); });
}

TEST_CASE("the digest of an edited file is renewed, whatever the edit does to it") {
  const Scratch scratch;
  scratch.write("__0_0.distcp", "0123456789");
  scratch.write("integrity.json", manifest(digest("0123456789")));
  const std::pair<FileChange, std::string> changes[] = {
      {{{{2, bytes("23"), bytes("ab"), ""}}, {}, {}}, "01ab456789"},
      {{{}, Append{10, bytes("more"), {}, ""}, {}}, "0123456789more"},
      {{{}, {}, Splice{0, bytes("012"), bytes("x"), ""}}, "x3456789"},
  };
  for (const auto& [change, after] : changes) {
    const auto manifests = renewed_manifests({edit_of(scratch, "__0_0.distcp", change)}, {});
    REQUIRE(manifests.size() == 1);
    CHECK(manifests[0].path == scratch.path("integrity.json"));
    REQUIRE(manifests[0].change.patches.size() == 1);
    const Patch& patch = manifests[0].change.patches[0];
    std::string text = manifest(digest("0123456789"));
    CHECK(text.substr(patch.offset, patch.before.size()) == as_text(patch.before));
    text.replace(patch.offset, patch.before.size(), as_text(patch.after));
    CHECK(text == manifest(digest(after)));
  }
}

TEST_CASE("a file that is not what its manifest says is not edited, unless that is asked for") {
  const Scratch scratch;
  scratch.write("__0_0.distcp", "0123456789");
  scratch.write("integrity.json", manifest(digest("another file")));
  const std::vector<FileEdit> edits = {edit_of(scratch, "__0_0.distcp", {{{2, bytes("23"), bytes("ab"), ""}}, {}, {}})};
  CHECK(status_of(edits) == Status::corrupt);
  const auto manifests = renewed_manifests(edits, {true, {}});
  REQUIRE(manifests.size() == 1);
  CHECK(as_text(manifests[0].change.patches[0].after) == digest("01ab456789"));
}

TEST_CASE("without a manifest, or one that does not list the file, there is nothing to renew") {
  const Scratch scratch;
  scratch.write("common.pt", "0123456789");
  const std::vector<FileEdit> edits = {edit_of(scratch, "common.pt", {{{2, bytes("23"), bytes("ab"), ""}}, {}, {}})};
  CHECK(renewed_manifests(edits, {}).empty());
  scratch.write("integrity.json", manifest(digest("0123456789")));
  CHECK(renewed_manifests(edits, {}).empty());
}

TEST_CASE("a name is found however the manifest writes it, and only where files are listed") {
  const Scratch scratch;
  scratch.write("__0_0.distcp", "0123456789");
  const std::vector<FileEdit> edits = {edit_of(scratch, "__0_0.distcp", {{{2, bytes("23"), bytes("ab"), ""}}, {}, {}})};
  const std::string old = digest("0123456789");
  scratch.write("integrity.json",
                R"({"\u0061lgorithm": "sha256", "files": {"\u005f_0_0.dist\u0063p": ")" + old + "\"}}");
  const auto manifests = renewed_manifests(edits, {});
  REQUIRE(manifests.size() == 1);
  CHECK(as_text(manifests[0].change.patches[0].before) == old);
  CHECK(as_text(manifests[0].change.patches[0].after) == digest("01ab456789"));
  scratch.write("integrity.json", R"({"__0_0.distcp": ")" + old + R"(", "files": {}})");
  CHECK(renewed_manifests(edits, {}).empty());
}

TEST_CASE("a manifest that cannot be read is refused: it vouches for the files all the same") {
  const Scratch scratch;
  scratch.write("__0_0.distcp", "0123456789");
  const std::vector<FileEdit> edits = {edit_of(scratch, "__0_0.distcp", {{{2, bytes("23"), bytes("ab"), ""}}, {}, {}})};
  const std::string escaped = "\\u0030" + digest("0123456789").substr(1);
  for (const std::string& text : {std::string("{\"files\": {"), R"({"files": {"__0_0.distcp": 1}})" + std::string(),
                                  R"({"files": {"__0_0.distcp": ")" + escaped + "\"}}"}) {
    INFO(text);
    scratch.write("integrity.json", text);
    CHECK(status_of(edits) == Status::corrupt);
  }
}

TEST_CASE("a small file is read whole without an announcement") {
  const Scratch scratch;
  scratch.write("__0_0.distcp", "0123456789");
  scratch.write("integrity.json", manifest(digest("0123456789")));
  IntegrityOptions options;
  options.announce = [](const std::string& line) { FAIL("announced: " << line); };
  const FileEdit edit = edit_of(scratch, "__0_0.distcp", {{{2, bytes("23"), bytes("ab"), ""}}, {}, {}});
  CHECK(renewed_manifests({edit}, options).size() == 1);
}

TEST_CASE("a manifest of another algorithm is refused") {
  const Scratch scratch;
  scratch.write("__0_0.distcp", "0123456789");
  scratch.write("integrity.json", R"({"algorithm": "blake3", "files": {"__0_0.distcp": "00"}})");
  CHECK(status_of({edit_of(scratch, "__0_0.distcp", {{{2, bytes("23"), bytes("ab"), ""}}, {}, {}})}) ==
        Status::unsupported);
}

}  // namespace
}  // namespace tare::test
