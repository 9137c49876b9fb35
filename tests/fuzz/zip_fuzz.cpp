// Any bytes as a zip archive: opened, looked up, every record located, read and its checksums found.
#include <cstdint>

#include "lib/base/error.hpp"
#include "lib/container/container.hpp"
#include "lib/container/zip/zip.hpp"

using namespace tare;

namespace {

constexpr std::uint64_t record_limit = 1 << 16;

void read_record(const ZipArchive& archive, const ZipEntry& entry) {
  try {
    static_cast<void>(archive.checksums(entry));
    static_cast<void>(archive.read(entry, record_limit));
  } catch (const Error&) {
    // A damaged record is an answer.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
  const auto source = std::make_shared<MemorySource>("fuzz", Bytes(bytes.begin(), bytes.end()));
  try {
    const ZipArchive archive(source);
    for (const ZipEntry& entry : archive.entries()) {
      if (archive.duplicate() == nullptr && archive.find(entry.name) != &entry) __builtin_trap();
      read_record(archive, entry);
    }
    static_cast<void>(open_container(source));
  } catch (const Error&) {
  }
  return 0;
}
