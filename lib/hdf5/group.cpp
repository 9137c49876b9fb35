#include "lib/hdf5/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "lib/base/keyed_hash.hpp"
#include "lib/hdf5/btree2.hpp"
#include "lib/hdf5/fractal_heap.hpp"
#include "lib/hdf5/heap.hpp"

namespace tare {
namespace {

/// The B-tree of a group and its symbol tables.
class SymbolTables {
 public:
  SymbolTables(Hdf5File& file, const Hdf5LocalHeap& names, std::string path)
      : file_(file), names_(names), path_(std::move(path)) {}

  std::vector<Hdf5Link> read(std::uint64_t tree) {
    open_.push_back(tree);
    while (!open_.empty()) {
      const std::uint64_t address = open_.back();
      open_.pop_back();
      if (!seen_.insert(address).second) {
        file_.warn("tree-cycle",
                   fmt::format("the node at offset {} of the group's B-tree is reached twice", file_.offset(address)),
                   path_);
        continue;
      }
      try {
        read_node(address);
      } catch (const Hdf5NotRead& problem) {
        file_.warn("object-not-read", "a part of this group: " + problem.why, path_);
      }
    }
    return std::move(links_);
  }

 private:
  static constexpr std::size_t signature_size = 4;

  void read_node(std::uint64_t address) {
    const Bytes start = file_.read(address, signature_size);
    as_text(start) == "SNOD" ? read_table(address) : read_tree_node(address);
  }

  void read_tree_node(std::uint64_t address) {
    constexpr std::uint64_t head_size = 24;
    constexpr std::uint64_t entry_size = 16;  // key and child
    const Bytes head = file_.read(address, head_size);
    Hdf5Fields fields(head, "B-tree");
    fields.require_signature("TREE");
    if (fields.number(1) != 0) throw Hdf5NotRead{"a B-tree that is not of groups"};
    fields.skip(1);
    const std::uint64_t count = fields.number(2);
    const Bytes entries = file_.read(address + head_size, count * entry_size);
    file_.note(address + head_size + count * entry_size, 8);  // one key more than children
    Hdf5Fields entry(entries, "B-tree");
    std::vector<std::uint64_t> children;
    for (std::uint64_t i = 0; i < count; ++i) {
      entry.skip(8);
      children.push_back(entry.address());
    }
    open_.insert(open_.end(), children.rbegin(), children.rend());
  }

  void read_table(std::uint64_t address) {
    constexpr std::uint64_t head_size = 8;
    constexpr std::uint64_t entry_size = 40;
    constexpr std::uint64_t soft_link = 2;
    const Bytes head = file_.read(address, head_size);
    Hdf5Fields fields(head, "symbol table");
    fields.skip(signature_size + 2);
    const std::uint64_t count = fields.number(2);
    const Bytes entries = file_.read(address + head_size, count * entry_size);
    for (std::uint64_t i = 0; i < count; ++i) {
      Hdf5Fields entry(ByteView(entries).subspan(i * entry_size, entry_size), "symbol table");
      file_.source().budget()->take_memory(sizeof(Hdf5Link));
      Hdf5Link link;
      link.name = names_.text(entry.number(8));
      link.header = entry.address();
      if (entry.number(4) == soft_link) {
        link.header = hdf5_no_address;
        link.by_name = hdf5_soft_link;
        entry.skip(4);
        link.target = names_.text(entry.number(4));
      }
      links_.push_back(std::move(link));
    }
  }

  Hdf5File& file_;
  const Hdf5LocalHeap& names_;
  std::string path_;
  std::vector<std::uint64_t> open_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<Hdf5Link> links_;
};

Hdf5Link read_link(ByteView message) {
  constexpr std::uint64_t hard = 0;
  constexpr std::uint64_t soft = 1;
  constexpr std::uint64_t external = 64;
  Hdf5Fields fields(message, "link message");
  fields.skip(1);
  const std::uint64_t flags = fields.number(1);
  const std::uint64_t type = (flags & 8) != 0 ? fields.number(1) : hard;
  Hdf5Link link;
  if ((flags & 4) != 0) link.order = fields.number(8);
  fields.skip((flags & 16) != 0 ? 1 : 0);
  const std::uint64_t length = fields.number(std::size_t{1} << (flags & 3));
  link.name = as_text(fields.take(length));
  if (type == hard) {
    link.header = fields.address();
  } else {
    link.by_name = type == soft ? hdf5_soft_link : type == external ? "link to another file" : "user-defined link";
  }
  return link;
}

/// More links than a header holds: they lie in a fractal heap, and B-trees by name and by order say where. Both are
/// followed, as readers go by the one or the other.
void read_many_links(Hdf5File& file, ByteView link_info, std::vector<Hdf5Link>& links) {
  constexpr std::uint64_t has_next_order = 1;
  constexpr std::uint64_t has_order_index = 2;
  Hdf5Fields fields(link_info, "link info message");
  fields.skip(1);
  const std::uint64_t flags = fields.number(1);
  fields.skip((flags & has_next_order) != 0 ? 8 : 0);
  const std::uint64_t address = fields.address();
  if (address == hdf5_no_address) return;
  struct Index {
    Hdf5RecordType type;
    std::uint64_t key_size;  ///< a hash of the name, the order
    std::uint64_t address;
  };
  const Index by_name{Hdf5RecordType::link_by_name, 4, fields.address()};
  const bool has_order = (flags & has_order_index) != 0;
  const Index by_order{Hdf5RecordType::link_by_order, 8, has_order ? fields.address() : hdf5_no_address};
  Hdf5FractalHeap heap(file, address);
  std::unordered_set<std::string, KeyedHash> seen;  // ids
  for (const Index& index : {by_order, by_name}) {
    if (index.address == hdf5_no_address) continue;
    const Hdf5Records records = read_hdf5_records(file, index.address, index.type);
    for (std::size_t i = 0; i < records.count(); ++i) {
      Hdf5Fields record(records.at(i), "B-tree");
      record.skip(index.key_size);
      const ByteView id = record.take(heap.id_size());
      file.source().budget()->take_memory(sizeof(Hdf5Link) + 2 * sizeof(std::string));
      if (seen.emplace(as_text(id)).second) links.push_back(read_link(heap.object(id)));
    }
  }
  if (!has_order) std::ranges::sort(links, {}, &Hdf5Link::name);
}

}  // namespace

bool is_hdf5_group(const Hdf5Header& header) {
  return header.find(Hdf5MessageType::symbol_table) != nullptr || header.find(Hdf5MessageType::link_info) != nullptr ||
         header.find(Hdf5MessageType::link) != nullptr;
}

std::vector<Hdf5Link> read_hdf5_links(Hdf5File& file, const Hdf5Header& header, const std::string& path) {
  std::vector<Hdf5Link> links;
  for (const Hdf5Message& message : header.messages) {
    if (message.type == Hdf5MessageType::symbol_table) {
      Hdf5Fields fields(header.data(message), "symbol table message");
      const std::uint64_t tree = fields.address();
      const Hdf5LocalHeap names(file, fields.address());
      for (Hdf5Link& link : SymbolTables(file, names, path).read(tree)) links.push_back(std::move(link));
    } else if (message.type == Hdf5MessageType::link) {
      links.push_back(read_link(header.data(message)));
    } else if (message.type == Hdf5MessageType::link_info) {
      read_many_links(file, header.data(message), links);
    }
  }
  return links;
}

}  // namespace tare
