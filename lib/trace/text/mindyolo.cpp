// mindyolo, mindocr: utils/trainer_factory.py. Of the steps that are logged alone.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField event[] = {
    {after, "loss scale adjust to", true},
};

constexpr LineShape shapes[] = {
    {.kind = "mindyolo-log", .needle = "loss scale adjust to", .also = "overflow", .fields = event, .overflow = true},
};

}  // namespace

std::span<const LineShape> mindyolo_shapes() {
  return shapes;
}

}  // namespace tare
