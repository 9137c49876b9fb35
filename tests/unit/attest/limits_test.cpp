// Where attest's own limits are: what is judged at each of them, and told above. And what it counts, file by file.
#include <fmt/format.h>

#include <algorithm>

#include "lib/attest/safe_globals.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/pickle/read/probe.hpp"
#include "lib/container/zip/change.hpp"
#include "tests/unit/attest/told.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

namespace fs = std::filesystem;

const std::string evil = "\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R."s;

std::string little(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string in_bytes(const std::string& inner) {
  return "\x80\x04"
         "B"s +
         little(inner.size(), 4) + inner + ".";
}

std::string in_zip(const std::string& inner) {
  ArchiveWriter zip;
  zip.add("inner", bytes_of(inner));
  zip.finish();
  return std::string(as_text(zip.bytes()));
}

std::string in_json(const std::string& inner) {
  std::string escaped;
  for (const char c : inner) escaped += c == '"' || c == '\\' ? "\\"s + c : std::string(1, c);
  return "{\"config of something\": \"" + escaped + "\"}";
}

/// One tensor of bytes with these in front, and no others.
std::string safetensors(const std::string& key, const std::string& front, std::size_t size) {
  std::string header = fmt::format(R"({{"{}":{{"dtype":"U8","shape":[{}],"data_offsets":[0,{}]}}}})", key, size, size);
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string data = front;
  data.resize(size, '\0');
  return little(header.size(), 8) + header + data;
}

/// A folder of files that is attested as one.
class Folder {
 public:
  Folder() { fs::create_directories(path_); }
  ~Folder() { fs::remove_all(path_); }
  void write(const std::string& name, const std::string& bytes) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  [[nodiscard]] Attestation attested() const { return attest(opened(path_.string()), newest_torch_release()); }
  /// As a run that leads to a checkpoint inside.
  [[nodiscard]] Attestation attested_from(const std::string& inside) const {
    Checkpoint checkpoint;
    checkpoint.target = path_.string();
    checkpoint.resolved = path_.string() + "/" + inside;
    return attest(checkpoint, newest_torch_release());
  }

 private:
  fs::path path_ = fs::temp_directory_path() / ("tare-limits-"s + std::to_string(::getpid()));
};

}  // namespace

TEST_CASE("a document is judged as deep as eight others, whatever they are; one that lies deeper is told") {
  struct Wrapping {
    const char* name;
    std::string (*wrap)(const std::string&);
    std::string inner;
    std::string names;
  };
  const Wrapping wrappings[] = {{"bytes in pickles", in_bytes, evil, "dangerous os.system"},
                                {"members of zips", in_zip, evil, "dangerous os.system"},
                                {"texts in JSON", in_json, R"({"_target_": "os.system"})", "dangerous os.system"}};
  for (const auto& [name, wrap, inner, names] : wrappings) {
    std::string document = inner;
    for (std::size_t around = 0; around <= limits::max_nested_depth + 1; ++around) {
      INFO(around << " levels of " << name);
      const std::string all = told(document);
      const bool is_judged = around < limits::max_nested_depth + (wrap == in_zip ? 0 : 1);
      CHECK(says(all, names) == is_judged);
      CHECK(says(all, "nested too deeply") == !is_judged);
      document = wrap(document);
    }
  }
}

TEST_CASE("what is told of a file stands beside its name, and does not name it once more") {
  const Folder folder;
  const std::string gguf = "GGUF" + std::string(20, '\0');
  for (const char* name : {"model.gguf", "rank0/model.gguf", "a: b.gguf"}) folder.write(name, gguf);
  const Attestation attested = folder.attested();
  CHECK(attested.unread.size() == 3);
  for (const Unread& unread : attested.unread) {
    CHECK(unread.why == "looks like a GGUF model: not a checkpoint format that tare reads");
  }
}

TEST_CASE("tensors of bytes are looked into up to 65536 of them, and an extra state's whatever their number") {
  for (const std::size_t size : {65535U, 65536U, 65537U, 70000U}) {
    INFO(size << " bytes");
    CHECK(says(told(safetensors("weight", evil, size)), "dangerous os.system") == (size <= 65536));
    CHECK(says(told(safetensors("fc1._extra_state", evil, size)), "dangerous os.system"));
  }
}

