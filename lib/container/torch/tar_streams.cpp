#include "lib/container/torch/tar_streams.hpp"

#include <fmt/format.h>

#include <utility>

#include "lib/base/error.hpp"
#include "lib/container/pickle/pickle_file.hpp"
#include "lib/container/pickle/read/probe.hpp"
#include "lib/container/pickle/read/tensor.hpp"

namespace tare {
namespace {

class TarStream {
 public:
  TarStream(std::shared_ptr<const Source> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)) {}

  /// Calls `follow`, which throws `corrupt` where the stream is not what torch reads.
  template <typename Follow>
  std::vector<InnerDocument> run(const Follow& follow) && {
    try {
      follow(*this);
      if (at_ < source_->size()) fail(fmt::format("{} bytes stand behind its end", source_->size() - at_));
    } catch (const Error& error) {
      if (source_->budget()->is_spent()) throw;
      const auto rest =
          std::make_shared<const WindowSource>(source_, Span{at_, source_->size() - at_}, source_->name());
      documents_.push_back({name_, rest, nullptr, error.what()});
    }
    return std::move(documents_);
  }

  const Container& next_pickle() {
    const PickleScan scan = scan_pickle(*source_, at_);
    if (!scan.is_whole) fail("a pickle does not end");
    std::string inside = fmt::format("{} at {}", name_, at_);
    const auto pickle = std::make_shared<const WindowSource>(source_, Span{at_, scan.end - at_}, source_->name());
    auto opened = open_pickle_file(pickle);
    at_ = scan.end;
    documents_.push_back({std::move(inside), pickle, std::move(opened), {}});
    return *documents_.back().container;
  }

  std::uint64_t next_count() {
    const Tree& tree = next_pickle().tree();
    if (tree.kind(tree.root) != Kind::integer) fail("a pickle is no count");
    const Integer count = tree.integer(tree.root);
    if (count.is_big() || count.value < 0) fail("a count is none");
    return static_cast<std::uint64_t>(count.value);
  }

  std::uint64_t next_number() {
    require(8);
    const Bytes bytes = source_->read({at_, 8});
    at_ += 8;
    return load_le<std::uint64_t>(bytes.data());
  }

  void skip(std::uint64_t count, std::uint64_t size) {
    if (count > (source_->size() - at_) / size) fail(fmt::format("{} elements of {} bytes pass its end", count, size));
    at_ += count * size;
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(Status::corrupt, fmt::format("{} at offset {}: {}", name_, at_, problem));
  }

 private:
  void require(std::uint64_t size) const {
    if (source_->size() - at_ < size) fail("is cut short");
  }

  std::shared_ptr<const Source> source_;
  std::string name_;
  std::uint64_t at_ = 0;
  std::vector<InnerDocument> documents_;
};

/// Of the one storage class that a description names.
std::uint64_t element_size(const TarStream& stream, const Container& description) {
  const auto names = description.globals();
  const std::uint64_t size = names.size() == 1 ? storage_element(names.front().name).size : 0;
  if (size == 0) stream.fail("a storage of no class of torch's");
  return size;
}

}  // namespace

std::vector<InnerDocument> tar_storages(const std::shared_ptr<const Source>& source, const std::string& name) {
  return TarStream(source, name).run([](TarStream& stream) {
    for (std::uint64_t left = stream.next_count(); left > 0; --left) {
      const std::uint64_t size = element_size(stream, stream.next_pickle());
      stream.skip(stream.next_number(), size);
    }
    stream.next_pickle();
  });
}

std::vector<InnerDocument> tar_tensors(const std::shared_ptr<const Source>& source, const std::string& name) {
  constexpr std::uint64_t most_dimensions = 64;
  return TarStream(source, name).run([](TarStream& stream) {
    for (std::uint64_t left = stream.next_count(); left > 0; --left) {
      stream.next_pickle();
      const std::uint64_t dimensions = stream.next_number();
      if (dimensions > most_dimensions) stream.fail(fmt::format("a tensor of {} dimensions", dimensions));
      stream.skip(2 * dimensions + 1, 8);  // sizes, strides, the offset in its storage
    }
  });
}

}  // namespace tare
