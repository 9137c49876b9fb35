// Checkpoints of TensorFlow and Orbax as they lie in folders: by which names they are found, and what is missing.
#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;

namespace {

using Paths = std::vector<std::string>;

const std::string corpus = std::string(TARE_TEST_DATA) + "/corpus/";

bool has(const Checkpoint& checkpoint, std::string_view code) {
  return std::any_of(checkpoint.findings.begin(), checkpoint.findings.end(),
                     [&](const Finding& finding) { return finding.code == code; });
}

/// "path: dialect scale", of the only scaler.
std::string only_scaler(const std::string& target) {
  const Checkpoint checkpoint = open_checkpoint(target, {});
  if (checkpoint.scalers.size() != 1) return std::to_string(checkpoint.scalers.size()) + " scalers";
  const FoundScaler& state = checkpoint.scalers[0].state();
  const auto scale = static_cast<long>(state.find(Role::scale)->value.as_double());
  return state.path + ": " + std::string(state.dialect->name) + " " + std::to_string(scale);
}

Status status_of(const std::string& target) {
  return test::status_of([&] { open_checkpoint(target, {}); });
}

}  // namespace

TEST_CASE("a TensorFlow checkpoint is found by its folder, its prefix, its index and its data") {
  const std::string folder = corpus + "tensorflow/checkpoint_keras3/ckpt";
  for (const char* name : {"", "/", "/ckpt-7", "/ckpt-7.index", "/ckpt-7.data-00000-of-00001"}) {
    INFO(name);
    CHECK(only_scaler(folder + name) == "optimizer: keras 1024");
  }
  CHECK(only_scaler(corpus + "tensorflow/savedmodel/saved") == "optimizer.loss_scale: tf_keras 512");
  CHECK(only_scaler(corpus + "tensorflow/saver_tf1") == ": tf_keras 8192");
}

TEST_CASE("the checkpoint file says which of several TensorFlow resumes from") {
  const std::string folder = corpus + "tensorflow/checkpoint_legacy/ckpt";
  const Checkpoint checkpoint = open_checkpoint(folder, {});
  CHECK(checkpoint.resolved == folder + "/ckpt-2.index");
  CHECK(has(checkpoint, "run-directory"));

  const Scratch scratch;
  for (const char* name : {"ckpt-2.index", "ckpt-2.data-00000-of-00001"}) {
    scratch.copy("tensorflow/checkpoint_legacy/ckpt/" + std::string(name), std::string("moved/") + name);
  }
  scratch.write("moved/checkpoint", "model_checkpoint_path: \"/elsewhere/run/ckpt-2\"\n");
  CHECK(only_scaler(scratch.path("moved")) == "optimizer.loss_scale: tf_keras 16384");
  scratch.write("moved/checkpoint", "model_checkpoint_path: \"ckpt-3\"\n");
  CHECK(status_of(scratch.path("moved")) == Status::not_found);
  scratch.write("moved/checkpoint", "not a pointer at all");
  CHECK(only_scaler(scratch.path("moved")) == "optimizer.loss_scale: tf_keras 16384");
}

TEST_CASE("a TensorFlow checkpoint without its index, or without a data file, is told of") {
  const std::string from = "tensorflow/saver_tf1_sharded/model.ckpt-2";
  const Scratch scratch;
  scratch.copy(from + ".data-00001-of-00002", "torn/model.ckpt-2.data-00001-of-00002");
  CHECK(status_of(scratch.path("torn/model.ckpt-2.data-00001-of-00002")) == Status::not_found);
  CHECK(status_of(scratch.path("torn")) == Status::not_found);
  scratch.copy(from + ".index", "torn/model.ckpt-2.index");
  const Checkpoint torn = open_checkpoint(scratch.path("torn"), {});
  CHECK(torn.scalers.size() == 1);  // the scale is in the shard that is there
  CHECK(has(torn, "incomplete-checkpoint"));
}

