#include "capi/src/guard.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>
#include <system_error>

#include "capi/src/option_words.hpp"
#include "lib/base/text.hpp"

namespace tare::capi {
namespace {

constexpr std::size_t message_offset = offsetof(tare_error, message);

/// Lines of UTF-8 into a fixed buffer: what does not fit is left out at the border of a character.
class Message {
 public:
  Message(char* at, std::size_t room) : at_(at), room_(room) {}

  /// A line: what is no UTF-8 (paths are any bytes) becomes \\xNN.
  void add(std::string_view text) {
    while (!text.empty()) {
      const std::size_t length = character_length(text);
      if (length == 0) {
        constexpr const char* digits = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(text.front());
        const char shown[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        put({shown, sizeof shown});
      } else {
        put(text.front() == '\n' || text.front() == '\r' ? " " : text.substr(0, length));
      }
      text.remove_prefix(length == 0 ? 1 : length);
    }
  }
  void end_line() { put("\n"); }

  void finish() {
    if (room_ > 0) *at_ = '\0';
  }

 private:
  /// Bytes of the character that the text begins with; 0 where they are none.
  static std::size_t character_length(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return length <= text.size() && is_utf8(text.substr(0, length)) ? length : 0;
  }

  /// All of it, or nothing more from here on.
  void put(std::string_view text) {
    if (is_full_ || text.size() + 1 > room_) {
      is_full_ = true;
      return;
    }
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    room_ -= text.size();
  }

  char* at_;
  std::size_t room_;
  bool is_full_ = false;
};

/// How much of `error` may be written. A struct that is all 0 is one of the first release's size, which no later one
/// goes below.
std::size_t room_of(const tare_error& error) {
  if (error.struct_size == 0) return sizeof(tare_error);
  return error.struct_size < sizeof(tare_error) ? static_cast<std::size_t>(error.struct_size) : sizeof(tare_error);
}

void write(tare_error* error, int32_t status, int32_t detail, std::string_view message,
           std::string_view hint) noexcept {
  if (error == nullptr || room_of(*error) < message_offset) return;
  error->status = status;
  error->detail = detail;
  Message text(error->message, room_of(*error) - message_offset);
  text.add(message);
  if (!hint.empty()) text.end_line();
  while (!hint.empty()) {
    const AdvicePiece piece = first_piece(hint);
    text.add(piece.said);
    hint.remove_prefix(piece.given.size());
  }
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
  if (error == nullptr || room_of(*error) < message_offset) return;
  error->status = TARE_OK;
  error->detail = 0;
  if (room_of(*error) > message_offset) error->message[0] = '\0';
}

}  // namespace tare::capi
