// Folders in which something lies that is no data, or that somebody could take for something else: all of it is told.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "lib/attest/attest.hpp"
#include "lib/base/crc32c.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;
namespace fs = std::filesystem;

namespace {

const std::string real = TARE_TEST_DATA "/corpus/torch/train-t2.15/checkpoint.pth";

/// A checkpoint's folder: a real file, and what a test puts beside it.
class Folder {
 public:
  Folder() {
    fs::remove_all(path_);
    fs::create_directories(path_);
    fs::copy_file(real, path_ / "checkpoint.pth");
  }
  ~Folder() { fs::remove_all(path_); }

  void write(const std::string& name, const std::string& bytes) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

  [[nodiscard]] Attestation attested(AttestScope scope = AttestScope::checkpoint) const {
    return attest(open_checkpoint(path_.string(), {}), newest_torch_release(), scope);
  }
  /// What is said of `name`, or named in it; empty where it counts as data.
  [[nodiscard]] std::string told(const std::string& name, AttestScope scope = AttestScope::checkpoint) const {
    const Attestation found = attested(scope);
    for (const Unread& unread : found.unread) {
      if (found.files[unread.place.file].path == name) return unread.why;
    }
    for (const AttestedGlobal& global : found.globals) {
      if (global.verdict == Verdict::allowed) continue;
      for (const AttestedPlace& place : global.places) {
        if (found.files[place.file].path == name) return "names " + global.module + "." + global.name;
      }
    }
    CHECK(found.is_plain());
    return {};
  }

