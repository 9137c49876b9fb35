#include "tools/records.hpp"

#include "lib/objects/object_transaction.hpp"
#include "tools/journals.hpp"
#include "tools/network.hpp"

using namespace tare;

Records records_of(const std::string& path) {
  if (ObjectLayer* const objects = objects_to_change(path)) {
    const JournalKey key = key_for_reading();
    return {find_pending(*objects, path, key), [=](const auto& take) { history(*objects, path, key, take); }};
  }
  const Scope scope = scope_for_reading(path);
  return {find_pending(scope), [=](const auto& take) { history(scope, take); }};
}
