/* http_headers.c - what must be right with the headers of a request before anything else is.
 *
 * WHY     A proxy before us may take another place for the end of the body, or another one of two
 *         hosts, than we do: what can be read in two ways is refused. So are two ids of one
 *         request. */
#include <string.h>

#include "input/integer.h"
#include "server/http_internal.h"

struct seen {
    unsigned lengths, hosts, codings, keys;
};

static enum MHD_Result see(void *context, enum MHD_ValueKind kind, const char *name,
                           const char *value) {
    struct seen *seen = context;
    (void)kind;
    (void)value;
    seen->lengths += strcasecmp(name, "Content-Length") == 0;
    seen->hosts += strcasecmp(name, "Host") == 0;
    seen->codings += strcasecmp(name, "Transfer-Encoding") == 0;
    seen->keys += strcasecmp(name, "Idempotency-Key") == 0;
    return MHD_YES;
}

/* The size that the body is said to have; UINT64_MAX if it comes in pieces. False if what is said
 * is no number, or one that no body can have. */
static bool read_size(struct request *request, uint64_t *out) {
    const char *length = request->header(request->connection, "Content-Length");
    *out = request->header(request->connection, "Transfer-Encoding") != NULL ? UINT64_MAX : 0;
    return length == NULL ||
           (integer_parse_natural((lethe_bytes){.data = length, .size = strlen(length)}, out) &&
            *out < UINT64_MAX);
}

bool headers_check(struct exchange *exchange, uint64_t *size) {
    struct request *request = &exchange->request;
    struct seen seen = {0};
    const char *coding = request->header(request->connection, "Transfer-Encoding");
    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, see, &seen);
    if (seen.hosts > 1) {
        request_problem(request, 400, "Bad request", "there are two Host headers; send one");
        exchange->closes = true;
    }
    if (seen.keys > 1) {
        request_problem(request, 400, "Bad Idempotency-Key", "there are two of them; send one");
    }
    if (seen.lengths + seen.codings > 1) {
        request_problem(request, 400, "Ambiguous length",
                        "the size of the body is given in two ways; give one");
        exchange->closes = true;
    }
    if (coding != NULL && strcasecmp(coding, "chunked") != 0) {
        request_problem(request, 501, "Unsupported coding",
                        "a body comes with Content-Length, or with Transfer-Encoding: chunked");
        return false;
    }
    if (read_size(request, size)) return true;
    request_problem(request, 400, "Bad length", "Content-Length is not a size of a body");
    return false;
}
