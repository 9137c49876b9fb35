#include "lib/codec/hdf5.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <utility>

#include "lib/base/attribute_checksum.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/codec/hdf5_library.hpp"
#include "lib/codec/schema.hpp"
#include "lib/hdf5/attribute.hpp"
#include "lib/state/policy_value.hpp"
#include "lib/state/role.hpp"

namespace tare {
namespace {

/// Values that do not lie in the state as HDF5 wants them.
struct Held {
  std::deque<std::string> texts;
  std::deque<signed char> flags;
};

std::string padded(const std::vector<std::string>& texts, std::uint64_t width) {
  std::string all;
  for (const std::string& text : texts) (all += text).append(width - text.size(), '\0');
  return all;
}

[[noreturn]] void throw_unholdable(std::string_view name, std::string_view why) {
  throw Error(Status::unsupported, "HDF5 cannot hold " + std::string(name) + ": " + std::string(why),
              "Write the state as JSON.");
}

/// A name that comes back as it is: `what` has it. What is longer would be cut by whoever reads it.
const char* holdable(const char* what, const std::string& name) {
  static constexpr std::size_t longest = Hdf5TextBounds().longest;
  if (name.find('\0') != std::string::npos) throw_unholdable(what, "it has a NUL character");
  if (name.size() > longest)
    throw_unholdable(what, fmt::format("it has {} bytes, and {} are read", name.size(), longest));
  return name.c_str();
}

struct Fill {
  tare_hdf5_entry& entry;
  Held& held;

  void operator()(std::monostate) const { entry.element = TARE_HDF5_NULL; }
  void operator()(bool flag) const {
    entry.element = TARE_HDF5_BOOL;
    entry.data = &held.flags.emplace_back(static_cast<signed char>(flag ? 1 : 0));
  }
  void operator()(const std::int64_t& value) const { point_to(TARE_HDF5_I64, &value); }
  void operator()(const double& value) const { point_to(TARE_HDF5_F64, &value); }
  void operator()(const std::string& text) const { put_text(TARE_HDF5_TEXT, text); }
  void operator()(const OpaqueJson& json) const { put_text(TARE_HDF5_JSON, json.text); }
  void operator()(const StateArray& array) const {
    if (array.shape.size() > TARE_HDF5_MAX_RANK) throw_unholdable(entry.name, "it has too many dimensions");
    entry.rank = static_cast<std::uint32_t>(array.shape.size());
    std::ranges::copy(array.shape, entry.shape);
    std::visit(*this, array.values);
  }
  void operator()(const std::vector<std::int64_t>& list) const { point_to(TARE_HDF5_I64, list.data()); }
  void operator()(const std::vector<double>& list) const { point_to(TARE_HDF5_F64, list.data()); }
  void operator()(const std::vector<float>& list) const { point_to(TARE_HDF5_F32, list.data()); }
  void operator()(const std::vector<std::string>& list) const {
    std::size_t width = 1;
    for (const std::string& text : list) {
      refuse_nul(text);
      width = std::max(width, text.size());
    }
    entry.element = TARE_HDF5_TEXT;
    entry.width = width;
    entry.data = held.texts.emplace_back(padded(list, width)).data();
  }

 private:
  void point_to(std::int32_t element, const void* data) const {
    entry.element = element;
    entry.data = data;
  }
  void refuse_nul(const std::string& text) const {
    if (text.find('\0') != std::string::npos) throw_unholdable(entry.name, "its text has a NUL character");
  }
  void put_text(std::int32_t element, const std::string& text) const {
    refuse_nul(text);
    entry.element = element;
    entry.width = std::max<std::size_t>(text.size(), 1);
    entry.data = held.texts.emplace_back(padded({text}, entry.width)).data();
  }
};

/// "1" for scales and factors, "steps" for what counts them; null where nothing is known.
const char* units_of(const char* role) {
  if (role == nullptr) return nullptr;
  const auto known = parse_role(role);
  if (!known) return nullptr;
  const Quantity quantity = facts(*known).quantity;
  if (quantity == Quantity::scale || quantity == Quantity::factor) return "1";
  return quantity == Quantity::interval || quantity == Quantity::count ? "steps" : nullptr;
}

const char* role_of(const rule::PolicySpec* spec, const std::string& section, const std::string& name) {
  if (spec == nullptr) return nullptr;
  std::string_view role;
  if (section == "fields") {
    if (const auto* field = rule::find_field(*spec, name)) role = field->role;
  } else if (section == "params") {
    if (const auto* parameter = rule::find_parameter(*spec, name)) role = parameter->role;
  }
  return role.empty() ? nullptr : role.data();  // the tables' words are literals, which end with NUL
}

class Entries {
 public:
  explicit Entries(const ScalerState& state) : spec_(policy_of(state)) {
    add("fields", state.fields);
    add("params", state.params);
    add("statistics", state.statistics);
    add("other", state.other);
  }

  [[nodiscard]] const std::vector<tare_hdf5_entry>& all() const { return entries_; }

 private:
  void add(const char* section, const StateSection& values) {
    for (const auto& [name, value] : values) {
      tare_hdf5_entry entry{};
      entry.section = section;
      entry.name = holdable("a name", name);
      entry.role = role_of(spec_, section, name);
      entry.units = std::string_view(section) == "statistics" ? "steps" : units_of(entry.role);
      std::visit(Fill{entry, held_}, value);
      entries_.push_back(entry);
    }
  }

