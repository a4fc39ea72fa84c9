/* paper/workload.c - see workload.h. */
#include "paper/workload.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/program.h"
#include "say/message.h"

/* Starts the workload with its output in a pipe. */
static int start(const char *name, pid_t *child, int *output) {
    int ends[2];
    *output = -1;
    if (pipe(ends) != 0) {
        return message_fail(EXIT_ENVIRONMENT, "cannot make a pipe: %s", strerror(errno));
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    char path[PROGRAM_PATH_BYTES], program[] = PROGRAM_BENCH, json[] = "--json", workload[64];
    snprintf(workload, sizeof workload, "%s", name);
    char *words[] = {program, json, workload, NULL};
    int error = ENOENT;
    for (size_t i = 0; (error == ENOENT || error == ENOTDIR) && program_place(program, i, path);
         i++)
        error = posix_spawn(child, path, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *output = ends[0];
    if (error == 0) return EXIT_DONE;
    close(ends[0]);
    if (error == ENOENT || error == ENOTDIR) return program_fail_missing(program);
    return message_fail(EXIT_ENVIRONMENT, "cannot run %s: %s", path, strerror(error));
}

/* Waits for the workload; what it had to say is on standard error. */
static int finish(const char *name, pid_t child) {
    int status;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return EXIT_ENVIRONMENT;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT, "%s %s failed%s", PROGRAM_BENCH, name,
                        WIFEXITED(status) && WEXITSTATUS(status) == 2
                            ? "; was it built where a library was not found?"
                            : "");
}

int workload_read(const char *name, json_t **document) {
    *document = NULL;
    pid_t child = -1;
    int output;
    int code = start(name, &child, &output);
    if (code != EXIT_DONE) return code;
    FILE *file = fdopen(output, "r");
    if (file != NULL) *document = json_loadf(file, 0, NULL);
    if (file != NULL) fclose(file);
    code = finish(name, child);
    if (code == EXIT_DONE && json_array_size(json_object_get(*document, "results")) == 0) {
        code = message_fail(EXIT_ENVIRONMENT, "%s %s measured nothing", PROGRAM_BENCH, name);
    }
    return code;
}

double workload_number(const json_t *row, const char *key) {
    const json_t *value = json_object_get(row, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

int workload_report(struct report *report, const char *name, const struct column *columns,
                    const char *const *keys, size_t count,
                    void (*conclude)(struct report *report, const json_t *rows)) {
    enum { MOST_COLUMNS = 16 };
    assert(count <= MOST_COLUMNS);
    json_t *document = NULL;
    int code = workload_read(name, &document);
    report_columns(report, columns, count);
    if (code == EXIT_DONE) {
        const json_t *rows = json_object_get(document, "results");
        size_t i;
        json_t *row;
        json_array_foreach(rows, i, row) {
            double values[MOST_COLUMNS];
            for (size_t column = 0; column < count; column++)
                values[column] = workload_number(row, keys[column]);
            report_row(report, values, count);
        }
        conclude(report, rows);
    }
    json_decref(document);
    return code;
}
