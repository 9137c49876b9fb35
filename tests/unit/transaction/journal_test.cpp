#include "lib/transaction/journal.hpp"

#include <algorithm>
#include <functional>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/base/file_identity.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scene.hpp"

namespace tare::test {
namespace {

Journal sample() {
  Journal journal;
  journal.kind = JournalKind::undo;
  journal.number = 12;
  journal.id = "0123456789ab";
  journal.origin = {"alice", "login-1", "tare edit a/b.pt scale=inf"};
  journal.when = {1'700'000'000, 5};
  journal.edited = {1'600'000'000, 999'999'999};
  journal.fields = {{"a/b.pt", "scaler", "scale", "65536.0", "inf"}, {"c.pt", "", "x", "", "\xff\n"}};
  FileRecord grown{"a/b.pt", WriteMethod::in_place, 77, 100, 110, {-5, 1}, {6, 2}, 0640, {}, noise(10, 1),
                   7,        {20, 20, 80, 9}};
  grown.swaps = {{3, noise(8, 2), noise(8, 3)}, {50, noise(1, 4), noise(1, 5)}};
  FileRecord rewritten{"c.pt", WriteMethod::rewritten, 78, 100, 103, {1, 0}, {2, 0}, 0400, {}, {}, 0, {30, 33, 70, 8}};
  rewritten.swaps = {{3, noise(2, 6), noise(5, 7)}};
  journal.files = {grown, rewritten};
  return journal;
}

TEST_CASE("a journal reads back as it was written") {
  const Journal journal = sample();
  const auto back = decoded(encoded(journal, own_key()), "pending", own_key());
  REQUIRE(back);
  CHECK(back->kind == JournalKind::undo);
  CHECK(back->number == 12);
  CHECK(back->is_own);
  CHECK(back->id == "0123456789ab");
  CHECK(back->origin.user == "alice");
  CHECK(back->origin.host == "login-1");
  CHECK(back->origin.command == "tare edit a/b.pt scale=inf");
  CHECK(is_same_time(back->when, journal.when));
  CHECK(is_same_time(back->edited, journal.edited));
  REQUIRE(back->fields.size() == 2);
  CHECK(back->fields[1].after == "\xff\n");
  REQUIRE(back->files.size() == 2);
  const FileRecord& file = back->files[0];
  CHECK(file.name == "a/b.pt");
  CHECK(file.inode == 77);
  CHECK(file.size_after == 110);
  CHECK(file.mtime_before.tv_sec == -5);
  CHECK(file.mode == 0640);
  CHECK(file.swaps.at(1).offset == 50);
  CHECK(file.swaps.at(1).after == noise(1, 5));
  CHECK(file.tail == noise(10, 1));
  CHECK(file.tail_body == 7);
  CHECK(file.witness.crc == 9);
  CHECK(back->files[1].write_method == WriteMethod::rewritten);
  CHECK(back->files[1].witness.offset_after == 33);
  CHECK(encoded(*back, own_key()) == encoded(journal, own_key()));
}

TEST_CASE("a journal that ends early, or has any bit wrong, was never complete") {
  const Bytes whole = encoded(sample(), own_key());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_FALSE(decoded(SharedBytes::copy_of(ByteView(whole).first(size)), "pending", own_key()));
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes broken = whole;
      broken[at] ^= static_cast<std::byte>(1 << bit);
      CHECK_FALSE(decoded(broken, "pending", own_key()));
    }
  }
}

TEST_CASE("a journal of a newer tare is refused, not guessed at") {
  Bytes bytes = encoded(sample(), own_key());
  // Magic (8), then the header's tag (4) and size (8), then its payload, which starts with the version.
  store<std::uint32_t>(bytes.data() + 20, journal_version + 1, std::endian::little);
  const auto payload = load_le<std::uint64_t>(bytes.data() + 12);
  const std::uint32_t crc = crc32(ByteView(bytes).subspan(8, 12 + payload));
  store<std::uint32_t>(bytes.data() + 20 + payload, crc, std::endian::little);
  try {
    decoded(bytes, "ckpt/.tare/pending", own_key());
    FAIL("it was read");
  } catch (const Error& error) {
    CHECK(error.status == Status::unsupported);
    CHECK(std::string(error.what()) == "ckpt/.tare/pending: written by a newer tare (journal version 3)");
  }
}

/// A journal as tare 0.1 wrote it: version 1, no seal, and a header that ends with the moment of the edit.
Bytes of_version_1(const Journal& journal) {
  const Bytes now = encoded(journal, {});
  constexpr std::size_t header_at = 8;
  constexpr std::size_t payload_at = header_at + 12;
  constexpr std::size_t seal_bytes = 16;
  constexpr std::uint64_t old_payload = 16 + 12 + 12;
  const auto payload = load_le<std::uint64_t>(now.data() + header_at + 4);
  Bytes old(now.begin(), now.begin() + payload_at + old_payload);
  store<std::uint64_t>(old.data() + header_at + 4, old_payload, std::endian::little);
  store<std::uint32_t>(old.data() + payload_at, 1, std::endian::little);
  append_le(old, crc32(ByteView(old).subspan(header_at)));
  const auto rest = now.begin() + static_cast<std::ptrdiff_t>(payload_at + payload + 4);
  old.insert(old.end(), rest, now.end() - seal_bytes);
  return old;
}

TEST_CASE("a journal is this user's own only where his key sealed every byte of it") {
  const Journal journal = sample();
  CHECK_FALSE(decoded(encoded(journal, {}), "pending", own_key())->is_own);
  CHECK_FALSE(decoded(encoded(journal, own_key()), "pending", {})->is_own);
  CHECK_FALSE(decoded(encoded(journal, JournalKey(noise(JournalKey::size, 1))), "pending", own_key())->is_own);
  CHECK_FALSE(decoded(of_version_1(journal), "pending", own_key())->is_own);
  // The seal of another journal, under checksums that are right.
  Journal other = journal;
  other.files[0].name = "d.pt";
  const Bytes genuine = encoded(journal, own_key());
  Bytes forged = encoded(other, own_key());
  std::copy(genuine.end() - 48, genuine.end(), forged.end() - 48);
  CHECK_FALSE(decoded(forged, "pending", own_key())->is_own);
}

TEST_CASE("a journal of version 1 is read, with a name made of its moment") {
  const auto back = decoded(of_version_1(sample()), "pending", own_key());
  REQUIRE(back);
  CHECK(back->number == 12);
  CHECK(back->id == "5f5e1000-3b9ac9ff");
  CHECK(back->origin.user.empty());
  CHECK(back->files.size() == 2);
}

/// The journal with what the `wanted`-th frame of a kind holds exchanged for what `becomes` makes of it, under
/// checksums that are right, and sealed by nobody.
Bytes reframed(const Bytes& journal, std::uint32_t tag, const std::function<Bytes(ByteView)>& becomes) {
  constexpr std::size_t magic_bytes = 8;
  constexpr std::size_t head_bytes = 12;
  Bytes made(journal.begin(), journal.begin() + magic_bytes);
  for (ByteView rest = ByteView(journal).subspan(magic_bytes); !rest.empty();) {
    const auto payload = static_cast<std::size_t>(load_le<std::uint64_t>(rest.data() + 4));
    const ByteView held = rest.subspan(head_bytes, payload);
    const bool is_meant = load_le<std::uint32_t>(rest.data()) == tag;
    const Bytes now = is_meant ? becomes(held) : Bytes(held.begin(), held.end());
    const std::size_t from = made.size();
    append_le(made, load_le<std::uint32_t>(rest.data()));
    append_le<std::uint64_t>(made, now.size());
    made.insert(made.end(), now.begin(), now.end());
    append_le(made, crc32(ByteView(made).subspan(from)));
    rest = rest.subspan(head_bytes + payload + 4);
  }
  return made;
}

Bytes shortened(ByteView bytes, std::size_t size) {
  const ByteView kept = bytes.first(std::min(size, bytes.size()));
  return {kept.begin(), kept.end()};
}

/// What is wrong with a journal; "" if it is read, "none" if it is none.
std::string problem_of(const Bytes& journal) {
  try {
    return decoded(journal, "pending", own_key()) ? "" : "none";
  } catch (const Error& error) {
    CHECK(error.status == Status::corrupt);
    return error.what();
  }
}

TEST_CASE("a journal whose parts hold less than they should is corrupt, wherever they end") {
  constexpr std::uint32_t header = 1;
  constexpr std::uint32_t file = 3;
  constexpr std::uint32_t versions = 6;
  Journal journal = sample();
  journal.files.resize(1);
  set_versions(journal.files[0], {"a", "b", "c", "d", "e"});
  const Bytes whole = encoded(journal, {});
  const auto cut = [&](std::uint32_t tag, std::size_t size) {
    return problem_of(reframed(whole, tag, [&](ByteView held) { return shortened(held, size); }));
  };
  const auto size_of = [&](std::uint32_t tag) {
    std::size_t size = 0;
    reframed(whole, tag, [&](ByteView held) { return size = held.size(), Bytes(); });
    return size;
  };
  for (const auto& [tag, problem] :
       {std::pair{header, "pending: its header is too short"}, std::pair{file, "pending: a file record is too short"},
        std::pair{versions, "pending: an object's versions are too short"}}) {
    INFO(problem);
    const std::size_t size = size_of(tag);
    REQUIRE(size > 40);
    CHECK(cut(tag, size).empty());
    for (std::size_t less = tag == header ? 4 : 0; less < size; ++less) {
      INFO(less << " of " << size);
      CHECK(cut(tag, less) == problem);
    }
  }
}

TEST_CASE("a journal that counts other fields or files than it has was never complete") {
  constexpr std::uint32_t end = 4;
  const Bytes whole = encoded(sample(), {});
  const auto counting = [&](std::uint64_t fields, std::uint64_t files) {
    return problem_of(reframed(whole, end, [&](ByteView) {
      Bytes counts;
      append_le(counts, fields);
      append_le(counts, files);
      return counts;
    }));
  };
  CHECK(counting(2, 2).empty());
  for (const auto& [fields, files] : {std::pair{1U, 2U}, {3U, 2U}, {2U, 1U}, {2U, 3U}})
    CHECK(counting(fields, files) == "none");
}

TEST_CASE("a text of a journal's header, or of an object's versions, may have 4096 bytes and no more") {
  const std::string longest(4096, 'x');
  const auto with = [](const std::function<void(Journal&)>& change) {
    Journal journal = sample();
    journal.files.resize(1);
    change(journal);
    return problem_of(encoded(journal, own_key()));
  };
  for (std::string Origin::*text : {&Origin::user, &Origin::host, &Origin::command}) {
    CHECK(with([&](Journal& journal) { journal.origin.*text = longest; }).empty());
    CHECK(with([&](Journal& journal) { journal.origin.*text = longest + "x"; }) == "pending: its header is too long");
  }
  CHECK(with([&](Journal& journal) { journal.id = longest; }).empty());
  CHECK(with([&](Journal& journal) { journal.id = longest + "x"; }) == "pending: its header is too long");
  CHECK(with([](Journal& journal) { journal.id.clear(); }) == "pending: its header is too short");
  for (std::string ObjectVersions::*text :
       {&ObjectVersions::tag_before, &ObjectVersions::tag_after, &ObjectVersions::kept_before,
        &ObjectVersions::kept_after, &ObjectVersions::upload}) {
    const auto versions = [&](const std::string& value) {
      return with([&](Journal& journal) {
        ObjectVersions held;
        held.*text = value;
        set_versions(journal.files[0], held);
      });
    };
    CHECK(versions(longest).empty());
    CHECK(versions(longest + "x") == "pending: a version is too long");
  }
}

TEST_CASE("the versions of objects read back as they were written, each with its file") {
  Journal journal = sample();
  set_versions(journal.files[1], {"a", "b", "c", "d", "e"});
  const auto back = decoded(encoded(journal, own_key()), "pending", own_key());
  REQUIRE(back);
  CHECK(versions_of(back->files[0]) == ObjectVersions());
  CHECK(versions_of(back->files[1]) == ObjectVersions{"a", "b", "c", "d", "e"});
}

TEST_CASE("the way back of the way back is the way") {
  for (const FileRecord& record : sample().files) {
    Journal once;
    once.files = {record};
    Journal thrice;
    thrice.files = {inverse(inverse(record))};
    CHECK(encoded(once, own_key()) == encoded(thrice, own_key()));
    once.files = {inverse(record)};
    CHECK(encoded(once, own_key()) != encoded(thrice, own_key()));
  }
}

}  // namespace
}  // namespace tare::test
