#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lib/attest/safe_globals.hpp"
#include "lib/base/text.hpp"
#include "tools/render.hpp"

using namespace tare;

namespace {

/// What was judged, and no more: a framework that is not known may make anything of any text.
constexpr std::string_view plain_answer =
    "plain data: reading it (torch.load, pickle.load) runs nothing; of texts that frameworks call things by, none of a "
    "known kind";

constexpr std::size_t places_shown = 3;

Style style_of(Verdict verdict) {
  if (verdict == Verdict::dangerous) return Style::bad;
  return verdict == Verdict::allowed ? Style::good : Style::warning;
}

std::string place_text(const Attestation& attestation, const AttestedPlace& place) {
  std::string file = escaped(attestation.files[place.file].path);
  if (place.inside.empty()) return file;
  return attestation.files.size() == 1 ? escaped(place.inside) : fmt::format("{}, {}", file, escaped(place.inside));
}

/// The first places; the file's own pickle names a class once for each use.
std::string places_text(const Attestation& attestation, const std::vector<AttestedPlace>& places) {
  std::vector<std::string> texts;
  for (const AttestedPlace& place : places) {
    std::string text = place_text(attestation, place);
    if (texts.empty() || texts.back() != text) texts.push_back(std::move(text));
  }
  std::string all;
  for (std::size_t i = 0; i < texts.size() && i < places_shown; ++i) all += (i == 0 ? "" : "; ") + texts[i];
  if (texts.size() > places_shown) all += fmt::format("; and {} more", texts.size() - places_shown);
  return all;
}

std::string global_line(const Terminal& terminal, const Attestation& attestation, const AttestedGlobal& global) {
  const std::string_view verdict = name(global.verdict);
  const std::string since = global.verdict != Verdict::allowed && global.since
                                ? fmt::format(", since torch {}", torch_releases()[*global.since])
                                : "";
  return fmt::format("  {}{:<{}} {}.{}  ({}{})\n", terminal.styled(style_of(global.verdict), verdict), "",
                     10 - verdict.size(), escaped(global.module), escaped(global.name),
                     places_text(attestation, global.places), since);
}

/// Extra states of one fate share a line: there may be thousands.
std::string extra_state_lines(const Attestation& attestation) {
  std::string text;
  std::vector<const AttestedExtraState*> left;
  left.reserve(attestation.extra_states.size());
  for (const AttestedExtraState& state : attestation.extra_states) left.push_back(&state);
  while (!left.empty()) {
    const ExtraStateFate& fate = left.front()->fate;
    const auto rest = std::stable_partition(left.begin(), left.end(), [&](const auto* state) {
      return state->fate.refused == fate.refused && state->fate.why == fate.why;
    });
    std::vector<AttestedPlace> places;
    for (auto it = left.begin(); it != rest; ++it) places.push_back((*it)->place);
    text += fmt::format("  {} {}: {}  ({})\n", fate.refused ? "refused" : "ignored", places.size(), fate.why,
                        places_text(attestation, places));
    left.erase(left.begin(), rest);
  }
  return text;
}

/// What to paste, imports and all. Names of frameworks are dotted identifiers.
std::string advice(const std::vector<SafeGlobal>& needed) {
  if (needed.empty()) return {};
  std::set<std::string> imports;
  std::string names;
  bool has_arrays = false;
  for (const SafeGlobal& global : needed) {
    imports.insert(escaped(global.needs));
    names += fmt::format("      {},\n", escaped(global.expression));
    has_arrays = has_arrays || global.name == "numpy.dtype";
    if (global.name == "collections.defaultdict") names += "      # of which weights_only takes empty ones alone\n";
  }
  // An array's element type is a class of its own, which no pickle names.
  if (has_arrays) {
    imports.insert("import numpy");
    names +=
        "      *{type(numpy.dtype(t)) for t in \"?\" + numpy.typecodes[\"AllInteger\"] + "
        "numpy.typecodes[\"AllFloat\"]},\n";
  }
  std::string text =
      "\nweights_only refuses these names until it is told of them, which is trust in who wrote the file:\n"
      "  import torch\n";
  for (const std::string& statement : imports) text += fmt::format("  {}\n", statement);
  return text + "  torch.serialization.add_safe_globals([\n" + names + "  ])\n";
}

std::string beyond_advice(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) text += fmt::format("  {}\n", escaped(path));
  return text.empty() ? text
                      : "\nweights_only does not read the pickles of these, whatever it is told (pickle_protocol above "
                        "2):\n" +
                            text;
}

}  // namespace

std::string render_attestation(const Terminal& terminal, const Checkpoint& checkpoint, const Attestation& attestation) {
  const std::string_view release = torch_releases()[attestation.release];
  const auto counted = [](std::uint64_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  std::string text =
      fmt::format("{}  ({}, {}, {}, {}; nothing run)\n", terminal.styled(Style::strong, escaped(checkpoint.resolved)),
                  counted(attestation.files.size(), "file"), counted(attestation.bytes, "byte"),
                  counted(attestation.documents, "document"), counted(attestation.calls, "call"));
  if (!attestation.globals.empty()) {
    text += fmt::format("\nclasses and functions that are named (allowed: by weights_only of torch {})\n", release);
  }
  for (const AttestedGlobal& global : attestation.globals) text += global_line(terminal, attestation, global);
  if (!attestation.extra_states.empty()) {
    text += "\nTransformerEngine 2.18 and newer, unless NVTE_ALLOW_UNSAFE_PICKLE_EXTRA_STATE=1\n";
    text += extra_state_lines(attestation);
  }
  if (!attestation.unread.empty()) text += "\nnot accounted for, or not what it seems\n";
  for (const Unread& unread : attestation.unread) {
    text += fmt::format("  {}: {}\n", place_text(attestation, unread.place), escaped(unread.why));
  }
  text += advice(needed_safe_globals(attestation));
  text += beyond_advice(never_weights_only(attestation));
  const bool plain = attestation.is_plain();
  return text +
         fmt::format("\n{}\n",
                     plain ? terminal.styled(Style::good, plain_answer)
                           : terminal.styled(Style::bad, "not plain data: loading it needs trust in who wrote it"));
}
