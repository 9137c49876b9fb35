// FP8 slots: what they cast, when they learn, what they save, and what they refuse.
#include <algorithm>
#include <cmath>
#include <random>

#include "lib/base/error.hpp"
#include "lib/codec/hdf5.hpp"
#include "lib/codec/json.hpp"
#include "lib/scaler/fp8_scaler.hpp"
#include "tests/catch.hpp"

using namespace tare;
using Catch::Contains;
using kernels::Tensor;

namespace {

std::unique_ptr<Fp8Scaler> slots_of(const std::string& config) {
  return make_fp8_scaler(parse_fp8_config(config.c_str()));
}

/// What `call` throws; its status is ok if it throws nothing.
template <class Call>
Error refusal_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return {Status::ok, "nothing"};
}

std::vector<float> floats_of(const ScalerState& state, std::string_view key) {
  return std::get<std::vector<float>>(std::get<StateArray>(get(state, key)).values);
}

Tensor tensor_of(std::vector<float>& values) {
  return {values.data(), values.size(), Dtype::f32, 0};
}
Tensor tensor_of(std::vector<std::uint8_t>& values, Dtype format) {
  return {values.data(), values.size(), format, 0};
}

std::vector<std::uint8_t> quantised(Fp8Scaler& slots, std::vector<float> values, Dtype format = Dtype::f8_e4m3fn) {
  std::vector<std::uint8_t> out(values.size());
  const Tensor in = tensor_of(values);
  const Tensor to = tensor_of(out, format);
  slots.quantise({&in, 1}, {&to, 1}, nullptr, nullptr);
  return out;
}

void observe(Fp8Scaler& slots, std::vector<float> values) {
  const Tensor in = tensor_of(values);
  slots.observe({&in, 1}, nullptr, nullptr);
}

}  // namespace

TEST_CASE("delayed scaling: the next step's scale comes from what this step cast") {
  const auto slots = slots_of(R"({"policy":"transformer_engine","amax_history_len":4})");
  const float* scale = slots->pointer(Fp8Shown::scale);
  CHECK(quantised(*slots, {1.0f, -7.0f}) == std::vector<std::uint8_t>{0x38, 0xce});
  CHECK(*scale == 1.0f);
  slots->update(nullptr);
  CHECK(*scale == 64.0f);
  CHECK(*slots->pointer(Fp8Shown::scale_inv) == 1.0f / 64);
  CHECK(quantised(*slots, {1.0f, -7.0f}) == std::vector<std::uint8_t>{0x68, 0xfe});
  CHECK(floats_of(slots->save(nullptr), "amax_history") == std::vector<float>{7, 0, 0, 7});
}

TEST_CASE("current scaling and flax's: told first, stepped, then cast; the cast itself is not noted") {
  for (const std::string policy : {"te_current", "flax_fp8", "keras_fp8"}) {
    INFO(policy);
    const auto slots = slots_of(R"({"policy":")" + policy + "\"}");
    observe(*slots, {-7.0f});
    slots->update(nullptr);
    observe(*slots, {0.5f});
    slots->update(nullptr);  // te_current's own amax is 0.5; flax's history has 7 by now
    CHECK(*slots->pointer(Fp8Shown::scale) == (policy == "te_current" ? 896.0f : 64.0f));
    quantised(*slots, {100.0f});
    slots->update(nullptr);
    CHECK(*slots->pointer(Fp8Shown::scale) == (policy == "te_current" ? 1.0f : 64.0f));
  }
}

TEST_CASE("torchao's dynamic scaling is told first, and of nothing makes the scale of 1e-12") {
  const auto slots = slots_of(R"({"policy":"torchao_dynamic","slots":2,"format":["e4m3","e5m2"]})");
  const float* scale = slots->pointer(Fp8Shown::scale);
  observe(*slots, {-7.0f});
  slots->update(nullptr);
  CHECK(scale[0] == 64.0f);
  CHECK(quantised(*slots, {1.0f}) == std::vector<std::uint8_t>{0x68});
  slots->update(nullptr);
  CHECK(scale[0] == static_cast<float>(448 / 1e-12));
  CHECK(scale[1] == static_cast<float>(57344 / 1e-12));
}

