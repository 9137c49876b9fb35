#include "capi/src/journals.hpp"

#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"
#include "lib/edit/checkpoint_scope.hpp"

namespace tare::capi {

void refuse_key(const std::string& key, const char* allowed) {
  throw Error(Status::invalid_argument, "the options have no \"" + key + "\" of that kind", allowed);
}

StateSection options_of(const char* json) {
  if (json == nullptr || *json == '\0') return {};
  return members_of_json(json, "the options");
}

bool take_journal_option(Journals& journals, const std::string& key, const StateValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  const auto* flag = std::get_if<bool>(&value);
  if (key == "state_folder" && text != nullptr) {
    journals.state_folder = *text;
  } else if (key == "trust_journal" && flag != nullptr) {
    journals.recovery.trust_journals = *flag;
  } else {
    return false;
  }
  return true;
}

JournalKey key_for_reading(const Journals& journals) {
  try {
    return journal_key(journals.state_folder);
  } catch (const Error&) {
    return {};
  }
}

ScopeOf scopes_of(const JournalKey& key) {
  return [key](const std::string& path) { return checkpoint_scope(system_files(), path, key); };
}

}  // namespace tare::capi
