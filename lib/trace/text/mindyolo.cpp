// mindyolo: utils/trainer_factory.py. Of the steps that are logged alone.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField mindyolo_event[] = {
    {after, "loss scale adjust to", true},
};

constexpr LineShape mindyolo_lines[] = {
    {.kind = "mindyolo-log",
     .needle = "loss scale adjust to",
     .also = "overflow",
     .without = "still update",
     .fields = mindyolo_event,
     .overflow = true},
    {.kind = "mindyolo-log",
     .needle = "loss scale adjust to",
     .also = "overflow, still update",
     .fields = mindyolo_event,
     .overflow = true,
     .is_applied = true},
};

}  // namespace

std::span<const LineShape> mindyolo_shapes() {
  return mindyolo_lines;
}

}  // namespace tare
