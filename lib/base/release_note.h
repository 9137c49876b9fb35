/* The ELF note by which tare knows its own modules and tare-remote, and their release, before anything of them runs. */
#ifndef TARE_LIB_BASE_RELEASE_NOTE_H
#define TARE_LIB_BASE_RELEASE_NOTE_H

#define TARE_NOTE_NAME "tare"
enum { TARE_NOTE_NAME_BYTES = (sizeof TARE_NOTE_NAME + 3) / 4 * 4 };
enum { TARE_NOTE_RELEASE = 1 }; /* the note's type; what it says is a text that ends with NUL */

#endif
