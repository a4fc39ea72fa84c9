/* body.c - bodies: their memory, and those that were compressed; see body.h.
 *
 * I1      What a request is charged is what its body takes or is about to take: memory is asked for
 *         after it was charged.
 * WHY     A small body can become a very large one. So it is decompressed piece by piece, and
 *         refused as soon as it passes the limit. A sender can announce a large body and send
 *         nothing: so what has come counts, and not what was announced. */
#include "server/body.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "input/unpack.h"
#include "server/caps.h"
#include "server/state.h"

enum { PIECE_BYTES = 64 << 10 };

/* Takes more bytes, unless there are too few. */
static bool take(struct bodies *bodies, uint64_t more) {
    uint64_t used = atomic_load(&bodies->used);
    do {
        if (more > bodies->most - used) return false;
    } while (!atomic_compare_exchange_weak(&bodies->used, &used, used + more));
    return true;
}

bool body_charge(struct request *request, uint64_t bytes) {
    struct bodies *bodies = &request->server->bodies;
    uint64_t wanted = bytes > FREE_BODY_BYTES ? bytes : 0;
    if (wanted <= request->charged) {
        atomic_fetch_sub(&bodies->used, request->charged - wanted);
    } else if (wanted > bodies->most) {
        request_problem(request, 413, "Content too large",
                        "the body takes more memory than the server has for bodies; send less");
        return false;
    } else if (!take(bodies, wanted - request->charged)) {
        atomic_fetch_add(&bodies->refused, 1);
        request_problem(request, 503, "Too much at once",
                        "the bodies of other requests take all memory that there is for them; send "
                        "this again");
        request->asks_again = true;
        return false;
    }
    request->charged = wanted;
    return true;
}

bool body_add(struct request *request, const void *data, size_t size) {
    if (!body_charge(request, text_room_for(&request->body, size))) {
        body_free(request);
        return false;
    }
    text_add(&request->body, data, size);
    return true;
}

void body_free(struct request *request) {
    text_free(&request->body);
    atomic_fetch_sub(&request->server->bodies.used, request->charged);
    request->charged = 0;
}

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
        if (!body_charge(request, request->body.room + text_room_for(out, PIECE_BYTES))) {
            text_free(out);
            return false;
        }
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
    return body_charge(request, out.room); /* it is less than before */
}
