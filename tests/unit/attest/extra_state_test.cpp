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
