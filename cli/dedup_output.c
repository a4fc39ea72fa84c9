/* dedup_output.c - where the lines of `lethe dedup` go: standard output, or a file that is added to. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dedup.h"
#include "interrupt.h"
#include "message.h"

#define KEPT_BYTES ((uint64_t)256 << 20)
#define STEP_BYTES ((uint64_t)8 << 20)

static int fail(struct dedup_output *output, const char *attempt) {
    int error = errno != 0 ? errno : EIO;
    output->has_no_reader = error == EPIPE;
    if (output->has_no_reader) return EXIT_ENVIRONMENT; /* that is told by a signal, at the end */
    if (error == EINTR && interrupt_requested())
        return message_fail(interrupt_code(), "interrupted while nobody took the lines");
    return message_fail(EXIT_ENVIRONMENT, "cannot %s %s: %s; make room or choose another place",
                        attempt, output->path != NULL ? output->path : "standard output",
                        strerror(error));
}

/* Whether it is the file of the note, and holds up to where that says what was delivered then. */
static bool holds(int descriptor, const struct dedup_note *note) {
    struct resume_mark mark;
    struct dedup_identity identity;
    const struct resume_mark *before = &note->delivered;
    if (!note->has_delivered || !dedup_identify(descriptor, &identity) ||
        memcmp(&identity, &note->identity, sizeof identity) != 0) {
        return false;
    }
    return dedup_sample(descriptor, before->offset, &mark) && mark.head.low == before->head.low &&
           mark.head.high == before->head.high && mark.tail.low == before->tail.low &&
           mark.tail.high == before->tail.high;
}

static int open_file(struct dedup_output *output, const struct dedup_note *note) {
    int descriptor = open(output->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) return fail(output, "open");
    struct stat information;
    output->is_regular = fstat(descriptor, &information) == 0 && S_ISREG(information.st_mode);
    bool fine = true;
    if (output->is_regular) {
        if (holds(descriptor, note))
            fine = ftruncate(descriptor, (off_t)note->delivered.offset) == 0;
        fine = fine && lseek(descriptor, 0, SEEK_END) >= 0;
    }
    if (fine) output->stream = fdopen(descriptor, "r+");
    if (output->stream != NULL) return EXIT_DONE;
    int code = fail(output, "write");
    close(descriptor);
    return code;
}

int dedup_output_open(struct dedup_output *output, const char *path,
                      const struct dedup_note *note) {
    *output = (struct dedup_output){.path = path,
                                    .behind = {.kept_bytes = KEPT_BYTES, .step_bytes = STEP_BYTES}};
    int code = EXIT_DONE;
    if (path != NULL) {
        code = open_file(output, note);
    } else {
        struct stat information;
        output->stream = stdout;
        output->is_regular =
            fstat(STDOUT_FILENO, &information) == 0 && S_ISREG(information.st_mode);
    }
    off_t at =
        code == EXIT_DONE && output->is_regular ? lseek(fileno(output->stream), 0, SEEK_CUR) : 0;
    if (at > 0) output->behind.start = (uint64_t)at;
    return code;
}

int dedup_output_write(struct dedup_output *output, const void *data, size_t size) {
    errno = 0;
    if (fwrite(data, 1, size, output->stream) != size) return fail(output, "write");
    if (output->is_regular) behind_wrote(&output->behind, fileno(output->stream), size);
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
    errno = 0;
    return fflush(output->stream) == 0 ? EXIT_DONE : fail(output, "write");
}

int dedup_output_sync(struct dedup_output *output) {
    int code = dedup_output_flush(output);
    if (code != EXIT_DONE || !output->is_regular) return code;
    return fdatasync(fileno(output->stream)) == 0 ? EXIT_DONE : fail(output, "write");
}

int dedup_output_close(struct dedup_output *output, int code) {
    if (output->path == NULL || output->stream == NULL) return code;
    errno = 0;
    if (fclose(output->stream) == 0 || code != EXIT_DONE) return code;
    return fail(output, "write");
}
