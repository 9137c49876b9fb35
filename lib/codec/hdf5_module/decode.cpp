// Reads what encode.cpp wrote, and what h5py or h5repack made of it. A file may come from anyone: only plain datasets
// of plain types are touched, no link leads out, nothing runs but known filters, and sizes are added up before anything
// is read.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "lib/codec/hdf5_module/format.hpp"

namespace tare::hdf5 {
namespace {

constexpr std::uint64_t max_entries = 4096;  // in one group
constexpr std::uint64_t max_attribute_bytes = 4096;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Status::corrupt, what);
}

std::string without_padding(std::string text) {
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

/// A fixed or variable piece of text; empty where there is no such attribute.
std::string read_attribute(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return {};
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose, "open an attribute");
  const Handle type(H5Aget_type(attribute), H5Tclose, "read an attribute's type");
  const Handle space(H5Aget_space(attribute), H5Sclose, "read an attribute's shape");
  if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1) return {};
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    const Handle memory(H5Tcopy(type), H5Tclose, "make a type");
    check(H5Aread(attribute, memory, &text), "read an attribute");
    std::string value = text == nullptr ? "" : text;
    H5Dvlen_reclaim(memory, space, H5P_DEFAULT, &text);
    return value.size() > max_attribute_bytes ? std::string() : value;
  }
  const std::size_t size = H5Tget_size(type);
  if (size > max_attribute_bytes) return {};
  std::string text(size, '\0');
  check(H5Aread(attribute, type, text.data()), "read an attribute");
  return without_padding(text);
}

/// What an array of that type holds in memory; -1 for a type that is none of ours.
std::int32_t element_of(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  const std::size_t size = H5Tget_size(type);
  if (kind == H5T_ENUM) return size == 1 ? TARE_HDF5_BOOL : -1;
  if (kind == H5T_INTEGER) return size <= 8 ? TARE_HDF5_I64 : -1;
  if (kind == H5T_FLOAT) return size == 8 ? TARE_HDF5_F64 : size == 4 || size == 2 ? TARE_HDF5_F32 : -1;
  if (kind == H5T_STRING) return H5Tis_variable_str(type) > 0 ? -1 : TARE_HDF5_TEXT;
  return -1;
}

void check_storage(hid_t dataset, const std::string& name) {
  const Handle creation(H5Dget_create_plist(dataset), H5Pclose, "read how a dataset is stored");
  if (H5Pget_layout(creation) == H5D_VIRTUAL || H5Pget_external_count(creation) != 0) {
    refuse(name + " is stored in other files");
  }
  const int filters = H5Pget_nfilters(creation);
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    unsigned config = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, &config);
    const bool known = filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE ||
                       filter == H5Z_FILTER_FLETCHER32 || filter == zstd_filter;
    if (!known) throw Error(Status::unsupported, name + " is packed by filter " + std::to_string(filter));
  }
}

class Reader {
 public:
  Reader(const tare_hdf5_sink& sink, std::uint64_t max_bytes) : sink_(sink), left_(max_bytes) {}

