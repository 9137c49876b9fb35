// tare.hpp: scalers, lists of gradients and states of tare.h for C++ (17 and later), header-only: handles that destroy
// themselves, errors that are thrown. What tare.h says of a call holds here; for what is not wrapped (FP8 slots,
// checkpoints' inspect and edit) its functions take get().
#ifndef TARE_TARE_HPP
#define TARE_TARE_HPP

#include <tare/tare.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tare::cxx {

/// A status that was not TARE_OK; what() is the message and the hint.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const tare_error& error)
      : std::runtime_error(error.message), status(error.status), detail(error.detail) {}
  std::int32_t status;
  std::int32_t detail;
};

namespace detail {

/// Calls a function of tare.h with an error last; throws where it fails.
template <class Function, class... Arguments>
void call(Function function, Arguments... arguments) {
  tare_error error = TARE_ERROR_INIT;
  if (function(arguments..., &error) != TARE_OK) throw Failure(error);
}

template <class Handle, void (*destroy)(Handle*)>
struct Destroy {
  void operator()(Handle* handle) const { destroy(handle); }
};
template <class Handle, void (*destroy)(Handle*)>
using Owned = std::unique_ptr<Handle, Destroy<Handle, destroy>>;

inline std::string text_of(tare_text* text) {
  const Owned<tare_text, tare_text_destroy> owned(text);
  return {tare_text_data(text), static_cast<std::size_t>(tare_text_size(text))};
}

inline const char* or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

}  // namespace detail

inline tare_tensor tensor(float* data, std::size_t count) {
  return {data, count, TARE_F32, 0};
}
inline tare_tensor tensor(double* data, std::size_t count) {
  return {data, count, TARE_F64, 0};
}
/// f16, bf16 and f8: any memory and its TARE_ number.
inline tare_tensor tensor(void* data, std::size_t count, std::int32_t dtype) {
  return {data, count, dtype, 0};
}

/// Scaler state: of a running scaler, a file of tare's own, or a checkpoint. Moved, not copied.
class State {
 public:
  /// Takes ownership.
  explicit State(tare_state* handle) : handle_(handle) {}

  /// tare's own JSON or HDF5, or lerobot's scaler_state.json.
  static State read(const std::string& path) { return make(tare_state_read, path.c_str()); }
  static State from_json(std::string_view json) {
    return make(tare_state_from_json, json.data(), static_cast<std::uint64_t>(json.size()));
  }
  /// Out of a checkpoint of any framework; `at` where it holds several scalers.
  static State from_checkpoint(const std::string& path, const std::string& at = {}) {
    return make(tare_checkpoint_state, path.c_str(), detail::or_null(at));
  }

  /// By the path's ending; options as tare_state_write takes them.
  void write(const std::string& path, const std::string& options = {}) const {
    detail::call(tare_state_write, handle_.get(), path.c_str(), detail::or_null(options));
  }
  std::string json() const {
    tare_text* text = nullptr;
    detail::call(tare_state_to_json, &text, handle_.get());
    return detail::text_of(text);
  }
  /// `key`: a role ("scale"), a native name, or one in full ("params.growth_interval").
  double number(const std::string& key) const {
    double value = 0;
    detail::call(tare_state_number, &value, handle_.get(), key.c_str());
    return value;
  }
  void set(const std::string& key, double value) {
    detail::call(tare_state_set_number, handle_.get(), key.c_str(), value);
  }

  /// Borrowed.
  const tare_state* get() const { return handle_.get(); }

 private:
  template <class Function, class... Arguments>
  static State make(Function function, Arguments... arguments) {
    tare_state* handle = nullptr;
    detail::call(function, &handle, arguments...);
    return State(handle);
  }

  detail::Owned<tare_state, tare_state_destroy> handle_;
};

/// States by name, in one file of JSON. Moved, not copied.
class States {
 public:
  States() {
    tare_states* handle = nullptr;
    detail::call(tare_states_create, &handle);
    handle_.reset(handle);
  }
  static States read(const std::string& path) {
    tare_states* handle = nullptr;
    detail::call(tare_states_read, &handle, path.c_str());
    return States(handle);
  }
  void write(const std::string& path) const { detail::call(tare_states_write, get(), path.c_str()); }

