/* What libtare asks of libtare_mpi.so, as a table of C functions. Both come from one build: the table's size and
 * `release` must agree. Functions return a status as tare.h numbers it. */
#ifndef TARE_LIB_COLLECTIVE_MPI_TABLE_H
#define TARE_LIB_COLLECTIVE_MPI_TABLE_H

#include <stdint.h>

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TARE_MPI_ALL_TO_ALL = 1, TARE_MPI_ALL_GATHER = 2 };

typedef struct tare_mpi_group tare_mpi_group;

typedef struct tare_mpi_table {
  uint64_t struct_size;
  const char* release;
  /* A group of its own with the ranks of `communicator`, all of which make this call. Fortran's handle, or null for all
   * ranks that there are. `timeout_seconds`: how long a reduction waits for other ranks; infinity: as long as MPI does.
   */
  int32_t (*join)(tare_mpi_group** out, const int32_t* communicator, double timeout_seconds, tare_backend_error* error);
  void (*leave)(tare_mpi_group* group);
  /* `operation` is a tare::Operation. */
  int32_t (*all_reduce)(tare_mpi_group* group, void* data, uint64_t count, int32_t operation,
                        tare_backend_error* error);
  /* `bytes` for each rank, or of this one; `to` has as many for each. */
  int32_t (*exchange)(tare_mpi_group* group, int32_t what, const void* from, void* to, uint64_t bytes,
                      tare_backend_error* error);
} tare_mpi_table;

/* The only symbol that the module exports. */
typedef const tare_mpi_table* (*tare_mpi_entry_point)(void);
#define TARE_MPI_ENTRY_POINT "tare_mpi_module"

#ifdef __cplusplus
}
#endif
#endif
