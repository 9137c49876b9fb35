#include "lib/base/release_note.hpp"

#include <link.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "lib/base/release_note.h"

namespace tare {
namespace {

/// How our note begins: what follows is the release.
struct Head {
  ElfW(Nhdr) header;
  char name[TARE_NOTE_NAME_BYTES];
};

constexpr std::size_t max_segments = 64;
constexpr std::size_t max_notes_bytes = 1 << 16;

/// What stands at `offset`; nothing where the bytes end before.
template <class T>
std::optional<T> at(ByteView bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Up to `most` bytes of the file, fewer at its end.
Bytes bytes_at(const Source& file, std::uint64_t offset, std::uint64_t most) {
  if (offset >= file.size()) return {};
  return file.read({offset, std::min(most, file.size() - offset)});
}

bool is_of_this_machine(const ElfW(Ehdr) & header) {
  constexpr unsigned char word = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  constexpr unsigned char order = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == word &&
         header.e_ident[EI_DATA] == order && header.e_phentsize == sizeof(ElfW(Phdr));
}

/// The release in a segment of notes. Some linkers lay notes of several alignments into one, where a walk from note to
/// note may lose its way: ours is looked for at every place where it could start.
std::string release_in(ByteView notes) {
  for (std::size_t start = 0; const auto head = at<Head>(notes, start); start += 4) {
    const ElfW(Nhdr)& header = head->header;
    if (header.n_type != TARE_NOTE_RELEASE || header.n_namesz != sizeof TARE_NOTE_NAME ||
        std::memcmp(head->name, TARE_NOTE_NAME, sizeof TARE_NOTE_NAME) != 0)
      continue;
    const std::string_view rest = as_text(notes.subspan(start + sizeof(Head)));
    if (header.n_descsz != 0 && header.n_descsz <= rest.size()) return std::string(rest.substr(0, header.n_descsz - 1));
  }
  return {};
}

}  // namespace

std::string release_noted_in(const Source& file) {
  const auto header = at<ElfW(Ehdr)>(bytes_at(file, 0, sizeof(ElfW(Ehdr))), 0);
  if (!header || !is_of_this_machine(*header)) return {};
  const Bytes table = bytes_at(file, header->e_phoff, max_segments * sizeof(ElfW(Phdr)));
  for (std::size_t i = 0; i < std::min<std::size_t>(header->e_phnum, max_segments); ++i) {
    const auto segment = at<ElfW(Phdr)>(table, i * sizeof(ElfW(Phdr)));
    if (!segment) break;
    if (segment->p_type != PT_NOTE) continue;
    const Bytes notes = bytes_at(file, segment->p_offset, std::min<std::uint64_t>(segment->p_filesz, max_notes_bytes));
    if (std::string release = release_in(notes); !release.empty()) return release;
  }
  return {};
}

}  // namespace tare
