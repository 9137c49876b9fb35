// A state out of HDF5, whoever wrote it last: the reader of checkpoints reads it, and nothing here trusts what it says.
#include <algorithm>
#include <limits>
#include <utility>

#include "lib/base/attribute_checksum.hpp"
#include "lib/base/error.hpp"
#include "lib/base/huge_pages.hpp"
#include "lib/base/limits.hpp"
#include "lib/base/text.hpp"
#include "lib/codec/hdf5.hpp"
#include "lib/codec/hdf5_name.hpp"
#include "lib/codec/hdf5_table.h"
#include "lib/codec/json_text.hpp"
#include "lib/codec/schema.hpp"
#include "lib/hdf5/attribute.hpp"
#include "lib/hdf5/dataset.hpp"
#include "lib/hdf5/group.hpp"
#include "lib/hdf5/heap.hpp"
#include "lib/hdf5/superblock.hpp"
#include "lib/hdf5/values.hpp"
#include "lib/tree/value.hpp"

namespace tare {
namespace {

/// A mebibyte of zeros packs to a hundred bytes: no file holds more values than so many bytes from each of its own.
constexpr std::uint64_t most_unpacked = 16384;
constexpr std::size_t max_entries = 4096;  ///< of a section: each is looked for among all
constexpr std::size_t max_states = std::size_t{1} << 20;

/// An attribute that nobody asks for, a program that did not close the file.
constexpr std::string_view harmless_findings[] = {"attribute-not-read", "left-open"};

/// The text: states are told in JSON, which has no other.
std::string utf8_alone(std::string text) {
  if (!is_utf8(text)) throw Hdf5NotRead{"a text that is no UTF-8: \"" + escaped(text) + "\""};
  return text;
}

/// The texts of one object's attributes.
class Attributes {
 public:
  Attributes(Hdf5File& file, const Hdf5Header& header)
      : file_(file), header_(header), all_(read_hdf5_attributes(file, header, {})) {}

  /// Nothing where there is none. Throws Hdf5NotRead for one that is no text.
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const {
    const auto found = std::ranges::find(all_, name, &Hdf5Attribute::name);
    if (found == all_.end()) return std::nullopt;
    const auto texts = hdf5_texts(file_, header_, *found);
    if (!texts || texts->size() != 1) throw Hdf5NotRead{"its \"" + std::string(name) + "\" is no text"};
    return utf8_alone(texts->front());
  }

 private:
  Hdf5File& file_;
  const Hdf5Header& header_;
  std::vector<Hdf5Attribute> all_;
};

/// Values that a state has in the very same type, read to where they stay.
template <Plain Item>
std::vector<Item> same_items(Hdf5File& file, const Hdf5Header& dataset, std::endian order) {
  std::vector<Item> items;
  items.reserve(hdf5_data_size(dataset) / sizeof(Item));
  prefer_huge_pages(items.data(), items.capacity() * sizeof(Item));
  items.resize(hdf5_data_size(dataset) / sizeof(Item));
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(items));
  read_hdf5_values(file, dataset, bytes);
  if (order == std::endian::native) return items;
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = load<Item>(bytes.data() + i * sizeof(Item), order);
  return items;
}

std::int64_t integer_of(const Value& value) {
  const auto& integer = std::get<Integer>(value.data);
  if (integer.is_big()) throw Hdf5NotRead{integer.decimal + " is more than a state holds"};
  return integer.value;
}

/// Elements of other widths, as the widest of their kind that a state has.
template <Plain Item>
std::vector<Item> widened_items(const Bytes& bytes, const Hdf5Type& type) {
  std::vector<Item> items;
  items.reserve(bytes.size() / type.size);
  Bytes element(type.size);
  for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(type.size)) {
    std::copy_n(at, type.size, element.begin());
    if (type.order == std::endian::big) std::ranges::reverse(element);
    const Value value = element_value(type.element, element.data());
    items.push_back(std::is_integral_v<Item> ? static_cast<Item>(integer_of(value))
                                             : static_cast<Item>(value.as_double()));
  }
  return items;
}

bool is_floating(std::string_view element) {
  return element.find("float") != element.npos;
}

class StateReader {
 public:
  explicit StateReader(const std::shared_ptr<const Source>& source)
      : name_(source->name()),
        file_(source),
        heaps_(file_),
        left_(source->size() > limits::max_state_bytes / most_unpacked ? limits::max_state_bytes
                                                                       : source->size() * most_unpacked) {}

  ScalerState read_one() { return told_where(&StateReader::read_root); }
  std::vector<NamedState> read_all() { return told_where(&StateReader::read_states); }

 private:
  /// What cannot be read is told with its place; so is what was told of the file meanwhile.
  template <class States>
  States told_where(States (StateReader::*read)()) {
    try {
      States states = (this->*read)();
      refuse_findings();
      return states;
    } catch (const Hdf5NotRead& problem) {
      fail(problem.why);
    }
  }

