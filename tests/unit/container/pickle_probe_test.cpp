// Bytes of any kind, as CPython's unpicklers would take them: tried against both of them by tests/fuzz/loaders.py.
#include "lib/container/pickle/read/probe.hpp"

#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_view_literals;

namespace {

PickleProbe probed(std::string_view bytes) {
  return probe_pickle(MemorySource("file", bytes_of(bytes)));
}

PickleScan scanned(std::string_view bytes) {
  return scan_pickle(MemorySource("file", bytes_of(bytes)), 0);
}

std::string long1(std::string_view behind) {
  return "\x8a\xa5" + std::string(165, 'x') + std::string(behind);
}

}  // namespace

TEST_CASE("an import is reached whatever stands before it, by every opcode that imports") {
  const std::string marks(1000, '(');
  for (const std::string& bytes :
       {std::string("cos\ngetcwd\n"), std::string("Ncos\ngetcwd\n(tR."), std::string("(ios\ngetcwd\n"),
        std::string("(cos\ngetcwd\no."), std::string("\x80\x02\x8c\x02os\x8c\x06getcwd\x93)R.", 18),
        std::string("Vos\nVgetcwd\n\x93"), std::string("I1\n0F2.5\n0L3L\n0cos\ngetcwd\n"), long1("cos\ngetcwd\n)R."),
        std::string("Vos\np7\n0g7\nVgetcwd\n\x93"), marks + "cos\ngetcwd\n", std::string("N.cos\ngetcwd\n)R."),
        std::string("\x8a\x00.N.\x8a\x01\x05.cos\ngetcwd\n", 20)}) {
    INFO(bytes.substr(0, 40));
    CHECK(probed(bytes).end == ProbeEnd::imports);
  }
  CHECK(probed("N0cos\ngetcwd\n").offset == 2);
}

TEST_CASE(
    "the unpickler in Python takes a last line without its newline, and imports for INST before it asks for a mark") {
  CHECK(probed("cos\ngetcwdX").end == ProbeEnd::imports);
  CHECK(probed("ios\ngetcwd\n").end == ProbeEnd::imports);
  CHECK(probed("Nno number\ncos\ngetcwd").end == ProbeEnd::fails);
}

TEST_CASE("a frame beyond the end is one that the unpickler in Python reads; one that is crossed is read differently") {
  const auto frame = [](std::uint64_t size) {
    std::string text = "\x95";
    text.append(reinterpret_cast<const char*>(&size), sizeof size);
    return text;
  };
  CHECK(probed(frame(1000) + "cos\ngetcwd\n)R.").end == ProbeEnd::imports);
  CHECK(probed(frame(2) + std::string("B\x07\x01\x00\x00", 5) + std::string(300, 'N')).end == ProbeEnd::differs);
  CHECK(probed(frame(20) + frame(1) + "N" + std::string(40, 'N')).end == ProbeEnd::differs);
  CHECK(probed(frame(2) + std::string("B\x07\x01\x00\x00", 5) + std::string(300, 'N')).offset == 9);
  CHECK(probed(frame(1) + "N" + frame(1) + "N" + std::string(40, 'z')).end == ProbeEnd::fails);

  CHECK(scanned("\x80\x04" + frame(2) + "N.").has_plain_frames);
  CHECK(scanned("\x80\x04" + frame(1) + "N" + frame(1) + ".").has_plain_frames);
  CHECK(!scanned("\x80\x04" + frame(20) + frame(1) + "N.").has_plain_frames);
  CHECK(scanned("\x80\x04" + frame(2) + "K\x01.").has_plain_frames);
  CHECK(!scanned("\x80\x04" + frame(1) + "K\x01.").has_plain_frames);
  CHECK(!scanned("\x80\x04" + frame(4) + "N.").has_plain_frames);
}

