/* dedup_output.c - where the lines of `lethe dedup` go: standard output, or a file that is added to. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dedup.h"
#include "interrupt.h"
#include "message.h"

#define KEPT_BYTES ((uint64_t)256 << 20)
#define STEP_BYTES ((uint64_t)8 << 20)

static int fail(struct dedup_output *output) {
    int error = errno != 0 ? errno : EIO;
    output->has_no_reader = error == EPIPE;
    if (output->has_no_reader) return EXIT_ENVIRONMENT; /* that is told by a signal, at the end */
    if (error == EINTR && interrupt_requested())
        return message_fail(interrupt_code(), "interrupted while nobody took the lines");
    return message_fail(EXIT_ENVIRONMENT,
                        "cannot write standard output: %s; make room or choose another place",
                        strerror(error));
}

/* What a call of --out has to say of its reader. */
static int passed_on(struct dedup_output *output, int code) {
    output->has_no_reader = output->file.has_no_reader;
    return code;
}

int dedup_output_open(struct dedup_output *output, const char *path,
                      const struct dedup_note *note) {
    *output = (struct dedup_output){.path = path,
                                    .behind = {.kept_bytes = KEPT_BYTES, .step_bytes = STEP_BYTES}};
    if (path != NULL) {
        int code = appended_open(&output->file, path);
        output->is_regular = output->file.is_regular;
        bool is_known = code == EXIT_DONE && note->has_delivered &&
                        appended_is(&output->file, &note->delivered);
        if (code == EXIT_DONE) {
            code = appended_begin(&output->file, is_known ? &note->delivered : NULL);
        }
        return passed_on(output, code);
    }
    struct stat information;
    output->is_regular = fstat(STDOUT_FILENO, &information) == 0 && S_ISREG(information.st_mode);
    off_t at = output->is_regular ? lseek(STDOUT_FILENO, 0, SEEK_CUR) : 0;
    if (at > 0) output->behind.start = (uint64_t)at;
    return EXIT_DONE;
}

int dedup_output_write(struct dedup_output *output, const void *data, size_t size) {
    if (output->path != NULL) {
        return passed_on(output, appended_write(&output->file, data, size));
    }
    errno = 0;
    if (fwrite(data, 1, size, stdout) != size) return fail(output);
    if (output->is_regular) behind_wrote(&output->behind, STDOUT_FILENO, size);
    return EXIT_DONE;
}

size_t dedup_text_size(const lethe_bytes *lines, size_t count) {
    const lethe_bytes *last = &lines[count - 1];
    return (size_t)((const char *)last->data + last->size + 1 - (const char *)lines[0].data);
}

int dedup_output_new(struct dedup_output *output, const lethe_bytes *lines, size_t count,
                     const uint8_t *present) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < count && code == EXIT_DONE;) {
        if (present[i]) {
            i++;
            continue;
        }
        size_t first = i;
        while (i < count && !present[i])
            i++;
        code = dedup_output_write(output, lines[first].data,
                                  dedup_text_size(lines + first, i - first));
    }
    return code;
}

int dedup_output_flush(struct dedup_output *output) {
    if (output->path != NULL) return passed_on(output, appended_flush(&output->file));
    errno = 0;
    return fflush(stdout) == 0 ? EXIT_DONE : fail(output);
}

int dedup_output_sync(struct dedup_output *output) {
    if (output->path != NULL) return passed_on(output, appended_sync(&output->file));
    int code = dedup_output_flush(output);
    if (code != EXIT_DONE || !output->is_regular) return code;
    return fdatasync(STDOUT_FILENO) == 0 ? EXIT_DONE : fail(output);
}

int dedup_output_close(struct dedup_output *output, int code) {
    if (output->path == NULL) return code;
    return passed_on(output, appended_close(&output->file, code));
}
