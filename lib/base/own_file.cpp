#include "lib/base/own_file.hpp"

#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <string_view>

namespace tare {
namespace {

std::span<const ElfW(Phdr)> segments_of(const dl_phdr_info& object) {
  return {object.dlpi_phdr, object.dlpi_phnum};
}

/// What dl_iterate_phdr says for the program: the kernel tells where its segments are listed.
bool is_program(const dl_phdr_info& object) {
  return reinterpret_cast<std::uintptr_t>(object.dlpi_phdr) == getauxval(AT_PHDR);
}

std::uintptr_t own_address() {
  return reinterpret_cast<std::uintptr_t>(&own_file);
}

int holds_own_address(dl_phdr_info* object, std::size_t, void*) {
  if (!is_program(*object)) return 0;
  const auto segments = segments_of(*object);
  return std::any_of(segments.begin(), segments.end(), [object](const ElfW(Phdr) & segment) {
    const std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    return segment.p_type == PT_LOAD && own_address() >= start && own_address() - start < segment.p_memsz;
  });
}

int has_loader(dl_phdr_info* object, std::size_t, void*) {
  const auto segments = segments_of(*object);
  return is_program(*object) && std::any_of(segments.begin(), segments.end(),
                                            [](const ElfW(Phdr) & segment) { return segment.p_type == PT_INTERP; });
}

std::string program_file() {
  std::array<char, PATH_MAX> path{};
  return readlink("/proc/self/exe", path.data(), path.size() - 1) > 0 ? path.data() : "";
}

/// A newline in a path is \012 in a list of mappings.
std::string unescaped(std::string_view path) {
  constexpr std::string_view newline = "\\012";
  std::string plain;
  for (std::size_t found = 0; (found = path.find(newline)) != std::string_view::npos;) {
    plain.append(path.substr(0, found)) += '\n';
    path.remove_prefix(found + newline.size());
  }
  return plain.append(path);
}

/// What the line "START-END FLAGS OFFSET DEVICE INODE PATH" says where `address` is in it.
std::string mapped_file(const char* line, std::uintptr_t address) {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  int path = 0;
  const int read = std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &start, &end, &path);
  if (read != 2 || address < start || address >= end || line[path] != '/') return {};
  const std::string_view rest = line + path;
  return unescaped(rest.substr(0, rest.find('\n')));
}

struct Closed {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::string library_file() {
  const std::unique_ptr<std::FILE, Closed> maps(std::fopen("/proc/self/maps", "re"));
  if (!maps && errno == ENOMEM) throw std::bad_alloc();
  std::array<char, PATH_MAX + 256> line{};
  std::string path;
  while (maps && path.empty() && std::fgets(line.data(), static_cast<int>(line.size()), maps.get()) != nullptr) {
    path = mapped_file(line.data(), own_address());
  }
  return path;
}

}  // namespace

std::string own_file() {
  return dl_iterate_phdr(holds_own_address, nullptr) != 0 ? program_file() : library_file();
}

bool is_static_program() {
  return dl_iterate_phdr(has_loader, nullptr) == 0;
}

}  // namespace tare
