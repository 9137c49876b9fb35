// What each torch release's weights_only allows, at the borders where releases differ.
#include "lib/container/pickle/globals/torch_globals.hpp"

#include "lib/attest/verdict.hpp"
#include "lib/base/error.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

bool allows(const char* version, std::string_view module, std::string_view name) {
  return weights_only_allows(require_torch_release(version), module, name);
}

}  // namespace

TEST_CASE("a name is allowed from the release on that brought it") {
  struct Border {
    const char *before, *since, *module, *name;
  };
  for (const Border& border : {Border{"1.13", "2.0", "torch._tensor", "_rebuild_from_type_v2"},
                               {"2.1", "2.2", "torch._utils", "_rebuild_tensor_v3"},
                               {"2.1", "2.2", "torch", "float8_e4m3fn"},
                               {"2.2", "2.3", "torch", "float8_e5m2fnuz"},
                               {"2.3", "2.4", "collections", "Counter"},
                               {"2.3", "2.4", "torch", "bfloat16"},
                               {"2.3", "2.4", "torch", "per_tensor_affine"},
                               {"2.4", "2.5", "_codecs", "encode"},
                               {"2.4", "2.5", "builtins", "bytearray"},
                               {"2.5", "2.6", "builtins", "set"},
                               {"2.5", "2.6", "torch._utils", "_rebuild_device_tensor_from_cpu_tensor"},
                               {"2.6", "2.7", "torch", "float8_e8m0fnu"},
                               {"2.7", "2.8", "torch", "float4_e2m1fn_x2"}}) {
    INFO(border.module << "." << border.name);
    CHECK(!allows(border.before, border.module, border.name));
    CHECK(allows(border.since, border.module, border.name));
    CHECK(weights_only_since(border.module, border.name) == find_torch_release(border.since));
  }
}

TEST_CASE("two rebuilding functions are allowed no longer") {
  CHECK(allows("1.13", "torch._utils", "_rebuild_sparse_csr_tensor"));
  CHECK(!allows("2.0", "torch._utils", "_rebuild_sparse_csr_tensor"));
  CHECK(allows("2.14", "torch._utils", "_rebuild_nested_tensor"));
  CHECK(!allows("2.15", "torch._utils", "_rebuild_nested_tensor"));
  CHECK(!weights_only_since("torch._utils", "_rebuild_nested_tensor"));
}

TEST_CASE("tensor and storage classes are torch's own alone") {
  CHECK(allows("1.13", "torch", "FloatStorage"));
  CHECK(allows("1.13", "torch.cuda", "HalfTensor"));
  CHECK(allows("2.6", "torch.storage", "UntypedStorage"));
  CHECK(!allows("2.6", "torch", "EvilStorage"));
  CHECK(!allows("2.6", "evil", "FloatStorage"));
  CHECK(allows("2.6", "__builtin__", "set"));
}

TEST_CASE("releases are found by minor version, others refused by name") {
  CHECK(find_torch_release("2.6.1") == find_torch_release("2.6"));
  CHECK(!find_torch_release("2"));
  CHECK(!find_torch_release("1.12"));
  CHECK_THROWS_AS(require_torch_release("3.0"), Error);
}

TEST_CASE("names are judged by what they can do") {
  const TorchRelease newest = newest_torch_release();
  for (const auto& [module, name] : {std::pair{"os", "system"},
                                     {"posix", "system"},
                                     {"builtins", "eval"},
                                     {"__builtin__", "execfile"},
                                     {"subprocess", "Popen"},
                                     {"runpy", "_run_code"}}) {
    CHECK(verdict_of(module, name, newest) == Verdict::dangerous);
  }
  CHECK(verdict_of("transformer_engine.common.recipe", "DelayedScaling", newest) == Verdict::framework);
  CHECK(verdict_of("builtins", "dict", newest) == Verdict::framework);
  CHECK(verdict_of("builtins", "set", newest) == Verdict::allowed);
  CHECK(verdict_of("builtins", "set", require_torch_release("2.5")) == Verdict::framework);
  CHECK(verdict_of("mine", "Thing", newest) == Verdict::unknown);
}
