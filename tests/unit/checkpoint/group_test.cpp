// Copies of one scaler in the files of many ranks: which are one state.
#include "lib/checkpoint/group.hpp"

#include <array>
#include <bit>
#include <vector>

#include "lib/dialect/dialect.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

constexpr std::size_t many = 40;  // more than are held against each other one by one

template <typename Number>
Field array(std::string_view type, const std::vector<Number>& numbers) {
  Bytes bytes;
  for (const Number& number : numbers) {
    const auto one = std::bit_cast<std::array<std::byte, sizeof number>>(number);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  Field field;
  field.name = "amax_history";
  field.value = {PackedArray{element_type(type), {std::ssize(numbers)}, std::move(bytes)}, "a tensor"};
  return field;
}

Field number(double value) {
  Field field;
  field.name = "scale";
  field.value = {value, "float"};
  return field;
}

/// The ranks' states, each with one field -> the distinct ones.
template <typename Make>
std::vector<Scaler> grouped(const Make& field_of, std::vector<Finding>& findings) {
  CopyGroups groups;
  std::vector<CheckpointFile> files(many);
  for (std::size_t rank = 0; rank < many; ++rank) {
    files[rank].path = "mp_rank_" + std::string(rank < 10 ? "0" : "") + std::to_string(rank) + "/model_optim_rng.pt";
    FoundScaler state;
    state.dialect = dialects().front();
    state.fields = {field_of(rank)};
    groups.add(std::move(state), {rank, {rank}}, files[rank].path);
  }
  return groups.take(files, findings);
}

template <typename Make>
std::size_t distinct(const Make& field_of) {
  std::vector<Finding> findings;
  const std::vector<Scaler> scalers = grouped(field_of, findings);
  CHECK(findings.size() == (scalers.size() > 1 ? 1 : 0));
  std::size_t copies = 0;
  for (const Scaler& scaler : scalers) copies += scaler.copies.size();
  CHECK(copies == many);
  return scalers.size();
}

}  // namespace

TEST_CASE("of many ranks' states each that differs is one of its own, and those that are alike are one") {
  CHECK(distinct([](std::size_t) { return number(1); }) == 1);
  CHECK(distinct([](std::size_t rank) { return number(static_cast<double>(rank)); }) == many);
  CHECK(distinct([](std::size_t rank) { return number(static_cast<double>(rank % 20)); }) == 20);
  CHECK(distinct([](std::size_t rank) { return number(rank % 2 == 0 ? 0.0 : -0.0); }) == 2);
}

TEST_CASE("every NaN is the same to many ranks, whatever its bits are, in a field and in an array") {
  const auto nan = [](std::size_t rank) {
    return std::bit_cast<double>(0x7ff8000000000000 | std::uint64_t{rank % 2} << 63 | rank);
  };
  CHECK(distinct([&](std::size_t rank) { return number(nan(rank)); }) == 1);
  CHECK(distinct([&](std::size_t rank) { return array<double>("float64", {1, nan(rank)}); }) == 1);
  // Half of the ranks are 20 states, before and behind which the NaNs come.
  CHECK(distinct([&](std::size_t rank) {
          return array<double>("float64", {rank % 2 == 0 ? 1.0 : static_cast<double>(rank), nan(rank)});
        }) == 1 + many / 2 - 1);
}

TEST_CASE("arrays of many ranks that hold no numbers are told apart by their bytes") {
  using Complex = std::array<float, 2>;
  CHECK(distinct([](std::size_t rank) {
          return array<Complex>("complex64", {Complex{1, 2}, Complex{static_cast<float>(rank), 0}});
        }) == many);
  CHECK(distinct([](std::size_t rank) {
          return array<Complex>("complex64", {Complex{1, 2}, Complex{static_cast<float>(rank % 20), 0}});
        }) == 20);
  CHECK(distinct([](std::size_t) { return array<Complex>("complex64", {}); }) == 1);
}

TEST_CASE("lists of many ranks are told apart by what is in them") {
  const auto list = [](double last) {
    Field field;
    field.name = "scales";
    field.value = {ValueList{{1.0, "float"}, {last, "float"}}, "list"};
    return field;
  };
  CHECK(distinct([&](std::size_t) { return list(2); }) == 1);
  CHECK(distinct([&](std::size_t rank) { return list(static_cast<double>(rank)); }) == many);
}

TEST_CASE("of ranks that disagree it is told in what, where, and what more than half of them have") {
  const auto told = [](const auto& field_of) {
    std::vector<Finding> findings;
    grouped(field_of, findings);
    REQUIRE(findings.size() == 1);
    return findings[0].message;
  };
  const auto scale = [](double value) {
    Field field = number(value);
    field.role = Role::scale;
    return field;
  };
  CHECK(told([&](std::size_t rank) { return scale(rank == 7 ? 2 : 1); }) ==
        "rank files disagree, in scale first: scale 1.0 in mp_rank_00/model_optim_rng.pt and 38 more; scale 2.0 in "
        "mp_rank_07/model_optim_rng.pt; the majority, 39 of 40, has scale 1.0");
  CHECK(told([&](std::size_t rank) { return scale(rank < 20 ? 2 : 1); }) ==
        "rank files disagree, in scale first: scale 2.0 in mp_rank_00/model_optim_rng.pt and 19 more; scale 1.0 in "
        "mp_rank_20/model_optim_rng.pt and 19 more");
  const std::string all = told([&](std::size_t rank) { return scale(rank < 21 ? 99 : static_cast<double>(rank)); });
  CHECK(all.ends_with("; 16 other states; the majority, 21 of 40, has scale 99.0"));
  CHECK(told([&](std::size_t rank) {
          return rank == 0 ? number(1) : array<float>("float32", {1, 2});
        }) ==
        "rank files disagree, in scale first: scale none in mp_rank_00/model_optim_rng.pt; scale none in "
        "mp_rank_01/model_optim_rng.pt and 38 more; the majority, 39 of 40, has scale none");
}
