/* appended.c - adds lines to a file that others add to; see appended.h.
 *
 * I1      One system call writes whole lines, at the end of the file as it is then. So lines of
 *         several writers never mix, unless a writer is killed in the middle of a call.
 * I2      While is_matching, this run has added nothing: all its lines were there. The first line
 *         that is not there ends it, because the killed run wrote in the same order.
 * I3      What a killed run has left is written again, at its place, before it counts as right. A
 *         sync of that run may have failed; then the lines can be read until the machine restarts,
 *         but are not on disk. */
#include "output/appended.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/interrupt.h"
#include "input/resume_find.h"
#include "output/output.h"
#include "say/message.h"

enum { BUFFER_BYTES = 256 << 10 };
#define KEPT_BYTES ((uint64_t)256 << 20)
#define STEP_BYTES ((uint64_t)8 << 20)

static int fail(struct appended *appended, const char *attempt) {
    return output_fail(attempt, appended->path, &appended->has_no_reader);
}

static int fail_memory(void) {
    return message_fail(EXIT_ENVIRONMENT, "not enough memory to write lines; free some");
}

static int fail_inside_line(const struct appended *appended) {
    return message_fail(EXIT_BAD_DATA,
                        "%s ends in the middle of a line that a killed run began and this run does "
                        "not continue; repeat that run, or remove or end the line yourself",
                        appended->path);
}

int appended_check(const char *path) {
    struct stat status;
    bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode), has_no_reader;
    errno = 0;
    if (!is_folder && access(path, W_OK) == 0) return EXIT_DONE;
    bool is_missing = errno == ENOENT;
    if (is_folder) errno = EISDIR;
    if (is_missing) {
        char *copy = strdup(path);
        if (copy == NULL) return message_fail_memory();
        char *slash = strrchr(copy, '/');
        if (slash != NULL) slash[slash == copy] = '\0';
        is_missing = access(slash != NULL ? copy : ".", W_OK | X_OK) == 0;
        free(copy);
    }
    return is_missing ? EXIT_DONE : output_fail("open", path, &has_no_reader);
}

int appended_open(struct appended *appended, const char *path) {
    *appended = (struct appended){.path = path,
                                  .behind = {.kept_bytes = KEPT_BYTES, .step_bytes = STEP_BYTES}};
    appended->descriptor = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    bool can_read = appended->descriptor >= 0;
    if (!can_read && errno == EACCES)
        appended->descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (appended->descriptor < 0) return fail(appended, "open");
    struct resume_file file;
    appended->is_regular = resume_look(appended->descriptor, &file) && can_read;
    appended->at = appended->behind.start = file.size;
    appended->room = appended->left_room = BUFFER_BYTES;
    appended->buffer = malloc(appended->room);
    appended->left = malloc(appended->left_room);
    if (appended->buffer == NULL || appended->left == NULL) return fail_memory();
    return EXIT_DONE;
}

bool appended_is(const struct appended *appended, const struct resume_mark *mark) {
    struct resume_file file;
    return appended->is_regular && resume_look(appended->descriptor, &file) &&
           file.identity == mark->file.identity;
}

/* Describes the place at offset by samples. */
static bool describe(int descriptor, uint64_t offset, struct resume_mark *out) {
    char head[RESUME_SAMPLE_BYTES], tail[RESUME_SAMPLE_BYTES];
    size_t size = resume_sample_size(offset);
    *out = (struct resume_mark){.offset = offset, .has_blocks = true};
    if (!resume_look(descriptor, &out->file) || !resume_read_at(descriptor, 0, head, size) ||
        !resume_read_at(descriptor, offset - size, tail, size)) {
        return false;
    }
    out->head = lethe_hash_bytes(LETHE_DEFAULT_SEED, head, size);
    out->tail = lethe_hash_bytes(LETHE_DEFAULT_SEED, tail, size);
    return true;
}

int appended_begin(struct appended *appended, const struct resume_mark *before) {
    struct resume_mark here;
    char last = '\n';
    if (!appended->is_regular) return EXIT_DONE;
    if (before != NULL && (before->flags & RESUME_CLOSED) == 0 && before->offset < appended->at &&
        describe(appended->descriptor, before->offset, &here) && resume_same_place(before, &here)) {
        appended->is_matching = true;
        appended->left_at = before->offset;
        appended->left_end = appended->at;
        appended->at = before->offset;
        return EXIT_DONE;
    }
    if (appended->at > 0) (void)resume_read_at(appended->descriptor, appended->at - 1, &last, 1);
    appended->is_inside_line = last != '\n';
    return EXIT_DONE;
}

