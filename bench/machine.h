/* bench/machine.h - what a figure was measured on. */
#ifndef LETHE_BENCH_MACHINE_H
#define LETHE_BENCH_MACHINE_H

struct machine {
    const char *lethe, *cpu_path, *compiler, *flags;
    char cpu[96], system[160];
    long cores;
    double memory_bytes;
};

struct machine machine_describe(void);

#endif
