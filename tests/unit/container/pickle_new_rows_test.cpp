// Another length of a tensor's first dimension, however its shape is written: torch's file is written anew with it.
#include <string>

#include "lib/container/node_change.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

std::string text_op(std::string_view text) {
  return "X"s + static_cast<char>(text.size()) + "\0\0\0"s + std::string(text);
}

/// Tensors of floats as torch 2 writes them: (2, 3); (1, 2, 3, 4), whose shape stands behind a mark; and (4, 2).
const std::string three_tensors = "\x80\x02]q\0("s + "ctorch._utils\n_rebuild_tensor_v2\nq\x01((" + text_op("storage") +
                                  "q\x02" + "ctorch\nFloatStorage\nq\x03" + text_op("0") + "q\x04" + text_op("cpu") +
                                  "q\x05K\x06tq\x06QK\0"s + "K\x02K\x03\x86q\x07K\x03K\x01\x86q\x08\x89" +
                                  "ccollections\nOrderedDict\nq\x09)Rq\x0atq\x0bRq\x0c" + "h\x01((h\x02h\x03" +
                                  text_op("1") + "q\x0dh\x05K\x18tq\x0eQK\0"s +
                                  "(K\x01K\x02K\x03K\x04tq\x0f(K\x18K\x0cK\x04K\x01tq\x10\x89h\x09)Rq\x11tq\x12Rq\x13" +
                                  "h\x01((h\x02h\x03" + text_op("2") + "q\x14h\x05K\x08tq\x15QK\0"s +
                                  "K\x04K\x02\x86q\x16K\x02K\x01\x86q\x17\x89h\x09)Rq\x18tq\x19Rq\x1a" + "e.";

Bytes zip_of_tensors() {
  ArchiveWriter zip;
  zip.add("model/data.pkl", as_bytes(three_tensors));
  zip.add("model/byteorder", as_bytes("little"));
  zip.add("model/data/0", Bytes(6 * sizeof(float)));
  zip.add("model/data/1", Bytes(24 * sizeof(float)));
  zip.add("model/data/2", Bytes(8 * sizeof(float)));
  zip.add("model/version", as_bytes("3\n"));
  zip.finish();
  return zip.bytes();
}

Tensor tensor_of(const Container& container, std::size_t number) {
  return container.tree().tensor(node_at(container.tree(), {number}));
}

}  // namespace

TEST_CASE(
    "a tensor that gets more rows, or fewer, has them when it is read again, and its neighbours are as they were") {
  const std::vector<std::vector<std::int64_t>> shapes = {{2, 3}, {1, 2, 3, 4}, {4, 2}};
  const Bytes image = zip_of_tensors();
  const auto container = open_image(image);
  for (std::size_t number = 0; number < shapes.size(); ++number) {
    REQUIRE(tensor_of(*container, number).shape == shapes[number]);
    for (const std::int64_t rows : {1, 3}) {
      INFO("tensor " << number << " with " << rows << " rows");
      std::vector<std::int64_t> shape = shapes[number];
      const std::int64_t row = static_cast<std::int64_t>(tensor_of(*container, number).count()) / shape[0];
      shape[0] = rows;
      Bytes elements;
      for (std::int64_t i = 0; i < rows * row; ++i) append_le(elements, 1.0F + static_cast<float>(i));
      const NodeChange change{node_at(container->tree(), {number}), NewTensor{shape, elements}, "a history"};
      const auto again = open_image(applied(image, container->change({&change, 1})));
      for (std::size_t other = 0; other < shapes.size(); ++other) {
        CHECK(tensor_of(*again, other).shape == (other == number ? shape : shapes[other]));
      }
      const Value now = again->tree().value(node_at(again->tree(), {number}), 100);
      CHECK(std::get<PackedArray>(now.data).number_at(static_cast<std::uint64_t>(rows * row - 1)) ==
            static_cast<double>(rows * row));
    }
  }
}
