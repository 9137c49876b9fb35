// A vector for very many plain elements: grows by realloc, which moves large blocks to another address without a copy,
// where std::vector holds the old ones and the new ones at once.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace tare {

template <typename T>
class ReallocVector {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));

 public:
  ReallocVector() = default;
  explicit ReallocVector(std::size_t size) { resize_unwritten(size); }
  ReallocVector(ReallocVector&& other) noexcept { swap(other); }
  ReallocVector& operator=(ReallocVector&& other) noexcept {
    ReallocVector taken(std::move(other));
    swap(taken);
    return *this;
  }
  ReallocVector(const ReallocVector&) = delete;
  ReallocVector& operator=(const ReallocVector&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] T* data() { return block_.get(); }
  [[nodiscard]] const T* data() const { return block_.get(); }
  [[nodiscard]] T* begin() { return data(); }
  [[nodiscard]] T* end() { return data() + size_; }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size_; }
  [[nodiscard]] T& operator[](std::size_t i) { return data()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return data()[i]; }

  void push_back(T element) {
    if (size_ == capacity_) reserve(size_ + size_ / 2 + least);
    data()[size_++] = element;
  }
  /// Throws std::bad_alloc. Does not write to what it makes room for.
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    if (capacity > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_alloc();
    void* const grown = std::realloc(static_cast<void*>(block_.get()), capacity * sizeof(T));
    if (grown == nullptr) throw std::bad_alloc();
    static_cast<void>(block_.release());
    block_.reset(static_cast<T*>(grown));
    capacity_ = capacity;
  }
  /// What is new has no value before it is written.
  void resize_unwritten(std::size_t size) {
    reserve(size);
    size_ = size;
  }

 private:
  static constexpr std::size_t least = 16;

  struct Free {
    void operator()(T* block) const { std::free(static_cast<void*>(block)); }
  };
  void swap(ReallocVector& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  std::unique_ptr<T, Free> block_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace tare
