#include <fmt/format.h>

#include <algorithm>

#include "lib/container/pickle/read/global.hpp"
#include "lib/dialect/fp8_slots.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/report/json.hpp"
#include "lib/report/report.hpp"

namespace tare {
namespace {

using report::Array;
using report::Json;
using report::Members;

Json file_json(const CheckpointFile& file) {
  Members members;
  report::add_text(members, "path", file.path);
  members.add("container", file.format);
  members.add("size", report::size(file.size));
  return members.take();
}

/// A field that a whole model may have many millions of numbers in: an amax history, the scales of blocks.
const PackedArray* long_array(const Field& field) {
  constexpr std::uint64_t long_count = 64;
  const auto* array = std::get_if<PackedArray>(&field.value.data);
  return array != nullptr && array->count() > long_count ? array : nullptr;
}

/// What is in the long fields of a checkpoint, and whether an answer is as large as that.
struct LongFields {
  std::uint64_t fields = 0;
  std::uint64_t numbers = 0;
  bool are_shown = true;
};

LongFields long_fields(const Checkpoint& checkpoint, InspectParts parts) {
  constexpr std::uint64_t shown_unasked = std::uint64_t{1} << 16;
  LongFields all;
  for (const Scaler& scaler : checkpoint.scalers) {
    for (const Field& field : scaler.state().fields) {
      const PackedArray* array = long_array(field);
      all.fields += array != nullptr ? 1 : 0;
      all.numbers += array != nullptr ? array->count() : 0;
    }
  }
  all.are_shown = parts.histories || all.numbers <= shown_unasked;
  return all;
}

Finding left_out(const LongFields& all) {
  return {Severity::note,
          "histories-left-out",
          fmt::format("the {} numbers of {} long fields (amax histories, scales of blocks) are left out: ask for "
                      "histories (--histories) to have them",
                      all.numbers, all.fields),
          {},
          {}};
}

Json shape_json(const PackedArray& array) {
  return report::list_of(array.shape(),
                         [](std::int64_t size) { return report::size(static_cast<std::uint64_t>(size)); });
}

void add_fields(Members& members, const FoundScaler& scaler, const LongFields& long_ones) {
  Members fields;
  Members missing;
  Members types;
  Members roles;
  Array editable;
  for (const Field& field : scaler.fields) {
    const std::string key = report::safe_text(field.name);
    const PackedArray* array = long_ones.are_shown ? nullptr : long_array(field);
    array == nullptr ? fields.set(key, report::value(field.value)) : missing.set(key, shape_json(*array));
    types.set(key, report::safe_text(field.value.type));
    if (field.role && field.value.number() != nullptr) roles.set(name(*field.role), report::number(field.value));
    if (field.editable) editable.emplace_back(key);
  }
  members.add("fields", fields.take());
  members.add("types", types.take());
  members.add("roles", roles.take());
  members.add("editable", std::move(editable));
  if (!long_ones.are_shown) members.add("left_out", missing.take());
}

/// What was saved with the state and says how it goes on.
Json configured_json(const ConfiguredValue& configured) {
  Members members;
  members.add("key", configured.key).add("value", report::number(configured.value));
  report::add_text(members, "from", configured.from);
  return members.take();
}

Json level_json(const WindowLevel& level) {
  Array windows;
  for (const std::int64_t window : level.windows) windows.emplace_back(window);
  Members members;
  members.add("index", level.index).add("windows", std::move(windows));
  members.add("hidden", level.is_hidden()).add("in_list", level.is_in_list());
  members.add("assumed", level.is_assumed);
  const auto next = level.next();
  members.add("next", next ? Json(*next) : Json()).add("growths", level.growths);
  return members.take();
}

/// FP8 state tensor by tensor, in one form for all frameworks.
Json slots_json(const FoundScaler& scaler) {
  const auto slot_of = [](const Fp8Slot& slot) {
    const Fp8Summary summary = summary_of(slot);
    Members members;
    members.add("tensor", slot.role).add("format_max", slot.format_max);
    members.add("scale", summary.scale_min).add("scale_max", summary.scale_max);
    members.add("history_length", report::size(summary.length)).add("filled", report::size(summary.filled));
    members.add("newest_amax", summary.length == 0 ? Json() : Json(summary.newest));
    members.add("largest_amax", summary.length == 0 ? Json() : Json(summary.max));
    members.add("margin_bits", summary.margin_bits ? Json(*summary.margin_bits) : Json());
    members.add("not_finite", report::size(summary.not_finite)).add("zero", report::size(summary.scales_zero));
    members.add("stored_as", slot.scale->name).add("stored_scale", slot.stored());
    members.add("stored_inverse", slot.meaning == ScaleMeaning::divisor).add("use", name(slot.use));
    return Json(members.take());
  };
  return report::list_of(fp8_slots(scaler), slot_of);
}

Json scaler_json(const Checkpoint& checkpoint, const Scaler& scaler, const LongFields& long_ones) {
  const FoundScaler& state = scaler.state();
  const auto path_of = [&](std::size_t file) { return report::safe_text(checkpoint.files[file].path); };
  Members members;
  members.add("kind", state.dialect->kind).add("dialect", state.dialect->name);
  report::add_text(members, "path", state.path);
  members.add("also_at", report::list_of(state.also_at, report::safe_text));
  members.add("place", state.place);
  members.add("authority", state.authority == Authority::unknown ? Json() : Json(name(state.authority)));
  members.add("files", report::list_of(files_of(scaler), path_of));
  members.add("agree", scaler.agree);
  add_fields(members, state, long_ones);
  if (const auto level = window_level(state)) members.add("window_level", level_json(*level));
  if (state.dialect->kind != "fp8") members.add("configuration", report::list_of(state.configuration, configured_json));
  if (state.dialect->kind == "fp8") members.add("slots", slots_json(state));
  return members.take();
}

Json globals_json(const Checkpoint& checkpoint) {
  Array list;
  for (const CheckpointFile& file : checkpoint.files) {
    for (const GlobalName& global : file.globals) {
      Members members;
      report::add_text(members, "file", file.path);
      report::add_text(members, "module", global.module);
      report::add_text(members, "name", global.name);
      members.add("trust", name(trust_of(global.module, global.name)));
      list.emplace_back(members.take());
    }
  }
  return list;
}

}  // namespace

bool is_negative(const Checkpoint& checkpoint) {
  const auto& findings = checkpoint.findings;
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.severity == Severity::error; });
}

void write_inspect_json(const Checkpoint& checkpoint, const std::optional<Pending>& pending, InspectParts parts,
                        const json::TextSink& sink) {
  const LongFields long_ones = long_fields(checkpoint, parts);
  const auto each_scaler = [&](const std::function<void(const Json&)>& add) {
    for (const Scaler& scaler : checkpoint.scalers) add(scaler_json(checkpoint, scaler, long_ones));
  };
  Members front;
  front.add("schema", "tare.inspect/1");
  report::add_text(front, "target", checkpoint.target);
  report::add_text(front, "checkpoint", checkpoint.resolved);
  front.add("files", report::list_of(checkpoint.files, file_json));
  front.add("pending", report::pending(pending));
  std::vector<Finding> findings = checkpoint.findings;
  if (!long_ones.are_shown) findings.push_back(left_out(long_ones));
  Members behind;
  behind.add("findings", report::list_of(findings, report::finding));
  if (parts.globals) behind.add("globals", globals_json(checkpoint));
  report::write_text(front.take(), {"scalers", each_scaler}, behind.take(), sink);
}

}  // namespace tare
