/* Fuzzes the parsers of events: the input's first byte picks a format with its options and a scale,
 * the rest is a file. It is read twice, in one piece and record by record in small pieces, and both
 * must find the same. What is accepted is in range, and its deltas are read back as they are
 * shown. Lines that are taken many at a time are what they are one by one. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "events/frame.h"
#include "events/parse.h"
#include "input/decimal.h"
#include "simple_peer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct event_batch batch;

static void check_delta(int64_t delta, unsigned scale) {
    struct decimal_text shown;
    int64_t read = 0;
    decimal_show(delta, scale, &shown);
    lethe_bytes text = {.data = shown.text, .size = strlen(shown.text)};
    assert(decimal_parse_scaled(text, scale, &read) == DECIMAL_FINE && read == delta);
}

static void check_operation(const lethe_operation *operation, unsigned scale) {
    assert(operation->id.size >= 1 && operation->id.size <= LETHE_ID_LIMIT_BYTES);
    assert(operation->time_ms <= UINT64_C(253402300799999));
    assert(operation->change_count >= 1 && operation->change_count <= LETHE_CHANGES_LIMIT);
    for (size_t i = 0; i < operation->change_count; i++) {
        lethe_bytes key = operation->changes[i].key;
        check_delta(operation->changes[i].delta, scale);
        assert(key.size >= 1 && key.size <= LETHE_KEY_LIMIT_BYTES);
        assert(lethe_hash_bytes(1, key.data, key.size).low != 1); /* every byte is there to read */
    }
}

/* Where the records end, found in pieces of so many bytes. */
static size_t find_records(char delimiter, const char *data, size_t size, size_t piece,
                           size_t *ends, size_t room) {
    size_t count = 0, from = 0, seen = 0;
    struct event_frame frame = {0};
    while (from < size && count < room) {
        struct event_record record;
        if (!event_frame_find(&frame, delimiter, data + from, seen - from, seen == size, &record)) {
            assert(seen < size);
            seen += size - seen < piece ? size - seen : piece;
            continue;
        }
        assert(record.taken > 0 && record.size <= record.taken && record.lines > 0);
        from += record.taken;
        ends[count++] = from;
        frame = (struct event_frame){0};
    }
    return count;
}

/* What a mark has of a format fits into it. */
static void check_manner(const struct event_format *format) {
    char manner[EVENT_MANNER_BYTES];
    event_format_describe(format, manner);
    assert(strlen(manner) < RESUME_MANNER_BYTES - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct event_format_options formats[] = {
        {.kind = EVENTS_PLAIN},
        {.kind = EVENTS_PLAIN, .fields = "id=2,key=1,time=3"},
        {.kind = EVENTS_CSV},
        {.kind = EVENTS_CSV, .fields = "id=i,key=k,delta=d"},
        {.kind = EVENTS_JSONL},
        {.kind = EVENTS_JSONL, .fields = "id=i,key=k,time=t"},
        {.kind = EVENTS_PLAIN, .fields = "id=1,key=1,delta=2,time=2"},
        {.kind = EVENTS_CSV, .fields = "id=i,key=i,delta=d,time=d"},
        {.kind = EVENTS_CSV, .fields = "id=2,key=2,delta=2,time=2"},
        {.kind = EVENTS_JSONL, .fields = "id=i,key=i"},
        {.kind = EVENTS_JSONL, .fields = "id=i,key=i,delta=i,time=i"},
        {.kind = EVENTS_JSONL, .fields = "id=i,key=k,delta=k,time=k"},
        {.kind = EVENTS_PLAIN, .fields = "id=i,id=k,key=k,key=:x,delta=d", .is_strict = true},
        {.kind = EVENTS_PLAIN,
         .fields = "id=1,key=2,time=3,time=4",
         .time_unit = UNIT_SECONDS,
         .zone = "+01:00"},
        {.kind = EVENTS_CSV, .delimiter = ";", .fields = "id=i,id=k,key=k", .is_strict = true},
        {.kind = EVENTS_CSV,
         .delimiter = "\\t",
         .fields = "id=1,id=2,key=1,key=2,delta=3,delta=:1,time=4",
         .zone = "-02:30"},
        {.kind = EVENTS_JSONL, .fields = "id=i.j,id=/i/k,id=/a/0,key=/k,delta=i.d,time=/i/t"},
        {.kind = EVENTS_JSONL,
         .fields = "id=i,key=k,key=l,delta=d,delta=e,time=t",
         .time_unit = UNIT_MICROSECONDS,
         .is_strict = true},
        {.kind = EVENTS_JSONL, .fields = "delta=data.n,time=time", .is_cloud = true},
    };
    enum { RECORDS = 256, FORMATS = sizeof formats / sizeof formats[0] };
    if (size == 0 || (batch.text == NULL && !event_batch_init(&batch))) return 0;
    size_t choice = data[0] % FORMATS;
    unsigned scale = data[0] / FORMATS % (LETHE_SCALE_LIMIT + 1);
    const char *text = (const char *)data + 1;
    size--;
    struct event_format format;
    struct event_problem problem;
    bool fine = event_format_make(&formats[choice], &format, &problem) &&
                event_format_set_scale(&format, scale, &problem);
    assert(fine);
    check_manner(&format);

    char delimiter = event_frame_delimiter(&format);
    size_t ends[RECORDS], other_ends[RECORDS];
    size_t count = find_records(delimiter, text, size, size, ends, RECORDS);
    size_t other_count = find_records(delimiter, text, size, 1, other_ends, RECORDS);
    assert(count == other_count && memcmp(ends, other_ends, count * sizeof ends[0]) == 0);

    struct simple_trial trial = {.format = &format, .most = EVENTS_PER_BATCH, .line = 1};
    (void)simple_compare(&trial, text, size);

    event_batch_clear(&batch);
    size_t from = 0;
    size_t need = 2 * size + LETHE_ID_LIMIT_BYTES;
    /* Its text is as good as full where the input says so: nothing may be written behind it. */
    size_t used = size > 0 && (text[size - 1] & 1) != 0 ? EVENT_TEXT_BYTES - need : 0;
    batch.text_used = size <= EVENT_LINE_LIMIT_BYTES ? used : 0;
    for (size_t i = 0; i < count; from = ends[i++]) {
        lethe_bytes record = {.data = text + from, .size = ends[i] - from};
        if (i == 0 && event_format_has_header(&format) &&
            !event_parse_header(&format, record, &batch, &problem)) {
            return 0;
        }
        if (!event_batch_has_room(&batch, record.size)) break;
        size_t before = batch.count;
        enum event_result result = event_parse(&format, record, i + 1, &batch, &problem);
        assert(result != EVENT_NO_ROOM && batch.count == before + (result == EVENT_TAKEN));
        assert(batch.text_used <= EVENT_TEXT_BYTES);
        if (result == EVENT_TAKEN) check_operation(&batch.operations[before], scale);
    }
    return 0;
}
