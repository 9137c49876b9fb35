#include "lib/codec/hdf5_module/image.hpp"

#include "lib/base/error.hpp"

namespace tare::hdf5 {
namespace {

ByteView part(ByteView bytes, std::uint64_t address, std::uint64_t size, const std::string& place) {
  if (address <= bytes.size() && size <= bytes.size() - address) return bytes.subspan(address, size);
  refuse(place, std::to_string(size) + " bytes at offset " + std::to_string(address) + " pass the end of the file");
}

}  // namespace

void refuse(const std::string& place, const std::string& what) {
  throw Error(Status::corrupt, place + ": " + what);
}

std::uint64_t Fields::number(std::size_t size) {
  const ByteView bytes = take(size);
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

ByteView Fields::take(std::uint64_t size) {
  if (size > rest_.size()) refuse(place_, "cut short");
  const ByteView taken = rest_.first(size);
  rest_ = rest_.subspan(size);
  return taken;
}

void Fields::require(std::size_t size, std::uint64_t wanted, const char* what) {
  const std::uint64_t found = number(size);
  if (found == wanted) return;
  refuse(place_, std::string(what) + " " + std::to_string(found) + ", where tare writes " + std::to_string(wanted));
}

void Fields::require(std::string_view signature) {
  if (as_text(take(signature.size())) != signature) refuse(place_, "no \"" + std::string(signature) + "\" there");
}

Fields Image::metadata(std::uint64_t address, std::uint64_t size, const std::string& place) {
  return {metadata_bytes(address, size, place), place};
}

ByteView Image::metadata_bytes(std::uint64_t address, std::uint64_t size, const std::string& place) {
  const ByteView found = part(bytes_, address, size, place);
  if (size > metadata_left_) refuse(place, "the file's parts refer to each other over and over");
  metadata_left_ -= size;
  return found;
}

ByteView Image::values(std::uint64_t address, std::uint64_t size, const std::string& place) {
  const ByteView found = part(bytes_, address, size, place);
  if (size > values_left_) refuse(place, "values stand where others do");
  values_left_ -= size;
  return found;
}

}  // namespace tare::hdf5
