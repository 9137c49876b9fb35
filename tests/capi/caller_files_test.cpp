// Checkpoints that the caller reads: out of memory here.
#include <tare/tare.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "tests/catch.hpp"
#include "tests/places.hpp"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The files below a folder of the test data, under the paths that they have there.
struct Memory {
  std::map<std::string, std::string> files;
  std::set<std::string> folders;
  uint64_t bytes_read = 0;
  int32_t read_result = 0;
  std::string failing;  ///< whose result that is; empty: every file's
  std::set<std::thread::id> threads;

  explicit Memory(const fs::path& root) {
    folders.insert(root.string());
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_directory()) folders.insert(entry.path().string());
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      files[entry.path().string()] = std::string(std::istreambuf_iterator<char>(file), {});
    }
  }

  tare_source source() { return {sizeof(tare_source), this, size, read, list}; }

  static int32_t size(void* context, const char* path, uint64_t* size) {
    auto& memory = *static_cast<Memory*>(context);
    memory.threads.insert(std::this_thread::get_id());
    if (memory.folders.count(path) != 0) return EISDIR;
    const auto file = memory.files.find(path);
    if (file == memory.files.end()) return ENOENT;
    *size = file->second.size();
    return 0;
  }

  static int32_t read(void* context, const char* path, uint64_t offset, void* to, uint64_t size) {
    auto& memory = *static_cast<Memory*>(context);
    const std::string& file = memory.files.at(path);
    CHECK(offset + size <= file.size());
    std::memcpy(to, file.data() + offset, size);
    memory.bytes_read += size;
    memory.threads.insert(std::this_thread::get_id());
    return memory.failing.empty() || memory.failing == path ? memory.read_result : 0;
  }

  static int32_t list(void* context, const char* folder, int32_t (*add)(void*, const char*, int32_t), void* listing) {
    const auto& memory = *static_cast<Memory*>(context);
    const fs::path wanted = folder;
    for (const auto& [path, bytes] : memory.files) {
      if (fs::path(path).parent_path() == wanted) CHECK(add(listing, fs::path(path).filename().c_str(), 0) == 0);
    }
    for (const std::string& path : memory.folders) {
      if (fs::path(path).parent_path() == wanted) CHECK(add(listing, fs::path(path).filename().c_str(), 1) == 0);
    }
    CHECK(add(listing, "..", 1) == 0);
    return 0;
  }
};

struct Answer {
  int32_t status;
  std::string message;
  int32_t detail;
  Json json;
};

Answer inspect_with(const tare_source* source, const std::string& path) {
  tare_error error = TARE_ERROR_INIT;
  tare_text* text = nullptr;
  Answer answer{
      tare_checkpoint_inspect_with(&text, source, path.c_str(), nullptr, &error), error.message, error.detail, {}};
  if (answer.status == TARE_OK) answer.json = Json::parse(tare_text_data(text));
  tare_text_destroy(text);
  return answer;
}

Json inspect(const std::string& path) {
  tare_text* text = nullptr;
  REQUIRE(tare_checkpoint_inspect(&text, path.c_str(), nullptr, nullptr) == TARE_OK);
  Json json = Json::parse(tare_text_data(text));
  tare_text_destroy(text);
  return json;
}

const std::string corpus = TARE_TEST_DATA "/corpus/";

}  // namespace

TEST_CASE("a caller's storage gives what the file system gives") {
  for (const char* name : {"deepspeed/zero2_4ranks_tags/ckpt", "torch/dcp-plain-4rank-t2.15",
                           "megatron/dist_1rank/ckpt", "torch/train-t2.15", "transformers/run_collapse/run"}) {
    INFO(name);
    Memory memory(corpus + name);
    const tare_source source = memory.source();
    const Answer answer = inspect_with(&source, corpus + name);
    CHECK(answer.message == "");
    REQUIRE(answer.status == TARE_OK);
    CHECK(answer.json == inspect(corpus + name));
    CHECK(memory.threads == std::set<std::thread::id>{std::this_thread::get_id()});
  }
}

TEST_CASE("what the caller's functions answer becomes a status") {
  const std::string folder = corpus + "deepspeed/zero2_4ranks_tags/ckpt";
  Memory memory(folder);
  tare_source source = memory.source();
  CHECK(inspect_with(&source, folder + "/nothing").status == TARE_E_IO);
  CHECK(inspect_with(&source, folder + "/nothing").detail == ENOENT);
  CHECK(inspect_with(nullptr, folder).status == TARE_E_INVALID_ARGUMENT);

  source.list = nullptr;
  CHECK(inspect_with(&source, folder).status == TARE_E_UNSUPPORTED);
  source.struct_size = offsetof(tare_source, list);
  CHECK(inspect_with(&source, folder).status == TARE_E_UNSUPPORTED);
  source.struct_size = offsetof(tare_source, read);
  CHECK(inspect_with(&source, folder).status == TARE_E_INVALID_ARGUMENT);

  source = memory.source();
  source.read = nullptr;
  CHECK(inspect_with(&source, folder).status == TARE_E_INVALID_ARGUMENT);

  source = memory.source();
  memory.read_result = EIO;
  const Answer failed = inspect_with(&source, folder);
  CHECK(failed.status == TARE_E_IO);
  CHECK(failed.detail == EIO);
}

TEST_CASE("a file that memory was lacking for is not told as one that cannot be read") {
  const std::string folder = corpus + "deepspeed/zero2_2ranks/ckpt";
  Memory memory(folder);
  const tare_source source = memory.source();
  for (const auto& [path, bytes] : memory.files) {
    if (path.ends_with("zero_pp_rank_1_mp_rank_00_optim_states.pt")) memory.failing = path;
  }
  REQUIRE(!memory.failing.empty());
  memory.read_result = EIO;
  CHECK(inspect_with(&source, folder).status == TARE_OK);
  memory.read_result = ENOMEM;
  CHECK(inspect_with(&source, folder).status == TARE_E_OUT_OF_MEMORY);
}