TEST_CASE("an extra state of more than 32 MiB is told, not looked into") {
  constexpr std::size_t most = std::size_t{32} << 20;
  CHECK(says(told(safetensors("fc1._extra_state", evil, most)), "dangerous os.system"));
  const std::string all = told(safetensors("fc1._extra_state", evil, most + 1));
  CHECK(says(all, "33554433 bytes are more than are looked into"));
  CHECK(!says(all, "os.system"));
}

TEST_CASE("bytes are taken for a pickle up to protocol 5, which is the last that loaders read") {
  for (const char protocol : {'\2', '\3', '\4', '\5'}) {
    INFO("protocol " << static_cast<int>(protocol));
    CHECK(says(told(in_bytes("\x80"s + protocol + "cos\nsystem\n(Vls\ntR.")), "dangerous os.system"));
  }
  CHECK(told(in_bytes("\x80\x05N")) != "");
  CHECK(told(in_bytes("\x80\x06N")) == "");
}

TEST_CASE(
    "bytes without a protocol are taken for a pickle from eight of them on, where a line or a name ends in them") {
  CHECK(told(in_bytes("cos\nx\n.")).empty());
  CHECK(says(told(in_bytes("cos\nxy\n.")), "dangerous os.xy"));
  CHECK(says(told(in_bytes("\x8c\2os\x8c\1x\x93."s)), "dangerous os.x"));
  // Without either nothing is looked for: an archive's end in a tensor's bytes is data.
  const std::string zip_end = "PK\5\6"s + std::string(18, '\0');
  CHECK(told(in_bytes("some data " + zip_end)).empty());
  CHECK(says(told(in_bytes("some data\n" + zip_end)), "ends with a zip archive"));
}

TEST_CASE("strings that were left in one file are not told of the next") {
  const Folder folder;
  const std::string large(std::size_t{2} << 20, 'x');
  const std::string left =
      "\x80\x03}X\x01\x00\x00\x00"
      "aB"s +
      little(large.size(), 4) + large + "s.";
  const std::string two =
      "\x80\x03}(X\x01\x00\x00\x00"
      "aB"s +
      little(large.size(), 4) + large +
      "X\x01\x00\x00\x00"
      "bB"s +
      little(large.size(), 4) + large + "u.";
  folder.write("a.pkl", left);
  folder.write("b.pkl", "\x80\x03}.");
  folder.write("c.pkl", two);
  folder.write("d.pkl", "\x80\x03}.");
  const Attestation found = folder.attested();
  std::vector<std::string> all;
  for (const Unread& unread : found.unread) all.push_back(found.files[unread.place.file].path + ": " + unread.why);
  CHECK(all == std::vector<std::string>{"a.pkl: 1 strings of many bytes were left in the file",
                                        "c.pkl: 2 strings of many bytes were left in the file"});
}

