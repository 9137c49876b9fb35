// Bytes that nobody changes any more and several hold: a change is in a plan, a preview and a journal, and in memory
// once; few bytes are in each, as what would hold them takes more.
#pragma once

#include <array>
#include <bit>
#include <initializer_list>
#include <memory>
#include <vector>

#include "lib/base/bytes.hpp"

namespace tare {

class SharedBytes {
 public:
  using value_type = std::byte;

  SharedBytes() = default;
  SharedBytes(
      Bytes bytes);  // NOLINT(google-explicit-constructor): the same bytes, which nobody can change from here on
  SharedBytes(std::initializer_list<std::byte> bytes) : SharedBytes(Bytes(bytes)) {}
  static SharedBytes copy_of(ByteView bytes);

  SharedBytes(const SharedBytes& other);
  SharedBytes(SharedBytes&& other) noexcept;
  SharedBytes& operator=(SharedBytes other) noexcept;
  ~SharedBytes();

  /// Of few bytes: until this goes, or is moved.
  [[nodiscard]] const std::byte* data() const { return size_ <= few ? here_.data() : apart()->data; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] auto begin() const { return view().begin(); }
  [[nodiscard]] auto end() const { return view().end(); }
  [[nodiscard]] std::byte operator[](std::size_t i) const { return view()[i]; }

  /// Holds all of it, but for few bytes. REQUIRES: offset + size <= size().
  [[nodiscard]] SharedBytes part(std::size_t offset, std::size_t size) const;

  friend bool operator==(const SharedBytes& a, const SharedBytes& b) { return same(a.view(), b.view()); }
  friend bool operator==(const SharedBytes& a, const Bytes& b) { return same(a.view(), b); }

 private:
  static constexpr std::size_t few = sizeof(void*);

  /// What more than few bytes have: nearly all that a plan of very many files holds is few.
  struct Long {
    std::shared_ptr<const void> owner;
    const std::byte* data;
  };

  SharedBytes(std::shared_ptr<const void> owner, ByteView view);
  static bool same(ByteView a, ByteView b);
  [[nodiscard]] ByteView view() const { return {data(), size_}; }
  [[nodiscard]] const Long* apart() const { return std::bit_cast<const Long*>(here_); }  ///< REQUIRES: size_ > few
  void swap(SharedBytes& other) noexcept;

  std::size_t size_ = 0;
  std::array<std::byte, few> here_ = {};  ///< few bytes, or the address of a Long of its own
};

/// Long runs that begin alike are held once: the zeros of thousands of histories that are filled with zeros.
class AlikeBytes {
 public:
  /// The same bytes, of the longest run so far where that begins with them.
  SharedBytes held(SharedBytes bytes);

 private:
  SharedBytes longest_;
};

}  // namespace tare
