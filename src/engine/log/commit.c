/* engine/log/commit.c - from the filling group to the disk.
 *
 * IDEA    Groups are filled under the lock, sealed, and written by one thread in the order of their
 *         numbers, while the next one fills up. What arrives while the disk is busy forms the
 *         next group.
 * I1      durable <= sealed = filling - 1, and sealed - durable < LETHE_GROUPS: a group is used
 *         again only when its last commit is on disk.
 * I2      A commit is one atomic batch: ids, values, state, marks, and which parts of the log it
 *         drops.
 * I3      After a failure nothing more is written, so what is on disk stays a prefix of what was
 *         decided.
 * I4      A commit that drops segments of a family also puts one there, if need be an empty one. So
 *         no compaction has deleted ranges as its input and nothing as its output: where such a
 *         table can't be synced, a RocksDB with assertions, such as Debian's, ends the process. */
#include "core/detail.h"
#include "core/tunables.h"
#include "engine/store.h"
#include "os/clock.h"

enum { MEASURE_EVERY_MS = 1000 };

void lethe_log_open_group(lethe_group *group) {
    if (lethe_group_is_empty(group)) group->opened_ms = lethe_os_boot_ms();
}

static lethe_status begin_group(lethe_store *store, uint64_t number) {
    lethe_group *group = lethe_log_group(&store->log, number);
    lethe_status status = lethe_group_begin(group, number);
    return status == LETHE_OK ? store->values.kind->begin_segment(&group->changes) : status;
}

lethe_status lethe_log_begin(lethe_store *store) {
    lethe_log *log = &store->log;
    log->durable = log->sealed = store->state.commit;
    log->filling = log->sealed + 1;
    return begin_group(store, log->filling);
}

/* Counts the group's ids in the newest period. The oldest id of all stays the oldest, also when the
 * log drops it: from then on the ledger knows more than the window. */
static void add_to_periods(lethe_store *store, const lethe_group *group) {
    const lethe_id_run *runs = (const void *)group->runs.data;
    size_t run_count = group->runs.size / sizeof *runs;
    uint64_t ids = 0;
    for (size_t i = 0; i < run_count; i++) {
        ids += runs[i].count;
    }
    if (ids > 0) {
        if (runs[0].clock_ms < store->ids.oldest_ms) store->ids.oldest_ms = runs[0].clock_ms;
        lethe_periods_add(&store->log.periods, store->options.window_ms, group->number,
                          runs[run_count - 1].clock_ms, ids);
    }
    store->state.log_ids += ids;
}

/* Has the group drop the periods that are too old to keep, as far as the ledger covers them. */
static void drop_periods(lethe_store *store, lethe_group *group) {
    const lethe_periods *periods = &store->log.periods;
    const lethe_ledger *ledger = store->ids.ledger;
    uint64_t clock_ms = store->state.clock_ms, kept_ms = store->ids.kept_ms;
    uint32_t gone = 0;
    while (gone < periods->count && periods->all[gone].last_ms + kept_ms < clock_ms) {
        if (ledger != NULL && periods->all[gone].last_commit > lethe_ledger_covers(ledger)) {
            group->wants_cover = true;
            break;
        }
        gone++;
    }
    if (gone == 0) return;
    group->drops_ids = true;
    group->drop_to = periods->all[gone - 1].last_commit + 1;
    group->expire_before_ms = clock_ms > kept_ms ? clock_ms - kept_ms : 0;
    store->state.dropped = group->drop_to - 1;
    store->state.log_ids -= lethe_periods_drop(&store->log.periods, gone);
    if (store->ids.index != NULL) lethe_index_expire(store->ids.index, clock_ms);
}

/* Fills in the state that the group is committed with. */
static void set_state(lethe_store *store, lethe_group *group) {
    lethe_state *state = &store->state;
    lethe_fold *fold = &store->fold;
    state->commit = group->number;
    if (fold->done > state->folded) {
        state->folded = fold->done;
        group->drops_changes = true;
        fold->recorded_segments = fold->folded_segments;
    }
    fold->segments += lethe_group_writes_changes(group);
    state->change_segments = fold->segments - fold->recorded_segments;
    if (state->boot_ms - store->ids.measured_ms >= MEASURE_EVERY_MS)
        lethe_ids_measure(&store->ids, state);
    lethe_meters_seal(&store->values.meters, state->clock_ms, &group->meters);
    state->has_claims = group->has_claims = store->claims.exist;
    group->state = *state;
    if (!group->has_claims) return;
    lethe_claims_stamp(&store->claims);
    group->claims_after = store->claims.record;
}

