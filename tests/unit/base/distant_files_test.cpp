#include "lib/base/distant_files.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

template <class Base>
class Nothing : public Base {
 public:
  [[nodiscard]] FileType type(const std::string&) const override { return FileType::absent; }
  [[nodiscard]] std::vector<FileEntry> list(const std::string&) const override { return {}; }
  [[nodiscard]] std::shared_ptr<const Source> open(const std::string&) const override { return {}; }
};

class Unshared final : public Nothing<Files> {
  [[nodiscard]] bool is_shareable() const override { return false; }
};

class Distant final : public Nothing<DistantFiles> {
  [[nodiscard]] std::size_t most_at_once() const override { return 200; }
  [[nodiscard]] bool lists_all(const std::string& folder) const override { return folder == "listed"; }
};

}  // namespace

TEST_CASE("distant files say how many calls at once they take, and those that are not shared take one") {
  CHECK(most_at_once(Distant()) == 200);
  CHECK(most_at_once(Unshared()) == 1);
  CHECK(most_at_once(local_files()) == 16);
}

TEST_CASE("distant files say whether they list all of a folder, and others do") {
  CHECK(lists_all(Distant(), "listed"));
  CHECK_FALSE(lists_all(Distant(), "guessed"));
  CHECK(lists_all(Unshared(), "any"));
}
