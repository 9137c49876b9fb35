// Bytes that nobody changes any more and several hold: a change is in a plan, a preview and a journal, and in memory
// once.
#pragma once

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

  [[nodiscard]] const std::byte* data() const { return view_.data(); }
  [[nodiscard]] std::size_t size() const { return view_.size(); }
  [[nodiscard]] bool empty() const { return view_.empty(); }
  [[nodiscard]] auto begin() const { return view_.begin(); }
  [[nodiscard]] auto end() const { return view_.end(); }
  [[nodiscard]] std::byte operator[](std::size_t i) const { return view_[i]; }

  /// Holds all of it. REQUIRES: offset + size <= size().
  [[nodiscard]] SharedBytes part(std::size_t offset, std::size_t size) const;

  friend bool operator==(const SharedBytes& a, const SharedBytes& b) { return same(a.view_, b.view_); }
  friend bool operator==(const SharedBytes& a, const Bytes& b) { return same(a.view_, b); }

 private:
  SharedBytes(std::shared_ptr<const void> owner, ByteView view) : owner_(std::move(owner)), view_(view) {}
  static bool same(ByteView a, ByteView b);

  std::shared_ptr<const void> owner_;
  ByteView view_;
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
