/* filter/gaussian/double_avx2.c - slots of double with AVX2, 4 at a time. */
#if defined(__x86_64__)
#define VALUE double
#define VECTOR __m256d
#define OF(name) _mm256_##name##_pd
#define OPERATIONS lethe_gaussian_double_avx2
#include "filter/gaussian/value_avx2.inc.h"
#else
typedef int lethe_gaussian_double_avx2_is_for_x86;
#endif
