/* source.c - opens, waits, reads and decompresses.
 *
 * LAYOUT  input: bytes that were read from the file and not yet decompressed or handed on. The
 *         first read always goes there, because the first bytes settle the format. A plain file is
 *         then read straight into the caller's buffer.
 * I1      A named regular file is read by offset (pread): `bytes` is where the next read begins,
 *         and nothing else that has the same open file disturbs it. Pipes and standard input are
 *         read in order.
 * WHY     Files are opened without blocking; standard input is as it was given. A thread that is
 *         not the main one waits with poll, a tenth of a second at a time, because a signal may be
 *         handled by any thread and then interrupts no read of this one. */
#include "input/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/exit_code.h"
#include "frame/interrupt.h"
#include "input/inputs.h"
#include "input/unpack.h"

enum { INPUT_BYTES = 256 << 10, WAIT_MS = 100, PIPE_BYTES = 1 << 20 };

struct source {
    const char *path;
    const atomic_bool *stop;
    int descriptor;
    bool is_regular, is_named, ignores_signals;

    /* The first bytes have settled how it is compressed; NULL: it is not. */
    bool is_recognised;
    const struct packing *packing;
    struct unpacker *unpacker;
    /* The unpacker filled all room, and may have more. */
    bool has_more;
    /* What the unpacker met after the bytes that it wrote last. */
    enum unpack_result fault;
    const char *reason;

    /* Of the file itself. */
    bool at_end;
    uint64_t bytes;

    size_t input_at, input_end;
    unsigned char input[INPUT_BYTES];
};

void input_failure_set(struct input_failure *failure, int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    failure->code = code;
    failure->is_damage = false;
}

void input_failure_advise(struct input_failure *failure, bool is_used) {
    if (!failure->is_damage) return;
    size_t length = strlen(failure->text);
    snprintf(failure->text + length, sizeof failure->text - length, "%s",
             is_used ? "; lines before that were taken already, and may be wrong: undo this run "
                       "(restore a store from its backup, throw away what was printed), get the "
                       "data again from where it came from, and repeat the command"
                     : "; nothing was taken from any input; get the file again from where it came "
                       "from, and repeat the command");
    failure->is_damage = false;
}

static void fail_by_errno(const struct source *source, struct input_failure *failure) {
    inputs_explain(source->path, errno, failure->text, sizeof failure->text);
    failure->code = EXIT_ENVIRONMENT;
    failure->is_damage = false;
}

static struct source *make(const char *path, struct input_failure *failure) {
    struct source *source = malloc(sizeof *source);
    if (source == NULL) {
        input_failure_set(failure, EXIT_ENVIRONMENT, "not enough memory to read %s; free some",
                          inputs_name(path));
        return NULL;
    }
    memset(source, 0, offsetof(struct source, input));
    source->path = path;
    source->is_named = !inputs_is_standard(path);
    return source;
}

/* Lets the writer of a pipe be further ahead: with the usual 64 KiB, each of the two waits for the
 * other after every thousand lines or so. Where that is not allowed, it stays as it is. */
static void widen_pipe(int descriptor) {
    if (fcntl(descriptor, F_GETPIPE_SZ) < PIPE_BYTES)
        (void)fcntl(descriptor, F_SETPIPE_SZ, PIPE_BYTES);
}

/* With its descriptor, or the errno of why there is none. */
static struct source *begin(struct source *source, struct input_failure *failure) {
    struct stat status;
    if (source->descriptor < 0 || fstat(source->descriptor, &status) != 0) {
        fail_by_errno(source, failure);
        source_close(source);
        return NULL;
    }
    source->is_regular = S_ISREG(status.st_mode);
    if (S_ISFIFO(status.st_mode)) widen_pipe(source->descriptor);
    (void)posix_fadvise(source->descriptor, 0, 0, POSIX_FADV_SEQUENTIAL); /* pipes refuse it */
    return source;
}

struct source *source_open(const char *path, const atomic_bool *stop,
                           struct input_failure *failure) {
    struct source *source = make(path, failure);
    if (source == NULL) return NULL;
    source->stop = stop;
    source->descriptor = STDIN_FILENO;
    if (source->is_named) source->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return begin(source, failure);
}

