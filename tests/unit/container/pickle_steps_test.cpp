// Opcodes one by one, of pickles that are longer than what is read at once.
#include "lib/container/pickle/read/steps.hpp"

#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

class CountedSource final : public Source {
 public:
  explicit CountedSource(const std::string& text) : bytes_("x", bytes_of(text)) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] const std::string& name() const override { return bytes_.name(); }
  void read(std::uint64_t offset, std::span<std::byte> to) const override {
    ++reads;
    bytes_.read(offset, to);
  }

  mutable std::size_t reads = 0;

 private:
  MemorySource bytes_;
};

/// Where each step ends.
std::vector<std::uint64_t> ends_of(const Source& source) {
  PickleSteps steps(source, 0);
  std::vector<std::uint64_t> ends;
  while (const auto step = steps.next()) ends.push_back(step->end);
  return ends;
}

}  // namespace

TEST_CASE("small opcodes are read by the page, and long lines by more") {
  const CountedSource small(std::string(1'000'000, 'N'));
  CHECK(ends_of(small).size() == 1'000'000);
  CHECK(small.reads <= 1'000'000 / 4096 + 2);
  const CountedSource line("V" + std::string(1'000'000, 'x') + "\n.");
  CHECK(ends_of(line) == std::vector<std::uint64_t>{1'000'002, 1'000'003});
  CHECK(line.reads <= 1'000'000 / 65'536 + 4);
}

TEST_CASE("what an opcode says is given as long as it is wanted, however far it goes") {
  std::string text(10'000, 'x');
  text[9'999] = 'y';
  const CountedSource source("X\x10\x27\0\0"s + text + "N.");
  PickleSteps steps(source, 0);
  const auto step = steps.next();
  REQUIRE(step);
  CHECK(step->end == 10'005);
  CHECK(steps.argument(*step, 20'000) == "\x10\x27\0\0"s + text);
  CHECK(steps.argument(*step, 7) == "\x10\x27\0\0xxx"s);
  const auto next = steps.next();
  REQUIRE(next);
  CHECK(next->code == Opcode::none);
  CHECK(steps.at(0).end == 10'005);
  CHECK(steps.position() == 10'006);
}

TEST_CASE("an argument ends where the file does, and one byte less of it is none") {
  const auto whole = [](const std::string& pickle) {
    CHECK(ends_of(CountedSource(pickle)) == std::vector<std::uint64_t>{pickle.size()});
    CHECK(ends_of(CountedSource(pickle.substr(0, pickle.size() - 1))).empty());
  };
  whole("K\1");
  whole("J\1\2\3\4");
  whole("C\3abc");
  whole("X\3\0\0\0abc"s);
  whole("\x8d\3\0\0\0\0\0\0\0abc"s);
  CHECK(ends_of(CountedSource("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
                              "abc"s))
            .empty());
  CHECK(ends_of(CountedSource("\xff")).empty());
  CHECK(ends_of(CountedSource("")).empty());
}

TEST_CASE("a line without its newline is one that the file's end cuts") {
  const auto is_cut = [](const std::string& pickle) {
    const CountedSource source(pickle);
    return PickleSteps(source, 0).next().value().is_cut;
  };
  CHECK_FALSE(is_cut("Va\n"));
  CHECK(is_cut("Va"));
  CHECK(is_cut("V"));
  CHECK_FALSE(is_cut("ca\nb\n"));
  CHECK(is_cut("ca\nb"));
  CHECK_FALSE(is_cut("N"));
}
