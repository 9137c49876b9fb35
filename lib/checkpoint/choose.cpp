#include "lib/checkpoint/choose.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/text.hpp"
#include "lib/dialect/called.hpp"
#include "lib/dialect/fp8_slots.hpp"

namespace tare {
namespace {

const std::string& first_file(const Checkpoint& checkpoint, const Scaler& scaler) {
  return checkpoint.files[scaler.copies.front().places.front()].path;
}

std::string in_file(const std::string& file, const FoundScaler& scaler) {
  return fmt::format("{}:{}", file, scaler.path);
}

/// How `scaler` can be told from the others: by its path, by its file, or by both.
std::string place_of(const Checkpoint& checkpoint, const std::vector<const Scaler*>& scalers, const Scaler& scaler) {
  const auto is_alone = [&](const auto& name_of) {
    return std::ranges::count_if(scalers, [&](const Scaler* other) { return name_of(*other) == name_of(scaler); }) == 1;
  };
  const std::string& path = scaler.state().path;
  if (!path.empty() && is_alone([](const Scaler& other) { return other.state().path; })) return path;
  const std::string& file = first_file(checkpoint, scaler);
  if (is_alone([&](const Scaler& other) { return first_file(checkpoint, other); })) return file;
  return in_file(file, scaler.state());
}

std::string listed(const Checkpoint& checkpoint, const std::vector<const Scaler*>& scalers) {
  std::string text;
  for (const Scaler* scaler : scalers) {
    text += fmt::format("{}'{}' ({}, in {})", text.empty() ? "" : ", ", place_of(checkpoint, scalers, *scaler),
                        scaler->state().dialect->name, first_file(checkpoint, *scaler));
  }
  return text;
}

std::vector<const Scaler*> loss_scalers(const Checkpoint& checkpoint) {
  std::vector<const Scaler*> scalers;
  for (const Scaler& scaler : checkpoint.scalers) {
    if (scaler.state().dialect->kind == "loss_scale") scalers.push_back(&scaler);
  }
  return scalers;
}

bool is_or_ends_with(const std::string& name, const std::string& place) {
  return name == place || escaped(name) == place;
}

bool is_at(const Checkpoint& checkpoint, const Scaler& scaler, const std::string& place) {
  const FoundScaler& state = scaler.state();
  const auto is_this = [&](const std::string& path) { return is_or_ends_with(path, place); };
  if (is_this(state.path) || std::ranges::any_of(state.also_at, is_this)) return true;
  return std::ranges::any_of(files_of(scaler), [&](std::size_t file) {
    const std::string& path = checkpoint.files[file].path;
    return is_this(path) || is_this(in_file(path, state));
  });
}

/// Where one checkpoint of a run was read, as its trainer would: how the others are reached.
std::string another_of_run(const Checkpoint& checkpoint) {
  return checkpoint.resolved == checkpoint.target ? "" : "; give another checkpoint of the run by its own path";
}

void require_agreement(const Checkpoint& checkpoint, const std::vector<const Scaler*>& chosen) {
  for (const Scaler* scaler : chosen) {
    if (scaler->agree) continue;
    throw Error(Status::conflict,
                fmt::format("the copies of {} disagree; first in {}", called(scaler->state().path),
                            first_file(checkpoint, *scaler)),
                "tare inspect shows which file holds what; `tare edit --align` makes them alike");
  }
}

}  // namespace

std::optional<std::string> place_to_choose(const Checkpoint& checkpoint, const Scaler& scaler) {
  const std::vector<const Scaler*> candidates = loss_scalers(checkpoint);
  const auto is_other = [&](const Scaler* other) { return other->group != scaler.group; };
  if (std::ranges::none_of(candidates, is_other)) return std::nullopt;
  return place_of(checkpoint, candidates, scaler);
}

std::vector<const Scaler*> chosen_scalers(const Checkpoint& checkpoint, const Choice& choice) {
  const std::vector<const Scaler*> candidates = loss_scalers(checkpoint);
  if (candidates.empty()) {
    throw Error(Status::refused, checkpoint.resolved + ": there is no loss scaler in it",
                "tare inspect tells what is in there");
  }
  std::vector<const Scaler*> chosen = candidates;
  if (choice.at) {
    std::erase_if(chosen, [&](const Scaler* s) { return !is_at(checkpoint, *s, *choice.at); });
    if (chosen.empty()) {
      throw Error(Status::refused, fmt::format("{}: no scaler is at '{}'", checkpoint.resolved, *choice.at),
                  "there is: " + listed(checkpoint, candidates) + another_of_run(checkpoint));
    }
  }
  if (!choice.at && !choice.all) {
    // What nobody loads is left as it is, unless it is meant.
    const auto is_idle = [](const Scaler* s) { return s->state().authority == Authority::no_rank; };
    if (!std::all_of(chosen.begin(), chosen.end(), is_idle)) std::erase_if(chosen, is_idle);
  }
  if (!choice.align) require_agreement(checkpoint, chosen);
  const bool is_one = std::all_of(chosen.begin(), chosen.end(),
                                  [&](const Scaler* s) { return choice.align && s->group == chosen.front()->group; });
  if (chosen.size() > 1 && !is_one && !choice.all) {
    throw Error(Status::refused, fmt::format("{}: {} scalers are there", checkpoint.resolved, chosen.size()),
                fmt::format("choose one with {}: {}", choice.ways, listed(checkpoint, chosen)));
  }
  return chosen;
}

std::vector<const Scaler*> chosen_fp8(const Checkpoint& checkpoint, const Fp8Choice& choice) {
  std::vector<const Scaler*> chosen;
  for (const Scaler& scaler : checkpoint.scalers) {
    if (scaler.state().dialect->kind == "fp8") chosen.push_back(&scaler);
  }
  if (chosen.empty()) {
    throw Error(Status::refused, checkpoint.resolved + ": there is no FP8 state in it",
                "tare inspect tells what is in there");
  }
  std::string first;
  std::size_t count = 0;
  for (const Scaler* scaler : chosen) {
    const std::vector<std::string> layers = layers_in(scaler->state());
    if (count == 0 && !layers.empty()) first = layers.front();
    count += layers.size();
  }
  if (choice.layer) std::erase_if(chosen, [&](const Scaler* s) { return !is_layer(s->state(), *choice.layer); });
  if (chosen.empty()) {
    throw Error(Status::refused, fmt::format("no layer with FP8 state matches '{}'", *choice.layer),
                fmt::format("there are {}, the first is '{}'", count, first));
  }
  if (!choice.layer && !choice.all && chosen.size() > 1) {
    throw Error(Status::refused, fmt::format("{}: {} layers have FP8 state", checkpoint.resolved, count),
                fmt::format("choose some with --layer GLOB, such as '{}', or --all", first));
  }
  require_agreement(checkpoint, chosen);
  return chosen;
}

}  // namespace tare
