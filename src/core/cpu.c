/* core/cpu.c - the decision, once per process, which code paths to take.
 *
 * An object asks when it is made and keeps pointers to its functions, so no operation
 * pays for the question. All paths compute the same bits (the tests prove it), so a file written
 * on one machine is read on any other. */
#include "core/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "lethe/version.h"

static const char *const level_names[] = {
    [LETHE_CPU_SCALAR] = "scalar",
    [LETHE_CPU_AVX2] = "avx2",
    [LETHE_CPU_AVX512] = "avx512",
};

/* The decided level plus one, so that zero means not yet. Threads that race here decide alike. */
static atomic_int decided;

lethe_cpu_level lethe_cpu_detect(void) {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2")) {
        return LETHE_CPU_SCALAR;
    }
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl")) {
        return LETHE_CPU_AVX2;
    }
    return LETHE_CPU_AVX512;
#else
    return LETHE_CPU_SCALAR;
#endif
}

static lethe_cpu_level decide(void) {
    lethe_cpu_level level = lethe_cpu_detect();
    const char *wanted = getenv("LETHE_CPU");
    if (wanted == NULL) return level;
    for (int lower = LETHE_CPU_SCALAR; lower < (int)level; lower++) {
        if (strcmp(wanted, level_names[lower]) == 0) return (lethe_cpu_level)lower;
    }
    return level;
}

lethe_cpu_level lethe_cpu(void) {
    int known = atomic_load_explicit(&decided, memory_order_relaxed);
    if (known == 0) {
        known = (int)decide() + 1;
        atomic_store_explicit(&decided, known, memory_order_relaxed);
    }
    return (lethe_cpu_level)(known - 1);
}

void lethe_cpu_force(lethe_cpu_level level) {
    atomic_store_explicit(&decided, (int)level + 1, memory_order_relaxed);
}

const char *lethe_cpu_path(void) {
    return level_names[lethe_cpu()];
}

static bool detect_fast_pdep(void) {
#if defined(__x86_64__)
    if (lethe_cpu_detect() < LETHE_CPU_AVX2) return false;
    if (!__builtin_cpu_is("amd")) return true;
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return false;
    unsigned family = (eax >> 8 & 0xf) + (eax >> 20 & 0xff);
    return family >= 0x19;
#else
    return false;
#endif
}

bool lethe_cpu_has_fast_pdep(void) {
    /* CPUID takes a microsecond under a hypervisor, so its answer is kept: 0 unknown, 1 no, 2
     * yes. */
    static atomic_int known;
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        answer = detect_fast_pdep() ? 2 : 1;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 2 && lethe_cpu() >= LETHE_CPU_AVX2;
}
