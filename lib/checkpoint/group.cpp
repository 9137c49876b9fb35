#include "lib/checkpoint/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "lib/base/keyed_hash.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/rank_name.hpp"

namespace tare {
namespace {

/// Up to so many states of one scaler are held against a new one without more ado.
constexpr std::size_t few_variants = 16;

void append(std::string& to, double number) {
  if (std::isnan(number)) number = std::numeric_limits<double>::quiet_NaN();  // all are the same
  const auto bytes = std::bit_cast<std::array<char, sizeof number>>(number);
  to.append(bytes.data(), bytes.size());
}

void append(std::string& to, const Value& value) {
  to += value.type;
  if (value.number() != nullptr) {
    append(to, value.as_double());
  } else if (const auto* text = std::get_if<std::string>(&value.data)) {
    to += *text;
  } else if (const auto* list = std::get_if<ValueList>(&value.data)) {
    for (const Value& item : *list) append(to, item);
  } else if (const auto* array = std::get_if<PackedArray>(&value.data)) {
    const std::uint64_t numbers = array->has_numbers() ? array->count() : 0;
    for (std::uint64_t i = 0; i < numbers; ++i) append(to, array->number_at(i));
    if (numbers == 0) to += as_text(array->bytes());
  }
}

/// The same for states that same_state takes for one.
std::size_t hash_of(const FoundScaler& scaler) {
  std::string all;
  for (const Field& field : scaler.fields) append(all, field.value);
  return KeyedHash()(all);
}

std::string scale_text(const FoundScaler& scaler) {
  const Field* scale = scaler.find(Role::scale);
  return scale == nullptr ? "none" : float_text(scale->value.as_double());
}

/// "scale 65536.0 in rank0.pt, 32768.0 in rank1.pt and 3 more"
std::string values_by_file(const std::vector<const Scaler*>& variants, const std::vector<CheckpointFile>& files) {
  constexpr std::size_t most = 4;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(variants.size(), most); ++i) {
    const std::size_t others = variants[i]->copies.size() - 1;
    std::string part = fmt::format("scale {} in {}", scale_text(variants[i]->state()),
                                   files[variants[i]->copies.front().places.front()].path);
    if (others > 0) part += fmt::format(" and {} more", others);
    parts.push_back(std::move(part));
  }
  if (variants.size() > most) parts.push_back(fmt::format("{} other states", variants.size() - most));
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// "; the majority, 6 of 8, has scale 65536.0"; empty where there is none.
std::string majority(const std::vector<const Scaler*>& variants) {
  std::size_t all = 0;
  for (const Scaler* variant : variants) all += variant->copies.size();
  for (const Scaler* variant : variants) {
    if (2 * variant->copies.size() <= all) continue;
    return fmt::format("; the majority, {} of {}, has scale {}", variant->copies.size(), all,
                       scale_text(variant->state()));
  }
  return {};
}

/// The first field in which two states differ.
std::string differing_field(const FoundScaler& a, const FoundScaler& b) {
  for (const Field& field : a.fields) {
    const Field* other = b.find(field.name);
    if (other == nullptr || !same(field.value, other->value)) return field.name;
  }
  return a.fields.size() == b.fields.size() ? "order of fields" : b.fields.back().name;
}

bool is_fp8(const Scaler& scaler) {
  return scaler.state().dialect->kind == "fp8";
}

Finding told_of_layers(const std::vector<const Scaler*>& firsts) {
  return {Severity::note, "fp8-ranks-differ",
          fmt::format("rank files hold other FP8 state for {} layer{}: each file's is a state of its own",
                      firsts.size(), firsts.size() == 1 ? "" : "s"),
          "", firsts.front()->state().path};
}

}  // namespace

std::size_t CopyGroups::Hash::operator()(std::size_t number) const {
  const FoundScaler& found = groups->scalers_[number].found;
  return KeyedHash()(found.path) ^ groups->files_of_[number] ^ KeyedHash()(found.dialect->name) << 1;
}

bool CopyGroups::Equal::operator()(std::size_t a, std::size_t b) const {
  const FoundScaler& left = groups->scalers_[a].found;
  const FoundScaler& right = groups->scalers_[b].found;
  return groups->files_of_[a] == groups->files_of_[b] && left.dialect->name == right.dialect->name &&
         left.path == right.path;
}

std::uint32_t CopyGroups::number_of(std::string group) {
  const auto next = static_cast<std::uint32_t>(files_numbers_.size());
  return files_numbers_.try_emplace(std::move(group), next).first->second;
}

const CopyGroups::FilesNumbers& CopyGroups::files_numbers(const std::string& path) {
  if (files_numbers_.empty() || last_files_.path != path) {
    last_files_ = {path, number_of(rank_group(path).value_or(path)), number_of(layers_group(path))};
  }
  return last_files_;
}

void CopyGroups::reserve(std::size_t copies) {
  const std::size_t wanted = scalers_.size() + copies;
  if (wanted <= 2 * scalers_.capacity()) return;  // it grows so far by itself: file after file may come
  scalers_.reserve(wanted);
  firsts_.reserve(wanted);
}

bool CopyGroups::add(FoundScaler state, ScalerCopy copy, const std::string& path) {
  const std::size_t number = scalers_.size();
  scalers_.push_back({std::move(state), {}});
  const FilesNumbers& files = files_numbers(path);
  files_of_.push_back(is_fp8(scalers_.back()) ? files.of_layers : files.of_ranks);
  const auto [first, is_new] = firsts_.insert(number);
  if (!is_new) {
    Variants& alike = with_more_[*first];
    if (alike.all.empty()) alike.all.push_back(*first);
    if (Scaler* same_one = find(alike, scalers_.back().found)) {
      same_one->copies.push_back(std::move(copy));
      scalers_.pop_back();
      files_of_.pop_back();
      return false;
    }
    if (!alike.by_hash.empty()) alike.by_hash.emplace(hash_of(scalers_.back().found), number);
    alike.all.push_back(number);
  }
  scalers_.back().group = *first;
  scalers_.back().copies.push_back(std::move(copy));
  return true;
}

Scaler* CopyGroups::find(Variants& alike, const FoundScaler& state) {
  const auto is_it = [&](std::size_t i) { return same_state(scalers_[i].found, state); };
  if (alike.all.size() <= few_variants) {
    const auto found = std::find_if(alike.all.begin(), alike.all.end(), is_it);
    return found == alike.all.end() ? nullptr : &scalers_[*found];
  }
  if (alike.by_hash.empty()) {
    for (const std::size_t i : alike.all) alike.by_hash.emplace(hash_of(scalers_[i].found), i);
  }
  const auto [first, last] = alike.by_hash.equal_range(hash_of(state));
  const auto found = std::find_if(first, last, [&](const auto& entry) { return is_it(entry.second); });
  return found == last ? nullptr : &scalers_[found->second];
}

std::vector<Scaler> CopyGroups::take(const std::vector<CheckpointFile>& files, std::vector<Finding>& findings) {
  std::map<std::size_t, const std::vector<std::size_t>*> in_file_order;
  for (const auto& [first, alike] : with_more_) {
    if (alike.all.size() > 1) in_file_order[first] = &alike.all;
  }
  std::vector<const Scaler*> differing_layers;
  for (const auto& [group, alike] : in_file_order) {
    if (is_fp8(scalers_[group])) {
      differing_layers.push_back(&scalers_[group]);
      continue;
    }
    std::vector<const Scaler*> states;
    for (const std::size_t i : *alike) {
      scalers_[i].agree = false;
      states.push_back(&scalers_[i]);
    }
    findings.push_back(
        {Severity::error, "copies-disagree",
         fmt::format("rank files disagree, in {} first: {}{}", differing_field(states[0]->state(), states[1]->state()),
                     values_by_file(states, files), majority(states)),
         "", scalers_[group].found.path});
  }
  if (!differing_layers.empty()) findings.push_back(told_of_layers(differing_layers));
  with_more_.clear();
  firsts_.clear();
  files_of_.clear();
  files_numbers_.clear();
  return std::exchange(scalers_, {});
}

}  // namespace tare
