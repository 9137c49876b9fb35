// libtare_hdf5.so: the table, with everything that can be thrown caught at its edge.
#include <cstring>
#include <mutex>
#include <new>

#include "lib/codec/hdf5_module/format.hpp"

namespace tare::hdf5 {
namespace {

std::mutex one_at_a_time;  // HDF5 may have been built without threads in mind

std::int32_t fail(tare_hdf5_error* error, Status status, const char* message) {
  error->status = static_cast<std::int32_t>(status);
  std::strncpy(error->message, message, sizeof error->message - 1);
  error->message[sizeof error->message - 1] = '\0';
  return error->status;
}

/// HDF5 itself ends the process when it meets another release than it was compiled against: ask first.
void check_release() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  check(H5get_libversion(&major, &minor, &release), "tell its release");
  if (major == H5_VERS_MAJOR && minor == H5_VERS_MINOR) return;
  throw Error(Status::unsupported, "this process has HDF5 " + std::to_string(major) + "." + std::to_string(minor) +
                                       " loaded, libtare_hdf5.so was built for " + std::to_string(H5_VERS_MAJOR) + "." +
                                       std::to_string(H5_VERS_MINOR));
}

template <class Body>
std::int32_t guarded(tare_hdf5_error* error, const Body& body) {
  try {
    body();
    return 0;
  } catch (const Error& failure) {
    return fail(error, failure.status, failure.what());
  } catch (const std::bad_alloc&) {
    return fail(error, Status::out_of_memory, "out of memory");
  } catch (const std::exception& failure) {
    return fail(error, Status::internal, failure.what());
  }
}

std::int32_t encode_states(const char* schema, const tare_hdf5_state* states, std::uint64_t count,
                           std::int32_t compression, void (*take)(void*, const tare_hdf5_piece*, std::uint64_t),
                           void* context, tare_hdf5_error* error) {
  return guarded(error, [&] {
    Encoded file;
    {
      const std::lock_guard lock(one_at_a_time);
      check_release();
      const Quiet quiet;
      encode(schema, {states, states + count}, compression, file);
    }
    const auto pieces = file.pieces.in_order(file.size);
    take(context, pieces.data(), pieces.size());
  });
}

constexpr tare_hdf5_table table{sizeof(tare_hdf5_table), TARE_RELEASE, encode_states};

}  // namespace
}  // namespace tare::hdf5

extern "C" __attribute__((visibility("default"))) const tare_hdf5_table* tare_hdf5_module() {
  return &tare::hdf5::table;
}
