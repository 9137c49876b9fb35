#include <algorithm>
#include <memory>

#include "lib/report/report.hpp"
#include "tools/network.hpp"
#include "tools/network_options.hpp"
#include "tools/open.hpp"
#include "tools/render.hpp"
#include "tools/verb.hpp"

using namespace tare;

namespace {

struct DiffVerbOptions {
  std::string a;
  std::string b;
  bool json = false;
};

int diff(const Terminal& terminal, const DiffVerbOptions& options) {
  for (const std::string* path : {&options.a, &options.b}) reach(*path);
  const Opened a = open_for_reading(terminal, options.a, {});
  const Opened b = open_for_reading(terminal, options.b, {});
  std::vector<Pending> unfinished;
  for (const Opened* opened : {&a, &b}) {
    if (opened->pending) unfinished.push_back(*opened->pending);
  }
  tell_unfinished(terminal, unfinished);
  const auto found = differences(a.checkpoint, b.checkpoint);
  terminal.answer(options.json ? diff_json(a.checkpoint, b.checkpoint, found, unfinished)
                               : render_differences(terminal, found));
  const int code = std::max(exit_of(terminal, a.checkpoint), exit_of(terminal, b.checkpoint));
  return found.empty() ? code : exit_no;
}

}  // namespace

Verb diff_verb() {
  auto options = std::make_shared<DiffVerbOptions>();
  return {
      .name = "diff",
      .purpose = "How the scaler state of two checkpoints differs",
      .options = joined({{{"A", &options->a, "As for inspect", Presence::required},
                          {"B", &options->b, "As for inspect", Presence::required},
                          {"--json", &options->json, "Answer in JSON (schema tare.diff/1)"}},
                         network_options()}),
      .closing_words = "Exit 0: no difference. 1: some.\nExample:\n  tare diff run/global_step4100 run/global_step4200",
      .run = [options](const Terminal& t) { return diff(t, *options); },
  };
}
