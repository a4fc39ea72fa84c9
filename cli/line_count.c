/* line_count.c - counts lines without looking at them. */
#include "line_count.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "interrupt.h"
#include "message.h"
#include "progress.h"

static const size_t BLOCK_BYTES = (size_t)256 << 10;

/* Newlines in a block. Sums of at most 255 bytes fit a byte, which lets the compiler compare
 * and add a whole vector at a time. */
static uint64_t count_newlines(const char *data, size_t size) {
    uint64_t total = 0;
    while (size > 0) {
        size_t piece = size < 4080 ? size : 4080;
        uint8_t sums[16] = {0};
        size_t i = 0;
        for (; i + 16 <= piece; i += 16) {
            for (size_t lane = 0; lane < 16; lane++) {
                sums[lane] = (uint8_t)(sums[lane] + (data[i + lane] == '\n'));
            }
        }
        for (size_t lane = 0; lane < 16; lane++) {
            total += sums[lane];
        }
        for (; i < piece; i++) {
            total += data[i] == '\n';
        }
        data += piece;
        size -= piece;
    }
    return total;
}

static int count_one(const char *path, char *buffer, struct progress *progress, uint64_t *count,
                     uint64_t *bytes) {
    int descriptor;
    int code = inputs_open(path, &descriptor);
    if (code != EXIT_DONE || descriptor < 0) return code;
    off_t position = lseek(descriptor, 0, SEEK_CUR);
    char last = '\n';
    while (!interrupt_requested()) {
        ssize_t got = pread(descriptor, buffer, BLOCK_BYTES, position);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) code = inputs_fail(path);
        if (got <= 0) break;
        *count += count_newlines(buffer, (size_t)got);
        last = buffer[got - 1];
        position += got;
        *bytes += (uint64_t)got;
        progress_update(progress, *count, *bytes);
    }
    if (last != '\n') (*count)++;
    inputs_close(descriptor);
    return code;
}

int line_count(const struct inputs *inputs, bool quiet, uint64_t *out) {
    *out = 0;
    char *buffer = malloc(BLOCK_BYTES);
    if (buffer == NULL) {
        return message_fail(EXIT_ENVIRONMENT, "not enough memory to count lines; free some");
    }
    struct progress progress;
    progress_begin(&progress, !quiet, "lines counted", inputs->bytes);
    int code = EXIT_DONE;
    uint64_t bytes = 0;
    for (size_t i = 0; i < inputs->count && code == EXIT_DONE; i++) {
        code = count_one(inputs->paths[i], buffer, &progress, out, &bytes);
    }
    progress_end(&progress);
    free(buffer);
    return code;
}