static bool has_room(const lethe_log *log) {
    return log->sealed - log->durable < LETHE_GROUPS - 1;
}

lethe_status lethe_log_seal(lethe_store *store) {
    lethe_log *log = &store->log;
    while (!has_room(log) && store->failed == LETHE_OK)
        lethe_os_condition_wait(&log->done, &store->lock);
    if (store->failed != LETHE_OK) return store->failed;
    lethe_group *group = lethe_log_filling(log);
    if (lethe_group_is_empty(group)) return LETHE_OK;
    lethe_status status = store->values.kind->end_segment(&store->values, group);
    if (status == LETHE_OK) status = lethe_group_end_ids(group);
    if (status == LETHE_OK) status = begin_group(store, log->filling + 1);
    if (status != LETHE_OK) {
        lethe_engine_fail(store, status, NULL);
        return status;
    }
    lethe_clock_stamp(&store->clock, &store->state);
    add_to_periods(store, group);
    drop_periods(store, group);
    set_state(store, group);
    store->fold.unfolded_bytes += group->changes.size;
    store->fold.unfolded_changes += group->change_count;
    lethe_fold_if_due(store);
    log->sealed = log->filling++;
    lethe_values_number_commits(&store->values, log->filling, store->fold.running);
    lethe_renew_if_due(store);
    lethe_os_condition_wake_all(&log->work);
    return LETHE_OK;
}

lethe_status lethe_log_wait(lethe_store *store, uint64_t commit) {
    while (store->log.durable < commit && store->failed == LETHE_OK)
        lethe_os_condition_wait(&store->log.done, &store->lock);
    return store->log.durable >= commit ? LETHE_OK : store->failed;
}

lethe_status lethe_store_commit(lethe_store *store) {
    if (store == NULL) return LETHE_EINVAL;
    if (store->options.read_only) return lethe_engine_refuse_reader(store);
    lethe_engine_enter(store);
    lethe_status status = lethe_log_seal(store);
    lethe_engine_leave(store);
    return status;
}

/* Whether a submission of this store may have got the ticket. Nobody commits for another. */
static bool is_issued(lethe_store *store, uint64_t ticket) {
    return ticket <= lethe_log_ticket(&store->log);
}

lethe_status lethe_store_wait(lethe_store *store, uint64_t ticket) {
    if (store == NULL) return LETHE_EINVAL;
    lethe_engine_enter(store);
    bool may_wait = is_issued(store, ticket);
    lethe_status status = may_wait ? lethe_log_wait(store, ticket) : LETHE_EINVAL;
    lethe_engine_leave(store);
    return may_wait ? status
                    : lethe_engine_refuse(store, "the store has issued no such ticket yet");
}

bool lethe_store_is_done(const lethe_store *store, uint64_t ticket) {
    if (store == NULL) return true;
    lethe_store *shared = (lethe_store *)(uintptr_t)store; /* only its lock changes */
    lethe_engine_enter(shared);
    bool is_done =
        store->log.durable >= ticket || store->failed != LETHE_OK || !is_issued(shared, ticket);
    lethe_engine_leave(shared);
    return is_done;
}

static lethe_bytes key_of(uint64_t commit, unsigned char out[LETHE_COMMIT_KEY_BYTES]) {
    lethe_commit_key(commit, out);
    return (lethe_bytes){.data = out, .size = LETHE_COMMIT_KEY_BYTES};
}

static lethe_bytes bytes_of(const lethe_buffer *buffer) {
    return (lethe_bytes){.data = buffer->data, .size = buffer->size};
}

/* RocksDB leaves a record out of a batch that is larger than it takes, and its C function does not
 * say so. */
static lethe_status expect_size(const lethe_buffer *segment, lethe_detail *detail) {
    if (segment->size <= lethe_tune.segment_most_bytes) return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_EFULL,
                             "operations that are to be committed together change counters whose "
                             "keys are more than 4 GiB; nothing of them was counted: submit fewer "
                             "at once");
}

