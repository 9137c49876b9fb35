// Real checkpoints and hostile ones: every name that could run is told with its place, and nothing runs.
#include "lib/attest/attest.hpp"

#include "lib/attest/safe_globals.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

using namespace tare;

namespace {

struct Attested {
  Checkpoint checkpoint;
  Attestation found;

  [[nodiscard]] const AttestedGlobal* global(const std::string& module, const std::string& name) const {
    const auto is_it = [&](const AttestedGlobal& g) { return g.module == module && g.name == name; };
    const auto it = std::ranges::find_if(found.globals, is_it);
    return it == found.globals.end() ? nullptr : &*it;
  }
  [[nodiscard]] std::size_t refused() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(found.extra_states, [](const AttestedExtraState& s) { return s.fate.refused; }));
  }
};

Attested attested(const std::string& path, const char* torch = "2.15") {
  Attested made{open_checkpoint(TARE_TEST_DATA "/corpus/" + path, {}), {}};
  made.found = attest(made.checkpoint, require_torch_release(torch));
  return made;
}

}  // namespace

TEST_CASE("every dangerous name of the hostile files is told, whatever opcode names it, and nothing runs") {
  struct Case {
    const char *file, *module, *name;
  };
  for (const Case& given : {Case{"call-os-system/evil.pt", "os", "system"},
                            {"call-posix-system/evil.pt", "posix", "system"},
                            {"call-eval/evil.pt", "builtins", "eval"},
                            {"call-exec/evil.pt", "builtins", "exec"},
                            {"call-py2-eval/evil.pt", "__builtin__", "eval"},
                            {"call-runpy/evil.pt", "runpy", "_run_code"},
                            {"call-stack-global/evil.pt", "os", "system"},
                            {"call-inst/evil.pt", "os", "system"},
                            {"call-obj/evil.pt", "os", "system"},
                            {"call-newobj-ex/evil.pt", "subprocess", "Popen"},
                            {"call-build/evil.pt", "os", "system"},
                            {"call-in-persid/evil.pt", "os", "system"},
                            {"call-is-scale/evil.pt", "os", "system"},
                            {"call-legacy/evil.pt", "os", "system"},
                            {"call-plain-pickle/evil.pkl", "os", "system"},
                            {"call-popped/evil.pt", "os", "system"},
                            {"call-top/evil.pt", "os", "system"}}) {
    INFO(given.file);
    const Attested all = attested(std::string("hostile/") + given.file);
    const AttestedGlobal* global = all.global(given.module, given.name);
    REQUIRE(global != nullptr);
    CHECK(global->verdict == Verdict::dangerous);
    CHECK(!global->since);
    CHECK(!global->places.empty());
    CHECK(all.found.globals.front().verdict == Verdict::dangerous);  // the worst first
    CHECK(!all.found.is_plain());
    const auto needed = needed_safe_globals(all.found);  // nobody is told to trust it
    CHECK(std::ranges::find(needed, std::string(given.module) + "." + given.name, &SafeGlobal::name) == needed.end());
  }
  CHECK(!std::filesystem::exists("PWNED"));
}

TEST_CASE("a scaler that torch wrote is plain data, and less of it was allowed before") {
  const Attested newest = attested("torch/train-t2.15/checkpoint.pth");
  CHECK(newest.found.is_plain());
  CHECK(newest.found.unread.empty());
  CHECK(newest.found.extra_states.empty());
  for (const AttestedGlobal& global : newest.found.globals) {
    CHECK(global.verdict == Verdict::allowed);
    CHECK(global.since);
  }
}

TEST_CASE("TransformerEngine's delayed scaling: the pickle in each tensor is read, and TE refuses it") {
  const Attested all = attested("transformer_engine/te2.20_delayed/model.pt");
  const AttestedGlobal* recipe = all.global("transformer_engine.common.recipe", "DelayedScaling");
  REQUIRE(recipe != nullptr);
  CHECK(recipe->verdict == Verdict::framework);
  CHECK(recipe->places.size() == 4);
  CHECK(recipe->places.front().inside == "layers.0._extra_state");
  CHECK(all.found.extra_states.size() == 4);
  CHECK(all.refused() == 4);
  CHECK(all.found.extra_states.front().fate.why == "delayed scaling keeps its state in a pickle");
  CHECK(all.found.documents == 21);               // the file, 4 pickles, and 16 storages in them
  CHECK(needed_safe_globals(all.found).empty());  // weights_only takes the file: it does not look inside
  CHECK(!all.found.is_plain());
  const AttestedGlobal* storage = all.global("torch", "FloatStorage");
  REQUIRE(storage != nullptr);
  CHECK(storage->places.back().inside.starts_with("layers.3._extra_state > "));
}

TEST_CASE(
    "TransformerEngine 1.x: the archive in each io.BytesIO is read, and weights_only needs to be told of BytesIO") {
  const Attested all = attested("transformer_engine/te1.13_4layers/model.pt");
  CHECK(all.found.documents == 5);
  CHECK(all.refused() == 4);
  const auto needed = needed_safe_globals(all.found);
  REQUIRE(needed.size() == 1);
  CHECK(needed.front().name == "_io.BytesIO");
  CHECK(needed.front().needs == "from _io import BytesIO");
  CHECK(needed.front().expression == "BytesIO");
}

