#include "lib/container/hdf5/look_ahead.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lib/base/distant_source.hpp"
#include "lib/base/error.hpp"
#include "lib/hdf5/group.hpp"

namespace tare {
namespace {

constexpr std::uint64_t page_bytes = 4096;  ///< as Hdf5File reads them
constexpr std::size_t most_pages = 8192;
constexpr int most_rounds = 24;  ///< of pages that lead to pages, in one level of groups

/// The pages that were fetched. Of others it is noted that they are wanted, and they are told to be what cannot be
/// read: so that whoever reads a group goes on with what does not stand in them.
class KnownPages final : public Source {
 public:
  explicit KnownPages(std::shared_ptr<const Source> whole) : whole_(std::move(whole)) {}

  [[nodiscard]] std::uint64_t size() const override { return whole_->size(); }
  [[nodiscard]] const std::string& name() const override { return whole_->name(); }
  void read(std::uint64_t offset, std::span<std::byte> to) const override {
    require_inside(offset, to.size());
    bool has_all = true;
    for (std::uint64_t at = offset; at < offset + to.size(); at += page_bytes - at % page_bytes) {
      if (known_.contains(at / page_bytes)) continue;
      wanted_.insert(at / page_bytes);
      has_all = false;
    }
    if (!has_all) {
      ++misses_;
      throw Hdf5NotRead{"not there yet"};
    }
    for (std::uint64_t at = offset; at < offset + to.size();) {
      const ByteView page = ByteView(known_.at(at / page_bytes)).subspan(at % page_bytes);
      const std::size_t count = std::min<std::uint64_t>(page.size(), offset + to.size() - at);
      std::copy_n(page.begin(), count, to.begin() + static_cast<std::ptrdiff_t>(at - offset));
      at += count;
    }
  }

  /// How often a page was asked for that is not there.
  [[nodiscard]] std::size_t misses() const { return misses_; }
  /// Those that were wanted, at the same time. Were there any, and not too many?
  bool fetch() {
    const std::set<std::uint64_t> numbers = std::exchange(wanted_, {});
    if (numbers.empty() || known_.size() + numbers.size() > most_pages) return false;
    std::vector<Span> spans;
    for (const std::uint64_t number : numbers) {
      spans.push_back({number * page_bytes, std::min(page_bytes, size() - number * page_bytes)});
    }
    fetch_ahead(*whole_, spans);
    for (const Span span : spans) known_[span.offset / page_bytes] = whole_->read(span);
    return true;
  }

 private:
  std::shared_ptr<const Source> whole_;
  std::map<std::uint64_t, Bytes> known_;  ///< by number
  mutable std::set<std::uint64_t> wanted_;
  mutable std::size_t misses_ = 0;
};

template <typename Read>
void try_to(const Read& read) {
  try {
    read();
  } catch (const Hdf5NotRead&) {
    return;  // what is wrong is told by whoever reads the group
  } catch (const Error&) {
    return;
  }
}

/// Reads the group's links and the headers behind them, as far as there are pages.
void read_what_is_known(Hdf5File& file, const Hdf5Header& group) {
  std::vector<Hdf5Link> links;
  try_to([&] { links = read_hdf5_links(file, group, {}); });
  for (const Hdf5Link& link : links) {
    if (link.header != hdf5_no_address) try_to([&] { read_hdf5_header(file, link.header); });
  }
}

}  // namespace

void look_ahead(const Hdf5File& file, std::span<const Hdf5Header* const> groups) {
  if (!is_distant(file.source())) return;
  const auto pages = std::make_shared<KnownPages>(file.shared_source());
  std::vector<const Hdf5Header*> left(groups.begin(), groups.end());
  for (int round = 0; round < most_rounds && !left.empty(); ++round) {
    Hdf5File scout(pages);
    scout.set_base(file.offset(0));
    std::erase_if(left, [&](const Hdf5Header* group) {
      const std::size_t before = pages->misses();
      read_what_is_known(scout, *group);
      return pages->misses() == before;
    });
    if (!pages->fetch()) return;
  }
}

}  // namespace tare
