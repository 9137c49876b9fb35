// tare_comm: ranks that reduce are as one process that saw the gradients of all.
#include <tare/tare.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "tests/capi/failing_memory.hpp"
#include "tests/capi/ranks.hpp"
#include "tests/catch.hpp"

using nlohmann::json;
using namespace tare::test;

namespace {

constexpr std::size_t ranks = 3;
constexpr std::size_t elements = 5;
constexpr auto infinity = std::numeric_limits<float>::infinity();

/// A scaler with a list of two tensors for each of `parts`, and where they are written.
struct Trained {
  tare_scaler* scaler = nullptr;
  tare_grads* grads = nullptr;
  std::vector<float> values;
  std::vector<double> wide;
  std::vector<float> written;
  std::vector<double> written_wide;

  Trained(const char* config, std::size_t parts)
      : values(parts * elements), wide(parts), written(parts * elements), written_wide(parts) {
    const std::vector<tare_tensor> list = tensors(values, wide);
    REQUIRE(tare_scaler_create(&scaler, config, nullptr) == TARE_OK);
    REQUIRE(tare_grads_create(&grads, scaler, list.data(), list.size(), nullptr) == TARE_OK);
  }
  ~Trained() {
    tare_grads_destroy(grads);
    tare_scaler_destroy(scaler);
  }
  Trained(const Trained&) = delete;
  Trained& operator=(const Trained&) = delete;

  static std::vector<tare_tensor> tensors(std::vector<float>& narrow, std::vector<double>& doubles) {
    return {{narrow.data(), narrow.size(), TARE_F32, 0}, {doubles.data(), doubles.size(), TARE_F64, 0}};
  }

  int32_t write(const char* options) {
    const std::vector<tare_tensor> outputs = tensors(written, written_wide);
    return tare_grads_write(grads, outputs.data(), outputs.size(), options, nullptr, nullptr);
  }

  template <class T>
  T shown(int32_t which) const {
    const void* pointer = nullptr;
    tare_grads_pointer(&pointer, grads, which, nullptr);
    return *static_cast<const T*>(pointer);
  }
  std::string text(int32_t (*tell)(tare_text**, const tare_scaler*, tare_stream, tare_error*)) const {
    tare_text* told = nullptr;
    tell(&told, scaler, nullptr, nullptr);
    std::string copy = tare_text_data(told);
    tare_text_destroy(told);
    return copy;
  }
  /// All that the ranks have in common.
  std::string told() const {
    tare_text* text_of_list = nullptr;
    tare_grads_statistics(&text_of_list, grads, nullptr, nullptr);
    json list = json::parse(tare_text_data(text_of_list));
    tare_text_destroy(text_of_list);
    list.erase("tensors");
    const void* noop = nullptr;
    tare_scaler_pointer(&noop, scaler, TARE_POINTER_NOOP, nullptr);
    return text(tare_scaler_statistics) + list.dump() + std::to_string(*static_cast<const int32_t*>(noop)) +
           std::to_string(shown<int32_t>(TARE_POINTER_NOOP)) + json(shown<float>(TARE_POINTER_MULTIPLIER)).dump() +
           json(shown<float>(TARE_POINTER_FOUND_INF)).dump();
  }
};

/// What all ranks do in a step, and the gradients of each. Sums of squares are whole numbers: exact in any order.
struct Step {
  int way;
  bool reported[ranks];
  float values[ranks][elements];
  double wide[ranks];
};

std::vector<Step> random_steps(std::size_t count) {
  std::mt19937 random(30);
  std::vector<Step> steps(count);
  for (Step& step : steps) {
    step.way = static_cast<int>(random() % 4);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      step.reported[rank] = random() % 40 == 0;
      for (float& value : step.values[rank]) value = static_cast<float>(random() % 17) - 8;
      step.wide[rank] = std::ldexp(1.0, static_cast<int>(random() % 20));
      if (random() % 40 == 0) step.values[rank][random() % elements] = random() % 2 == 0 ? infinity : NAN;
    }
  }
  return steps;
}

void fill(Trained& one, const Step& step, std::size_t first, std::size_t parts) {
  for (std::size_t part = 0; part < parts; ++part) {
    std::copy_n(step.values[first + part], elements, one.values.data() + part * elements);
    one.wide[part] = step.wide[first + part];
  }
}

