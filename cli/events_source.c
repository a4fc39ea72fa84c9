/* events_source.c - reads and decompresses.
 *
 * LAYOUT  input: what was read from the file and not yet decompressed. The first read always goes there, so that
 *         its first bytes can be looked at; a plain file is then read straight into the caller's
 *         buffer.
 * WHY     Files are opened without blocking and waited for with poll, a tenth of a second at a time: a
 *         signal may be handled by any thread, and then interrupts no read of this one. */
#include "events_source.h"

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
#include <zlib.h>
#include <zstd.h>

#include "inputs.h"
#include "interrupt.h"
#include "message.h"

enum { INPUT_BYTES = 256 << 10, MAGIC_BYTES = 4, WAIT_MS = 100 };

enum packing { PACKING_UNKNOWN = 0, PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

struct event_source {
    const char *path;
    const atomic_bool *stop;
    int descriptor;
    bool is_regular, is_named;
    bool at_end;      /* of the file itself */
    bool is_unpacked; /* between two members or frames: the stream may end here */
    bool has_more;    /* the decompressor filled all room and may hold more */
    enum packing packing;
    uint64_t bytes;
    z_stream gzip;
    ZSTD_DStream *zstd;
    size_t input_at, input_end;
    unsigned char input[INPUT_BYTES];
};

void event_failure_set(struct event_failure *failure, int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    failure->code = code;
}

static void fail_by_errno(const struct event_source *source, struct event_failure *failure) {
    inputs_explain(source->path, errno, failure->text, sizeof failure->text);
    failure->code = EXIT_ENVIRONMENT;
}

struct event_source *event_source_open(const char *path, const atomic_bool *stop,
                                       struct event_failure *failure) {
    struct event_source *source = malloc(sizeof *source);
    if (source == NULL) {
        event_failure_set(failure, EXIT_ENVIRONMENT, "not enough memory to read %s; free some",
                          inputs_name(path));
        return NULL;
    }
    memset(source, 0, offsetof(struct event_source, input));
    source->path = path;
    source->stop = stop;
    source->is_named = strcmp(path, "-") != 0;
    source->descriptor = STDIN_FILENO;
    if (source->is_named) source->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (source->descriptor < 0 || fstat(source->descriptor, &status) != 0) {
        fail_by_errno(source, failure);
        event_source_close(source);
        return NULL;
    }
    source->is_regular = S_ISREG(status.st_mode);
    (void)posix_fadvise(source->descriptor, 0, 0, POSIX_FADV_SEQUENTIAL); /* pipes refuse it */
    return source;
}

static void end_packing(struct event_source *source) {
    if (source->packing == PACKING_GZIP) inflateEnd(&source->gzip);
    ZSTD_freeDStream(source->zstd);
    memset(&source->gzip, 0, sizeof source->gzip);
    source->zstd = NULL;
    source->packing = PACKING_UNKNOWN;
}

void event_source_close(struct event_source *source) {
    if (source == NULL) return;
    end_packing(source);
    if (source->descriptor >= 0) inputs_close(source->descriptor);
    free(source);
}

bool event_source_is_regular(const struct event_source *source) {
    return source->is_regular && source->is_named;
}

uint64_t event_source_bytes(const struct event_source *source) {
    return source->bytes;
}

static bool should_stop(const struct event_source *source) {
    return interrupt_requested() ||
           (source->stop != NULL && atomic_load_explicit(source->stop, memory_order_relaxed));
}

/* Reads from the file itself, once there is something to read. */
static enum source_result read_file(struct event_source *source, void *out, size_t room,
                                    size_t *got, struct event_failure *failure) {
    for (;;) {
        if (should_stop(source)) return SOURCE_STOPPED;
        if (!source->is_regular) {
            struct pollfd input = {.fd = source->descriptor, .events = POLLIN};
            if (poll(&input, 1, WAIT_MS) == 0) continue;
        }
        ssize_t size = read(source->descriptor, out, room);
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

/* Reads behind what is in the input buffer. */
static enum source_result refill(struct event_source *source, struct event_failure *failure) {
    if (source->input_at == source->input_end) source->input_at = source->input_end = 0;
    size_t got = 0;
    enum source_result result = read_file(source, source->input + source->input_end,
                                          INPUT_BYTES - source->input_end, &got, failure);
    source->input_end += got;
    return result;
}

static bool begins_with(const struct event_source *source, const unsigned char *magic,
                        size_t magic_size) {
    size_t size = source->input_end < magic_size ? source->input_end : magic_size;
    return memcmp(source->input, magic, size) == 0;
}

static bool start_packing(struct event_source *source, enum packing packing,
                          struct event_failure *failure) {
    bool fine = true;
    if (packing == PACKING_GZIP) fine = inflateInit2(&source->gzip, 15 + 16) == Z_OK;
    if (packing == PACKING_ZSTD) {
        source->zstd = ZSTD_createDStream();
        fine = source->zstd != NULL;
    }
    if (!fine) {
        event_failure_set(failure, EXIT_ENVIRONMENT,
                          "not enough memory to decompress %s; free some",
                          inputs_name(source->path));
        return false;
    }
    source->packing = packing;
    return true;
}

/* Reads until the first bytes tell what the file is; a plain one mostly tells by its first. */
static enum source_result recognise(struct event_source *source, struct event_failure *failure) {
    static const unsigned char gzip[] = {0x1f, 0x8b, 8};
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    for (;;) {
        enum source_result result = refill(source, failure);
        if (result == SOURCE_STOPPED || result == SOURCE_FAILED) return result;
        bool may_be_gzip = begins_with(source, gzip, sizeof gzip);
        bool may_be_zstd = begins_with(source, zstd, sizeof zstd);
        bool is_certain = source->input_end >= MAGIC_BYTES || source->at_end;
        if (is_certain && source->input_end < MAGIC_BYTES) may_be_gzip = may_be_zstd = false;
        if (!is_certain && (may_be_gzip || may_be_zstd)) continue;
        enum packing packing = PACKING_NONE;
        if (may_be_gzip) packing = PACKING_GZIP;
        if (may_be_zstd) packing = PACKING_ZSTD;
        return start_packing(source, packing, failure) ? SOURCE_MORE : SOURCE_FAILED;
    }
}

static enum source_result fail_packed(struct event_source *source, const char *format,
                                      const char *reason, struct event_failure *failure) {
    uint64_t at = source->bytes - (source->input_end - source->input_at);
    event_failure_set(failure, EXIT_BAD_DATA,
                      "%s: the %s data is %s at byte %" PRIu64
                      " of the file; some of what came before may be counted; get the file again "
                      "from its source, and count it",
                      inputs_name(source->path), format, reason, at);
    return SOURCE_FAILED;
}

/* Decompresses some of the input. *got may stay 0. */
static enum source_result inflate_some(struct event_source *source, char *out, size_t room,
                                       size_t *got, struct event_failure *failure) {
    z_stream *gzip = &source->gzip;
    gzip->next_in = source->input + source->input_at;
    gzip->avail_in = (uInt)(source->input_end - source->input_at);
    gzip->next_out = (unsigned char *)out;
    gzip->avail_out = (uInt)room;
    if (source->is_unpacked && gzip->avail_in > 0) {
        source->is_unpacked = false;
        inflateReset(gzip);
    }
    int result = inflate(gzip, Z_NO_FLUSH);
    source->input_at = source->input_end - gzip->avail_in;
    *got = room - gzip->avail_out;
    source->has_more = gzip->avail_out == 0;
    if (result == Z_STREAM_END) {
        source->is_unpacked = true;
        return SOURCE_MORE;
    }
    if (result == Z_OK || result == Z_BUF_ERROR) return SOURCE_MORE;
    return fail_packed(source, "gzip", "damaged", failure);
}

static enum source_result unzstd_some(struct event_source *source, void *out, size_t room,
                                      size_t *got, struct event_failure *failure) {
    ZSTD_inBuffer in = {source->input, source->input_end, source->input_at};
    ZSTD_outBuffer to = {.dst = out, .size = room};
    size_t result = ZSTD_decompressStream(source->zstd, &to, &in);
    if (ZSTD_isError(result)) {
        char reason[128];
        snprintf(reason, sizeof reason, "damaged (%s)", ZSTD_getErrorName(result));
        return fail_packed(source, "zstd", reason, failure);
    }
    source->input_at = in.pos;
    *got = to.pos;
    source->has_more = to.pos == room;
    source->is_unpacked = result == 0;
    return SOURCE_MORE;
}

static enum source_result read_packed(struct event_source *source, char *out, size_t room,
                                      size_t *got, struct event_failure *failure) {
    const char *format = source->packing == PACKING_GZIP ? "gzip" : "zstd";
    for (;;) {
        if (source->input_at == source->input_end && !source->has_more) {
            if (!source->at_end) {
                enum source_result result = refill(source, failure);
                if (result == SOURCE_STOPPED || result == SOURCE_FAILED) return result;
            }
            if (source->at_end) {
                if (source->is_unpacked) return SOURCE_END;
                return fail_packed(source, format, "cut short", failure);
            }
        }
        enum source_result result = source->packing == PACKING_GZIP
                                        ? inflate_some(source, out, room, got, failure)
                                        : unzstd_some(source, out, room, got, failure);
        if (result != SOURCE_MORE || *got > 0) return result;
        if (should_stop(source)) return SOURCE_STOPPED;
    }
}

static enum source_result read_plain(struct event_source *source, char *out, size_t room,
                                     size_t *got, struct event_failure *failure) {
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

enum source_result event_source_read(struct event_source *source, char *out, size_t room,
                                     size_t *got, struct event_failure *failure) {
    *got = 0;
    if (source->packing == PACKING_UNKNOWN) {
        enum source_result result = recognise(source, failure);
        if (result != SOURCE_MORE) return result;
    }
    if (source->packing == PACKING_NONE) return read_plain(source, out, room, got, failure);
    return read_packed(source, out, room, got, failure);
}

bool event_source_would_wait(const struct event_source *source) {
    if (source->is_regular || source->at_end || source->has_more ||
        source->input_at < source->input_end) {
        return false;
    }
    struct pollfd input = {.fd = source->descriptor, .events = POLLIN};
    return poll(&input, 1, 0) == 0;
}

bool event_source_may_grow(const struct event_source *source) {
    return source->is_regular && source->packing == PACKING_NONE;
}

int event_source_file(const struct event_source *source) {
    bool is_file = event_source_may_grow(source) && source->is_named;
    return is_file ? source->descriptor : -1;
}

bool event_source_rewind(struct event_source *source) {
    if (!event_source_is_regular(source)) return false;
    end_packing(source);
    source->at_end = source->is_unpacked = source->has_more = false;
    source->input_at = source->input_end = 0;
    source->bytes = 0;
    return lseek(source->descriptor, 0, SEEK_SET) == 0;
}

bool event_source_seek(struct event_source *source, uint64_t offset) {
    if (event_source_file(source) < 0) return false;
    if (lseek(source->descriptor, (off_t)offset, SEEK_SET) < 0) return false;
    source->input_at = source->input_end = 0;
    source->bytes = offset;
    source->at_end = false;
    return true;
}
