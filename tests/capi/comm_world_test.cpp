// A state that one number of ranks saved goes on with another, by way of a file.
#include <functional>
#include <memory>
#include <string>

#include "tests/capi/exchange.hpp"
#include "tests/capi/fp8_ranks.hpp"
#include "tests/capi/fp8_sums.hpp"
#include "tests/capi/ranks.hpp"
#include "tests/capi/scratch.hpp"
#include "tests/capi/trained.hpp"
#include "tests/catch.hpp"

using namespace tare::test;

namespace {

constexpr std::size_t parts = 16;  // of a step's gradients, however many ranks share them

constexpr const char* files[] = {"state.json", "state.h5", "many.json", "many.h5"};

/// What a run's next start has of it: `many`, a file of several states, or one of its own.
tare_state* through_file(const tare_state* state, const Scratch& folder, const std::string& name) {
  const std::string path = folder.path(name);
  tare_state* read = nullptr;
  if (!name.starts_with("many")) {
    REQUIRE(tare_state_write(state, path.c_str(), nullptr, nullptr) == TARE_OK);
    REQUIRE(tare_state_read(&read, path.c_str(), nullptr) == TARE_OK);
    return read;
  }
  tare_states* states = nullptr;
  REQUIRE(tare_states_create(&states, nullptr) == TARE_OK);
  REQUIRE(tare_states_add(states, "another", state, nullptr) == TARE_OK);
  REQUIRE(tare_states_add(states, "it", state, nullptr) == TARE_OK);
  REQUIRE(tare_states_write(states, path.c_str(), nullptr) == TARE_OK);
  tare_states_destroy(states);
  REQUIRE(tare_states_read(&states, path.c_str(), nullptr) == TARE_OK);
  REQUIRE(tare_states_get(&read, states, "it", nullptr) == TARE_OK);
  tare_states_destroy(states);
  return read;
}

/// One configuration of every policy that overflows drive.
std::vector<std::string> policies_of_overflows() {
  tare_text* text = nullptr;
  REQUIRE(tare_policies(&text, nullptr) == TARE_OK);
  const json told = json::parse(tare_text_data(text));
  tare_text_destroy(text);
  std::vector<std::string> all;
  for (const json& policy : told["policies"]) {
    if (policy["driver"] != "overflow") continue;
    json config{{"policy", policy["policy"]}};
    if (policy["variant"].is_string()) config["variant"] = policy["variant"];
    for (const json& parameter : policy["parameters"]) {
      const bool is_list = parameter["type"] == "list of int32";
      if (parameter["role"] == "window" && !is_list) config["window"] = 5;
    }
    all.push_back(config.dump());
  }
  return all;
}

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
    const std::size_t steps_each = steps.size() / 2;
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

TEST_CASE("what any of eight ranks saved goes on with four and with sixteen as with one, whatever the policy") {
  const Scratch folder;
  const std::vector<std::string> policies = policies_of_overflows();
  CHECK(policies.size() > 20);
  for (std::size_t i = 0; i < policies.size(); ++i) {
    INFO(policies[i]);
    const char* const config = policies[i].c_str();
    std::vector<Step> steps = random_steps(160, parts);
    steps[steps.size() / 2].way = 0;  // others tell of the step before, which is no part of a state
    Trained alone(config, parts);
    std::vector<std::string> expected;
    for (const Step& step : steps) {
      fill(alone, step, 0, parts);
      expected.push_back(make(alone, step, std::ranges::any_of(step.reported, std::identity{})));
    }
    World eight(8, config);
    CHECK(eight.different(steps, 0, expected) == 0);
    for (const std::size_t ranks : {std::size_t{4}, std::size_t{16}, std::size_t{1}}) {
      const std::string file = files[(i + ranks / 4) % std::size(files)];
      INFO(ranks << " ranks by " << file);
      tare_state* saved = eight.saved_by((i + ranks) % 8);
      tare_state* state = through_file(saved, folder, file);
      World other(ranks, config);
      other.load(state);
      tare_state_destroy(state);
      tare_state_destroy(saved);
      CHECK(other.different(steps, steps.size() / 2, expected) == 0);
    }
    const json statistics = json::parse(alone.text(tare_scaler_statistics));
    INFO(statistics.dump());
    if (policies[i].find("none") == std::string::npos) CHECK(statistics["skipped"] > 5);
  }
}

TEST_CASE("FP8 slots that eight ranks saved, FP8-LM's mu among them, go on with four and with sixteen as with one") {
  constexpr std::size_t steps_each = 500;
  const Scratch folder;
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
    tare_state* saved = nullptr;
    for (const std::size_t ranks : {std::size_t{8}, std::size_t{4}, std::size_t{16}}) {
      INFO(ranks);
      const std::size_t begin = saved == nullptr ? 0 : steps_each;
      Meeting meeting(ranks);
      tare_comm* comm = meeting.comm();
      std::vector<std::unique_ptr<SlotsOfRank>> all;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        all.push_back(std::make_unique<SlotsOfRank>(policy));
        if (saved == nullptr) continue;
        tare_state* state = through_file(saved, folder, files[rank % std::size(files)]);
        REQUIRE(tare_fp8_load(all.back()->get(), state, nullptr, nullptr) == TARE_OK);
        tare_state_destroy(state);
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
      if (saved == nullptr) REQUIRE(tare_fp8_save(&saved, all[5]->get(), nullptr, nullptr) == TARE_OK);
      tare_comm_destroy(comm);
    }
    tare_state_destroy(saved);
    CHECK(expected[steps_each - 1] != expected.back());
  }
}