static int write_all(struct appended *appended, const char *data, size_t size) {
    if (appended->has_failed) return EXIT_ENVIRONMENT;
    while (size > 0) {
        errno = 0;
        ssize_t done = write(appended->descriptor, data, size);
        if (done < 0 && errno == EINTR && !interrupt_requested()) continue;
        if (done <= 0) {
            appended->has_failed = true;
            return fail(appended, "write");
        }
        data += done;
        size -= (size_t)done;
        if (!appended->is_regular) continue;
        if (!behind_wrote(&appended->behind, appended->descriptor, (uint64_t)done)) {
            appended->has_failed = true;
            return fail(appended, "write");
        }
        off_t at = lseek(appended->descriptor, 0, SEEK_CUR);
        if (at > 0) appended->at = (uint64_t)at;
    }
    return EXIT_DONE;
}

int appended_flush(struct appended *appended) {
    if (appended->used == 0) return EXIT_DONE;
    int code = write_all(appended, appended->buffer, appended->used);
    appended->used = 0;
    return code;
}

/* Adds bytes that end with a line. */
static int add(struct appended *appended, const char *data, size_t size) {
    int code = EXIT_DONE;
    if (appended->is_inside_line) {
        appended->is_inside_line = false;
        code = write_all(appended, "\n", 1);
    }
    if (code == EXIT_DONE && size > appended->room - appended->used)
        code = appended_flush(appended);
    if (code != EXIT_DONE) return code;
    if (size > appended->room) return write_all(appended, data, size);
    memcpy(appended->buffer + appended->used, data, size);
    appended->used += size;
    return EXIT_DONE;
}

/* Writes what was left once more, so that the next sync finds it. In between nothing else is
 * written. */
static bool write_again(const struct appended *appended, const char *data, size_t size,
                        uint64_t at) {
    struct resume_file file;
    int flags = fcntl(appended->descriptor, F_GETFL);
    if (flags < 0) return false;
    /* Others may have cut it short; and a file that can only be added to stays as it is. */
    if (!resume_look(appended->descriptor, &file) || file.size < at + size) return true;
    if (fcntl(appended->descriptor, F_SETFL, flags & ~O_APPEND) != 0) return errno == EPERM;
    while (size > 0) {
        ssize_t done = pwrite(appended->descriptor, data, size, (off_t)at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) break;
        data += done;
        at += (uint64_t)done;
        size -= (size_t)done;
    }
    int error = errno;
    bool is_back = fcntl(appended->descriptor, F_SETFL, flags) == 0;
    if (is_back) errno = error;
    return size == 0 && is_back;
}

/* Reads more of what was left. */
static int read_left(struct appended *appended) {
    size_t kept = appended->left_size - appended->left_position;
    memmove(appended->left, appended->left + appended->left_position, kept);
    appended->left_position = 0;
    appended->left_size = kept;
    if (kept == appended->left_room) {
        char *larger = realloc(appended->left, 2 * appended->left_room);
        if (larger == NULL) return fail_memory();
        appended->left = larger;
        appended->left_room *= 2;
    }
    uint64_t more = appended->left_end - appended->left_at;
    if (more > appended->left_room - kept) more = appended->left_room - kept;
    errno = 0;
    if (!resume_read_at(appended->descriptor, appended->left_at, appended->left + kept,
                        (size_t)more)) {
        return fail(appended, "read");
    }
    if (!write_again(appended, appended->left + kept, (size_t)more, appended->left_at))
        return fail(appended, "write");
    appended->left_at += more;
    appended->left_size += (size_t)more;
    return EXIT_DONE;
}

/* The next line of what was left, with its newline; the last may have none. Empty: there is no
 * more. */
static int next_left(struct appended *appended, lethe_bytes *out) {
    for (;;) {
        const char *from = appended->left + appended->left_position;
        size_t size = appended->left_size - appended->left_position;
        const char *newline = memchr(from, '\n', size);
        bool is_last = appended->left_at == appended->left_end;
        if (newline != NULL || is_last) {
            if (newline != NULL) size = (size_t)(newline - from) + 1;
            *out = (lethe_bytes){.data = from, .size = size};
            appended->left_position += size;
            return EXIT_DONE;
        }
        int code = read_left(appended);
        if (code != EXIT_DONE) return code;
    }
}

