/* A loss scaler in C, with the library opened at run time: cc -std=c99 example.c -ldl
 *
 *     example LIBTARE CHECKPOINT FOLDER */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tare/tare.h>

static void* library;

/* POSIX lets a pointer to data become one to a function; ISO C has no word for it. */
static void find(const char* name, void* function) {
  void* symbol = dlsym(library, name);
  if (symbol == NULL) fprintf(stderr, "libtare has no %s\n", name);
  memcpy(function, &symbol, sizeof symbol);
}
#define FIND(name) find("tare_" #name, &name)

static int32_t (*scaler_create)(tare_scaler**, const char*, tare_error*);
static int32_t (*scaler_unscale)(tare_scaler*, const tare_tensor*, uint64_t, tare_stream, tare_error*);
static int32_t (*scaler_report_overflow)(tare_scaler*, int32_t, tare_stream, tare_error*);
static int32_t (*scaler_update)(tare_scaler*, tare_stream, tare_error*);
static int32_t (*scaler_scale)(double*, const tare_scaler*, tare_stream, tare_error*);
static int32_t (*scaler_save)(tare_state**, const tare_scaler*, tare_stream, tare_error*);
static int32_t (*scaler_load)(tare_scaler*, const tare_state*, tare_stream, tare_error*);
static void (*scaler_destroy)(tare_scaler*);
static int32_t (*state_read)(tare_state**, const char*, tare_error*);
static int32_t (*state_write)(const tare_state*, const char*, const char*, tare_error*);
static int32_t (*state_number)(double*, const tare_state*, const char*, tare_error*);
static int32_t (*checkpoint_state)(tare_state**, const char*, const char*, tare_error*);
static void (*state_destroy)(tare_state*);

static tare_error error = TARE_ERROR_INIT;

/* Writes the state and reads its scale back. */
static int32_t round_trip(double* scale, const tare_state* state, const char* path) {
  tare_state* again = NULL;
  int32_t status = state_write(state, path, NULL, &error);
  if (status == TARE_OK) status = state_read(&again, path, &error);
  if (status == TARE_OK) status = state_number(scale, again, "scale", &error);
  state_destroy(again);
  return status;
}

static int32_t run(tare_scaler* scaler, const char* checkpoint, const char* folder) {
  float gradients[3] = {1024.0f, INFINITY, 512.0f};
  tare_tensor tensor = {NULL, 3, TARE_F32, 0};
  tare_state* state = NULL;
  char json[1024], hdf5[1024];
  double scale = 0, from_json = 0, from_hdf5 = 0;
  int32_t status;
  tensor.data = gradients;
  snprintf(json, sizeof json, "%s/c.json", folder);
  snprintf(hdf5, sizeof hdf5, "%s/c.h5", folder);

  if ((status = scaler_unscale(scaler, &tensor, 1, NULL, &error)) != TARE_OK) return status;
  if ((status = scaler_update(scaler, NULL, &error)) != TARE_OK) return status;
  if ((status = scaler_scale(&scale, scaler, NULL, &error)) != TARE_OK) return status;
  printf("unscaled %g, scale %g\n", (double)gradients[0], scale);

  if ((status = scaler_save(&state, scaler, NULL, &error)) != TARE_OK) return status;
  status = round_trip(&from_json, state, json);
  if (status == TARE_OK) status = round_trip(&from_hdf5, state, hdf5);
  state_destroy(state);
  if (status != TARE_OK) return status;
  printf("read back %g and %g\n", from_json, from_hdf5);

  if ((status = checkpoint_state(&state, checkpoint, NULL, &error)) != TARE_OK) return status;
  status = scaler_load(scaler, state, NULL, &error);
  state_destroy(state);
  if (status != TARE_OK) return status;
  if ((status = scaler_report_overflow(scaler, 1, NULL, &error)) != TARE_OK) return status;
  if ((status = scaler_update(scaler, NULL, &error)) != TARE_OK) return status;
  if ((status = scaler_scale(&scale, scaler, NULL, &error)) != TARE_OK) return status;
  printf("an overflow after the checkpoint: scale %g\n", scale);
  return TARE_OK;
}

int main(int count, char** arguments) {
  tare_scaler* scaler = NULL;
  int32_t status;
  if (count != 4) return puts("usage: example LIBTARE CHECKPOINT FOLDER"), 2;
  library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  FIND(scaler_create), FIND(scaler_unscale), FIND(scaler_report_overflow), FIND(scaler_update), FIND(scaler_scale);
  FIND(scaler_save), FIND(scaler_load), FIND(scaler_destroy), FIND(state_read), FIND(state_write), FIND(state_number);
  FIND(checkpoint_state), FIND(state_destroy);

  status = scaler_create(&scaler, "{\"policy\":\"torch\",\"initial_scale\":1024}", &error);
  if (status == TARE_OK) status = run(scaler, arguments[2], arguments[3]);
  if (status != TARE_OK) fprintf(stderr, "%s\n", error.message);
  scaler_destroy(scaler);
  return status == TARE_OK ? 0 : 1;
}