  std::uint64_t count() const {
    std::uint64_t count = 0;
    detail::call(tare_states_count, &count, get());
    return count;
  }
  std::string name(std::uint64_t index) const {
    tare_text* text = nullptr;
    detail::call(tare_states_name, &text, get(), index);
    return detail::text_of(text);
  }
  /// Of a single one no name is needed.
  State at(const std::string& name) const { return copy_of(name.c_str()); }
  State only() const { return copy_of(nullptr); }
  void add(const std::string& name, const State& state) {
    detail::call(tare_states_add, handle_.get(), name.c_str(), state.get());
  }

  /// Borrowed.
  const tare_states* get() const { return handle_.get(); }

 private:
  explicit States(tare_states* handle) : handle_(handle) {}
  State copy_of(const char* name) const {
    tare_state* state = nullptr;
    detail::call(tare_states_get, &state, get(), name);
    return State(state);
  }

  detail::Owned<tare_states, tare_states_destroy> handle_;
};

/// A running loss scaler. Moved, not copied; a const one may be used by several threads at once. Tensors lie where the
/// scaler computes. Streams are CUDA's; a CPU scaler ignores them. scale(), statistics(), save() and load() wait.
class Scaler {
 public:
  /// {"policy":"torch","initial_scale":65536,"device":"cpu","threads":1}, as tare_scaler_create takes it.
  explicit Scaler(const std::string& config) {
    tare_scaler* handle = nullptr;
    detail::call(tare_scaler_create, &handle, config.c_str());
    handle_.reset(handle);
  }
  /// Goes on where `state` stands; parameters of `config` go before the state's.
  explicit Scaler(const State& state, const std::string& config = {}) {
    tare_scaler* handle = nullptr;
    detail::call(tare_scaler_create_from_state, &handle, state.get(), detail::or_null(config));
    handle_.reset(handle);
  }

  /// What to multiply the loss by.
  double scale(tare_stream stream = nullptr) const {
    double value = 0;
    detail::call(tare_scaler_scale, &value, static_cast<const tare_scaler*>(handle_.get()), stream);
    return value;
  }
  /// `which`: TARE_POINTER_SCALE ...; stable until the scaler is gone, in device memory for one on a GPU.
  const void* pointer(std::int32_t which) const {
    const void* pointer = nullptr;
    detail::call(tare_scaler_pointer, &pointer, static_cast<const tare_scaler*>(handle_.get()), which);
    return pointer;
  }
  /// In place; found-inf and statistics accumulate until update().
  void unscale(const std::vector<tare_tensor>& tensors, tare_stream stream = nullptr) {
    detail::call(tare_scaler_unscale, handle_.get(), tensors.data(), static_cast<std::uint64_t>(tensors.size()),
                 stream);
  }
  /// The same without writing.
  void observe(const std::vector<tare_tensor>& tensors, tare_stream stream = nullptr) {
    detail::call(tare_scaler_observe, handle_.get(), tensors.data(), static_cast<std::uint64_t>(tensors.size()),
                 stream);
  }
  /// Multiplies by the scale, in place, and notes nothing.
  void scale_tensors(const std::vector<tare_tensor>& tensors, tare_stream stream = nullptr) {
    detail::call(tare_scaler_scale_tensors, handle_.get(), tensors.data(), static_cast<std::uint64_t>(tensors.size()),
                 stream);
  }
  void report_overflow(bool overflow, tare_stream stream = nullptr) {
    detail::call(tare_scaler_report_overflow, handle_.get(), overflow ? 1 : 0, stream);
  }
  /// Behind a reduction of the accumulators: noop, and what the lists show, say what found-inf says now.
  void report_reduced(tare_stream stream = nullptr) { detail::call(tare_scaler_report_reduced, handle_.get(), stream); }
  /// Policy "layerwise": what the next update goes by.
  void report_layer(const tare_layer& layer, tare_stream stream = nullptr) {
    detail::call(tare_scaler_report_layer, handle_.get(), &layer, stream);
  }
  /// Throws Failure with TARE_E_RULE where the rule raises; the scaler is then what the framework's would be.
  void update(tare_stream stream = nullptr) { detail::call(tare_scaler_update, handle_.get(), stream); }
  /// Policy "torch": its rule on a caller's own state, where the scaler computes.
  void update_elsewhere(float* scale, std::int32_t* growth_tracker, const float* found_inf,
                        tare_stream stream = nullptr) {
    detail::call(tare_scaler_update_elsewhere, handle_.get(), scale, growth_tracker, found_inf, stream);
  }
  void set_scale(double scale, tare_stream stream = nullptr) {
    detail::call(tare_scaler_set_scale, handle_.get(), scale, stream);
  }
  /// JSON "tare.statistics/1".
  std::string statistics(tare_stream stream = nullptr) const {
    tare_text* text = nullptr;
    detail::call(tare_scaler_statistics, &text, static_cast<const tare_scaler*>(handle_.get()), stream);
    return detail::text_of(text);
  }
  State save(tare_stream stream = nullptr) const {
    tare_state* state = nullptr;
    detail::call(tare_scaler_save, &state, static_cast<const tare_scaler*>(handle_.get()), stream);
    return State(state);
  }
  /// Of the same policy, all of its fields; throws Failure with TARE_E_MISMATCH and changes nothing otherwise.
  void load(const State& state, tare_stream stream = nullptr) {
    detail::call(tare_scaler_load, handle_.get(), state.get(), stream);
  }

