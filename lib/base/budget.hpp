// What reading one file may cost, all of its members and the documents inside it together: in proportion to the file,
// so that a large checkpoint is read and a small file that unfolds into a large one is not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tare {

class Budget {
 public:
  /// For a file of `size` bytes, which `file` names in messages.
  Budget(std::string file, std::uint64_t size);

  // ---- each throws `refused` where the file has had its share, and from then on
  /// Memory for what is read: nodes, items, text.
  void take_memory(std::uint64_t bytes) { take(memory, bytes); }
  /// Bytes that something compressed unpacks to.
  void take_unpacked(std::uint64_t bytes) { take(unpacked, bytes); }
  /// A document of `bytes` inside another.
  void take_document(std::uint64_t bytes) {
    take(documents, 1);
    take(steps, bytes);
  }
  /// Bytes or items looked at beyond a first look at each: a name compared, a path put together, a list copied.
  void take_steps(std::uint64_t count) { take(steps, count); }

  /// Whether something was refused: nothing more of the file can be read.
  [[nodiscard]] bool is_spent() const { return is_spent_; }

 private:
  enum Term : std::size_t { memory, unpacked, documents, steps, terms };

  void take(Term term, std::uint64_t amount) {
    if (amount > left_[term]) refuse(term);
    left_[term] -= amount;
  }
  [[noreturn]] void refuse(Term term);
  [[nodiscard]] std::uint64_t share(Term term) const;

  std::string file_;
  std::uint64_t size_;
  std::array<std::uint64_t, terms> left_{};
  bool is_spent_ = false;
};

}  // namespace tare
