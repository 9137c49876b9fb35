// What is named in texts that are read by their words, YAML most of all: wherever lines break, whatever stands before a
// value, and in little time.
#include <chrono>

#include "tests/unit/attest/told.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

const std::string unfollowed = "names what its loader calls, by words that are not followed";

std::string repeated(const std::string& part, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += part;
  return all;
}

}  // namespace

TEST_CASE("tags and directives of YAML are told behind a byte-order mark and every break that YAML has") {
  const std::string tag = "!!python/object/apply:os.system [ls]\n";
  const std::string directive = "%TAG !e! tag:yaml.org,2002:pyth\n---\na: !e!on/object/apply:os.system [ls]\n";
  for (const std::string& before : {""s, "\n"s, "\r"s, "\xef\xbb\xbf"s, "# a\xc2\x85"s, "# a\xe2\x80\xa8"s,
                                    "# a\xe2\x80\xa9"s, "\xef\xbb\xbf# a\xe2\x80\xa8"s}) {
    INFO(before);
    CHECK(says(told(before + tag, ".yaml"), "YAML with tags"));
    CHECK(says(told(before + directive, ".yaml"), "YAML with tags"));
    CHECK(says(told(before + "_target_: os.system\n", ".yaml"), "dangerous os.system"));
    CHECK(says(told(before + "_target_: os.system\n", ".cfg"), "dangerous os.system"));
  }
  CHECK(told("a: caf\xc3\xa9\xe2\x80\x94! and \xe2\x80\xa6!\n", ".yaml").empty());
}

TEST_CASE("a key or a name that goes on in the next line is found, and so is one behind a line that only ends so") {
  for (const char* text : {"a:\n  ? \"_tar\\\n    get_\"\n  : os.system\n", "a: {? \"_tar\\\r\n  get_\" : os.system}\n",
                           "_target_: \"os.\\\n  system\"\n", "a: b\\\n_target_: os.system\n",
                           "a: \"b\\\xe2\x80\xa8_target_: os.system\"\n_target_: os.system\n"}) {
    INFO(text);
    CHECK(says(told(text, ".yaml"), "dangerous os.system"));
  }
  const std::string command = "run: |\n  torchrun \\\n    --nproc 8 \\\n    train.py \"a\"\n";
  CHECK(told(command, ".yaml").empty());
}

TEST_CASE("a target beside params is followed past what YAML says of it, and told where it is elsewhere") {
  const std::string params = "params: {command: ls}\n";
  for (const char* text :
       {"target: &a os.system\n", "? target\n: os.system\n", "target: #\n  os.system\n",
        "target: # why\n\n  # and more\n  os.system\n", "target: !!str os.system\n", "target: >-\n  os.system\n",
        "? !!str target\n: os.system\n", "'target' : \"os.system\"\n"}) {
    INFO(text);
    CHECK(says(told(text + params, ".yaml"), "dangerous os.system"));
    CHECK(says(told(text, ".yaml"), "dangerous os.system"));
  }
  for (const char* text : {"a: &a os.system\ntarget: *a\n", "a: &k target\n*k : os.system\n",
                           "a: &k 'target'\n*k : os.system\n", "target: ${a}\n"}) {
    INFO(text);
    CHECK(says(told(text + params, ".yaml"), unfollowed));
  }
}

TEST_CASE("a target without params names something where it looks like a path to it") {
  for (const char* text : {"target: os.system\n", "{target: 'os.system'}\n", "- target: os.system # or not\n"}) {
    INFO(text);
    CHECK(says(told(text, ".yaml"), "dangerous os.system"));
  }
  CHECK(says(told(R"({"target": "os.system"})", ".json"), "dangerous os.system"));
  for (const char* value : {"cuda", "0.5", "1.5e-3", "model.bin", "model.safetensors", "train.py", "scaler.pdparams",
                            "model.keras", "lm_head.weight", "example.com", "a/b.c", "layers.0.weight", "v1.0",
                            "U.S. dollars", "the end.", "..", ".a", "e.g. this"}) {
    INFO(value);
    CHECK(told("target: "s + value + "\n", ".yaml").empty());
    CHECK(told("{\"target\": \""s + value + "\"}", ".json").empty());
  }
  CHECK(told(R"({"target": ["os.system"], "targets": "os.system"})", ".json").empty());
  CHECK(told("{\"target\": \"os.system\"}\n{\"target\": \"os.path\"}\n", ".jsonl").empty());  // examples of a data set
}

