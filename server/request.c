/* request.c - requests, whoever carries them; see request.h. */
#include "server/request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "events/problem.h"
#include "frame/clock.h"
#include "input/base64.h"
#include "input/integer.h"
#include "server/state.h"

const char type_json[] = "application/json";
const char type_problem[] = "application/problem+json";

void request_answer(struct request *request, unsigned status, const char *type) {
    request->status = status;
    request->type = type;
}

static void begin_problem(struct request *request, unsigned status, const char *title,
                          const char *detail) {
    struct text *answer = &request->answer;
    answer->size = 0;
    text_format(answer,
                "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%u,\"detail\":", title,
                status);
    text_quoted_string(answer, detail);
    request->ticket = 0;
    request_answer(request, status, type_problem);
}

void request_problem(struct request *request, unsigned status, const char *title,
                     const char *format, ...) {
    char detail[REQUEST_PROBLEM_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    begin_problem(request, status, title, detail);
    text_put(&request->answer, "}\n");
}

void request_problem_line(struct request *request, uint64_t line, const char *detail) {
    begin_problem(request, 400, "Unreadable event", detail);
    text_format(&request->answer, ",\"line\":%" PRIu64 "}\n", line);
}

static void say_full(struct request *request) {
    request_problem(request, 507, "Insufficient storage",
                    "the disk is full; nothing of this request may be relied on, send it again "
                    "when there is room");
}

void request_store_problem(struct request *request, lethe_status status) {
    lethe_detail detail = {""};
    lethe_store_explain(request->store, &detail);
    const char *reason = detail.text[0] != '\0' ? detail.text : lethe_strerror(status);
    switch (status) {
    case LETHE_EINVAL:
    case LETHE_ENOTFOUND:
        request_problem(request, 400, "Bad request", "%s", reason);
        return;
    case LETHE_ENOSPACE:
        say_full(request);
        break;
    default:
        request_problem(request, 503, "Store failed",
                        "%s; nothing of this request may be relied on, send it again", reason);
        break;
    }
    request->asks_again = true;
    door_fail(&request->server->door, status, reason);
}

bool request_enter(struct request *request) {
    request->store = door_enter(&request->server->door);
    if (request->store != NULL) return true;
    if (door_why(&request->server->door) == LETHE_ENOSPACE)
        say_full(request);
    else
        request_problem(request, 503, "Store is being opened",
                        "the store failed and is being opened again; send this again");
    request->asks_again = true;
    return false;
}

void request_leave(struct request *request) {
    if (request->store == NULL) return;
    request->store = NULL;
    door_leave(&request->server->door);
}

bool request_read_is_durable(struct request *request) {
    if (request->server->options->read_only) return true;
    lethe_status status =
        lethe_store_submit(request->store, NULL, 0, NULL, 0, NULL, NULL, &request->ticket);
    if (status != LETHE_OK) request_store_problem(request, status);
    request->submitted_s = clock_seconds();
    return status == LETHE_OK;
}

static int digit_of(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

size_t request_header_value(const char *text, char *out) {
    size_t size = strlen(text), used = 0;
    while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\t'))
        size--;
    while (size > 0 && (text[0] == ' ' || text[0] == '\t')) {
        text++;
        size--;
    }
    bool is_quoted = size >= 2 && text[0] == '"' && text[size - 1] == '"';
    for (size_t i = is_quoted; i < size - is_quoted; i++) {
        if (is_quoted && text[i] == '\\' && i + 2 < size) i++;
        out[used++] = text[i];
    }
    return used;
}

bool request_idempotency_key(struct request *request, char room[REQUEST_KEY_BYTES],
                             lethe_bytes *out) {
    enum { LIMIT_BYTES = LETHE_ID_LIMIT_BYTES - 24 }; /* an id also has room for /NUMBER after it */
    const char *text = request->header(request->connection, "Idempotency-Key");
    *out = (lethe_bytes){0};
    if (text == NULL) return true;
    size_t size = strlen(text) <= REQUEST_KEY_BYTES ? request_header_value(text, room) : 0;
    *out = (lethe_bytes){.data = room, .size = size};
    if (size > 0 && size <= LIMIT_BYTES) return true;
    request_problem(request, 400, "Bad Idempotency-Key", "it has 1 to %d bytes", LIMIT_BYTES);
    return false;
}

bool request_unescape(const char *text, size_t size, char *out, size_t *out_size) {
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        char byte = text[i];
        if (byte == '%') {
            if (size - i < 3) return false;
            int high = digit_of(text[i + 1]), low = digit_of(text[i + 2]);
            if (high < 0 || low < 0) return false;
            byte = (char)(high * 16 + low);
            i += 2;
        }
        out[used++] = byte;
    }
    *out_size = used;
    return true;
}

/* What is wrong with the arguments of a query: the first of each kind. */
struct query {
    const char *known, *unknown, *repeated;
    uint64_t seen; /* a bit for each name that is known */
};

/* A request_visit. */
static void look_at_argument(void *context, const char *name) {
    struct query *query = context;
    const char *at = query->known;
    size_t size = strlen(name);
    if (size == 0) return; /* there is nothing between two & */
    for (uint64_t bit = 1; *at != '\0'; bit <<= 1) {
        size_t length = strcspn(at, " ");
        if (length == size && memcmp(at, name, size) == 0) {
            if ((query->seen & bit) != 0 && query->repeated == NULL) query->repeated = name;
            query->seen |= bit;
            return;
        }
        at += length + (at[length] == ' ');
    }
    if (query->unknown == NULL) query->unknown = name;
}

bool request_has_only_arguments(struct request *request, const char *known) {
    struct query query = {.known = known != NULL ? known : ""};
    struct event_excerpt excerpt;
    if (request->each_argument == NULL) return true;
    request->each_argument(request->connection, look_at_argument, &query);
    const char *wrong = query.unknown != NULL ? query.unknown : query.repeated;
    if (wrong == NULL) return true;
    lethe_bytes name = {.data = wrong, .size = strlen(wrong)};
    request_problem(request, 400, "Bad argument", "the argument '%s' is %s; %s%s",
                    event_excerpt(name, &excerpt),
                    query.unknown != NULL ? "not known here" : "there more than once",
                    query.known[0] != '\0' ? "each of these may be there once: " : "there are none",
                    query.known);
    return false;
}

/* NAME_base64. */
struct packed_name {
    char text[32];
};

static const char *packed_name(const char *name, struct packed_name *out) {
    snprintf(out->text, sizeof out->text, "%s_base64", name);
    return out->text;
}

bool request_has_argument(struct request *request, const char *name) {
    struct packed_name packed;
    const char *text = request->argument(request->connection, name);
    const char *other = request->argument(request->connection, packed_name(name, &packed));
    return (text != NULL && text[0] != '\0') || (other != NULL && other[0] != '\0');
}

bool request_argument_number(struct request *request, const char *name, uint64_t least,
                             uint64_t most, uint64_t *out) {
    const char *text = request->argument(request->connection, name);
    uint64_t value;
    if (text == NULL || text[0] == '\0') return true;
    if (!integer_parse_natural((lethe_bytes){.data = text, .size = strlen(text)}, &value) ||
        value < least || value > most) {
        request_problem(request, 400, "Bad argument",
                        "%s is not a number from %" PRIu64 " to %" PRIu64, name, least, most);
        return false;
    }
    *out = value;
    return true;
}

bool request_argument_bytes(struct request *request, const char *name, char *room,
                            lethe_bytes *out) {
    struct packed_name other;
    const char *text = request->argument(request->connection, name);
    const char *packed = request->argument(request->connection, packed_name(name, &other));
    if (text == NULL && packed == NULL) return true;
    if (text != NULL && packed != NULL) {
        request_problem(request, 400, "Bad argument", "%s and %s are both there; give one of them",
                        name, other.text);
        return false;
    }
    bool is_packed = text == NULL;
    if (is_packed) text = packed;
    size_t size = strlen(text), used;
    char unescaped[3 * REQUEST_PART_BYTES];
    if (size > sizeof unescaped || !request_unescape(text, size, unescaped, &used) ||
        (is_packed && !base64_read(unescaped, used, unescaped, &used)) ||
        used > REQUEST_PART_BYTES) {
        request_problem(
            request, 400, "Bad argument",
            "%s is longer than any key, has a %% without two digits after it, or is not "
            "the base64 that it should be",
            name);
        return false;
    }
    memcpy(room, unescaped, used);
    *out = (lethe_bytes){.data = room, .size = used};
    return true;
}

bool request_may_reach(struct request *request, lethe_bytes key) {
    struct event_excerpt excerpt;
    if (access_reaches(request->token, key)) return true;
    request_problem(request, 403, "Forbidden", "this token does not reach the key '%s'",
                    event_excerpt(key, &excerpt));
    return false;
}

bool request_may_begin(struct request *request, lethe_bytes key, uint64_t others) {
    const struct server *server = request->server;
    uint64_t most = server->options->max_counters;
    int64_t value;
    bool found;
    uint64_t counters = __atomic_load_n(&server->watch.stats.counters, __ATOMIC_RELAXED);
    if (most == 0 || (counters < most && others < most - counters)) return true;
    lethe_status status = lethe_store_get(request->store, &key, 1, &value, &found);
    if (status != LETHE_OK) {
        request_store_problem(request, status);
        return false;
    }
    if (found) return true;
    request_problem(request, 403, "Too many counters",
                    "there are as many counters as --max-counters %" PRIu64
                    " allows, with one for each hold that is open, and this would begin another "
                    "one; nothing was counted; settle or release holds, delete counters with "
                    "'lethe del', or give the server a higher --max-counters",
                    most);
    return false;
}
