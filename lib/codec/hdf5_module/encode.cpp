#include <algorithm>
#include <string_view>
#include <vector>

#include "lib/codec/hdf5_module/chunks.hpp"
#include "lib/codec/hdf5_module/format.hpp"
#include "lib/codec/hdf5_name.hpp"

namespace tare::hdf5 {
namespace {

constexpr std::uint64_t pack_from_bytes = 16384;  // smaller arrays gain nothing from filters

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

void write_attribute(hid_t object, const char* name, hid_t type, const void* value) {
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "make a dataspace");
  const Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                         "make an attribute");
  check(H5Awrite(attribute, type, value), "write an attribute");
}

/// Of no set length: h5py then gives Python a str, and no bytes that equal none.
void write_text(hid_t object, const char* name, const char* text) {
  const Handle type = type_of(TARE_HDF5_TEXT, 1);
  check(H5Tset_size(type, H5T_VARIABLE), "make a text type");
  check(H5Tset_strpad(type, H5T_STR_NULLTERM), "make a text type");
  write_attribute(object, name, type, &text);
}

/// Stays where it is: its digits are filled in once the file's bytes are known.
void write_blank_checksum(hid_t file) {
  constexpr std::string_view blank = TARE_HDF5_BLANK_CHECKSUM;
  const Handle type = type_of(TARE_HDF5_TEXT, blank.size());
  write_attribute(file, "checksum", type, blank.data());
}

Handle space_of(const tare_hdf5_entry& entry) {
  if (entry.element == TARE_HDF5_NULL) return {H5Screate(H5S_NULL), H5Sclose, "make a dataspace"};
  if (entry.rank == 0) return {H5Screate(H5S_SCALAR), H5Sclose, "make a dataspace"};
  std::vector<hsize_t> shape(entry.shape, entry.shape + entry.rank);
  return {H5Screate_simple(static_cast<int>(entry.rank), shape.data(), nullptr), H5Sclose, "make a dataspace"};
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
  const ChunkGrid grid(entry, element_bytes);
  check(H5Pset_chunk(creation, static_cast<int>(grid.chunk.size()), grid.chunk.data()), "set chunks");
  check(H5Pset_shuffle(creation), "set the shuffle filter");
  if (compression == TARE_HDF5_GZIP) {
    check(H5Pset_deflate(creation, gzip_level), "set the gzip filter");
  } else {
    check(H5Pset_filter(creation, zstd_filter, H5Z_FLAG_MANDATORY, 1, &zstd_level), "set the zstd filter");
  }
  return creation;
}

bool is_chunked(hid_t creation) {
  return H5Pget_layout(creation) == H5D_CHUNKED;
}

void write_values(hid_t dataset, hid_t type, std::span<const std::byte> values, Pieces& pieces) {
  const Pieces::Lent lent(pieces, values);
  check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "write a dataset");
}

void write_chunks(hid_t dataset, const ChunkGrid& grid, std::span<const std::byte> values, std::int32_t compression,
                  Encoded& file) {
  const std::size_t first = file.packed.size();
  pack_chunks(grid, values, compression, file.packed);
  for (std::uint64_t i = 0; i < grid.count(); ++i) {
    const Bytes& packed = file.packed[first + i];
    const Pieces::Lent lent(file.pieces, packed);
    check(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, grid.begin_of(i).data(), packed.size(), packed.data()),
          "write a chunk");
  }
}

void write_entry(hid_t group, const tare_hdf5_entry& entry, std::int32_t compression, Encoded& file) {
  // Nothing has a value of no type: a null is an empty dataset of bytes.
  const std::int32_t element = entry.element == TARE_HDF5_NULL ? std::int32_t{TARE_HDF5_BOOL} : entry.element;
  const Handle type = type_of(element, entry.width);
  const Handle space = space_of(entry);
  const Handle creation = creation_of(entry, H5Tget_size(type), compression);
  const Handle dataset(
      H5Dcreate2(group, link_name(entry.name).c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose,
      "make a dataset");
  const std::span values(static_cast<const std::byte*>(entry.data), bytes_of(entry));
  if (is_chunked(creation)) {
    write_chunks(dataset, ChunkGrid(entry, H5Tget_size(type)), values, compression, file);
  } else if (entry.element != TARE_HDF5_NULL && entry.data != nullptr) {
    write_values(dataset, type, values, file.pieces);
  }
  if (entry.element == TARE_HDF5_JSON) write_text(dataset, "kind", "json");
  if (entry.units != nullptr) write_text(dataset, "units", entry.units);
  if (entry.role != nullptr) write_text(dataset, "role", entry.role);
}

Handle make_group(hid_t parent, const char* name) {
  const Handle creation(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, "make properties");
  check(H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED), "keep the order");
  check(H5Pset_obj_track_times(creation, false), "leave times out");
  return {H5Gcreate2(parent, name, H5P_DEFAULT, creation, H5P_DEFAULT), H5Gclose, "make a group"};
}

void write_sections(hid_t group, const tare_hdf5_state& state, std::int32_t compression, Encoded& file) {
  for (const char* section : section_names) {
    const Handle into = make_group(group, section);
    for (const tare_hdf5_entry& entry : std::span(state.entries, state.count)) {
      if (std::string_view(entry.section) == section) write_entry(into, entry, compression, file);
    }
  }
}

void write_each(hid_t root, std::span<const tare_hdf5_state> states, std::int32_t compression, Encoded& file) {
  const Handle all = make_group(root, "states");
  std::size_t number = 0;
  for (const tare_hdf5_state& state : states) {
    const Handle group = make_group(all, std::to_string(number++).c_str());
    write_text(group, "path", state.path);
    write_text(group, "schema", state.schema);
    write_text(group, "policy", state.policy);
    write_sections(group, state, compression, file);
  }
}

Handle make_file(const Driver& driver) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make properties");
  driver.use_for(access);
  check(H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18), "set the version of the format");
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "make properties");
  check(H5Pset_obj_track_times(creation, false), "leave times out");
  return {H5Fcreate("tare.state", H5F_ACC_TRUNC, creation, access), H5Fclose, "make a file in memory"};
}

}  // namespace

void encode(const char* schema, std::span<const tare_hdf5_state> states, std::int32_t compression, Encoded& file) {
  std::uint64_t bytes = 0;
  for (const tare_hdf5_state& state : states) {
    for (const tare_hdf5_entry& entry : std::span(state.entries, state.count)) bytes += bytes_of(entry);
  }
  require_memory(own_memory_bytes + (compression == TARE_HDF5_NONE ? 0 : bytes));
  register_zstd();
  const Driver driver(file.pieces);
  const Handle made = make_file(driver);
  write_text(made, "schema", schema);
  const bool is_one = states.size() == 1 && states.front().path == nullptr;
  if (is_one) write_text(made, "policy", states.front().policy);
  write_text(made, "library", "tare " TARE_RELEASE);
  write_blank_checksum(made);
  if (is_one) {
    write_sections(made, states.front(), compression, file);
  } else {
    write_each(made, states, compression, file);
  }
  check(H5Fflush(made, H5F_SCOPE_GLOBAL), "finish the file");
  driver.require_written();
  const ssize_t size = H5Fget_file_image(made, nullptr, 0);
  if (size <= 0) throw Error(Status::internal, "HDF5 could not give the file's size");
  file.size = static_cast<std::uint64_t>(size);
}

}  // namespace tare::hdf5