TEST_CASE("torchao's history keeps the first amax of the process, and what was loaded behind it") {
  const std::string state = R"({"policy":"torchao_delayed","fields":{"scale":[1],"amax_history":[[3.5,14,7,28]]}})";
  const auto slots = make_fp8_scaler(parse_fp8_config(nullptr, state_from_json(state, "state")));
  const auto after = [&](float amax) {
    observe(*slots, {amax});
    slots->update(nullptr);
    return *slots->pointer(Fp8Shown::scale);
  };
  CHECK(after(1.75f) == 16.0f);  // 28 is still looked at
  CHECK(after(1.75f) == 32.0f);  // and from then on what a shift would have pushed out is not
  CHECK(after(56.0f) == 8.0f);
  CHECK(after(1.75f) == 32.0f);  // 56 went into a copy
  const ScalerState saved = slots->save(nullptr);
  CHECK(floats_of(saved, "amax_history") == std::vector<float>{1.75, 14, 7, 28});
  CHECK(std::get<StateArray>(get(saved, "is_amax_initialized")).values ==
        decltype(StateArray::values)(std::vector<std::int64_t>{1}));
}

TEST_CASE("static slots start at scales of their own, one each") {
  const auto slots = slots_of(R"({"policy":"fp8_static","slots":["w","x"],"initial_scale":[0.5,64]})");
  const float* scale = slots->pointer(Fp8Shown::scale);
  slots->update(nullptr);
  CHECK(scale[0] == 0.5f);
  CHECK(scale[1] == 64.0f);
  CHECK(slots->pointer(Fp8Shown::scale_inv)[1] == 1.0f / 64);
}

TEST_CASE("flax divides by its scale with one rounding, TransformerEngine multiplies") {
  // 3 / 49 = 0.0612244 rounds to 0x3d7ac688; 3 x float(1/49) to 0x3d7ac687: not the same eighth of a binade everywhere.
  std::mt19937 random(1);
  const std::string state =
      R"({"policy":"flax_fp8","params":{"format":"e4m3"},"fields":{"scale":[0.03],"amax_history":[[1,1]]}})";
  const auto slots = make_fp8_scaler(parse_fp8_config(nullptr, state_from_json(state, "state")));
  const float divisor = *slots->pointer(Fp8Shown::scale_inv);
  CHECK(divisor == 0.03f);
  std::vector<float> values(20000);
  for (float& value : values) value = float_from(static_cast<std::uint32_t>(random() % 0x02000000 + 0x3c000000));
  // Ties of the format, where the last bit of the quotient decides.
  for (std::uint32_t i = 0; i < 1000; ++i) values[i] = (1.0f + static_cast<float>(i % 16) / 16.0f) * divisor;
  const std::vector<std::uint8_t> out = quantised(*slots, values);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    wrong += out[i] != tare::narrow<F8E4m3fn>(values[i] / divisor, Range::saturate);
  CHECK(wrong == 0);
}