  void refuse_findings() {
    for (const Finding& finding : file_.findings()) {
      if (std::ranges::find(harmless_findings, finding.code) != std::end(harmless_findings)) continue;
      place_ = finding.path;
      fail(finding.message);
    }
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(Status::corrupt, name_ + ": " + (place_.empty() ? "" : place_ + ": ") + problem,
                "Have tare write the state anew, or take another copy.");
  }

  Hdf5Header root() { return read_hdf5_header(file_, read_hdf5_superblock(file_).root); }

  std::string schema_of(const Attributes& attributes) const {
    const auto schema = attributes.text("schema");
    if (schema) return *schema;
    throw Error(Status::corrupt, name_ + ": an HDF5 file, but none with a scaler's state",
                "For a checkpoint, use tare_checkpoint_state.");
  }

  ScalerState read_root() {
    const Hdf5Header header = root();
    within_ = "the root";
    return read_state(header);
  }

  std::vector<NamedState> read_states() {
    const Hdf5Header header = root();
    if (schema_of(Attributes(file_, header)) != states_schema) return {{"", read_root()}};
    const std::vector<Hdf5Link> links = links_of(header, "the root");
    const auto all = std::ranges::find(links, "states", &Hdf5Link::name);
    if (all == links.end()) throw Hdf5NotRead{"has no group \"states\""};
    std::vector<NamedState> states;
    for (const Hdf5Link& link : links_of(header_of(*all), "states", max_states)) {
      within_ = "states/" + link.name;
      const Hdf5Header group = header_of(link);
      const auto path = Attributes(file_, group).text("path");
      if (!path) throw Hdf5NotRead{"has no \"path\""};
      states.push_back({*path, read_state(group)});
    }
    return states;
  }

  /// Of the group that `within_` names.
  ScalerState read_state(const Hdf5Header& group) {
    place_ = within_;
    const Attributes attributes(file_, group);
    require_readable_schema(schema_of(attributes), name_);
    const auto policy = attributes.text("policy");
    if (!policy) throw Hdf5NotRead{"has no \"policy\""};
    ScalerState state;
    state.policy = *policy;
    const std::vector<Hdf5Link> links = links_of(group, within_);
    read_section(links, "fields", state.fields);
    read_section(links, "params", state.params);
    read_section(links, "statistics", state.statistics);
    read_section(links, "other", state.other);
    return state;
  }

  /// In the order in which they were made, where it was kept; else as they stand.
  std::vector<Hdf5Link> links_of(const Hdf5Header& group, const std::string& place, std::size_t most = max_entries) {
    place_ = place;
    if (!is_hdf5_group(group)) throw Hdf5NotRead{"is no group"};
    std::vector<Hdf5Link> links = read_hdf5_links(file_, group, place);
    if (links.size() > most) throw Hdf5NotRead{std::to_string(links.size()) + " entries are too many"};
    const bool has_order = std::ranges::all_of(links, [](const Hdf5Link& link) { return link.order.has_value(); });
    if (has_order) std::ranges::sort(links, {}, &Hdf5Link::order);
    return links;
  }

  void read_section(const std::vector<Hdf5Link>& sections, const std::string& name, StateSection& into) {
    const auto section = std::ranges::find(sections, name, &Hdf5Link::name);
    if (section == sections.end()) return;
    place_ = name;
    for (const Hdf5Link& link : links_of(header_of(*section), name)) {
      place_ = name;
      const std::string key = utf8_alone(name_of_link(link.name));
      place_ = name + "." + key;
      if (key.find('\0') != std::string::npos) throw Hdf5NotRead{"a name has a NUL character"};
      if (into.find(key) != nullptr) throw Hdf5NotRead{"stands there twice"};
      into.set(key, value_of(header_of(link)));
    }
  }

  Hdf5Header header_of(const Hdf5Link& link) {
    if (!link.by_name.empty()) throw Hdf5NotRead{"a " + std::string(link.by_name) + ": not followed"};
    return read_hdf5_header(file_, link.header);
  }

  StateValue value_of(const Hdf5Header& dataset) {
    if (!is_hdf5_dataset(dataset)) throw Hdf5NotRead{"is no dataset"};
    if (is_hdf5_null(dataset)) return std::monostate();
    const Hdf5Type type = read_hdf5_type(dataset.data(dataset.require(Hdf5MessageType::datatype, "datatype")));
    const auto sizes = read_hdf5_shape(dataset.data(dataset.require(Hdf5MessageType::dataspace, "dataspace")));
    if (sizes.size() > TARE_HDF5_MAX_RANK) throw Hdf5NotRead{std::to_string(sizes.size()) + " dimensions are too many"};
    StateArray array{{sizes.begin(), sizes.end()}, {}};
    claim(dataset, type);
    if (type.form == Hdf5Type::Form::number && type.element.name == "bool") return flag_of(array, bytes_of(dataset));
    array.values = items_of(type, dataset);
    const bool is_json = is_text(type) && Attributes(file_, dataset).text("kind") == "json";
    if (!array.shape.empty()) {
      if (is_json) throw Hdf5NotRead{"is many texts of JSON"};
      return array;
    }
    StateValue value = std::visit([](const auto& items) { return scalar_of(items.at(0)); }, array.values);
    return is_json ? kept_json(std::get<std::string>(value)) : std::move(value);
  }

