// Keras: bars of fit(), which show no scale: a mean of the losses since the epoch began, and no step's number over the
// run. Source: keras 2.15 and 3.5, utils/generic_utils.py and utils/progbar.py, Progbar.update.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField keras_bar[] = {{loss, " - loss: ", true}};

constexpr LineShape keras_lines[] = {
    {.kind = "keras-bar",
     .needle = " - loss: ",
     .also = "/step;/epoch;ETA: ",
     .fields = keras_bar,
     .meaning = Meaning::aside},
};

}  // namespace

std::span<const LineShape> keras_shapes() {
  return keras_lines;
}

}  // namespace tare
