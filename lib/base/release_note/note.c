/* The note itself, linked into every module and tare-remote. */
#include <elf.h>

#include "lib/base/release_note.h"

__attribute__((used, section(".note.tare"), aligned(4))) static const struct {
  Elf64_Nhdr header; /* the same in files of 32 bits */
  char name[TARE_NOTE_NAME_BYTES];
  char release[(sizeof TARE_RELEASE + 3) / 4 * 4];
} note = {{sizeof TARE_NOTE_NAME, sizeof TARE_RELEASE, TARE_NOTE_RELEASE}, TARE_NOTE_NAME, TARE_RELEASE};
