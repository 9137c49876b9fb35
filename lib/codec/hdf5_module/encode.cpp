#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

#include "lib/codec/hdf5_module/format.hpp"
#include "lib/codec/hdf5_name.hpp"

namespace tare::hdf5 {
namespace {

constexpr std::uint64_t pack_from_bytes = 16384;  // smaller arrays gain nothing from filters
constexpr unsigned zstd_level = 1;
constexpr unsigned gzip_level = 4;

/// In memory and in the file. REQUIRES: not TARE_HDF5_NULL.
Handle type_of(std::int32_t element, std::uint64_t width) {
  if (element == TARE_HDF5_I64) return {H5Tcopy(H5T_STD_I64LE), H5Tclose, "make a type"};
  if (element == TARE_HDF5_F64) return {H5Tcopy(H5T_IEEE_F64LE), H5Tclose, "make a type"};
  if (element == TARE_HDF5_F32) return {H5Tcopy(H5T_IEEE_F32LE), H5Tclose, "make a type"};
  if (element == TARE_HDF5_BOOL) {  // as h5py writes and reads a bool
    Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose, "make a type");
    constexpr signed char no = 0;
    constexpr signed char yes = 1;
    check(H5Tenum_insert(type, "FALSE", &no), "make a type");
    check(H5Tenum_insert(type, "TRUE", &yes), "make a type");
    return type;
  }
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "make a type");
  check(H5Tset_size(type, width == 0 ? 1 : width), "make a text type");
  check(H5Tset_strpad(type, H5T_STR_NULLPAD), "make a text type");
  check(H5Tset_cset(type, H5T_CSET_UTF8), "make a text type");
  return type;
}

void write_attribute(hid_t object, const char* name, std::string_view text) {
  const Handle type = type_of(TARE_HDF5_TEXT, text.size());
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "make a dataspace");
  const Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                         "make an attribute");
  const std::string padded = text.empty() ? std::string(1, '\0') : std::string(text);
  check(H5Awrite(attribute, type, padded.data()), "write an attribute");
}

Handle space_of(const tare_hdf5_entry& entry) {
  if (entry.element == TARE_HDF5_NULL) return {H5Screate(H5S_NULL), H5Sclose, "make a dataspace"};
  if (entry.rank == 0) return {H5Screate(H5S_SCALAR), H5Sclose, "make a dataspace"};
  std::vector<hsize_t> shape(entry.shape, entry.shape + entry.rank);
  return {H5Screate_simple(static_cast<int>(entry.rank), shape.data(), nullptr), H5Sclose, "make a dataspace"};
}

/// Chunks of about a mebibyte, whole in the later dimensions: a row is read with one chunk.
std::vector<hsize_t> chunk_of(const tare_hdf5_entry& entry, std::uint64_t element_bytes) {
  std::vector<hsize_t> chunk(entry.shape, entry.shape + entry.rank);
  std::uint64_t bytes = element_bytes;
  for (std::size_t i = entry.rank; i-- > 0;) {
    chunk[i] = std::clamp<hsize_t>(chunk_bytes / bytes, 1, std::max<hsize_t>(chunk[i], 1));
    bytes *= chunk[i];
  }
  return chunk;
}

std::uint64_t bytes_of(const tare_hdf5_entry& entry) {
  const bool narrow = entry.element == TARE_HDF5_BOOL || entry.element == TARE_HDF5_NULL;
  const std::uint64_t plain = narrow ? 1 : entry.element == TARE_HDF5_F32 ? 4 : 8;
  std::uint64_t bytes = entry.width != 0 ? entry.width : plain;
  for (std::uint32_t i = 0; i < entry.rank; ++i) bytes *= entry.shape[i];
  return bytes;
}

Handle creation_of(const tare_hdf5_entry& entry, std::uint64_t element_bytes, std::int32_t compression) {
  Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "make properties");
  check(H5Pset_obj_track_times(creation, false), "leave times out");
  if (compression == TARE_HDF5_NONE || entry.rank == 0 || bytes_of(entry) < pack_from_bytes) return creation;
  const auto chunk = chunk_of(entry, element_bytes);
  check(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), "set chunks");
  check(H5Pset_shuffle(creation), "set the shuffle filter");
  if (compression == TARE_HDF5_GZIP) {
    check(H5Pset_deflate(creation, gzip_level), "set the gzip filter");
  } else {
    check(H5Pset_filter(creation, zstd_filter, H5Z_FLAG_MANDATORY, 1, &zstd_level), "set the zstd filter");
  }
  return creation;
}

void write_entry(hid_t group, const tare_hdf5_entry& entry, std::int32_t compression) {
  // Nothing has a value of no type: a null is an empty dataset of bytes.
  const std::int32_t element = entry.element == TARE_HDF5_NULL ? std::int32_t{TARE_HDF5_BOOL} : entry.element;
  const Handle type = type_of(element, entry.width);
  const Handle space = space_of(entry);
  const Handle creation = creation_of(entry, H5Tget_size(type), compression);
  const Handle dataset(
      H5Dcreate2(group, link_name(entry.name).c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose,
      "make a dataset");
  if (entry.element != TARE_HDF5_NULL && entry.data != nullptr) {
    check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, entry.data), "write a dataset");
  }
  if (entry.element == TARE_HDF5_JSON) write_attribute(dataset, "kind", "json");
  if (entry.units != nullptr) write_attribute(dataset, "units", entry.units);
  if (entry.role != nullptr) write_attribute(dataset, "role", entry.role);
}

Handle make_group(hid_t file, const char* name) {
  const Handle creation(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, "make properties");
  check(H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED), "keep the order");
  check(H5Pset_obj_track_times(creation, false), "leave times out");
  return {H5Gcreate2(file, name, H5P_DEFAULT, creation, H5P_DEFAULT), H5Gclose, "make a group"};
}

/// In memory, which grows at once by what `bytes` of values need.
Handle make_file(std::uint64_t bytes) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make properties");
  check(H5Pset_fapl_core(access, chunk_bytes + bytes, false), "write to memory");
  check(H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18), "set the version of the format");
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "make properties");
  check(H5Pset_obj_track_times(creation, false), "leave times out");
  return {H5Fcreate("tare.state", H5F_ACC_TRUNC, creation, access), H5Fclose, "make a file in memory"};
}

}  // namespace

void encode(const char* schema, const char* policy, const tare_hdf5_entry* entries, std::uint64_t count,
            std::int32_t compression, void* (*room)(void*, std::uint64_t), void* context) {
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < count; ++i) bytes += bytes_of(entries[i]);
  require_memory(own_memory_bytes + 3 * bytes);  // the file, what it grew out of, its copy
  register_zstd();
  const Handle file = make_file(compression == TARE_HDF5_NONE ? bytes : 0);
  write_attribute(file, "schema", schema);
  write_attribute(file, "policy", policy);
  write_attribute(file, "library", "tare " TARE_RELEASE);
  write_attribute(file, "checksum", TARE_HDF5_BLANK_CHECKSUM);
  for (const char* section : section_names) {
    const Handle group = make_group(file, section);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (std::string_view(entries[i].section) == section) write_entry(group, entries[i], compression);
    }
  }
  check(H5Fflush(file, H5F_SCOPE_GLOBAL), "finish the file");
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  if (size <= 0) throw Error(Status::internal, "HDF5 could not give the file's size");
  void* image = room(context, static_cast<std::uint64_t>(size));
  if (image == nullptr) throw std::bad_alloc();
  if (H5Fget_file_image(file, image, static_cast<std::size_t>(size)) != size)
    throw Error(Status::internal, "HDF5 could not give the file");
}

}  // namespace tare::hdf5
