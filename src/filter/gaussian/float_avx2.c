/* filter/gaussian/float_avx2.c - slots of float with AVX2, 8 at a time. */
#if defined(__x86_64__)
#define VALUE float
#define VECTOR __m256
#define OF(name) _mm256_##name##_ps
#define OPERATIONS lethe_gaussian_float_avx2
#include "filter/gaussian/value_avx2.inc.h"
#else
typedef int lethe_gaussian_float_avx2_is_for_x86;
#endif
