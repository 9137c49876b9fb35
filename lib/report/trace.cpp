#include "lib/report/trace.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "lib/base/text.hpp"
#include "lib/report/json.hpp"

namespace tare {

namespace {

using report::Array;
using report::Json;
using report::list_of;
using report::Members;

constexpr std::size_t piece_bytes = std::size_t{64} << 10;

/// Puts text together until there is enough of it to be written.
class Pieces {
 public:
  explicit Pieces(const WriteText& write) : write_(write) {}

  std::string& text() {
    if (text_.size() >= piece_bytes) flush();
    return text_;
  }
  void flush() {
    write_(text_);
    text_.clear();
  }

 private:
  const WriteText& write_;
  std::string text_;
};

/// "7.25" and not the double next to the float.
std::string float32_text(float value) {
  if (!std::isfinite(value)) return float_text(value);
  return fmt::format("{}", value);
}

std::string json_number(double value) {
  const std::string text = float_text(value);
  return std::isfinite(value) ? text : '"' + text + '"';
}

std::string json_number(float value) {
  const std::string text = float32_text(value);
  return std::isfinite(value) ? text : '"' + text + '"';
}

std::string json_number(std::int64_t value) {
  return std::to_string(value);
}
std::string json_number(std::uint64_t value) {
  return std::to_string(value);
}
std::string json_number(bool value) {
  return value ? "true" : "false";
}

template <typename T>
void add(std::string& text, std::string_view name, const std::optional<T>& value) {
  if (value) fmt::format_to(std::back_inserter(text), ", \"{}\": {}", name, json_number(*value));
}

void add_step(std::string& text, const TraceStep& step) {
  const std::size_t begin = text.size();
  add(text, "step", step.step);
  add(text, "scale", step.scale);
  add(text, "after", step.after);
  add(text, "smoothed", step.smoothed);
  add(text, "overflow", step.overflow);
  if (step.span != 1) add(text, "span", std::optional(step.span));
  add(text, "skipped", step.skipped);
  add(text, "nan", step.nan);
  add(text, "loss", step.loss);
  add(text, "grad_norm", step.grad_norm);
  if (step.segment != 0) add(text, "segment", std::optional<std::uint64_t>(step.segment));
  if (step.fatal) add(text, "fatal", std::optional(true));
  add(text, "source", std::optional<std::uint64_t>(step.source));
  if (step.line != 0) add(text, "line", std::optional(step.line));
  text[begin] = '{';  // over the first comma
  text.push_back('}');
}

Json number_or_null(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json();
}

Json source_json(const TraceSource& source) {
  Members members;
  report::add_text(members, "path", source.path);
  members.add("kind", source.kind);
  if (source.tag.empty()) {
    members.add("tag", Json());
  } else {
    report::add_text(members, "tag", source.tag);
  }
  return members.take();
}

Json segment_json(const TraceSegment& segment) {
  Members members;
  members.add("first", number_or_null(segment.first)).add("last", number_or_null(segment.last));
  members.add("kept", number_or_null(segment.kept));
  return members.take();
}

Json checkpoint_json(const TraceCheckpoint& checkpoint) {
  Members members, fields;
  report::add_text(members, "path", checkpoint.path);
  members.add("step", number_or_null(checkpoint.step)).add("dialect", checkpoint.dialect);
  for (const auto& [name, value] : checkpoint.fields) fields.add(report::safe_text(name), value);
  members.add("fields", fields.take());
  members.add("other_scales", report::list_of(checkpoint.other_scales, [](double scale) { return Json(scale); }));
  return members.take();
}

Json warning_json(const TraceWarning& warning) {
  Members members;
  members.add("code", warning.code).add("text", warning.text);
  return members.take();
}

/// What text_of gives a document of one member, without the braces.
std::string member_text(std::string_view name, Json value) {
  Members members;
  members.add(name, std::move(value));
  const std::string text = report::text_of(members.take());
  const std::size_t begin = text.find('\n'), end = text.rfind('\n', text.size() - 2);
  return text.substr(begin + 1, end - begin - 1);
}

}  // namespace

void write_trace_json(const Trace& trace, const std::vector<Pending>& unfinished, const WriteText& write) {
  Pieces pieces(write);
  pieces.text() += "{\n" + member_text("schema", "tare.trace/1") + ",\n" + member_text("unit", trace.unit) + ",\n";
  pieces.text() += member_text("sources", list_of(trace.sources, source_json)) + ",\n";
  pieces.text() += member_text("segments", list_of(trace.segments, segment_json)) + ",\n";
  pieces.text() += "  \"steps\": [";
  const char* before = "\n    ";
  for (const TraceStep& step : trace.steps) {
    std::string& text = pieces.text();
    text += before;
    add_step(text, step);
    before = ",\n    ";
  }
  pieces.text() += trace.steps.empty() ? "],\n" : "\n  ],\n";
  pieces.text() += member_text("told_every", static_cast<std::int64_t>(trace.steps.told_every())) + ",\n";
  pieces.text() += member_text("checkpoints", list_of(trace.checkpoints, checkpoint_json)) + ",\n";
  pieces.text() += member_text("warnings", list_of(trace.warnings, warning_json)) + ",\n";
  pieces.text() += member_text("pending", report::pending(unfinished)) + "\n}\n";
  pieces.flush();
}

void write_trace_csv(const Trace& trace, const WriteText& write) {
  Pieces pieces(write);
  pieces.text() += "segment,step,span,scale,after,smoothed,overflow,skipped,nan,loss,grad_norm,fatal,source,line\n";
  const auto cell = [](const auto& value) -> std::string {
    if (!value) return "";
    if constexpr (std::is_same_v<std::decay_t<decltype(*value)>, double>) return float_text(*value);
    if constexpr (std::is_same_v<std::decay_t<decltype(*value)>, float>) return float32_text(*value);
    return json_number(*value);
  };
  for (const TraceStep& step : trace.steps) {
    fmt::format_to(std::back_inserter(pieces.text()), "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", step.segment,
                   cell(step.step), step.span, cell(step.scale), cell(step.after), cell(step.smoothed),
                   cell(step.overflow), cell(step.skipped), cell(step.nan), cell(step.loss), cell(step.grad_norm),
                   step.fatal ? "true" : "", step.source, step.line);
  }
  pieces.flush();
}

}  // namespace tare