/* Writes a sealed group. Without the lock: the group belongs to the committing thread. */
static lethe_status write_group(lethe_store *store, lethe_group *group, lethe_detail *detail) {
    lethe_disk *disk = store->disk;
    unsigned char key[LETHE_COMMIT_KEY_BYTES], end[LETHE_COMMIT_KEY_BYTES];
    lethe_bytes own = key_of(group->number, key);
    lethe_status status = expect_size(&group->ids, detail);
    if (status == LETHE_OK) status = expect_size(&group->changes, detail);
    if (status != LETHE_OK) return status;
    if (lethe_group_writes_ids(group))
        lethe_batch_put(group->batch, disk, LETHE_FAMILY_IDS, own, bytes_of(&group->ids));
    if (lethe_group_writes_changes(group))
        lethe_batch_put(group->batch, disk, LETHE_FAMILY_CHANGES, own, bytes_of(&group->changes));
    if (group->drops_ids) {
        lethe_batch_delete_range(group->batch, disk, LETHE_FAMILY_IDS, key_of(0, key),
                                 key_of(group->drop_to, end));
    }
    if (group->drops_changes) {
        lethe_batch_delete_range(group->batch, disk, LETHE_FAMILY_CHANGES, key_of(0, key),
                                 key_of(group->state.folded + 1, end));
    }
    status = lethe_state_put(&group->state, group->batch, disk);
    if (status == LETHE_OK)
        status = lethe_meters_put(&group->meters, group->number, group->batch, disk);
    if (status == LETHE_OK && group->has_claims)
        status = lethe_claims_put(&group->claims_after, group->batch, disk);
    if (status == LETHE_OK) status = lethe_disk_commit(disk, group->batch, detail);
    if (status == LETHE_OK) lethe_meters_reclaim(&group->meters, disk);
    if (status == LETHE_OK && group->drops_ids) {
        lethe_disk_reclaim(disk, LETHE_FAMILY_IDS, key_of(0, key), key_of(group->drop_to - 1, end));
        lethe_disk_expire_index(disk, group->expire_before_ms);
    }
    return status;
}

/* Takes the group's ids into the ledger, now that they are durable. */
static lethe_status enter_ledger(lethe_store *store, const lethe_group *group,
                                 lethe_detail *detail) {
    lethe_ledger *ledger = store->ids.ledger;
    if (ledger == NULL) return LETHE_OK;
    lethe_bytes segment = {0};
    if (group->runs.size > 0) segment = bytes_of(&group->ids);
    lethe_status status = lethe_ledger_insert(ledger, group->number, segment, detail);
    if (status != LETHE_OK) return status;
    return lethe_ledger_checkpoint(ledger, group->wants_cover, detail);
}

/* How long the filling group may wait for company; 0: it is due. */
static uint64_t patience_ms(lethe_store *store) {
    uint64_t waited_ms = lethe_os_boot_ms() - lethe_log_filling(&store->log)->opened_ms;
    uint64_t interval_ms = store->options.commit_interval_ms;
    return store->stopping || waited_ms >= interval_ms ? 0 : interval_ms - waited_ms;
}

/* With the lock: waits until there is a sealed group, or there never will be. */
static bool await_group(lethe_store *store) {
    lethe_log *log = &store->log;
    for (;;) {
        if (store->failed != LETHE_OK && store->stopping) return false;
        if (store->failed != LETHE_OK) {
            lethe_os_condition_wait(&log->work, &store->lock);
            continue;
        }
        if (log->sealed > log->durable) return true;
        if (lethe_group_is_empty(lethe_log_filling(log))) {
            if (store->stopping) return false;
            lethe_os_condition_wait(&log->work, &store->lock);
            continue;
        }
        uint64_t wait_ms = patience_ms(store);
        if (wait_ms > 0) {
            lethe_os_condition_wait_for(&log->work, &store->lock, wait_ms);
        } else {
            lethe_status status = lethe_log_seal(store); /* a failure shows in `failed` */
            (void)status;
        }
    }
}

void *lethe_log_committer_main(void *context) {
    lethe_store *store = context;
    lethe_disk_enter_thread();
    lethe_engine_enter(store);
    while (await_group(store)) {
        lethe_group *group = lethe_log_group(&store->log, store->log.durable + 1);
        lethe_engine_leave(store);
        lethe_detail detail = {""};
        lethe_status status = write_group(store, group, &detail);
        if (status == LETHE_OK) lethe_disk_acknowledge(store->disk, group->number);
        if (status == LETHE_OK) status = enter_ledger(store, group, &detail);
        lethe_engine_enter(store);
        if (status == LETHE_OK) {
            store->log.durable = group->number;
            lethe_os_condition_wake_all(&store->log.done);
        } else {
            lethe_engine_fail(store, status, &detail);
        }
    }
    lethe_engine_leave(store);
    return NULL;
}
