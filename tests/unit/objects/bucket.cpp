#include "tests/unit/objects/bucket.hpp"

#include <algorithm>

#include "lib/objects/new_version.hpp"

namespace tare::test {
namespace {

constexpr std::size_t place = 400;
constexpr std::size_t changed_bytes = 8;

Bytes filled(std::size_t size, char with) {
  return Bytes(size, static_cast<std::byte>(with));
}

}  // namespace

JournalKey key_of(unsigned who) {
  return JournalKey(Bytes(JournalKey::size, static_cast<std::byte>(who)));
}

Bucket::Bucket(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    Bytes bytes = filled(path == model ? least_composed_bytes + 1'000 : 1'000, 'a');
    store.put(path, bytes);
    old[path] = bytes;
    std::fill_n(bytes.begin() + place, changed_bytes, std::byte{'b'});
    edited[path] = std::move(bytes);
  }
}

std::vector<FileEdit> Bucket::edits() {
  std::vector<FileEdit> edits;
  for (const auto& [path, bytes] : old) {
    FileEdit edit{path, {}, {}, store.look(path)->tag};
    edit.change.patches = {{place, filled(changed_bytes, 'a'), filled(changed_bytes, 'b'), "scale"}};
    edits.push_back(std::move(edit));
  }
  return edits;
}

std::vector<FieldEdit> Bucket::fields() {
  return {{first_rank, "scaler", "scale", "1", "2"}};
}

TransactionOptions Bucket::sealed(unsigned who) {
  TransactionOptions options;
  options.key = key_of(who);
  options.origin = {"anna", "node1", "tare edit"};
  return options;
}

bool Bucket::are(const std::map<std::string, Bytes>& wanted) const {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& object) {
    return store.has(object.first) && store.bytes(object.first) == object.second;
  });
}

}  // namespace tare::test
