/* engine/ids/index_earlier.c - the records of INDEX.
 *
 * IDEA    Earlier versions wrote a record of RocksDB for each id, and a log without digests. Their
 *         records are read into the index, as one run, for as long as the log has such segments.
 * I1      Keys of records are in the order of runs: both go by the bytes of the id. */
#include "core/tunables.h"
#include "engine/ids/index_internal.h"

/* Records deleted in one commit. */
enum { DELETED_AT_ONCE = 65536 };

/* Adds one record to the run, unless it is too old. */
static lethe_status add_record(lethe_run_writer *writer, lethe_bytes key, lethe_bytes value) {
    lethe_index_entry entry;
    if (key.size != LETHE_LOG_ID_BYTES) return LETHE_ECORRUPT;
    lethe_status status = lethe_index_load(value, &entry);
    uint64_t base_ms = writer->run->base_ms;
    if (status != LETHE_OK || entry.clock_ms < base_ms) return status;
    if (entry.clock_ms - base_ms > UINT32_MAX) return LETHE_ECORRUPT;
    lethe_log_id id = lethe_log_id_load(key.data);
    lethe_run_item item = {.order = lethe_run_order(id),
                           .rest = lethe_run_rest(id),
                           .digest = entry.digest,
                           .clock_ms = (uint32_t)(entry.clock_ms - base_ms)};
    return lethe_run_append(writer, &item);
}

lethe_status lethe_index_add_earlier(lethe_index *index, lethe_disk *disk, uint64_t clock_ms,
                                     lethe_detail *detail) {
    uint64_t kept_ms = index->options.kept_ms;
    uint64_t expected = lethe_disk_records(disk, LETHE_FAMILY_INDEX);
    lethe_run_writer writer;
    lethe_walk *walk;
    lethe_status status =
        lethe_run_begin(&writer, expected, clock_ms > kept_ms ? clock_ms - kept_ms : 0,
                        lethe_index_place(index, expected), &index->memory);
    if (status != LETHE_OK) return status;
    status = lethe_walk_begin(disk, LETHE_FAMILY_INDEX, (lethe_bytes){0}, &walk);
    if (status == LETHE_OK) {
        lethe_bytes key, value;
        while (status == LETHE_OK && lethe_walk_next(walk, &key, &value))
            status = add_record(&writer, key, value);
        lethe_status ended = lethe_walk_end(walk, detail);
        if (status == LETHE_OK) status = ended;
    }
    if (status != LETHE_OK) {
        lethe_run_abandon(&writer);
        return status;
    }
    lethe_run *run;
    status = lethe_run_end(&writer, &run);
    if (status != LETHE_OK) return status;
    run->level = LETHE_INDEX_LEVELS; /* it covers W, and is merged with nothing */
    return lethe_index_take_run(index, run);
}

/* Whole tables first, and the rest one by one: a deleted range without anything beside it must not
 * be left (log/commit.c, I4). */
lethe_status lethe_index_empty(lethe_disk *disk, lethe_batch *batch) {
    unsigned char first[LETHE_LOG_ID_BYTES] = {0}, last[LETHE_LOG_ID_BYTES];
    memset(last, 0xff, sizeof last);
    lethe_disk_reclaim(disk, LETHE_FAMILY_INDEX, (lethe_bytes){.data = first, .size = sizeof first},
                       (lethe_bytes){.data = last, .size = sizeof last});
    lethe_walk *walk;
    lethe_status status = lethe_walk_begin(disk, LETHE_FAMILY_INDEX, (lethe_bytes){0}, &walk);
    if (status != LETHE_OK) return status;
    lethe_bytes key, value;
    lethe_batch_clear(batch);
    for (uint32_t count = 1; status == LETHE_OK && lethe_walk_next(walk, &key, &value); count++) {
        lethe_batch_delete(batch, disk, LETHE_FAMILY_INDEX, key);
        if (count % DELETED_AT_ONCE != 0) continue;
        status = lethe_disk_commit(disk, batch, NULL);
        lethe_batch_clear(batch);
    }
    lethe_status ended = lethe_walk_end(walk, NULL);
    if (status == LETHE_OK) status = ended;
    return status == LETHE_OK ? lethe_disk_commit(disk, batch, NULL) : status;
}
