#include "capi/src/options.hpp"

#include <algorithm>
#include <cmath>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/json.hpp"
#include "lib/edit/checkpoint_scope.hpp"

namespace tare::capi {
namespace {

constexpr double longest_wait_seconds = 86400;

/// Puts a value into a target; false where it is of another kind.
struct Put {
  const StateValue& value;

  template <class Kind>
  bool as(Kind& into) const {
    const auto* given = std::get_if<Kind>(&value);
    if (given != nullptr) into = *given;
    return given != nullptr;
  }
  bool operator()(bool* flag) const { return as(*flag); }
  bool operator()(std::string* text) const { return as(*text); }
  bool operator()(std::int64_t* number) const { return as(*number); }
  bool operator()(double* number) const {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      *number = static_cast<double>(*whole);
      return true;
    }
    return as(*number);
  }
  bool operator()(std::optional<std::string>* text) const {
    if (std::holds_alternative<std::monostate>(value)) {
      text->reset();
      return true;
    }
    return as(text->emplace());
  }
  bool operator()(const std::function<void(const StateValue&)>& take) const {
    take(value);
    return true;
  }
};

std::string keys_of(const OptionPlaces& places) {
  std::string keys = "Options: ";
  for (const OptionPlace& place : places) keys += (&place == &places.front() ? "" : ", ") + std::string(place.key);
  return keys;
}

JournalKey key_for_reading(const std::string& state_folder) {
  try {
    return journal_key(state_folder);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void take_options(const char* json, const char* what, const OptionPlaces& places) {
  if (json == nullptr || *json == '\0') return;
  for (const auto& [key, value] : members_of_json(json, what)) {
    const auto place =
        std::ranges::find_if(places, [&wanted = key](const OptionPlace& one) { return wanted == one.key; });
    if (place == places.end() || !std::visit(Put{value}, place->target))
      throw Error(Status::invalid_argument, std::string(what) + " have no \"" + key + "\" of that kind",
                  keys_of(places));
  }
}

/// An object within the options comes as its text.
StateSection members_of(const StateValue& value, const std::string& key) {
  const auto* object = std::get_if<OpaqueJson>(&value);
  if (object == nullptr)
    throw Error(Status::invalid_argument, "\"" + key + "\" is no object", "{\"" + key + "\":{\"scale\":1024}}");
  return members_of_json(object->text, "\"" + key + "\"");
}

std::vector<Assignment> assignments_of(const StateValue& value) {
  std::vector<Assignment> all;
  for (const auto& [key, wanted] : members_of(value, "set")) {
    if (!number_text(wanted) && !std::holds_alternative<std::string>(wanted))
      throw Error(Status::invalid_argument, "\"set\": \"" + key + "\" is no number, true, false or text");
    all.push_back({key, wanted});
  }
  return all;
}

OptionPlace Journals::place() {
  return {"state_folder", [this](const StateValue& value) {
            const auto* folder = std::get_if<std::string>(&value);
            if (folder != nullptr && (folder->empty() || folder->starts_with('/'))) {
              state_folder = *folder;
              return;
            }
            throw Error(Status::invalid_argument,
                        "\"state_folder\" is " + (folder == nullptr ? "no text" : "\"" + escaped(*folder) + "\"") +
                            ": no absolute path",
                        "Give the whole path, from / on.");
          }};
}

ScopeOf Journals::scopes_for_reading() const {
  return [key = key_for_reading(state_folder)](const std::string& path) {
    return checkpoint_scope(system_files(), path, key);
  };
}

void Journals::keep_announced() {
  recovery.announce = [this](const std::string& line) {
    trusted.push_back({Severity::note, "trusted-journal", "a journal that you did not write changed " + line, {}, {}});
  };
}

OptionPlaces ChangeOptions::places() {
  const auto take_wait = [this](const StateValue& value) {
    if (Put{value}(&wait_seconds) && wait_seconds >= 0 && wait_seconds <= longest_wait_seconds) return;
    throw Error(Status::invalid_argument, "\"wait_seconds\" is none from 0 to 86400");
  };
  return {{"dry_run", &dry_run},
          {"history", &transaction.keep_history},
          {"hard_links", &transaction.allow_hard_links},
          {"content_addressed", &transaction.allow_content_addressed},
          journals.place(),
          {"trust_journal", &journals.recovery.trust_journals},
          {"wait_seconds", take_wait}};
}

OptionPlaces joined(OptionPlaces places, const OptionPlaces& more) {
  places.insert(places.end(), more.begin(), more.end());
  return places;
}

}  // namespace tare::capi
