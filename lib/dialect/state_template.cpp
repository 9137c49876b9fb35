#include "lib/dialect/state_template.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>

#include "lib/base/error.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/state/policy_named.hpp"
#include "lib/state/policy_value.hpp"

namespace tare {
namespace {

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != words.npos && !word.empty(); at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

std::string_view ending_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == path.npos || path.find('/', dot) != path.npos ? std::string_view() : path.substr(dot);
}

/// "float32" and {1} of "tensor:float32[1]".
DocumentTensor tensor_of(std::string_view type, double number) {
  const std::size_t colon = type.find(':');
  const std::size_t bracket = type.find('[');
  DocumentTensor tensor;
  tensor.type = element_type(type.substr(colon + 1, bracket - colon - 1));
  if (type.substr(bracket) != "[]") tensor.shape = {1};
  tensor.elements = element_bytes(tensor.type, number, std::endian::little);
  return tensor;
}

Document value_as(std::string_view type, const StateValue* value, std::string_view key) {
  if (type == "true") return {true};
  if (type.starts_with("text:")) return {std::string(type.substr(5))};
  if (type.starts_with("torch.")) return {DocumentName{"torch", std::string(type.substr(6))}};
  if (value == nullptr || std::holds_alternative<std::monostate>(*value)) return {};
  if (type == "int") return {integer_of(*value, key)};
  if (type == "float") return {number_of(*value, key)};
  if (type == "bool") return {number_of(*value, key) != 0};
  if (type == "number") {
    const auto* whole = std::get_if<std::int64_t>(value);
    return whole != nullptr ? Document{*whole} : Document{number_of(*value, key)};
  }
  return {tensor_of(type, number_of(*value, key))};
}

/// Maps around `inner`, one for each key of a dotted path.
Document at_path(std::string_view path, Document inner) {
  while (!path.empty()) {
    const std::size_t dot = path.rfind('.');
    const std::size_t begin = dot == path.npos ? 0 : dot + 1;
    DocumentMap map;
    map.push_back({std::string(path.substr(begin)), std::move(inner)});
    inner = {std::move(map)};
    path = dot == path.npos ? std::string_view() : path.substr(0, dot);
  }
  return inner;
}

/// Why none is made for what is called so: a framework's, a policy's, or nobody's name.
[[noreturn]] void refuse_new_file(std::string_view name) {
  for (const Dialect* dialect : dialects()) {
    if (dialect->name != name) continue;
    if (dialect->policies.empty() && !dialect->no_policy.why.empty()) refuse_without_policy(*dialect);
    if (!dialect->never_alone.empty()) {
      throw Error(Status::refused, std::string(dialect->never_alone), "use --into with a checkpoint of it");
    }
  }
  if (policy_named(name) != nullptr) {
    throw Error(Status::refused, fmt::format("no framework keeps a state of policy \"{}\" in a file of its own", name),
                "-o STATE.json or .h5 writes it for tare");
  }
  throw Error(Status::invalid_argument, fmt::format("there is no framework \"{}\"", name),
              fmt::format("there are: {}", fmt::join(template_names(), ", ")));
}

}  // namespace

std::set<std::string_view> template_names() {
  std::set<std::string_view> names;
  for (const Dialect* dialect : dialects()) {
    for (const StateTemplate& form : dialect->templates) names.insert(form.name);
  }
  return names;
}

std::vector<const StateTemplate*> templates_of(std::string_view name) {
  std::vector<const StateTemplate*> forms;
  for (const Dialect* dialect : dialects()) {
    for (const StateTemplate& form : dialect->templates) {
      const bool is_policy = form.policy == name && dialect->name == name;  // not of another's that runs by that rule
      if (form.name == name || is_policy) forms.push_back(&form);
    }
  }
  if (forms.empty()) refuse_new_file(name);
  return forms;
}

const StateTemplate& template_for(std::string_view name, std::string_view path) {
  const std::vector<const StateTemplate*> forms = templates_of(name);
  for (const StateTemplate* form : forms) {
    if (has_word(form->endings, ending_of(path))) return *form;
  }
  std::set<std::string_view> endings;
  for (const StateTemplate* form : forms) endings.insert(form->endings);
  throw Error(Status::refused, fmt::format("{}: no file of {} ends like that", path, name),
              fmt::format("these do: {}; .json and .h5 hold a state for tare itself", fmt::join(endings, " ")));
}

bool holds(const StateTemplate& form, std::string_view native) {
  return std::any_of(form.fields.begin(), form.fields.end(), [&](const TemplateField& field) {
    return (field.key.empty() ? field.name : field.key) == native || field.name == native;
  });
}

Document scaler_of(const StateTemplate& form, const ScalerState& state) {
  DocumentMap fields;
  for (const TemplateField& field : form.fields) {
    const std::string_view key = field.key.empty() ? field.name : field.key;
    fields.push_back({std::string(field.name), value_as(field.type, find(state, key), key)});
  }
  if (form.class_name.empty()) return {std::move(fields)};
  return {DocumentObject{std::string(form.module), std::string(form.class_name), std::move(fields)}};
}

Document filled(const StateTemplate& form, const ScalerState& state) {
  Document whole = at_path(form.path, scaler_of(form, state));
  if (form.version_key.empty()) return whole;
  const std::string framework(policy_of(state)->framework);  // "deepspeed 0.19.8"
  std::get<DocumentMap>(whole.value)
      .push_back({std::string(form.version_key), Document{framework.substr(framework.find(' ') + 1)}});
  return whole;
}

}  // namespace tare
