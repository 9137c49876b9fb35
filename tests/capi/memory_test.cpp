// [P7]: the n-th allocation fails, for every n, in the whole library (this program's operator new is not the library's,
// so malloc itself is replaced). libhdf5 does not survive a failed allocation of its own (it frees twice, and stays
// broken): there only the allocations of libtare, of its module and of the C++ library fail.
#include <link.h>
#include <tare/tare.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "tests/capi/scratch.hpp"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> left{0};
std::atomic<long> living{0};

/// Whose allocations fail.
enum class Whose { everyones, ours };
Whose whose = Whose::everyones;

struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
};
Range ours[8];
std::size_t ours_count = 0;

int take_ours(dl_phdr_info* info, std::size_t, void*) {
  const std::string_view name = info->dlpi_name;
  if (name.find("libtare") == std::string_view::npos && name.find("libstdc++") == std::string_view::npos) return 0;
  Range range{info->dlpi_addr, info->dlpi_addr};
  for (const auto* part = info->dlpi_phdr; part != info->dlpi_phdr + info->dlpi_phnum; ++part) {
    if (part->p_type == PT_LOAD) range.end = std::max(range.end, info->dlpi_addr + part->p_vaddr + part->p_memsz);
  }
  if (ours_count < std::size(ours)) ours[ours_count++] = range;
  return 0;
}

bool is_ours(const void* caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  return std::any_of(ours, ours + ours_count, [&](const Range& range) { return range.begin <= at && at < range.end; });
}

bool fails(const void* caller) {
  if (!counting.load(std::memory_order_relaxed)) return false;
  if (whose == Whose::ours && !is_ours(caller)) return false;
  return left.fetch_sub(1) == 0;
}

}  // namespace

extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_calloc(std::size_t count, std::size_t size);
extern "C" void* __libc_realloc(void* memory, std::size_t size);
extern "C" void __libc_free(void* memory);

namespace {

void* counted(void* memory) {
  if (memory == nullptr) errno = ENOMEM;
  if (counting && memory != nullptr) ++living;
  return memory;
}

}  // namespace

extern "C" void* malloc(std::size_t size) {
  return counted(fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(size));
}

extern "C" void* calloc(std::size_t count, std::size_t size) {
  return counted(fails(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, size));
}

extern "C" void* realloc(void* memory, std::size_t size) {
  if (memory == nullptr) return malloc(size);
  return fails(__builtin_return_address(0)) ? nullptr : __libc_realloc(memory, size);
}

extern "C" void free(void* memory) {
  if (counting && memory != nullptr) --living;
  __libc_free(memory);
}

