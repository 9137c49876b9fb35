// HDF5's ids, closed when they go out of scope; and its calls, which throw where they fail.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <utility>

#include "lib/base/error.hpp"

namespace tare::hdf5 {

/// Throws for a call of HDF5's that has just failed: std::bad_alloc where it had no memory, else `corrupt`.
[[noreturn]] void fail(const char* doing);

/// Throws std::bad_alloc where the system would not give so much. HDF5 itself frees twice and stays broken when one of
/// its allocations fails; asked beforehand, it hardly ever comes to that.
void require_memory(std::uint64_t bytes);
/// What HDF5 takes besides the values, generously.
inline constexpr std::uint64_t own_memory_bytes = std::uint64_t{16} << 20;

class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const char* doing) : id_(id), close_(close) {
    if (id < 0) fail(doing);
  }
  ~Handle() {
    if (close_ != nullptr) close_(id_);
  }
  Handle(Handle&& other) noexcept : id_(other.id_), close_(std::exchange(other.close_, nullptr)) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle& operator=(Handle&&) = delete;

  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

inline void check(herr_t result, const char* doing) {
  if (result < 0) fail(doing);
}

/// Keeps HDF5 from printing to the host's stderr for its own lifetime.
class Quiet {
 public:
  Quiet() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Quiet() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace tare::hdf5
