// What TransformerEngine 2.18 and newer does with an extra state, by its opcodes; the pickles are Python's own.
#include "lib/attest/extra_state.hpp"
#include "tests/catch.hpp"

#include <string>

using namespace tare;
using namespace std::string_literals;

namespace {

ExtraStateFate fate(const std::string& pickle) {
  return fate_of_pickle(as_bytes(pickle));
}

/// SHORT_BINUNICODE
std::string text(const std::string& value) {
  return "\x8c"s + static_cast<char>(value.size()) + value;
}

/// A dict of one member, protocol 4.
std::string dict_of(const std::string& key, const std::string& value) {
  return "\x80\x04}"s + text(key) + value + "s.";
}

std::string recipe(const std::string& name) {
  return text("transformer_engine.common.recipe") + text(name) + "\x93";
}

}  // namespace

TEST_CASE("an extra state that can run nothing is ignored") {
  CHECK(!fate("").refused);
  CHECK(!fate("\x80\x04N.").refused);
  CHECK(!fate("\x80\x04}.").refused);
  CHECK(!fate(dict_of("extra_fp8_variables", ")")).refused);
}

TEST_CASE("a recipe without state is ignored, delayed scaling refused, and so is a recipe of no known class") {
  for (const char* name : {"Float8CurrentScaling", "MXFP8BlockScaling", "Float8BlockScaling", "NVFP4BlockScaling"}) {
    CHECK(!fate(dict_of("recipe", recipe(name))).refused);
    CHECK(!fate("\x80\x02}U\x06recipectransformer_engine.common.recipe\n"s + name + "\ns.").refused);
  }
  CHECK(fate(dict_of("recipe", recipe("DelayedScaling"))).refused);
  CHECK(fate(dict_of("recipe", recipe("SomethingNewer"))).refused);
  CHECK(fate(dict_of("recipe", text("my.module") + text("Recipe") + "\x93")).refused);
}

TEST_CASE("delayed scaling's keys are refused, whatever recipe stands beside them; so is a state of no recipe") {
  CHECK(fate(dict_of("scale_fwd", "N")).refused);
  CHECK(fate("\x80\x04}("s + text("recipe") + recipe("MXFP8BlockScaling") + text("amax_history_bwd") + "Nu.").refused);
  CHECK(fate(dict_of("state", text("torch._utils") + text("_rebuild_tensor_v2") + "\x93")).refused);
}

TEST_CASE("what is no pickle to its end is refused") {
  for (const std::string& broken : {"\x80\x04}"s, "\xff"s, "\x80\x04\x8c\x20short."s, "\x80\x04\x8c\x01\xff."s,
                                    "\x80\x02Sunquoted\n."s, "no pickle"s}) {
    INFO(broken.size());
    CHECK(fate(broken).refused);
  }
}

TEST_CASE("keys of extra state are known by their end") {
  for (const char* key : {"_extra_state", "fc1._extra_state", "fc1._extra_state3", "l._extra_state/shard_0_4"})
    CHECK(is_extra_state_key(key));
  for (const char* key : {"", "extra_state_of", "_extra_state.x", "0", "weight"}) CHECK(!is_extra_state_key(key));
}

TEST_CASE("each reason that TransformerEngine has to refuse or ignore an extra state is told as that one") {
  const std::string module = "transformer_engine.common.recipe";
  const auto refused_as = [](const std::string& pickle, const char* why) {
    const ExtraStateFate told = fate(pickle);
    INFO(why);
    CHECK(told.refused);
    CHECK(told.why == why);
  };
  const auto ignored_as = [](const std::string& pickle, const char* why) {
    const ExtraStateFate told = fate(pickle);
    INFO(why);
    CHECK(!told.refused);
    CHECK(told.why == why);
  };
  ignored_as("", "empty");
  ignored_as("\x80\x04}.", "names nothing, so it can run nothing");
  // INST is no opcode that TransformerEngine looks for.
  ignored_as("\x80\x02(i"s + module + "\nMXFP8BlockScaling\n.", "names nothing, so it can run nothing");
  refused_as("\x80\x02"s + "c" + module + "\nMXFP8BlockScaling\n.", "names classes, but has no recipe");
  refused_as("\x80\x04"s + recipe("MXFP8BlockScaling") + ".", "names classes, but has no recipe");
  refused_as(dict_of("recipe", text("my.module") + text("MXFP8BlockScaling") + "\x93"),
             "names no recipe that is known");
  refused_as(dict_of("recipe", "cmy.module\nMXFP8BlockScaling\n"), "names no recipe that is known");
  refused_as(dict_of("recipe", recipe("SomethingNewer")), "names no recipe that is known");
  refused_as(dict_of("recipe", recipe("DelayedScaling")), "delayed scaling keeps its state in a pickle");
  refused_as(dict_of("recipe", "c" + module + "\nDelayedScaling\n"), "delayed scaling keeps its state in a pickle");
  for (const char* name :
       {"Float8CurrentScaling", "MXFP8BlockScaling", "Float8BlockScaling", "NVFP4BlockScaling", "CustomRecipe"}) {
    ignored_as(dict_of("recipe", recipe(name)), "a recipe that keeps no state");
  }
  for (const char* key : {"scale_fwd", "amax_history_fwd", "scale_bwd", "amax_history_bwd"}) {
    refused_as("\x80\x04}("s + text("recipe") + recipe("MXFP8BlockScaling") + text(key) + "Nu.",
               "delayed scaling keeps its state in a pickle");
    refused_as(dict_of(key, "N"), "names classes, but has no recipe");
  }
}

TEST_CASE("the key of the recipe is found in whichever opcode writes it") {
  const std::string value = recipe("MXFP8BlockScaling") + "s.";
  const auto four = [](char size) { return std::string{size, '\0', '\0', '\0'}; };
  for (const std::string& key :
       {"\x8c\x06recipe"s, "X" + four(6) + "recipe", "\x8d" + four(6) + four(0) + "recipe", "S'recipe'\n"s,
        "S\"recipe\"\n"s, "Vrecipe\n"s, "T" + four(6) + "recipe", "U\x06recipe"s}) {
    INFO(key);
    CHECK(fate("\x80\x04}" + key + value).why == "a recipe that keeps no state");
  }
}

TEST_CASE("text that pickletools would not read makes an extra state one that cannot be followed") {
  const std::string ends[] = {"S'\xe9'\n."s,    "S'a\xe9'\n."s,    "S\"a'\n."s,     "S'\n."s,        "Sa\n."s,
                              "\x8c\x01\xe9."s, "X\1\0\0\0\xe9."s, "cm\xe9\nb\n."s, "(im\xe9\nb\n."s};
  for (const std::string& end : ends) {
    INFO(end);
    CHECK(fate("\x80\x02" + end).why == "no pickle that can be followed");
  }
  CHECK(fate("\x80\x02S''\n.").why == "names nothing, so it can run nothing");
}
