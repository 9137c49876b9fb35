// A file that is read while it grows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/report/trace.hpp"
#include "lib/trace/files.hpp"
#include "lib/trace/input.hpp"
#include "lib/trace/run_reader.hpp"

/// Takes what has come since `read`, and moves that on.
inline void read_on(tare::RunReader& reader, const tare::RunFile& file, const std::string& there, tare::Slice& read) {
  const auto bytes = tare::as_bytes(there);
  const auto source = std::make_shared<tare::MemorySource>(file.path, tare::Bytes(bytes.begin(), bytes.end()));
  for (;;) {
    const tare::WholePart part = tare::whole_part(file.kind, *source, read.end);
    if (part.end == read.end) return;
    if (part.end < read.end || part.end > there.size()) std::abort();
    tare::Input input(file.path, source, {read.end, part.end, read.before});
    read = {read.end, part.end, read.before + part.count};
    reader.read(file, input);
  }
}

/// What `text` tells, looked at when its first `looks` bytes were there, and when all of it was: "tare.trace/1".
inline std::string told_in_pieces(const tare::RunFile& file, const std::string& text,
                                  const std::vector<std::size_t>& looks) {
  tare::RunReader reader(file.kind, {});
  tare::Slice read;
  for (const std::size_t there : looks) {
    read_on(reader, file, text.substr(0, there), read);
    (void)reader.so_far();
  }
  read_on(reader, file, text, read);
  std::string json;
  tare::write_trace_json(reader.finish(), {}, [&](std::string_view piece) { json += piece; });
  return json;
}