/// The step, and what was to be seen before and after the update.
std::string make(Trained& one, const Step& step, bool reported) {
  std::string before;
  if (step.way == 0) {
    tare_grads_unscale_and_update(one.grads, nullptr, nullptr);
  } else {
    if (step.way == 1) tare_grads_observe(one.grads, nullptr, nullptr);
    if (step.way == 2) one.write(R"({"clip_norm":0.5})");
    if (step.way == 3) {
      const std::vector<tare_tensor> list = Trained::tensors(one.values, one.wide);
      tare_scaler_unscale(one.scaler, list.data(), list.size(), nullptr, nullptr);
      tare_scaler_report_overflow(one.scaler, reported ? 1 : 0, nullptr, nullptr);
    }
    before = one.told();
    tare_scaler_update(one.scaler, nullptr, nullptr);
  }
  return before + one.told();
}

bool same_bits(const float* one, const float* other, std::size_t count) {
  return std::memcmp(one, other, count * sizeof *one) == 0;
}

}  // namespace

TEST_CASE("10,000 random steps of three ranks are those of one process that saw all gradients") {
  const auto* const config = R"({"policy":"torch","initial_scale":65536,"growth_interval":5})";
  const std::vector<Step> steps = random_steps(10000);
  Trained alone(config, ranks);
  std::vector<std::string> expected;
  std::vector<std::vector<float>> expected_writes;
  for (const Step& step : steps) {
    fill(alone, step, 0, ranks);
    expected.push_back(make(alone, step, std::ranges::any_of(step.reported, std::identity{})));
    expected_writes.push_back(alone.written);
  }
  Meeting meeting(ranks);
  tare_comm* comm = meeting.comm();
  std::vector<std::size_t> different(ranks, 0);
  std::vector<std::unique_ptr<Trained>> all;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    all.push_back(std::make_unique<Trained>(config, 1));
    REQUIRE(tare_scaler_set_comm(all.back()->scaler, comm, nullptr, nullptr) == TARE_OK);
  }
  tare_comm_destroy(comm);  // the scalers keep what they need
  on_ranks(ranks, [&](std::size_t rank) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      fill(*all[rank], steps[i], rank, 1);
      if (make(*all[rank], steps[i], steps[i].reported[rank]) != expected[i] ||
          !same_bits(all[rank]->written.data(), expected_writes[i].data() + rank * elements, elements)) {
        ++different[rank];
      }
    }
  });
  CHECK(different == std::vector<std::size_t>(ranks, 0));
  const json told = json::parse(alone.text(tare_scaler_statistics));
  CHECK(told["skipped"].get<int>() > 800);
  CHECK(told["growths"].get<int>() > 100);
}

namespace {

/// Two ranks, each with one f32 and one f64, and a comm.
struct Pair {
  Meeting meeting{2};
  tare_comm* comm = meeting.comm();
  Trained first{R"({"policy":"torch","initial_scale":4})", 1};
  Trained second{R"({"policy":"torch","initial_scale":4})", 1};
  tare_error errors[2] = {TARE_ERROR_INIT, TARE_ERROR_INIT};

  ~Pair() { tare_comm_destroy(comm); }
  void join(const char* options = nullptr) {
    REQUIRE(tare_scaler_set_comm(first.scaler, comm, options, nullptr) == TARE_OK);
    REQUIRE(tare_scaler_set_comm(second.scaler, comm, options, nullptr) == TARE_OK);
  }
  Trained& of(std::size_t rank) { return rank == 0 ? first : second; }
  /// What each rank was told.
  std::vector<int32_t> observe_both() {
    std::vector<int32_t> statuses(2);
    on_ranks(2, [&](std::size_t rank) { statuses[rank] = tare_grads_observe(of(rank).grads, nullptr, &errors[rank]); });
    return statuses;
  }
};

}  // namespace

TEST_CASE_METHOD(Pair, "replicated gradients count once") {
  join(R"({"gradients":"replicated"})");
  for (const std::size_t rank : {0u, 1u}) of(rank).values = {3, 4, 0, 0, 0};
  CHECK(observe_both() == std::vector<int32_t>{TARE_OK, TARE_OK});
  for (const std::size_t rank : {0u, 1u}) {
    const json told = json::parse(of(rank).text(tare_scaler_statistics))["accumulated"];
    CHECK(told["norm"] == 5);
    CHECK(told["count"] == 6);
    CHECK(told["zeros"] == 4);
  }
}

TEST_CASE_METHOD(Pair, "the greatest magnitude of doubles is exact") {
  join();
  first.wide[0] = 1 + std::numeric_limits<double>::epsilon();
  second.wide[0] = -1;
  observe_both();
  CHECK(json::parse(second.text(tare_scaler_statistics))["accumulated"]["max_abs"] == first.wide[0]);
}

