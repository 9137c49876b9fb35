// tare.hpp: what it calls, what it throws, what it destroys.
#include <cmath>
#include <nlohmann/json.hpp>
#include <tare/tare.hpp>
#include <utility>

#include "tests/catch.hpp"

using namespace tare::cxx;

namespace {

float shown(const Grads& grads, std::int32_t which) {
  return *static_cast<const float*>(grads.pointer(which));
}

}  // namespace

TEST_CASE("a prepared list unscales in place and has a found-inf of its own") {
  Scaler scaler(R"({"policy":"torch","initial_scale":4})");
  std::vector<float> finite{3, 4};
  std::vector<double> infinite{1, INFINITY};
  Grads list(scaler, {tensor(finite.data(), finite.size())});
  Grads other(scaler, {tensor(infinite.data(), infinite.size())});
  list.unscale();
  other.observe();
  CHECK(finite == std::vector<float>{0.75F, 1});
  CHECK(infinite[0] == 1);
  CHECK(shown(list, TARE_POINTER_FOUND_INF) == 0);
  CHECK(shown(other, TARE_POINTER_FOUND_INF) == 1);
  scaler.update();
  CHECK(scaler.scale() == 2);
}

TEST_CASE("the update goes with the last list of a step") {
  Scaler scaler(R"({"policy":"torch","initial_scale":4,"growth_interval":2})");
  std::vector<float> values{8};
  Grads list(scaler, {tensor(values.data(), values.size())});
  list.unscale_and_update();
  CHECK(values[0] == 2);
  CHECK(scaler.scale() == 4);
  list.observe_and_update();
  CHECK(values[0] == 2);
  CHECK(scaler.scale() == 8);
}

TEST_CASE("a list is written elsewhere, clipped, and told about; other addresses take the place of the first") {
  Scaler scaler(R"({"policy":"torch","initial_scale":4})");
  std::vector<float> values{3, 0, 4};
  std::vector<float> out(3);
  Grads list(scaler, {tensor(values.data(), values.size())});
  list.write({tensor(out.data(), out.size())}, R"({"clip_value":0.875})");
  CHECK(out == std::vector<float>{0.75F, 0, 0.875F});
  CHECK(values[0] == 3);
  const auto told = nlohmann::json::parse(list.statistics());
  CHECK(told["total"]["zeros"] == 1);
  CHECK(told["total"]["max_abs"] == 4.0);
  std::vector<float> moved{12, 0, 0};
  list.rebind({tensor(moved.data(), moved.size())});
  list.unscale();
  CHECK(moved[0] == 3);
  CHECK(values[0] == 3);
}

TEST_CASE("a failure is thrown with its status; a list that was moved goes with its new owner") {
  Scaler scaler(R"({"policy":"torch"})");
  std::vector<float> values{1};
  Grads list(scaler, {tensor(values.data(), values.size())});
  std::int32_t status = TARE_OK;
  try {
    list.rebind({tensor(values.data(), 0)});
  } catch (const Failure& failure) {
    status = failure.status;
  }
  CHECK(status == TARE_E_MISMATCH);
  const Grads owner(std::move(list));
  CHECK(owner.get() != nullptr);
}
