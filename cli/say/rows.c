/* rows.c - prints facts in two columns. */
#include "say/rows.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "lethe/hash.h"

enum { NAME_COLUMNS = 15 };

void row_print(const char *name, const char *format, ...) {
    va_list arguments;
    printf("%-*s ", NAME_COLUMNS, name);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

void row_number(const char *name, uint64_t number) {
    row_print(name, "%" PRIu64, number);
}

void row_seed(uint64_t seed) {
    row_print("seed", "0x%016" PRIx64 "%s", seed,
              seed == LETHE_DEFAULT_SEED ? " (the default)" : "");
}
