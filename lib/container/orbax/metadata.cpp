#include "lib/container/orbax/metadata.hpp"

#include "lib/json/document.hpp"

namespace tare {
namespace {

std::string joined_keys(const JsonValue& key_metadata) {
  std::string name;
  for (const JsonValue& part : key_metadata.items()) {
    if (!name.empty()) name += '.';
    name += part.at("key").word();
  }
  return name;
}

}  // namespace

std::set<std::string> orbax_python_numbers(const SourceFolder& folder) {
  if (!folder.has(orbax_metadata_name)) return {};
  const auto file = folder.open(orbax_metadata_name);
  const JsonDocument document(file->read({0, file->size()}), file->name(), file->budget());
  std::set<std::string> names;
  for (const JsonValue& entry : document.root().at("tree_metadata").items()) {
    if (entry.at("value_metadata").find("value_type").text_or("") != "scalar") continue;
    names.insert(joined_keys(entry.at("key_metadata")));
  }
  return names;
}

}  // namespace tare
