#include "lib/report/listed.hpp"

#include "lib/report/json.hpp"

namespace tare {

std::string listed_line(const ListedCheckpoint& checkpoint, const std::optional<Pending>& pending) {
  using report::Json;
  report::Members members;
  members.add("schema", "tare.ls/1");
  report::add_text(members, "path", checkpoint.path);
  members.add("step", checkpoint.step ? Json(*checkpoint.step) : Json());
  members.add("dialect", checkpoint.dialect.empty() ? Json() : Json(checkpoint.dialect));
  members.add("scale", checkpoint.scale ? Json(*checkpoint.scale) : Json());
  members.add("files", report::size(checkpoint.files));
  members.add("loss_scales", report::size(checkpoint.loss_scales));
  members.add("fp8_states", report::size(checkpoint.fp8_states));
  members.add("findings", report::list_of(checkpoint.findings, report::finding));
  members.add("pending", report::pending(pending));
  return json::line_of(members.take());
}

}  // namespace tare
