#include "lib/container/hdf5/reach.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/holds.hpp"
#include "lib/base/is_zero.hpp"
#include "lib/base/limits.hpp"
#include "lib/container/hdf5/extent.hpp"
#include "lib/container/keras_config.hpp"
#include "lib/container/pickle/pickle_file.hpp"
#include "lib/container/pickle/read/probe.hpp"
#include "lib/hdf5/attribute.hpp"
#include "lib/hdf5/dataset.hpp"
#include "lib/hdf5/filters.hpp"
#include "lib/hdf5/group.hpp"
#include "lib/hdf5/heap.hpp"
#include "lib/hdf5/superblock.hpp"
#include "lib/tree/path.hpp"

namespace tare {
namespace {

/// Deflate, shuffle, Fletcher32, szip, n-bit, scale-offset; h5py's LZF. Others are decoded by a plugin.
constexpr std::uint64_t own_filters[] = {1, 2, 3, 4, 5, 6, 32000};

/// Attributes that Keras reads as configurations of objects.
constexpr std::string_view keras_configurations[] = {"model_config", "training_config"};

/// All that a header can hold.
constexpr Hdf5TextBounds every_text{std::uint64_t{1} << 16, limits::max_small_text_bytes};

/// Findings that say nothing of what is in the file.
constexpr std::string_view harmless_findings[] = {"left-open"};

constexpr std::uint64_t heap_id_size = 16;

bool is_variable(const Hdf5Type& type) {
  return type.form == Hdf5Type::Form::variable_text || type.name == "variable-length";
}

/// Whether an unpickler comes to a name before it gives up: PyTables tries attributes. Without a line's end and a
/// protocol, no name is whole.
bool is_pickle(const Source& source, std::string_view text) {
  if (text.find('\n') == text.npos && !text.starts_with('\x80')) return false;
  return probe_pickle(source).end != ProbeEnd::fails;
}

class Reach {
 public:
  explicit Reach(const std::shared_ptr<const Source>& source) : file_(source) {}

  std::vector<InnerDocument> run() && {
    const Hdf5Superblock superblock = read_hdf5_superblock(file_);
    if (superblock.free_space != hdf5_no_address) tell("", "a list of free space in the superblock: not read");
    if (superblock.driver != hdf5_no_address) tell("", "a driver's own words in the superblock: not read");
    if (superblock.extension != hdf5_no_address) open(superblock.extension, "superblock");
    open(superblock.root, "");
    while (!groups_.empty()) {
      const auto group = std::move(groups_.front());
      groups_.pop_front();
      try_at(group.first, [&] { follow(group.second, group.first); });
    }
    for (const Finding& finding : file_.findings()) {
      if (!holds(harmless_findings, finding.code)) tell(finding.path, finding.message);
    }
    for (const std::string& unused : hdf5_unused_bytes(file_.source(), used_bytes(), file_.offset(superblock.end))) {
      tell("", unused);
    }
    return std::move(found_);
  }

 private:
  void tell(const std::string& path, const std::string& problem) {
    file_.source().budget()->take_memory(sizeof(InnerDocument) + path.size() + problem.size());
    found_.push_back({path, nullptr, nullptr, problem});
  }

  template <typename Do>
  void try_at(const std::string& path, const Do& act) {
    try {
      act();
    } catch (const Hdf5NotRead& problem) {
      tell(path, problem.why);
    }
  }

  [[nodiscard]] std::vector<Span> used_bytes() const {
    std::vector<Span> used = file_.read_so_far();
    used.insert(used.end(), data_.begin(), data_.end());
    return used;
  }

  void open(std::uint64_t address, const std::string& path) {
    if (!seen_.insert(address).second) {
      if (group_headers_.contains(address)) tell(path, "a link to a group that another one leads to, too");
      return;
    }
    try_at(path, [&] {
      Hdf5Header header = read_hdf5_header(file_, address);
      look_at(header, path);
      if (!is_hdf5_group(header)) return;
      file_.source().budget()->take_memory(sizeof header + path.size());
      group_headers_.insert(address);
      groups_.emplace_back(path, std::move(header));
    });
  }

