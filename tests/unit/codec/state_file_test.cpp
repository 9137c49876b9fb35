// State files by path: which format is written, which is read, which options each takes.
#include "lib/codec/state_file.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;

namespace {

ScalerState torch_state() {
  return state_from_json(
      R"({"policy":"torch","fields":{"scale":1024.0,"_growth_tracker":3,"growth_factor":2.0,"backoff_factor":0.5,)"
      R"("growth_interval":2000}})",
      "torch");
}

std::string text_in(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

template <class Body>
Error refusal_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  return {Status::ok, "none"};
}

}  // namespace

TEST_CASE("the ending chooses the format that is written, the content the one that is read") {
  const Scratch folder;
  const ScalerState state = torch_state();
  for (const char* name : {"state.json", "state.h5", "state.hdf5"}) {
    INFO(name);
    const std::string path = folder.path(name);
    write_state_file(state, path, {});
    CHECK(text_in(path).starts_with(std::string_view(name).ends_with(".json") ? "{" : "\x89HDF"));
    CHECK(read_state_file(path).state == state);
    CHECK(read_state_file(path).findings.empty());
    for (const char* other : {"renamed.json", "renamed.h5", "renamed"}) {
      std::filesystem::copy_file(path, folder.path(other), std::filesystem::copy_options::overwrite_existing);
      CHECK(read_state_file(folder.path(other)).state == state);
    }
  }
}

TEST_CASE("a path whose ending tells no format is refused, and nothing is written") {
  const Scratch folder;
  for (const char* name : {"state", "state.pt", "h5", "state.h5.txt"}) {
    INFO(name);
    const Error refusal = refusal_of([&] { write_state_file(torch_state(), folder.path(name), {}); });
    CHECK(refusal.status == Status::invalid_argument);
    CHECK(refusal.what() == folder.path(name) + ": the ending tells no format");
    CHECK(!std::filesystem::exists(folder.path(name)));
  }
}

TEST_CASE("an option of the other format is refused, and nothing is written") {
  const Scratch folder;
  const auto refusal = [&](const char* name, const char* options) {
    return refusal_of([&] { write_state_file(torch_state(), folder.path(name), parse_state_file_options(options)); });
  };
  const Error compression = refusal("state.json", R"({"compression":"none"})");
  CHECK(compression.status == Status::invalid_argument);
  CHECK(compression.what() == folder.path("state.json") + ": the options' \"compression\" is for HDF5 alone");
  const Error shape = refusal("state.h5", R"({"shape":"tare"})");
  CHECK(shape.status == Status::invalid_argument);
  CHECK(shape.what() == folder.path("state.h5") + ": the options' \"shape\" is for JSON alone");
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("options are those of the list, and their values, too") {
  CHECK(!parse_state_file_options(nullptr).shape);
  CHECK(!parse_state_file_options("").compression);
  CHECK(parse_state_file_options(R"({"compression":"gzip"})").compression == Compression::gzip);
  CHECK(parse_state_file_options(R"({"shape":"lerobot"})").shape == JsonShape::lerobot);
  for (const char* options : {R"({"level":1})", R"({"compression":"lz4"})", R"({"shape":1})", "[]", "{"}) {
    INFO(options);
    CHECK(refusal_of([&] { parse_state_file_options(options); }).status == Status::invalid_argument);
  }
}

TEST_CASE("the compression that is asked for is that of the file") {
  const Scratch folder;
  ScalerState state;
  state.policy = "tomorrow";
  state.fields.set("history", StateArray{{16384}, std::vector<double>(16384, 0.5)});
  const auto size_of = [&](const char* options) {
    write_state_file(state, folder.path("state.h5"), parse_state_file_options(options));
    CHECK(read_state_file(folder.path("state.h5")).state == state);
    return std::filesystem::file_size(folder.path("state.h5"));
  };
  const auto by_default = size_of(nullptr);
  CHECK(size_of(R"({"compression":"none"})") > 16384 * 8);
  CHECK(size_of(R"({"compression":"gzip"})") == by_default);
  CHECK(size_of(R"({"compression":"zstd"})") < 16384);
}

TEST_CASE("lerobot's shape holds a torch scaler's five values, and is read back") {
  const Scratch folder;
  const std::string path = folder.path("scaler_state.json");
  const StateFileOptions lerobot{.shape = JsonShape::lerobot};
  write_state_file(torch_state(), path, lerobot);
  CHECK(text_in(path).find("policy") == std::string::npos);
  CHECK(read_state_file(path).state == torch_state());
  ScalerState other;
  other.policy = "tomorrow";
  CHECK(refusal_of([&] { write_state_file(other, path, lerobot); }).status == Status::mismatch);
  CHECK(read_state_file(path).state == torch_state());
}

TEST_CASE("what is neither JSON nor HDF5 is told so") {
  const Scratch folder;
  folder.write("state.json", "PK\x03\x04");
  folder.write("empty.h5", "");
  for (const char* name : {"state.json", "empty.h5"}) {
    const Error refusal = refusal_of([&] { read_state_file(folder.path(name)); });
    CHECK(refusal.status == Status::corrupt);
    CHECK(refusal.what() == folder.path(name) + ": neither JSON nor HDF5");
  }
}

TEST_CASE("a value that the policy cannot hold is told with the file that it stands in") {
  const Scratch folder;
  const std::string path = folder.path("state.json");
  for (const char* value : {"\"much\"", "[]", "{}"}) {
    INFO(value);
    folder.write("state.json", std::string(R"({"policy":"torch","fields":{"scale":)") + value + "}}");
    const Error refusal = refusal_of([&] { read_state_file(path); });
    CHECK(refusal.status == Status::mismatch);
    CHECK(std::string(refusal.what()).starts_with(path + ": fields.scale is "));
    const Error of_several = refusal_of([&] { read_states_file(path); });
    CHECK(std::string(of_several.what()) == refusal.what());
  }
}
