/* Programs start by a function of glibc that runs their constructors itself since 2.34, and has to be given one that
 * does before. */
typedef void Constructor(int count, char** arguments, char** environment);
typedef int Main(int count, char** arguments, char** environment);

extern Constructor *__preinit_array_start[], *__preinit_array_end[], *__init_array_start[], *__init_array_end[];
extern void _init(void);
int __real___libc_start_main(Main* program, int count, char** arguments, Constructor* init, void (*fini)(void),
                             void (*loader_fini)(void), void* stack);
int __wrap___libc_start_main(Main* program, int count, char** arguments, Constructor* init, void (*fini)(void),
                             void (*loader_fini)(void), void* stack);

static void construct(int count, char** arguments, char** environment) {
  for (Constructor** each = __preinit_array_start; each != __preinit_array_end; ++each)
    (*each)(count, arguments, environment);
  _init();
  for (Constructor** each = __init_array_start; each != __init_array_end; ++each)
    (*each)(count, arguments, environment);
}

int __wrap___libc_start_main(Main* program, int count, char** arguments, Constructor* init, void (*fini)(void),
                             void (*loader_fini)(void), void* stack) {
  return __real___libc_start_main(program, count, arguments, init ? init : construct, fini, loader_fini, stack);
}