  static StateValue scalar_of(std::int64_t value) { return value; }
  static StateValue scalar_of(double value) { return value; }
  static StateValue scalar_of(const std::string& value) { return value; }

  static bool is_text(const Hdf5Type& type) {
    return type.form == Hdf5Type::Form::text || type.form == Hdf5Type::Form::variable_text;
  }

  /// What the values will take in a state is taken off what is left.
  void claim(const Hdf5Header& dataset, const Hdf5Type& type) {
    if (type.size == 0) throw Hdf5NotRead{"is of elements without a size"};
    const std::uint64_t bytes = hdf5_data_size(dataset);
    const std::uint64_t count = bytes / type.size;
    const std::uint64_t more = is_text(type) ? sizeof(std::string) : 0;
    if (bytes > left_ || count * more > left_ - bytes) {
      throw Hdf5NotRead{std::to_string(count) + " values are more than there can be in a file of " +
                        std::to_string(file_.source().size()) + " bytes"};
    }
    left_ -= bytes + count * more;
  }

  static StateValue flag_of(const StateArray& array, const Bytes& bytes) {
    if (!array.shape.empty()) throw Hdf5NotRead{"is many bools"};
    if (bytes.at(0) > std::byte{1}) throw Hdf5NotRead{"is neither true nor false"};
    return bytes[0] != std::byte{0};
  }

  Bytes bytes_of(const Hdf5Header& dataset) { return read_hdf5_values(file_, dataset, limits::max_state_bytes); }

  decltype(StateArray::values) items_of(const Hdf5Type& type, const Hdf5Header& dataset) {
    if (is_text(type)) return texts_of(type, bytes_of(dataset));
    if (type.form != Hdf5Type::Form::number) throw Hdf5NotRead{"is of a type that no state has"};
    if (type.element.name == "float32") return same_items<float>(file_, dataset, type.order);
    if (type.element.name == "float64") return same_items<double>(file_, dataset, type.order);
    if (type.element.name == "int64") return same_items<std::int64_t>(file_, dataset, type.order);
    if (is_floating(type.element.name)) return widened_items<float>(bytes_of(dataset), type);
    return widened_items<std::int64_t>(bytes_of(dataset), type);
  }

  /// Of fixed length up to the zeros that fill it, or from the heaps.
  std::vector<std::string> texts_of(const Hdf5Type& type, ByteView bytes) {
    std::vector<std::string> texts;
    for (; !bytes.empty(); bytes = bytes.subspan(type.size)) {
      const ByteView element = bytes.first(type.size);
      if (type.form == Hdf5Type::Form::text) {
        texts.push_back(utf8_alone(std::string(as_text(element).substr(0, as_text(element).find('\0')))));
        continue;
      }
      const Span place = heaps_.find(read_hdf5_heap_id(element));
      if (place.size > left_) throw Hdf5NotRead{"is more text than there can be"};
      left_ -= place.size;
      texts.push_back(utf8_alone(std::string(as_text(file_.read_values(place.offset, place.size)))));
    }
    return texts;
  }

  [[nodiscard]] StateValue kept_json(std::string text) const {
    json::parse(text, name_ + ": " + place_, Status::corrupt);
    return OpaqueJson{std::move(text)};
  }

  std::string name_;
  Hdf5File file_;
  Hdf5GlobalHeaps heaps_;
  std::uint64_t left_;  ///< bytes that values may still take
  std::string within_;  ///< the state that is read, for messages
  std::string place_;   ///< and what of it
};

std::vector<Finding> checksum_findings(const SummedSource& source) {
  const auto problem = attribute_checksum_problem(source);
  if (!problem) return {};
  return {{Severity::warning, "checksum-differs", *problem, source.name(), {}}};
}

}  // namespace

LoadedState state_from_hdf5(const std::shared_ptr<const Source>& source) {
  const auto summed = std::make_shared<const SummedSource>(source);
  LoadedState loaded{StateReader(summed).read_one(), {}};
  normalise(loaded.state);
  loaded.findings = checksum_findings(*summed);
  return loaded;
}

LoadedStates states_from_hdf5(const std::shared_ptr<const Source>& source) {
  const auto summed = std::make_shared<const SummedSource>(source);
  LoadedStates loaded{StateReader(summed).read_all(), {}};
  for (NamedState& named : loaded.states) normalise(named.state);
  loaded.findings = checksum_findings(*summed);
  return loaded;
}

}  // namespace tare