TEST_CASE("another program's index is no checkpoint") {
  const Scratch scratch;
  scratch.write("faiss.index", std::string(200, 'x'));
  CHECK(status_of(scratch.path("faiss.index")) == Status::unsupported);
  scratch.copy("tensorflow/checkpoint_v3/ckpt/ckpt-4.index", "renamed.bin");
  CHECK(status_of(scratch.path("renamed.bin")) == Status::unsupported);
}

TEST_CASE("of an Orbax run the highest finished step counts, and an item is found by its folder and its files") {
  CHECK(open_checkpoint(corpus + "flax/orbax_ocdbt/run", {}).resolved == corpus + "flax/orbax_ocdbt/run/2");
  for (const char* name :
       {"run", "run/2", "run/2/default", "run/2/default/manifest.ocdbt", "run/2/default/_METADATA"}) {
    INFO(name);
    CHECK(only_scaler(corpus + "flax/orbax_ocdbt/" + name) == "dynamic_scale: flax 32768");
  }
  CHECK(only_scaler(corpus + "flax/orbax_zarr/run/10/default/_METADATA") == "dynamic_scale: flax 150");
}

TEST_CASE("folders of plain numbers are a run only where Orbax wrote them") {
  const Scratch scratch;
  for (const char* rank : {"ranks/0/scaler.pt", "ranks/1/scaler.pt"}) {
    scratch.copy("accelerate/save_state_bin/state/scaler.pt", rank);
  }
  CHECK(open_checkpoint(scratch.path("ranks"), {}).files.size() == 2);
}

TEST_CASE(
    "the variables of OneFlow are read out of their folders, and a pickle without those of a scaler is a pickle") {
  CHECK(only_scaler(corpus + "oneflow/variable_folders/model") == ": oneflow 32768");
  CHECK(only_scaler(corpus + "oneflow/external_data/model/pickled_data") == ": oneflow 32768");

  const Scratch scratch;
  scratch.copy("oneflow/graph/model.pkl", "one/pickled_data");
  CHECK(only_scaler(scratch.path("one")) == "data: oneflow 32768");
}

TEST_CASE("a variable of OneFlow whose elements do not fit its description is corrupt, and one outside is refused") {
  const std::string variable = "System-Train-DynamicLossScale-GraphBase_0-LossScale";
  const Scratch scratch;
  scratch.copy("oneflow/variable_folders/model/" + variable + "/out", variable + "/out");
  scratch.write("snapshot_done", "");
  for (const char* meta : {"shape {\n  dim: 2\n}\ndata_type: kFloat\n", "shape {\n  dim: 1\n}\ndata_type: kNone\n",
                           "shape {\n  dim: -1\n}\ndata_type: kFloat\n", "shape {\n  dim: x\n}\ndata_type: kFloat\n",
                           "shape { dim: 1 } strides: 1", ""}) {
    INFO(meta);
    scratch.write(variable + "/meta", meta);
    CHECK(status_of(scratch.path()) == Status::corrupt);
  }
  scratch.copy("oneflow/external_data/model/pickled_data", "out/pickled_data");
  CHECK(status_of(scratch.path("out")) != Status::ok);  // its folders are not there
}

TEST_CASE("an Orbax item with a folder d is a database without its manifest, unless d is an array") {
  namespace fs = std::filesystem;
  for (const std::string item : {"flax/orbax_zarr/run/10/default", "flax/orbax_zarr3/run/4/default"}) {
    INFO(item);
    const Scratch scratch;
    fs::copy(corpus + item, scratch.path("item"), fs::copy_options::recursive);
    CHECK_FALSE(has(open_checkpoint(scratch.path("item"), {}), "incomplete-checkpoint"));
    fs::copy(scratch.path("item/dynamic_scale.scale"), scratch.path("item/d"), fs::copy_options::recursive);
    CHECK_FALSE(has(open_checkpoint(scratch.path("item"), {}), "incomplete-checkpoint"));
    for (const char* document : {"item/d/.zarray", "item/d/zarr.json"}) fs::remove(scratch.path(document));
    CHECK(has(open_checkpoint(scratch.path("item"), {}), "incomplete-checkpoint"));
  }
}
