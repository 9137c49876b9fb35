/* What libtare asks of libtare_hdf5.so, as a table of C functions. The module turns entries into the bytes of an HDF5
 * file; files are libtare's business, and so is reading. Both come from one build: the table's size and `release` must
 * agree. */
#ifndef TARE_LIB_CODEC_HDF5_TABLE_H
#define TARE_LIB_CODEC_HDF5_TABLE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TARE_HDF5_MAX_RANK = 8 };
enum { TARE_HDF5_NONE = 0, TARE_HDF5_GZIP = 1, TARE_HDF5_ZSTD = 2 };
/* The root's attribute "checksum" as the module writes it; libtare puts the file's CRC-32 into it, of the bytes as they
 * are with these eight digits. */
#define TARE_HDF5_BLANK_CHECKSUM "crc32:00000000"

/* Elements of an entry. Null has no data; json and text are `width` bytes an item, padded with NUL. */
enum {
  TARE_HDF5_NULL = 0,
  TARE_HDF5_BOOL = 1,
  TARE_HDF5_I64 = 2,
  TARE_HDF5_F64 = 3,
  TARE_HDF5_F32 = 4,
  TARE_HDF5_TEXT = 5,
  TARE_HDF5_JSON = 6
};

/* One value. Rank 0 is a scalar. Strings end with NUL; units and role may be NULL; all is borrowed for the call. */
typedef struct tare_hdf5_entry {
  const char* section;
  const char* name;
  const char* units;
  const char* role;
  int32_t element;
  uint32_t rank;
  uint64_t shape[TARE_HDF5_MAX_RANK];
  uint64_t width;
  const void* data;
} tare_hdf5_entry;

/* One state. `path` is NULL where the file is this state and nothing else; else it stands in a group of its own, whose
 * attributes bear these. */
typedef struct tare_hdf5_state {
  const char* path;
  const char* schema;
  const char* policy;
  const tare_hdf5_entry* entries;
  uint64_t count;
} tare_hdf5_state;

/* Bytes of a file. */
typedef struct tare_hdf5_piece {
  const void* data;
  uint64_t size;
} tare_hdf5_piece;

typedef struct tare_hdf5_error {
  int32_t status;
  char message[512];
} tare_hdf5_error;

typedef struct tare_hdf5_table {
  uint64_t struct_size;
  const char* release;
  /* `schema` is the file's. Calls `take` once, with the whole file: pieces that stand one behind the other, and lie
   * there during the call. Values that are not compressed are not copied: their pieces are the entries' data. Returns a
   * status as tare.h numbers it. */
  int32_t (*encode)(const char* schema, const tare_hdf5_state* states, uint64_t count, int32_t compression,
                    void (*take)(void* context, const tare_hdf5_piece* pieces, uint64_t count), void* context,
                    tare_hdf5_error* error);
} tare_hdf5_table;

/* The only symbol that the module exports. */
typedef const tare_hdf5_table* (*tare_hdf5_entry_point)(void);
#define TARE_HDF5_ENTRY_POINT "tare_hdf5_module"

#ifdef __cplusplus
}
#endif
#endif
