/* Fuzzes the readers of the log's records: what they accept keeps the rules of its format, and
 * what was read and is written again is the same. The first byte chooses the reader. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/log/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_ids(lethe_bytes segment) {
    lethe_id_segment ids;
    if (lethe_id_segment_open(segment, &ids) != LETHE_OK) return;
    uint64_t total = 0;
    for (uint32_t i = 0; i < ids.run_count; i++) {
        total += lethe_id_segment_run(&ids, i).count;
    }
    assert(total == ids.count);
    lethe_buffer copy = {0};
    lethe_id_run *runs = calloc(ids.run_count + 1, sizeof *runs);
    if (runs == NULL || lethe_id_segment_begin(&copy) != LETHE_OK) abort();
    for (uint32_t i = 0; i < ids.count; i++) {
        if (!lethe_buffer_reserve(&copy, LETHE_LOG_ID_BYTES)) abort();
        lethe_id_segment_append(&copy, lethe_log_id_load(ids.ids + (size_t)i * LETHE_LOG_ID_BYTES));
    }
    for (uint32_t i = 0; i < ids.run_count; i++) {
        runs[i] = lethe_id_segment_run(&ids, i);
    }
    size_t notes_bytes = (size_t)ids.count * 4;
    lethe_buffer digests = {.data = (unsigned char *)(uintptr_t)ids.digests, .size = notes_bytes};
    lethe_buffer lags = {.data = (unsigned char *)(uintptr_t)ids.lags, .size = notes_bytes};
    lethe_id_notes notes = {.digests = ids.digests != NULL ? &digests : NULL,
                            .lags = ids.lags != NULL ? &lags : NULL};
    if (lethe_id_segment_end(&copy, runs, ids.run_count, notes) != LETHE_OK) abort();
    assert(copy.size == segment.size && memcmp(copy.data, segment.data, copy.size) == 0);
    lethe_buffer_free(&copy);
    free(runs);
}

static void try_changes(lethe_bytes segment) {
    lethe_changes changes;
    if (lethe_changes_open(segment, &changes) != LETHE_OK) return;
    while (changes.left > 0) {
        lethe_new_value change;
        if (lethe_changes_next(&changes, &change) != LETHE_OK) return;
        size_t prefix =
            change.is_bucket && !change.is_beside ? 6 : 0; /* before the counter's key */
        assert(change.key.size > prefix && change.key.size <= prefix + LETHE_KEY_LIMIT_BYTES);
        assert(!change.is_beside || change.is_bucket);
        assert(change.which < LETHE_BESIDE_LIMIT && change.label < UINT64_C(1) << 40);
        assert(!change.deleted || change.value == 0);
    }
    assert(changes.at == changes.end);
}

static void try_deltas(lethe_bytes segment) {
    lethe_changes deltas;
    if (lethe_deltas_open(segment, &deltas) != LETHE_OK) return;
    lethe_buffer copy = {0};
    if (lethe_deltas_begin(&copy) != LETHE_OK) abort();
    bool whole = true;
    for (uint32_t left = deltas.left; left > 0 && whole; left--) {
        lethe_change change;
        whole = lethe_deltas_next(&deltas, &change) == LETHE_OK;
        if (!whole) break;
        assert(change.key.size >= 1 && change.key.size <= LETHE_KEY_LIMIT_BYTES);
        assert(change.delta != 0);
        if (lethe_deltas_append(&copy, &change) != LETHE_OK) abort();
    }
    /* A number may be written longer than it need be. */
    assert(!whole || (deltas.at == deltas.end && copy.size <= segment.size));
    lethe_buffer_free(&copy);
}

static void try_value(lethe_bytes record) {
    int64_t value;
    if (lethe_value_load(record, &value) != LETHE_OK) return;
    unsigned char again[LETHE_VALUE_LIMIT_BYTES];
    assert(lethe_value_store(again, value) <= record.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    lethe_bytes rest = {.data = data + 1, .size = size - 1};
    switch (data[0] % 4) {
    case 0:
        try_ids(rest);
        break;
    case 1:
        try_changes(rest);
        break;
    case 3:
        try_deltas(rest);
        break;
    default:
        try_value(rest);
        break;
    }
    return 0;
}
