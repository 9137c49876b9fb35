// What a record may say of a file: each bound at its edge, one below and one above.
#include <functional>
#include <limits>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scene.hpp"

namespace tare::test {
namespace {

constexpr std::uint64_t largest_file = std::uint64_t{1} << 62;
constexpr std::uint64_t most_witnessed = 64 * 1024;

/// 100 bytes that become 110, with two changes that touch each other.
FileRecord grown() {
  FileRecord record{"a.pt", WriteMethod::in_place, 1, 100, 110, {5, 1}, {6, 2}, 0644, {}, noise(10, 1),
                    7,      {20, 20, 80, 9}};
  record.swaps = {{3, noise(8, 2), noise(8, 3)}, {11, noise(4, 4), noise(4, 5)}};
  return record;
}

/// 110 bytes that become 100.
FileRecord shrunk() {
  return inverse(grown());
}

/// 100 bytes of which 20 become 5: 85.
FileRecord rewritten() {
  FileRecord record{"a.pt", WriteMethod::rewritten, 1, 100, 85, {5, 1}, {6, 2}, 0644, {}, {}, 0, {40, 25, 60, 9}};
  record.swaps = {{10, noise(20, 6), noise(5, 7)}};
  return record;
}

/// Nothing of it is looked at but its size.
FileRecord huge(std::uint64_t size_before, std::uint64_t size_after) {
  FileRecord record;
  record.name = "a.pt";
  record.size_before = size_before;
  record.size_after = size_after;
  record.tail = noise(size_before > size_after ? size_before - size_after : size_after - size_before, 1);
  return record;
}

bool is_sane(const FileRecord& record) {
  try {
    require_sane(record, "pending");
  } catch (const Error& error) {
    CHECK(error.status == Status::corrupt);
    CHECK(std::string(error.what()) == "pending: the record of a.pt contradicts itself");
    return false;
  }
  return true;
}

struct Case {
  const char* what;
  FileRecord (*base)();
  std::function<void(FileRecord&)> change;
  bool is_sane;
};

/// 2^62 bytes and more of which nothing changes.
FileRecord largest() {
  return huge(largest_file, largest_file);
}

FileRecord witnessed() {
  FileRecord record = huge(200'000, 200'000);
  record.witness = {200'000 - most_witnessed, 200'000 - most_witnessed, most_witnessed, 9};
  return record;
}

const std::vector<Case> cases = {
    {"as it is", grown, [](FileRecord&) {}, true},
    {"as it is", shrunk, [](FileRecord&) {}, true},
    {"as it is", rewritten, [](FileRecord&) {}, true},
    {"as it is", largest, [](FileRecord&) {}, true},
    {"as it is", witnessed, [](FileRecord&) {}, true},

    {"the tail one byte short", grown, [](FileRecord& r) { r.tail.pop_back(); }, false},
    {"the tail one byte long", grown, [](FileRecord& r) { r.tail.push_back({}); }, false},
    {"the tail one byte short", shrunk, [](FileRecord& r) { r.tail.pop_back(); }, false},
    {"all of the tail is body", grown, [](FileRecord& r) { r.tail_body = 10; }, true},
    {"more body than tail", grown, [](FileRecord& r) { r.tail_body = 11; }, false},
    {"a tail of a file written anew", rewritten, [](FileRecord& r) { r.tail.push_back({}); }, false},
    {"nothing is swapped of a file written anew", rewritten, [](FileRecord& r) { r.swaps.clear(); }, false},
    {"two swaps of a file written anew", rewritten,
     [](FileRecord& r) {
       r.swaps.push_back({50, {}, {}});
     },
     false},
    {"one byte less than it would have", rewritten, [](FileRecord& r) { r.size_after -= 1; }, false},
    {"one byte more than it would have", rewritten, [](FileRecord& r) { r.size_after += 1; }, false},

    {"two swaps share a byte", grown, [](FileRecord& r) { r.swaps[1].offset = 10; }, false},
    {"swaps out of order", grown, [](FileRecord& r) { std::swap(r.swaps[0], r.swaps[1]); }, false},
    {"a swap of the last bytes that both sizes have", grown, [](FileRecord& r) { r.swaps[1].offset = 96; }, true},
    {"a swap past the bytes that both sizes have", grown, [](FileRecord& r) { r.swaps[1].offset = 97; }, false},
    {"a swap past the bytes that both sizes have", shrunk, [](FileRecord& r) { r.swaps[1].offset = 97; }, false},
    {"a swap of nothing at the end", grown,
     [](FileRecord& r) {
       r.swaps[1] = {100, {}, {}};
     },
     true},
    {"a swap of nothing behind the end", grown,
     [](FileRecord& r) {
       r.swaps[1] = {101, {}, {}};
     },
     false},
    {"a swap that grows in place", grown, [](FileRecord& r) { r.swaps[0].after = noise(9, 1); }, false},
    {"a swap that shrinks in place", grown, [](FileRecord& r) { r.swaps[0].after = noise(7, 1); }, false},
    {"the last bytes of a file written anew", rewritten,
     [](FileRecord& r) {
       r.swaps[0].offset = 80;
       r.witness = {};
     },
     true},
    {"bytes past the end of a file written anew", rewritten,
     [](FileRecord& r) {
       r.swaps[0].offset = 81;
       r.witness = {};
     },
     false},

    {"the last nanosecond of a second before", grown, [](FileRecord& r) { r.mtime_before.tv_nsec = 999'999'999; },
     true},
    {"a whole second of nanoseconds before", grown, [](FileRecord& r) { r.mtime_before.tv_nsec = 1'000'000'000; },
     false},
    {"less than no nanoseconds before", grown, [](FileRecord& r) { r.mtime_before.tv_nsec = -1; }, false},
    {"no nanoseconds before", grown, [](FileRecord& r) { r.mtime_before.tv_nsec = 0; }, true},
    {"the last nanosecond of a second after", grown, [](FileRecord& r) { r.mtime_after.tv_nsec = 999'999'999; }, true},
    {"a whole second of nanoseconds after", grown, [](FileRecord& r) { r.mtime_after.tv_nsec = 1'000'000'000; }, false},
    {"less than no nanoseconds after", grown, [](FileRecord& r) { r.mtime_after.tv_nsec = -1; }, false},

    {"a witness longer than any", witnessed,
     [](FileRecord& r) {
       r.witness = {0, 0, most_witnessed + 1, 9};
     },
     false},
    {"a witness past the end before", rewritten, [](FileRecord& r) { r.witness.offset_before += 1; }, false},
    {"a witness past the end after", rewritten, [](FileRecord& r) { r.witness.offset_after += 1; }, false},
    {"a witness past the bytes that both sizes have", shrunk, [](FileRecord& r) { r.witness.offset_before += 1; },
     false},
    {"a witness whose place overflows before", rewritten,
     [](FileRecord& r) { r.witness.offset_before = std::numeric_limits<std::uint64_t>::max() - 59; }, false},
    {"a witness whose place overflows after", rewritten,
     [](FileRecord& r) { r.witness.offset_after = std::numeric_limits<std::uint64_t>::max() - 59; }, false},
    {"a witness of nothing at the end of the largest file", largest,
     [](FileRecord& r) {
       r.witness = {largest_file, largest_file, 0, 0};
     },
     true},

    {"one byte too large before", largest, [](FileRecord& r) { r = huge(largest_file + 1, largest_file); }, false},
    {"one byte too large after", largest, [](FileRecord& r) { r = huge(largest_file, largest_file + 1); }, false},
};

TEST_CASE("a record is acted upon only where it holds together: each bound at its edge and one beyond") {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(i << ": " << cases[i].what);
    FileRecord record = cases[i].base();
    cases[i].change(record);
    CHECK(is_sane(record) == cases[i].is_sane);
  }
}

ReadableFile readable(const Bytes& bytes) {
  return {"a.pt", bytes.size(), [&bytes](Span range) {
            const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(range.offset);
            return Bytes(from, from + static_cast<std::ptrdiff_t>(range.size));
          }};
}

std::string refusal(const Bytes& file, const FileChange& change) {
  try {
    record_of(readable(file), change, "a.pt");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a change is planned up to the last byte of a file, and none that passes it or overlaps another") {
  const Bytes file = noise(100, 1);
  const Bytes four = noise(4, 2);
  const Patch last = patch_of(file, 96, four);
  Patch behind = last;
  behind.offset = 97;
  Patch far = last;
  far.offset = 101;
  const auto patches = [](std::vector<Patch> all) { return FileChange{std::move(all), {}, {}}; };
  CHECK(refusal(file, patches({last})).empty());
  CHECK(refusal(file, patches({behind})) == "a.pt: the change at offset 97 passes the end of the file");
  CHECK(refusal(file, patches({far})) == "a.pt: the change at offset 101 passes the end of the file");
  CHECK(refusal(file, patches({patch_of(file, 44, four), patch_of(file, 40, four)})).empty());
  CHECK(refusal(file, patches({patch_of(file, 43, four), patch_of(file, 40, four)})) ==
        "a.pt: the change at offset 43 overlaps another one");
  Patch longer = last;
  longer.after = noise(5, 2);
  CHECK(refusal(file, patches({longer})) == "a.pt: the change at offset 96 would move what follows it");

  const auto appended = [](std::uint64_t at) { return FileChange{{}, Append{at, noise(3, 4), {}, ""}, {}}; };
  CHECK(refusal(file, appended(100)).empty());
  CHECK(refusal(file, appended(99)) == "a.pt: the change at offset 99 does not start at the file's end");
  CHECK(refusal(file, appended(101)) == "a.pt: the change at offset 101 does not start at the file's end");

  // Beside others a splice is another end of the file.
  const auto spliced = [&](std::ptrdiff_t from, std::ptrdiff_t size) {
    const auto at = file.begin() + from;
    return Splice{static_cast<std::uint64_t>(from), Bytes(at, at + size), noise(9, 5), ""};
  };
  CHECK(refusal(file, {{patch_of(file, 0, four)}, {}, spliced(90, 10)}).empty());
  CHECK(refusal(file, {{patch_of(file, 0, four)}, {}, spliced(90, 9)}) ==
        "a.pt: the change at offset 90 is a splice beside other changes");
  CHECK(refusal(file, {{}, Append{100, noise(3, 4), {}, ""}, spliced(90, 10)}) ==
        "a.pt: the change at offset 90 is a splice beside other changes");
}

TEST_CASE("a file is known again by the last 64 KiB that an edit leaves in their place") {
  const Bytes small = noise(100, 1);
  const Bytes large = noise(200'000, 2);
  const auto witness = [](const Bytes& file, const FileChange& change) {
    const Witness& seen = record_of(readable(file), change, "a.pt").witness;
    return std::vector<std::uint64_t>{seen.offset_before, seen.offset_after, seen.size};
  };
  const auto patch = [](const Bytes& file) { return FileChange{{patch_of(file, 8, noise(4, 3))}, {}, {}}; };
  const auto splice = [](const Bytes& file, std::ptrdiff_t at) {
    const auto from = file.begin() + at;
    return FileChange{{}, {}, Splice{static_cast<std::uint64_t>(at), Bytes(from, from + 2), noise(5, 4), ""}};
  };
  using Numbers = std::vector<std::uint64_t>;
  CHECK(witness(small, patch(small)) == Numbers{0, 0, 100});
  CHECK(witness(large, patch(large)) == Numbers{134'464, 134'464, 65'536});
  CHECK(witness(small, splice(small, 30)) == Numbers{32, 35, 68});
  CHECK(witness(large, splice(large, 30)) == Numbers{134'464, 134'467, 65'536});
  CHECK(witness(large, splice(large, 199'000)) == Numbers{199'002, 199'005, 998});
  CHECK(witness(small, {{}, Append{100, noise(7, 5), {}, ""}, {}}) == Numbers{0, 0, 100});
}

}  // namespace
}  // namespace tare::test
