#include "capi/src/guard.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>
#include <system_error>

namespace tare::capi {
namespace {

constexpr std::size_t message_offset = offsetof(tare_error, message);

/// Text into a fixed buffer: what does not fit is left out at the border of a character.
class Message {
 public:
  Message(char* at, std::size_t room) : at_(at), room_(room) {}

  void add(std::string_view text, bool one_line) {
    for (const char c : text) {
      if (room_ <= 1) break;
      *at_++ = one_line && (c == '\n' || c == '\r') ? ' ' : c;
      --room_;
      ++size_;
    }
  }

  void finish() {
    if (room_ == 0) return;
    if (room_ == 1) drop_cut_character();
    *at_ = '\0';
  }

 private:
  void drop_cut_character() {
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
    std::size_t tail = 0;
    while (tail < size_ && tail < 3 && continues(at_[-1 - static_cast<std::ptrdiff_t>(tail)])) ++tail;
    if (tail >= size_) return;
    const auto lead = static_cast<unsigned char>(at_[-1 - static_cast<std::ptrdiff_t>(tail)]);
    const std::size_t wanted = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    if (tail < wanted) at_ -= tail + 1;
  }

  char* at_;
  std::size_t room_;
  std::size_t size_ = 0;
};

void write(tare_error* error, int32_t status, int32_t detail, std::string_view message,
           std::string_view hint) noexcept {
  if (error == nullptr || error->struct_size < message_offset) return;
  error->status = status;
  error->detail = detail;
  const std::size_t size = error->struct_size < sizeof(tare_error) ? error->struct_size : sizeof(tare_error);
  Message text(error->message, size - message_offset);
  text.add(message, true);
  if (!hint.empty()) text.add("\n", false);
  text.add(hint, true);
  text.finish();
}

}  // namespace

int32_t report_current(tare_error* error) noexcept {
  int32_t status = TARE_E_INTERNAL;
  try {
    throw;
  } catch (const Error& failure) {
    const bool no_memory = failure.status == Status::io && failure.detail == ENOMEM;  // as opendir says it
    status = no_memory ? TARE_E_OUT_OF_MEMORY : static_cast<int32_t>(failure.status);
    write(error, status, failure.detail, failure.what(), failure.hint);
  } catch (const std::bad_alloc&) {
    status = TARE_E_OUT_OF_MEMORY;
    write(error, status, 0, "out of memory", {});
  } catch (const std::length_error&) {
    status = TARE_E_OUT_OF_MEMORY;
    write(error, status, 0, "out of memory: a size beyond the address space", {});
  } catch (const std::system_error& failure) {
    status = TARE_E_OUT_OF_MEMORY;
    write(error, status, failure.code().value(), "the system gives no more threads", "Ask for fewer threads.");
  } catch (const std::exception& failure) {
    write(error, status, 0, failure.what(), "This is a bug of tare: please report it.");
  } catch (...) {
    write(error, status, 0, "unknown failure", "This is a bug of tare: please report it.");
  }
  return status;
}

void report_success(tare_error* error) noexcept {
  if (error == nullptr || error->struct_size < message_offset) return;
  error->status = TARE_OK;
  error->detail = 0;
  if (error->struct_size > message_offset) error->message[0] = '\0';
}

}  // namespace tare::capi