TEST_CASE("every f16 and bf16 pattern goes to both formats and back as element by element") {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    std::vector<std::uint16_t> values(1 << 16);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i);
    for (const bool e4m3 : {true, false}) {
      const auto slots = slots_of(std::string(R"({"policy":"fp8_static","initial_scale":0.3,"format":")") +
                                  (e4m3 ? "e4m3\"}" : "e5m2\"}"));
      const Dtype format = e4m3 ? Dtype::f8_e4m3fn : Dtype::f8_e5m2;
      std::vector<std::uint8_t> narrow_values(values.size());
      std::vector<std::uint16_t> back(values.size());
      const Tensor in = {values.data(), values.size(), dtype, 0};
      const Tensor middle = tensor_of(narrow_values, format);
      const Tensor out = {back.data(), back.size(), dtype, 0};
      slots->quantise({&in, 1}, {&middle, 1}, nullptr, nullptr);
      slots->dequantise({&middle, 1}, {&out, 1}, nullptr, nullptr);
      const float inverse = *slots->pointer(Fp8Shown::scale_inv);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float value = dtype == Dtype::f16 ? tare::widen<F16>(values[i]) : tare::widen<Bf16>(values[i]);
        const float scaled = value * 0.3f;
        const std::uint8_t want =
            e4m3 ? tare::narrow<F8E4m3fn>(scaled, Range::saturate) : tare::narrow<F8E5m2>(scaled, Range::saturate);
        const float again = (e4m3 ? tare::widen<F8E4m3fn>(want) : tare::widen<F8E5m2>(want)) * inverse;
        const std::uint16_t want_back = dtype == Dtype::f16 ? tare::narrow<F16>(again) : tare::narrow<Bf16>(again);
        wrong += (narrow_values[i] != want) + (back[i] != want_back && !std::isnan(again));
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("a fixed scale stays, whatever is cast") {
  const auto slots =
      slots_of(R"({"policy":"fp8_static","initial_scale":16,"slots":3,"format":["e4m3","e5m2","e4m3"]})");
  quantised(*slots, {1e30f});
  slots->update(nullptr);
  for (int i = 0; i < 3; ++i) CHECK(slots->pointer(Fp8Shown::scale)[i] == 16.0f);
}

TEST_CASE("fp8_lm's mu doubles over 1,000 clean steps, and halves when more than 0.001 % reach the largest") {
  const auto slots = slots_of(R"({"policy":"fp8_lm","format":"e5m2"})");
  const float* mu = slots->pointer(Fp8Shown::scale);
  std::vector<float> gradients(200000, 1.0f);
  std::vector<std::uint8_t> out(gradients.size());
  const Tensor in = tensor_of(gradients);
  const Tensor to = tensor_of(out, Dtype::f8_e5m2);
  const auto step = [&] {
    slots->quantise({&in, 1}, {&to, 1}, nullptr, nullptr);
    slots->update(nullptr);
  };
  gradients.resize(10);
  const Tensor few = tensor_of(gradients);
  const Tensor few_out = {out.data(), 10, Dtype::f8_e5m2, 0};
  for (int i = 0; i < 1000; ++i) {
    slots->quantise({&few, 1}, {&few_out, 1}, nullptr, nullptr);
    slots->update(nullptr);
    if (i == 0) CHECK(*mu == static_cast<float>(std::exp2(0.001)));
  }
  CHECK(*mu == 2.0f);
  slots->update(nullptr);  // nothing was seen
  CHECK(*mu == 2.0f);
  gradients.resize(200000, 1.0f);
  gradients[7] = 57344.0f / 2;
  gradients[8] = -57344.0f;  // two of 200,000: exactly 0.001 %, not more
  step();
  CHECK(*mu == 2.0f * static_cast<float>(std::exp2(0.001)));
  gradients[9] = NAN;
  step();
  CHECK(*mu == static_cast<float>(std::exp2(0.001)));
}

TEST_CASE("fp8_lm's mu, stepped, grows by one or two powers of two after so many clean steps in a row") {
  for (const int exponent : {1, 2}) {
    const auto slots = slots_of(R"({"policy":"fp8_lm","format":"e5m2","variant":"stepped","growth_steps":3,)"
                                R"("growth_exponent":)" +
                                std::to_string(exponent) + "}");
    const auto step = [&slots](float value) {
      std::uint8_t out = 0;
      const Tensor in{&value, 1, Dtype::f32, 0};
      const Tensor to{&out, 1, Dtype::f8_e5m2, 0};
      slots->quantise({&in, 1}, {&to, 1}, nullptr, nullptr);
      slots->update(nullptr);
      return *slots->pointer(Fp8Shown::scale);
    };
    const float factor = exponent == 1 ? 2.0F : 4.0F;
    CHECK(step(1) == 1);
    CHECK(step(1) == 1);
    CHECK(step(1) == factor);
    CHECK(step(1) == factor);
    slots->update(nullptr);  // nothing was seen: neither a clean step nor another
    CHECK(step(1) == factor);
    CHECK(step(65536) == factor / 2);  // counts anew
    CHECK(step(1) == factor / 2);
    CHECK(step(1) == factor / 2);
    const ScalerState state = slots->save(nullptr);
    CHECK(state_to_json(state).find("\"clean_steps\": [2]") != std::string::npos);
    CHECK(step(1) == factor / 2 * factor);
    slots->load(state, nullptr);
    CHECK(step(1) == factor / 2 * factor);
  }
}

TEST_CASE("fp8_lm counts the largest number itself, or what is above it alone") {
  const auto is_crowded = [](const std::string& counted, float value) {
    const auto slots = slots_of(R"({"policy":"fp8_lm","format":"e4m3","counted":")" + counted + "\"}");
    std::uint8_t out = 0;
    const Tensor in{&value, 1, Dtype::f32, 0};
    const Tensor to{&out, 1, Dtype::f8_e4m3fn, 0};
    slots->quantise({&in, 1}, {&to, 1}, nullptr, nullptr);
    slots->update(nullptr);
    return *slots->pointer(Fp8Shown::scale) == 0.5F;
  };
  CHECK_FALSE(is_crowded("at_largest", std::nextafter(448.0F, 0.0F)));
  CHECK(is_crowded("at_largest", 448));
  CHECK_FALSE(is_crowded("above_largest", 448));
  CHECK(is_crowded("above_largest", std::nextafter(448.0F, 500.0F)));
}

