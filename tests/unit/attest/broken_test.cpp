// Files that no loader reads to their end: what they call before that is told all the same.
#include <algorithm>

#include <zlib.h>

#include "lib/base/text.hpp"
#include "tests/places.hpp"
#include "tests/unit/attest/told.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

/// Pickles that call os.system, written in all ways.
const std::string calls[] = {"cos\nsystem\n(Vls\ntR"s,
                             "\x80\4\x8c\2os\x94\x8c\6system\x94\x93\x94\x8c\2ls\x85R"s,
                             "Vos\nVsystem\n\x93S'ls'\n\x85R"s,
                             "S'os'\np0\n0Vsyste\\u006d\np1\n0g0\ng1\n\x93(Vls\ntR"s,
                             "\x8c\2os\x8c\6system\x93\x8c\2ls\x85R"s,
                             "U\2osU\6system\x93U\2ls\x85R"s,
                             "(cos\nsystem\nVls\no"s,
                             "(Vls\nios\nsystem\n"s,
                             "(lp0\ncos\nsystem\n(Vls\ntRa"s,
                             "K\1\x85Vos\nVsystem\n\x93Vls\n\x85R"s};

/// What CPython does not get over, or tare; and nothing of that kind at all.
const std::string ends[] = {"."s,
                            ""s,
                            "\xff"s,
                            "RRRR."s,
                            "0000.",
                            "h\x77."s,
                            "I no number\n."s,
                            "\x8c\xffx"s,
                            "Nb."s,
                            "K\1Vx\n\x93."s,
                            "\x80\x06."s,
                            "X.",
                            "}Nb."s,
                            "(.."s,
                            "Q."s,
                            "\x82\1."s,
                            "\x97."s,
                            "\x95\1\0\0\0\0\0\0\0(."s,
                            ".N.",
                            "\n\n\t"s};

std::string text_of(ByteView bytes) {
  return std::string(as_text(bytes));
}

std::string zip_of(const std::string& name, const std::string& contents, bool is_deflated = false) {
  ArchiveWriter zip;
  zip.add("words.txt", bytes_of("Plain words.\n"));
  zip.add(name, bytes_of(contents), {.is_deflated = is_deflated});
  zip.finish();
  return text_of(zip.bytes());
}

std::string packed(const std::string& contents) {
  std::string out(contents.size() + 100, '\0');
  uLongf size = out.size();
  REQUIRE(compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(contents.data()),
                   contents.size()) == Z_OK);
  out.resize(size);
  return out;
}

std::string npy_of_objects(const std::string& type, const std::string& pickle) {
  std::string header = "{'descr': " + type + ", 'fortran_order': False, 'shape': (1,), }";
  header.resize(118, ' ');
  return "\x93NUMPY\1\0\x76\0"s + header + pickle;
}

}  // namespace

TEST_CASE("what a pickle calls before it breaks off is told, however it is written and whatever breaks it") {
  for (const std::string& call : calls) {
    for (const std::string& end : ends) {
      INFO(call << " and " << end);
      CHECK(says(told(call + end), "dangerous os.system"));
    }
  }
}

TEST_CASE("so it is wherever the pickle lies: in a zip by any name, packed, in a .npy, behind an end, as a value") {
  for (const std::string& call : calls) {
    for (const std::string& end : {"."s, "\xff"s, "h\x77."s}) {
      const std::string pickle = call + end;
      INFO(pickle);
      for (const std::string name : {"data.pkl", "model/config.pkl", "a.bin", "weights", "b.txt"}) {
        CHECK(says(told(zip_of(name, pickle)), "dangerous os.system"));
        CHECK(says(told(zip_of(name, pickle, true)), "dangerous os.system"));
        CHECK(says(told(zip_of("inner.zip", zip_of(name, pickle))), "dangerous os.system"));
      }
      CHECK(says(told(packed(pickle)), "dangerous os.system"));
      CHECK(says(told(npy_of_objects("'|O'", pickle)), "dangerous os.system"));
      CHECK(says(told("\x80\2}." + pickle), "dangerous os.system"));
      CHECK(says(
          told("\x80\2}NB"s + std::string(1, static_cast<char>(pickle.size() + 2)) + "\0\0\0\x80\2"s + pickle + "s."),
          "dangerous os.system"));
      CHECK(says(told(text_of(torch_archive(bytes_of(pickle)))), "dangerous os.system"));
    }
  }
}

TEST_CASE("of something packed that is cut short, all that unpacks is judged") {
  std::string large = "\x80\2cos\nsystem\n(Vls\ntR0";
  for (int i = 0; i < 100000; ++i) large += "K" + std::string(1, static_cast<char>(i * 7919 >> 8)) + "0";
  const std::string whole = packed(large + "N.");
  CHECK(says(told(whole.substr(0, whole.size() / 2)), "dangerous os.system"));
  CHECK(says(told(whole.substr(0, whole.size() / 2)), "does not unpack"));
  CHECK(says(told(whole + "more"), "does not unpack"));
}

