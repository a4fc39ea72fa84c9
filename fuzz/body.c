/* Fuzzes what `lethe serve` makes of bodies: the input's first byte picks a form, a format and
 * whether ids are supplied, the rest is a body; in binary mode of CloudEvents the headers come from
 * it, too. A body is read twice, with the same result, and what is accepted is in range. An array
 * is accepted exactly if its elements are, one by one, and lines give what each of them gives. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/object.h"
#include "server/parsing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct event_batch batch;
static struct event_format json, cloud;
/* What the header of any name has. */
static char header_text[256];

static const char *any_header(void *connection, const char *name) {
    (void)connection;
    return strcmp(name, "Content-Type") == 0 ? "application/json" : header_text;
}

static void check_operation(const lethe_operation *operation) {
    assert(operation->id.size >= 1 && operation->id.size <= LETHE_ID_LIMIT_BYTES);
    assert(operation->change_count >= 1 && operation->change_count <= LETHE_CHANGES_LIMIT);
    for (size_t i = 0; i < operation->change_count; i++) {
        lethe_bytes key = operation->changes[i].key;
        assert(key.size >= 1 && key.size <= LETHE_KEY_LIMIT_BYTES);
        assert(lethe_hash_bytes(1, key.data, key.size).low != 1); /* every byte is there to read */
    }
}

/* Reads all of a body. Returns a hash of its operations, which begins with one, or 0 if it is
 * refused. */
static uint64_t read_all(const struct event_format *format, enum body_form form, lethe_bytes body,
                         lethe_bytes key, uint64_t hash, uint64_t *count) {
    struct body_reader reader;
    enum body_result result;
    body_begin(&reader, format, form, body, key);
    do {
        result = body_read(&reader, &batch);
        if (result == BODY_BAD) {
            assert(reader.problem.text[0] != '\0' && reader.problem_line > 0);
            return 0;
        }
        assert(batch.count > 0 || result == BODY_ALL);
        for (size_t i = 0; i < batch.count; i++) {
            const lethe_operation *operation = &batch.operations[i];
            check_operation(operation);
            hash = lethe_hash_bytes(hash, operation->id.data, operation->id.size).low | 1;
            for (size_t c = 0; c < operation->change_count; c++) {
                const lethe_change *change = &operation->changes[c];
                hash = lethe_hash_bytes(hash, change->key.data, change->key.size).low ^
                       (uint64_t)change->delta << 1;
                hash |= 1;
            }
        }
    } while (result == BODY_MORE);
    *count = reader.index;
    return hash;
}

/* Whether each element of an array is accepted as a body of its own. */
static void check_elements(const struct event_format *format, lethe_bytes body, bool is_accepted) {
    struct event_elements elements = event_elements_begin(body);
    lethe_bytes element;
    uint64_t count;
    bool all = true;
    while (event_elements_next(&elements, &element) == ELEMENT_FOUND) {
        all = all && element.size <= EVENT_LINE_LIMIT_BYTES &&
              read_all(format, BODY_SINGLE, element, (lethe_bytes){0}, 1, &count) != 0;
    }
    assert(!is_accepted || all);
}

/* The same of lines, which are taken many at a time where they are simple. The last may be
 * empty. */
static void check_lines(const struct event_format *format, lethe_bytes body, uint64_t expected) {
    const char *at = body.data, *end = at + body.size;
    uint64_t hash = 1, count;
    while (at < end && hash != 0) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *after = newline != NULL ? newline + 1 : end;
        size_t size = (size_t)((newline != NULL ? newline : end) - at);
        if (size > 0 && at[size - 1] == '\r') size--;
        lethe_bytes line = {.data = at, .size = size};
        if (size > 0 || after < end) {
            hash = size <= EVENT_LINE_LIMIT_BYTES
                       ? read_all(format, BODY_SINGLE, line, (lethe_bytes){0}, hash, &count)
                       : 0;
        }
        at = after;
    }
    assert(hash == expected);
}

static void make_formats(void) {
    struct event_problem problem;
    struct event_format_options plain = {
        .kind = EVENTS_JSONL, .takes_changes = true, .takes_base64 = true};
    struct event_format_options clouds = {
        .kind = EVENTS_JSONL, .is_cloud = true, .fields = "key=type,delta=data.n"};
    bool fine = event_format_make(&plain, &json, &problem) &&
                event_format_make(&clouds, &cloud, &problem) && event_batch_init(&batch);
    if (!fine) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    if (batch.text == NULL) make_formats();
    unsigned choice = data[0];
    lethe_bytes body = {.data = data + 1, .size = size - 1};
    lethe_bytes key = {.data = "key", .size = (choice & 8) != 0 ? 3 : 0};
    const struct event_format *format = (choice & 4) != 0 ? &cloud : &json;
    enum body_form form = choice % 4 == 3 ? BODY_SINGLE : (enum body_form)(choice % 4);
    struct text written = {0};
    struct event_problem problem;
    if (choice % 4 == 3) {
        size_t headed = body.size < sizeof header_text - 1 ? body.size : sizeof header_text - 1;
        memcpy(header_text, body.data, headed);
        header_text[headed] = '\0';
        format = &cloud;
        if (!cloud_write(any_header, NULL, format, body, &written, &problem)) {
            text_free(&written);
            return 0;
        }
        body = (lethe_bytes){.data = written.data, .size = written.size};
    }
    uint64_t count = 0, again = 0;
    uint64_t hash = read_all(format, form, body, key, 1, &count);
    assert(hash == read_all(format, form, body, key, 1, &again) && count == again);
    if (form == BODY_ARRAY && key.size == 0) check_elements(format, body, hash != 0);
    if (form == BODY_LINES && key.size == 0) check_lines(format, body, hash);
    text_free(&written);
    return 0;
}
