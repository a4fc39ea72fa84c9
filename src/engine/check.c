/* engine/check.c - reading every byte of a store.
 *
 * RocksDB checks each block's checksum as it is read; we check that every record is one of ours, and that they
 * agree with each other. */
#include "engine/detail.h"
#include "engine/ledger.h"
#include "engine/segment.h"
#include "engine/sketch_store.h"
#include "engine/state.h"
#include "engine/store.h"

struct examination {
    lethe_state state;
    lethe_counter_health *health;
    uint64_t folded, unfolded_segments;
    lethe_sketch *sketch; /* in place of counters; with the changes that were examined so far */
};

typedef lethe_status (*examine_record)(struct examination *examination, lethe_bytes key,
                                       lethe_bytes value);

static lethe_status examine_state(struct examination *examination, lethe_bytes key,
                                  lethe_bytes value) {
    const char *name = key.data;
    if (key.size > 1 && key.size <= LETHE_KEY_LIMIT_BYTES + 1 && name[0] == 'm' && value.size > 0 &&
        value.size <= LETHE_KEY_LIMIT_BYTES) {
        examination->health->marks++;
        return LETHE_OK;
    }
    return key.size == 5 && memcmp(name, "state", 5) == 0 ? LETHE_OK : LETHE_ECORRUPT;
}

static lethe_status examine_ids(struct examination *examination, lethe_bytes key,
                                lethe_bytes value) {
    uint64_t commit;
    lethe_ids ids;
    lethe_status status = lethe_ids_open(value, &ids);
    if (status != LETHE_OK) return status;
    if (!lethe_commit_of_key(key, &commit) || commit > examination->state.commit) {
        return LETHE_ECORRUPT;
    }
    examination->health->log_segments++;
    examination->health->log_ids += ids.count;
    return LETHE_OK;
}

static lethe_status examine_changes(struct examination *examination, lethe_bytes key,
                                    lethe_bytes value) {
    uint64_t commit;
    lethe_changes changes;
    lethe_status status = lethe_changes_open(value, &changes);
    if (status != LETHE_OK) return status;
    if (!lethe_commit_of_key(key, &commit) || commit > examination->state.commit) {
        return LETHE_ECORRUPT;
    }
    examination->health->change_segments++;
    examination->unfolded_segments += commit > examination->state.folded;
    examination->health->changes += changes.left;
    while (status == LETHE_OK && changes.left > 0) {
        lethe_new_value change;
        status = lethe_changes_next(&changes, &change);
    }
    return status;
}

/* A segment of a store with a sketch: what the sketch does not have yet must fit it. */
static lethe_status examine_deltas(struct examination *examination, lethe_bytes key,
                                   lethe_bytes value) {
    uint64_t commit;
    lethe_changes deltas;
    lethe_status status = lethe_deltas_open(value, &deltas);
    if (status != LETHE_OK) return status;
    if (!lethe_commit_of_key(key, &commit) || commit > examination->state.commit) {
        return LETHE_ECORRUPT;
    }
    examination->health->change_segments++;
    examination->unfolded_segments += commit > examination->state.folded;
    if (commit > examination->folded) {
        return lethe_sketch_store_replay(examination->sketch, value, &examination->health->changes);
    }
    examination->health->changes += deltas.left;
    while (status == LETHE_OK && deltas.left > 0) {
        lethe_change change;
        status = lethe_deltas_next(&deltas, &change);
    }
    return status;
}

static lethe_status examine_counter(struct examination *examination, lethe_bytes key,
                                    lethe_bytes value) {
    int64_t number;
    if (key.size == 0)
        return lethe_commit_of_key(value, &examination->folded) ? LETHE_OK : LETHE_ECORRUPT;
    if (key.size > LETHE_KEY_LIMIT_BYTES) return LETHE_ECORRUPT;
    examination->health->counters++;
    return lethe_value_load(value, &number);
}

