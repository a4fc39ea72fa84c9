/* Fuzzes the parsers of events: the input's first byte picks a format, the rest is a file. It is
 * read twice, in one piece and record by record in small pieces, and both must find the same. What
 * is accepted is in range. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "events/frame.h"
#include "events/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct event_batch batch;

static void check_operation(const lethe_operation *operation) {
    assert(operation->id.size >= 1 && operation->id.size <= LETHE_ID_LIMIT_BYTES);
    assert(operation->change_count >= 1 && operation->change_count <= LETHE_CHANGES_LIMIT);
    for (size_t i = 0; i < operation->change_count; i++) {
        lethe_bytes key = operation->changes[i].key;
        assert(key.size >= 1 && key.size <= LETHE_KEY_LIMIT_BYTES);
        assert(lethe_hash_bytes(1, key.data, key.size).low != 1); /* every byte is there to read */
    }
}

/* Where the records end, found in pieces of so many bytes. */
static size_t find_records(bool is_csv, const char *data, size_t size, size_t piece, size_t *ends,
                           size_t room) {
    size_t count = 0, from = 0, seen = 0;
    struct event_frame frame = {0};
    while (from < size && count < room) {
        struct event_record record;
        if (!event_frame_find(&frame, is_csv, data + from, seen - from, 1 << 20, seen == size,
                              &record)) {
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct {
        enum event_kind kind;
        const char *fields;
    } formats[] = {
        {EVENTS_PLAIN, NULL},
        {EVENTS_PLAIN, "id=2,key=1,time=3"},
        {EVENTS_CSV, NULL},
        {EVENTS_CSV, "id=i,key=k,delta=d"},
        {EVENTS_JSONL, NULL},
        {EVENTS_JSONL, "id=i,key=k,time=t"},
        {EVENTS_PLAIN, "id=1,key=1,delta=2,time=2"},
        {EVENTS_CSV, "id=i,key=i,delta=d,time=d"},
        {EVENTS_CSV, "id=2,key=2,delta=2,time=2"},
        {EVENTS_JSONL, "id=i,key=i"},
        {EVENTS_JSONL, "id=i,key=i,delta=i,time=i"},
        {EVENTS_JSONL, "id=i,key=k,delta=k,time=k"},
    };
    enum { RECORDS = 256 };
    if (size == 0 || (batch.text == NULL && !event_batch_init(&batch))) return 0;
    size_t choice = data[0] % (sizeof formats / sizeof formats[0]);
    const char *text = (const char *)data + 1;
    size--;
    struct event_format format, named;
    struct event_problem problem;
    bool fine = event_format_make(formats[choice].kind, formats[choice].fields, &named, &problem);
    assert(fine);
    format = named;

    bool is_csv = format.kind == EVENTS_CSV;
    size_t ends[RECORDS], other_ends[RECORDS];
    size_t count = find_records(is_csv, text, size, size, ends, RECORDS);
    size_t other_count = find_records(is_csv, text, size, 1, other_ends, RECORDS);
    assert(count == other_count && memcmp(ends, other_ends, count * sizeof ends[0]) == 0);

    event_batch_clear(&batch, 0, "fuzz");
    size_t from = 0;
    /* Its text is as good as full where the input says so: nothing may be written behind it. */
    size_t used = size > 0 && (text[size - 1] & 1) != 0 ? EVENT_TEXT_BYTES - 2 * size : 0;
    batch.text_used = size <= EVENT_LINE_LIMIT_BYTES ? used : 0;
    for (size_t i = 0; i < count; from = ends[i++]) {
        lethe_bytes record = {.data = text + from, .size = ends[i] - from};
        if (i == 0 && event_format_has_header(&format) &&
            !event_parse_header(&named, record, &batch, &format, &problem)) {
            return 0;
        }
        if (!event_batch_has_room(&batch, record.size)) break;
        size_t before = batch.count;
        enum event_result result = event_parse(&format, record, i + 1, &batch, &problem);
        assert(result != EVENT_NO_ROOM && batch.count == before + (result == EVENT_TAKEN));
        assert(batch.text_used <= EVENT_TEXT_BYTES);
        if (result == EVENT_TAKEN) check_operation(&batch.operations[before]);
    }
    return 0;
}
