#include "lib/attest/safe_globals.hpp"
#include "lib/report/json.hpp"
#include "lib/report/report.hpp"

namespace tare {
namespace {

using report::Json;
using report::Members;

const std::string& file_of(const Attestation& attestation, const AttestedPlace& place) {
  return attestation.files[place.file].path;
}

Json place_json(const Attestation& attestation, const AttestedPlace& place) {
  Members members;
  report::add_text(members, "file", file_of(attestation, place));
  report::add_text(members, "inside", place.inside);
  members.add("offset", report::size(place.offset));
  return members.take();
}

Json global_json(const Attestation& attestation, const AttestedGlobal& global) {
  Members members;
  report::add_text(members, "module", global.module);
  report::add_text(members, "name", global.name);
  members.add("verdict", name(global.verdict));
  members.add("since", global.since ? Json(torch_releases()[*global.since]) : Json());
  members.add("places", report::list_of(global.places,
                                        [&](const AttestedPlace& place) { return place_json(attestation, place); }));
  return members.take();
}

Json extra_state_json(const Attestation& attestation, const AttestedExtraState& state) {
  Members members;
  report::add_text(members, "file", file_of(attestation, state.place));
  report::add_text(members, "path", state.place.inside);
  members.add("refused", state.fate.refused);
  members.add("why", state.fate.why);
  return members.take();
}

Json unread_json(const Attestation& attestation, const Unread& unread) {
  Members members;
  report::add_text(members, "file", file_of(attestation, unread.place));
  report::add_text(members, "inside", unread.place.inside);
  members.add("why", report::safe_text(unread.why));
  return members.take();
}

}  // namespace

std::string attest_json(const Checkpoint& checkpoint, const Attestation& attestation,
                        const std::vector<Pending>& unfinished) {
  const auto each = [&](const auto& items, const auto& make) {
    return report::list_of(items, [&](const auto& item) { return make(attestation, item); });
  };
  const auto each_global = [&](const std::function<void(const Json&)>& add) {
    for (const AttestedGlobal& global : attestation.globals) add(global_json(attestation, global));
  };
  Members front;
  front.add("schema", "tare.attest/1");
  report::add_text(front, "target", checkpoint.target);
  report::add_text(front, "checkpoint", checkpoint.resolved);
  front.add("torch", torch_releases()[attestation.release]);
  front.add("plain", attestation.is_plain());
  front.add("files", report::size(attestation.files.size()));
  front.add("bytes", report::size(attestation.bytes));
  front.add("documents", report::size(attestation.documents));
  front.add("calls", report::size(attestation.calls));
  Members behind;
  behind.add("safe_globals", report::list_of(needed_safe_globals(attestation),
                                             [](const SafeGlobal& global) { return report::safe_text(global.name); }));
  behind.add("never_weights_only", report::list_of(never_weights_only(attestation), report::safe_text));
  behind.add("extra_states", each(attestation.extra_states, extra_state_json));
  behind.add("unread", each(attestation.unread, unread_json));
  behind.add("pending", report::pending(unfinished));
  return json::gathered([&](const json::TextSink& sink) {
    report::write_text(front.take(), {"globals", each_global}, behind.take(), sink);
  });
}

}  // namespace tare
