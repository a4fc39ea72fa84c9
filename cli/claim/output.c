/* output.c - what a command printed, as the reply of its claim.
 *
 * LAYOUT  STATUS SPACE SIZE NEWLINE and the output: "0 6\nhello\n". The size is that of all that
 *         was printed; if less follows, the rest had no room.
 * I1      The line has its place before the output from the start, at its full width, so nothing
 *         has to be moved. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "claim/claim.h"

/* A status, a space, 20 digits, a newline. */
enum { HEAD_ROOM = 3 + 1 + 20 + 1 };

void claim_output_add(struct claim_output *output, const char *data, size_t size) {
    size_t room = sizeof output->data - HEAD_ROOM - output->kept;
    size_t some = size < room ? size : room;
    memcpy(output->data + HEAD_ROOM + output->kept, data, some);
    output->kept += some;
    output->bytes += size;
}

lethe_bytes claim_output_reply(struct claim_output *output) {
    char head[HEAD_ROOM + 1];
    int size = snprintf(head, sizeof head, "%d %" PRIu64 "\n", output->status, output->bytes);
    char *from = output->data + HEAD_ROOM - size;
    memcpy(from, head, (size_t)size);
    return (lethe_bytes){.data = from, .size = (size_t)size + output->kept};
}

bool claim_output_read(lethe_bytes reply, int *status, uint64_t *bytes, lethe_bytes *kept) {
    char head[HEAD_ROOM + 1] = "";
    const char *newline = reply.size == 0 ? NULL : memchr(reply.data, '\n', reply.size);
    size_t size = newline == NULL ? 0 : (size_t)(newline - (const char *)reply.data) + 1;
    int used = 0;
    if (size == 0 || size > HEAD_ROOM) return false;
    memcpy(head, reply.data, size);
    if (sscanf(head, "%3d %20" SCNu64 "%n", status, bytes, &used) != 2 || // NOLINT(cert-err34-c)
        (size_t)used + 1 != size || *status < 0 || *status > 255) {
        return false;
    }
    *kept = (lethe_bytes){.data = newline + 1, .size = reply.size - size};
    return kept->size <= *bytes;
}
