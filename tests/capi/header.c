/* Compiled as C99, C11 and C++17 with all warnings, against today's header and every frozen one, and run against
 * today's library: what a program of that day did must go on working. */
#include <stddef.h>
#include <stdio.h>
#include <tare/tare.h>

typedef char tensor_is_24_bytes[sizeof(tare_tensor) == 24 ? 1 : -1];
typedef char message_is_at_16[offsetof(tare_error, message) == 16 ? 1 : -1];

static int fail(const char* what, const tare_error* error) {
  printf("%s: %s\n", what, error->message);
  return 1;
}

int main(void) {
  tare_error error = TARE_ERROR_INIT;
  tare_scaler* scaler = NULL;
  tare_state* state = NULL;
  tare_text* text = NULL;
  double scale = 0;
  float values[2] = {8.0f, 2.0f};
  tare_tensor tensor = {NULL, 2, TARE_F32, 0};
  tensor.data = values;
  if (tare_version() < TARE_VERSION) return fail("version", &error);
  if (tare_scaler_create(&scaler, "{\"policy\":\"torch\",\"initial_scale\":8,\"window\":1}", &error) != TARE_OK)
    return fail("create", &error);
  if (tare_scaler_unscale(scaler, &tensor, 1, NULL, &error) != TARE_OK || values[0] != 1.0f)
    return fail("unscale", &error);
  if (tare_scaler_update(scaler, NULL, &error) != TARE_OK) return fail("update", &error);
  if (tare_scaler_scale(&scale, scaler, NULL, &error) != TARE_OK || scale != 16) return fail("scale", &error);
  if (tare_scaler_save(&state, scaler, NULL, &error) != TARE_OK) return fail("save", &error);
  if (tare_state_to_json(&text, state, &error) != TARE_OK || tare_text_size(text) == 0) return fail("to_json", &error);
  if (tare_scaler_load(scaler, state, NULL, &error) != TARE_OK) return fail("load", &error);
  tare_text_destroy(text);
  tare_state_destroy(state);
  tare_scaler_destroy(scaler);
  puts("ok");
  return 0;
}
