/* verify.c - reads compressed files to their ends, and uses nothing of them.
 *
 * WHY     All files are verified before the first of them is used, so that a run that is refused
 *         has done nothing, and is repeated as it was.
 * LIMIT   What has no checksum is not noticed: zstd and xz data may have none. The first member
 *         that holds data says so, and there is a warning then.
 *         Whoever reads a file opens it again. If it was replaced in between, damage is noticed
 *         only then, and reported as that of a pipe is. */
#include "input/verify.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/source.h"
#include "input/unpack.h"
#include "say/message.h"
#include "say/progress.h"

enum { PIECE_BYTES = 256 << 10 };

struct verification {
    struct progress progress;
    /* Decompressed so far; and of the files themselves, those that were left behind. */
    uint64_t bytes, bytes_before;
    char piece[PIECE_BYTES];
};

/* Reads a source to its end, if it is compressed. */
static void read_source(struct verification *all, struct source *source,
                        struct input_failure *failure) {
    size_t got = 0;
    while (source_read(source, all->piece, sizeof all->piece, &got, failure) == SOURCE_MORE &&
           source_is_packed(source)) {
        all->bytes += got;
        progress_update(&all->progress, all->bytes, all->bytes_before + source_bytes(source));
    }
}

/* Warns of a file that has no checksum; it begins at a place of its descriptor. */
static void warn_of_unchecked(int descriptor, off_t at, const char *name) {
    unsigned char data[PACKING_MAGIC_BYTES];
    size_t skip = 1;
    while (skip > 0) {
        ssize_t got = pread(descriptor, data, sizeof data, at);
        bool lacks = packing_lacks_checksum(data, got > 0 ? (size_t)got : 0, &skip);
        if (lacks) message_warn("%s has no checksum: damage to it may go unnoticed", name);
        at += (off_t)skip;
    }
}

static void warn_of_unchecked_file(const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    warn_of_unchecked(descriptor, 0, path);
    (void)close(descriptor);
}

static int verify_one(struct verification *all, const char *path) {
    struct input_failure failure = {0};
    struct source *source = source_open(path, NULL, &failure);
    if (source != NULL) {
        read_source(all, source, &failure);
        all->bytes_before += source_bytes(source);
    }
    source_close(source);
    input_failure_advise(&failure, false);
    return failure.code == EXIT_DONE ? EXIT_DONE : message_fail(failure.code, "%s", failure.text);
}

/* Goes back to where standard input was in the beginning, and afterwards to where it is now. */
static int verify_standard(struct verification *all, const struct inputs *inputs) {
    struct stat status;
    if (fstat(STDIN_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return EXIT_DONE;
    off_t now = lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (now < 0 || lseek(STDIN_FILENO, (off_t)inputs->standard_at, SEEK_SET) < 0) return EXIT_DONE;
    warn_of_unchecked(STDIN_FILENO, (off_t)inputs->standard_at, "standard input");
    int code = verify_one(all, "-");
    (void)lseek(STDIN_FILENO, now, SEEK_SET);
    return code;
}

int inputs_verify(const struct inputs *inputs) {
    struct verification *all = calloc(1, sizeof *all);
    if (all == NULL) return message_fail_memory();
    int code = EXIT_DONE;
    progress_begin(&all->progress, !inputs->is_quiet, "bytes checked", inputs->bytes);
    for (size_t i = 0; i < inputs->count && code == EXIT_DONE; i++) {
        const char *path = inputs->paths[i];
        if (inputs_is_standard(path)) {
            code = verify_standard(all, inputs);
        } else if (inputs_is_file(path)) {
            warn_of_unchecked_file(path);
            code = verify_one(all, path);
        }
    }
    progress_end(&all->progress);
    free(all);
    return code;
}
