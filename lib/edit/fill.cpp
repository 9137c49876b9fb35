#include "lib/edit/fill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/called.hpp"
#include "lib/edit/file_plan.hpp"
#include "lib/edit/integrity.hpp"

namespace tare {
namespace {

std::optional<EmptyPlace> place_in(const Reopened& file, const std::string& path,
                                   const std::optional<std::string>& at) {
  return empty_place(file.container().tree(), {path}, file.container().format(), at);
}

/// A number of Python's as a field of the plan; a tensor's only element.
Value value_of(const Document& document) {
  if (const auto* flag = std::get_if<bool>(&document.value)) return {*flag, "bool"};
  if (const auto* whole = std::get_if<std::int64_t>(&document.value)) return {Integer{*whole, {}}, "int"};
  if (const auto* real = std::get_if<double>(&document.value)) return {*real, "float"};
  if (const auto* tensor = std::get_if<DocumentTensor>(&document.value)) {
    return element_value(tensor->type, tensor->elements.data());
  }
  return {};
}

/// Ints are compared to their last digit.
bool is_same_number(const Value& one, const Value& other) {
  if (one.number() == nullptr || other.number() == nullptr) return false;
  const auto* integer = std::get_if<Integer>(&one.number()->data);
  const auto* other_integer = std::get_if<Integer>(&other.number()->data);
  if (integer != nullptr && other_integer != nullptr) return *integer == *other_integer;
  return one.as_double() == other.as_double();
}

const DocumentMap* fields_of(const Document& scaler) {
  if (const auto* object = std::get_if<DocumentObject>(&scaler.value)) return &object->attributes;
  return std::get_if<DocumentMap>(&scaler.value);
}

/// What fills one place.
class Filling {
 public:
  Filling(const Tree& tree, const EmptyPlace& place, const Document& scaler)
      : tree_(tree), place_(place), scaler_(scaler), meaning_(fmt::format("{} filled", called(place.path))) {}

  std::vector<NodeChange> changes() {
    if (!place_.key.empty()) {
      add(place_.node, NewEntries{{{place_.key, scaler_}}});
    } else if (tree_.kind(place_.node) == Kind::none) {
      add(place_.node, NewDocument{scaler_});
    } else {
      complete();
    }
    return std::move(changes_);
  }

 private:
  void add(NodeId node, NodeValue value) { changes_.push_back({node, std::move(value), meaning_}); }

  void complete() {
    const auto* fields = std::get_if<DocumentMap>(&scaler_.value);
    if (fields == nullptr) {
      throw Error(Status::refused, fmt::format("{}: an object belongs there, and a dict is there", called(place_.path)),
                  "save the checkpoint once with its scaler on");
    }
    NewEntries missing;
    for (const DocumentEntry& entry : *fields) {
      const NodeId node = tree_.find(place_.node, entry.key);
      if (node == nowhere) {
        missing.entries.push_back(entry);
      } else if (tree_.kind(node) == Kind::none) {
        add(node, NewDocument{entry.value});
      } else {
        replace(node, entry);
      }
    }
    if (!missing.entries.empty()) add(place_.node, std::move(missing));
  }

  void replace(NodeId node, const DocumentEntry& entry) {
    constexpr std::uint64_t one = 1;
    const Value before = tree_.value(node, one), after = value_of(entry.value);
    const Value* number = after.number();
    if (number == nullptr || before.number() == nullptr) {
      throw Error(Status::refused,
                  fmt::format("{}: its {} is no number ({})", called(place_.path), entry.key, before.type),
                  "save the checkpoint once with its scaler on");
    }
    if (is_same_number(before, after)) return;
    if (const auto* flag = std::get_if<bool>(&number->data)) return add(node, *flag);
    if (const auto* whole = std::get_if<Integer>(&number->data)) return add(node, *whole);
    add(node, number->as_double());
  }

