#include "lib/trace/series/mlflow.hpp"

#include <charconv>
#include <cstdint>

#include "lib/base/read_double.hpp"
#include "lib/base/text.hpp"
#include "lib/trace/text/scan.hpp"

namespace tare {

namespace {

struct Measured {
  std::int64_t time = 0, step = 0;
  double value = 0;
};

std::from_chars_result read(const char* begin, const char* end, std::int64_t& value) {
  return std::from_chars(begin, end, value);
}

std::from_chars_result read(const char* begin, const char* end, double& value) {
  return read_double(begin, end, value);
}

template <typename T>
bool take(std::string_view& rest, T& value) {
  while (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
  const auto [end, error] = read(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return rest.empty() || rest[0] == ' ';
}

/// Newer releases add the name and the digest of a data set.
std::optional<Measured> measured(std::string_view line) {
  Measured found;
  if (take(line, found.time) && take(line, found.value) && take(line, found.step)) return found;
  return {};
}

}  // namespace

std::optional<std::string> mlflow_metric(std::string_view path, ByteView head) {
  constexpr std::string_view folder = "metrics/";
  constexpr std::int64_t year_2001_ms = 1'000'000'000'000;
  const std::string_view text = as_text(head);
  const auto first = measured(text.substr(0, text.find_first_of("\r\n")));
  if (!first || first->time < year_2001_ms) return {};
  const std::size_t at = path.rfind(folder);
  const std::size_t slash = path.rfind('/');
  if (at != path.npos) return std::string(path.substr(at + folder.size()));
  return std::string(slash == path.npos ? path : path.substr(slash + 1));
}

void read_mlflow_metric(Input& input, const std::string& key, Series& series) {
  series.open(input.path());
  scan_lines(input, WhichLines::all,
             [&](const Line& line) {
               const auto found = measured(line.text);
               if (!found || line.is_cut) {
                 series.broken("metric", line.number);
                 return false;
               }
               SeriesRow row{.step = found->step, .line = line.number};
               series.put(row, key, found->value);
               series.add(row);
               return false;
             },
             {input.slice().before});
}

}  // namespace tare