TEST_CASE("2,000 slots with a history of 1,024 go through HDF5, packed, and go on with the same bits") {
  const auto slots = slots_of(R"({"policy":"transformer_engine","slots":2000,"variant":"unfused"})");
  std::mt19937 random(3);
  auto* amax = static_cast<float*>(slots->accumulators().data);
  const auto step = [&](Fp8Scaler& each, std::uint32_t seed) {
    std::mt19937 own(seed);
    auto* into = static_cast<float*>(each.accumulators().data);
    for (int i = 0; i < 2000; ++i) into[i] = std::exp2(static_cast<float>(own() % 2000) / 100.0f - 10.0f);
    each.update(nullptr);
  };
  for (std::uint32_t i = 0; i < 1100; ++i) step(*slots, i);
  amax[5] = 123.0f;  // in progress
  const ScalerState state = slots->save(nullptr);
  const Bytes packed = state_to_hdf5(state, Compression::zstd);
  CHECK(packed.size() < 2000 * 1024 * 4);
  const ScalerState again = state_from_hdf5(std::make_shared<MemorySource>("state.h5", packed)).state;
  CHECK(again == state);
  const auto other = make_fp8_scaler(parse_fp8_config(nullptr, again));
  for (std::uint32_t i = 0; i < 1100; ++i) {
    step(*slots, 5000 + i);
    step(*other, 5000 + i);
  }
  CHECK(other->save(nullptr) == slots->save(nullptr));
}

TEST_CASE("JSON keeps nan and infinity in a history, and everything else to the bit") {
  const auto slots = slots_of(
      R"({"policy":"transformer_engine","slots":["a","b"],"format":["e4m3","e5m2"],"amax_history_len":4,"margin":0.5})");
  auto* amax = static_cast<float*>(slots->accumulators().data);
  for (const auto& [first, second] : {std::pair{0.1f, INFINITY}, {NAN, NAN}, {0x1p-149f, 3.0f}}) {
    amax[0] = first;
    amax[1] = second;
    slots->update(nullptr);
  }
  const ScalerState state = slots->save(nullptr);
  const std::string text = state_to_json(state);
  const auto other = make_fp8_scaler(parse_fp8_config(nullptr, state_from_json(text, "state.json")));
  CHECK(state_to_json(other->save(nullptr)) == text);
  CHECK_THAT(text, Contains("\"nan\"") && Contains("\"inf\""));
}

