#include "lib/hdf5/group.hpp"

#include <fmt/format.h>

#include <unordered_set>

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

}  // namespace

Hdf5Link read_hdf5_link(ByteView message) {
  constexpr std::uint64_t hard = 0;
  constexpr std::uint64_t soft = 1;
  constexpr std::uint64_t external = 64;
  Hdf5Fields fields(message, "link message");
  fields.skip(1);
  const std::uint64_t flags = fields.number(1);
  const std::uint64_t type = (flags & 8) != 0 ? fields.number(1) : hard;
  fields.skip((flags & 4) != 0 ? 8 : 0);
  fields.skip((flags & 16) != 0 ? 1 : 0);
  const std::uint64_t length = fields.number(std::size_t{1} << (flags & 3));
  Hdf5Link link;
  link.name = as_text(fields.take(length));
  if (type == hard) {
    link.header = fields.address();
  } else {
    link.by_name = type == soft ? hdf5_soft_link : type == external ? "link to another file" : "user-defined link";
  }
  return link;
}

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
      links.push_back(read_hdf5_link(header.data(message)));
    } else if (message.type == Hdf5MessageType::link_info) {
      Hdf5Fields fields(header.data(message), "link info message");
      fields.skip(1);
      fields.skip((fields.number(1) & 1) != 0 ? 8 : 0);
      if (fields.address() != hdf5_no_address) throw Hdf5NotRead{"a group that keeps its links in a fractal heap"};
    }
  }
  return links;
}

}  // namespace tare