  const rule::PolicySpec* spec_;
  Held held_;
  std::vector<tare_hdf5_entry> entries_;
};

struct Taking {
  const TakePieces& take;
  std::exception_ptr failure = nullptr;  ///< which may not pass through the module
};

/// The file as it is to be: its head is copied, for the checksum.
void finish(std::vector<ByteView> pieces, const TakePieces& take) {
  Bytes head;
  for (ByteView& piece : pieces) {
    const ByteView part = piece.first(std::min(piece.size(), attribute_checksum_head_bytes - head.size()));
    head.insert(head.end(), part.begin(), part.end());
    piece = piece.subspan(part.size());
  }
  put_hdf5_checksum(head, pieces);
  pieces.insert(pieces.begin(), ByteView(head));
  take(pieces);
}

void take_pieces(void* context, const tare_hdf5_piece* pieces, std::uint64_t count) {
  auto& taking = *static_cast<Taking*>(context);
  try {
    std::vector<ByteView> views;
    for (const tare_hdf5_piece& piece : std::span(pieces, count)) {
      views.emplace_back(static_cast<const std::byte*>(piece.data), piece.size);
    }
    finish(std::move(views), taking.take);
  } catch (...) {
    taking.failure = std::current_exception();
  }
}

/// REQUIRES: a schema that ends with NUL, as literals do.
void encode(std::string_view schema, std::span<const tare_hdf5_state> states, Compression compression,
            const TakePieces& take) {
  Taking taking{take};
  tare_hdf5_error error{};
  const auto status = hdf5_library().encode(schema.data(), states.data(), states.size(),
                                            static_cast<std::int32_t>(compression), take_pieces, &taking, &error);
  if (status != 0) throw Error(static_cast<Status>(status), std::string("the state as HDF5: ") + error.message);
  if (taking.failure != nullptr) std::rethrow_exception(taking.failure);
}

std::uint64_t total_size(std::span<const ByteView> pieces) {
  std::uint64_t size = 0;
  for (const ByteView piece : pieces) size += piece.size();
  return size;
}

std::uint64_t bytes_of_values(const tare_hdf5_entry& entry) {
  std::uint64_t bytes = entry.element == TARE_HDF5_F32 ? sizeof(float) : sizeof(double);
  if (entry.element == TARE_HDF5_TEXT || entry.element == TARE_HDF5_JSON) bytes = entry.width;
  for (std::uint32_t i = 0; i < entry.rank; ++i) bytes *= entry.shape[i];
  return bytes;
}

/// Whoever reads a file takes no more memory for its values than its size vouches for (limits::tree_bytes), three times
/// their size (lib/tree/tree_value.cpp). An eighth of that is for what else is read.
bool vouches_for(std::uint64_t file, std::uint64_t values) {
  const std::uint64_t beyond = file > limits::small_file_bytes ? file - limits::small_file_bytes : 0;
  return 3 * values <= (limits::tree_bytes.least + (beyond >> 10) * limits::tree_bytes.a_kib) / 8 * 7;
}

/// Histories of one value pack to next to nothing: such a file could not be told from one that was made to exhaust its
/// reader, and is left unpacked.
void encode_readable(std::string_view schema, std::span<const tare_hdf5_state> states, Compression compression,
                     const TakePieces& take) {
  std::uint64_t values = 0;
  for (const tare_hdf5_state& state : states) {
    for (const tare_hdf5_entry& entry : std::span(state.entries, state.count)) values += bytes_of_values(entry);
  }
  bool is_taken = false;
  encode(schema, states, compression, [&](std::span<const ByteView> pieces) {
    if (compression != Compression::none && !vouches_for(total_size(pieces), values)) return;
    is_taken = true;
    take(pieces);
  });
  if (!is_taken) encode(schema, states, Compression::none, take);
}

Bytes joined(std::span<const ByteView> pieces) {
  Bytes bytes;
  bytes.reserve(total_size(pieces));
  for (const ByteView piece : pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

}  // namespace

void put_hdf5_checksum(Bytes& head, std::span<const ByteView> behind) {
  static_assert(blank_attribute_checksum == std::string_view(TARE_HDF5_BLANK_CHECKSUM));
  const auto at = find_attribute_checksum(head);
  if (!at) throw Error(Status::internal, "the HDF5 module left no place for the checksum");
  std::vector<ByteView> pieces{head};
  pieces.insert(pieces.end(), behind.begin(), behind.end());
  const std::string checksum = attribute_checksum(pieces, *at);
  std::ranges::copy(as_bytes(checksum), head.begin() + static_cast<std::ptrdiff_t>(*at));
}

void write_hdf5(const ScalerState& state, Compression compression, const TakePieces& take) {
  const Entries entries(state);
  const tare_hdf5_state one{nullptr, state_schema.data(), holdable("the policy", state.policy), entries.all().data(),
                            entries.all().size()};
  encode_readable(state_schema, {&one, 1}, compression, take);
}

void write_hdf5(std::span<const NamedState> states, Compression compression, const TakePieces& take) {
  std::deque<Entries> entries;
  std::vector<tare_hdf5_state> all;
  for (const NamedState& named : states) {
    const Entries& own = entries.emplace_back(named.state);
    all.push_back({holdable("a path", named.path), state_schema.data(), holdable("the policy", named.state.policy),
                   own.all().data(), own.all().size()});
  }
  encode_readable(states_schema, all, compression, take);
}

Bytes state_to_hdf5(const ScalerState& state, Compression compression) {
  Bytes bytes;
  write_hdf5(state, compression, [&](std::span<const ByteView> pieces) { bytes = joined(pieces); });
  return bytes;
}

Bytes states_to_hdf5(std::span<const NamedState> states, Compression compression) {
  Bytes bytes;
  write_hdf5(states, compression, [&](std::span<const ByteView> pieces) { bytes = joined(pieces); });
  return bytes;
}

}  // namespace tare