static void end_matching(struct appended *appended) {
    appended->is_matching = false;
    appended->at = appended->left_end;
}

int appended_keep_left(struct appended *appended) {
    while (appended->is_matching) {
        lethe_bytes left;
        int code = next_left(appended, &left);
        if (code != EXIT_DONE) return code;
        if (left.size == 0) {
            end_matching(appended);
        } else if (((const char *)left.data)[left.size - 1] != '\n') {
            return fail_inside_line(appended);
        }
    }
    return EXIT_DONE;
}

bool appended_is_empty(const struct appended *appended) {
    return appended->at == 0 && appended->used == 0;
}

/* Passes a line, with its newline, if it was left by a killed run; otherwise adds it. */
static int match(struct appended *appended, const char *line, size_t size) {
    for (;;) {
        lethe_bytes left;
        int code = next_left(appended, &left);
        if (code != EXIT_DONE) return code;
        if (left.size == 0) {
            end_matching(appended);
            return add(appended, line, size);
        }
        bool is_same = left.size <= size && memcmp(left.data, line, left.size) == 0;
        if (((const char *)left.data)[left.size - 1] != '\n') {
            if (!is_same) return fail_inside_line(appended);
            end_matching(appended);
            return add(appended, line + left.size, size - left.size);
        }
        if (!is_same) continue; /* somebody else's */
        appended->at = appended->left_at - (appended->left_size - appended->left_position);
        return EXIT_DONE;
    }
}

int appended_write(struct appended *appended, const void *lines, size_t size) {
    const char *from = lines;
    int code = EXIT_DONE;
    while (appended->is_matching && size > 0 && code == EXIT_DONE) {
        size_t line = (size_t)((const char *)memchr(from, '\n', size) - from) + 1;
        code = match(appended, from, line);
        from += line;
        size -= line;
    }
    return code == EXIT_DONE && size > 0 ? add(appended, from, size) : code;
}

int appended_line(struct appended *appended, const void *line, size_t size) {
    char *whole = malloc(size + 1);
    if (whole == NULL) return fail_memory();
    memcpy(whole, line, size);
    whole[size] = '\n';
    int code = appended_write(appended, whole, size + 1);
    free(whole);
    return code;
}

/* The file may be new: its name must come to the disk too. A folder that can't be read can't be
 * synced. */
static bool sync_name(const char *path) {
    char *real = realpath(path, NULL);
    char *slash = real != NULL ? strrchr(real, '/') : NULL;
    if (slash != NULL) slash[slash == real] = '\0';
    int folder = real != NULL ? open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(real);
    if (folder < 0) return true;
    /* Some file systems can't sync a folder (EINVAL): they need not. */
    bool is_synced = fsync(folder) == 0 || errno == EINVAL;
    int error = errno;
    (void)close(folder);
    errno = error;
    return is_synced;
}

int appended_sync(struct appended *appended) {
    if (appended->has_failed) return EXIT_ENVIRONMENT;
    int code = appended_flush(appended);
    if (code != EXIT_DONE || !appended->is_regular) return code;
    errno = 0;
    if (fdatasync(appended->descriptor) != 0) {
        appended->has_failed = true;
        return fail(appended, "write");
    }
    if (!appended->name_is_synced && !sync_name(appended->path)) return fail(appended, "write");
    appended->name_is_synced = true;
    return EXIT_DONE;
}

int appended_mark(const struct appended *appended, bool is_closed, struct resume_mark *out) {
    if (!describe(appended->descriptor, appended->at, out)) {
        return message_fail(EXIT_ENVIRONMENT,
                            "cannot read %s, which was written up to byte %" PRIu64
                            "; was it cut short meanwhile?",
                            appended->path, appended->at);
    }
    /* What a killed run has left may still come again. */
    if (is_closed && !appended->is_matching) out->flags |= RESUME_CLOSED;
    return EXIT_DONE;
}

int appended_close(struct appended *appended, int code) {
    if (appended->buffer == NULL) return code;
    int flushed = code == EXIT_DONE ? appended_flush(appended) : code;
    free(appended->buffer);
    free(appended->left);
    appended->buffer = appended->left = NULL;
    errno = 0;
    if (close(appended->descriptor) != 0 && flushed == EXIT_DONE) flushed = fail(appended, "write");
    return flushed;
}
