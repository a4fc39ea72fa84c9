/* bench.c - `lethe bench` becomes the program lethe-bench. */
#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/program.h"

int run_bench(const struct arguments *arguments) {
    return program_become(PROGRAM_BENCH, arguments->operands, arguments->operand_count);
}
