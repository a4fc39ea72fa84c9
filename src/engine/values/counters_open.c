/* engine/values/counters_open.c - exact counters from disk to memory, and checked on disk.
 *
 * IDEA    The log's changes since the last fold go into memory: COUNTERS does not have them. A
 *         writer then reads all of COUNTERS as well, if that takes no more than half of the memory
 *         that counters may have. A key that is not in memory is then known not to exist, and
 *         nothing is ever read from disk while operations are decided.
 *         What is read is taken a few at a time: where they belong in memory is fetched for all of
 *         them before the first is put there.
 * WHY     Values are absolute, so a segment may be replayed over newer values of COUNTERS: later
 *         segments set them right. */
#include <string.h>

#include "core/allocator.h"
#include "core/detail.h"
#include "core/tunables.h"
#include "engine/log/log.h"
#include "engine/values/counters.h"
#include "engine/values/fold.h"

/* What a record takes in memory besides its key and value, roughly. */
enum { RECORD_BYTES = 64 };

/* So many records or changes are taken at a time. */
enum { TOGETHER = 32 };

lethe_status lethe_counters_open(lethe_values *values) {
    uint32_t room_bytes = values->meters.count * LETHE_BESIDE_BYTES;
    return lethe_tally_new(values->allocator, room_bytes, &values->counters.tally);
}

/* Tags: of a chunk. A chunk ends before it has more than LETHE_CHANGES_LIMIT, unless it is one
 * operation, which has no more either. */
lethe_status lethe_counters_prepare_writes(lethe_values *values, uint64_t next_commit) {
    lethe_counters *counters = &values->counters;
    counters->base_commit = next_commit - lethe_tune.first_stamp;
    counters->tags =
        lethe_alloc_zeroed(values->allocator, LETHE_CHANGES_LIMIT * sizeof *counters->tags);
    return counters->tags != NULL ? LETHE_OK : LETHE_ENOMEM;
}

void lethe_counters_close(lethe_values *values) {
    lethe_counters *counters = &values->counters;
    lethe_tally_free(counters->tally);
    lethe_release(values->allocator, counters->tags, LETHE_CHANGES_LIMIT * sizeof *counters->tags);
}

static lethe_status replay_change(lethe_values *values, const lethe_new_value *change,
                                  uint32_t tag) {
    if (change->is_bucket) return lethe_buckets_replay(values, change);
    lethe_tally *tally = values->counters.tally;
    lethe_tally_record *record = lethe_tally_find(tally, tag, change->key);
    if (record == NULL) record = lethe_tally_add(tally, tag, change->key);
    if (record == NULL) return LETHE_ENOMEM;
    record->value = change->value;
    record->absent = change->deleted;
    record->stamp = LETHE_REPLAYED_STAMP;
    return LETHE_OK;
}

/* Replays the next changes of a segment, in which their keys lie. */
static lethe_status replay_some(lethe_values *values, lethe_changes *changes, lethe_fold *fold) {
    const lethe_tally *tally = values->counters.tally;
    lethe_new_value taken[TOGETHER];
    uint32_t tags[TOGETHER] = {0};
    unsigned count = 0;
    lethe_status status = LETHE_OK, replayed = LETHE_OK;
    while (status == LETHE_OK && count < TOGETHER && changes->left > 0) {
        status = lethe_changes_next(changes, &taken[count]);
        if (status != LETHE_OK) break;
        if (!taken[count].is_bucket) {
            tags[count] = lethe_counters_tag(values, taken[count].key);
            lethe_tally_prefetch_slot(tally, tags[count]);
        }
        count++;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!taken[i].is_bucket)
            (void)lethe_tally_prefetch_record(tally, tags[i], taken[i].key.size);
    }
    for (unsigned i = 0; i < count && replayed == LETHE_OK; i++) {
        replayed = replay_change(values, &taken[i], tags[i]);
        fold->unfolded_changes++;
    }
    return replayed != LETHE_OK ? replayed : status;
}

static lethe_status replay_segment(lethe_values *values, lethe_bytes segment, lethe_fold *fold) {
    lethe_changes changes;
    lethe_status status = lethe_changes_open(segment, &changes);
    while (status == LETHE_OK && changes.left > 0)
        status = replay_some(values, &changes, fold);
    if (status == LETHE_ENOMEM) return status;
    fold->unfolded_bytes += segment.size;
    return status;
}

lethe_status lethe_counters_replay(lethe_values *values, const lethe_state *state, lethe_fold *fold,
                                   lethe_detail *detail) {
    lethe_walk *walk;
    lethe_status status = lethe_changes_walk_begin(values->disk, state, &walk, detail);
    if (status != LETHE_OK) return status;
    lethe_bytes key, value;
    fold->segments = 0;
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value)) {
        status = replay_segment(values, value, fold);
        fold->segments++;
    }
    lethe_status ended = lethe_walk_end(walk, detail);
    if (status != LETHE_OK) return lethe_explain_damage("a segment of changes", status, detail);
    return ended;
}