  /// Borrowed.
  tare_scaler* get() const { return handle_.get(); }

 private:
  detail::Owned<tare_scaler, tare_scaler_destroy> handle_;
};

/// A list of gradients made ready once and used every step, one an optimizer. Tensors are described by copy, their data
/// is borrowed. Must be gone before its scaler is.
class Grads {
 public:
  Grads(Scaler& scaler, const std::vector<tare_tensor>& tensors) {
    tare_grads* handle = nullptr;
    detail::call(tare_grads_create, &handle, scaler.get(), tensors.data(), static_cast<std::uint64_t>(tensors.size()));
    handle_.reset(handle);
  }

  /// Other addresses for the same counts and dtypes.
  void rebind(const std::vector<tare_tensor>& tensors, tare_stream stream = nullptr) {
    detail::call(tare_grads_rebind, handle_.get(), tensors.data(), static_cast<std::uint64_t>(tensors.size()), stream);
  }
  void unscale(tare_stream stream = nullptr) { detail::call(tare_grads_unscale, handle_.get(), stream); }
  void observe(tare_stream stream = nullptr) { detail::call(tare_grads_observe, handle_.get(), stream); }
  void unscale_and_update(tare_stream stream = nullptr) {
    detail::call(tare_grads_unscale_and_update, handle_.get(), stream);
  }
  void observe_and_update(tare_stream stream = nullptr) {
    detail::call(tare_grads_observe_and_update, handle_.get(), stream);
  }
  /// Unscaled, clipped and cast into `out`, a tensor for each of the list; options as tare_grads_write takes them.
  void write(const std::vector<tare_tensor>& out, const std::string& options = {}, tare_stream stream = nullptr) {
    detail::call(tare_grads_write, handle_.get(), out.data(), static_cast<std::uint64_t>(out.size()),
                 detail::or_null(options), stream);
  }
  /// Found-inf, noop and multiplier are the list's own, the others its scaler's.
  const void* pointer(std::int32_t which) const {
    const void* pointer = nullptr;
    detail::call(tare_grads_pointer, &pointer, static_cast<const tare_grads*>(handle_.get()), which);
    return pointer;
  }
  std::string statistics(tare_stream stream = nullptr) const {
    tare_text* text = nullptr;
    detail::call(tare_grads_statistics, &text, static_cast<const tare_grads*>(handle_.get()), stream);
    return detail::text_of(text);
  }

  tare_grads* get() const { return handle_.get(); }

 private:
  detail::Owned<tare_grads, tare_grads_destroy> handle_;
};

}  // namespace tare::cxx

#endif
