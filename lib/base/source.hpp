// Where bytes are read from: a file, memory, or a window into another source. Always by range, never all at once.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "lib/base/budget.hpp"
#include "lib/base/bytes.hpp"

namespace tare {

class Source {
 public:
  virtual ~Source() = default;

  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// What a message calls this source: a path as the user gave it, or a place inside one. Not escaped.
  [[nodiscard]] virtual const std::string& name() const = 0;
  /// Fills `to` from `offset`. Throws `corrupt` where the range passes the end, `io` where reading fails.
  virtual void read(std::uint64_t offset, std::span<std::byte> to) const = 0;

  [[nodiscard]] Bytes read(Span range) const;

  /// What reading it may still cost. What is inside another source has that one's.
  [[nodiscard]] const std::shared_ptr<Budget>& budget() const;
  /// Lets all that reading it costs count in `whole`, the budget of the files that it is read with. The first rules,
  /// and only before budget() is asked for.
  void count_in(const std::shared_ptr<Budget>& whole) const;

 protected:
  /// One with a budget of its own, by its size; or with that of what it is a part of, if that is not null.
  Source() = default;
  explicit Source(std::shared_ptr<Budget> budget) : budget_(std::move(budget)) {}

  /// Throws `corrupt` where the range passes the end.
  void require_inside(std::uint64_t offset, std::uint64_t wanted) const;

 private:
  mutable std::once_flag has_budget_;
  mutable std::shared_ptr<Budget> budget_;
};

/// A regular file, opened read-only. Opening a pipe, socket, device or folder is refused at once.
class FileSource final : public Source {
 public:
  explicit FileSource(std::string path);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  [[nodiscard]] std::uint64_t size() const override { return static_cast<std::uint64_t>(status_.st_size); }
  [[nodiscard]] const std::string& name() const override { return path_; }
  void read(std::uint64_t offset, std::span<std::byte> to) const override;
  using Source::read;

  /// Closes the file until somebody reads: each read opens it anew from now on, and throws `io` where it is another
  /// file by then. For checkpoints of more files than a process may have open. Not while another thread reads.
  void park() const;

  /// As fstat gave it when the file was opened: device, inode, size, mtime, mode, links.
  [[nodiscard]] const struct stat& status() const { return status_; }

 private:
  std::string path_;
  mutable int descriptor_;  ///< negative: parked
  struct stat status_ {};
};

class MemorySource final : public Source {
 public:
  /// `budget`: of the file that they come from.
  MemorySource(std::string name, Bytes bytes, std::shared_ptr<Budget> budget = nullptr)
      : Source(std::move(budget)), name_(std::move(name)), bytes_(std::move(bytes)) {}

  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] const std::string& name() const override { return name_; }
  void read(std::uint64_t offset, std::span<std::byte> to) const override;
  using Source::read;

 private:
  std::string name_;
  Bytes bytes_;
};

/// A part of another source, which it shares: a blob inside a `.distcp`, a stored member of a zip.
class WindowSource final : public Source {
 public:
  /// Throws `corrupt` where `window` passes the end of `whole`.
  WindowSource(std::shared_ptr<const Source> whole, Span window, std::string name);

  [[nodiscard]] std::uint64_t size() const override { return window_.size; }
  [[nodiscard]] const std::string& name() const override { return name_; }
  void read(std::uint64_t offset, std::span<std::byte> to) const override;
  using Source::read;

 private:
  std::shared_ptr<const Source> whole_;
  Span window_;
  std::string name_;
};

}  // namespace tare
