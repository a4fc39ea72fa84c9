/* body.c - bodies that were compressed; see body.h.
 *
 * WHY     A small body can become a very large one. So it is decompressed piece by piece, and
 *         refused as soon as it passes the limit. */
#include "server/body.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "input/unpack.h"

enum { PIECE_BYTES = 64 << 10 };

static bool refuse(struct request *request, struct text *out, unsigned status, const char *why) {
    text_free(out);
    request_problem(request, status, status == 413 ? "Content too large" : "Bad encoding", "%s",
                    why);
    return false;
}

/* Decompresses all of it into out. */
static bool unpack_all(struct request *request, struct unpacker *unpacker, uint64_t most,
                       struct text *out) {
    struct unpack_step step = {.from = (const unsigned char *)request->body.data,
                               .size = request->body.size,
                               .is_last = true};
    while (!step.is_end) {
        step.to = text_reserve(out, PIECE_BYTES);
        step.room = PIECE_BYTES;
        if (step.to == NULL) return refuse(request, out, 503, "memory is short");
        switch (unpack(unpacker, &step)) {
        case UNPACK_FINE:
            break;
        case UNPACK_TOO_LARGE:
        case UNPACK_NO_MEMORY:
            return refuse(request, out, 413, "decompressing the body needs too much memory");
        default:
            return refuse(request, out, 400, "the body is damaged, or cut short");
        }
        step.from += step.taken;
        step.size -= step.taken;
        out->size += step.made;
        if (out->size > most)
            return refuse(request, out, 413, "the decompressed body is too large");
    }
    return true;
}

bool body_unpack(struct request *request, uint64_t most) {
    const char *encoding = request->header(request->connection, "Content-Encoding");
    if (encoding == NULL || strcasecmp(encoding, "identity") == 0) return true;
    bool is_open, is_gzip = strcasecmp(encoding, "gzip") == 0;
    struct text out = {0};
    if (!is_gzip && strcasecmp(encoding, "zstd") != 0) {
        request_problem(request, 415, "Unsupported encoding", "send gzip, zstd, or neither");
        return false;
    }
    const struct packing *packing =
        packing_recognise(request->body.data, request->body.size, true, &is_open);
    if (packing == NULL || strcmp(packing_name(packing), is_gzip ? "gzip" : "zstd") != 0)
        return refuse(request, &out, 400, "the body is not what Content-Encoding says");
    struct unpacker *unpacker = unpack_new(packing);
    if (unpacker == NULL) return refuse(request, &out, 503, "memory is short");
    bool fine = unpack_all(request, unpacker, most, &out);
    unpack_free(unpacker);
    if (!fine) return false;
    text_free(&request->body);
    request->body = out;
    return true;
}
