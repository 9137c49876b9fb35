#include "lib/codec/hdf5_module/format.hpp"

namespace tare::hdf5 {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string link_name(const std::string& name) {
  static constexpr char digits[] = "0123456789ABCDEF";
  const bool only_dots = name.find_first_not_of('.') == std::string::npos;
  std::string link;
  for (const char c : name) {
    if (c == '/' || c == '%' || (only_dots && c == '.')) {
      const auto byte = static_cast<unsigned char>(c);
      link += {'%', digits[byte >> 4], digits[byte & 15]};
    } else {
      link += c;
    }
  }
  return link.empty() ? "%" : link;
}

std::string name_of_link(const std::string& link) {
  if (link == "%") return {};
  std::string name;
  for (std::size_t i = 0; i < link.size(); ++i) {
    const bool coded =
        link[i] == '%' && i + 2 < link.size() && hex_digit(link[i + 1]) >= 0 && hex_digit(link[i + 2]) >= 0;
    name += coded ? static_cast<char>(hex_digit(link[i + 1]) * 16 + hex_digit(link[i + 2])) : link[i];
    if (coded) i += 2;
  }
  return name;
}

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

}  // namespace tare::hdf5