  void follow(const Hdf5Header& header, const std::string& path) {
    for (const Hdf5Link& link : read_hdf5_links(file_, header, path)) {
      const std::string name = key_path(path, link.name);
      file_.source().budget()->take_steps(name.size());
      if (link.by_name.empty()) {
        open(link.header, name);
      } else if (link.by_name != hdf5_soft_link) {
        tell(name, fmt::format("a {}: not followed", link.by_name));
      }
    }
  }

  void look_at(const Hdf5Header& header, const std::string& path) {
    for (const Hdf5Message& message : header.messages) {
      try_at(path, [&] { look_at(header, message, path); });
    }
    for (const Hdf5Attribute& attribute : read_hdf5_attributes(file_, header, path)) {
      try_at(path, [&] { look_at(header, attribute, path + "@" + attribute.name); });
    }
  }

  void look_at(const Hdf5Header& header, const Hdf5Message& message, const std::string& path) {
    switch (message.type) {
      case Hdf5MessageType::nothing:
        if (!is_zero(header.data(message))) tell(path, "bytes in its header that belong to nothing");
        break;
      case Hdf5MessageType::external_files:
        tell(path, "a dataset whose data are in other files (external storage)");
        break;
      case Hdf5MessageType::layout:
        look_at_data(header, path);
        break;
      case Hdf5MessageType::filters:
        if (message.is_shared) throw Hdf5NotRead{"a dataset whose filters stand elsewhere"};
        for (const Hdf5Filter& filter : read_hdf5_filters(header.data(message))) {
          if (holds(own_filters, filter.number)) continue;
          tell(path, fmt::format("a dataset that only a plugin decodes (filter {})", filter.number));
        }
        break;
      case Hdf5MessageType::shared_messages:
        tell(path, "messages of headers that are kept elsewhere: not read");
        break;
      case Hdf5MessageType::attribute_info:
        require_no_heap(header.data(message));
        break;
      default:
        if (message.type > Hdf5MessageType::last_known) tell(path, "a message in its header that HDF5 does not have");
        break;
    }
  }

  static void require_no_heap(ByteView attribute_info) {
    constexpr std::uint64_t has_creation_index = 1;
    Hdf5Fields fields(attribute_info, "attribute info message");
    fields.skip(1);
    fields.skip((fields.number(1) & has_creation_index) != 0 ? 2 : 0);
    if (fields.address() != hdf5_no_address) throw Hdf5NotRead{"an object that keeps its attributes in a fractal heap"};
  }

  /// External data are told with the message that says so.
  void look_at_data(const Hdf5Header& header, const std::string& path) {
    if (header.find(Hdf5MessageType::external_files) != nullptr) return;
    const std::vector<Span> blocks = read_hdf5_raw_data(file_, header);
    for (const Span block : blocks) {
      if (block.size > file_.left(block.offset)) throw Hdf5NotRead{"a dataset whose data pass the end of the file"};
      file_.source().budget()->take_memory(sizeof block);
      data_.push_back({file_.offset(block.offset), block.size});
    }
    const Hdf5Message* message = header.find(Hdf5MessageType::datatype);
    if (message == nullptr) return;
    const Hdf5Type type = read_hdf5_type(header.data(*message));
    const bool is_text = type.form == Hdf5Type::Form::text || type.form == Hdf5Type::Form::blob;
    if (!is_text && !is_variable(type)) return;
    if (header.find(Hdf5MessageType::filters) != nullptr) throw Hdf5NotRead{"packed texts"};
    for (const Span block : blocks) {
      if (block.size > limits::max_small_text_bytes) throw Hdf5NotRead{"more text than is looked into"};
      const Bytes elements = file_.read(block.offset, block.size);
      is_text ? look_at_texts(elements, type, path) : note_heap_objects(elements, type, path);
    }
  }