static lethe_status examine_index(struct examination *examination, lethe_bytes key,
                                  lethe_bytes value) {
    lethe_index_entry entry;
    if (key.size != LETHE_LOG_ID_BYTES) return LETHE_ECORRUPT;
    examination->health->index_entries++;
    return lethe_index_load(value, &entry);
}

static lethe_status examine(lethe_store *store, enum lethe_family family, const char *what,
                            examine_record record, struct examination *examination,
                            lethe_detail *detail) {
    lethe_walk *walk;
    lethe_status status = lethe_walk_begin(store, family, (lethe_bytes){0}, &walk);
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

/* Reads the sketch, all of it, in place of the counters. */
static lethe_status examine_sketch(lethe_store *store, struct examination *examination,
                                   lethe_detail *detail) {
    lethe_sketch_saved saved;
    lethe_status status = lethe_sketch_store_load(store, &examination->state, NULL,
                                                  &examination->sketch, &saved, detail);
    examination->folded = saved.cut;
    examination->health->sketch_bytes = examination->state.sketch_bytes;
    if (status == LETHE_OK && saved.cut > examination->state.commit) {
        return lethe_detail_fill(
            detail, LETHE_ECORRUPT, "the sketch is of commit %llu, and the log ends at %llu",
            (unsigned long long)saved.cut, (unsigned long long)examination->state.commit);
    }
    return status;
}

static lethe_status examine_records(lethe_store *store, struct examination *examination,
                                    lethe_detail *detail) {
    const struct {
        enum lethe_family family;
        const char *what;
        examine_record record;
    } parts[] = {
        {LETHE_FAMILY_STATE, "record", examine_state},
        {LETHE_FAMILY_IDS, "segment of ids", examine_ids},
        {LETHE_FAMILY_CHANGES, "segment of changes",
         examination->sketch != NULL ? examine_deltas : examine_changes},
        {LETHE_FAMILY_INDEX, "entry of the index", examine_index},
        {LETHE_FAMILY_COUNTERS, "counter", examine_counter},
    };
    size_t count = sizeof parts / sizeof parts[0];
    if (examination->sketch != NULL) count--; /* what is there was read as a whole */
    lethe_status status = LETHE_OK;
    for (size_t i = 0; i < count && status == LETHE_OK; i++) {
        status =
            examine(store, parts[i].family, parts[i].what, parts[i].record, examination, detail);
    }
    return status;
}

static lethe_status examine_all(lethe_store *store, struct examination *examination,
                                lethe_detail *detail) {
    lethe_status status = LETHE_OK;
    if (examination->state.sketch_bytes > 0) status = examine_sketch(store, examination, detail);
    if (status == LETHE_OK) status = examine_records(store, examination, detail);
    if (status != LETHE_OK) return status;
    if (examination->folded < examination->state.folded ||
        examination->unfolded_segments != examination->state.change_segments) {
        return lethe_detail_fill(detail, LETHE_ECORRUPT,
                                 "counters or changes are missing that the state speaks of");
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

lethe_status lethe_store_examine(const char *folder, bool with_ledger, lethe_state *state,
                                 lethe_counter_health *out, lethe_detail *detail) {
    *out = (lethe_counter_health){0};
    lethe_store *store;
    lethe_status status =
        lethe_store_open(folder, LETHE_STORE_EXAMINE, false, NULL, &store, detail);
    if (status != LETHE_OK) return status;
    struct examination examination = {.health = out};
    status = lethe_state_load(store, &examination.state, detail);
    if (status == LETHE_OK) {
        status = lethe_store_expect(store, examination.state.commit, detail);
    }
    if (status == LETHE_OK) status = examine_all(store, &examination, detail);
    lethe_sketch_free(examination.sketch);
    if (status == LETHE_OK && with_ledger && examination.state.forever) {
        status = lethe_ledger_check(folder, &examination.state, &out->ledger_ids, detail);
    }
    lethe_store_close(store);
    *state = examination.state;
    return status;
}

lethe_status lethe_counter_check(const char *folder, lethe_counter_health *out,
                                 lethe_detail *detail) {
    lethe_state state;
    return lethe_store_examine(folder, true, &state, out, detail);
}