TEST_CASE("a name that stands in fifty thousand documents of a file is kept once, and only its places count each") {
  const std::string inner =
      "\x80\x02"
      "ctorch._utils\n_rebuild_tensor_v2\n.";
  std::string pickle = "\x80\x03](";
  for (int i = 0; i < 50'000; ++i) pickle += "C" + little(inner.size(), 1) + inner;
  const Folder folder;
  folder.write("a.pkl", pickle + "e.");
  const Attestation found = folder.attested();
  CHECK(found.is_plain());
  REQUIRE(found.globals.size() == 1);
  CHECK(found.globals[0].places.size() == 50'000);
}

TEST_CASE("what is told of a file has an end, as what is read of it: past that it is refused") {
  const auto with = [](std::size_t count) {
    std::string pickle = "\x80\x03](";
    for (std::size_t i = 0; i < count; ++i) pickle += "C\x10\x80\x02}X\x01\0\0\0acos\nsys"s;
    return told(pickle + "e.", ".pkl");
  };
  CHECK_FALSE(says(with(1'000), "asks for more than"));
  CHECK((with(55'000).find("asks for more than") != std::string::npos));
}

TEST_CASE("a name is told with the file, the value and the byte where its opcode stands") {
  const Folder folder;
  folder.write("more/a.pkl",
               "\x80\x02}X\x01\x00\x00\x00"
               "acos\nsystem\nX\x02\x00\x00\x00ls\x85Rs."s);
  folder.write("more/b.pkl",
               "\x80\x03}X\x01\x00\x00\x00"
               "aC"s +
                   static_cast<char>(evil.size()) + evil + "s.");
  const Attestation found = folder.attested();
  REQUIRE(found.globals.size() == 1);
  CHECK(found.globals[0].verdict == Verdict::dangerous);
  const auto& places = found.globals[0].places;
  REQUIRE(places.size() == 2);
  CHECK(found.files[places[0].file].path == "more/a.pkl");
  CHECK(places[0].inside.empty());
  CHECK(places[0].offset == 9);
  CHECK(found.files[places[1].file].path == "more/b.pkl");
  CHECK(places[1].inside == "a");
  CHECK(places[1].offset == 14);
}

TEST_CASE("what lies in lists, tuples, texts and archives is told with the way there") {
  const auto place_in = [](const std::string& name, const std::string& bytes) {
    const Folder folder;
    folder.write(name, bytes);
    const Attestation found = folder.attested();
    REQUIRE(found.globals.size() == 1);
    CHECK(found.globals[0].name == "system");
    REQUIRE(found.globals[0].places.size() == 1);
    return found.globals[0].places[0].inside;
  };
  const std::string item = "C"s + static_cast<char>(evil.size()) + evil;
  const std::string key =
      "\x80\x03}X\x01\x00\x00\x00"
      "a"s;
  CHECK(place_in("a.pkl", key + item + "s.") == "a");
  CHECK(place_in("a.pkl", key + "](}" + item + "es.") == "a[1]");
  CHECK(place_in("a.pkl", key + "}" + item + "\x86s.") == "a[1]");
  CHECK(place_in("a.pkl", key + "]](}" + item + "eas.") == "a[0][1]");
  CHECK(place_in("a.pkl", "\x80\x03" + item + ".") == "(bytes)");

  const std::string json = R"({"_target_": "os.system"})";
  const std::string once = in_json(json);
  CHECK(place_in("a.json", json).empty());
  CHECK(place_in("a.json", once) == "(text at 24)");
  CHECK(place_in("a.json", in_json(once)) == "(text at 24) > (text at 24)");
  CHECK(place_in("a.zip", in_zip(once)) == "inner > (text at 24)");
}

TEST_CASE("an extra state is one by its key, or alone in a list under it, and no other list's item is") {
  const auto extra_states = [](const std::string& opcodes) {
    const Folder folder;
    folder.write("a.pkl", "\x80\x03}X\x0c\x00\x00\x00_extra_state"s + opcodes + "s.");
    return folder.attested().extra_states.size();
  };
  const std::string bytes = "C"s + static_cast<char>(evil.size()) + evil;
  const std::string stream = "c_io\nBytesIO\n" + bytes + "\x85R";
  CHECK(extra_states(bytes) == 1);
  for (const std::string& state : {stream, "](" + stream + "e", "(" + stream + "t"}) CHECK(extra_states(state) == 1);
  for (const std::string& state : {"](" + stream + "Ne", "](N" + stream + "e", "]](" + stream + "ea"}) {
    CHECK(extra_states(state) == 0);
  }
}

TEST_CASE("beside one class that weights_only could be told of, another that loads any pickle leaves nothing to tell") {
  Attestation found;
  found.release = newest_torch_release();
  found.files = {{"model.pt", 1000, true, false}};
  const AttestedGlobal names{"argparse", "Namespace", Verdict::framework, {}, {{0, "", 10}}};
  const AttestedGlobal loads{"torch.storage", "_load_from_bytes", Verdict::framework, {}, {{0, "", 20}}};
  const AttestedGlobal allowed{"collections", "OrderedDict", Verdict::allowed, {}, {{0, "", 30}}};
  found.globals = {names, allowed};
  REQUIRE(needed_safe_globals(found).size() == 1);
  CHECK(needed_safe_globals(found)[0].name == "argparse.Namespace");
  found.globals = {names, allowed, loads};
  CHECK(needed_safe_globals(found).empty());
  found.globals = {loads, names};
  CHECK(needed_safe_globals(found).empty());
}

TEST_CASE("the calls of a pickle that breaks off are counted as those of one that does not") {
  const std::string call = evil.substr(0, evil.size() - 1);
  const std::pair<std::string, std::uint64_t> cases[] = {
      {call + ".", 1}, {call + "\xff", 1}, {call + "0" + call + "\xff", 2}, {"\x80\x04N\xff", 0}};
  for (const auto& [pickle, calls] : cases) {
    const Folder folder;
    folder.write("state.pkl", pickle);
    CHECK(folder.attested().calls == calls);
  }
}

TEST_CASE("a text of 64 MiB is gone through, and one of a byte more is told") {
  const std::string words = "words, and more of them\n";
  std::string text;
  while (text.size() < std::size_t{64} << 20) text += words;
  text.resize(std::size_t{64} << 20);
  CHECK(told(text, ".log").empty());
  CHECK(says(told(text + "x", ".log"), "looks like a text file: not a checkpoint format"));
}

TEST_CASE("names that are spelled alike in two modules get two names where they are imported") {
  Attestation found;
  found.release = newest_torch_release();
  found.files = {{"model.pt", 1000, true, false}};
  for (const char* module : {"argparse", "b.c", "d"}) {
    found.globals.push_back({module, "Space.Inner", Verdict::framework, {}, {{0, "", 10}}});
  }
  const auto needed = needed_safe_globals(found);
  REQUIRE(needed.size() == 3);
  CHECK(needed[0].needs == "from argparse import Space");
  CHECK(needed[0].expression == "Space.Inner");
  CHECK(needed[1].needs == "from b.c import Space as Space_2");
  CHECK(needed[1].expression == "Space_2.Inner");
  CHECK(needed[2].needs == "from d import Space as Space_3");
  CHECK(needed[2].expression == "Space_3.Inner");
}

TEST_CASE("all five pickles of a file that torch wrote of old are gone through, and their calls counted") {
  const std::string bytes = corpus("hostile/call-legacy/evil.pt");
  const MemorySource source("x", Bytes(as_bytes(bytes).begin(), as_bytes(bytes).end()));
  std::uint64_t calls = 0;
  std::uint64_t at = 0;
  for (int i = 0; i < 5; ++i) {
    const PickleScan scan = scan_pickle(source, at);
    REQUIRE(scan.is_whole);
    calls += scan.calls;
    at = scan.end;
  }
  REQUIRE(calls > 0);
  const Folder folder;
  folder.write("evil.pt", bytes);
  CHECK(folder.attested().calls == calls);
}

TEST_CASE("of a run that leads two folders down, the files on the way are judged, and folders beside it told") {
  const Folder folder;
  for (const char* name : {"x.pkl", "a/x.pkl", "a/b/x.pkl", "a/b/c/x.pkl"}) folder.write(name, evil);
  for (const char* name : {"other/x.pkl", "a/other/x.pkl"}) folder.write(name, evil);
  const Attestation found = folder.attested_from("a/b");
  std::vector<std::string> judged;
  REQUIRE(found.globals.size() == 1);
  for (const AttestedPlace& place : found.globals[0].places) judged.push_back(found.files[place.file].path);
  std::ranges::sort(judged);
  CHECK(judged == std::vector<std::string>{"a/b/c/x.pkl", "a/b/x.pkl", "a/x.pkl", "x.pkl"});
  std::vector<std::string> left;
  for (const Unread& unread : found.unread) {
    if (unread.why == "is another folder of the run, of which nothing was read") {
      left.push_back(found.files[unread.place.file].path);
    }
  }
  std::ranges::sort(left);
  CHECK(left == std::vector<std::string>{"a/other", "other"});
}

TEST_CASE("a text that begins like an import is one where a module can be called so, letter by letter") {
  const std::string_view others = "_./-";
  for (int code = 0x20; code < 0x7f; ++code) {
    const char c = static_cast<char>(code);
    const bool is_letter = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    INFO("'" << c << "'");
    CHECK(told(in_bytes("cm"s + c + "x\nf\n)R.")).empty() == !(is_letter || others.find(c) != others.npos));
  }
}

TEST_CASE("what a zip of no framework has beside its members is told, and what an edit left in it") {
  const auto archive = [](std::string_view comment) {
    ArchiveWriter zip;
    zip.add("words.txt", bytes_of("Plain words.\n"));
    zip.finish(comment);
    return zip.bytes();
  };
  const auto told_of = [](const Bytes& bytes) { return told(std::string(as_text(bytes))); };
  CHECK(told_of(archive("")).empty());
  CHECK(says(told_of(archive("cos\nsystem\n(Vls\ntR.")), "comment"));
  const Bytes image = archive("");
  const ZipArchive before(std::make_shared<MemorySource>("x", image));
  ZipChange change(before);
  change.replace(before.entries()[0], bytes_of("Other words, which are more of them.\n"), "words");
  CHECK(says(told_of(applied(image, std::move(change).finish())), "is not read"));
}
