// A state that one number of ranks saved goes on with another.
#include <functional>
#include <memory>
#include <string>

#include "tests/capi/fp8_ranks.hpp"
#include "tests/capi/ranks.hpp"
#include "tests/capi/trained.hpp"
#include "tests/catch.hpp"

using namespace tare::test;

namespace {

constexpr std::size_t parts = 16;  // of a step's gradients, however many ranks share them
constexpr std::size_t steps_each = 500;

/// `parts` gradients on `ranks` ranks, as many on each.
struct World {
  explicit World(std::size_t ranks, const char* config) : meeting(ranks) {
    tare_comm* comm = meeting.comm();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      all.push_back(std::make_unique<Trained>(config, parts / ranks));
      REQUIRE(tare_scaler_set_comm(all.back()->scaler, comm, nullptr, nullptr) == TARE_OK);
    }
    tare_comm_destroy(comm);
  }

  /// How many steps of which rank differ from what one process told of them.
  std::size_t different(const std::vector<Step>& steps, std::size_t begin, const std::vector<std::string>& expected) {
    std::vector<std::size_t> counts(all.size(), 0);
    on_ranks(all.size(), [&](std::size_t rank) {
      const std::size_t own = parts / all.size();
      for (std::size_t i = 0; i < steps_each; ++i) {
        const Step& step = steps[begin + i];
        fill(*all[rank], step, rank * own, own);
        bool reported = false;
        for (std::size_t part = 0; part < own; ++part) reported = reported || step.reported[rank * own + part];
        counts[rank] += make(*all[rank], step, reported) != expected[begin + i] ? 1 : 0;
      }
    });
    std::size_t sum = 0;
    for (const std::size_t count : counts) sum += count;
    return sum;
  }

  tare_state* saved_by(std::size_t rank) {
    tare_state* state = nullptr;
    REQUIRE(tare_scaler_save(&state, all[rank]->scaler, nullptr, nullptr) == TARE_OK);
    return state;
  }
  void load(const tare_state* state) {
    for (const auto& one : all) REQUIRE(tare_scaler_load(one->scaler, state, nullptr, nullptr) == TARE_OK);
  }

  Meeting meeting;
  std::vector<std::unique_ptr<Trained>> all;
};

}  // namespace

TEST_CASE("what any of eight ranks saved goes on with four and with sixteen as with one") {
  const char* const config = R"({"policy":"megatron","initial_scale":65536,"growth_interval":7,"hysteresis":2})";
  const std::vector<Step> steps = random_steps(2 * steps_each, parts);
  Trained alone(config, parts);
  std::vector<std::string> expected;
  for (const Step& step : steps) {
    fill(alone, step, 0, parts);
    expected.push_back(make(alone, step, std::ranges::any_of(step.reported, std::identity{})));
  }
  World eight(8, config);
  CHECK(eight.different(steps, 0, expected) == 0);
  for (const std::size_t ranks : {std::size_t{4}, std::size_t{16}, std::size_t{1}}) {
    INFO(ranks);
    tare_state* state = eight.saved_by(ranks % 8);
    World other(ranks, config);
    other.load(state);
    tare_state_destroy(state);
    CHECK(other.different(steps, steps_each, expected) == 0);
  }
  CHECK(expected[steps_each] != expected.back());
}

TEST_CASE("FP8 slots that eight ranks saved, FP8-LM's mu among them, go on with four and with sixteen as with one") {
  for (const char* policy : fp8_policies) {
    INFO(policy);
    SlotsOfRank alone(policy);
    RandomValues random;
    std::vector<std::vector<RankValues>> values;
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < 2 * steps_each; ++i) {
      values.push_back(random.next(parts));
      for (const RankValues& part : values.back()) alone.look_at(part);
      alone.update();
      expected.push_back(alone.told());
    }
    tare_state* state = nullptr;
    for (const std::size_t ranks : {std::size_t{8}, std::size_t{4}, std::size_t{16}}) {
      INFO(ranks);
      const std::size_t begin = state == nullptr ? 0 : steps_each;
      Meeting meeting(ranks);
      tare_comm* comm = meeting.comm();
      std::vector<std::unique_ptr<SlotsOfRank>> all;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        all.push_back(std::make_unique<SlotsOfRank>(policy));
        if (state != nullptr) REQUIRE(tare_fp8_load(all.back()->get(), state, nullptr, nullptr) == TARE_OK);
      }
      std::vector<std::size_t> different(ranks, 0);
      on_ranks(ranks, [&](std::size_t rank) {
        different[rank] += tare_fp8_set_comm(all[rank]->get(), comm, nullptr) != TARE_OK ? 1 : 0;
        for (std::size_t i = begin; i < begin + steps_each; ++i) {
          for (std::size_t part = rank; part < parts; part += ranks) all[rank]->look_at(values[i][part]);
          different[rank] += all[rank]->update() != TARE_OK || all[rank]->told() != expected[i] ? 1 : 0;
        }
      });
      CHECK(different == std::vector<std::size_t>(ranks, 0));
      if (state == nullptr) REQUIRE(tare_fp8_save(&state, all[5]->get(), nullptr, nullptr) == TARE_OK);
      tare_comm_destroy(comm);
    }
    tare_state_destroy(state);
    CHECK(expected[steps_each - 1] != expected.back());
  }
}
