// Files made to break a reader: each is refused, or opens with a finding that tells what is wrong. Nothing in them
// runs, because nothing here could run it.

#include <algorithm>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;

namespace {

struct Refused {
  std::string_view name, file;
  Status status;
};

struct Warned {
  std::string_view name, file, code;
};

constexpr Refused refused[] = {
    {"bad-opcode", "evil.pt", Status::corrupt},
    {"bad-utf8", "evil.pt", Status::corrupt},
    {"call-ext", "evil.pt", Status::corrupt},
    {"call-legacy-magic", "evil.pt", Status::refused},
    {"cut-directory", "evil.pt", Status::corrupt},
    {"cut-end", "evil.pt", Status::corrupt},
    {"cut-four", "evil.pt", Status::corrupt},
    {"cut-half", "evil.pt", Status::corrupt},
    {"cut-header", "evil.pt", Status::corrupt},
    {"cut-one", "evil.pt", Status::unsupported},
    {"deep-marks", "evil.pt", Status::corrupt},
    {"empty", "evil.pt", Status::unsupported},
    {"frame-long", "evil.pt", Status::corrupt},
    {"gzip", "evil.pt", Status::corrupt},
    {"html", "evil.pt", Status::unsupported},
    {"int-digits", "evil.pt", Status::corrupt},
    {"legacy-count", "evil.pt", Status::corrupt},
    {"legacy-count-negative", "evil.pt", Status::corrupt},
    {"legacy-cut", "evil.pt", Status::corrupt},
    {"legacy-key", "evil.pt", Status::corrupt},
    {"legacy-magic-only", "evil.pt", Status::corrupt},
    {"legacy-mismatch", "evil.pt", Status::corrupt},
    {"length-4", "evil.pt", Status::corrupt},
    {"length-8", "evil.pt", Status::corrupt},
    {"list-key", "evil.pt", Status::corrupt},
    {"long4-huge", "evil.pt", Status::corrupt},
    {"long4-negative", "evil.pt", Status::corrupt},
    {"memo-unset", "evil.pt", Status::corrupt},
    {"no-stop", "evil.pt", Status::corrupt},
    {"odd-setitems", "evil.pt", Status::corrupt},
    {"stack-underflow", "evil.pt", Status::corrupt},
    {"text", "evil.pt", Status::unsupported},
    {"zeroed", "evil.pt", Status::refused},
    {"zeros", "evil.pt", Status::unsupported},
    {"zip-bomb", "evil.pt", Status::refused},
    {"zip-comment-end", "evil.pt", Status::corrupt},
    {"zip-count-high", "evil.pt", Status::corrupt},
    {"zip-count-low", "evil.pt", Status::corrupt},
    {"zip-encrypted", "evil.pt", Status::refused},
    {"zip-end64-count", "evil.pt", Status::corrupt},
    {"zip-end64-far", "evil.pt", Status::corrupt},
    {"zip-end64-wrong", "evil.pt", Status::corrupt},
    {"zip-leading", "evil.pt", Status::unsupported},
    {"zip-local-method", "evil.pt", Status::refused},
    {"zip-local-name", "evil.pt", Status::refused},
    {"zip-long-name", "evil.pt", Status::refused},
    {"zip-method", "evil.pt", Status::refused},
    {"zip-no-pickle", "evil.pt", Status::unsupported},
    {"zip-not-torch", "notes.zip", Status::unsupported},
    {"zip-nul-name", "evil.pt", Status::refused},
    {"zip-overlap", "evil.pt", Status::refused},
    {"zip-overlap-partly", "evil.pt", Status::refused},
    {"zip-path", "evil.pt", Status::refused},
    {"zip-same-name", "evil.pt", Status::refused},
    {"zip-same-name-case", "evil.pt", Status::refused},
    {"zip-stray", "evil.pt", Status::refused},
    {"zip-torchscript", "evil.pt", Status::refused},
    {"zip-trailing-far", "evil.pt", Status::corrupt},
    {"zip-zip64-offset", "evil.pt", Status::corrupt},
    {"zip-zip64-short", "evil.pt", Status::corrupt},
    {"zip-zip64-size", "evil.pt", Status::refused},
};

constexpr Warned warned[] = {
    {"call-after-stop", "evil.pt", "trailing-data"},
    {"call-build", "evil.pt", "dangerous-global"},
    {"call-eval", "evil.pt", "dangerous-global"},
    {"call-exec", "evil.pt", "dangerous-global"},
    {"call-in-persid", "evil.pt", "dangerous-global"},
    {"call-inst", "evil.pt", "dangerous-global"},
    {"call-is-scale", "evil.pt", "dangerous-global"},
    {"call-legacy", "evil.pt", "dangerous-global"},
    {"call-newobj-ex", "evil.pt", "dangerous-global"},
    {"call-obj", "evil.pt", "dangerous-global"},
    {"call-os-system", "evil.pt", "dangerous-global"},
    {"call-plain-pickle", "evil.pkl", "dangerous-global"},
    {"call-popped", "evil.pt", "dangerous-global"},
    {"call-posix-system", "evil.pt", "dangerous-global"},
    {"call-py2-eval", "evil.pt", "dangerous-global"},
    {"call-runpy", "evil.pt", "dangerous-global"},
    {"call-stack-global", "evil.pt", "dangerous-global"},
    {"call-top", "evil.pt", "dangerous-global"},
    {"deep-dicts", "evil.pt", "deep-nesting"},
    {"deep-lists", "evil.pt", "deep-nesting"},
    {"key-twice", "evil.pt", "duplicate-key"},
    {"memo-bomb", "evil.pt", "shared-expansion"},
    {"memo-dup", "evil.pt", "self-reference"},
    {"memo-far", "evil.pt", "memo-index"},
    {"memo-hash-bomb", "evil.pt", "shared-expansion"},
    {"persid-nested", "evil.pt", "persistent-id"},
    {"protocol-99", "evil.pt", "pickle-protocol"},
    {"self-reference", "evil.pt", "self-reference"},
    {"surrogate", "evil.pt", "lone-surrogate"},
    {"terminal", "evil.pt", "unprintable-name"},
    {"zip-crc", "evil.pt", "crc-mismatch"},
    {"zip-crc-half", "evil.pt", "crc-mismatch"},
    {"zip-deflate", "evil.pt", "compressed-pickle"},
    {"zip-local-size", "evil.pt", "size-mismatch"},
    {"zip-trailing", "evil.pt", "trailing-bytes"},
};

std::string place(std::string_view name, std::string_view file) {
  return std::string("hostile/").append(name).append("/").append(file);
}

}  // namespace