struct source *source_adopt(const char *path, int descriptor, struct input_failure *failure) {
    struct source *source = make(path, failure);
    if (source == NULL) {
        close(descriptor);
        return NULL;
    }
    source->descriptor = descriptor;
    return begin(source, failure);
}

static void end_unpacking(struct source *source) {
    unpack_free(source->unpacker);
    source->unpacker = NULL;
    source->packing = NULL;
    source->fault = UNPACK_FINE;
    source->is_recognised = source->has_more = false;
}

void source_close(struct source *source) {
    if (source == NULL) return;
    end_unpacking(source);
    if (source->is_named && source->descriptor >= 0) close(source->descriptor);
    free(source);
}

void source_ignore_signals(struct source *source) {
    source->ignores_signals = true;
}

const char *source_path(const struct source *source) {
    return source->path;
}

bool source_is_regular(const struct source *source) {
    return source->is_regular && source->is_named;
}

uint64_t source_bytes(const struct source *source) {
    return source->bytes;
}

static bool should_stop(const struct source *source) {
    if (!source->ignores_signals && interrupt_requested()) return true;
    return source->stop != NULL && atomic_load_explicit(source->stop, memory_order_relaxed);
}

/* Waits for input, for a while at least. Returns whether to try a read. */
static bool await_input(const struct source *source) {
    if (source->is_regular) return true;
    if (source->stop == NULL) {
        interrupt_wait_readable(source->descriptor);
        return !should_stop(source);
    }
    /* A signal ends the wait too. To read then would wait for input, however long that takes. */
    struct pollfd input = {.fd = source->descriptor, .events = POLLIN};
    int ready = poll(&input, 1, WAIT_MS);
    return ready > 0 || (ready < 0 && errno != EINTR);
}

/* Reads from the file itself, once there is something to read. */
static enum source_result read_file(struct source *source, void *out, size_t room, size_t *got,
                                    struct input_failure *failure) {
    for (;;) {
        if (should_stop(source)) return SOURCE_STOPPED;
        if (!await_input(source)) continue;
        ssize_t size = source_is_regular(source)
                           ? pread(source->descriptor, out, room, (off_t)source->bytes)
                           : read(source->descriptor, out, room);
        if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (size < 0) {
            fail_by_errno(source, failure);
            return SOURCE_FAILED;
        }
        source->at_end = size == 0;
        source->bytes += (uint64_t)size;
        *got = (size_t)size;
        return source->at_end ? SOURCE_END : SOURCE_MORE;
    }
}

/* Reads more into the input buffer. */
static enum source_result refill(struct source *source, struct input_failure *failure) {
    if (source->input_at == source->input_end) source->input_at = source->input_end = 0;
    size_t got = 0;
    enum source_result result = read_file(source, source->input + source->input_end,
                                          INPUT_BYTES - source->input_end, &got, failure);
    source->input_end += got;
    return result;
}

static bool start_unpacking(struct source *source, const struct packing *packing,
                            struct input_failure *failure) {
    source->is_recognised = true;
    source->packing = packing;
    if (packing == NULL) return true;
    source->unpacker = unpack_new(packing);
    if (source->unpacker != NULL) return true;
    input_failure_set(failure, EXIT_ENVIRONMENT, "not enough memory to decompress %s; free some",
                      inputs_name(source->path));
    return false;
}

/* Reads until the first bytes settle the format. The first byte of a text mostly does. */
static enum source_result recognise(struct source *source, struct input_failure *failure) {
    bool is_open = true;
    const struct packing *packing = NULL;
    while (is_open) {
        enum source_result result = refill(source, failure);
        if (result == SOURCE_STOPPED || result == SOURCE_FAILED) return result;
        packing = packing_recognise(source->input, source->input_end, source->at_end, &is_open);
    }
    const char *name = source->is_named ? source->path : NULL;
    if (packing == NULL && source->at_end) {
        packing = packing_cut_short(source->input, source->input_end, name);
        if (packing != NULL) {
            source->fault = UNPACK_CUT_SHORT;
            source->input_at = source->input_end;
        }
    }
    return start_unpacking(source, packing, failure) ? SOURCE_MORE : SOURCE_FAILED;
}

