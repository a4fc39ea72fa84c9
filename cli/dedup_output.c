/* dedup_output.c - where the lines of `lethe dedup` go: standard output, or a file that is added to. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dedup.h"
#include "message.h"

static int fail(const struct dedup_output *output, const char *attempt) {
    int error = errno != 0 ? errno : EIO;
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
    *output = (struct dedup_output){.path = path};
    if (path != NULL) return open_file(output, note);
    struct stat information;
    output->stream = stdout;
    output->is_regular = fstat(STDOUT_FILENO, &information) == 0 && S_ISREG(information.st_mode);
    return EXIT_DONE;
}

int dedup_output_write(struct dedup_output *output, const void *data, size_t size) {
    errno = 0;
    return fwrite(data, 1, size, output->stream) == size ? EXIT_DONE : fail(output, "write");
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
