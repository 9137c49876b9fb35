// What a backend made, ended with its owner; and such things known again by what they were made ready for.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "lib/device/backend.hpp"

namespace tare {

/// Ends what a backend made.
struct BackendEnd {
  const tare_backend_table* backend;
  void operator()(tare_backend_scaler* scaler) const { backend->scaler_end(scaler); }
  void operator()(tare_backend_list* list) const { backend->list_end(list); }
  void operator()(tare_backend_slots* slots) const { backend->slots_end(slots); }
  void operator()(tare_backend_casts* casts) const { backend->casts_end(casts); }
  void operator()(tare_backend_sums* sums) const { backend->sums_end(sums); }
  void operator()(tare_backend_quantiser* quantiser) const { backend->quantiser_end(quantiser); }
};

template <class Thing>
using BackendHandle = std::unique_ptr<Thing, BackendEnd>;

/// Makes something of a backend by `make(&out, arguments..., error)`.
template <class Thing, class... Parameters, class... Arguments>
BackendHandle<Thing> made_by(const tare_backend_table& backend, int32_t (*make)(Thing**, Parameters...),
                             Arguments... arguments) {
  Thing* made = nullptr;
  call(make, &made, arguments...);
  return {made, BackendEnd{&backend}};
}

/// Lists that come anew with every call, kept for the next of their kind; the last used stands first.
template <class Thing>
class RecentLists {
 public:
  /// As many are kept, and those that graphs hold besides.
  explicit RecentLists(std::size_t most) : most_(most) { lists_.reserve(most); }

  /// The first of which `takes(list)` is true; else one unused for longest that is not `held(list)`, or that `make()`
  /// makes, for which `prepare(list)` is called.
  template <class Takes, class Held, class Make, class Prepare>
  Thing* find(const Takes& takes, const Held& held, const Make& make, const Prepare& prepare) {
    auto found = std::find_if(lists_.begin(), lists_.end(), [&](const auto& list) { return takes(list.get()); });
    if (found == lists_.end()) {
      found = unused(held, make);
      prepare(found->get());
    }
    std::rotate(lists_.begin(), found, found + 1);
    return lists_.front().get();
  }

 private:
  template <class Held, class Make>
  auto unused(const Held& held, const Make& make) {
    const auto last = std::find_if(lists_.rbegin(), lists_.rend(), [&](const auto& list) { return !held(list.get()); });
    if (lists_.size() >= most_ && last != lists_.rend()) return std::prev(last.base());
    return lists_.insert(lists_.end(), make());
  }

  std::size_t most_;
  std::vector<BackendHandle<Thing>> lists_;
};

}  // namespace tare
