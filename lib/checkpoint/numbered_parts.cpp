#include "lib/checkpoint/numbered_parts.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "lib/base/limits.hpp"

namespace tare {
namespace {

struct Part {
  std::string series;  ///< the name without its own number
  std::uint64_t total = 0;
};

std::optional<Part> part_of(std::string_view path) {
  constexpr std::string_view word = "-of-";
  constexpr std::string_view digits = "0123456789";
  const std::size_t at = path.rfind(word);
  if (at == path.npos) return std::nullopt;
  const std::size_t begin = path.find_last_not_of(digits, at - 1) + 1;
  if (at == 0 || begin >= at) return std::nullopt;
  Part part{std::string(path.substr(0, begin)).append(path.substr(at)), 0};
  const std::string_view total = path.substr(at + word.size());
  const auto [end, error] = std::from_chars(total.data(), total.data() + total.size(), part.total);
  return error == std::errc() && part.total <= limits::max_files ? std::optional(std::move(part)) : std::nullopt;
}

struct Series {
  std::uint64_t total = 0, found = 0;
  std::string first;
};

}  // namespace

std::vector<Finding> told_of_parts(const std::vector<std::string>& paths) {
  std::map<std::string, Series> all;
  for (const std::string& path : paths) {
    const auto part = part_of(path);
    if (!part) continue;
    Series& series = all[part->series];
    if (series.found++ == 0) series.first = path;
    series.total = part->total;
  }
  std::vector<Finding> findings;
  for (const auto& [name, series] : all) {
    if (series.found >= series.total) continue;
    findings.push_back({Severity::error, "rank-missing",
                        fmt::format("its name says that {} files belong together, and {} {} there", series.total,
                                    series.found, series.found == 1 ? "is" : "are"),
                        series.first, ""});
  }
  return findings;
}

}  // namespace tare
