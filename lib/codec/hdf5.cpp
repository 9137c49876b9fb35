#include "lib/codec/hdf5.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"
#include "lib/codec/hdf5_checksum.hpp"
#include "lib/codec/hdf5_library.hpp"
#include "lib/codec/json_text.hpp"
#include "lib/codec/schema.hpp"
#include "lib/state/policy_value.hpp"
#include "lib/state/role.hpp"

namespace tare {
namespace {

// ---- out: entries that point into a state

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
      entry.name = name.c_str();
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

// ---- in

template <class Item>
std::vector<Item> items_of(const tare_hdf5_entry& entry, std::size_t count) {
  std::vector<Item> items(count);
  if (count > 0) std::memcpy(items.data(), entry.data, count * sizeof(Item));
  return items;
}

std::vector<std::string> texts_of(const tare_hdf5_entry& entry, std::size_t count) {
  std::vector<std::string> texts;
  const auto* at = static_cast<const char*>(entry.data);
  for (std::size_t i = 0; i < count; ++i, at += entry.width) {
    texts.emplace_back(at, entry.width);
    texts.back().resize(std::min(texts.back().find('\0'), texts.back().size()));
  }
  return texts;
}

StateValue scalar_of(const tare_hdf5_entry& entry) {
  switch (entry.element) {
    case TARE_HDF5_BOOL:
      return items_of<signed char>(entry, 1)[0] != 0;
    case TARE_HDF5_I64:
      return items_of<std::int64_t>(entry, 1)[0];
    case TARE_HDF5_F64:
      return items_of<double>(entry, 1)[0];
    case TARE_HDF5_F32:
      return static_cast<double>(items_of<float>(entry, 1)[0]);
    case TARE_HDF5_TEXT:
      return texts_of(entry, 1)[0];
    case TARE_HDF5_JSON:
      return OpaqueJson{texts_of(entry, 1)[0]};
    default:
      break;
  }
  return std::monostate();
}

StateValue value_of(const tare_hdf5_entry& entry) {
  if (entry.rank == 0) return scalar_of(entry);
  std::size_t count = 1;
  for (std::uint32_t i = 0; i < entry.rank; ++i) count *= entry.shape[i];
  StateArray array{{entry.shape, entry.shape + entry.rank}, {}};
  switch (entry.element) {
    case TARE_HDF5_F64:
      array.values = items_of<double>(entry, count);
      break;
    case TARE_HDF5_F32:
      array.values = items_of<float>(entry, count);
      break;
    case TARE_HDF5_TEXT:
      array.values = texts_of(entry, count);
      break;
    default:
      array.values = items_of<std::int64_t>(entry, count);
  }
  return array;
}

/// Collects what the module finds. Nothing may be thrown through the module's C functions: what is, waits in `failed`.
struct Collector {
  const std::string& file;
  ScalerState state;
  std::exception_ptr failed;

  template <class Body>
  void attempt(const Body& body) {
    if (failed) return;
    try {
      body();
    } catch (...) {
      failed = std::current_exception();
    }
  }

  void begin(const char* schema, const char* policy) {
    attempt([&] {
      require_readable_schema(schema, file);
      state.policy = policy;
    });
  }

  void take(const tare_hdf5_entry& entry) {
    attempt([&] {
      const std::string_view section = entry.section;
      StateValue value = value_of(entry);
      if (const auto* kept = std::get_if<OpaqueJson>(&value)) {
        json::parse(kept->text, file + ": " + entry.section + "." + entry.name, Status::corrupt);
      }
      StateSection& into = section == "fields"       ? state.fields
                           : section == "params"     ? state.params
                           : section == "statistics" ? state.statistics
                                                     : state.other;
      into.set(entry.name, std::move(value));
    });
  }
};

/// A mebibyte of zeros packs to a hundred bytes, its entry in the index included: nothing packs tighter.
constexpr std::uint64_t most_unpacked = 16384;  // bytes from one

void check(std::int32_t status, const tare_hdf5_error& error, const std::string& name) {
  if (status == 0) return;
  const bool is_corrupt = static_cast<Status>(status) == Status::corrupt;
  throw Error(static_cast<Status>(status), name + ": " + error.message,
              is_corrupt ? "Have tare write the state anew; as JSON where another program changes it." : "");
}

}  // namespace

Bytes state_to_hdf5(const ScalerState& state, Compression compression) {
  const Entries entries(state);
  Bytes bytes;
  const auto take = [](void* into, const void* from, std::uint64_t size) {
    const auto* begin = static_cast<const std::byte*>(from);
    try {
      static_cast<Bytes*>(into)->assign(begin, begin + size);
    } catch (const std::bad_alloc&) {
      static_cast<Bytes*>(into)->clear();
    }
  };
  tare_hdf5_error error{};
  const std::string schema(state_schema);
  const auto status =
      hdf5_library().encode(schema.c_str(), state.policy.c_str(), entries.all().data(), entries.all().size(),
                            static_cast<std::int32_t>(compression), take, &bytes, &error);
  check(status, error, "the state as HDF5");
  if (bytes.empty()) throw std::bad_alloc();
  put_hdf5_checksum(bytes);
  return bytes;
}

ScalerState state_from_hdf5(ByteView bytes, const std::string& name) {
  require_hdf5_checksum(bytes, name);
  Collector collector{name, {}, nullptr};
  const tare_hdf5_sink sink{
      &collector,
      [](void* context, const char* schema, const char* policy) {
        static_cast<Collector*>(context)->begin(schema, policy);
      },
      [](void* context, const tare_hdf5_entry* entry) { static_cast<Collector*>(context)->take(*entry); }};
  tare_hdf5_error error{};
  const std::uint64_t max_bytes = std::min<std::uint64_t>(limits::max_state_bytes, bytes.size() * most_unpacked);
  const auto status = hdf5_library().decode(bytes.data(), bytes.size(), max_bytes, &sink, &error);
  if (collector.failed) std::rethrow_exception(collector.failed);
  check(status, error, name);
  normalise(collector.state);
  return std::move(collector.state);
}

}  // namespace tare