TEST_CASE("TransformerEngine's recipes without state are plain data, and ignored") {
  for (const char* file : {"te2.20_mxfp8/model.pt", "te2.20_current_scaling/model.pt", "te2.5_no_fp8/model.pt"}) {
    INFO(file);
    const Attested all = attested(std::string("transformer_engine/") + file);
    CHECK(all.found.is_plain());
    CHECK(all.found.extra_states.size() == 2);
    CHECK(all.refused() == 0);
  }
}

TEST_CASE("extra states in a distributed checkpoint and in Megatron's rank files are found in their blobs") {
  const Attested dcp = attested("transformer_engine/te2.20_dcp/ckpt");
  CHECK(dcp.refused() == 2);
  CHECK(dcp.global("transformer_engine.common.recipe", "DelayedScaling") != nullptr);
  std::set<std::string> items;
  for (const AttestedPlace& place : dcp.global("torch._utils", "_rebuild_tensor_v2")->places) {
    items.insert(place.inside);
  }
  CHECK(items == std::set<std::string>{"", "model.layers.0._extra_state", "model.layers.0.weight",
                                       "model.layers.1._extra_state", "model.layers.1.weight"});
  const Attested megatron = attested("transformer_engine/te2.20_megatron_torch/ckpt/iter_0000010");
  CHECK(megatron.refused() == 8);
  CHECK(megatron.global("argparse", "Namespace")->verdict == Verdict::framework);
}

TEST_CASE("advice is given where it helps: of files that torch.load reads, beside nothing dangerous or unknown") {
  for (const char* file : {"torch/dcp-stateful-1rank-t2.15/step_20", "numpy/npy_dict/state.npy",
                           "numpy/pickle_protocol4/state.pkl", "paddle/static_amp_state_dict", "torch/opaque"}) {
    INFO(file);
    const Attested all = attested(file);
    CHECK(
        std::ranges::any_of(all.found.globals, [](const AttestedGlobal& g) { return g.verdict != Verdict::allowed; }));
    CHECK(needed_safe_globals(all.found).empty());
  }
}

TEST_CASE("what is to be pasted goes by where names are today, and by what weights_only reads") {
  const auto told = [](const char* file) {
    std::string all;
    for (const SafeGlobal& global : needed_safe_globals(attested(file).found)) {
      all += global.needs + ": " + global.expression + "\n";
    }
    return all;
  };
  CHECK(told("torch/numpy-t2.0/checkpoint.pt")
            .find("import numpy: (numpy.float64(0).__reduce__()[0], \"numpy.core.multiarray.scalar\")\n") !=
        std::string::npos);
  CHECK(told("torch/object-t2.0/scaler.pt").find("import torch.amp.grad_scaler: (torch.amp.grad_scaler._refresh") !=
        std::string::npos);
  CHECK(told("torch/dict-kinds/dicts.pt").starts_with("from builtins import dict: dict\n"));
  for (const char* file : {"torch/protocol3-t2.0/p.pt", "torch/protocol4-t2.15/p.pt", "torch/protocol5-t2.4/p.pt"}) {
    INFO(file);
    CHECK(told(file).empty());
    CHECK(never_weights_only(attested(file).found) == std::vector<std::string>{"p.pt"});
  }
  CHECK(never_weights_only(attested("torch/train-t2.15/checkpoint.pth").found).empty());
}

TEST_CASE("values that a distributed checkpoint keeps in a safetensors image are accounted for") {
  CHECK(attested("torch/dcp-safetensors-tensors/step_20").found.unread.empty());
}

TEST_CASE("NumPy's arrays of numbers are plain data") {
  for (const char* file :
       {"numpy/npz_flat/state.npz", "numpy/npz_compressed/state.npz", "numpy/npz_no_scaler/state.npz"}) {
    INFO(file);
    CHECK(attested(file).found.is_plain());
  }
}

TEST_CASE("what a large pickle leaves in the file is not vouched for, and neither is another loader's format") {
  const std::string path = (std::filesystem::temp_directory_path() / "tare-attest-large.pkl").string();
  const std::uint32_t size = 2 << 20;
  std::string pickle(
      "\x80\x03}X\x01\x00\x00\x00"
      "aB",
      10);
  pickle.append(reinterpret_cast<const char*>(&size), sizeof size).append(size, 'x').append("s.");
  std::ofstream(path, std::ios::binary).write(pickle.data(), static_cast<std::streamsize>(pickle.size()));
  Attested all{open_checkpoint(path, {}), {}};
  all.found = attest(all.checkpoint, newest_torch_release());
  std::filesystem::remove(path);
  CHECK(all.found.globals.empty());
  REQUIRE(all.found.unread.size() == 1);
  CHECK(all.found.unread.front().why.starts_with("1 strings of many bytes"));
  CHECK(!all.found.is_plain());
  const Attested arrays = attested("hostile/npz_object_pickle/state.npz");
  CHECK(!arrays.found.is_plain());
}

TEST_CASE("an older torch allows less") {
  const Attested newest = attested("transformer_engine/te2.20_mxfp8/model.pt");
  const Attested oldest = attested("transformer_engine/te1.13_4layers/model.pt", "2.4");
  CHECK(newest.global("torch", "ByteStorage")->verdict == Verdict::allowed);
  CHECK(oldest.global("_codecs", "encode")->verdict == Verdict::framework);
  CHECK(oldest.global("_codecs", "encode")->since == find_torch_release("2.5"));
}
