/* engine.c - stores in benchmarks. */
#include "engine.h"

#include <stdio.h>

#include "frame.h"

void engine_require(lethe_status status, const lethe_detail *detail) {
    if (status == LETHE_OK) return;
    fprintf(stderr, "lethe-bench: %s: %s\n", lethe_strerror(status), detail->text);
    bench_require(false, "a call of the engine");
}

void engine_close(lethe_store *store) {
    lethe_detail detail = {""};
    engine_require(lethe_store_close(store, &detail), &detail);
}
