#include "lib/checkpoint/reopened.hpp"

#include <catch2/catch.hpp>

#include "lib/base/error.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;

namespace {

constexpr const char* scaler_file = "torch/scaler-file-t2.15/scaler.pt";

NodeChange new_scale(const FoundScaler& scaler, double value) {
  return {scaler.find(Role::scale)->node, value, "scale"};
}

}  // namespace

TEST_CASE("a file is opened again, shows its scaler anew, and how it would read after a change") {
  const Scratch scratch;
  scratch.copy(scaler_file, "scaler.pt");
  const Checkpoint checkpoint = open_checkpoint(scratch.path("scaler.pt"), {});
  const Reopened file(checkpoint, 0);
  const FoundScaler& scaler = file.scaler(checkpoint.scalers[0].state());
  CHECK(file.file_of_part(file.container().part_of(scaler.node)) == 0);
  const auto changes = file.container().change_parts(std::vector{new_scale(scaler, 4096)});
  const auto after = file.scalers_after(changes);
  REQUIRE(after.size() == 1);
  CHECK(after[0].find(Role::scale)->value.as_double() == 4096);
  CHECK(same_state(open_checkpoint(scratch.path("scaler.pt"), {}).scalers[0].state(), scaler));
}

TEST_CASE("the parts of a distributed checkpoint are opened again, and numbered as when they were read") {
  const Checkpoint checkpoint = open_checkpoint(TARE_TEST_DATA "/corpus/torch/dcp-plain-4rank-t2.15/step_20", {});
  const Reopened file(checkpoint, checkpoint.scalers[0].copies[0].file);
  const FoundScaler& scaler = file.scaler(checkpoint.scalers[0].state());
  const std::size_t part = file.container().part_of(scaler.find(Role::scale)->node);
  CHECK(checkpoint.files[file.file_of_part(part)].path == "__3_0.distcp");
  const auto changes = file.container().change_parts(std::vector{new_scale(scaler, 4096)});
  CHECK(file.scalers_after(changes)[0].find(Role::scale)->value.as_double() == 4096);
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
