/* Fuzzes the scan of JSON: the input's first byte picks the members that are asked for, the rest is
 * a line. Every way to scan must find the same, and the same as jansson does, but for the
 * differences that tests/cli/json_peer.h lists. */
#include <assert.h>

#include "json_peer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const fields[] = {
        "id=id,key=key,delta=delta",
        "id=i,key=k,delta=d,time=t",
        "id=meta.id,key=/tags/1/n,delta=/tags/0",
        "id=a,id=a.b,key=a.b.c,key=/a/0/1,delta=/a/10",
        "id=/,key=//,delta=/~0~1,time=\"a.b\"",
        "id=\xc3\xa9,key=\xf0\x9f\x98\x80,delta=\"\"\"\\\"",
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
    if (size > 0) json_compare(&formats[data[0] % FORMATS], data + 1, size - 1);
    return 0;
}