  void read_group(hid_t file, const char* section) {
    if (H5Lexists(file, section, H5P_DEFAULT) <= 0) return;
    check_link(file, section, section);
    const Handle group(H5Gopen2(file, section, H5P_DEFAULT), H5Gclose, "open a group");
    H5G_info_t info;
    check(H5Gget_info(group, &info), "read a group");
    if (info.nlinks > max_entries) refuse(std::string(section) + " has too many entries");
    const Handle creation(H5Gget_create_plist(group), H5Pclose, "read how a group is stored");
    unsigned order = 0;
    check(H5Pget_link_creation_order(creation, &order), "read a group's order");
    const H5_index_t index = (order & H5P_CRT_ORDER_TRACKED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    for (hsize_t i = 0; i < info.nlinks; ++i) read_link(group, section, index, i);
  }

 private:
  static void check_link(hid_t group, const char* link, const std::string& name) {
    H5L_info_t info;
    check(H5Lget_info(group, link, &info, H5P_DEFAULT), "read a link");
    if (info.type != H5L_TYPE_HARD) refuse(name + " is a link to elsewhere");
  }

  void read_link(hid_t group, const char* section, H5_index_t index, hsize_t i) {
    char link[1024];
    const ssize_t size = H5Lget_name_by_idx(group, ".", index, H5_ITER_INC, i, link, sizeof link, H5P_DEFAULT);
    if (size <= 0 || static_cast<std::size_t>(size) >= sizeof link) refuse("a name cannot be read");
    const std::string name = name_of_link(link);
    const std::string place = std::string(section) + "." + name;
    check_link(group, link, place);
    const Handle object(H5Oopen(group, link, H5P_DEFAULT), H5Oclose, "open a dataset");
    if (H5Iget_type(object) != H5I_DATASET) refuse(place + " is no dataset");
    check_storage(object, place);
    read_dataset(object, section, name, place);
  }

  void read_dataset(hid_t dataset, const char* section, const std::string& name, const std::string& place) {
    const Handle space(H5Dget_space(dataset), H5Sclose, "read a dataset's shape");
    const Handle stored(H5Dget_type(dataset), H5Tclose, "read a dataset's type");
    tare_hdf5_entry entry{};
    entry.section = section;
    entry.name = name.c_str();
    if (H5Sget_simple_extent_type(space) == H5S_NULL) return sink_.entry(sink_.context, &entry);
    entry.element = element_of(stored);
    if (entry.element < 0) refuse(place + " is of a type that no state has");
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > TARE_HDF5_MAX_RANK) refuse(place + " has too many dimensions");
    entry.rank = static_cast<std::uint32_t>(rank);
    hsize_t shape[TARE_HDF5_MAX_RANK] = {};
    check(H5Sget_simple_extent_dims(space, shape, nullptr), "read a dataset's shape");
    std::copy(std::begin(shape), std::end(shape), entry.shape);
    if (entry.element == TARE_HDF5_TEXT) entry.width = H5Tget_size(stored);
    const Handle memory = memory_type(entry, stored);
    std::vector<char> values(claim(entry, H5Tget_size(memory), place));
    if (!values.empty())
      check(H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "read a dataset");
    if (entry.element == TARE_HDF5_TEXT && read_attribute(dataset, "kind") == "json") entry.element = TARE_HDF5_JSON;
    entry.data = values.data();
    sink_.entry(sink_.context, &entry);
  }

  static Handle memory_type(const tare_hdf5_entry& entry, hid_t stored) {
    if (entry.element == TARE_HDF5_TEXT || entry.element == TARE_HDF5_BOOL)
      return {H5Tcopy(stored), H5Tclose, "make a type"};
    return type_of(entry.element, entry.width);
  }

  /// Bytes of the values, taken off what is left.
  std::size_t claim(const tare_hdf5_entry& entry, std::size_t element_bytes, const std::string& place) {
    std::uint64_t bytes = element_bytes;
    for (std::uint32_t i = 0; i < entry.rank; ++i) {
      if (__builtin_mul_overflow(bytes, entry.shape[i], &bytes)) refuse(place + " claims more than any file holds");
    }
    if (bytes > left_) refuse(place + " is too big for a state");
    left_ -= bytes;
    return bytes;
  }

  const tare_hdf5_sink& sink_;
  std::uint64_t left_;
};

}  // namespace

void decode(const void* bytes, std::uint64_t size, std::uint64_t max_bytes, const tare_hdf5_sink& sink) {
  require_memory(own_memory_bytes + 2 * size);
  register_zstd();
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make properties");
  check(H5Pset_fapl_core(access, 1 << 20, false), "read from memory");
  check(H5Pset_file_image(access, const_cast<void*>(bytes), size), "read from memory");
  const Handle file(H5Fopen("tare.state", H5F_ACC_RDONLY, access), H5Fclose, "open the file: it is cut off or damaged");
  const std::string schema = read_attribute(file, "schema");
  const std::string policy = read_attribute(file, "policy");
  sink.begin(sink.context, schema.c_str(), policy.c_str());
  Reader reader(sink, max_bytes);
  for (const char* section : section_names) reader.read_group(file, section);
}

}  // namespace tare::hdf5
