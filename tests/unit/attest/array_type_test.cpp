// Element types of NumPy that lie: files that corrupt the memory of whoever unpickles them, by NumPy's names alone.
#include "tests/unit/attest/told.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

/// numpy.dtype of a code, given a state with these parts.
std::string type(const std::string& code, const std::string& base, const std::string& fields, int flags) {
  return "cnumpy\ndtype\n(V"s + code + "\nI00\nI01\ntR(I3\nV|\n" + base + "N" + fields + "I8\nI1\nI" +
         std::to_string(flags) + "\ntb";
}
std::string file(const std::string& type) {
  return "(dVloss_scale\nF2.0\nsVa\n" + type + "s.";
}
std::string field(const std::string& type) {
  return "(dVa\n(" + type + "I0\nts";
}

const std::string objects = type("O8", "N", "N", 63);
const std::string numbers = type("f8", "N", "N", 0);

}  // namespace

TEST_CASE("an element type of NumPy that denies its objects, or has them made up, is told") {
  const std::string lies[] = {
      type("O8", "N", "N", 0),
      type("|O", "N", "N", 62),
      type("object", "N", "N", 0),
      type("V8", "N", field(objects), 0),
      type("V8", "N", field(type("V8", "N", field(objects), 27)), 0),
      type("V8", "(" + objects + "(I1\ntt", "N", 0),
      type("f8", "N", "N", 63),
      type("V8", "N", field(numbers), 27),
      "cnumpy\ndtype\n(VO8\nI00\nI01\ntR(I3\nV|\nNNNI8\nI1\ntb",
      type("O8", "N", "N", 0) + "(I3\nV|\nNNNI8\nI1\nI63\ntb",
      "cnumpy\ndtype\n(I1\nI00\nI01\ntR(I3\nV|\nNNNI8\nI1\nI0\ntb",
      "cnumpy\ndtype\n(tR(I3\nV|\nNNNI8\nI1\nI0\ntb",
  };
  for (const std::string& lie : lies) {
    INFO(lie);
    const std::string all = told(file(lie));
    CHECK((all.find("never writes") != std::string::npos || all.find("state twice") != std::string::npos));
  }
}

TEST_CASE("element types as NumPy writes them are its classes and no more") {
  for (const std::string& truth :
       {objects, numbers, type("V8", "N", field(objects), 27), type("V8", "N", field(numbers), 0),
        type("U2", "N", "N", 8), "cnumpy\ndtype\n(Vf8\nI00\nI01\ntR"s}) {
    INFO(truth);
    CHECK(told(file(truth)) == "framework numpy.dtype\n");
  }
}
