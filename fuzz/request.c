/* Fuzzes what `lethe serve` makes of a request before the store is asked: the input's first byte
 * picks a method and the members that are looked for, its first line is the address, its second the
 * Host, its third an argument of the query, the rest is the body of a take, a claim or a hold. What
 * is accepted is in range and all there to read; what is refused has an answer; and all memory for
 * bodies is given back. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/cursor.h"
#include "server/object.h"
#include "server/routes.h"
#include "server/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINE_BYTES = 4096 };

static char address[LINE_BYTES], host[LINE_BYTES], argument_text[LINE_BYTES];

static const struct object_member place[] = {{"key", OBJECT_BYTES},
                                             {"amount", OBJECT_NUMBER},
                                             {"limit", OBJECT_NUMBER},
                                             {"lease_ms", OBJECT_NUMBER},
                                             {NULL, OBJECT_BYTES}};
static const struct object_member settle[] = {
    {"actual", OBJECT_NUMBER}, {"force", OBJECT_SWITCH}, {NULL, OBJECT_BYTES}};
static const struct object_member claim[] = {{"token", OBJECT_BYTES},
                                             {"lease_ms", OBJECT_NUMBER},
                                             {"fingerprint", OBJECT_BYTES},
                                             {"reply", OBJECT_BYTES},
                                             {NULL, OBJECT_BYTES}};
static const struct object_member *const forms[] = {place, settle, claim};

static const char *header(void *connection, const char *name) {
    (void)connection;
    if (strcmp(name, "Host") == 0) return host;
    return strcmp(name, "Content-Type") == 0 ? "application/json" : NULL;
}

static const char *argument(void *connection, const char *name) {
    const bool *is_packed = connection;
    size_t size = strlen(name), end = sizeof "_base64" - 1;
    bool asks_packed = size > end && strcmp(name + size - end, "_base64") == 0;
    return asks_packed == *is_packed ? argument_text : NULL;
}

/* Takes a line, as much of it as there is room for. */
static void take_line(const uint8_t **data, size_t *size, char out[LINE_BYTES]) {
    const uint8_t *end = memchr(*data, '\n', *size);
    size_t length = end != NULL ? (size_t)(end - *data) : *size;
    size_t kept = length < LINE_BYTES - 1 ? length : LINE_BYTES - 1;
    memcpy(out, *data, kept);
    out[kept] = '\0';
    length += end != NULL;
    *data += length;
    *size -= length;
}

static void check_readable(lethe_bytes bytes) {
    if (bytes.data != NULL) assert(lethe_hash_bytes(1, bytes.data, bytes.size).low != 1);
}

static void read_arguments(struct request *request) {
    char room[REQUEST_PART_BYTES], cursor[CURSOR_BYTES];
    lethe_bytes bytes = {0}, next = {0};
    uint64_t number = 7;
    if (request_argument_bytes(request, "prefix", room, &bytes))
        assert(bytes.size <= REQUEST_PART_BYTES);
    check_readable(bytes);
    if (cursor_read(request, cursor, &next)) {
        assert(next.size <= CURSOR_BYTES);
        check_readable(next);
    }
    if (request_argument_number(request, "limit", 1, 10, &number))
        assert(number >= 1 && number <= 10);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct server_options options = {.listen = "127.0.0.1:8420"};
    static struct server server = {.options = &options,
                                   .access = {.lock = PTHREAD_MUTEX_INITIALIZER},
                                   .bodies = {.most = 1 << 20},
                                   .checks_hosts = true};
    if (size == 0) return 0;
    unsigned choice = *data++;
    size--;
    take_line(&data, &size, address);
    take_line(&data, &size, host);
    take_line(&data, &size, argument_text);
    bool is_packed = (choice & 8) != 0;
    struct request request = {
        .server = &server, .header = header, .argument = argument, .connection = &is_packed};
    routes_find(&request, (choice & 4) != 0 ? "GET" : "POST", address);
    assert(request.status != 0 || request.route != NULL);
    assert(request.part.size <= REQUEST_PART_BYTES);
    assert(request.status != 0 || access_host_is_ours(host, NULL, options.listen));
    check_readable(request.part);
    read_arguments(&request);
    request.status = 0;
    struct object object;
    if (body_add(&request, data, size) && object_read(&request, forms[choice % 3], &object)) {
        for (size_t i = 0; i < OBJECT_MEMBERS_LIMIT; i++)
            check_readable(object.members[i]);
        object_free(&object);
    } else {
        assert(request.status >= 400 && request.answer.size > 0);
    }
    body_free(&request);
    text_free(&request.answer);
    assert(atomic_load(&server.bodies.used) == 0);
    return 0;
}