TEST_CASE("a zip of no framework is as good as its members, and as its bytes") {
  CHECK(told(zip_of("state.pkl", "\x80\2}q\0."s)) == "");
  CHECK(told(zip_of("state.pkl", "\x80\2}q\0."s, true)) == "");
  CHECK(says(told(zip_of("state.bin", "\1\2\3")), "state.bin: "));
  CHECK(says(told(zip_of("run.py", "import os\n")), "is code"));
  const std::string plain = zip_of("state.pkl", "\x80\2}q\0."s);
  CHECK(!told(plain + "more").empty());
  CHECK(!told(plain.substr(0, plain.size() - 3)).empty());
}

TEST_CASE("sources and scripts of each language that checkpoints come with are code, and weights and words are not") {
  for (const char* name :
       {"modeling.PY", "run.bash", "setup.command", "kernel.cuh", "kernel.cc", "kernel.hpp", "kernel.h", "net.jl",
        "fit.R", "page.mjs", "Main.java", "run.pl", "kernel.ptx", "kernel.metal", "sub/Makefile", ".envrc"}) {
    INFO(name);
    CHECK(says(told(zip_of(name, "words\n")), "is code"));
  }
  for (const char* name : {"README.md", "merges.txt", "model.ts", "Makefile.txt", "notes.hps", "h"}) {
    INFO(name);
    CHECK(!says(told(zip_of(name, "words\n")), "is code"));
  }
}

TEST_CASE("words that begin like opcodes are data, and so are pickles that nothing runs in") {
  for (const std::string& text : {"cmod\n\xf8\n"s, "Very plain words\n"s, "S'text'\n."s, "Vtext\np0\n."s,
                                  "(lp0\nI1\na."s, "Some words of Z\xfcrich\n"s}) {
    INFO(text);
    CHECK(told(text) == "");
  }
}

TEST_CASE("what is not there, or cannot be read, is no checkpoint to attest") {
  const Error why(Status::corrupt, "broken");
  CHECK_THROWS_AS(unopened("/nowhere/at/all", why), Error);
  CHECK_THROWS_AS(unopened(TARE_TEST_DATA, Error(Status::io, "cannot be read")), Error);
  CHECK(unopened(TARE_TEST_DATA, why).resolved == TARE_TEST_DATA);
}

TEST_CASE("what bytes in a pickle would call is told, whichever protocol they are of") {
  for (const std::string& call : calls) {
    const std::string size{static_cast<char>(call.size() + 1)};
    INFO(call);
    CHECK(says(told("\x80\3}X\1\0\0\0aC"s + size + call + ".s."), "dangerous os.system"));
    const std::string text = "X"s + size + "\0\0\0"s + call + ".";
    if (!std::all_of(call.begin(), call.end(), [](unsigned char c) { return c > 0 && c < 0x80; })) continue;  // no text
    CHECK(says(told("\x80\2}X\1\0\0\0ac_codecs\nencode\n"s + text + "X\6\0\0\0latin1\x86Rs."s), "dangerous os.system"));
  }
  CHECK(told("\x80\3}X\1\0\0\0aC\x15no pickle\nin these...s."s).empty());
}

TEST_CASE("arrays that joblib put between opcodes are told as such, and what else is no opcode as a break") {
  const std::string breaks = "its opcodes break off at offset ";
  const std::string joblib = told(corpus("numpy/joblib_dump/state.joblib"));
  CHECK(says(joblib, ": joblib's arrays, which pickle.load takes for opcodes, stand at offset 261\n"));
  CHECK(!says(joblib, breaks));
  ArchiveWriter zip;
  zip.add("a/data.pkl", bytes_of("\x80\x02}."s));
  zip.add("a/more.pkl", bytes_of("\x80\x02}\xff"s));
  zip.finish();
  const std::string torch = told(text_of(zip.bytes()));
  CHECK(says(torch, ": " + breaks + "3\n"));
  CHECK(!says(torch, "joblib"));
}

TEST_CASE("a call whose names are kept where only running it would tell is told, whatever it lies in") {
  const std::string hidden = "Vos\np1_0\n0Vsystem\np1_1\n0g1_0\ng1_1\n\x93(Vls\ntR."s;
  const std::string in_pickle = "\x80\4}\x8c\1aC"s + static_cast<char>(hidden.size()) + hidden + "s.";
  const std::string in_json = R"({":serialized:": ")" + base64(hidden) + R"("})";
  for (const std::string& all : {told(hidden), told(in_pickle), told(in_json, ".json"), told(zip_of("a", hidden))}) {
    CHECK(says(all, "what it imports at offset "));
  }
}

TEST_CASE("bytes that loaders read differently, or that are opcodes as far as one looks, are told as such") {
  const std::string frame = "\x95\2\0\0\0\0\0\0\0"s;
  CHECK(says(told(frame + "B\7\1\0\0"s + std::string(300, 'N')), "at offset 9 loaders read on differently"));
  CHECK(says(told(std::string((std::size_t{1} << 22) + 10, 'N')), "its opcodes go on beyond offset 4194304"));
}

TEST_CASE("of what a pickle comes to first the offset is told, and the module where it is known") {
  CHECK(says(told("cos\nsystem\n\xff"), ": pickle.load comes to an import at offset 0, of os\n"));
  CHECK(says(told("NNcos.path\njoin\n."), ": pickle.load comes to an import at offset 2, of os.path\n"));
  CHECK(
      says(told("Vos\np1_0\ng1_0\n\x93."s),
           "; pickle.load comes to an import at offset 14; what it imports at offset 14 only running it would tell\n"));
}
