#include "lib/base/error.hpp"

#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "lib/base/files.hpp"

namespace tare {

Error::Error(Status s, const std::string& message, std::string h, int d)
    : std::runtime_error(message), status(s), hint(std::move(h)), detail(d) {}

Error with_name(const std::string& file, const Error& error) {
  const std::string message = error.what();
  if (message.find(file) != message.npos) return error;
  return {error.status, file + ": " + message, error.hint, error.detail};
}

void throw_io(const std::string& what, int error_number) {
  if (error_number == ENOMEM) throw std::bad_alloc();  // no fault of the file's, for which others are read in its place
  const bool is_unknown_url = error_number == ENOENT && what.find("://") != std::string::npos && !is_url(what);
  throw Error(
      Status::io, (what.empty() ? "the empty path" : what) + ": " + std::generic_category().message(error_number),
      is_unknown_url ? "of URLs tare reads http://HOST/..., https://HOST/..., s3://BUCKET/..., gs://BUCKET/..., "
                       "az://CONTAINER/... and hf://OWNER/NAME/..."
                     : "",
      error_number);
}

}  // namespace tare
