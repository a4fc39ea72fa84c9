/* engine/check.c - reading every byte of a store.
 *
 * RocksDB checks the checksum of each block that is read. Here every record is checked to be one
 * that Lethe writes, and to agree with the others. */
#include "engine/check.h"

#include "core/detail.h"
#include "engine/marks.h"
#include "engine/store.h"

struct examination {
    lethe_state state;
    lethe_store_health *health;
    const lethe_values_kind *kind;
    lethe_values_check values;
    uint64_t unfolded_segments;
};

typedef lethe_status (*examine_record)(struct examination *examination, lethe_bytes key,
                                       lethe_bytes value);

static lethe_status examine_state(struct examination *examination, lethe_bytes key,
                                  lethe_bytes value) {
    if (lethe_marks_is_record(key, value)) {
        examination->health->marks++;
        return LETHE_OK;
    }
    return lethe_state_is_record(key) || lethe_meters_is_record(key) ? LETHE_OK : LETHE_ECORRUPT;
}

static lethe_status examine_ids(struct examination *examination, lethe_bytes key,
                                lethe_bytes value) {
    uint64_t commit;
    lethe_id_segment ids;
    lethe_status status = lethe_id_segment_open(value, &ids);
    if (status != LETHE_OK) return status;
    if (!lethe_commit_of_key(key, &commit) || commit > examination->state.commit) {
        return LETHE_ECORRUPT;
    }
    examination->health->log_segments++;
    examination->health->log_ids += ids.count;
    if (ids.digests != NULL) examination->health->index_entries += ids.count;
    return LETHE_OK;
}

static lethe_status examine_changes(struct examination *examination, lethe_bytes key,
                                    lethe_bytes value) {
    uint64_t commit;
    if (!lethe_commit_of_key(key, &commit) || commit > examination->state.commit)
        return LETHE_ECORRUPT;
    examination->health->change_segments++;
    examination->unfolded_segments += commit > examination->state.folded;
    return examination->kind->check_segment(&examination->values, commit, value);
}

static lethe_status examine_counter(struct examination *examination, lethe_bytes key,
                                    lethe_bytes value) {
    return examination->kind->check_record(&examination->values, key, value);
}

static lethe_status examine_bucket(struct examination *examination, lethe_bytes key,
                                   lethe_bytes value) {
    lethe_bytes dropped = lethe_bucket_dropped_key();
    lethe_bucket_name name;
    uint64_t commit;
    int64_t number;
    bool says_commit = key.size == 0 ||
                       (key.size == dropped.size && memcmp(key.data, dropped.data, key.size) == 0);
    if (says_commit) return lethe_commit_of_key(value, &commit) ? LETHE_OK : LETHE_ECORRUPT;
    if (!lethe_bucket_parse(key, examination->values.meters.count, &name)) return LETHE_ECORRUPT;
    examination->health->buckets++;
    return lethe_value_load(value, &number);
}

static lethe_status examine_index(struct examination *examination, lethe_bytes key,
                                  lethe_bytes value) {
    lethe_index_entry entry;
    if (key.size != LETHE_LOG_ID_BYTES) return LETHE_ECORRUPT;
    examination->health->index_entries++;
    return lethe_index_load(value, &entry);
}

static lethe_status examine(lethe_disk *disk, enum lethe_family family, const char *what,
                            examine_record record, struct examination *examination,
                            lethe_detail *detail) {
    lethe_walk *walk;
    lethe_status status = lethe_walk_begin(disk, family, (lethe_bytes){0}, &walk);
    if (status != LETHE_OK) return lethe_detail_fill(detail, status, "not enough memory");
    lethe_bytes key, value;
    uint64_t number = 0;
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value)) {
        status = record(examination, key, value);
        number++;
    }
    lethe_status ended = lethe_walk_end(walk, detail);
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, status, "%s number %llu is not as lethe writes it", what,
                                 (unsigned long long)number);
    }
    return ended;
}

static lethe_status examine_records(lethe_disk *disk, struct examination *examination,
                                    lethe_detail *detail) {
    const struct {
        enum lethe_family family;
        const char *what;
        examine_record record;
    } parts[] = {
        {LETHE_FAMILY_STATE, "record", examine_state},
        {LETHE_FAMILY_IDS, "segment of ids", examine_ids},
        {LETHE_FAMILY_CHANGES, "segment of changes", examine_changes},
        {LETHE_FAMILY_INDEX, "entry of the index", examine_index},
        {LETHE_FAMILY_COUNTERS, "counter", examine_counter},
    };
    size_t count = sizeof parts / sizeof parts[0];
    if (examination->kind->check_record == NULL) count--; /* COUNTERS was read as a whole */
    lethe_status status = LETHE_OK;
    for (size_t i = 0; i < count && status == LETHE_OK; i++) {
        status =
            examine(disk, parts[i].family, parts[i].what, parts[i].record, examination, detail);
    }
    if (status == LETHE_OK)
        status = lethe_claims_examine(disk, &examination->state, &examination->health->claims,
                                      &examination->health->holds, detail);
    if (status != LETHE_OK || !lethe_disk_has(disk, LETHE_FAMILY_BUCKETS)) return status;
    status = examine(disk, LETHE_FAMILY_BUCKETS, "bucket", examine_bucket, examination, detail);
    if (status == LETHE_OK) status = lethe_meters_expect(disk, &examination->state, detail);
    return status;
}

static lethe_status examine_all(lethe_disk *disk, struct examination *examination,
                                lethe_detail *detail) {
    lethe_status status = examination->kind->check_begin(disk, &examination->values, detail);
    if (status == LETHE_OK) status = examine_records(disk, examination, detail);
    if (status != LETHE_OK) return status;
    if (examination->values.folded < examination->state.folded ||
        examination->unfolded_segments != examination->state.change_segments) {
        return lethe_detail_fill(detail, LETHE_ECORRUPT,
                                 "counters or changes are missing that the state counts");
    }
    if (examination->health->log_ids != examination->state.log_ids) {
        return lethe_detail_fill(detail, LETHE_ECORRUPT,
                                 "the log has %llu ids, and the state says %llu; restore a backup, "
                                 "or open the store to write, which mends what an earlier version "
                                 "of lethe dropped too soon, if that can be known",
                                 (unsigned long long)examination->health->log_ids,
                                 (unsigned long long)examination->state.log_ids);
    }
    return LETHE_OK;
}

lethe_status lethe_engine_examine(const char *folder, lethe_set *set, lethe_state *state,
                                  lethe_store_health *out, lethe_detail *detail) {
    *out = (lethe_store_health){0};
    lethe_disk *disk;
    lethe_status status = lethe_disk_open(folder, LETHE_DISK_READ, false, NULL, &disk, detail);
    if (status != LETHE_OK) return status;
    struct examination examination = {.health = out};
    status = lethe_state_load(disk, &examination.state, detail);
    if (status == LETHE_OK) {
        status = lethe_disk_expect(disk, examination.state.commit, detail);
    }
    examination.kind = lethe_values_kind_of(&examination.state);
    examination.values =
        (lethe_values_check){.state = &examination.state, .health = examination.health};
    if (status == LETHE_OK) status = examine_all(disk, &examination, detail);
    lethe_sketch_free(examination.values.sketch);
    if (status == LETHE_OK && set != NULL) lethe_disk_mark_unused(disk, set);
    if (status == LETHE_OK && examination.state.forever) {
        status = lethe_ledger_check(folder, &examination.state, &out->ledger_ids, detail);
    }
    lethe_disk_close(disk);
    *state = examination.state;
    return status;
}