  /// Of fixed length, the rest filled with zeros.
  void look_at_texts(ByteView elements, const Hdf5Type& type, const std::string& place) {
    if (type.size == 0) return;
    for (; elements.size() >= type.size; elements = elements.subspan(type.size)) {
      look_at(std::string(as_text(elements.first(type.size))), place);
    }
  }

  /// Elements of variable length stand in global heaps: texts by their bytes, others by their number.
  void note_heap_objects(ByteView elements, const Hdf5Type& type, const std::string& place) {
    for (; elements.size() >= heap_id_size; elements = elements.subspan(heap_id_size)) {
      const Hdf5HeapId id = read_hdf5_heap_id(elements.first(heap_id_size));
      if (id.length == 0) continue;
      if (!heaps_.contains(id.heap)) heaps_.emplace(id.heap, read_hdf5_global_heap(file_, id.heap));
      const auto& objects = heaps_.at(id.heap);
      const auto object = objects.find(id.number);
      if (object == objects.end()) throw Hdf5NotRead{fmt::format("an element that is not in its heap ({})", id.number)};
      const bool is_text = type.form == Hdf5Type::Form::variable_text;
      const std::uint64_t size = is_text ? std::min(id.length, object->second.size) : object->second.size;
      if (is_text) look_at(std::string(as_text(file_.read(object->second.offset, size))), place);
      file_.note(object->second.offset, size);
    }
  }

  void look_at(const Hdf5Header& header, const Hdf5Attribute& attribute, const std::string& place) {
    if (attribute.name == "PSEUDOATOM") tell(place, "a dataset of PyTables's whose elements are pickles: not read");
    const ByteView value = header.data(attribute.value);
    std::uint64_t size = attribute.type.size;
    for (const std::int64_t length : attribute.shape) size *= static_cast<std::uint64_t>(length);
    if (size < value.size() && !is_zero(value.subspan(size))) tell(place, "bytes behind its value");
    if (is_variable(attribute.type)) {
      note_heap_objects(value.first(std::min<std::size_t>(size, value.size())), attribute.type, place);
    }
    if (attribute.type.form == Hdf5Type::Form::blob || attribute.type.form == Hdf5Type::Form::text) {
      look_at_texts(value.first(std::min<std::size_t>(size, value.size())), attribute.type, place);
    }
    if (!holds(keras_configurations, attribute.name)) return;
    const auto texts = hdf5_texts(file_, header, attribute, every_text);
    if (!texts) return tell(place, "no text, or more of it than is looked into");
    for (const std::string& text : *texts) add_configuration(text, place);
  }

  [[nodiscard]] std::shared_ptr<const Source> source_of(std::string_view text) {
    const ByteView bytes = as_bytes(text);
    return std::make_shared<MemorySource>(file_.source().name(), Bytes(bytes.begin(), bytes.end()),
                                          file_.source().budget());
  }

  void add_configuration(const std::string& text, const std::string& place) {
    const auto source = source_of(text);
    found_.push_back({place, source, open_keras_config(source), {}});
  }

  void look_at(const std::string& text, const std::string& place) {
    const auto source = source_of(text);
    if (!is_pickle(*source, text)) return;
    try {
      found_.push_back({place, source, open_pickle_file(source), {}});
    } catch (const Error& error) {
      if (file_.source().budget()->is_spent()) throw;
      tell(place, error.what());
    }
  }

  Hdf5File file_;
  std::unordered_set<std::uint64_t> seen_;  ///< headers, by address
  std::unordered_set<std::uint64_t> group_headers_;
  std::unordered_map<std::uint64_t, std::unordered_map<std::uint64_t, Span>> heaps_;  ///< global ones, by address
  std::vector<Span> data_;                                                            ///< of datasets, in the file
  std::deque<std::pair<std::string, Hdf5Header>> groups_;
  std::vector<InnerDocument> found_;
};

}  // namespace

std::vector<InnerDocument> hdf5_inner_documents(const std::shared_ptr<const Source>& source) {
  return Reach(source).run();
}

}  // namespace tare
