// Any bytes as a journal, and as what `.tare/pending` and a record hold beside a small checkpoint, where the user
// trusts them: nothing outside the folder changes. The first byte chooses whether checksums and the seal are put right,
// so that what stands behind them is reached.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/transaction/undo.hpp"

using namespace tare;

namespace {

namespace fs = std::filesystem;

const std::string content(100, 'x');

void write(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

JournalKey key() {
  return JournalKey(Bytes(JournalKey::size, std::byte{7}));
}

/// Every frame under its right checksum, and the last one, if it is a seal, by our key.
Bytes repaired(Bytes bytes) {
  constexpr std::size_t magic = 8;
  constexpr std::size_t head = 12;
  constexpr std::uint32_t seal_tag = 5;
  for (std::size_t at = magic; at + head + 4 <= bytes.size();) {
    const auto size = load_le<std::uint64_t>(bytes.data() + at + 4);
    if (size > bytes.size() - at - head - 4) break;
    const auto payload = at + head;
    if (load_le<std::uint32_t>(bytes.data() + at) == seal_tag && size == Sha256Digest().size()) {
      HmacSha256 sealing = key().sealing();
      sealing.add(ByteView(bytes).first(at));
      const Sha256Digest seal = sealing.finish();
      std::copy(seal.begin(), seal.end(), bytes.begin() + static_cast<std::ptrdiff_t>(payload));
    }
    store<std::uint32_t>(bytes.data() + payload + size, crc32(ByteView(bytes).subspan(at, head + size)),
                         std::endian::little);
    at = payload + size + 4;
  }
  return bytes;
}

/// A checkpoint, and beside it what has to stay as it is.
struct World {
  World() {
    std::string pattern = "/dev/shm/tare-fuzz-XXXXXX";
    folder = ::mkdtemp(pattern.data());
    fs::create_directories(folder / "outside");
    write(folder / "outside/secret.pt", content);
    rebuild();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() { fs::remove_all(folder); }

  void rebuild() const {
    fs::remove_all(folder / "ckpt");
    fs::create_directories(folder / "ckpt/.tare");
    write(folder / "ckpt/scaler.pt", content);
    fs::create_directory_symlink("../outside", folder / "ckpt/side");
    fs::create_hard_link(folder / "outside/secret.pt", folder / "ckpt/hard.pt");
  }
  [[nodiscard]] bool is_intact() const {
    const auto count = std::distance(fs::recursive_directory_iterator(folder / "outside"), {});
    return count == 1 && text_of(folder / "outside/secret.pt") == content;
  }

  fs::path folder;
};

template <typename Work>
void try_to(Work work) {
  try {
    work();
  } catch (const Error&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  static const World world;
  const auto* from = reinterpret_cast<const std::byte*>(data + 1);
  Bytes bytes(from, from + size - 1);
  if (data[0] % 2 == 1) bytes = repaired(std::move(bytes));
  write(world.folder / (data[0] % 4 < 2 ? "ckpt/.tare/pending" : "ckpt/.tare/000001.edit"), as_text(bytes));

  const Scope scope(system_files(), {(world.folder / "ckpt").string()}, world.folder.string(), key());
  try_to([&] { find_pending(scope); });
  try_to([&] { history(scope, [](const HistoryEntry&) {}); });
  UndoOptions options;
  options.recovery.trust_journals = true;
  try_to([&] { undo(scope, options); });
  if (!world.is_intact()) std::abort();
  world.rebuild();
  return 0;
}
