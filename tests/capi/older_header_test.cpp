// Callers that were built with an older header: their structs end where that header's did, and memory may end there,
// too.
#include <sys/mman.h>
#include <tare/tare.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <string>

#include "tests/catch.hpp"
#include "tests/places.hpp"

namespace {

/// A page that nothing may touch a byte behind.
class LastPage {
 public:
  LastPage() : size_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* const pages = mmap(nullptr, 2 * size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<char*>(pages);
    if (mprotect(begin_ + size_, size_, PROT_NONE) != 0) throw std::bad_alloc();
  }
  ~LastPage() { munmap(begin_, 2 * size_); }
  LastPage(const LastPage&) = delete;
  LastPage& operator=(const LastPage&) = delete;

  /// The first `size` bytes of a struct, which are the page's last and say that they are all.
  template <class Struct>
  Struct* put(const Struct& whole, std::size_t size) {
    char* const at = begin_ + size_ - size;
    std::memcpy(at, &whole, size);
    const std::uint64_t told = size;
    std::memcpy(at + offsetof(Struct, struct_size), &told, sizeof told);
    return reinterpret_cast<Struct*>(at);
  }

 private:
  std::size_t size_;
  char* begin_;
};

/// One file, whatever its path.
struct File {
  std::string bytes;

  explicit File(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  tare_source source() { return {sizeof(tare_source), this, size, read, nullptr}; }

  static int32_t size(void* context, const char*, uint64_t* size) {
    *size = static_cast<File*>(context)->bytes.size();
    return 0;
  }
  static int32_t read(void* context, const char*, uint64_t offset, void* to, uint64_t size) {
    std::memcpy(to, static_cast<File*>(context)->bytes.data() + offset, size);
    return 0;
  }
};

int32_t alone(void*, void*, uint64_t, int32_t, tare_stream) {
  return 0;
}

}  // namespace

TEST_CASE("a caller's storage that knows of no folders is read, and no byte behind what it gave") {
  File file(TARE_TEST_DATA "/corpus/torch/train-t2.15/checkpoint.pth");
  LastPage page;
  for (const std::size_t size : {offsetof(tare_source, list), sizeof(tare_source)}) {
    const tare_source* source = page.put(file.source(), size);
    tare_text* text = nullptr;
    REQUIRE(tare_checkpoint_inspect_with(&text, source, "checkpoint.pth", nullptr, nullptr) == TARE_OK);
    CHECK(std::string(tare_text_data(text)).find("_growth_tracker") != std::string::npos);
    tare_text_destroy(text);
  }
}

TEST_CASE("a caller's reduction that knows of no GPU joins scalers, and no byte behind what it gave is read") {
  LastPage page;
  tare_collectives whole{};
  whole.all_reduce = alone;
  for (const std::size_t size : {offsetof(tare_collectives, device_memory), sizeof(tare_collectives)}) {
    tare_comm* comm = nullptr;
    tare_scaler* scaler = nullptr;
    REQUIRE(tare_comm_from_callbacks(&comm, page.put(whole, size), nullptr) == TARE_OK);
    REQUIRE(tare_scaler_create(&scaler, R"({"policy":"torch"})", nullptr) == TARE_OK);
    REQUIRE(tare_scaler_set_comm(scaler, comm, nullptr, nullptr) == TARE_OK);
    REQUIRE(tare_scaler_report_overflow(scaler, 1, nullptr, nullptr) == TARE_OK);
    CHECK(tare_scaler_update(scaler, nullptr, nullptr) == TARE_OK);
    tare_scaler_destroy(scaler);
    tare_comm_destroy(comm);
  }
  for (const std::size_t size : {std::size_t{8}, offsetof(tare_collectives, device_memory) - 8}) {
    tare_comm* comm = nullptr;
    CHECK(tare_comm_from_callbacks(&comm, page.put(whole, size), nullptr) == TARE_E_INVALID_ARGUMENT);
    CHECK(comm == nullptr);
  }
}

TEST_CASE("a caller's error that ends at its memory's end is filled, and a success is written there, too") {
  LastPage page;
  for (const std::size_t size : {offsetof(tare_error, message), offsetof(tare_error, message) + 8, std::size_t{64}}) {
    tare_error* error = page.put(tare_error{}, size);
    tare_scaler* scaler = nullptr;
    CHECK(tare_scaler_create(&scaler, R"({"policy":"no such rule"})", error) == TARE_E_INVALID_ARGUMENT);
    CHECK(error->status == TARE_E_INVALID_ARGUMENT);
    if (size > offsetof(tare_error, message)) CHECK(std::memchr(error->message, 0, size - 16) != nullptr);
    CHECK(tare_scaler_create(&scaler, R"({"policy":"torch"})", error) == TARE_OK);
    CHECK(error->status == TARE_OK);
    if (size > offsetof(tare_error, message)) CHECK(error->message[0] == 0);
    tare_scaler_destroy(scaler);
  }
}
