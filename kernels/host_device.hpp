// Marks what host and device share. Plain C++ compilers see nothing of it.
#pragma once

#if defined(__CUDACC__)
#define TARE_HD __host__ __device__
#else
#define TARE_HD
#endif