TEST_CASE("broken files are refused, and the message names the file") {
  for (const auto& [name, file, status] : refused) {
    INFO(name);
    try {
      open_corpus(place(name, file));
      FAIL_CHECK("it opened");
    } catch (const Error& error) {
      CHECK(error.status == status);
      CHECK(std::string(error.what()).find(name) != std::string::npos);
      CHECK(std::string(error.what()).size() < 400);
    }
  }
}

TEST_CASE("files that load but should not be trusted open with a finding") {
  for (const auto& [name, file, code] : warned) {
    INFO(name);
    const auto container = open_corpus(place(name, file));
    const auto& findings = container->findings();
    CHECK(std::any_of(findings.begin(), findings.end(),
                      [&, wanted = code](const Finding& f) { return f.code == wanted; }));
    CHECK(container->tree().root != nowhere);
  }
}

TEST_CASE("tensors that claim what the file does not hold have no value") {
  const auto huge = open_corpus(place("tensor-numel-huge", "evil.pt"));
  CHECK(huge->tree().value(node_at(huge->tree(), {"scaler", "scale"}), 1 << 20).number() == nullptr);
  for (const std::string_view name : {"tensor-size-negative", "tensor-storage-missing", "tensor-view-outside"}) {
    INFO(name);
    const auto container = open_corpus(place(name, "evil.pt"));
    const Tree& tree = container->tree();
    CHECK_THROWS_AS(tree.value(node_at(tree, {"scaler", "scale"}), 1 << 20), Error);
    CHECK(tree.value(node_at(tree, {"scaler", "growth_interval"}), 1).as_double() == 2000);
  }
}