TEST_CASE_METHOD(Pair, "ranks that are not at the same call, step or scale are all told, and nothing is noted") {
  join();
  std::string expected;
  SECTION("scale") {
    REQUIRE(tare_scaler_set_scale(second.scaler, 8, nullptr, nullptr) == TARE_OK);
    expected = "the ranks of the comm are not at the same scale: from 4.0 to 8.0, and 4.0 here";
  }
  SECTION("step") {
    REQUIRE(observe_both() == std::vector<int32_t>{TARE_OK, TARE_OK});
    REQUIRE(tare_scaler_update(second.scaler, nullptr, nullptr) == TARE_OK);
    expected = "the ranks of the comm are not at the same step: from 0 to 1, and 0 here";
  }
  const std::string before = first.told();
  CHECK(observe_both() == std::vector<int32_t>{TARE_E_MISMATCH, TARE_E_MISMATCH});
  INFO(errors[0].message);
  CHECK(std::string(errors[0].message).starts_with(expected));
  CHECK(first.told() == before);
}

TEST_CASE_METHOD(Pair, "a rank that makes another call is told, and so is the other") {
  join();
  int32_t status = TARE_OK;
  std::thread other([&] { status = tare_scaler_report_overflow(second.scaler, 0, nullptr, nullptr); });
  CHECK(tare_grads_observe(first.grads, nullptr, &errors[0]) == TARE_E_MISMATCH);
  other.join();
  CHECK(status == TARE_E_MISMATCH);
  CHECK(std::string(errors[0].message).find("call: from report_overflow to observe, and observe here") !=
        std::string::npos);
}

TEST_CASE_METHOD(Pair, "a rank that is gone is the engine's error on the others, and the scaler as it was") {
  join();
  first.values[0] = infinity;
  const std::string before = first.told();
  std::thread other([&] { meeting.leave(); });
  CHECK(tare_grads_unscale_and_update(first.grads, nullptr, &errors[0]) == TARE_E_BACKEND);
  other.join();
  CHECK(errors[0].detail == Meeting::somebody_left);
  CHECK(std::string(errors[0].message).find("all_reduce of the comm's callbacks returned 77") != std::string::npos);
  CHECK(first.told() == before);
}

TEST_CASE_METHOD(Pair, "scaling, the update and a scaler without its comm reduce nothing") {
  join();
  float loss = 1;
  const tare_tensor tensor{&loss, 1, TARE_F32, 0};
  CHECK(tare_scaler_scale_tensors(first.scaler, &tensor, 1, nullptr, nullptr) == TARE_OK);
  REQUIRE(observe_both() == std::vector<int32_t>{TARE_OK, TARE_OK});
  CHECK(meeting.calls() == 4);
  CHECK(tare_scaler_update(first.scaler, nullptr, nullptr) == TARE_OK);
  REQUIRE(tare_scaler_set_comm(first.scaler, nullptr, nullptr, nullptr) == TARE_OK);
  CHECK(tare_grads_observe(first.grads, nullptr, nullptr) == TARE_OK);
  CHECK(meeting.calls() == 4);
}

TEST_CASE_METHOD(Pair, "a comm is refused where it cannot be right") {
  tare_error& error = errors[0];
  CHECK(tare_scaler_set_comm(first.scaler, comm, R"({"gradients":"both"})", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("gradients (\"sharded\" or \"replicated\")") != std::string::npos);
  CHECK(tare_scaler_set_comm(first.scaler, comm, R"({"grads":"sharded"})", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_scaler_set_comm(nullptr, comm, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_scaler_set_comm(first.scaler, reinterpret_cast<tare_comm*>(first.scaler), nullptr, &error) ==
        TARE_E_INVALID_ARGUMENT);
  REQUIRE(tare_grads_observe(first.grads, nullptr, nullptr) == TARE_OK);
  CHECK(tare_scaler_set_comm(first.scaler, comm, nullptr, &error) == TARE_E_REFUSED);
  tare_scaler* layer = nullptr;
  REQUIRE(tare_scaler_create(&layer, R"({"policy":"layerwise"})", nullptr) == TARE_OK);
  CHECK(tare_scaler_set_comm(layer, comm, nullptr, &error) == TARE_E_WRONG_KIND);
  tare_scaler_destroy(layer);
}

TEST_CASE("collectives without a size or a function are refused") {
  tare_comm* comm = nullptr;
  tare_error error = TARE_ERROR_INIT;
  tare_collectives collectives{};
  CHECK(tare_comm_from_callbacks(&comm, &collectives, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(error.message).starts_with("collectives: struct_size is 0\n"));
  collectives.struct_size = sizeof collectives;
  CHECK(tare_comm_from_callbacks(&comm, &collectives, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(error.message) == "collectives: all_reduce is NULL");
  CHECK(tare_comm_from_callbacks(&comm, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_comm_from_callbacks(nullptr, &collectives, &error) == TARE_E_INVALID_ARGUMENT);
  tare_comm_destroy(nullptr);
}