namespace {

struct Attempt {
  bool failed;  ///< an allocation did
  int32_t status;
};

/// Runs `call` with its n-th allocation failing, if it has as many.
Attempt attempt(long n, const std::function<int32_t()>& call) {
  left = n;
  living = 0;
  counting = true;
  const int32_t status = call();
  const bool failed = left < 0;
  counting = false;
  return {failed, status};
}

/// So; then the call must have given status 3, and left nothing behind but what a library keeps once for the next time.
bool fails_at(const std::string& name, long n, const std::function<int32_t()>& call) {
  const Attempt done = attempt(n, call);
  INFO(name << ", allocation " << n);
  if (done.failed) REQUIRE(done.status == TARE_E_OUT_OF_MEMORY);
  return done.failed;
}

/// So for the first, the second ... until the call gets through.
void fail_everywhere(const std::string& name, const std::function<int32_t()>& call, Whose fail = Whose::everyones) {
  REQUIRE(call() == TARE_OK);  // what is made once is made now
  ours_count = 0;
  dl_iterate_phdr(take_ours, nullptr);
  whose = fail;
  long n = 0;
  for (; fails_at(name, n, call); ++n) {
    const bool again = living != 0 && fails_at(name, n, call);
    INFO(name << ", allocation " << n << (again ? ", a second time" : ""));
    REQUIRE(living == 0);
  }
  whose = Whose::everyones;
  std::cout << name << ": " << n << " allocations\n";
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a failed allocation is status 3 and loses nothing") {
  fail_everywhere("create", [] {
    tare_scaler* scaler = nullptr;
    const int32_t status = tare_scaler_create(&scaler, R"({"policy":"megatron","window":100,"floor":2})", nullptr);
    tare_scaler_destroy(scaler);
    return status;
  });
  fail_everywhere("create with threads", [] {
    tare_scaler* scaler = nullptr;
    const int32_t status = tare_scaler_create(&scaler, R"({"policy":"torch","threads":2})", nullptr);
    tare_scaler_destroy(scaler);
    return status;
  });
  fail_everywhere("policies", [] {
    tare_text* text = nullptr;
    const int32_t status = tare_policies(&text, nullptr);
    tare_text_destroy(text);
    return status;
  });
  const std::string json =
      R"({"policy":"torch","fields":{"scale":"0x1p10","_growth_tracker":3},"other":[[1,2],["a",{}]]})";
  fail_everywhere("state_from_json", [&] {
    tare_state* state = nullptr;
    const int32_t status = tare_state_from_json(&state, json.data(), json.size(), nullptr);
    tare_state_destroy(state);
    return status;
  });
  tare_scaler* scaler = nullptr;
  REQUIRE(tare_scaler_create(&scaler, R"({"policy":"torch"})", nullptr) == TARE_OK);
  float values[8] = {};
  const tare_tensor tensor{values, 8, TARE_F32, 0};
  fail_everywhere("save and write as JSON", [&] {
    tare_state* state = nullptr;
    tare_text* text = nullptr;
    int32_t status = tare_scaler_save(&state, scaler, nullptr, nullptr);
    if (status == TARE_OK) status = tare_state_to_json(&text, state, nullptr);
    tare_text_destroy(text);
    tare_state_destroy(state);
    return status;
  });
  fail_everywhere("statistics", [&] {
    tare_text* text = nullptr;
    const int32_t status = tare_scaler_statistics(&text, scaler, nullptr, nullptr);
    tare_text_destroy(text);
    return status;
  });
  fail_everywhere("grads", [&] {
    tare_grads* grads = nullptr;
    const int32_t status = tare_grads_create(&grads, scaler, &tensor, 1, nullptr);
    tare_grads_destroy(grads);
    return status;
  });
  fail_everywhere("a step", [&] {
    const int32_t status = tare_scaler_unscale(scaler, &tensor, 1, nullptr, nullptr);
    const int32_t updated = tare_scaler_update(scaler, nullptr, nullptr);
    return status == TARE_OK ? updated : status;
  });
  fail_everywhere("statistics of grads", [&] {
    tare_grads* grads = nullptr;
    tare_text* text = nullptr;
    int32_t status = tare_grads_create(&grads, scaler, &tensor, 1, nullptr);
    if (status == TARE_OK) status = tare_grads_statistics(&text, grads, nullptr, nullptr);
    tare_text_destroy(text);
    tare_grads_destroy(grads);
    return status;
  });
  tare_scaler_destroy(scaler);
}

// [P8], by way of a first allocation that would fail.
TEST_CASE("steps allocate nothing once a first one was made") {
  const char* config = GENERATE(R"({"policy":"torch"})", R"({"policy":"deepspeed","threads":2})");
  INFO(config);
  tare_scaler* scaler = nullptr;
  tare_grads* grads = nullptr;
  float values[64] = {1, -2, 3};
  float moved[64] = {4, 5};
  unsigned short narrow[64] = {};
  const tare_tensor tensors[2] = {{values, 40, TARE_F32, 0}, {values + 40, 24, TARE_F32, 0}};
  const tare_tensor elsewhere[2] = {{moved, 40, TARE_F32, 0}, {moved + 40, 24, TARE_F32, 0}};
  const tare_tensor out[2] = {{narrow, 40, TARE_BF16, 0}, {narrow + 40, 24, TARE_BF16, 0}};
  REQUIRE(tare_scaler_create(&scaler, config, nullptr) == TARE_OK);
  REQUIRE(tare_grads_create(&grads, scaler, tensors, 2, nullptr) == TARE_OK);
  const auto steps = [&] {
    const int32_t statuses[] = {
        tare_scaler_unscale(scaler, tensors, 2, nullptr, nullptr),
        tare_scaler_observe(scaler, tensors, 2, nullptr, nullptr),
        tare_scaler_report_overflow(scaler, 1, nullptr, nullptr),
        tare_scaler_update(scaler, nullptr, nullptr),
        tare_grads_rebind(grads, elsewhere, 2, nullptr, nullptr),
        tare_grads_unscale(grads, nullptr, nullptr),
        tare_grads_observe(grads, nullptr, nullptr),
        tare_grads_write(grads, out, 2, R"({"clip_norm":1})", nullptr, nullptr),
        tare_grads_unscale_and_update(grads, nullptr, nullptr),
        tare_grads_observe_and_update(grads, nullptr, nullptr),
        tare_grads_rebind(grads, tensors, 2, nullptr, nullptr),
    };
    int32_t worst = TARE_OK;
    for (const int32_t status : statuses) worst = std::max(worst, status);
    return worst;
  };
  REQUIRE(steps() == TARE_OK);
  const Attempt again = attempt(0, steps);
  CHECK(again.status == TARE_OK);
  CHECK(!again.failed);
  tare_grads_destroy(grads);
  tare_scaler_destroy(scaler);
}

TEST_CASE("a failed allocation in FP8 slots is status 3 and loses nothing") {
  const char* config =
      R"({"policy":"transformer_engine","slots":["x","w"],"format":["e4m3","e5m2"],"amax_history_len":40})";
  tare_fp8* fp8 = nullptr;
  tare_state* state = nullptr;
  REQUIRE(tare_fp8_create(&fp8, config, nullptr) == TARE_OK);
  REQUIRE(tare_fp8_save(&state, fp8, nullptr, nullptr) == TARE_OK);
  fail_everywhere("fp8 create", [&] {
    tare_fp8* made = nullptr;
    const int32_t status = tare_fp8_create(&made, config, nullptr);
    tare_fp8_destroy(made);
    return status;
  });
  fail_everywhere("fp8 create from state", [&] {
    tare_fp8* made = nullptr;
    const int32_t status = tare_fp8_create_from_state(&made, state, nullptr, nullptr);
    tare_fp8_destroy(made);
    return status;
  });
  fail_everywhere("fp8 policies", [] {
    tare_text* text = nullptr;
    const int32_t status = tare_fp8_policies(&text, nullptr);
    tare_text_destroy(text);
    return status;
  });
  fail_everywhere("fp8 save", [&] {
    tare_state* saved = nullptr;
    const int32_t status = tare_fp8_save(&saved, fp8, nullptr, nullptr);
    tare_state_destroy(saved);
    return status;
  });
  fail_everywhere("fp8 statistics", [&] {
    tare_text* text = nullptr;
    const int32_t status = tare_fp8_statistics(&text, fp8, nullptr, nullptr);
    tare_text_destroy(text);
    return status;
  });
  fail_everywhere("fp8 load", [&] { return tare_fp8_load(fp8, state, nullptr, nullptr); });
  float values[8] = {1, 2, 3};
  unsigned char bytes[8] = {};
  const tare_tensor wide = {values, 8, TARE_F32, 0};
  const tare_tensor narrow = {bytes, 8, TARE_F8E4M3FN, 0};
  // [P8]: a step allocates nothing, so that its first allocation can never fail.
  const Attempt step = attempt(0, [&] {
    int32_t status = tare_fp8_observe(fp8, &wide, nullptr, 1, nullptr, nullptr);
    if (status == TARE_OK) status = tare_fp8_quantize(fp8, &narrow, &wide, nullptr, 1, nullptr, nullptr);
    if (status == TARE_OK) status = tare_fp8_dequantize(fp8, &wide, &narrow, nullptr, 1, nullptr, nullptr);
    return status == TARE_OK ? tare_fp8_update(fp8, nullptr, nullptr) : status;
  });
  CHECK(step.status == TARE_OK);
  CHECK(!step.failed);
  tare_state_destroy(state);
  tare_fp8_destroy(fp8);
}

TEST_CASE("a failed allocation while a state file is written or read is status 3, and the file is whole or not there") {
  const tare::test::Scratch folder;
  tare_scaler* scaler = nullptr;
  tare_state* state = nullptr;
  REQUIRE(tare_scaler_create(&scaler, R"({"policy":"mindformers_adaptive"})", nullptr) == TARE_OK);
  REQUIRE(tare_scaler_save(&state, scaler, nullptr, nullptr) == TARE_OK);
  for (const char* name : {"state.json", "state.h5"}) {
    const std::string path = folder.path(name);
    const auto write = [&] { return tare_state_write(state, path.c_str(), nullptr, nullptr); };
    const auto read = [&] {
      tare_state* again = nullptr;
      const int32_t status = tare_state_read(&again, path.c_str(), nullptr);
      tare_state_destroy(again);
      return status;
    };
    const Whose fail = path.ends_with(".h5") ? Whose::ours : Whose::everyones;
    fail_everywhere(std::string("write ") + name, write, fail);
    CHECK(folder.names() == std::set<std::string>{name});
    fail_everywhere(std::string("read ") + name, read, fail);
    std::filesystem::remove(path);
  }
  tare_state_destroy(state);
  tare_scaler_destroy(scaler);
}

TEST_CASE("a failed allocation in a checkpoint call is status 3, and the checkpoint is as before or as wanted") {
  const tare::test::Scratch folder;
  std::filesystem::copy(TARE_TEST_DATA "/corpus/torch/train-t2.15/checkpoint.pth", folder.path("checkpoint.pth"));
  const std::string path = folder.path("checkpoint.pth");
  const auto text_of = [&](auto function, const char* options) {
    return [=] {
      tare_text* text = nullptr;
      const int32_t status = function(&text, path.c_str(), options, nullptr);
      tare_text_destroy(text);
      return status;
    };
  };
  fail_everywhere("inspect", text_of(tare_checkpoint_inspect, R"({"globals":true})"));
  fail_everywhere("attest", text_of(tare_checkpoint_attest, R"({"torch":"2.6"})"));
  fail_everywhere("state", [&] {
    tare_state* state = nullptr;
    const int32_t status = tare_checkpoint_state(&state, path.c_str(), nullptr, nullptr);
    tare_state_destroy(state);
    return status;
  });
  fail_everywhere("dry run", text_of(tare_checkpoint_edit, R"({"set":{"scale":24},"dry_run":true})"));
}

TEST_CASE("after an allocation that failed in an edit or its undo, undo still brings back every byte") {
  const tare::test::Scratch folder;
  const std::string path = folder.path("checkpoint.pth");
  const auto call = [&](auto function, const char* options) {
    tare_text* text = nullptr;
    const int32_t status = function(&text, path.c_str(), options, nullptr);
    tare_text_destroy(text);
    return status;
  };
  std::filesystem::copy(TARE_TEST_DATA "/corpus/torch/train-t2.15/checkpoint.pth", path);
  const std::string before = bytes_of(path);
  const auto edit = [&] { return call(tare_checkpoint_edit, R"({"set":{"scale":24}})"); };
  const auto undo = [&] { return call(tare_checkpoint_undo, nullptr); };
  const auto undo_all = [&] {
    int32_t status = TARE_OK;
    while (status == TARE_OK) status = undo();
    CHECK(status == TARE_E_REFUSED);  // nothing is left to undo
    CHECK(bytes_of(path) == before);
    std::filesystem::remove_all(folder.path(".tare"));
  };
  // A call may also do without what it needed the memory for (old journals that could be tidied up): then it succeeds.
  const auto everywhere = [&](const char* name, const auto& run, const auto& prepare, const auto& is_done) {
    prepare();
    REQUIRE(run() == TARE_OK);  // what is made once is made now
    undo_all();
    long n = 0;
    for (bool failed = true; failed; ++n) {
      prepare();
      const Attempt done = attempt(n, run);
      failed = done.failed;
      INFO(name << ", allocation " << n);
      REQUIRE((done.status == TARE_E_OUT_OF_MEMORY || (done.status == TARE_OK && is_done())));
      REQUIRE((!failed || living == 0));
      undo_all();
    }
    std::cout << name << ": " << n - 1 << " allocations\n";
  };
  everywhere(
      "edit", edit, [] {}, [&] { return bytes_of(path) != before; });
  everywhere(
      "undo", undo, [&] { REQUIRE(edit() == TARE_OK); }, [&] { return bytes_of(path) == before; });
}
