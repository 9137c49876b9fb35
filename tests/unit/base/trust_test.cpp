// Whose files may run as a part of tare: by who can write them, and the folders that they are in.
#include "lib/base/trust.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"

using namespace tare;
using Catch::Contains;

namespace {

/// tare and a module as an installation has them, each in a folder of its own.
class Installed {
 public:
  Installed() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tare-trust-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    root_ = std::filesystem::canonical(pattern);
    for (const char* folder : {"bin", "lib"}) {
      std::filesystem::create_directory(root_ / folder);
      set(folder, 0755);
    }
    for (const char* file : {"bin/tare", "bin/beside.so", "lib/module.so"}) {
      std::ofstream(root_ / file) << "code";
      set(file, 0755);
    }
  }
  ~Installed() { std::filesystem::remove_all(root_); }
  Installed(const Installed&) = delete;
  Installed& operator=(const Installed&) = delete;

  void set(const std::string& path, mode_t mode) const { REQUIRE(chmod((root_ / path).c_str(), mode) == 0); }
  void give(const std::string& path, uid_t user, gid_t group) const {
    REQUIRE(chown((root_ / path).c_str(), user, group) == 0);
  }
  [[nodiscard]] std::string distrusted(const std::string& path) const {
    return distrust((root_ / path).string(), (root_ / "bin/tare").string());
  }

 private:
  std::filesystem::path root_;
};

constexpr uid_t somebody = 54321;
constexpr gid_t some_group = 54322;

}  // namespace

TEST_CASE("what its owner alone can write may run, and what is not there may not") {
  const Installed installed;
  CHECK(installed.distrusted("lib/module.so").empty());
  CHECK(installed.distrusted("bin/beside.so").empty());
  CHECK_THAT(installed.distrusted("lib/gone.so"), Contains("lib/gone.so cannot be looked at"));
}

TEST_CASE("what everybody can write, itself or by its folder, may not run") {
  const Installed installed;
  installed.set("lib/module.so", 0757);
  CHECK_THAT(installed.distrusted("lib/module.so"), Contains("lib/module.so can be written by everybody"));
  installed.set("lib/module.so", 0755);
  installed.set("lib", 0777);
  CHECK_THAT(installed.distrusted("lib/module.so"), Contains("lib can be written by everybody"));
  installed.set("lib", 01777);  // as /tmp: nobody replaces what is another's there
  CHECK(installed.distrusted("lib/module.so").empty());
  installed.set("lib", 0755);
  installed.set("bin", 0777);
  CHECK(installed.distrusted("lib/module.so").empty());
  CHECK_THAT(installed.distrusted("bin/beside.so"), Contains("bin can be written by everybody"));
}

TEST_CASE("a user or a group that could not replace tare itself is not trusted with its modules") {
  if (geteuid() != 0) return;  // only root gives files away
  const Installed installed;
  installed.give("lib/module.so", somebody, 0);
  CHECK_THAT(installed.distrusted("lib/module.so"), Contains("belongs to user 54321"));
  installed.give("bin/tare", somebody, 0);
  CHECK(installed.distrusted("lib/module.so").empty());
  installed.give("lib/module.so", 0, some_group);
  CHECK(installed.distrusted("lib/module.so").empty());
  installed.set("lib/module.so", 0775);
  CHECK_THAT(installed.distrusted("lib/module.so"), Contains("can be written by group 54322"));
  installed.give("bin", 0, some_group);
  CHECK_THAT(installed.distrusted("lib/module.so"), Contains("can be written by group 54322"));
  installed.set("bin", 0775);
  CHECK(installed.distrusted("lib/module.so").empty());
  installed.give("lib/module.so", 0, 0);
  CHECK(installed.distrusted("lib/module.so").empty());  // root's group
}
