// What attest says of one file, given as bytes.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "lib/attest/attest.hpp"
#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

namespace tare::test {

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string corpus(const std::string& name) {
  return contents(TARE_TEST_DATA "/corpus/" + name);
}

/// What can be opened; of other files their path.
inline Checkpoint opened(const std::string& path) {
  try {
    return open_checkpoint(path, {});
  } catch (const Error& error) {
    return unopened(path, error);
  }
}

/// All that is said of a file of these bytes, names that are not allowed with their verdicts; empty where it is plain
/// data.
inline std::string told(const std::string& bytes, const std::string& ending = ".file") {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tare-told-" + std::to_string(::getpid()) + ending);
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::string all;
  try {
    const Attestation found = attest(opened(path.string()), newest_torch_release());
    for (const Unread& unread : found.unread) all += unread.place.inside + ": " + unread.why + "\n";
    for (const AttestedGlobal& global : found.globals) {
      if (global.verdict == Verdict::allowed) continue;
      all += std::string(name(global.verdict)) + " " + global.module + "." + global.name + "\n";
    }
    CHECK(found.is_plain() == all.empty());
  } catch (const Error& error) {
    all = error.what();
  }
  std::filesystem::remove(path);
  return all;
}

inline bool says(const std::string& all, std::string_view part) {
  UNSCOPED_INFO(all);
  return all.find(part) != std::string::npos;
}

}  // namespace tare::test
