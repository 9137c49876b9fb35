// libhdf5's side of Pieces: a virtual file driver ("HDF5 Virtual File Layer"), as far as making one file needs it.
#include <algorithm>
#include <iterator>
#include <new>

#include "lib/codec/hdf5_module/pieces.hpp"
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace tare::hdf5 {

struct Driver::File {
  H5FD_t base{};  // first: libhdf5 has a pointer to it
  Pieces* pieces;
  haddr_t end = 0;  // of what is allocated
  bool lacks_memory = false;
};

namespace {

using File = Driver::File;

#if H5_VERSION_GE(1, 13, 0)
constexpr H5FD_class_value_t private_value = 511;  // none that is registered with the HDF Group
#endif
constexpr haddr_t most_bytes = haddr_t{1} << 62;

File& file_of(H5FD_t* base) {
  return *reinterpret_cast<File*>(base);
}

const File& file_of(const H5FD_t* base) {
  return *reinterpret_cast<const File*>(base);
}

/// As libhdf5 says it of its own allocations.
void tell_of_no_memory() {
  constexpr const char* here = "driver.cpp";  // __FILE__ would be the folder of whoever builds it
  H5Epush2(H5E_DEFAULT, here, __func__, __LINE__, H5E_ERR_CLS, H5E_RESOURCE, H5E_NOSPACE, "out of memory");
}

/// Nothing may be thrown through libhdf5. What is done here fails for want of memory alone. It is kept in mind, too:
/// not every caller in libhdf5 passes it on.
template <class Body>
herr_t guarded(File& file, const Body& body) {
  try {
    body(*file.pieces);
    return 0;
  } catch (...) {
    file.lacks_memory = true;
    tell_of_no_memory();
    return -1;
  }
}

/// libhdf5 opens a file to see whether it is there, closes it, and opens it again.
H5FD_t* open_file(const char*, unsigned, hid_t access, haddr_t) {
  const void* info = H5Pget_driver_info(access);
  if (info == nullptr) return nullptr;
  File* file = *static_cast<File* const*>(info);
  *file = {.pieces = file->pieces, .lacks_memory = file->lacks_memory};
  return &file->base;
}

herr_t close_file(H5FD_t*) {
  return 0;
}

/// As of libhdf5's own driver for memory: with them files come out the same.
herr_t query(const H5FD_t*, unsigned long* features) {
  *features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
              H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t allocated_end(const H5FD_t* file, H5FD_mem_t) {
  return file_of(file).end;
}

herr_t set_allocated_end(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  file_of(file).end = end;
  return 0;
}

haddr_t written_end(const H5FD_t* file, H5FD_mem_t) {
  return file_of(file).pieces->end();
}

herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t size, void* to) {
  return guarded(file_of(file), [&](const Pieces& from) { from.read(at, {static_cast<std::byte*>(to), size}); });
}

herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, std::size_t size, const void* bytes) {
  return guarded(file_of(file), [&](Pieces& into) { into.write(at, {static_cast<const std::byte*>(bytes), size}); });
}

H5FD_class_t make_driver() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = private_value;
#endif
  driver.name = "tare_pieces";
  driver.maxaddr = most_bytes;
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(File*);
  driver.open = open_file;
  driver.close = close_file;
  driver.query = query;
  driver.get_eoa = allocated_end;
  driver.set_eoa = set_allocated_end;
  driver.get_eof = written_end;
  driver.read = read;
  driver.write = write;
  constexpr H5FD_mem_t kinds[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(kinds), std::end(kinds), std::begin(driver.fl_map));
  return driver;
}

}  // namespace

Driver::Driver(Pieces& pieces)
    : file_(std::make_unique<File>(File{.pieces = &pieces})),
      id_(
          [] {
            static const H5FD_class_t driver = make_driver();
            return H5FDregister(&driver);
          }(),
          H5FDunregister, "register a driver") {}

Driver::~Driver() = default;

void Driver::use_for(hid_t access) const {
  const File* file = file_.get();
  check(H5Pset_driver(access, id_, &file), "set the driver");
}

void Driver::require_written() const {
  if (file_->lacks_memory) throw std::bad_alloc();
}

}  // namespace tare::hdf5
