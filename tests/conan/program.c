/* Writes a scaler's state to the file that is named, by its ending, and looks that it is read as it was written. */
#include <stdio.h>
#include <string.h>
#include <tare/tare.h>

static const char given[] = "{\"policy\":\"torch\",\"fields\":{\"scale\":65536,\"_growth_tracker\":3}}";

int main(int count, char** arguments) {
  tare_error error = TARE_ERROR_INIT;
  tare_state *state = NULL, *again = NULL;
  tare_text *written = NULL, *read = NULL;
  int same = 0;
  if (count != 2) return 2;
  if (tare_state_from_json(&state, given, sizeof given - 1, &error) != TARE_OK ||
      tare_state_write(state, arguments[1], NULL, &error) != TARE_OK ||
      tare_state_read(&again, arguments[1], &error) != TARE_OK ||
      tare_state_to_json(&written, state, &error) != TARE_OK || tare_state_to_json(&read, again, &error) != TARE_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  same = tare_text_size(written) == tare_text_size(read) &&
         memcmp(tare_text_data(written), tare_text_data(read), tare_text_size(read)) == 0;
  printf("%s: %s\n", arguments[1], same ? "read as it was written" : "not read as it was written");
  tare_text_destroy(read);
  tare_text_destroy(written);
  tare_state_destroy(again);
  tare_state_destroy(state);
  return same ? 0 : 1;
}
