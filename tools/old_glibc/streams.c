/* An archive that was not made for libraries takes the C library's streams for the program's own: here they are. */
#ifdef __x86_64__
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define FIRST_VERSION "GLIBC_2.17"
#endif

typedef struct Stream Stream;
extern Stream *of_the_library_stdout, *of_the_library_stderr;
__asm__(".symver of_the_library_stdout, stdout@" FIRST_VERSION);
__asm__(".symver of_the_library_stderr, stderr@" FIRST_VERSION);

__attribute__((visibility("hidden"))) Stream *stdout, *stderr;

__attribute__((constructor)) static void take_over(void) {
  stdout = of_the_library_stdout;
  stderr = of_the_library_stderr;
}
