#include <tare/tare.h>

#define TARE_TEXT_OF(x) #x
#define TARE_TEXT(x) TARE_TEXT_OF(x)

uint32_t tare_version(void) {
  return TARE_VERSION;
}

const char* tare_version_string(void) {
  return TARE_TEXT(TARE_VERSION_MAJOR) "." TARE_TEXT(TARE_VERSION_MINOR) "." TARE_TEXT(TARE_VERSION_PATCH);
}

const char* tare_status_name(int32_t status) {
  switch (status) {
    case TARE_OK:
      return "ok";
    case TARE_E_INVALID_ARGUMENT:
      return "invalid argument";
    case TARE_E_WRONG_KIND:
      return "wrong kind";
    case TARE_E_OUT_OF_MEMORY:
      return "out of memory";
    case TARE_E_UNSUPPORTED:
      return "unsupported";
    case TARE_E_BACKEND:
      return "backend";
    case TARE_E_IO:
      return "i/o";
    case TARE_E_CORRUPT:
      return "corrupt";
    case TARE_E_NOT_FOUND:
      return "not found";
    case TARE_E_MISMATCH:
      return "mismatch";
    case TARE_E_REFUSED:
      return "refused";
    case TARE_E_CONFLICT:
      return "conflict";
    case TARE_E_BUSY:
      return "busy";
    case TARE_E_RULE:
      return "rule raised";
    case TARE_E_INTERNAL:
      return "internal";
    default:
      return "unknown";
  }
}