TEST_CASE("a state of rows that are all nan is a state all the same") {
  const std::string text =
      R"({"policy":"flax_fp8","fields":{"scale":[1,2],"amax_history":[["nan","nan"],[0.5,"inf"]]}})";
  const auto slots = make_fp8_scaler(parse_fp8_config(nullptr, state_from_json(text, "state.json")));
  const std::vector<float> history = floats_of(slots->save(nullptr), "amax_history");
  CHECK((std::isnan(history[0]) && std::isnan(history[1]) && history[2] == 0.5f && std::isinf(history[3])));
}

TEST_CASE("a slot of halves scales to 65504, and casts as torch does: beyond it is infinity") {
  const auto slots = slots_of(R"({"policy":"msamp","format":["e4m3","e5m2","f16"],"slots":3,"window_size":1})");
  std::vector<float> values = {3.0f, -1.0f, 0x1p-26f};
  const Tensor in[] = {tensor_of(values), tensor_of(values), tensor_of(values)};
  slots->observe(in, nullptr, nullptr);
  slots->update(nullptr);
  CHECK(floats_of(slots->save(nullptr), "scale") == std::vector<float>{128, 16384, 16384});
  std::vector<std::uint16_t> out(3);
  const Tensor half = {out.data(), 3, Dtype::f16, 0};
  const std::uint32_t third[] = {2};
  slots->quantise({in, 1}, {&half, 1}, third, nullptr);
  CHECK(out == std::vector<std::uint16_t>{0x7a00, 0xf400, 0x0c00});
  std::vector<float> back(3);
  const Tensor wide = tensor_of(back);
  slots->dequantise({&half, 1}, {&wide, 1}, third, nullptr);
  CHECK(back == values);
  std::vector<float> beyond = {4.0f, -4.0f, std::nanf("")};
  const Tensor large = tensor_of(beyond);
  slots->quantise({&large, 1}, {&half, 1}, third, nullptr);
  CHECK(out == std::vector<std::uint16_t>{0x7c00, 0xfc00, 0x7e00});
  CHECK(refusal_of([&] { slots->quantise({in, 1}, {&half, 1}, nullptr, nullptr); }).status == Status::unsupported);
}

TEST_CASE("bf16 and f32 are not scaled, whatever their amax: MS-AMP's, and nobody else's") {
  const auto slots = slots_of(R"({"policy":"msamp","format":["bf16","f32"],"slots":2,"window_size":1})");
  std::vector<float> values = {1.0f + 0x1p-8f, -3.0f, 0x1p-140f};
  const Tensor in[] = {tensor_of(values), tensor_of(values)};
  slots->observe(in, nullptr, nullptr);
  slots->update(nullptr);
  CHECK(floats_of(slots->save(nullptr), "scale") == std::vector<float>{1, 1});
  std::vector<std::uint16_t> narrow(3);
  std::vector<float> same(3), back(3);
  const Tensor out[] = {{narrow.data(), 3, Dtype::bf16, 0}, tensor_of(same)};
  slots->quantise(in, out, nullptr, nullptr);
  CHECK(narrow == std::vector<std::uint16_t>{0x3f80, 0xc040, 0});  // halves go to the even one
  CHECK(same == values);
  const Tensor wide[] = {tensor_of(back), tensor_of(values)};
  slots->dequantise(out, wide, nullptr, nullptr);
  CHECK(back == std::vector<float>{1, -3, 0});
  CHECK(values == same);
  const Error refused = refusal_of([&] { slots_of(R"({"policy":"transformer_engine","format":"bf16"})"); });
  CHECK(refused.status != Status::ok);
  CHECK_THAT(refused.what(), Contains("format \"bf16\" is policy \"msamp\"'s alone"));
}

