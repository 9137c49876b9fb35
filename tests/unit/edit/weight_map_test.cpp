// The index of a model's shards goes along with the tensors that an edit takes away.
#include "lib/edit/weight_map.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/container/file_change.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

using Names = std::vector<std::string>;

const std::string shard = "model-00001-of-00002.safetensors";
const std::string other_shard = "model-00002-of-00002.safetensors";

/// Tensors of two bytes each.
Bytes safetensors(const Names& names) {
  std::string header = "{";
  for (std::size_t i = 0; i < names.size(); ++i) {
    header += fmt::format(R"({}"{}":{{"dtype":"U8","shape":[2],"data_offsets":[{},{}]}})", i == 0 ? "" : ",", names[i],
                          2 * i, 2 * i + 2);
  }
  header += "}";
  Bytes file;
  append_le<std::uint64_t>(file, header.size());
  for (const char c : header + std::string(2 * names.size(), 'x')) file.push_back(static_cast<std::byte>(c));
  return file;
}

/// How a writer of JSON sets its tokens.
struct Setting {
  std::string_view before_key, after_key, at_end;
  bool escapes = false;
};

/// An index in which `names` are in the first shard; what stands before them, and behind an even number of them, is in
/// the other one.
std::string index(const Names& names, const Setting& setting, std::size_t total) {
  std::string text = fmt::format(R"({{"metadata":{{"total_size":{}}},"weight_map":{{)", total);
  bool is_first = true;
  const auto add = [&](const std::string& name, const std::string& file) {
    std::string key;
    for (const char c : name) key += setting.escapes ? fmt::format("\\u{:04x}", c) : std::string(1, c);
    text += fmt::format(R"({}{}"{}":{}"{}")", is_first ? "" : ",", setting.before_key, key, setting.after_key, file);
    is_first = false;
  };
  add("first", other_shard);
  for (const std::string& name : names) add(name, shard);
  if (names.size() % 2 == 0) add("last", other_shard);
  return text + std::string(setting.at_end) + "}}\n";
}

std::string after(const Scratch& scratch, const Names& before, const Names& now) {
  FileEdit edit{scratch.write(shard, safetensors(before)), {}, {}};
  edit.change.splice = changed_run(0, safetensors(before), safetensors(now), "tensors");
  const auto maps = renewed_weight_maps({edit});
  REQUIRE(maps.size() == 1);
  REQUIRE(maps[0].change.splice);
  const Splice& splice = *maps[0].change.splice;
  const Bytes old = bytes_of(maps[0].path);
  std::string text(as_text(old));
  CHECK(text.substr(splice.offset, splice.before.size()) == as_text(splice.before));
  return text.replace(splice.offset, splice.before.size(), as_text(splice.after));
}

}  // namespace

TEST_CASE("an index is, without some of a shard's tensors, what would have been written without them") {
  const Scratch scratch;
  const Names all = {"a", "b.weight", "c", "d_scale"};
  for (const Setting& setting :
       {Setting{"", "", ""}, Setting{" ", " ", ""}, Setting{"\n    ", " ", "\n  "}, Setting{"", "", "", true}}) {
    for (unsigned kept = 0; kept < 15; ++kept) {
      Names now;
      for (unsigned i = 0; i < all.size(); ++i) {
        if ((kept >> i & 1U) != 0) now.push_back(all[i]);
      }
      INFO(kept);
      if (now.size() % 2 != all.size() % 2) continue;  // `index` would end otherwise
      scratch.write("model.safetensors.index.json", index(all, setting, 100));
      CHECK(after(scratch, all, now) == index(now, setting, 100 - 2 * (all.size() - now.size())));
    }
  }
}

TEST_CASE("the last tensors of an index go with the comma before them") {
  const Scratch scratch;
  const Names all = {"a", "b", "c"};
  for (const Names& now : {Names{"a"}, Names{"c"}, Names{}}) {
    scratch.write("model.safetensors.index.json", index(all, {"", "", ""}, 100));
    std::string expected = index(now, {"", "", ""}, 100 - 2 * (all.size() - now.size()));
    const std::string last = fmt::format(R"(,"last":"{}")", other_shard);
    if (const std::size_t at = expected.find(last); at != expected.npos) expected.erase(at, last.size());
    CHECK(after(scratch, all, now) == expected);
  }
}

TEST_CASE("an index that cannot be read, or names a tensor twice, is refused") {
  const Scratch scratch;
  for (const char* text : {"{", R"({"weight_map":{"a":"x","a":"y"}})", R"({"weight_map":{"a":["x"]}})"}) {
    INFO(text);
    scratch.write("model.safetensors.index.json", std::string(text));
    CHECK_THROWS_AS(after(scratch, {"a", "b"}, {"b"}), Error);
  }
}

}  // namespace tare::test
