#include "lib/container/zip/names.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "lib/base/letters.hpp"
#include "lib/container/zip/zip.hpp"

namespace tare {
namespace {

bool same_but_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         (std::memcmp(a.data(), b.data(), a.size()) == 0 ||
          std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return small_letter(x) == small_letter(y); }));
}

constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  constexpr std::uint64_t caseless = 0xdfdfdfdfdfdfdfdf;
  hash = (hash ^ (word & caseless)) * odd;
  return hash ^ hash >> 32;
}

std::uint64_t load_word(const char* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

/// Eight bytes a step, the last eight perhaps overlapping those before them. Bit 5 is dropped from every byte: more
/// than case, which only costs a comparison.
std::uint32_t hash_of(std::string_view name) {
  constexpr std::size_t step = sizeof(std::uint64_t);
  std::uint64_t hash = name.size() * odd;
  if (name.size() < step) {
    std::uint64_t word = 0;
    std::memcpy(&word, name.data(), name.size());
    hash = mix(hash, word);
  } else {
    for (std::size_t at = 0; at + step < name.size(); at += step) hash = mix(hash, load_word(name.data() + at));
    hash = mix(hash, load_word(name.data() + name.size() - step));
  }
  return static_cast<std::uint32_t>(mix(hash, 0));
}

}  // namespace

void ZipNames::reserve(std::size_t names) {
  slots_.assign(std::bit_ceil(2 * names + 2), {});
}

std::size_t ZipNames::slot_of(std::span<const ZipEntry> entries, std::string_view name, std::uint32_t hash) const {
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].number != unused &&
         !(slots_[at].hash == hash && same_but_case(entries[slots_[at].number - 1].name, name))) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return at;
}

std::optional<std::uint32_t> ZipNames::add(std::span<const ZipEntry> entries) {
  if (collides()) return std::nullopt;
  const std::string_view name = entries.back().name;
  const std::uint32_t hash = hash_of(name);
  const std::size_t at = slot_of(entries, name, hash);
  probes_ += (at - hash) & (slots_.size() - 1);
  Slot& slot = slots_[at];
  if (slot.number != unused) return slot.number - 1;
  slot = {hash, static_cast<std::uint32_t>(entries.size())};
  return std::nullopt;
}

std::optional<std::uint32_t> ZipNames::find(std::span<const ZipEntry> entries, std::string_view name) const {
  const Slot& slot = slots_[slot_of(entries, name, hash_of(name))];
  return slot.number != unused ? std::optional(slot.number - 1) : std::nullopt;
}

}  // namespace tare
