// What stands behind the opaque types.
#pragma once

#include <tare/tare.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/finding.hpp"
#include "lib/base/text.hpp"
#include "lib/scaler/fp8_scaler.hpp"
#include "lib/scaler/quantizer.hpp"
#include "lib/scaler/scaler.hpp"
#include "lib/state/named_state.hpp"

namespace tare::capi {

/// The first word of every handle: tells one of its kind from another's and from one that was destroyed, as far as
/// memory that was given back still shows it.
template <std::uint32_t Word>
class Tag {
 public:
  Tag() = default;
  Tag(const Tag&) = delete;
  Tag& operator=(const Tag&) = delete;
  ~Tag() { word_ = 0; }

  [[nodiscard]] bool is_intact() const { return word_ == Word; }

 private:
  volatile std::uint32_t word_ = Word;  // or its end would be left out, as nobody may look at it any more
};

}  // namespace tare::capi

struct tare_scaler {
  tare::capi::Tag<0x74617231> tag = {};
  std::unique_ptr<tare::LossScaler> scaler;
};

struct tare_grads {
  tare::capi::Tag<0x74617232> tag = {};
  std::unique_ptr<tare::Grads> grads;
};

struct tare_fp8 {
  tare::capi::Tag<0x74617233> tag = {};
  std::unique_ptr<tare::Fp8Scaler> slots;
};

struct tare_fp8_casts {
  tare::capi::Tag<0x74617237> tag = {};
  std::unique_ptr<tare::Fp8Casts> casts;
};

struct tare_quantizer {
  tare::capi::Tag<0x7461723b> tag = {};
  std::unique_ptr<tare::Quantizer> quantizer;
};

struct tare_state {
  tare::capi::Tag<0x74617234> tag = {};
  tare::ScalerState state;
  std::vector<tare::Finding> findings = {};  ///< of the file that it was read from
};

struct tare_states {
  tare::capi::Tag<0x74617236> tag = {};
  std::vector<tare::NamedState> states;
  std::set<std::string> names;

  /// Throws `refused` for a name that is there.
  void add(tare::NamedState state) {
    if (!names.insert(state.path).second) {
      throw tare::Error(tare::Status::refused, "there is a state \"" + tare::escaped(state.path) + "\" already",
                        "Each needs a name of its own.");
    }
    states.push_back(std::move(state));
  }
};

struct tare_text {
  tare::capi::Tag<0x74617235> tag = {};
  std::string text;
};

struct tare_comm {
  tare::capi::Tag<0x74617239> tag = {};
  std::shared_ptr<tare::Communicator> communicator;
};

namespace tare::capi {

template <class Handle>
concept Tagged = requires(const Handle& handle) {
  handle.tag.is_intact();
};

template <Tagged Handle>
bool is_intact(const Handle* handle) {
  return reinterpret_cast<std::uintptr_t>(handle) % alignof(Handle) == 0 && handle->tag.is_intact();
}

/// Throws `invalid_argument` for NULL, for a handle of another kind, and for one that was destroyed.
template <Tagged Handle>
void require(const Handle* handle, const char* name) {
  if (handle == nullptr) throw Error(Status::invalid_argument, std::string(name) + " is NULL");
  if (is_intact(handle)) return;
  throw Error(Status::invalid_argument, std::string(name) + " is a handle of another kind, or one that was destroyed",
              "Destroy a handle once, after its last use.");
}

template <Tagged Handle>
Handle& live(Handle* handle, const char* name) {
  require(handle, name);
  return *handle;
}

/// Text that a file will hold: throws `invalid_argument` for NULL, and for what is no UTF-8, which JSON cannot say.
inline const char* required_text(const char* text, const char* name) {
  if (text == nullptr) throw Error(Status::invalid_argument, std::string(name) + " is NULL");
  if (is_utf8(text)) return text;
  throw Error(Status::invalid_argument, std::string(name) + " is no UTF-8: \"" + escaped(text) + "\"");
}

/// What is no handle of that kind any more is left alone.
template <Tagged Handle>
void destroy(Handle* handle) {
  if (handle != nullptr && is_intact(handle)) delete handle;
}

inline tare_text* new_text(std::string text) {
  return new tare_text{.text = std::move(text)};
}

/// The caller's descriptors as the kernels' own: the same 24 bytes. Throws `invalid_argument` for a null list with a
/// count, and for a count beyond the address space.
std::span<const kernels::Tensor> tensors_of(const tare_tensor* tensors, uint64_t count);

}  // namespace tare::capi
