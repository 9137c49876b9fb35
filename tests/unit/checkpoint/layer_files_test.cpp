// FP8 state of one path in several files: stages of a pipeline, tensor-parallel ranks, a file a layer.
#include "lib/checkpoint/layer_files.hpp"

#include <algorithm>

#include "lib/checkpoint/group.hpp"
#include "lib/checkpoint/rank_set.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

/// A file, and the scale of the layer "a" in it.
struct LayerFile {
  std::string path;
  double scale = 1;
};

struct Grouped {
  std::vector<CheckpointFile> files;
  std::vector<Scaler> scalers;
  std::vector<Finding> findings;

  [[nodiscard]] std::vector<std::string> layers() const {
    std::vector<std::string> names;
    for (const Scaler& scaler : scalers) names.push_back(layer_name(scaler.state()));
    return names;
  }
};

Grouped grouped_layers(const std::vector<LayerFile>& layer_files) {
  Grouped grouped;
  CopyGroups groups;
  for (const auto& [path, scale] : layer_files) {
    FoundScaler state;
    state.dialect = &transformer_engine_state;
    state.path = "a._extra_state";
    Field field;
    field.name = "scale_fwd";
    field.value = {scale, "float"};
    state.fields = {field};
    groups.add(std::move(state), {grouped.files.size(), {grouped.files.size()}}, path);
    grouped.files.emplace_back().path = path;
  }
  grouped.scalers = groups.take(grouped.files, grouped.findings);
  tell_layers_apart(grouped.scalers, grouped.files);
  return grouped;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("stages of a pipeline that count their layers from 0 are no copies that disagree") {
  for (const double second : {1.0, 2.0}) {  // as at the start, and later
    const Grouped found = grouped_layers({{"it/mp_rank_00_000/m.pt", 1}, {"it/mp_rank_00_001/m.pt", second}});
    CHECK(found.findings.empty());
    CHECK(found.layers() == Names{"mp_rank_*_000/m.pt:a", "mp_rank_*_001/m.pt:a"});
    CHECK(std::ranges::all_of(found.scalers, &Scaler::agree));
  }
}

TEST_CASE("tensor-parallel ranks whose FP8 state differs are told in one note, and each can be chosen") {
  const Grouped found = grouped_layers({{"mp_rank_00/m.pt", 1}, {"mp_rank_01/m.pt", 2}});
  REQUIRE(found.findings.size() == 1);
  CHECK(found.findings.front().severity == Severity::note);
  CHECK(found.layers() == Names{"mp_rank_00/m.pt:a", "mp_rank_01/m.pt:a"});
  CHECK(is_layer(found.scalers[1].state(), "mp_rank_01/m.pt:a"));
  CHECK_FALSE(is_layer(found.scalers[0].state(), "mp_rank_01/*"));
  CHECK(is_layer(found.scalers[0].state(), "a"));
  CHECK(grouped_layers({{"mp_rank_00/m.pt", 1}, {"mp_rank_01/m.pt", 1}}).layers() == Names{"a"});
}

TEST_CASE("a file for each layer, with the same keys in all, leaves each layer its name") {
  const Grouped found = grouped_layers({{"s/layer_02-model_00.pt", 1}, {"s/layer_03-model_00.pt", 2}});
  CHECK(found.layers() == Names{"layer_02-model_00.pt:a", "layer_03-model_00.pt:a"});
  Checkpoint checkpoint;
  checkpoint.files = found.files;
  CHECK(LayerNames(checkpoint).of(1, "a._extra_state")[1] == found.layers()[1]);
}

TEST_CASE("a stage of a pipeline that has fewer layers than the others lacks none") {
  std::vector<Finding> findings;
  Grouped found = grouped_layers({{"mp_rank_00_000/m.pt", 1}, {"mp_rank_01_000/m.pt", 1}});
  for (const char* other : {"mp_rank_00_001/m.pt", "mp_rank_01_001/m.pt"}) found.files.emplace_back().path = other;
  tell_of_incomplete_ranks(found.scalers, found.files, {}, findings);
  CHECK(std::ranges::none_of(findings, [](const Finding& finding) { return finding.code == "copies-missing"; }));
}