TEST_CASE("what fails before an import is data, and so is prose, msgpack, numpy's magic, a zip") {
  for (const std::string_view bytes : {""sv,
                                       "."sv,
                                       "Rcos\ngetcwd\n"sv,
                                       "tcos\ngetcwd\n"sv,
                                       "h\0cos\ngetcwd\n"sv,
                                       "g0\ncos\ngetcwd\n"sv,
                                       "\x80\x06"
                                       "cos\ngetcwd\n"sv,
                                       "Ione\ncos\ngetcwd\n"sv,
                                       "Fx\ncos\ngetcwd\n"sv,
                                       "Stext\ncos\ngetcwd\n"sv,
                                       "N)Rcos\ngetcwd\n"sv,
                                       "P1\ncos\ngetcwd\n"sv,
                                       "NQcos\ngetcwd\n"sv,
                                       "\x82\x01"
                                       "cos\ngetcwd\n"sv,
                                       "\x97"
                                       "cos\ngetcwd\n"sv,
                                       "\x8b\xff\xff\xff\xff"
                                       "cos\ngetcwd\n"sv,
                                       "K"sv,
                                       "c\xff\nx\n"sv,
                                       "\x93NUMPY"sv,
                                       "PK\3\4\n"sv,
                                       "\x89HDF\r\n"sv,
                                       "Some words\nand more\n"sv,
                                       "\x82\xa5"
                                       "scale\xcb"sv,
                                       "(0"sv,
                                       "(00"sv,
                                       "0"sv}) {
    INFO(bytes);
    CHECK(probed(bytes).end == ProbeEnd::fails);
  }
}

TEST_CASE("all that is imported before a pickle breaks off is named, however its text is written") {
  const auto named = [](std::string_view bytes) {
    std::string all;
    for (const GlobalName& global : probed(bytes).globals) all += global.module + "." + global.name + " ";
    return all;
  };
  const std::string call = "(Vls\ntR";
  CHECK(named("cos\nsystem\n" + call + "\xff") == "os.system ");
  CHECK(named("cos\nsystem\n" + call + "RRRR.") == "os.system ");
  CHECK(named("cos\nsystem\n" + call + "0h\x07.") == "os.system ");
  CHECK(named("cos\nsystem\n" + call + "0cos\ngetcwd\n") == "os.system os.getcwd ");
  CHECK(named("cos\nsystem\n" + call + ".cos\ngetcwd\n)R.") == "os.system os.getcwd ");
  CHECK(named("ccollections\nOrderedDict\n)RVos\nVsystem\n\x93") == "collections.OrderedDict os.system ");
  CHECK(named("S'os'\nS'system'\n\x93S'ls'\n\x85R.") == "os.system ");
  CHECK(named("S'\\157\\x73'\nV\\u0073ystem\n\x93") == "os.system ");
  CHECK(named("Vos\np2\n0Vsystem\np3\n0g2\ng3\n\x93(Vls\ntR.\n\n\t\t") == "os.system ");
  CHECK(named("\x80\x04\x8c\x02os\x94\x8c\x06system\x94h\x00h\x01\x93.") == "");
  CHECK(named(std::string("\x80\x04\x8c\x02os\x94\x8c\x06system\x94h\0h\1\x93.", 22)) == "os.system ");
  for (const char* number : {"4194303", "4194304", "4294967296"}) {  // whatever numbers its memo begins with
    const std::string first = number, second = "1" + first;
    CHECK(named("Vos\np" + first + "\n0Vsystem\np" + second + "\n0g" + first + "\ng" + second + "\n\x93") ==
          "os.system ");
    CHECK(named("Vos\np" + first + "\n0Vsystem\n0g" + second + "\n\x93") == "");
  }
  CHECK(named("(ios\nsystem\n(ios\nsystem\n(ios\ngetcwd\n") == "os.system os.getcwd ");
  CHECK(named("cos\ngetcwdX") == "os.getcwd ");
}

TEST_CASE("a name that only running the pickle would tell is told as such; what is no text names nothing") {
  CHECK(probed("cos\nsep\nVsystem\n\x93").unnamed == 16);
  CHECK(probed("cos\nsep\n)RVsystem\n\x93").unnamed == 18);
  CHECK(!probed("cos\nsep\n0Vos\nVsystem\n\x93").unnamed);
  CHECK(probed("V" + std::string(5000, 'o') + "\nVsystem\n\x93").unnamed);
  const PickleProbe number = probed(
      "cos\nsystem\n(Vls\ntR0K\x01Vsystem\n\x93"
      "cos\ngetcwd\n");
  CHECK(number.globals.size() == 1);
  CHECK(number.calls == 1);
}

TEST_CASE("a file of millions of opcodes is not followed for ever") {
  CHECK(probed(std::string((std::size_t{1} << 22) + 10, 'N')).end == ProbeEnd::goes_on);
}

TEST_CASE("a scan counts what a pickle calls, and says where it breaks off") {
  CHECK(scanned("cos\ngetcwd\n)R.").calls == 1);
  CHECK(scanned("cos\ngetcwd\n)R.N.").end == 14);
  CHECK(scanned("(icollections\nOrderedDict\n}b.").calls == 2);
  CHECK(!scanned("N\xff.").is_whole);
  CHECK(scanned("N\xff.").end == 1);
}
