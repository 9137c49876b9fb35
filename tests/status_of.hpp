// What became of a call: most tests of refusals ask for that alone.
#pragma once

#include <concepts>
#include <stdexcept>
#include <string_view>

#include "lib/base/error.hpp"

namespace tare::test {

/// The status of the error that `work` throws; `ok` where it returns. An error without words fails the test. Any
/// thread.
template <std::invocable Work>
Status status_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    if (std::string_view(error.what()).size() <= 10) throw std::logic_error("an error that does not say what is wrong");
    return error.status;
  }
  return Status::ok;
}

}  // namespace tare::test
