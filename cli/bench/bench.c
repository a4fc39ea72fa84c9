/* bench.c - `lethe bench` becomes the program lethe-bench. frame/program.h says why, and where that
 * program is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame/arguments.h"
#include "frame/commands.h"
#include "frame/program.h"
#include "say/message.h"

/* Becomes the program at path; returns only if that fails, with the reason in errno. */
static void become(const char *path, const struct arguments *arguments) {
    char **words = calloc(arguments->operand_count + 2, sizeof *words);
    if (words == NULL) return;
    char name[] = PROGRAM_BENCH;
    words[0] = name;
    if (arguments->operand_count > 0) {
        memcpy(words + 1, arguments->operands, arguments->operand_count * sizeof *words);
    }
    execv(path, words);
    int error = errno;
    free(words);
    errno = error;
}

int run_bench(const struct arguments *arguments) {
    char path[PROGRAM_PATH_BYTES];
    for (size_t i = 0; program_place(i, path); i++) {
        become(path, arguments);
        if (errno == ENOENT || errno == ENOTDIR) continue;
        return message_fail(EXIT_ENVIRONMENT, "cannot run %s: %s; install it again", path,
                            strerror(errno));
    }
    return program_fail_missing();
}
