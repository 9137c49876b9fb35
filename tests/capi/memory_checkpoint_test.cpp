// Checkpoints where memory runs out.
#include <tare/tare.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/capi/failing_memory.hpp"
#include "tests/capi/scratch.hpp"
#include "tests/capi/state_folder.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"

using namespace tare::test;

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string_view view(const tare_text* text) {
  return {tare_text_data(text), tare_text_size(text)};
}

/// Gives one text, whenever it is made.
using Ask = std::function<int32_t(tare_text**)>;

Ask asking(decltype(&tare_checkpoint_inspect) function, const std::string& path, const char* options) {
  return [=](tare_text** out) { return function(out, path.c_str(), options, nullptr); };
}

Ask asking_state(const std::string& path) {
  return [=](tare_text** out) {
    tare_state* state = nullptr;
    int32_t status = tare_checkpoint_state(&state, path.c_str(), nullptr, nullptr);
    if (status == TARE_OK) status = tare_state_to_json(out, state, nullptr);
    tare_state_destroy(state);
    return status;
  };
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

/// A save of OCDBT holds its time: where the first or the last byte of what is rewritten stays what it was by chance,
/// the range that an answer tells is shorter. Allocates nothing.
bool are_alike(std::string_view a, std::string_view b) {
  const auto is_range = [](std::string_view line) {
    return line.find("\"offset\": ") != line.npos || line.find("\"bytes_") != line.npos;
  };
  while (!a.empty() && !b.empty()) {
    const std::string_view first = take_line(a), second = take_line(b);
    if (first != second && !(is_range(first) && is_range(second))) return false;
  }
  return a.empty() && b.empty();
}

/// A thread that cannot be had is done without: then the answer must be the same.
void fail_everywhere_or_answer(const std::string& name, const Ask& ask) {
  tare_text* wanted = nullptr;
  INFO(name);
  REQUIRE(ask(&wanted) == TARE_OK);
  fail_everywhere_or_give(TARE_OK, name, [&] {
    tare_text* text = nullptr;
    const int32_t status = ask(&text);
    const bool is_same = status != TARE_OK || are_alike(view(text), view(wanted));
    if (!is_same) UNSCOPED_INFO("another answer: " << view(text));
    tare_text_destroy(text);
    return is_same ? status : TARE_E_INTERNAL;
  });
  tare_text_destroy(wanted);
}

const std::string corpus = TARE_TEST_DATA "/corpus/";
constexpr const char* dry_edit = R"({"set":{"scale":24},"dry_run":true})";

}  // namespace

TEST_CASE("a failed allocation in a call on a checkpoint's file is status 3, or changes nothing in the answer") {
  const std::string path = corpus + "torch/train-t2.15/checkpoint.pth";
  fail_everywhere_or_answer("inspect", asking(tare_checkpoint_inspect, path, R"({"globals":true})"));
  fail_everywhere_or_answer("attest", asking(tare_checkpoint_attest, path, R"({"torch":"2.6"})"));
  fail_everywhere_or_answer("state", asking_state(path));
  fail_everywhere_or_answer("dry run", asking(tare_checkpoint_edit, path, dry_edit));
}

TEST_CASE("a failed allocation while a checkpoint's folder is read is status 3, or changes nothing in the answer") {
  const std::string folder =
      GENERATE("deepspeed/zero2_2ranks/ckpt", "flax/orbax_fresh_numbers/run", "flax/orbax_ocdbt/run",
               "flax/orbax_zarr/run", "flax/orbax_zarr3/run", "lightning/fsdp_sharded/last.ckpt",
               "megatron/dist_tp2/ckpt", "tensorflow/checkpoint_v3/ckpt");
  fail_everywhere_or_answer("inspect " + folder, asking(tare_checkpoint_inspect, corpus + folder, nullptr));
}

TEST_CASE("a failed allocation while a folder's state is used is status 3, or changes nothing in the answer") {
  const std::string folder = GENERATE("deepspeed/zero2_2ranks/ckpt", "flax/orbax_ocdbt/run", "flax/orbax_zarr/run",
                                      "lightning/fsdp_sharded/last.ckpt", "tensorflow/checkpoint_v3/ckpt");
  fail_everywhere_or_answer("state " + folder, asking_state(corpus + folder));
  fail_everywhere_or_answer("dry run " + folder, asking(tare_checkpoint_edit, corpus + folder, dry_edit));
}

TEST_CASE("a failed allocation while one of several files is unpacked does not pass it over") {
  const Scratch folder;
  std::filesystem::copy(corpus + "numpy/npz_compressed/state.npz", folder.path("state.npz"));
  std::filesystem::copy(corpus + "torch/train-t2.15/checkpoint.pth", folder.path("checkpoint.pth"));
  fail_everywhere_or_answer("inspect both", asking(tare_checkpoint_inspect, folder.folder(), nullptr));
}

TEST_CASE("after an allocation that failed in an edit or its undo, undo still brings back every byte") {
  const Scratch folder;
  const std::string path = folder.path("checkpoint.pth");
  tare_error error = TARE_ERROR_INIT;
  const auto call = [&](auto function, const char* options) {
    tare_text* text = nullptr;
    const int32_t status = function(&text, path.c_str(), options, &error);
    tare_text_destroy(text);
    return status;
  };
  std::filesystem::copy(corpus + "torch/train-t2.15/checkpoint.pth", path);
  const std::string before = bytes_of(path);
  const std::string wanted = with_state_folder(R"({"set":{"scale":24}})");
  const std::string options = with_state_folder(nullptr);
  const auto edit = [&] { return call(tare_checkpoint_edit, wanted.c_str()); };
  const auto undo = [&] { return call(tare_checkpoint_undo, options.c_str()); };
  const auto undo_all = [&] {
    int32_t status = TARE_OK;
    while (status == TARE_OK) status = undo();
    CHECK(status == TARE_E_REFUSED);  // nothing is left to undo
    CHECK(bytes_of(path) == before);
    std::filesystem::remove_all(folder.path(".tare"));
  };
  // A call may also do without what it needed the memory for (old journals that could be tidied up): then it succeeds.
  // What is made once, and kept, may be made by the first one only.
  const auto fail_at = [&](long n, const auto& run, const auto& prepare, const auto& is_done) {
    prepare();
    const Attempt done = attempt(n, run);
    INFO(error.message);
    REQUIRE((done.status == TARE_E_OUT_OF_MEMORY || done.status == TARE_OK));
    REQUIRE((done.status == TARE_OK) == is_done());  // never a failure that is none
    REQUIRE(done.open == 0);
    undo_all();
    return done;
  };
  const auto everywhere = [&](const char* name, const auto& run, const auto& prepare, const auto& is_done) {
    prepare();
    REQUIRE(run() == TARE_OK);  // what is made once is made now
    undo_all();
    long n = 0;
    for (bool failed = true; failed; ++n) {
      INFO(name << ", allocation " << n);
      const Attempt first = fail_at(n, run, prepare, is_done);
      failed = first.failed;
      REQUIRE((!failed || first.living == 0 || fail_at(n, run, prepare, is_done).living == 0));
    }
    std::cout << name << ": " << n - 1 << " allocations\n";
  };
  everywhere(
      "edit", edit, [] {}, [&] { return bytes_of(path) != before; });
  everywhere(
      "undo", undo, [&] { REQUIRE(edit() == TARE_OK); }, [&] { return bytes_of(path) == before; });
}
