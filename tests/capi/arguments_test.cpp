// [P5], [P7] in part: bad arguments get a status and leave everything as it was.
#include <tare/tare.h>

#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "tests/catch.hpp"

namespace {

struct Fixture {
  tare_scaler* scaler = nullptr;
  tare_state* state = nullptr;
  tare_error error = TARE_ERROR_INIT;
  Fixture() {
    REQUIRE(tare_scaler_create(&scaler, R"({"policy":"torch","initial_scale":1024})", &error) == TARE_OK);
    REQUIRE(tare_scaler_save(&state, scaler, nullptr, &error) == TARE_OK);
  }
  ~Fixture() {
    tare_state_destroy(state);
    tare_scaler_destroy(scaler);
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "every pointer that must not be NULL is asked for by its name") {
  tare_text* text = nullptr;
  tare_grads* grads = nullptr;
  tare_state* made = nullptr;
  tare_scaler* other = nullptr;
  const void* pointer = nullptr;
  void* accumulators = nullptr;
  uint64_t bytes = 0;
  double number = 0;
  int64_t integer = 0;
  int32_t kind = 0;
  const tare_layer layer{sizeof(tare_layer), 16, 1, 0, 1, 0, 1, 1, 0};
  tare_outcome outcome{sizeof(tare_outcome), 0, 0, 0, 0, 0, 0};
  float scale = 1, found = 0;
  int32_t tracker = 0;
  const int32_t statuses[] = {tare_scaler_create(nullptr, "{}", &error),
                              tare_scaler_create(&other, nullptr, &error),
                              tare_scaler_create_from_state(&other, nullptr, nullptr, &error),
                              tare_scaler_create_from_state(nullptr, state, nullptr, &error),
                              tare_policies(nullptr, &error),
                              tare_scaler_scale(nullptr, scaler, nullptr, &error),
                              tare_scaler_scale(&number, nullptr, nullptr, &error),
                              tare_scaler_pointer(nullptr, scaler, 1, &error),
                              tare_scaler_pointer(&pointer, nullptr, 1, &error),
                              tare_scaler_pointer(&pointer, scaler, 0, &error),
                              tare_scaler_pointer(&pointer, scaler, 6, &error),
                              tare_scaler_unscale(nullptr, nullptr, 0, nullptr, &error),
                              tare_scaler_unscale(scaler, nullptr, 1, nullptr, &error),
                              tare_scaler_observe(nullptr, nullptr, 0, nullptr, &error),
                              tare_scaler_observe(scaler, nullptr, 1, nullptr, &error),
                              tare_scaler_report_overflow(nullptr, 0, nullptr, &error),
                              tare_scaler_scale_tensors(nullptr, nullptr, 0, nullptr, &error),
                              tare_scaler_scale_tensors(scaler, nullptr, 1, nullptr, &error),
                              tare_scaler_update_elsewhere(nullptr, &scale, &tracker, &found, nullptr, &error),
                              tare_scaler_update_elsewhere(scaler, nullptr, &tracker, &found, nullptr, &error),
                              tare_scaler_update_elsewhere(scaler, &scale, nullptr, &found, nullptr, &error),
                              tare_scaler_update_elsewhere(scaler, &scale, &tracker, nullptr, nullptr, &error),
                              tare_scaler_report_layer(nullptr, &layer, nullptr, &error),
                              tare_scaler_report_layer(scaler, nullptr, nullptr, &error),
                              tare_scaler_report_reduced(nullptr, nullptr, &error),
                              tare_scaler_update(nullptr, nullptr, &error),
                              tare_scaler_set_scale(nullptr, 1, nullptr, &error),
                              tare_scaler_accumulators(nullptr, &bytes, scaler, &error),
                              tare_scaler_accumulators(&accumulators, nullptr, scaler, &error),
                              tare_scaler_accumulators(&accumulators, &bytes, nullptr, &error),
                              tare_scaler_statistics(nullptr, scaler, nullptr, &error),
                              tare_scaler_statistics(&text, nullptr, nullptr, &error),
                              tare_scaler_save(nullptr, scaler, nullptr, &error),
                              tare_scaler_save(&made, nullptr, nullptr, &error),
                              tare_scaler_load(nullptr, state, nullptr, &error),
                              tare_scaler_load(scaler, nullptr, nullptr, &error),
                              tare_grads_create(nullptr, scaler, nullptr, 0, &error),
                              tare_grads_create(&grads, nullptr, nullptr, 0, &error),
                              tare_grads_create(&grads, scaler, nullptr, 1, &error),
                              tare_grads_rebind(nullptr, nullptr, 0, nullptr, &error),
                              tare_grads_unscale(nullptr, nullptr, &error),
                              tare_grads_observe(nullptr, nullptr, &error),
                              tare_grads_unscale_and_update(nullptr, nullptr, &error),
                              tare_grads_observe_and_update(nullptr, nullptr, &error),
                              tare_grads_write(nullptr, nullptr, 0, nullptr, nullptr, &error),
                              tare_grads_pointer(&pointer, nullptr, 1, &error),
                              tare_grads_accumulators(nullptr, &bytes, nullptr, &error),
                              tare_grads_accumulators(&accumulators, nullptr, nullptr, &error),
                              tare_grads_accumulators(&accumulators, &bytes, nullptr, &error),
                              tare_grads_report_reduced(nullptr, nullptr, &error),
                              tare_grads_statistics(&text, nullptr, nullptr, &error),
                              tare_state_read(nullptr, "x", &error),
                              tare_state_read(&made, nullptr, &error),
                              tare_state_write(nullptr, "x.json", nullptr, &error),
                              tare_state_write(state, nullptr, nullptr, &error),
                              tare_state_from_json(nullptr, "{}", 2, &error),
                              tare_state_from_json(&made, nullptr, 2, &error),
                              tare_state_findings(nullptr, state, &error),
                              tare_state_findings(&text, nullptr, &error),
                              tare_state_to_json(nullptr, state, &error),
                              tare_state_to_json(&text, nullptr, &error),
                              tare_state_kind(nullptr, state, "scale", &error),
                              tare_state_kind(&kind, nullptr, "scale", &error),
                              tare_state_kind(&kind, state, nullptr, &error),
                              tare_state_number(nullptr, state, "scale", &error),
                              tare_state_number(&number, nullptr, "scale", &error),
                              tare_state_integer(&integer, state, nullptr, &error),
                              tare_state_text(nullptr, state, "scale", &error),
                              tare_state_array(nullptr, nullptr, state, "scale", &error),
                              tare_state_count(nullptr, state, &error),
                              tare_state_count(&bytes, nullptr, &error),
                              tare_state_key(&text, nullptr, 0, &error),
                              tare_state_set_number(nullptr, "scale", 1, &error),
                              tare_state_set_number(state, nullptr, 1, &error),
                              tare_state_set_text(state, "scale", nullptr, &error),
                              tare_state_set_array(state, "scale", nullptr, 3, &error),
                              tare_checkpoint_inspect(nullptr, "x", nullptr, &error),
                              tare_checkpoint_inspect(&text, nullptr, nullptr, &error),
                              tare_checkpoint_edit(&text, nullptr, "{}", &error),
                              tare_checkpoint_edit(&text, "x", nullptr, &error),
                              tare_checkpoint_undo(&text, nullptr, nullptr, &error),
                              tare_checkpoint_state(&made, nullptr, nullptr, &error),
                              tare_checkpoint_state(nullptr, "x", nullptr, &error),
                              tare_checkpoint_state_as(&made, nullptr, nullptr, &error),
                              tare_scaler_update_outcome(nullptr, scaler, nullptr, &error),
                              tare_scaler_update_outcome(&outcome, nullptr, nullptr, &error),
                              tare_scaler_field(nullptr, &kind, scaler, "scale", &error),
                              tare_scaler_field(&accumulators, nullptr, scaler, "scale", &error),
                              tare_scaler_field(&accumulators, &kind, nullptr, "scale", &error),
                              tare_scaler_field(&accumulators, &kind, scaler, nullptr, &error),
                              tare_scaler_number(nullptr, scaler, "scale", nullptr, &error),
                              tare_scaler_number(&number, nullptr, "scale", nullptr, &error),
                              tare_scaler_integer(&integer, scaler, nullptr, nullptr, &error),
                              tare_scaler_set_number(nullptr, "scale", 1, nullptr, &error),
                              tare_scaler_set_integer(scaler, nullptr, 1, nullptr, &error),
                              tare_state_to_bytes(&text, nullptr, ".json", nullptr, &error),
                              tare_state_to_bytes(&text, state, nullptr, nullptr, &error),
                              tare_state_to_bytes(nullptr, state, ".json", nullptr, &error),
                              tare_state_from_bytes(&made, nullptr, 2, &error),
                              tare_state_from_bytes(nullptr, "{}", 2, &error),
                              tare_state_clone(&made, nullptr, &error),
                              tare_state_clone(nullptr, state, &error),
                              tare_state_shape(nullptr, nullptr, state, "scale", &error),
                              tare_state_shape(nullptr, &bytes, nullptr, "scale", &error),
                              tare_state_remove(nullptr, "scale", &error),
                              tare_state_remove(state, nullptr, &error),
                              tare_checkpoint_fp8(&text, nullptr, nullptr, "{}", &error),
                              tare_checkpoint_fp8(&text, "x", nullptr, nullptr, &error),
                              tare_checkpoint_history(&text, nullptr, nullptr, &error),
                              tare_checkpoint_diff(&text, nullptr, "x", nullptr, &error),
                              tare_checkpoint_diff(&text, "x", nullptr, nullptr, &error),
                              tare_checkpoint_migrate(&text, nullptr, "{}", &error),
                              tare_checkpoint_migrate(&text, "x", nullptr, &error),
                              tare_checkpoint_write(&text, nullptr, "x", nullptr, &error),
                              tare_checkpoint_write(&text, state, nullptr, nullptr, &error),
                              tare_checkpoint_state_as(nullptr, "x", nullptr, &error)};
  for (const int32_t status : statuses) CHECK(status == TARE_E_INVALID_ARGUMENT);
  CHECK(text == nullptr);
  CHECK(made == nullptr);
  CHECK(tare_scaler_update(nullptr, nullptr, nullptr) == TARE_E_INVALID_ARGUMENT);
}

TEST_CASE("destroys and plain getters take NULL") {
  tare_scaler_destroy(nullptr);
  tare_grads_destroy(nullptr);
  tare_state_destroy(nullptr);
  tare_text_destroy(nullptr);
  CHECK(std::string(tare_text_data(nullptr)).empty());
  CHECK(tare_text_size(nullptr) == 0);
  CHECK(std::string(tare_status_name(31)) == "corrupt");
  CHECK(std::string(tare_status_name(-1)) == "unknown");
  CHECK(tare_version() == TARE_VERSION);
  CHECK(std::string(tare_version_string()) == "0.1.0");
}

TEST_CASE_METHOD(Fixture, "a layer's statistics are refused by a policy that goes by overflows") {
  const tare_layer layer{sizeof(tare_layer), 16, 1, 0, 1, 0, 1, 1, 0};
  CHECK(tare_scaler_report_layer(scaler, &layer, nullptr, &error) == TARE_E_WRONG_KIND);
  CHECK(std::string(error.message).find("\"torch\" goes by overflows") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "a layer's statistics in a struct of another size are refused") {
  tare_scaler* layers = nullptr;
  REQUIRE(tare_scaler_create(&layers, R"({"policy":"layerwise"})", &error) == TARE_OK);
  tare_layer layer{sizeof(tare_layer) - 1, 16, 1, 0, 1, 0, 1, 1, 0};
  CHECK(tare_scaler_report_layer(layers, &layer, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  layer = {sizeof(tare_layer), 16, 1, 0, 1, 0, 1, 1, 1};
  CHECK(tare_scaler_report_layer(layers, &layer, nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  tare_scaler_destroy(layers);
}

TEST_CASE_METHOD(Fixture, "tensors that cannot be are refused and told which") {
  float values[2] = {1, 2};
  const auto status_of = [&](void* data, uint64_t count, int32_t dtype, int32_t reserved = 0) {
    const tare_tensor list[] = {{values, 2, TARE_F32, 0}, {data, count, dtype, reserved}};
    return tare_scaler_unscale(scaler, list, 2, nullptr, &error);
  };
  CHECK(status_of(values, 2, 0) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("tensor 1") == 0);
  CHECK(status_of(values, 2, 7) == TARE_E_INVALID_ARGUMENT);
  CHECK(status_of(values, 2, TARE_F8E4M3FN) == TARE_E_UNSUPPORTED);
  CHECK(status_of(nullptr, 2, TARE_F32) == TARE_E_INVALID_ARGUMENT);
  CHECK(status_of(reinterpret_cast<char*>(values) + 1, 1, TARE_F32) == TARE_E_INVALID_ARGUMENT);
  CHECK(status_of(values, std::numeric_limits<uint64_t>::max(), TARE_F32) == TARE_E_INVALID_ARGUMENT);
  CHECK(status_of(values, 2, TARE_F32, 1) == TARE_E_INVALID_ARGUMENT);
  const tare_tensor one{values, 2, TARE_F32, 0};
  CHECK(tare_scaler_unscale(scaler, &one, std::numeric_limits<uint64_t>::max(), nullptr, &error) ==
        TARE_E_INVALID_ARGUMENT);
  CHECK(values[0] == 1.0f);
  CHECK(status_of(nullptr, 0, TARE_F32) == TARE_OK);
  CHECK(values[1] == 2.0f / 1024);
}

TEST_CASE("an error is written up to its struct_size and no further") {
  tare_scaler* scaler = nullptr;
  struct {
    tare_error error;
    unsigned char guard[8];
  } box;
  for (const uint64_t size : std::to_array<uint64_t>({8, 15, 16, 17, 20, 64, 1040, 4096})) {
    std::memset(&box, 0x7e, sizeof box);
    box.error.struct_size = size;
    CHECK(tare_scaler_create(&scaler, R"({"policy":"grün"})", &box.error) == TARE_E_INVALID_ARGUMENT);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&box);
    for (std::size_t i = size < 16 ? 8 : size; i < sizeof box; ++i) {
      if (i >= sizeof(tare_error) || size < sizeof(tare_error)) CHECK(bytes[i] == 0x7e);
    }
    if (size > 16) CHECK(std::memchr(box.error.message, 0, size - 16) != nullptr);
  }
}

TEST_CASE("an error that is all 0 takes a whole message") {
  tare_error error = {};
  tare_scaler* scaler = nullptr;
  CHECK(tare_scaler_create(&scaler, R"({"policy":"none"})", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(error.status == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("\"none\"") != std::string::npos);
}

TEST_CASE("bytes of a path that are no UTF-8 are shown as what they are") {
  tare_error error = TARE_ERROR_INIT;
  tare_text* text = nullptr;
  CHECK(tare_checkpoint_inspect(&text, "/no\xff\xc3(\xe2\x82.pt\xf0", nullptr, &error) == TARE_E_IO);
  CHECK(std::string(error.message).find("/no\\xff\\xc3(\\xe2\\x82.pt\\xf0: ") == 0);
}

TEST_CASE("a path in any script, and with an emoji, is shown as it was written") {
  tare_error error = TARE_ERROR_INIT;
  for (const std::string path : {"/no/grün", "/no/学習", "/no/run 😀", "/no/😀😀é"}) {
    tare_text* text = nullptr;
    CHECK(tare_checkpoint_inspect(&text, path.c_str(), nullptr, &error) == TARE_E_IO);
    CHECK(std::string(error.message).starts_with(path + ": "));
  }
}

TEST_CASE_METHOD(Fixture, "a handle of another kind and a destroyed one get a status") {
  double scale = 0;
  tare_text* text = nullptr;
  CHECK(tare_scaler_scale(&scale, reinterpret_cast<tare_scaler*>(state), nullptr, &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("scaler is a handle of another kind") == 0);
  CHECK(tare_state_to_json(&text, reinterpret_cast<tare_state*>(scaler), &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_text_size(reinterpret_cast<tare_text*>(scaler)) == 0);
  tare_state_destroy(reinterpret_cast<tare_state*>(scaler));  // leaves it alone
  CHECK(tare_scaler_scale(&scale, scaler, nullptr, &error) == TARE_OK);
}

TEST_CASE("a message is one line, then a hint, in whole characters") {
  tare_error error = TARE_ERROR_INIT;
  tare_scaler* scaler = nullptr;
  std::string name = "\"line\\nbreak\\rto its start";
  for (int i = 0; i < 1000; ++i) name += "ü";
  CHECK(tare_scaler_create(&scaler, ("{\"policy\":" + name + "\"}").c_str(), &error) == TARE_E_INVALID_ARGUMENT);
  const std::string message = error.message;
  CHECK(message.size() <= 1023);
  CHECK(message.find("line break to its start") != std::string::npos);
  CHECK((static_cast<unsigned char>(message.back()) & 0xc0) != 0xc0);
}

TEST_CASE_METHOD(Fixture, "pointers stay where they are through update, set_scale and load") {
  const void* shown[6] = {};
  for (int32_t which = 1; which <= 5; ++which)
    REQUIRE(tare_scaler_pointer(&shown[which], scaler, which, &error) == TARE_OK);
  CHECK(*static_cast<const float*>(shown[1]) == 1024.0f);
  CHECK(*static_cast<const float*>(shown[2]) == 1.0f / 1024);
  REQUIRE(tare_scaler_report_overflow(scaler, 1, nullptr, &error) == TARE_OK);
  CHECK(*static_cast<const float*>(shown[3]) == 1.0f);
  CHECK(*static_cast<const int32_t*>(shown[4]) == 1);
  REQUIRE(tare_scaler_update(scaler, nullptr, &error) == TARE_OK);
  CHECK(*static_cast<const float*>(shown[1]) == 512.0f);
  CHECK(*static_cast<const float*>(shown[5]) == 1.0f / 512);
  CHECK(*static_cast<const int32_t*>(shown[4]) == 0);
  REQUIRE(tare_scaler_load(scaler, state, nullptr, &error) == TARE_OK);
  CHECK(*static_cast<const float*>(shown[1]) == 1024.0f);
  for (int32_t which = 1; which <= 5; ++which) {
    const void* again = nullptr;
    REQUIRE(tare_scaler_pointer(&again, scaler, which, &error) == TARE_OK);
    CHECK(again == shown[which]);
  }
}

TEST_CASE_METHOD(Fixture, "a failed load changes nothing and names every key") {
  tare_state* bad = nullptr;
  const std::string text = R"({"policy":"torch","fields":{"scale":1e300,"more":1}})";
  REQUIRE(tare_state_from_json(&bad, text.data(), text.size(), &error) == TARE_OK);
  CHECK(tare_scaler_load(scaler, bad, nullptr, &error) == TARE_E_MISMATCH);
  const std::string message = error.message;
  CHECK(message.find("missing: fields._growth_tracker") != std::string::npos);
  CHECK(message.find("extra: fields.more") != std::string::npos);
  CHECK(message.find("bad: fields.scale") != std::string::npos);
  double scale = 0;
  CHECK(tare_scaler_scale(&scale, scaler, nullptr, &error) == TARE_OK);
  CHECK(scale == 1024);
  tare_state_destroy(bad);
}

TEST_CASE_METHOD(Fixture, "values of a state are read and set by role, native name and full key") {
  double number = 0;
  int64_t integer = 0;
  int32_t kind = -1;
  uint64_t count = 0;
  tare_text* text = nullptr;
  CHECK(tare_state_number(&number, state, "scale", &error) == TARE_OK);
  CHECK(number == 1024);
  CHECK(tare_state_set_integer(state, "growth_tracker", 7, &error) == TARE_OK);
  CHECK(tare_state_integer(&integer, state, "fields._growth_tracker", &error) == TARE_OK);
  CHECK(integer == 7);
  CHECK(tare_state_kind(&kind, state, "params.growth_interval", &error) == TARE_OK);
  CHECK(kind == TARE_KIND_INTEGER);
  CHECK(tare_state_number(&number, state, "hysteresis", &error) == TARE_E_NOT_FOUND);
  CHECK(tare_state_set_number(state, "growth_tracker", 0.5, &error) == TARE_E_MISMATCH);
  CHECK(tare_state_set_text(state, "policy", "nemo", &error) == TARE_E_INVALID_ARGUMENT);
  CHECK(tare_state_text(&text, state, "policy", &error) == TARE_OK);
  CHECK(std::string(tare_text_data(text)) == "torch");
  tare_text_destroy(text);
  REQUIRE(tare_state_count(&count, state, &error) == TARE_OK);
  for (uint64_t i = 0; i < count; ++i) {
    REQUIRE(tare_state_key(&text, state, i, &error) == TARE_OK);
    CHECK(tare_state_kind(&kind, state, tare_text_data(text), &error) == TARE_OK);
    tare_text_destroy(text);
  }
  CHECK(tare_state_key(&text, state, count, &error) == TARE_E_INVALID_ARGUMENT);
}

TEST_CASE("a window list is read and set as an array") {
  tare_error error = TARE_ERROR_INIT;
  tare_scaler* scaler = nullptr;
  tare_state* state = nullptr;
  REQUIRE(tare_scaler_create(&scaler, R"({"policy":"mindformers_adaptive"})", &error) == TARE_OK);
  REQUIRE(tare_scaler_save(&state, scaler, nullptr, &error) == TARE_OK);
  uint64_t count = 0;
  REQUIRE(tare_state_array(nullptr, &count, state, "window_list", &error) == TARE_OK);
  REQUIRE(count == 8);
  double windows[8] = {};
  count = 3;
  CHECK(tare_state_array(windows, &count, state, "window_list", &error) == TARE_E_INVALID_ARGUMENT);
  REQUIRE(tare_state_array(windows, &count, state, "window_list", &error) == TARE_OK);
  CHECK(windows[0] == 20);
  CHECK(windows[7] == 1000);
  windows[0] = 10.5;
  CHECK(tare_state_set_array(state, "window_list", windows, 8, &error) == TARE_E_MISMATCH);
  windows[0] = 10;
  CHECK(tare_state_set_array(state, "window_list", windows, 8, &error) == TARE_OK);
  CHECK(tare_scaler_load(scaler, state, nullptr, &error) == TARE_OK);
  tare_state_destroy(state);
  tare_scaler_destroy(scaler);
}
