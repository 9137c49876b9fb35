// HDF5 and Keras's files: plain where every byte is one of something that holds data, told where it is not.
#include <algorithm>

#include "lib/container/keras_config.hpp"
#include "tests/places.hpp"
#include "tests/unit/attest/told.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

std::string seed(const std::string& name) {
  return contents(TARE_TEST_SOURCE "/fuzz/seeds/hdf5/" + name + ".h5");
}

std::string replaced(std::string text, std::string_view from, std::string to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  to.resize(from.size(), ' ');
  return text.replace(at, from.size(), to);
}

struct Run {
  std::size_t begin, size;
};

/// Runs of at least `least` zero bytes.
std::vector<Run> rooms(const std::string& bytes, std::size_t least) {
  std::vector<Run> found;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t begin = bytes.find('\0', at);
    if (begin == std::string::npos) break;
    at = std::min(bytes.find_first_not_of('\0', begin), bytes.size());
    if (at - begin >= least) found.push_back({begin, at - begin});
  }
  return found;
}

}  // namespace

TEST_CASE("what Keras writes is plain data") {
  for (const auto* file :
       {"keras/archive_jax_auto/model.keras", "keras/archive_tf/model.keras", "keras/archive_torch/model.keras",
        "keras/old_archive_hdf5_2/model.keras", "keras/legacy_h5_tf/model.h5", "keras/weights_jax/model.weights.h5",
        "keras/old_weights_hdf5_2/model.weights.h5", "keras/weights_bf16_jax/model.weights.h5",
        "keras/weights_libver_latest/model.weights.h5", "keras/weights_tf_auto/model.weights.h5"}) {
    INFO(file);
    CHECK(told(corpus(file)) == "");
  }
}

TEST_CASE("chunks, texts and lists of HDF5's own are plain data") {
  for (const auto* name : {"forms", "compact_v0", "compact_latest", "big_endian", "contiguous_v2"}) {
    INFO(name);
    CHECK(told(seed(name)) == "");
  }
}

TEST_CASE("an HDF5 file that leads out of itself, or needs code of others, is told") {
  CHECK(says(told(seed("virtual")), "data are in other files"));
  CHECK(says(told(seed("plugin")), "only a plugin decodes (filter 32015)"));
  for (const auto* name : {"pickled_attribute", "pickled_blob", "pickled_variable"}) {
    INFO(name);
    CHECK(says(told(seed(name)), "dangerous os.getcwd"));
  }
  CHECK(says(told(seed("pickled_text")), "a pickle of nothing but a call"));  // behind a zero byte
  CHECK(says(told(corpus("hostile/h5_external_storage/model.weights.h5")), "external storage"));
  CHECK(says(told(corpus("hostile/h5_hard_link_cycle/model.weights.h5")), "another one leads to, too"));
  for (const auto* file : {"h5_bad_checksum", "h5_btree_cycle", "h5_continuation_cycle", "h5_external_link",
                           "h5_soft_link_cycle", "h5_wrong_types"}) {
    INFO(file);
    CHECK(told(corpus("hostile/"s + file + "/model.weights.h5")) != "");
  }
  CHECK(told(corpus("hostile/h5_vlen_length/model.h5")) != "");
}

TEST_CASE("bytes of an HDF5 file that belong to nothing are told") {
  CHECK(says(told(seed("deleted")), "belong to nothing"));
  CHECK(says(told(seed("overwritten")), "belong to nothing"));
  const std::string image = corpus("keras/weights_jax/model.weights.h5");
  CHECK(says(told(image + "x"), "behind its end"));
  CHECK(says(told(image + std::string(512, '\0')), "behind its end"));
  CHECK(says(told(std::string(512, 'x') + image), "belong to nothing"));
}

TEST_CASE("what is put into room that HDF5 left is told") {
  for (const auto* file : {"keras/weights_jax/model.weights.h5", "keras/legacy_h5_tf/model.h5"}) {
    const std::string image = corpus(file);
    const std::vector<Run> all = rooms(image, 200);
    CHECK(all.size() > 10);
    for (const Run room : all) {
      INFO(file << " at " << room.begin);
      std::string changed = image;
      changed.replace(room.begin + room.size / 2, 6, "hidden");
      CHECK(told(changed) != "");
    }
  }
}

TEST_CASE("layers of Keras's that run code, and classes that are not its own, are named") {
  const std::string image = corpus("keras/legacy_h5_tf/model.h5");
  const auto with = [&](std::string_view from, const std::string& to) { return told(replaced(image, from, to)); };
  CHECK(says(with("\"Dense\", ", "\"Lambda\","), "dangerous keras.layers.Lambda"));
  CHECK(says(with("\"keras.initializers\"", "\"subprocess\""), "dangerous subprocess.GlorotUniform"));
  CHECK(says(with("\"keras.initializers\"", "\"initializers\""), "unknown initializers.GlorotUniform"));
  CHECK(says(with("\"MeanSquaredError\"", "\"MineSquaredError\""), "unknown keras.layers.MineSquaredError"));

  const std::string archive = told(corpus("hostile/keras_config_code/model.keras"));
  CHECK(says(archive, "dangerous marshal.loads"));
  CHECK(says(archive, "dangerous os."));
}

TEST_CASE("members of a .keras that are not Keras's own are told") {
  CHECK(says(told(corpus("hostile/keras_two_weights/model.keras")), "not Keras's own"));
  CHECK(told(corpus("hostile/keras_npz_objects/model.keras")) != "");
  CHECK(told(corpus("hostile/keras_traversal/model.keras")) != "");
}

TEST_CASE("a configuration names what Keras would import for it") {
  const auto names = [](const std::string& text) {
    const ByteView bytes = as_bytes(text);
    const auto config = open_keras_config(std::make_shared<MemorySource>("x", Bytes(bytes.begin(), bytes.end())));
    std::string all;
    for (const GlobalName& global : config->globals()) all += global.module + "." + global.name + " ";
    return all;
  };
  CHECK(names(R"({"module": "keras.layers", "class_name": "Dense", "config": {}})") == "");
  CHECK(names(R"({"module": "tf_keras.src.x", "class_name": "LossScaleOptimizerV3", "config": {}})") == "");
  CHECK(names(R"({"module": "keras.src.ops.numpy", "class_name": "GetItem", "config": {}})") == "");
  CHECK(names(R"({"class_name": "function", "config": "relu", "module": "builtins"})") == "");
  CHECK(names(R"({"class_name": "function", "config": "eval", "module": "builtins"})") == "builtins.eval ");
  CHECK(names(R"({"class_name": "function", "config": "system", "module": "os"})") == "os.system ");
  CHECK(names(R"({"class_name": "__typespec__", "spec_name": "run", "module": "pty"})") == "pty.run ");
  CHECK(names(R"({"a": [{"class_name": "__lambda__", "config": {"code": "4wAA"}}]})") == "marshal.loads ");
  CHECK(names(R"({"class_name": "StringLookup", "config": {"vocabulary": "/etc/passwd"}})") ==
        "keras.layers.StringLookup ");
  CHECK(names(R"({"module": "keras.utils", "class_name": "get_file", "config": {}})") == "keras.utils.get_file ");
  CHECK(names(R"({"module": "kerasx.layers", "class_name": "Dense", "config": {}})") == "kerasx.layers.Dense ");
  CHECK(names(R"({"module": null, "class_name": "TFOpLambda", "config": {}})") == "keras.layers.TFOpLambda ");
}
