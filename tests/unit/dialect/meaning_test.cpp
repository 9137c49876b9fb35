// What a state means: the next growth, what is sick, how a role that is not stored is set.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/dialect/found.hpp"
#include "lib/dialect/frameworks/frameworks.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

FoundScaler scaler_of(const Dialect& dialect, std::initializer_list<std::pair<Role, double>> values) {
  FoundScaler scaler;
  scaler.dialect = &dialect;
  scaler.path = "scaler";
  for (const auto& [role, value] : values) {
    const bool is_whole = std::isfinite(value) && value == std::floor(value) && role != Role::scale;
    Value held = is_whole ? Value{Integer{static_cast<std::int64_t>(value), {}}, "int"} : Value{value, "float"};
    scaler.fields.push_back({std::string(name(role)), role, std::move(held), nowhere, true});
  }
  return scaler;
}

/// A framework's own test for growth at a clean step, as lib/dialect/found.hpp's Growth states it.
using GrowsAt = bool (*)(std::int64_t step, std::int64_t last, std::int64_t interval);

std::int64_t clean_steps_until_growth(GrowsAt grows, std::int64_t step, std::int64_t last, std::int64_t interval) {
  for (std::int64_t n = 1;; ++n, ++step) {
    if (grows(step, last, interval)) return n;
  }
}

std::vector<std::string> codes(const FoundScaler& scaler) {
  std::vector<std::string> found;
  for (const Finding& finding : judge(scaler)) {
    CHECK(finding.severity == Severity::warning);
    CHECK(finding.path == "scaler");
    found.push_back(finding.code);
  }
  return found;
}

using Codes = std::vector<std::string>;

}  // namespace

TEST_CASE("a counter that is compared with == grows when it has counted the interval, or never") {
  const auto outlook = [](double tracker, double interval) {
    return growth_outlook(scaler_of(torch_state, {{Role::growth_tracker, tracker}, {Role::growth_interval, interval}}));
  };
  CHECK(outlook(0, 2000).clean_steps == 2000);
  CHECK(outlook(1999, 2000).clean_steps == 1);
  CHECK(outlook(-1, 2000).clean_steps == 2001);
  CHECK_FALSE(outlook(2000, 2000).clean_steps);
  CHECK(outlook(2000, 2000).sentence == "no growth until an overflow: 2000 has been passed");
  CHECK_FALSE(outlook(5000, 2000).clean_steps);
  CHECK(outlook(1.5, 2000).sentence.empty());
}

TEST_CASE("rules that count from the last overflow are those of the frameworks, step by step") {
  struct Row {
    const Dialect* dialect;
    GrowsAt grows;
  };
  const Row rows[] = {
      {&apex_part, [](std::int64_t s, std::int64_t l, std::int64_t w) { return (s - l) % w == 0; }},
      {&deepspeed_part,
       [](std::int64_t s, std::int64_t l, std::int64_t w) { return s - l - 1 > 0 && (s - l - 1) % w == 0; }},
  };
  for (const Row& row : rows) {
    for (const std::int64_t interval : {1, 2, 3, 1000}) {
      for (std::int64_t step = 0; step < 12; ++step) {
        for (std::int64_t last = -1; last < step; ++last) {
          INFO(row.dialect->framework << " step " << step << " last " << last << " interval " << interval);
          const auto outlook =
              growth_outlook(scaler_of(*row.dialect, {{Role::dynamic, 1},
                                                      {Role::step, static_cast<double>(step)},
                                                      {Role::last_overflow_step, static_cast<double>(last)},
                                                      {Role::growth_interval, static_cast<double>(interval)}}));
          CHECK(outlook.clean_steps == clean_steps_until_growth(row.grows, step, last, interval));
        }
      }
    }
  }
}

TEST_CASE("where the releases differ and nothing tells which it was, both are told") {
  const auto outlook = growth_outlook(
      scaler_of(deepspeed_object, {{Role::step, 9}, {Role::last_overflow_step, 3}, {Role::growth_interval, 4}}));
  CHECK(outlook.sentence == "next growth after 4 clean steps (3 up to DeepSpeed 0.17.0)");
}

namespace {

/// DeepSpeed's pickled scaler in a file of the release that says so.
FoundScaler saved_by_deepspeed(std::string_view release) {
  MadeTree made;
  const NodeId scaler = made.object("deepspeed.runtime.fp16.loss_scaler", "DynamicLossScaler",
                                    made.map({{"cur_scale", made.number(4096.0)},
                                              {"cur_iter", made.integer(9)},
                                              {"last_overflow_iter", made.integer(3)},
                                              {"scale_window", made.integer(4)}}));
  made.tree.root =
      made.map({{"optimizer_state_dict", made.map({{"loss_scaler", scaler}})}, {"ds_version", made.text(release)}});
  std::vector<Finding> findings;
  const auto scalers = find_scalers(made.tree, {"zero_pp_rank_0_mp_rank_00_optim_states.pt"}, findings);
  REQUIRE(scalers.size() == 1);
  return scalers.front();
}

}  // namespace

