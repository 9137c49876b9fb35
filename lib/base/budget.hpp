// What reading one file may cost, all of its members and the documents inside it together: in proportion to the file,
// so that a large checkpoint is read and a small file that unfolds into a large one is not. Files of one checkpoint
// share another such budget, by the size of all.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace tare {

/// One thread takes from a budget; any number of threads may take from others that are parts of it.
class Budget {
 public:
  /// For a file of `size` bytes, which `file` names in messages; a part of `whole`, if there is one.
  Budget(std::string file, std::uint64_t size, std::shared_ptr<Budget> whole = nullptr);
  /// For files that are read together: has the share of as many bytes as grow() told of.
  static std::shared_ptr<Budget> of_files(std::string folder, std::shared_ptr<Budget> whole = nullptr);
  /// Gives memory back to the whole, and what was not taken.
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  /// Another file of so many bytes belongs to it, and to what it is a part of.
  void grow(std::uint64_t bytes);

  // ---- each throws `refused` where the file has had its share, and from then on
  /// Memory for what is read: nodes, items, text.
  void take_memory(std::uint64_t bytes) { take(memory, bytes); }
  /// Memory that stays taken when the file is closed.
  void keep_memory(std::uint64_t bytes) {
    take(memory, bytes);
    kept_ += bytes;
  }
  /// Bytes that something compressed unpacks to.
  void take_unpacked(std::uint64_t bytes) { take(unpacked, bytes); }
  /// A document of `bytes` inside another.
  void take_document(std::uint64_t bytes) {
    constexpr std::uint64_t steps_a_byte = 4;
    take(documents, 1);
    take(steps, steps_a_byte * bytes);
  }
  /// Bytes or items looked at beyond a first look at each: a name compared, a path put together, a list copied.
  void take_steps(std::uint64_t count) { take(steps, count); }

  /// Whether something was refused: nothing more of the file can be read.
  [[nodiscard]] bool is_spent() const { return is_spent_ || (whole_ != nullptr && whole_->is_spent()); }

 private:
  enum Term : std::size_t { memory, unpacked, documents, steps, terms };

  void take(Term term, std::uint64_t amount) {
    if (amount > left_[term]) draw(term, amount - left_[term]);
    left_[term] -= amount;
  }
  void draw(Term term, std::uint64_t amount);
  /// Of its own share and of the whole's.
  std::uint64_t grant(Term term, std::uint64_t least, std::uint64_t most);
  void give_back(Term term, std::uint64_t amount);
  [[noreturn]] void refuse(Term term);
  [[nodiscard]] std::uint64_t share(Term term) const;

  std::string file_;
  std::shared_ptr<Budget> whole_;
  bool is_of_files_ = false;
  mutable std::mutex turn_;  ///< for the next two
  std::uint64_t size_;
  std::array<std::uint64_t, terms> granted_{};
  std::array<std::uint64_t, terms> left_{};  ///< granted and not taken
  std::uint64_t kept_ = 0;
  std::atomic<bool> is_spent_ = false;
};

}  // namespace tare