 private:
  fs::path path_ = fs::temp_directory_path() / ("tare-accounted-"s + std::to_string(::getpid()));
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A tar header of that name, with a checksum.
std::string tar_block(const std::string& name) {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  return block.replace(148, 7, digits, 7);
}

}  // namespace

TEST_CASE("what people keep beside checkpoints is data") {
  const Folder folder;
  folder.write("README.md", "PyTorch checkpoint.\n\n- made by us\n");
  folder.write("config.json", "{\"loss_scale\": 0, \"a\": [1, 2]}\n");
  folder.write("metrics.jsonl", "{\"loss\": 1.5}\n{\"loss\": 1.25}\n");
  folder.write("training.log", "iteration 100 | loss 1.5\niteration 200 | loss 1.25\n");
  folder.write("config.yaml", "compute_environment: LOCAL_MACHINE\nmixed_precision: fp16\n");
  folder.write("merges.txt", "#version: 0.2\nt h\n\xc4\xa0t h\n");
  folder.write("last", "global_step200");
  folder.write("tag", "ckpt_500");
  folder.write(".gitkeep", "");
  folder.write(".hidden/notes.txt", "Nothing.");
  folder.write("loss.png", "\x89PNG\r\n\x1a\n\0\0"s);
  CHECK(folder.attested().unread.empty());
  CHECK(folder.attested().is_plain());
  CHECK(folder.attested().files.size() == 12);
}

TEST_CASE("a text imports what a module can be called; JSON, YAML and CSV that begin with its letter are data") {
  const Folder folder;
  for (const char* text : {"cmy-module\nrun\n)R.", "cruns/my_module\nrun\n)R.", "cm\xc3\xb6_dule\nrun\n"}) {
    folder.write("notes.txt", text);
    CHECK(!folder.told("notes.txt").empty());
  }
  for (const char* text : {"c{\n  \"global_step\": 42,\n  \"log\": []\n", "config:\n  lr: 1\n", "class,score\n1,2\n"}) {
    folder.write("notes.txt", text);
    CHECK(folder.told("notes.txt").empty());
  }
}

TEST_CASE("texts that loaders run by their files' names are told") {
  const Folder folder;
  const auto says_of = [&](const std::string& name, const std::string& text) {
    folder.write(name, text);
    const bool is_plain = folder.attested().is_plain();
    fs::remove(folder.path() / name);
    return !is_plain;
  };
  for (const char* graph : {"meta_graphs {\n  meta_info_def { tags: \"serve\" }\n}\n", "graph_def { }",
                            "node { name: \"w\" }", "node: <op: \"WriteFile\">", "versions { }\nnode  # a\n\t{ }"}) {
    INFO(graph);
    CHECK(says_of("saved_model.pbtxt", graph));
    CHECK(!says_of("notes.md", graph));
  }
  CHECK(!says_of("label_map.pbtxt", "item {\n  id: 1\n  name: 'node'\n}\nsub_node { }\n"));
  CHECK(says_of("deploy.prototxt", "layer { type: \"Python\" python_param { module: \"os\" layer: \"system\" } }"));
  CHECK(!says_of("deploy.prototxt", "layer { type: \"ReLU\" }"));
  for (const char* name : {"pickle_module_info.txt", "keras_module.txt"}) {
    INFO(name);
    CHECK(says_of(name, "evil_mod"));
    CHECK(says_of(name, "os\n"));
    CHECK(!says_of("notes.txt", "evil_mod"));
  }
  for (const char* module : {"mlflow.pytorch.pickle_module", "pickle", "cloudpickle\n"}) {
    CHECK(!says_of("pickle_module_info.txt", module));
    CHECK(says_of("keras_module.txt", module));
  }
  for (const char* module : {"keras", "tensorflow.keras", "tf_keras"}) CHECK(!says_of("keras_module.txt", module));
}

TEST_CASE("tokenizers and TensorBoard's events are data as long as every byte is one of theirs") {
  const Folder folder;
  const std::string pieces = "\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\2"s + "\x12\2\x18\1"s;
  folder.write("tokenizer.model", pieces);
  CHECK(folder.told("tokenizer.model").empty());
  folder.write("tokenizer.model", pieces + "\x0a\x7f");
  CHECK(!folder.told("tokenizer.model").empty());
  const std::string graph = "\x0a\x0d\x0a\5write\x12\4Save"s + "\x22\2\x08\x09"s;
  folder.write("tokenizer.model", graph);
  CHECK(!folder.told("tokenizer.model").empty());
  fs::remove(folder.path() / "tokenizer.model");

  const auto masked = [](const std::string& bytes) {
    Bytes crc;
    append_le(crc, masked_crc32c(as_bytes(bytes)));
    return std::string(as_text(crc));
  };
  const std::string size = "\x02\0\0\0\0\0\0\0"s;
  const std::string record = size + masked(size) + "\1\xff" + masked("\1\xff");
  folder.write("runs/events.out.tfevents.1", record + record);
  CHECK(folder.told("runs/events.out.tfevents.1").empty());
  folder.write("runs/events.out.tfevents.1", record + "\1");
  CHECK(!folder.told("runs/events.out.tfevents.1").empty());
}

TEST_CASE("a tokenizer in which one piece is none is told, whatever stands there and wherever it stands") {
  const Folder folder;
  const std::string piece = "\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\2"s;
  const std::string others[] = {"\x0a\x02\x18\x02"s, "\x0a\x02\x08\x01"s, "\x0a\x0b\x0a\x05<unk>\x22\x02os"s,
                                "\x0a\x0b\x0a\x05<unk>\x1a\x02os"s};
  for (const std::string& other : others) {
    for (const std::string& bytes : {piece + other, other + piece, piece + other + piece}) {
      folder.write("tokenizer.model", bytes);
      CHECK(!folder.told("tokenizer.model").empty());
    }
  }
  folder.write("tokenizer.model", piece + piece + piece);
  CHECK(folder.told("tokenizer.model").empty());
  folder.write("tokenizer.model", piece + "\x2a\2\x18\1"s);  // how its pieces become a text again
  CHECK(folder.told("tokenizer.model").empty());
  folder.write("tokenizer.model", piece + "\x32\2\x10\1"s);
  CHECK(!folder.told("tokenizer.model").empty());
}

TEST_CASE(
    "a tokenizer's settings are those that SentencePiece has; what runs with fields of the same numbers is told") {
  const Folder folder;
  const auto is_data = [&](const std::string& settings) {
    folder.write("tokenizer.model", "\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\2"s + settings);
    return folder.told("tokenizer.model").empty();
  };
  const auto field = [](char number, const std::string& run) {
    return static_cast<char>(number << 3 | 2) + std::string(1, static_cast<char>(run.size())) + run;
  };
  const std::string trainer = field(1, "corpus.txt") + field(2, "m") + "\x18\2\x20\x80\x7d" + field(7, "text") +
                              "\x55\x52\xb8\x7e\x3f\x98\2\1" + "\xfa\1\1\n" + "\xc0\2\0"s + "\xe2\2\4 \xe2\x81\x87" +
                              "\xb8\3\1";
  CHECK(is_data(field(2, trainer)));
  CHECK(is_data(field(2, trainer) + field(3, field(1, "nfkc") + field(2, "\0\1\xff"s) + "\x18\0\x20\1"s) +
                field(4, field(1, field(1, "a") + field(2, "b"))) + field(5, "")));
  // A graph of a node, alone and as the graph of a SavedModel, which can leave out its other parts.
  const std::string node = field(1, "x") + field(2, "WriteFile");
  const std::string graph = field(1, node);
  for (const std::string& meta : {field(2, graph), field(1, "") + field(2, graph), field(2, graph) + field(5, "s"),
                                  field(2, graph) + field(3, "save"), field(1, node), field(5, node)}) {
    CHECK(!is_data(field(2, meta)));
    CHECK(!is_data(field(2, trainer) + field(2, meta)));
  }
  CHECK(!is_data(field(2, field(2,
                                "\x8a\x80\x80\x80\x70"
                                "ab"))));  // a field's number as it need not be written
  CHECK(!is_data(field(2, field(8, "none"))));
  CHECK(!is_data(field(2, "\x08\1")));
  CHECK(!is_data(field(3, field(7, "none"))));
  CHECK(!is_data(field(4, field(1, field(3, "none")))));
  CHECK(!is_data(field(4, field(2, "none"))));
  CHECK(!is_data("\x10\1"));
}

TEST_CASE("files, bytes and calls are counted") {
  const Folder folder;
  folder.write("config.json", "{}");
  const Attestation found = folder.attested();
  CHECK(found.files.size() == 2);
  CHECK(found.bytes == fs::file_size(real) + 2);
  CHECK(found.documents == 2);
  CHECK(found.calls > 0);
  // An archive of no framework is one, and each of its members.
  ArchiveWriter zip;
  zip.add("a.json", bytes_of("{}"));
  zip.add("b.json", bytes_of("{}"));
  zip.finish();
  folder.write("some.zip", std::string(as_text(zip.bytes())));
  CHECK(folder.attested().documents == 5);
}

TEST_CASE("a pickle that no format is recognised in is told, whichever opcode it begins with") {
  const Folder folder;
  const std::string call = "cos\ngetcwd\n)R.";
  for (const std::string& begin :
       {""s, "N"s, "I1\n"s, "K\1"s, "](0"s, "(1"s, "S'a'\n"s, "Va\n"s, "U\1a"s, "\x88"s, ")0"s, "\x80\x02"s,
        "\x8a\x01\x05"s, "F1\n"s, "L1L\n"s, "M\1\1"s, "C\1x"s, "X\1\0\0\0a"s}) {
    for (const char* name : {"optimizer.pt", "notes.txt", ".state", "model.json", "deep/er/data"}) {
      INFO(name << " " << begin);
      fs::remove_all(folder.path() / "deep");
      folder.write(name, begin + call);
      CHECK(!folder.told(name).empty());
      folder.write(name, begin + call + "x");
      CHECK(!folder.told(name).empty());
      fs::remove(folder.path() / name);
    }
  }
}

TEST_CASE("what is packed, code, or of no known kind is told, hidden or not, however deep") {
  const Folder folder;
  const auto is_told = [&](const std::string& name, const std::string& bytes, const std::string& why) {
    folder.write(name, bytes);
    INFO(name);
    CHECK_THAT(folder.told(name), Catch::Contains(why));
    fs::remove_all(folder.path() / name);
  };
  is_told("state.joblib", "\x1f\x8b\x08\0\0\0\0\0"s, "gzip");
  is_told("state.pkl", "\x78\x9c\x4b\x01"s, "zlib");
  is_told("state.xz", "\xfd\x37zXZ\0\0"s, "xz");
  is_told("state.bz2", "BZh91AY&SY\x80", "bzip2");
  is_told("a/b/c/d/e/f/.g", "\x01\x02\x03"s, "nothing that tare knows");
  is_told("archive.zip", "PK\5\6"s + std::string(18, '\0'), "empty zip");
  is_told("modeling.py", "import os\n", "code");
  is_told("kernel.so",
          "\x7f"
          "ELF",
          "code");
  is_told("run", "#!/bin/sh\nls\n", "script");
  is_told("hparams.yaml", "model: !!python/object/apply:os.getcwd []\n", "YAML");
  is_told("speech.yaml", "model: !new:os.getcwd\n", "YAML");
  is_told("config.json", "{\"a\": 1} x", "JSON");
  is_told("twice.json", "{\"a\": 1, \"a\": 2}", "twice");
}

TEST_CASE("data that is a pickle, a tar archive or a zip as well is told") {
  const Folder folder;
  const auto is_told = [&](const std::string& name, const std::string& bytes, const std::string& why) {
    folder.write(name, bytes);
    INFO(name);
    CHECK_THAT(folder.told(name), Catch::Contains(why));
    fs::remove(folder.path() / name);
  };
  const auto text = [](const std::string& t) { return std::string(1, static_cast<char>(0xa0 | t.size())) + t; };
  std::string map = "\x8a"s + text("hello") + "\xcb" + std::string(8, '\0');
  for (int i = 0; i < 8; ++i) map += text("k"s + std::to_string(i)) + "\xcb" + std::string(8, '\0');
  map += text("zz") + "\xc4";
  const std::string padding(167 - map.size() - 1, '\0');
  const std::string payload = "cos\ngetcwd\n)R.";
  is_told("state.msgpack", map + static_cast<char>(padding.size() + payload.size()) + padding + payload,
          "is a pickle, too");
  is_told("pickle.tar", tar_block("weights"), "tar");
  is_told("loss.png", "\x89PNG\r\n\x1a\n"s + "PK\5\6"s + std::string(18, '\0'), "zip");

  std::string npy("\x93NUMPY\1\0\x76\0{'descr': '<f8', 'fortran_order': False, 'shape': (64,), }"s);
  npy.append(127 - npy.size(), ' ').append("\n");
  const std::string elements(512 - 22, '\0');
  const auto typed = [](const std::string& type) {
    std::string made("\x93NUMPY\1\0\x76\0{'descr': "s + type + ", 'fortran_order': False, 'shape': (1,), }");
    return made.append(127 - made.size(), ' ').append("\n") + std::string(64, '\0');
  };
  is_told("objects.npy", typed("[('a', '<f4'), ('b', 'O')]"), "may hold Python objects");
  is_told("deeper.npy", typed("[('a', [('b', '|O')])]"), "may hold Python objects");
  is_told("array.npy", npy + elements + "PK\5\6"s + std::string(18, '\0'), "ends with a zip");
  std::string both = tar_block(npy) + std::string(128, '\0');
  is_told("tar.npy", both, "tar");
}

TEST_CASE("bytes behind a document, and a second pickle, are told") {
  const Folder folder;
  folder.write("two.pkl", "\x80\x02}q\0.\x80\x02}q\0."s);
  CHECK_THAT(folder.told("two.pkl"), Catch::Contains("behind the end of the pickle"));
  fs::remove(folder.path() / "two.pkl");
  folder.write("more.pth", read_file(real) + "x");
  CHECK_THAT(folder.told("more.pth"), Catch::Contains("behind the end of the archive"));
}

TEST_CASE("frames that loaders read differently are told") {
  const Folder folder;
  const auto frame = [](char size) { return "\x95"s + size + std::string(7, '\0'); };
  folder.write("plain.pkl", "\x80\x04"s + frame(2) + "}.");
  CHECK(folder.told("plain.pkl").empty());
  fs::remove(folder.path() / "plain.pkl");
  folder.write("crossed.pkl", "\x80\x04"s + frame(2) + "}C\1a0.");
  CHECK_THAT(folder.told("crossed.pkl"), Catch::Contains("frames"));
}

TEST_CASE("links that leave the folder, pipes and sockets are told, and nobody waits for them") {
  const Folder folder;
  fs::create_symlink("/etc/hostname", folder.path() / "optimizer.pt");
  CHECK_THAT(folder.told("optimizer.pt"), Catch::Contains("link to /etc/hostname, which leads out"));
  fs::remove(folder.path() / "optimizer.pt");
  fs::create_symlink("nowhere.pt", folder.path() / "model.pt");
  CHECK_THAT(folder.told("model.pt"), Catch::Contains("is not there"));
  fs::remove(folder.path() / "model.pt");
  fs::create_directory_symlink("..", folder.path() / "more");
  CHECK_THAT(folder.told("more"), Catch::Contains("leads out"));
  fs::remove(folder.path() / "more");
  fs::create_symlink("checkpoint.pth", folder.path() / "last.pth");
  CHECK(folder.told("last.pth").empty());
  fs::remove(folder.path() / "last.pth");

  REQUIRE(::mkfifo((folder.path() / "pipe.pt").c_str(), 0600) == 0);
  CHECK_THAT(folder.told("pipe.pt"), Catch::Contains("no regular file"));
  fs::remove(folder.path() / "pipe.pt");
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (folder.path() / "s").string();
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK_THAT(folder.told("s"), Catch::Contains("no regular file"));
  ::close(descriptor);
}

TEST_CASE("of a run the other checkpoints are told, or read") {
  const Folder folder;
  fs::remove(folder.path() / "checkpoint.pth");
  for (const char* step : {"checkpoint-5", "checkpoint-10"}) {
    fs::create_directories(folder.path() / step);
    fs::copy_file(real, folder.path() / step / "scaler.pt");
  }
  folder.write("config.json", "{}");
  CHECK_THAT(folder.told("checkpoint-5"), Catch::Contains("another folder of the run"));
  std::vector<std::string> paths;
  for (const AttestedFile& file : folder.attested().files) paths.push_back(file.path);
  std::ranges::sort(paths);
  CHECK(paths == std::vector<std::string>{"checkpoint-10/scaler.pt", "checkpoint-5", "config.json"});
  CHECK(folder.told("checkpoint-5", AttestScope::everything).empty());
  CHECK(folder.attested(AttestScope::everything).files.size() == 3);
  folder.write("checkpoint-5/evil", "cos\ngetcwd\n)R.");
  CHECK_THAT(folder.told("checkpoint-5/evil", AttestScope::everything), Catch::Contains("os.getcwd"));
}

TEST_CASE("every item of a distributed checkpoint is looked at, and every byte of its files") {
  const Folder folder;
  fs::remove(folder.path() / "checkpoint.pth");
  fs::copy(TARE_TEST_DATA "/corpus/transformer_engine/te2.20_dcp/ckpt", folder.path() / "dcp",
           fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    fs::permissions(entry.path(), fs::perms::owner_write, fs::perm_options::add);
  }
  const std::size_t before = folder.attested().unread.size();
  const fs::path data = folder.path() / "dcp" / "__0_0.distcp";
  REQUIRE(fs::exists(data));
  std::ofstream(data, std::ios::binary | std::ios::app) << "cos\ngetcwd\n)R.";
  const Attestation found = folder.attested();
  REQUIRE(found.unread.size() == before + 1);
  CHECK_THAT(found.unread.back().why, Catch::Contains("14 bytes are in no item"));
  fs::resize_file(data, fs::file_size(data) - 14);

  // Between two items, too: the first, a weight, is one byte shorter than the distance to the second.
  const fs::path metadata = folder.path() / "dcp" / ".metadata";
  std::string shorter = read_file(metadata);
  const std::size_t length = shorter.find("M\x69\x06");
  REQUIRE(length != std::string::npos);
  shorter[length + 1] = '\x68';
  std::ofstream(metadata, std::ios::binary) << shorter;
  const Attestation with_gap = folder.attested();
  CHECK(std::ranges::any_of(with_gap.unread,
                            [](const Unread& unread) { return unread.why.ends_with(": 1 bytes are in no item"); }));
}

TEST_CASE("every item of a distributed checkpoint that went through a transform is told, not the first one alone") {
  const Checkpoint checkpoint = open_checkpoint(TARE_TEST_DATA "/corpus/torch/dcp-transformed/step_20", {});
  std::vector<std::string> told;
  for (const Unread& unread : attest(checkpoint, newest_torch_release()).unread) {
    const std::size_t end = unread.why.find(" went through ");
    if (end != std::string::npos) told.push_back(unread.why.substr(0, end));
  }
  CHECK(told == std::vector<std::string>{"scaler.scale", "scaler.growth_factor", "scaler.backoff_factor",
                                         "scaler.growth_interval", "scaler._growth_tracker", "model.stem.weight",
                                         "model.stem.bias"});
}

TEST_CASE("what opening found of a file is told beside what attest read of it, and the file counts once") {
  const Folder folder;
  fs::remove(folder.path() / "checkpoint.pth");
  for (const char* rank : {"rank0.pt", "rank1.pt"}) {
    fs::copy_file(TARE_TEST_DATA "/corpus/torch/rank-files-disagree/step100/"s + rank, folder.path() / rank);
  }
  Checkpoint checkpoint = open_checkpoint(folder.path().string(), {});
  checkpoint.findings.push_back({Severity::error, "rank-missing", "of rank 1 a part is missing", "rank1.pt", "scaler"});
  checkpoint.findings.push_back({Severity::warning, "far-apart", "this is no matter of attest's", "rank0.pt", ""});
  const Attestation found = attest(checkpoint, newest_torch_release());
  CHECK(found.files.size() == 2);
  const auto told = std::find_if(found.unread.begin(), found.unread.end(), [&](const Unread& unread) {
    return found.files[unread.place.file].path == "rank1.pt";
  });
  REQUIRE(told != found.unread.end());
  CHECK(told->why == "of rank 1 a part is missing");
  CHECK(told->place.inside == "scaler");
  CHECK(std::none_of(found.unread.begin(), found.unread.end(),
                     [](const Unread& unread) { return unread.why.find("no matter") != std::string::npos; }));
}
