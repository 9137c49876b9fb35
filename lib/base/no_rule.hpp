// States that are understood, and that no rule here goes on with.
#pragma once

#include <string>
#include <utility>

#include "lib/base/error.hpp"

namespace tare {

/// `unsupported`, where nothing is wrong with a file, nor with its format.
class NoRule : public Error {
 public:
  explicit NoRule(const Error& told) : Error(told) {}
  NoRule(const std::string& message, std::string instead) : Error(Status::unsupported, message, std::move(instead)) {}
};

}  // namespace tare