  const Tree& tree_;
  const EmptyPlace& place_;
  const Document& scaler_;
  std::string meaning_;
  std::vector<NodeChange> changes_;
};

/// The place must read back as a scaler with those values.
void require_filled(const Reopened& file, const std::vector<PartChange>& parts, const EmptyPlace& place,
                    const DocumentMap& fields) {
  const auto holds = [&](const FoundScaler& scaler) {
    return scaler.dialect == place.form->dialect && scaler.path == place.path &&
           std::all_of(fields.begin(), fields.end(), [&](const DocumentEntry& entry) {
             const Field* field = scaler.find(entry.key);
             const Value wanted = value_of(entry.value);
             if (wanted.number() == nullptr) return field != nullptr;
             return field != nullptr && is_same_number(field->value, wanted);
           });
  };
  bool is_there = false;
  file.each_scaler_after(parts, [&](const FoundScaler& scaler) { is_there = is_there || holds(scaler); });
  if (is_there) return;
  throw Error(
      Status::refused,
      fmt::format("{}: would not read back as a scaler of {}", called(place.path), place.form->dialect->framework),
      "nothing was written; save the checkpoint once with its scaler on");
}

class Filler {
 public:
  Filler(const Checkpoint& checkpoint, const std::optional<std::string>& at, const Document& scaler)
      : checkpoint_(checkpoint), at_(at), scaler_(scaler) {}

  EditPlan run() {
    for (const std::size_t number : whole_files(checkpoint_)) fill(number);
    for (FileEdit& manifest : renewed_manifests(plan_.files, {false, {}, checkpoint_.storage}))
      plan_.files.push_back(std::move(manifest));
    return std::move(plan_);
  }

 private:
  void fill(std::size_t number) {
    const std::string& path = checkpoint_.files[number].path;
    const Reopened file(checkpoint_, number);
    const auto place = place_in(file, path, at_);
    if (!place) return;
    if (!file.container().can_add()) {
      throw Error(Status::refused,
                  fmt::format("{}: {} is empty, and {} has no room for what is not there", path, called(place->path),
                              file.container().format()),
                  "save the checkpoint once with its scaler on, then migrate into that");
    }
    std::vector<PartChange> parts =
        file.container().change_parts(Filling(file.container().tree(), *place, scaler_).changes());
    require_filled(file, parts, *place, *fields_of(scaler_));
    tell(file, *place, checkpoint_.files[number]);
    for (FileEdit& edit : file_edits(checkpoint_, file, std::move(parts))) plan_.files.push_back(std::move(edit));
  }

  void tell(const Reopened& file, const EmptyPlace& place, const CheckpointFile& holder) {
    constexpr std::uint64_t one = 1;
    const Tree& tree = file.container().tree();
    if (plan_.fields.empty()) place_ = place.path;
    if (place.path != place_) {
      throw Error(Status::refused,
                  fmt::format("{}: {} is empty, in another file {}", holder.path, called(place.path), called(place_)),
                  "choose one with --into-at");
    }
    const bool is_first = plan_.fields.empty();
    for (std::size_t i = 0; i < fields_of(scaler_)->size(); ++i) {
      const DocumentEntry& entry = (*fields_of(scaler_))[i];
      if (is_first) {
        const NodeId node = place.key.empty() ? tree.find(place.node, entry.key) : nowhere;
        const Value before = node == nowhere ? Value{{}, "None"} : tree.value(node, one);
        plan_.fields.push_back(
            {std::string(place.form->dialect->name), place.path, entry.key, before, value_of(entry.value), {}, {}});
      }
      PlannedField& field = plan_.fields[i];
      field.files.push_back(holder.path);
      plan_.for_history.push_back(
          {holder.location, field.path, field.field, text_of(field.before), text_of(field.after)});
    }
  }

  static std::string text_of(const Value& value) {
    return value.number() == nullptr ? "none" : float_text(value.as_double());
  }

  const Checkpoint& checkpoint_;
  const std::optional<std::string>& at_;
  const Document& scaler_;
  std::string place_;
  EditPlan plan_;
};

}  // namespace

std::optional<EmptyPlace> empty_place_in(const Checkpoint& checkpoint, const std::optional<std::string>& at) {
  for (const std::size_t number : whole_files(checkpoint)) {
    const Reopened file(checkpoint, number);
    if (auto place = place_in(file, checkpoint.files[number].path, at)) return place;
  }
  return std::nullopt;
}

EditPlan plan_fill(const Checkpoint& checkpoint, const std::optional<std::string>& at, const Document& scaler) {
  return Filler(checkpoint, at, scaler).run();
}

}  // namespace tare
