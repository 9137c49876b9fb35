// What goes wrong with one of many files is told with its name.
#pragma once

#include <string>

#include "lib/base/module.hpp"
#include "lib/base/no_rule.hpp"

namespace tare {

/// What `work` gives. What it throws names `file`, but for what another build would do: that is about the program.
template <class Work>
auto naming(const std::string& file, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const NoLoader&) {
    throw;
  } catch (const NoRule& error) {
    throw NoRule(with_name(file, error));
  } catch (const Error& error) {
    throw with_name(file, error);
  }
}

}  // namespace tare
