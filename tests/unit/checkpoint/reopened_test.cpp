#include "lib/checkpoint/reopened.hpp"

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;

namespace {

constexpr const char* scaler_file = "torch/scaler-file-t2.15/scaler.pt";

/// A new scale for the checkpoint's only scaler, as the file that holds it has its nodes.
NodeChange new_scale(const Reopened& file, const FoundScaler& scaler, double value) {
  const auto index = static_cast<std::size_t>(scaler.find(Role::scale) - scaler.fields.data());
  return {file.nodes_of(scaler)[index].node, value, "scale"};
}

std::vector<double> scales_after(const Reopened& file, const NodeChange& change) {
  std::vector<double> scales;
  file.each_scaler_after(file.container().change_parts(std::vector{change}), [&](const FoundScaler& scaler) {
    scales.push_back(scaler.find(Role::scale)->value.as_double());
  });
  return scales;
}

}  // namespace

TEST_CASE("a file is opened again, shows where its scaler stands, and how it would read after a change") {
  const Scratch scratch;
  scratch.copy(scaler_file, "scaler.pt");
  const Checkpoint checkpoint = open_checkpoint(scratch.path("scaler.pt"), {});
  const FoundScaler& scaler = checkpoint.scalers[0].state();
  const Reopened file(checkpoint, 0, std::vector{&scaler});
  REQUIRE(file.nodes_of(scaler).size() == scaler.fields.size());
  CHECK(file.file_of_part(file.container().part_of(file.nodes_of(scaler)[0].node)) == 0);
  CHECK(scales_after(file, new_scale(file, scaler, 4096)) == std::vector{4096.0});
  CHECK(same_state(open_checkpoint(scratch.path("scaler.pt"), {}).scalers[0].state(), scaler));
}

TEST_CASE("the parts of a distributed checkpoint are opened again, and numbered as when they were read") {
  const Checkpoint checkpoint = open_checkpoint(TARE_TEST_DATA "/corpus/torch/dcp-plain-4rank-t2.15/step_20", {});
  const FoundScaler& scaler = checkpoint.scalers[0].state();
  const Reopened file(checkpoint, checkpoint.scalers[0].copies[0].file, std::vector{&scaler});
  const NodeChange change = new_scale(file, scaler, 4096);
  CHECK(checkpoint.files[file.file_of_part(file.container().part_of(change.node))].path == "__3_0.distcp");
  CHECK(scales_after(file, change) == std::vector{4096.0});
}

TEST_CASE("a scaler that the file does not hold is refused") {
  const Scratch scratch;
  scratch.copy(scaler_file, "scaler.pt");
  const Checkpoint checkpoint = open_checkpoint(scratch.path("scaler.pt"), {});
  FoundScaler other = checkpoint.scalers[0].state();
  other.fields.pop_back();
  const Reopened file(checkpoint, 0, std::vector<const FoundScaler*>{&other});
  CHECK_THROWS_WITH(file.nodes_of(other), Catch::Contains("reads otherwise than a moment ago"));
}

TEST_CASE("a file that is another one by then is refused, whatever it holds") {
  const Scratch scratch;
  scratch.copy(scaler_file, "scaler.pt");
  const Checkpoint checkpoint = open_checkpoint(scratch.path("scaler.pt"), {});
  scratch.copy(scaler_file, "other.pt");
  std::filesystem::rename(scratch.path("other.pt"), scratch.path("scaler.pt"));
  CHECK_THROWS_WITH(Reopened(checkpoint, 0), Catch::Contains("changed since it was read"));
}

TEST_CASE("a file that is no longer there is told") {
  const Scratch scratch;
  scratch.copy(scaler_file, "scaler.pt");
  const Checkpoint checkpoint = open_checkpoint(scratch.path("scaler.pt"), {});
  std::filesystem::remove(scratch.path("scaler.pt"));
  CHECK_THROWS_AS(Reopened(checkpoint, 0), Error);
}