TEST_CASE("DeepSpeed's next growth is that of the release that saved the scaler") {
  for (const std::string_view older : {"0.17.0", "0.16.9+unknown", "0.9.5", "0.4.0"}) {
    const FoundScaler scaler = saved_by_deepspeed(older);
    INFO(older);
    CHECK(growth_outlook(scaler).clean_steps == 3);
    CHECK(growth_outlook(scaler).sentence == "next growth after 3 clean steps (4 after DeepSpeed 0.17.0)");
    CHECK(grows_otherwise(scaler).value_or("").starts_with("saved by DeepSpeed 0.17.0 or an older release"));
  }
  for (const std::string_view newer : {"0.17.1", "0.19.8", "1.0"}) {
    const FoundScaler scaler = saved_by_deepspeed(newer);
    INFO(newer);
    CHECK(growth_outlook(scaler).sentence == "next growth after 4 clean steps");
    CHECK_FALSE(grows_otherwise(scaler));
  }
  CHECK(growth_outlook(saved_by_deepspeed("main")).sentence ==
        "next growth after 4 clean steps (3 up to DeepSpeed 0.17.0)");
  CHECK(grows_otherwise(saved_by_deepspeed("main")).value_or("").starts_with("nothing tells which release saved it"));
}

TEST_CASE("a static scale does not grow, and an interval that is not stored is not guessed") {
  CHECK(growth_outlook(scaler_of(deepspeed_part, {{Role::dynamic, 0}, {Role::step, 3}})).sentence ==
        "static: the scale does not move");
  const auto megatron = growth_outlook(scaler_of(megatron_state, {{Role::growth_tracker, 1}}));
  CHECK_FALSE(megatron.clean_steps);
  CHECK(megatron.sentence == "1 clean step counted; Megatron takes its window from --loss-scale-window.");
  CHECK(growth_outlook(scaler_of(fairseq_part, {{Role::scale, 128}})).sentence.empty());
}

TEST_CASE("a pickled scaler that counts steps moves, whatever its attribute says; one without counters does not") {
  const auto moving =
      scaler_of(deepspeed_object,
                {{Role::dynamic, 0}, {Role::step, 9}, {Role::last_overflow_step, 3}, {Role::growth_interval, 4}});
  CHECK(growth_outlook(moving).clean_steps == 4);
  CHECK(growth_outlook(scaler_of(deepspeed_object, {{Role::scale, 8}, {Role::dynamic, 0}})).sentence ==
        "static: the scale does not move");
}

TEST_CASE("an interval that was saved as configuration counts as one that is stored") {
  FoundScaler scaler = scaler_of(megatron_state, {{Role::growth_tracker, 12}});
  scaler.configuration.push_back({"growth_interval", "args.loss_scale_window", Value{40.0, "float"}});
  CHECK(growth_outlook(scaler).clean_steps == 28);
  CHECK(codes(scaler).empty());
  scaler.configuration.front().value = Value{12.0, "float"};
  CHECK_FALSE(growth_outlook(scaler).clean_steps);
  CHECK(codes(scaler) == Codes{"tracker-past-interval"});
}

TEST_CASE("a window that no framework could use gives no outlook, and no trap") {
  for (const double interval : {0.0, -3.0, 0x1p60, std::numeric_limits<double>::quiet_NaN()}) {
    const auto state =
        scaler_of(apex_part, {{Role::step, 5}, {Role::last_overflow_step, -1}, {Role::growth_interval, interval}});
    CHECK_FALSE(growth_outlook(state).clean_steps);
  }
}

TEST_CASE("a scale is sick where no step can use it") {
  const auto of = [](double scale) { return codes(scaler_of(fairseq_part, {{Role::scale, scale}})); };
  CHECK(of(65536.0).empty());
  CHECK(of(1.0).empty());
  CHECK(of(3.4028234663852886e38).empty());
  CHECK(of(0.5) == Codes{"scale-below-one"});
  CHECK(of(0.0) == Codes{"scale-zero"});
  CHECK(of(-2.0) == Codes{"scale-negative"});
  CHECK(of(1e39) == Codes{"scale-beyond-float32"});
  CHECK(of(std::numeric_limits<double>::infinity()) == Codes{"scale-not-finite"});
  CHECK(of(std::numeric_limits<double>::quiet_NaN()) == Codes{"scale-not-finite"});
}

TEST_CASE("a tracker at its interval is sick only where it is compared with ==") {
  const auto of = [](const Dialect& dialect, double tracker) {
    return codes(scaler_of(dialect, {{Role::growth_tracker, tracker}, {Role::growth_interval, 2000}}));
  };
  CHECK(of(torch_state, 1999).empty());
  CHECK(of(torch_state, 2000) == Codes{"tracker-past-interval"});
  CHECK(of(nemo_state, 5000) == Codes{"tracker-past-interval"});
  CHECK(of(apex_part, 5000).empty());
  CHECK(judge(scaler_of(torch_state, {{Role::growth_tracker, 5000}, {Role::growth_interval, 2000}}))[0].message ==
        "growth tracker 5000 has reached the interval 2000: PyTorch's GradScaler compares with ==, so the scale cannot "
        "grow before the next overflow");
}

