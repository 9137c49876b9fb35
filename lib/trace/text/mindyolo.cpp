// mindyolo, mindocr: utils/trainer_factory.py. Of the steps that are logged alone.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField event[] = {
    {after, "loss scale adjust to", true},
};

constexpr LineShape shapes[] = {
    {.kind = "mindyolo-log",
     .needle = "loss scale adjust to",
     .also = "overflow",
     .without = "still update",
     .fields = event,
     .overflow = true},
    {.kind = "mindyolo-log",
     .needle = "loss scale adjust to",
     .also = "overflow, still update",
     .fields = event,
     .overflow = true,
     .is_applied = true},
};

}  // namespace

std::span<const LineShape> mindyolo_shapes() {
  return shapes;
}

}  // namespace tare
