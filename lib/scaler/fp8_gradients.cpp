#include "lib/scaler/fp8_gradients.hpp"

#include <string>
#include <vector>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/codec/json.hpp"

namespace tare {
namespace {

struct Described {
  std::uint64_t count;
  std::uint64_t mu;
  std::int32_t dtype;
  std::int32_t format;
};

/// Whether `value` is the second of the two that `key` may have.
bool is_second(const StateValue& value, const std::string& key, const char* first, const char* second) {
  const auto* text = std::get_if<std::string>(&value);
  if (text != nullptr && *text == second) return true;
  if (text != nullptr && *text == first) return false;
  throw Error(Status::invalid_argument, "the options have no \"" + key + "\" of that value",
              "\"" + key + "\" is \"" + first + "\" or \"" + second + "\".");
}

constexpr std::int64_t most_bucket_bytes = std::int64_t{1} << 30;

std::uint64_t bucket_of(const StateValue& value) {
  const auto* bytes = std::get_if<std::int64_t>(&value);
  if (bytes != nullptr && *bytes > 0 && *bytes <= most_bucket_bytes) return static_cast<std::uint64_t>(*bytes);
  throw Error(Status::invalid_argument, "the options have no \"bucket_bytes\" of that value",
              "\"bucket_bytes\" is a whole number from 1 to 2^30.");
}

}  // namespace

AllReduceOptions parse_all_reduce_options(const char* json) {
  AllReduceOptions options;
  if (json == nullptr || *json == '\0') return options;
  for (const auto& [key, value] : members_of_json(json, "the options")) {
    if (key == "operation") {
      options.combined = is_second(value, key, "mean", "sum") ? Combined::sum : Combined::mean;
    } else if (key == "adder") {
      options.adder = is_second(value, key, "ranks", "engine") ? Adder::engine : Adder::ranks;
    } else if (key == "bucket_bytes") {
      options.bucket_bytes = bucket_of(value);
    } else {
      throw Error(Status::invalid_argument, "the options have no \"" + key + "\" of that value",
                  "Options: operation (\"mean\" or \"sum\"), adder (\"ranks\" or \"engine\"), bucket_bytes");
    }
  }
  return options;
}

std::uint64_t digest_of(const GradientList& list, const double* mu, const AllReduceOptions& options) {
  std::vector<Described> all;
  all.reserve(list.tensors.size() + 1);
  all.push_back(
      {options.bucket_bytes, 0, static_cast<std::int32_t>(options.combined), static_cast<std::int32_t>(options.adder)});
  for (std::size_t i = 0; i < list.tensors.size(); ++i) {
    const std::uint32_t slot = list.slots[i];
    all.push_back({list.tensors[i].count, mu != nullptr ? bits_of(mu[slot]) : 0,
                   static_cast<std::int32_t>(list.tensors[i].dtype), static_cast<std::int32_t>(list.formats[slot])});
  }
  return crc32(std::as_bytes(std::span<const Described>(all)));
}

void require_same_list(std::span<const std::uint64_t, 4> words, std::uint64_t count) {
  if (words[0] != ~words[1]) {
    throw Error(Status::mismatch,
                "the ranks of the comm give from " + std::to_string(~words[1]) + " to " + std::to_string(words[0]) +
                    " gradients, " + std::to_string(count) + " here",
                "All ranks give the same list.");
  }
  if (words[2] != ~words[3]) {
    throw Error(Status::mismatch, "the gradients of the comm's ranks differ in counts, dtypes, formats, options or mu",
                "All ranks give the same list, with slots that were updated alike.");
  }
}

}  // namespace tare