static enum source_result fail_unpacking(const struct source *source,
                                         struct input_failure *failure) {
    const char *name = packing_name(source->packing), *path = inputs_name(source->path);
    uint64_t at = source->bytes - (source->input_end - source->input_at);
    switch (source->fault) {
    case UNPACK_NO_MEMORY:
        input_failure_set(failure, EXIT_ENVIRONMENT,
                          "not enough memory to decompress %s; free some", path);
        break;
    case UNPACK_TOO_LARGE:
        input_failure_set(failure, EXIT_BAD_DATA,
                          "%s: the %s data needs too much memory to decompress; decompress it "
                          "with `%s` and give it through a pipe",
                          path, name, packing_tool(source->packing));
        break;
    default:
        input_failure_set(
            failure, EXIT_BAD_DATA, "%s: the %s data is %s at byte %" PRIu64 " of the file%s%s%s",
            path, name, source->fault == UNPACK_CUT_SHORT ? "cut short" : "damaged", at,
            source->reason != NULL ? " (" : "", source->reason != NULL ? source->reason : "",
            source->reason != NULL ? ")" : "");
        failure->is_damage = true;
    }
    return SOURCE_FAILED;
}

static enum source_result read_packed(struct source *source, char *out, size_t room, size_t *got,
                                      struct input_failure *failure) {
    for (;;) {
        if (source->fault != UNPACK_FINE) return fail_unpacking(source, failure);
        bool is_empty = source->input_at == source->input_end;
        if (is_empty && !source->has_more && !source->at_end) {
            enum source_result result = refill(source, failure);
            if (result == SOURCE_STOPPED || result == SOURCE_FAILED) return result;
        }
        struct unpack_step step = {.from = source->input + source->input_at,
                                   .size = source->input_end - source->input_at,
                                   .room = room,
                                   .is_last = source->at_end};
        step.to = out;
        source->fault = unpack(source->unpacker, &step);
        source->reason = step.reason;
        source->input_at += step.taken;
        source->has_more = step.made == room;
        *got = step.made;
        if (step.made > 0) return SOURCE_MORE; /* what was written before a fault comes first */
        if (source->fault == UNPACK_FINE && step.is_end) return SOURCE_END;
        if (should_stop(source)) return SOURCE_STOPPED;
    }
}

static enum source_result read_plain(struct source *source, char *out, size_t room, size_t *got,
                                     struct input_failure *failure) {
    size_t waiting = source->input_end - source->input_at;
    if (waiting == 0) {
        if (source->at_end) return SOURCE_END;
        return read_file(source, out, room, got, failure);
    }
    *got = waiting < room ? waiting : room;
    memcpy(out, source->input + source->input_at, *got);
    source->input_at += *got;
    return SOURCE_MORE;
}

enum source_result source_read(struct source *source, char *out, size_t room, size_t *got,
                               struct input_failure *failure) {
    *got = 0;
    if (!source->is_recognised) {
        enum source_result result = recognise(source, failure);
        if (result != SOURCE_MORE) return result;
    }
    if (source->packing == NULL) return read_plain(source, out, room, got, failure);
    return read_packed(source, out, room, got, failure);
}

bool source_would_wait(const struct source *source) {
    if (source->is_regular || source->at_end || source->has_more ||
        source->input_at < source->input_end) {
        return false;
    }
    struct pollfd input = {.fd = source->descriptor, .events = POLLIN};
    return poll(&input, 1, 0) == 0;
}

bool source_may_grow(const struct source *source) {
    return source->is_regular && source->is_recognised && source->packing == NULL;
}

int source_descriptor(const struct source *source) {
    return source_is_regular(source) ? source->descriptor : -1;
}

int source_plain_file(const struct source *source) {
    return source_may_grow(source) ? source_descriptor(source) : -1;
}

void source_look_again(struct source *source) {
    if (source_may_grow(source)) source->at_end = false;
}

bool source_is_packed(const struct source *source) {
    return source->packing != NULL;
}

bool source_rewind(struct source *source) {
    if (!source_is_regular(source)) return false;
    end_unpacking(source);
    source->at_end = false;
    source->input_at = source->input_end = 0;
    source->bytes = 0;
    return true;
}

bool source_seek(struct source *source, uint64_t offset) {
    if (source_plain_file(source) < 0) return false;
    source->input_at = source->input_end = 0;
    source->bytes = offset;
    source->at_end = false;
    return true;
}
