/* A CUDA driver that knows of one range of memory and nothing else. */
#include <stddef.h>
#include <stdint.h>

static uintptr_t from, to;
static int managed;

void stand_in_memory(const void* data, size_t size, int is_managed) {
  from = (uintptr_t)data;
  to = from + size;
  managed = is_managed;
}

int cuPointerGetAttribute(void* value, int attribute, uintptr_t pointer) {
  if (pointer < from || pointer >= to) return 1; /* CUDA_ERROR_INVALID_VALUE: the host's own */
  if (attribute == 2) *(unsigned*)value = 2;     /* CU_MEMORYTYPE_DEVICE */
  if (attribute == 8) *(unsigned*)value = managed != 0;
  return 0;
}