TEST_CASE("bad configurations are refused by name") {
  const auto message = [](const std::string& config) {
    const Error error = refusal_of([&] { slots_of(config); });
    CHECK(error.status == Status::invalid_argument);
    return std::string(error.what()) + " " + error.hint;
  };
  CHECK_THAT(message("{}"), Contains("no \"policy\""));
  CHECK_THAT(message(R"({"policy":"torch"})"), Contains("no FP8 policy \"torch\"") && Contains("te_current"));
  CHECK_THAT(message(R"({"policy":"msamp","amax_history_len":4})"),
             Contains("no \"amax_history_len\"") && Contains("window_size"));
  CHECK_THAT(message(R"({"policy":"msamp","window_size":0})"), Contains("window_size is 0.0, allowed: 1 to 1048576"));
  CHECK_THAT(message(R"({"policy":"transformer_engine","variant":"fast"})"),
             Contains("\"fast\"") && Contains("fused_single"));
  CHECK_THAT(message(R"({"policy":"fp8_static","slots":2,"initial_scale":[0.5]})"),
             Contains("initial_scale has 1 values, 2 are meant"));
  CHECK_THAT(message(R"({"policy":"fp8_static","slots":2,"initial_scale":[0.5,0]})"),
             Contains("initial_scale is 0.0, allowed"));
  CHECK_THAT(message(R"({"policy":"te_current","slots":2,"initial_scale":[1,2]})"), Contains("no \"initial_scale\""));
  CHECK_THAT(message(R"({"policy":"te_current","format":"e3m4"})"), Contains("\"e3m4\"") && Contains("e5m2"));
  CHECK_THAT(message(R"({"policy":"te_current","slots":3,"format":["e4m3","e5m2"]})"),
             Contains("2 are given for 3 slots"));
  CHECK_THAT(message(R"({"policy":"te_current","slots":-1})"), Contains("below 0"));
  CHECK_THAT(message(R"({"policy":"te_current","slots":2000000})"), Contains("more than"));
  CHECK_THAT(message(R"({"policy":"transformer_engine","slots":1000000,"amax_history_len":1000000})"),
             Contains("more than"));
  CHECK_THAT(message(R"({"policy":"te_current","device":"tpu"})"), Contains("no device \"tpu\""));
  CHECK_THAT(message(R"({"policy":"transformer_engine","margin":"nan"})"), Contains("margin is nan"));
}

TEST_CASE("states that do not fit are refused, and nothing changes") {
  const auto slots = slots_of(R"({"policy":"transformer_engine","slots":2,"amax_history_len":3})");
  const ScalerState before = slots->save(nullptr);
  const auto message = [&](const std::string& text) {
    const ScalerState state = state_from_json(text, "state");
    const Error error = refusal_of([&] { slots->load(state, nullptr); });
    CHECK(error.status == Status::mismatch);
    CHECK(slots->save(nullptr) == before);
    return std::string(error.what());
  };
  const std::string start = R"({"policy":"transformer_engine","fields":{"scale":[1,2],"amax_history":)";
  CHECK_THAT(message(R"({"policy":"msamp","fields":{"scale":[1,1]}})"), Contains("policy \"msamp\""));
  CHECK_THAT(message(start + "[[0,1],[0,1]]}}"), Contains("2 by 2") && Contains("2 slots by 3 entries"));
  CHECK_THAT(message(start + "[[0,1,2],[0,1,-2]]}}"), Contains("-2.0, below 0"));
  CHECK_THAT(message(start + "[0,1,2]}}"), Contains("3 values, 6 are meant"));
  CHECK_THAT(message(start + "[[0,1,2],[0,1,2]],\"more\":1}}"), Contains("fields.more"));
  CHECK_THAT(message(R"({"policy":"transformer_engine","fields":{"scale":[1,2]}})"),
             Contains("no fields.amax_history"));
  CHECK_THAT(message(R"({"policy":"transformer_engine","params":{"slots":3},"fields":{}})"), Contains("3 slots"));
}

