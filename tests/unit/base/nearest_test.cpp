// What somebody meant who misspelt a word.
#include "lib/base/nearest.hpp"
#include "tests/catch.hpp"

#include <string>
#include <vector>

using tare::nearest;

namespace {

const std::vector<std::string> verbs = {"inspect", "get", "edit", "undo", "history", "diff", "migrate", "attest"};

}  // namespace

TEST_CASE("a letter left out, added, replaced or swapped still finds the word") {
  CHECK(nearest("inspct", verbs) == "inspect");
  CHECK(nearest("inspectt", verbs) == "inspect");
  CHECK(nearest("inspekt", verbs) == "inspect");
  CHECK(nearest("inpsect", verbs) == "inspect");
  CHECK(nearest("EDIT", verbs) == "edit");
  CHECK(nearest("edti", verbs) == "edit");
}

TEST_CASE("a word that is like none finds none") {
  CHECK(nearest("set", verbs) == "get");
  CHECK(nearest("run.pt", verbs).empty());
  CHECK(nearest("frobnicate", verbs).empty());
  CHECK(nearest("", verbs).empty());
  CHECK(nearest("edit", {}).empty());
  CHECK(nearest(std::string(1 << 20, 'e'), verbs).empty());
}

TEST_CASE("of several words the nearest counts, and of equals the first") {
  const std::vector<std::string> keys = {"scale", "min_scale", "max_scale", "scale_window"};
  CHECK(nearest("mn_scale", keys) == "min_scale");
  CHECK(nearest("mbx_scale", keys) == "max_scale");
  CHECK(nearest("mx_scale", keys) == "max_scale");
  CHECK(nearest("m_scale", keys) == "scale");
  CHECK(nearest("scael", keys) == "scale");
}

TEST_CASE("words far too long to be meant are passed over, and those behind them are not") {
  const std::vector<std::string> keys = {std::string(1 << 20, 's'), "min_scale", std::string(1 << 20, 's'), "scale"};
  CHECK(nearest("scael", keys) == "scale");
}
