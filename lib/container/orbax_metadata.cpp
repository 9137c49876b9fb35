#include "lib/container/orbax_metadata.hpp"

#include "lib/container/json_document.hpp"

namespace tare {
namespace {

std::string joined_keys(const JsonDocument& key_metadata) {
  std::string name;
  for (const JsonDocument& part : key_metadata) {
    const JsonDocument& key = part.at("key");
    if (!name.empty()) name += '.';
    name += key.is_string() ? key.get<std::string>() : key.dump();
  }
  return name;
}

}  // namespace

std::set<std::string> orbax_python_numbers(const SourceFolder& folder) {
  if (!folder.has(orbax_metadata_name)) return {};
  const auto file = folder.open(orbax_metadata_name);
  return with_json_errors(file->name(), [&] {
    std::set<std::string> names;
    const JsonDocument document = parsed_json(file->read({0, file->size()}), file->name());
    for (const auto& [tuple, entry] : document.at("tree_metadata").items()) {
      if (entry.at("value_metadata").value("value_type", "") != "scalar") continue;
      names.insert(joined_keys(entry.at("key_metadata")));
    }
    return names;
  });
}

}  // namespace tare
