#include "kernels/plan.hpp"
#include "tests/catch.hpp"

#include <vector>

using namespace tare;
using namespace tare::kernels;

namespace {

alignas(64) unsigned char memory[256];

Tensor of(std::uint64_t count, Dtype dtype) {
  return {memory, count, dtype, 0};
}

}  // namespace

TEST_CASE("pieces cover every element once, in order, and items are runs of whole pieces") {
  const std::vector<Tensor> tensors = {of(5, Dtype::f32), of(0, Dtype::f64), of(1000, Dtype::bf16),
                                       of(64, Dtype::f8_e5m2), of(129, Dtype::f64)};
  Plan plan({.piece_bytes = 256, .item_bytes = 512});
  plan.assign(tensors);
  std::vector<std::uint64_t> covered(tensors.size());
  for (const Piece& piece : plan.pieces()) {
    CHECK(piece.count > 0);
    CHECK(piece.count * size_of(piece.dtype) <= 256);
    CHECK(piece.dtype == tensors[piece.tensor].dtype);
    CHECK(plan.offset(piece) == covered[piece.tensor]);
    covered[piece.tensor] += piece.count;
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) CHECK(covered[i] == tensors[i].count);
  const Piece* next = plan.pieces().data();
  for (std::size_t i = 0; i < plan.item_count(); ++i) {
    CHECK(!plan.item(i).empty());
    CHECK(plan.item(i).data() == next);
    next += plan.item(i).size();
  }
  CHECK(next == plan.pieces().data() + plan.pieces().size());
  CHECK(plan.bytes() == 20 + 2000 + 64 + 1032);
}

TEST_CASE("tiny tensors share items, large ones are cut into items of even size") {
  Plan plan({.piece_bytes = 32768, .item_bytes = 256 << 10});
  const std::vector<Tensor> tiny(10000, of(4, Dtype::f32));
  plan.assign(tiny);
  CHECK(plan.pieces().size() == 10000);
  CHECK(plan.item_count() == 1);
  CHECK(plan.has(Dtype::f32));
  const Tensor large = of(1 << 20, Dtype::bf16);
  plan.assign({&large, 1});
  CHECK(plan.has(Dtype::bf16));
  CHECK_FALSE(plan.has(Dtype::f32));
  CHECK(plan.pieces().size() == 64);
  CHECK(plan.item_count() == 8);
  plan.assign({});
  CHECK_FALSE(plan.has(Dtype::bf16));
  CHECK(plan.item_count() == 0);
  CHECK(plan.pieces().empty());
}

TEST_CASE("an item has as many pieces as are asked for, however large they are") {
  Plan plan({.piece_bytes = 512, .item_bytes = 512, .item_pieces = 4});
  const Tensor doubles = of(64 * 9, Dtype::f64);
  plan.assign({&doubles, 1});
  REQUIRE(plan.item_count() == 3);
  CHECK(plan.item(0).size() == 4);
  CHECK(plan.item(1).size() == 4);
  CHECK(plan.item(2).size() == 1);
  const Tensor bytes = of(64 * 9, Dtype::f8_e5m2);
  Plan small({.piece_bytes = 64, .item_bytes = 512, .item_pieces = 4});
  small.assign({&bytes, 1});
  REQUIRE(small.item_count() == 2);
  CHECK(small.item(0).size() == 8);
}

TEST_CASE("a plan takes other addresses for the same shape and refuses another shape") {
  Plan plan({.piece_bytes = 128, .item_bytes = 512});
  std::vector<Tensor> tensors = {of(5, Dtype::f32), of(7, Dtype::f64), of(65, Dtype::f16)};
  plan.assign(tensors);
  tensors[1].data = memory + 8;
  tensors[2].data = memory + 64;
  CHECK(plan.rebind(tensors));
  CHECK(plan.tensors()[1].data == memory + 8);
  CHECK(plan.pieces()[0].data == memory);
  CHECK(plan.pieces()[1].data == memory + 8);
  CHECK(plan.pieces()[3].data == memory + 64 + 128);
  tensors[0].data = memory + 16;
  tensors[1].count = 8;
  CHECK_FALSE(plan.rebind(tensors));
  tensors[1] = of(7, Dtype::bf16);
  CHECK_FALSE(plan.rebind(tensors));
  CHECK_FALSE(plan.rebind({tensors.data(), 1}));
  CHECK(plan.tensors()[0].data == memory);
  CHECK(plan.pieces()[0].data == memory);
}

TEST_CASE("tensors that no pass may touch are found") {
  const auto defect_of = [](Tensor tensor, Use use) {
    const Tensor list[] = {of(1, Dtype::f32), tensor};
    const auto found = find_defect(list, use);
    REQUIRE(found);
    CHECK(found->index == 1);
    CHECK(std::string(describe(found->defect)) != "");
    return found->defect;
  };
  CHECK(defect_of(of(1, Dtype{0}), Use::read) == Defect::unknown_dtype);
  CHECK(defect_of(of(1, Dtype{7}), Use::read) == Defect::unknown_dtype);
  CHECK(defect_of(of(1, Dtype::f8_e4m3fn), Use::write) == Defect::unsupported_dtype);
  CHECK(defect_of({nullptr, 1, Dtype::f32, 0}, Use::read) == Defect::null_data);
  CHECK(defect_of({memory + 2, 1, Dtype::f32, 0}, Use::read) == Defect::misaligned);
  CHECK(defect_of({memory + 1, 1, Dtype::bf16, 0}, Use::read) == Defect::misaligned);
  CHECK(defect_of(of(std::uint64_t{1} << 62, Dtype::f32), Use::read) == Defect::too_large);
  CHECK(defect_of(of(~std::uint64_t{0}, Dtype::f8_e5m2), Use::read) == Defect::too_large);
  const Tensor fine[] = {of(1, Dtype::f8_e4m3fn), {nullptr, 0, Dtype::f32, 0}, {memory + 2, 3, Dtype::f16, 0}};
  CHECK_FALSE(find_defect(fine, Use::read));
}

TEST_CASE("outputs that do not fit their inputs are found") {
  const Tensor inputs[] = {of(4, Dtype::f32), of(4, Dtype::f16)};
  const Tensor fewer[] = {of(4, Dtype::f32), of(3, Dtype::f16)};
  const Tensor fp8[] = {of(4, Dtype::f32), of(4, Dtype::f8_e5m2)};
  const Tensor casts[] = {of(4, Dtype::bf16), of(4, Dtype::f64)};
  CHECK(find_output_defect(inputs, fewer)->defect == Defect::different_count);
  CHECK(find_output_defect(inputs, {casts, 1})->defect == Defect::different_count);
  CHECK(find_output_defect(inputs, fp8)->defect == Defect::unsupported_dtype);
  CHECK(find_output_defect(fp8, inputs)->defect == Defect::unsupported_dtype);
  CHECK_FALSE(find_output_defect(inputs, casts));
}
