/* Fuzzes the input stack: the input's first byte says in which pieces it is handed over, the
 * rest is a file. Compressed data is decompressed as a whole and in pieces, and both must give
 * the same. The lines of other data are read from a file and from a pipe, and must be those of a
 * plain search. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "frame/exit_code.h"
#include "input/byte_order.h"
#include "input/lines.h"
#include "input/unpack.h"

enum { OUTPUT_BYTES = 1 << 18, FILE_BYTES = 1 << 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct output {
    size_t size;
    enum unpack_result result;
    char bytes[OUTPUT_BYTES];
};

static void unpack_all(const struct packing *packing, const uint8_t *data, size_t size,
                       size_t piece, struct output *out) {
    struct unpacker *unpacker = unpack_new(packing);
    assert(unpacker != NULL);
    out->size = 0;
    out->result = UNPACK_FINE;
    for (size_t at = 0; out->result == UNPACK_FINE;) {
        size_t left = size - at, room = OUTPUT_BYTES - out->size;
        struct unpack_step step = {.from = data + at,
                                   .size = left < piece ? left : piece,
                                   .to = out->bytes + out->size,
                                   .room = room < 4 * piece ? room : 4 * piece,
                                   .is_last = left <= piece};
        if (step.room == 0) break; /* large enough */
        out->result = unpack(unpacker, &step);
        assert(step.taken <= step.size && step.made <= step.room);
        at += step.taken;
        out->size += step.made;
        assert(!step.is_end || at == size);
        if (step.is_end) break;
    }
    unpack_free(unpacker);
}

static void compare_unpacked(const struct packing *packing, const uint8_t *data, size_t size,
                             size_t piece) {
    static struct output whole, pieces;
    unpack_all(packing, data, size, size, &whole);
    unpack_all(packing, data, size, piece, &pieces);
    size_t common = whole.size < pieces.size ? whole.size : pieces.size;
    assert(memcmp(whole.bytes, pieces.bytes, common) == 0);
    bool is_cut = whole.size == OUTPUT_BYTES || pieces.size == OUTPUT_BYTES;
    if (is_cut) return;
    assert((whole.result == UNPACK_FINE) == (pieces.result == UNPACK_FINE));
    assert(whole.result != UNPACK_FINE || whole.size == pieces.size);
}

/* Reads the lines of an open file, so many per call, and compares them with a search. */
static void compare_lines(int descriptor, size_t most, const char *data, size_t size) {
    char path[32], *paths[] = {path};
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    struct inputs inputs;
    struct line_reader *reader;
    struct line_batch batch;
    int code = inputs_look(paths, 1, &inputs);
    assert(code == EXIT_DONE && !inputs.has_packed);
    inputs.takes_binary = true;
    code = lines_open(&inputs, &reader);
    assert(code == EXIT_DONE);
    lines_limit(reader, most);
    const char *at = data, *end = data + size;
    while ((code = lines_next(reader, &batch)) == EXIT_DONE && batch.count > 0) {
        for (size_t i = 0; i < batch.count; i++) {
            at += byte_order_marks(at, (size_t)(end - at));
            assert(at < end);
            const char *stop = memchr(at, '\n', (size_t)(end - at));
            if (stop == NULL) stop = end;
            size_t length = (size_t)(stop - at);
            if (length > 0 && at[length - 1] == '\r') length--;
            assert(batch.lines[i].size == length);
            assert(memcmp(batch.lines[i].data, at, length) == 0);
            size_t whole = line_text_size(batch.lines + i, 1);
            assert(whole == (size_t)(stop - at) + 1);
            at = stop < end ? stop + 1 : end;
        }
    }
    at += byte_order_marks(at, (size_t)(end - at)); /* at the end, nothing is in a line of them */
    assert(code == EXIT_DONE && at == end);
    lines_free(reader);
}

static bool is_wide(const char *data, size_t size) {
    return size >= 4 && ((memcmp(data, "\xff\xfe", 2) == 0 && data[3] == '\0') ||
                         (memcmp(data, "\xfe\xff", 2) == 0 && data[2] == '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || size > FILE_BYTES) return 0;
    size_t piece = 1 + data[0] % 16;
    const char *text = (const char *)data + 1;
    size--;
    bool is_open;
    const struct packing *packing = packing_recognise(text, size, true, &is_open);
    assert(!is_open);
    if (packing != NULL) {
        compare_unpacked(packing, data + 1, size, piece);
        return 0;
    }
    if (is_wide(text, size)) return 0;
    int file = memfd_create("fuzz", MFD_CLOEXEC), pipes[2];
    assert(file >= 0 && pipe(pipes) == 0);
    ssize_t written = write(file, text, size), piped = write(pipes[1], text, size);
    assert(written == (ssize_t)size && piped == (ssize_t)size);
    close(pipes[1]);
    compare_lines(file, 0, text, size);
    compare_lines(pipes[0], piece, text, size);
    close(file);
    close(pipes[0]);
    return 0;
}
