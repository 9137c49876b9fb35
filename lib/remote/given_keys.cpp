#include "lib/remote/given_keys.hpp"

#include <string_view>

#include "lib/base/error.hpp"
#include "lib/json/document.hpp"

namespace tare {
namespace {

bool take_keys(const JsonValue& found, const KeyNames& names, S3Settings& settings) {
  const std::string_view access = found.find(names.access).text_or(""), secret = found.find(names.secret).text_or("");
  if (access.empty() || secret.empty()) return false;
  settings.access_key = access;
  settings.secret_key = secret;
  settings.session_token = found.find(names.token).text_or("");
  return true;
}

}  // namespace

bool take_keys(ByteView text, const char* inside, const KeyNames& names, S3Settings& settings) {
  try {
    const JsonDocument document(text, "keys");
    const JsonValue root = document.root();
    return take_keys(*inside == '\0' ? root : root.find(inside), names, settings);
  } catch (const Error&) {
    return false;  // whose message may tell of a key
  }
}

}  // namespace tare
