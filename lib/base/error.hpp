// The one exception type. Who catches it says there why: a reader that goes on without that file, main, a guard.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tare {

/// What went wrong, as the C ABI numbers it. Values never change and are never reused.
enum class Status : std::int32_t {
  ok = 0,
  invalid_argument = 1,
  wrong_kind = 2,
  out_of_memory = 3,
  unsupported = 10,
  backend = 20,
  io = 30,
  corrupt = 31,
  not_found = 32,
  mismatch = 33,
  refused = 34,
  conflict = 35,
  busy = 36,
  rule_raised = 40,
  internal = 90,
};

/// A failure: `what()` is one line that names the file, the place and the value; `hint` says what to do, or is empty.
class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& message, std::string hint = {}, int detail = 0);

  Status status;
  std::string hint;
  int detail;  ///< errno for `io`, cudaError_t for `backend`, ENOENT for a path that is `not_found`, else 0
};

/// The same with `file` in front of what it says, unless that names it.
Error with_name(const std::string& file, const Error& error);

/// Throws an `io` error that names `what` (usually a path) and the text of `error_number`; of ENOMEM std::bad_alloc.
[[noreturn]] void throw_io(const std::string& what, int error_number);

}  // namespace tare
