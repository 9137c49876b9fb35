// Vectors whose resize does not write: for room that is made ahead and written before it is read.
#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace tare {

/// std::allocator, but what is made without a value is left as it is found. REQUIRES: types that need no constructor.
template <typename T>
struct DefaultInit : std::allocator<T> {
  template <typename U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  template <typename U, typename... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};

template <typename T>
using UnwrittenVector = std::vector<T, DefaultInit<T>>;

}  // namespace tare
