// HDF5's ids, closed when they go out of scope; and its calls, which throw where they fail.
#pragma once

#include <hdf5.h>

#include <utility>

#include "lib/base/error.hpp"

namespace tare::hdf5 {

class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const char* doing) : id_(id), close_(close) {
    if (id < 0) throw Error(Status::corrupt, std::string("HDF5 could not ") + doing);
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
  if (result < 0) throw Error(Status::corrupt, std::string("HDF5 could not ") + doing);
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