TEST_CASE("an activation of a model in YAML is told unless it is a layer of torch's") {
  const auto model = [](const std::string& value) {
    return told("nc: 1\nactivation: " + value + "\nbackbone:\n  - [-1, 1, Conv, [64, 3, 2]]\nhead: []\n", ".yaml");
  };
  const std::string evaluated = "dangerous builtins.eval";
  for (const char* value : {"__import__('os').system('id')", "\"__import__('os').system('id')\"", "nn.SiLU() or f()",
                            "nn.SiLU(f())", ">-\n  __import__('os')", "\n  f\n  ('x')", "\"'#' and f()\"", "&a f()",
                            "*a", "torch.hub.load('x')", "nn.init.f(1)"}) {
    INFO(value);
    CHECK(says(model(value), evaluated));
  }
  for (const char* value :
       {"nn.SiLU()", "torch.nn.LeakyReLU(0.1)", "nn.Hardtanh(-1.0, 1e-3)", "\"nn.ReLU(inplace=True)\"",
        "nn.SiLU()  # as before (see there)", "relu", "null", "{type: relu}"}) {
    INFO(value);
    CHECK(model(value).find(evaluated) == std::string::npos);
  }
  CHECK(told("activation: f(x)\n", ".yaml").find(evaluated) == std::string::npos);
}

TEST_CASE("a call in a layer's row is told, as YOLOv5 evaluates it") {
  const auto model = [](const std::string& row) {
    return told(
        "nc: 80  # classes (COCO)\ndepth_multiple: 0.33\nactivation: nn.SiLU()\nbackbone:\n  [[-1, 1, Conv, [64]],\n  "
        " " +
            row + "]\nhead: []\n",
        ".yaml");
  };
  const std::string evaluated = "dangerous builtins.eval";
  for (const char* row : {"[-1, 1, \"__import__('os').system('id')\", []]", "[-1, 1, Conv, [f(x)]]",
                          "[-1, 1, 'a # b', [\"f('x')\"]]", "[-1, 1, \"a\n b # c\", [f(x), '']]",
                          "[-1, 1, \"f\\x28)\", []]", "[-1, 1, Conv, []]]\nother: [[-1, 1, f(), []]"}) {
    INFO(row);
    CHECK(says(model(row), evaluated));
  }
  for (const char* row : {"[-1, 1, nn.Upsample, [None, 2, 'nearest']],  # 10 (as before)", "[-1, 3, C3, [128]]",
                          "[[-1, 6], 1, Concat, [1]], # cat (backbone)", "[[17, 20, 23], 1, Detect, [nc, anchors]]"}) {
    INFO(row);
    CHECK(model(row).find(evaluated) == std::string::npos);
  }
  CHECK(told("backbone: f(x)\nhead: g(x)\nnc: 1\n", ".yaml").find(evaluated) == std::string::npos);
}

TEST_CASE("what is an alias in YAML is none in other texts") {
  for (const char* text : {"fn run(params: &Params, &mut target) {}\n", "params: a list\ntarget: **bold**\n"}) {
    INFO(text);
    CHECK(told(text, ".rs").find("names") == std::string::npos);
  }
}

TEST_CASE("a name that is longer than any is told in place of what it names") {
  const std::string path = "os" + repeated(".system.__self__", 20);
  CHECK(says(told("_target_: " + path + "\n", ".yaml"), unfollowed));
  CHECK(says(told("target: " + path + "\nparams: 1\n", ".yaml"), unfollowed));
  CHECK(!told(R"({"_target_": ")" + path + "\"}", ".json").empty());
}

TEST_CASE("texts are gone through in time that grows with them alone") {
  const auto begin = std::chrono::steady_clock::now();
  for (const char* part :
       {"target:", "_target_ #", "target: # ", "? target &", "target:&", "\"_target_\\\n", "target:\n"}) {
    INFO(part);
    CHECK(told("params: 1\n" + repeated(part, 200'000), ".yaml").find("os.system") == std::string::npos);
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}