/* Whether all of COUNTERS fits into half of the memory that counters may have. */
static bool is_small(const lethe_values *values) {
    uint64_t count = lethe_disk_records(values->disk, LETHE_FAMILY_COUNTERS);
    uint64_t bytes = lethe_disk_bytes(values->disk, LETHE_FAMILY_COUNTERS);
    uint64_t each = RECORD_BYTES + values->meters.count * LETHE_BESIDE_BYTES + bytes / (count + 1);
    return count <= values->counters.memory_limit_bytes / 2 / each;
}

/* Counters that were read, and are not in memory yet. */
struct loaded {
    unsigned count;
    struct {
        int64_t value;
        uint32_t tag;
        uint16_t key_size;
        char key[LETHE_KEY_LIMIT_BYTES];
    } counters[TOGETHER];
};

/* Takes a record of COUNTERS, whose key and value do not stay. */
static lethe_status take_record(const lethe_values *values, lethe_bytes key, lethe_bytes value,
                                struct loaded *loaded) {
    if (key.size == 0) return LETHE_OK; /* says how far COUNTERS is folded */
    if (key.size > LETHE_KEY_LIMIT_BYTES) return LETHE_ECORRUPT;
    unsigned at = loaded->count++;
    loaded->counters[at].tag = lethe_counters_tag(values, key);
    loaded->counters[at].key_size = (uint16_t)key.size;
    memcpy(loaded->counters[at].key, key.data, key.size);
    lethe_tally_prefetch_slot(values->counters.tally, loaded->counters[at].tag);
    return lethe_value_load(value, &loaded->counters[at].value);
}

static lethe_status keep_loaded(lethe_values *values, struct loaded *loaded) {
    lethe_tally *tally = values->counters.tally;
    for (unsigned i = 0; i < loaded->count; i++) {
        uint32_t tag = loaded->counters[i].tag;
        lethe_bytes key = {.data = loaded->counters[i].key, .size = loaded->counters[i].key_size};
        if (lethe_tally_find(tally, tag, key) != NULL) continue; /* the log's value is newer */
        lethe_tally_record *record = lethe_tally_add(tally, tag, key);
        if (record == NULL) return LETHE_ENOMEM;
        record->value = loaded->counters[i].value;
    }
    loaded->count = 0;
    return LETHE_OK;
}

lethe_status lethe_counters_load(lethe_values *values, lethe_detail *detail) {
    if (!is_small(values)) return LETHE_OK;
    struct loaded *loaded = lethe_alloc_zeroed(values->allocator, sizeof *loaded);
    if (loaded == NULL) return lethe_explain_damage("", LETHE_ENOMEM, detail);
    lethe_walk *walk;
    lethe_status status =
        lethe_walk_begin(values->disk, LETHE_FAMILY_COUNTERS, (lethe_bytes){0}, &walk);
    if (status != LETHE_OK) {
        lethe_release(values->allocator, loaded, sizeof *loaded);
        return lethe_explain_damage("", status, detail);
    }
    lethe_bytes key, value;
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value)) {
        status = take_record(values, key, value, loaded);
        if (status == LETHE_OK && loaded->count == TOGETHER) status = keep_loaded(values, loaded);
    }
    if (status == LETHE_OK) status = keep_loaded(values, loaded);
    lethe_release(values->allocator, loaded, sizeof *loaded);
    lethe_status ended = lethe_walk_end(walk, detail);
    if (status != LETHE_OK) return lethe_explain_damage("a counter", status, detail);
    values->counters.is_complete = ended == LETHE_OK;
    return ended;
}

lethe_status lethe_counters_check_begin(lethe_disk *disk, lethe_values_check *check,
                                        lethe_detail *detail) {
    return lethe_meters_load(disk, &check->meters, detail); /* records are checked one by one */
}

lethe_status lethe_counters_check_segment(lethe_values_check *check, uint64_t commit,
                                          lethe_bytes segment) {
    (void)commit;
    lethe_changes changes;
    lethe_status status = lethe_changes_open(segment, &changes);
    if (status != LETHE_OK) return status;
    check->health->changes += changes.left;
    while (status == LETHE_OK && changes.left > 0) {
        lethe_new_value change;
        lethe_bucket_name name;
        status = lethe_changes_next(&changes, &change);
        if (status == LETHE_OK && change.is_bucket &&
            !lethe_bucket_named(&change, check->meters.count, &name)) {
            status = LETHE_ECORRUPT;
        }
    }
    return status;
}

lethe_status lethe_counters_check_record(lethe_values_check *check, lethe_bytes key,
                                         lethe_bytes value) {
    int64_t number;
    if (key.size == 0)
        return lethe_commit_of_key(value, &check->folded) ? LETHE_OK : LETHE_ECORRUPT;
    if (key.size > LETHE_KEY_LIMIT_BYTES) return LETHE_ECORRUPT;
    check->health->counters++;
    return lethe_value_load(value, &number);
}