TEST_CASE("slots that go on with a longer or shorter history keep each amax at its age") {
  const auto [policy, parameter, field, first] = GENERATE(table<std::string, std::string, std::string, std::size_t>(
      {{"transformer_engine", "amax_history_len", "amax_history", 1},
       {"msamp", "window_size", "amax", 1},
       {"flax_fp8", "amax_history_length", "amax_history", 0},
       {"torchao_delayed", "history_len", "amax_history", 0}}));
  CAPTURE(policy);
  const auto of_length = [&](int length) {
    return slots_of(R"({"policy":")" + policy + R"(","slots":2,")" + parameter + "\":" + std::to_string(length) + "}");
  };
  const auto resumed = [&](const Fp8Scaler& slots, int length) {
    const std::string config = "{\"" + parameter + "\":" + std::to_string(length) + "}";
    return make_fp8_scaler(parse_fp8_config(config.c_str(), slots.save(nullptr)));
  };
  const auto step = [](Fp8Scaler& slots, int number) {
    for (const auto& [slot, factor] : {std::pair{0u, 1.0f}, {1u, 100.0f}}) {
      std::vector<float> values{static_cast<float>(number) * factor};
      const Tensor in = tensor_of(values);
      slots.observe({&in, 1}, &slot, nullptr);
    }
    slots.update(nullptr);
  };
  const auto longer = of_length(8);
  for (const int number : {50, 4, 3, 40, 1, 2, 5, 6, 7, 3}) step(*longer, number);
  const auto shorter = resumed(*longer, 4);
  const auto known_from_then = of_length(4);
  known_from_then->load(shorter->save(nullptr), nullptr);
  for (int number = 1; number < 12; ++number) {  // until all that was known before is gone
    step(*shorter, number);
    step(*known_from_then, number);
    CHECK(shorter->save(nullptr) == known_from_then->save(nullptr));
  }
  const auto again = resumed(*resumed(*shorter, 9), 4);
  CHECK(again->save(nullptr) == shorter->save(nullptr));
  if (policy == "torchao_delayed") return;  // whose history keeps the first amax alone
  const auto grown = floats_of(resumed(*shorter, 9)->save(nullptr), "fields." + field);
  REQUIRE(grown.size() == 18);
  CHECK(std::ranges::count(std::span(grown).first(9), 0.0f) == (first == 1 ? 6 : 5));
  CHECK(std::ranges::max(grown) == 1100.0f);
}

TEST_CASE("a length of history that cannot be is refused by its name, and one of a policy without histories too") {
  const auto slots = slots_of(R"({"policy":"transformer_engine","slots":2,"amax_history_len":3})");
  const auto told = [](const Fp8Scaler& of, const char* config) {
    const Error error = refusal_of([&] { parse_fp8_config(config, of.save(nullptr)); });
    CHECK(error.status == Status::invalid_argument);
    return std::string(error.what());
  };
  CHECK_THAT(told(*slots, R"({"amax_history_len":0})"), Contains("amax_history_len is 0"));
  CHECK_THAT(told(*slots, R"({"amax_history_len":"long"})"), Contains("amax_history_len"));
  CHECK_THAT(told(*slots, R"({"margin":1})"), Contains("\"margin\" is the state's"));
  CHECK_THAT(told(*slots_of(R"({"policy":"te_current"})"), R"({"amax_history_len":2})"),
             Contains("\"amax_history_len\" is the state's"));
}