namespace {

/// Steps of ranks that sum gradients in fp8, beside what the formats say of them; how many went otherwise. What the
/// slots are then, and what is expected of them, is in `last`, which they begin from if it is there.
std::size_t different_sums(std::size_t ranks, const std::string& policy, std::unique_ptr<SumSlots>& last,
                           const std::function<tare_state*(std::size_t rank)>& loaded) {
  Exchange exchange(ranks);
  std::vector<std::unique_ptr<SumSlots>> all;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    all.push_back(std::make_unique<SumSlots>(policy));
    if (last == nullptr) continue;
    tare_state* state = loaded(rank);
    REQUIRE(tare_fp8_load(all.back()->get(), state, nullptr, nullptr) == TARE_OK);
    tare_state_destroy(state);
    all.back()->expect_as(*last, ranks);
  }
  std::vector<std::size_t> different(ranks);
  on_ranks(ranks, [&](std::size_t rank) {
    tare_comm* comm = exchange.comm(rank);
    different[rank] += tare_fp8_set_comm(all[rank]->get(), comm, nullptr) == TARE_OK ? 0 : 1;
    tare_comm_destroy(comm);
    for (std::size_t step = 0; step < 12; ++step) different[rank] += all[rank]->step(step, rank, ranks) ? 0 : 1;
  });
  if (last == nullptr) last = std::move(all[ranks / 2]);
  std::size_t sum = 0;
  for (const std::size_t of_rank : different) sum += of_rank;
  return sum;
}

}  // namespace

TEST_CASE("gradients in fp8 go on with four and with sixteen ranks by the mu that eight saved, or by 1 / sqrt(ranks)") {
  const Scratch folder;
  const std::string policy = GENERATE("fp8_lm", "fp8_static", "msamp");
  std::unique_ptr<SumSlots> eight;
  CHECK(different_sums(8, policy, eight, nullptr) == 0);
  tare_state* saved = nullptr;
  REQUIRE(tare_fp8_save(&saved, eight->get(), nullptr, nullptr) == TARE_OK);
  if (policy == "fp8_lm") CHECK(eight->least_mu < 0.6);
  for (const std::size_t ranks : {std::size_t{4}, std::size_t{16}, std::size_t{1}}) {
    INFO(ranks);
    CHECK(different_sums(ranks, policy, eight, [&](std::size_t rank) {
            return through_file(saved, folder, files[rank % std::size(files)]);
          }) == 0);
  }
  tare_state_destroy(saved);
}