TEST_CASE("a scale outside its own bounds is told, with the bound") {
  const auto of = [](double scale) {
    return codes(scaler_of(apex_part, {{Role::scale, scale}, {Role::min_scale, 128}, {Role::max_scale, 65536}}));
  };
  CHECK(of(128).empty());
  CHECK(of(65536).empty());
  CHECK(of(64) == Codes{"scale-below-minimum"});
  CHECK(of(131072) == Codes{"scale-above-maximum"});
  CHECK(of(0) == Codes{"scale-zero"});
  CHECK(judge(scaler_of(apex_part, {{Role::scale, 64}, {Role::min_scale, 128}}))[0].message ==
        "scale 64.0 is below the minimum 128.0, to which the next back-off raises it");
}

TEST_CASE("a flag that says static is told where the class moves the scale all the same") {
  CHECK(codes(scaler_of(deepspeed_object, {{Role::dynamic, 0}, {Role::step, 5}})) == Codes{"dynamic-without-effect"});
  CHECK(codes(scaler_of(deepspeed_object, {{Role::dynamic, 1}, {Role::step, 5}})).empty());
  CHECK(codes(scaler_of(deepspeed_object, {{Role::dynamic, 0}})).empty());  // a pickled LossScaler
  CHECK(codes(scaler_of(deepspeed_part, {{Role::dynamic, 0}, {Role::step, 5}})).empty());
}

TEST_CASE("a flag that says dynamic is told where the class never moves the scale") {
  const FoundScaler pickled = scaler_of(deepspeed_object, {{Role::scale, 1024}, {Role::dynamic, 1}});
  CHECK(is_static(pickled));
  CHECK(codes(pickled) == Codes{"dynamic-without-effect"});
  CHECK(
      judge(pickled)[0].message.starts_with("dynamic is true, and DeepSpeed's ZeRO loss scaler never moves the scale"));
  CHECK(is_static(scaler_of(deepspeed_object, {{Role::scale, 1024}})));  // older than the flag
  CHECK_FALSE(is_static(scaler_of(apex_amp_object, {{Role::scale, 1024}, {Role::dynamic, 1}})));
}

TEST_CASE("a flag that says dynamic is told where what a load asks for then is not there") {
  for (const Dialect* dialect : {&deepspeed_part, &apex_part}) {
    FoundScaler scaler = scaler_of(*dialect, {{Role::scale, 1024}, {Role::dynamic, 1}, {Role::step, 5}});
    CHECK(codes(scaler) == Codes{"dynamic-keys-missing"});
    for (const std::string_view needed : dialect->needed_when_dynamic) {
      CHECK_THAT(judge(scaler).at(0).message, Catch::Contains(std::string(needed)));
      scaler.fields.push_back({std::string(needed), {}, Value{Integer{5, {}}, "int"}, nowhere, true});
    }
    CHECK(codes(scaler).empty());
    CHECK(codes(scaler_of(*dialect, {{Role::scale, 1024}, {Role::dynamic, 0}, {Role::step, 5}})).empty());
  }
}

TEST_CASE("factors and intervals that cannot work are told, and those that can are not") {
  const auto of = [](Role role, double value) { return codes(scaler_of(torch_state, {{role, value}})); };
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double factor : {1.0, 0.5, 0.0, -2.0, infinity, nan}) {
    CHECK(of(Role::growth_factor, factor) == Codes{"growth-factor-too-small"});
  }
  for (const double factor : {1.0, 2.0, 0.0, -0.5, infinity, nan}) {
    CHECK(of(Role::backoff_factor, factor) == Codes{"backoff-factor-out-of-range"});
  }
  for (const double interval : {0.0, -3.0, 0.5, nan}) {
    CHECK(of(Role::growth_interval, interval) == Codes{"interval-not-positive"});
  }
  CHECK(of(Role::growth_factor, 1.001).empty());
  CHECK(of(Role::backoff_factor, 0.999).empty());
  CHECK(of(Role::backoff_factor, 0.001).empty());
  CHECK(of(Role::growth_interval, 1).empty());
}

TEST_CASE("one value that is kept twice is told where the two differ") {
  const auto of = [](double scale, double loss_scale) {
    return codes(scaler_of(mindformers_adaptive_cell, {{Role::scale, scale}, {Role::scale, loss_scale}}));
  };
  CHECK(of(1024, 1024).empty());
  CHECK(of(1024, 2048) == Codes{"fields-disagree"});
}

TEST_CASE("for every role that a dialect does not store there is a sentence") {
  for (const Dialect* dialect : dialects()) {
    for (const RoleFacts& role : roles()) {
      INFO(dialect->framework << ": " << role.name);
      const auto stores = [&](const FieldRule& rule) { return rule.role == role.role; };
      if (std::any_of(dialect->fields.begin(), dialect->fields.end(), stores)) continue;
      CHECK(how_it_is_set(*dialect, role.role).ends_with('.'));
    }
  }
  CHECK(how_it_is_set(megatron_state, Role::growth_interval) == "Megatron takes its window from --loss-scale-window.");
  CHECK(how_it_is_set(fairseq_part, Role::step) == "fairseq has none: steps made.");
}
