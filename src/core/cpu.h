/* core/cpu.h - which instruction sets the hot paths may use. */
#ifndef LETHE_CORE_CPU_H
#define LETHE_CORE_CPU_H

#include <stdbool.h>

typedef enum lethe_cpu_level {
    LETHE_CPU_SCALAR = 0, /* what every machine of the architecture has */
    LETHE_CPU_AVX2 = 1,   /* AVX2, BMI1, BMI2 */
    LETHE_CPU_AVX512 = 2  /* the above and AVX-512 F and VL */
} lethe_cpu_level;

/* The best level of this CPU, or the lower one that LETHE_CPU names. Decided at the first call
 * and the same ever after; any thread may make it. Cost: one load. */
lethe_cpu_level lethe_cpu(void);

/* What the hardware has, whatever LETHE_CPU says. */
lethe_cpu_level lethe_cpu_detect(void);

/* Whether PDEP is one fast instruction here (AMD before Zen 3 has it in slow microcode). */
bool lethe_cpu_has_fast_pdep(void);

/* Tests compare the paths with each other: from now on lethe_cpu() says level, which must be one
 * that lethe_cpu_detect allows. Objects made earlier keep the path they were made with. */
void lethe_cpu_force(lethe_cpu_level level);

#endif
