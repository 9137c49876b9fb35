// How a list becomes work: every element once, even pieces side by side, long ones first.
#include <algorithm>
#include <map>
#include <random>

#include "kernels/fold.hpp"
#include "kernels/work_list.hpp"
#include "tests/catch.hpp"

using namespace tare;
using namespace tare::kernels;

namespace {

alignas(64) unsigned char memory[64];

Tensor of(std::uint64_t count, Dtype dtype) {
  return {memory, count, dtype, 0};
}

std::vector<Tensor> random_tensors(std::mt19937_64& random, std::size_t count) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t most[] = {1, 5, 100, 40000, 300000};
    tensors.push_back(of(random() % most[random() % 5], static_cast<Dtype>(1 + random() % 6)));
  }
  return tensors;
}

}  // namespace

TEST_CASE("every element of a random list is in exactly one piece, and every piece has a number of its own") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    const std::vector<Tensor> tensors = random_tensors(random, random() % 300);
    WorkList work;
    work.assign(tensors);
    std::vector<std::map<std::uint64_t, std::uint32_t>> covered(tensors.size());
    std::vector<int> numbers(work.pieces().size(), 0);
    for (const WorkPiece& piece : work.pieces()) {
      REQUIRE(piece.found < numbers.size());
      ++numbers[piece.found];
      const auto size = static_cast<std::uint64_t>(size_of(tensors[piece.tensor].dtype));
      const std::uint64_t most = (size <= 2 ? 32768 : 65536) / size;
      CHECK(piece.count <= most);
      CHECK(piece.offset % most == 0);
      covered[piece.tensor][piece.offset] = piece.count;
      const TensorPieces& run = work.tensor_pieces()[piece.tensor];
      CHECK(piece.found == run.first + piece.offset / most);
    }
    CHECK(std::ranges::count(numbers, 1) == static_cast<std::ptrdiff_t>(numbers.size()));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::uint64_t end = 0;
      for (const auto& [offset, count] : covered[i]) {
        CHECK(offset == end);
        end += count;
      }
      CHECK(end == tensors[i].count);
      CHECK(work.tensor_pieces()[i].pieces == covered[i].size());
    }
  }
}

TEST_CASE("segments hold one dtype each, longest pieces first: a piece is a block's, a warp's or a group's of lanes") {
  std::mt19937_64 random(2);
  const std::vector<Tensor> tensors = random_tensors(random, 500);
  WorkList work;
  work.assign(tensors);
  std::uint32_t piece = 0;
  std::uint32_t item = 0;
  for (const Segment& segment : work.segments()) {
    CHECK(segment.first_piece == piece);
    CHECK(segment.first_item == item);
    for (std::uint32_t i = 0; i < segment.pieces; ++i, ++piece) {
      CHECK(static_cast<std::int32_t>(tensors[work.pieces()[piece].tensor].dtype) == segment.dtype);
      if (i > 0) CHECK(work.pieces()[piece].count <= work.pieces()[piece - 1].count);
      const std::uint32_t groups = static_cast<std::uint32_t>(16 / size_of(static_cast<Dtype>(segment.dtype)));
      const std::uint32_t run = groups >= 8 ? 2048 : 512;
      const std::uint32_t runs = (work.pieces()[piece].count + run - 1) / run;
      CHECK(1u << segment.sharers_log2 == (runs > groups ? 8 * groups : runs > 1 ? groups : 1));
    }
    const std::uint32_t at_once = pieces_of_item(static_cast<Dtype>(segment.dtype), segment.sharers_log2);
    item += (segment.pieces + at_once - 1) / at_once;
  }
  CHECK(piece == work.pieces().size());
  CHECK(item == work.items());
}

TEST_CASE("ten thousand tiny tensors are 157 items, and one of 1.5 billion elements 11,721") {
  WorkList work;
  const std::vector<Tensor> tiny(10000, of(4, Dtype::f16));
  work.assign(tiny);
  CHECK(work.items() == 157);
  const Tensor large = of(1536066816, Dtype::bf16);
  work.assign({&large, 1});
  CHECK(work.pieces().size() == 93755);
  CHECK(work.items() == 11721);
}

TEST_CASE("other addresses of the same shape leave the work as it is") {
  std::vector<Tensor> tensors = {of(5, Dtype::f32), of(70000, Dtype::f64)};
  WorkList work;
  work.assign(tensors);
  const WorkPiece* pieces = work.pieces().data();
  tensors[1].data = memory + 8;
  CHECK(work.rebind(tensors));
  CHECK(work.tensors()[1].data == memory + 8);
  CHECK(work.pieces().data() == pieces);
  tensors[0].count = 6;
  CHECK_FALSE(work.rebind(tensors));
}
