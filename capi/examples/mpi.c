/* A model whose gradients are sharded over ranks of MPI: where one rank's shard overflows, all skip the step, and all
 * go on with the same scale.
 *
 *     mpicc -std=c99 mpi.c -ltare
 *     mpirun -n 4 ./a.out
 *
 * libtare_mpi.so has to be there, built for that MPI. */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <tare/tare.h>

enum { SHARD = 1000, STEPS = 8, OVERFLOWS = 3 };

static tare_error error = TARE_ERROR_INIT;

static void must(int32_t status) {
  if (status == TARE_OK) return;
  fprintf(stderr, "%s\n", error.message);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A scaler that goes by the gradients of all ranks. */
static tare_scaler* make_scaler(MPI_Comm ranks) {
  tare_scaler* scaler = NULL;
  tare_comm* comm = NULL;
  char config[80];
  snprintf(config, sizeof config, "{\"communicator\":%ld,\"timeout_seconds\":60}", (long)MPI_Comm_c2f(ranks));
  must(tare_scaler_create(&scaler, "{\"policy\":\"torch\",\"initial_scale\":65536,\"growth_interval\":4}", &error));
  must(tare_comm_from_mpi(&comm, config, &error));
  must(tare_scaler_set_comm(scaler, comm, NULL, &error));
  tare_comm_destroy(comm); /* the scaler keeps what it needs */
  return scaler;
}

int main(int argc, char** argv) {
  static float gradients[SHARD];
  static float weights[SHARD];
  const tare_tensor shard = {gradients, SHARD, TARE_F32, 0};
  const tare_tensor clipped = {gradients, SHARD, TARE_F32, 0};
  tare_scaler* scaler = NULL;
  tare_grads* grads = NULL;
  const void* noop = NULL;
  int rank = 0, ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  scaler = make_scaler(MPI_COMM_WORLD);
  must(tare_grads_create(&grads, scaler, &shard, 1, &error));
  must(tare_grads_pointer(&noop, grads, TARE_POINTER_NOOP, &error));
  for (int step = 0; step < STEPS; ++step) {
    double scale = 0;
    must(tare_scaler_scale(&scale, scaler, NULL, &error));
    for (int i = 0; i < SHARD; ++i) gradients[i] = (float)scale * 0.5f; /* backward, of a loss times scale */
    if (step == OVERFLOWS && rank == ranks - 1) gradients[7] = INFINITY;
    must(tare_grads_write(grads, &clipped, 1, "{\"clip_norm\":1.0}", NULL, &error)); /* the norm of all shards */
    if (*(const int32_t*)noop == 0) {
      for (int i = 0; i < SHARD; ++i) weights[i] -= 0.1f * gradients[i];
    }
    if (rank == 0) printf("step %d: scale %g%s\n", step, scale, *(const int32_t*)noop != 0 ? ", skipped" : "");
    must(tare_scaler_update(scaler, NULL, &error));
  }
  {
    double norm = 0;
    const double sum = (double)weights[0] * (double)weights[0] * (double)SHARD;
    MPI_Reduce(&sum, &norm, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("weights went %.3f, of 0.7 at most\n", sqrt(norm)); /* seven steps of 0.1 */
  }
  tare_grads_destroy(grads);
  tare_scaler_destroy(scaler); /* before MPI_Finalize: its communicator goes with it */
  MPI_Finalize();
  return 0;
}
