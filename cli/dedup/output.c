/* output.c - where the lines of `lethe dedup` go: standard output, or the file of --out, to which
 * lines are added (appended.h).
 *
 * I1      Lines that are printed together are written in one piece: the texts of a batch lie one
 *         after the other in memory. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dedup/dedup.h"
#include "output/output.h"

#define KEPT_BYTES ((uint64_t)256 << 20)
#define STEP_BYTES ((uint64_t)8 << 20)

static int fail(struct dedup_output *output) {
    output_reported();
    output->has_failed = true;
    return output_fail("write", "standard output", &output->has_no_reader);
}

/* Notes what became of --out, whether its reader has left, and passes the code on. */
static int passed_on(struct dedup_output *output, int code) {
    output->has_failed = output->has_failed || code != EXIT_DONE;
    output->has_no_reader = output->file.has_no_reader;
    return code;
}

int dedup_output_open(struct dedup_output *output, const char *path, bool is_synced,
                      const struct dedup_note *note) {
    *output = (struct dedup_output){
        .path = path,
        .behind = {.kept_bytes = KEPT_BYTES, .is_synced = is_synced, .step_bytes = STEP_BYTES}};
    if (path != NULL) {
        int code = appended_open(&output->file, path);
        output->file.behind.is_synced = is_synced;
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
    bool is_fine = !output->is_regular || behind_wrote(&output->behind, STDOUT_FILENO, size);
    return is_fine ? EXIT_DONE : fail(output);
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
        code =
            dedup_output_write(output, lines[first].data, line_text_size(lines + first, i - first));
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
    if (ferror(stdout)) return EXIT_ENVIRONMENT; /* what a failed write held is lost */
    int code = dedup_output_flush(output);
    if (code != EXIT_DONE || !output->is_regular) return code;
    return fdatasync(STDOUT_FILENO) == 0 ? EXIT_DONE : fail(output);
}

int dedup_output_close(struct dedup_output *output, int code) {
    if (output->path == NULL) return code;
    int closed = appended_close(&output->file, code);
    return code == EXIT_DONE ? passed_on(output, closed) : closed;
}
