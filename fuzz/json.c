/* Fuzzes the scan of JSON: the input's first byte picks the members that are asked for, the rest is
 * a line. Every way to scan must find the same, and the same as jansson does, except for the
 * differences that tests/cli/json_peer.h lists. And the rest is a text of lines: those that are
 * taken many at a time must be what they are one by one (tests/cli/simple_peer.h), in every way. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "json_peer.h"
#include "simple_peer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The text twice, so that the second time names come as they came before, and as far as they are
 * whole lines. */
static void compare_lines(const struct event_format *format, const uint8_t *data, size_t size) {
    struct simple_trial trial = {.format = format, .most = EVENTS_PER_BATCH, .line = 1};
    char *text = malloc(2 * (size + 1));
    assert(text != NULL);
    memcpy(text, data, size);
    text[size] = '\n';
    memcpy(text + size + 1, text, size + 1);
    size = 2 * (size + 1);
    for (size_t at = 0, lines = 0; at < size && lines < 64; lines++) {
        size_t taken = simple_compare(&trial, text + at, size - at);
        const char *end = memchr(text + at, '\n', size - at);
        at = taken > 0 ? at + taken : (size_t)(end - text) + 1;
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const fields[] = {
        "id=id,key=key,delta=delta",
        "id=i,key=k,delta=d,time=t",
        "id=meta.id,key=/tags/1/n,delta=/tags/0",
        "id=a,id=a.b,key=a.b.c,key=/a/0/1,delta=/a/10",
        "id=/,key=//,delta=/~0~1,time=\"a.b\"",
        "id=\xc3\xa9,key=\xf0\x9f\x98\x80,delta=\"\"\"\\\"",
        "id=i,id=a.i,id=:l,key=k,key=a.k,delta=d,time=t",
    };
    enum { FORMATS = sizeof fields / sizeof fields[0] };
    static struct event_format formats[FORMATS];
    if (formats[0].place_count == 0) {
        for (size_t i = 0; i < FORMATS; i++) {
            struct event_format_options options = {.kind = EVENTS_JSONL, .fields = fields[i]};
            struct event_problem problem;
            bool fine = event_format_make(&options, &formats[i], &problem);
            assert(fine);
        }
    }
    if (size == 0) return 0;
    const struct event_format *format = &formats[data[0] % FORMATS];
    json_compare(format, data + 1, size - 1);
    compare_lines(format, data + 1, size - 1);
    return 0;
}
