/* files.c - whether the files that `lethe count` is given go together. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "count/count.h"
#include "output/appended.h"
#include "say/message.h"

struct identity {
    dev_t device;
    ino_t number;
    const char *path;
};

static int compare_identities(const void *a, const void *b) {
    const struct identity *left = a, *right = b;
    if (left->device != right->device) return left->device < right->device ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

/* A file that is named twice would be read twice at the same time. */
static int check_named_once(const struct inputs *inputs) {
    struct identity *all = malloc(inputs->count * sizeof *all);
    if (all == NULL) return message_fail_memory();
    size_t count = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        struct stat status;
        bool is_standard = strcmp(inputs->paths[i], "-") == 0;
        if ((is_standard ? fstat(0, &status) : stat(inputs->paths[i], &status)) != 0) continue;
        if (S_ISCHR(status.st_mode) && !is_standard) continue;
        all[count++] = (struct identity){status.st_dev, status.st_ino, inputs->paths[i]};
    }
    qsort(all, count, sizeof *all, compare_identities);
    int code = EXIT_DONE;
    for (size_t i = 1; i < count && code == EXIT_DONE; i++) {
        if (compare_identities(&all[i - 1], &all[i]) != 0) continue;
        if (strcmp(all[i - 1].path, all[i].path) == 0) {
            code = message_fail(EXIT_USAGE, "%s is named twice; name it once",
                                inputs_name(all[i].path));
        } else {
            code = message_fail(EXIT_USAGE, "%s and %s are the same file; name it once",
                                inputs_name(all[i - 1].path), inputs_name(all[i].path));
        }
    }
    free(all);
    return code;
}

/* Whether path is the folder, or in it. */
static bool is_within(const char *path, const char *folder) {
    char *inner = realpath(path, NULL), *outer = realpath(folder, NULL);
    size_t length = outer != NULL ? strlen(outer) : 0;
    bool within = inner != NULL && outer != NULL && strncmp(inner, outer, length) == 0 &&
                  (inner[length] == '/' || inner[length] == '\0');
    free(inner);
    free(outer);
    return within;
}

int count_check_merge(const struct inputs *inputs) {
    for (size_t i = 0; i < inputs->count; i++) {
        if (inputs_is_file(inputs->paths[i])) continue;
        return message_fail(
            EXIT_USAGE,
            "%s is not a named file, and several inputs whose events have times are "
            "merged by them, which needs files; count it in a run of its own, or "
            "write it to a file first",
            inputs_name(inputs->paths[i]));
    }
    return EXIT_DONE;
}

int count_check_files(const struct arguments *arguments, const char *folder,
                      struct inputs *inputs) {
    for (size_t i = 0; i < arguments->operand_count && folder != NULL; i++) {
        const char *path = arguments->operands[i];
        if (strcmp(path, "-") == 0 || !is_within(path, folder)) continue;
        return message_fail(EXIT_USAGE, "%s belongs to the store %s itself; name a file of events",
                            path, folder);
    }
    int code = arguments_has(arguments, "follow")
                   ? count_look_followed(arguments, inputs)
                   : inputs_look(arguments->operands, arguments->operand_count, inputs);
    inputs->takes_binary = arguments_has(arguments, "binary");
    inputs->is_quiet = arguments_has(arguments, "quiet");
    if (code == EXIT_DONE) code = check_named_once(inputs);
    const char *late = arguments_text(arguments, "late-out");
    if (code != EXIT_DONE || late == NULL || folder == NULL) return code;
    if (inputs_include(inputs, late) || is_within(late, folder)) {
        return message_fail(EXIT_USAGE, "--late-out %s is %s; choose another file", late,
                            is_within(late, folder) ? "part of the store" : "one of the inputs");
    }
    return appended_check(late);
}
