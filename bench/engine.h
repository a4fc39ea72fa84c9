/* bench/engine.h - stores in benchmarks: a call that fails ends the benchmark, with its detail. */
#ifndef LETHE_BENCH_ENGINE_H
#define LETHE_BENCH_ENGINE_H

#include <lethe/store.h>

void engine_require(lethe_status status, const lethe_detail *detail);
void engine_close(lethe_store *store);

#endif