TEST_CASE("tensors that do not fit are refused, and no slot has noted anything") {
  const auto slots = slots_of(R"({"policy":"transformer_engine","slots":2,"format":["e4m3","e5m2"]})");
  const ScalerState before = slots->save(nullptr);
  std::vector<float> values(4, 3.0f);
  std::vector<std::uint8_t> bytes(4);
  const Tensor good[] = {tensor_of(values), tensor_of(values), tensor_of(values)};
  const Tensor e4m3[] = {tensor_of(bytes, Dtype::f8_e4m3fn), tensor_of(bytes, Dtype::f8_e4m3fn)};
  const Tensor wide = {values.data(), 2, Dtype::f64, 0};
  const Tensor null = {nullptr, 4, Dtype::f32, 0};
  const Tensor shorter = {bytes.data(), 3, Dtype::f8_e4m3fn, 0};
  const std::uint32_t beyond[] = {0, 2};
  const auto told = [&](Status status, const auto& call) {
    const Error error = refusal_of(call);
    CHECK(error.status == status);
    CHECK(slots->save(nullptr) == before);
    return std::string(error.what());
  };
  CHECK_THAT(told(Status::invalid_argument, [&] { slots->observe(good, nullptr, nullptr); }),
             Contains("3 tensors for 2 slots"));
  CHECK_THAT(told(Status::invalid_argument,
                  [&] {
                    slots->observe({good, 2}, beyond, nullptr);
                  }),
             Contains("slot 2, there are 2"));
  CHECK_THAT(told(Status::unsupported, [&] { slots->observe({&wide, 1}, nullptr, nullptr); }), Contains("f64"));
  CHECK_THAT(told(Status::invalid_argument,
                  [&] {
                    slots->observe({&null, 1}, nullptr, nullptr);
                  }),
             Contains("no address"));
  CHECK_THAT(told(Status::mismatch,
                  [&] {
                    slots->quantise({good, 2}, e4m3, nullptr, nullptr);
                  }),
             Contains("output 1") && Contains("f8e5m2"));
  CHECK_THAT(told(Status::unsupported,
                  [&] {
                    slots->quantise({good, 1}, {good, 1}, nullptr, nullptr);
                  }),
             Contains("is f32"));
  CHECK_THAT(told(Status::invalid_argument,
                  [&] {
                    slots->quantise({good, 1}, {&shorter, 1}, nullptr, nullptr);
                  }),
             Contains("number of elements"));
  CHECK_THAT(told(Status::invalid_argument,
                  [&] {
                    slots->quantise({good, 2}, {e4m3, 1}, nullptr, nullptr);
                  }),
             Contains("1 outputs for 2 inputs"));
  CHECK_THAT(told(Status::unsupported,
                  [&] {
                    slots->dequantise({good, 1}, {good, 1}, nullptr, nullptr);
                  }),
             Contains("is f32"));
}

TEST_CASE("statistics tell of each slot what its history says") {
  const auto slots = slots_of(R"({"policy":"transformer_engine","slots":["w","dead"],"amax_history_len":4})");
  auto* amax = static_cast<float*>(slots->accumulators().data);
  amax[0] = 7.0f;
  slots->update(nullptr);
  amax[0] = INFINITY;
  slots->update(nullptr);
  amax[0] = 3.5f;
  const StateSection told = members_of_json(slots->statistics(nullptr), "statistics");
  CHECK(std::get<std::string>(*told.find("schema")) == "tare.fp8/1");
  const std::string text = slots->statistics(nullptr);
  CHECK_THAT(text, Contains("\"name\": \"w\"") && Contains("\"scale\": 64.0") && Contains("\"amax\": 3.5") &&
                       Contains("\"max\": 7.0") && Contains("\"filled\": 3") && Contains("\"not_finite\": 1") &&
                       Contains("\"margin_bits\": 0.0"));
  CHECK_THAT(text, Contains("\"name\": \"dead\"") && Contains("\"margin_bits\": null"));
}
