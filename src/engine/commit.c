/* engine/commit.c - from the filling group to the disk.
 *
 * IDEA    Groups are filled under the lock, sealed, and written by one thread in the order of their numbers,
 *         while the next one fills up. While the disk is busy, what arrives is grouped by itself.
 * I1      durable <= sealed = filling - 1, and sealed - durable < LETHE_GROUPS: a group is used again only when
 *         its last commit is on disk.
 * I2      A commit is one atomic batch: ids, values, state, marks, and what of the log is dropped.
 * I3      After a failure nothing is written any more, so that what is on disk stays a prefix of what was decided.
 * I4      A commit that drops segments of a family has one of its own there, if need be an empty one. So no compaction
 *         has deleted ranges for its input and nothing for its output: where such a table can't be synced, a RocksDB
 *         with assertions, as Debian's, ends the process. */
#include "core/tunables.h"
#include "engine/detail.h"
#include "engine/engine.h"
#include "os/clock.h"

enum { LOOK_EVERY_MS = 1000 };

void lethe_engine_remark(lethe_counter *counter, const lethe_detail *detail) {
    if (counter->failed == LETHE_OK) counter->failure = *detail;
}

void lethe_engine_fail(lethe_counter *counter, lethe_status status, const lethe_detail *detail) {
    if (counter->failed != LETHE_OK) return;
    counter->failed = status;
    if (detail != NULL) counter->failure = *detail;
    if (counter->failure.text[0] == '\0') {
        (void)lethe_detail_fill(&counter->failure, status, "%s", lethe_strerror(status));
    }
    lethe_os_condition_wake_all(&counter->done);
    lethe_os_condition_wake_all(&counter->work);
    lethe_os_condition_wake_all(&counter->fold);
}

static lethe_status encode_changes(lethe_group *group) {
    if (group->holds_deltas) { /* written as they were decided */
        lethe_changes_end(&group->changes, group->delta_count);
        return LETHE_OK;
    }
    const lethe_touched *touched = (const void *)group->touched.data;
    size_t count = group->touched.size / sizeof *touched;
    for (size_t i = 0; i < count; i++) {
        if (i + 8 < count) __builtin_prefetch(touched[i + 8].record);
        const lethe_tally_record *record = touched[i].record;
        lethe_new_value change = {.key = {.data = record->key, .size = record->key_size},
                                  .value = record->value,
                                  .deleted = record->absent};
        lethe_status status = lethe_changes_append(&group->changes, &change);
        if (status != LETHE_OK) return status;
    }
    lethe_changes_end(&group->changes, (uint32_t)count);
    return LETHE_OK;
}

/* Notes the group's ids in the newest period, and which periods it makes too old to keep. */
static void turn_periods(lethe_counter *counter, lethe_group *group) {
    const lethe_id_run *runs = (const void *)group->runs.data;
    size_t run_count = group->runs.size / sizeof *runs;
    uint64_t ids = 0;
    for (size_t i = 0; i < run_count; i++) {
        ids += runs[i].count;
    }
    if (ids > 0) {
        lethe_engine_add_period(counter, group->number, runs[run_count - 1].clock_ms, ids);
    }
    counter->state.log_ids += ids;
    uint32_t gone = 0;
    while (gone < counter->period_count &&
           counter->periods[gone].last_ms + counter->kept_ms < counter->state.clock_ms) {
        if (counter->ledger != NULL &&
            counter->periods[gone].last_commit > lethe_ledger_covers(counter->ledger)) {
            group->wants_cover = true;
            break;
        }
        gone++;
    }
    if (gone == 0) return;
    group->drops_ids = true;
    group->drop_from = 0;
    group->drop_to = counter->periods[gone - 1].last_commit + 1;
    counter->state.dropped = group->drop_to - 1;
    for (uint32_t i = 0; i < gone; i++) {
        counter->state.log_ids -= counter->periods[i].ids;
    }
    counter->period_count -= gone;
    memmove(counter->periods, counter->periods + gone,
            counter->period_count * sizeof counter->periods[0]);
    uint64_t clock_ms = counter->state.clock_ms;
    group->expire_before_ms = clock_ms > counter->kept_ms ? clock_ms - counter->kept_ms : 0;
}

void lethe_engine_look(lethe_counter *counter) {
    counter->looked_ms = lethe_os_boot_ms();
    if (counter->window == NULL) return;
    lethe_window_stats stats = lethe_window_info(counter->window, counter->state.clock_ms);
    counter->state.window_error = stats.error_estimate;
    counter->state.window_memory_bytes = stats.memory_bytes;
    counter->state.window_ids = stats.ids;
}

/* The state that the group is committed with. */
static void turn_state(lethe_counter *counter, lethe_group *group) {
    lethe_state *state = &counter->state;
    state->commit = group->number;
    if (counter->fold_done > state->folded) {
        state->folded = counter->fold_done;
        group->drops_changes = true;
        counter->noted_segments = counter->folded_segments;
    }
    counter->segments += lethe_group_writes_changes(group);
    state->change_segments = counter->segments - counter->noted_segments;
    if (state->boot_ms - counter->looked_ms >= LOOK_EVERY_MS) lethe_engine_look(counter);
    group->state = *state;
}

/* Begins stamps anew, when they get large: of records, only whether the store has them matters, and, while a fold is
 * running, whether they changed after its cut. With no group filling. */
static void restamp(lethe_counter *counter) {
    if (counter->fold_running || counter->filling - counter->base_commit < lethe_tune.stamp_limit)
        return;
    lethe_tally_record *record;
    uint64_t position = 0;
    while ((record = lethe_tally_each(counter->tally, &position)) != NULL) {
        record->stamp =
            record->stamp > counter->folded_stamp ? LETHE_REPLAYED_STAMP : LETHE_FOLDED_STAMP;
    }
    counter->folded_stamp = LETHE_FOLDED_STAMP;
    counter->base_commit = counter->filling - LETHE_FIRST_STAMP;
}

static bool has_room(const lethe_counter *counter) {
    return counter->sealed - counter->durable < LETHE_GROUPS - 1;
}

/* A sketch is saved whole: not before the log has as many bytes as it has itself. */
static bool is_fold_due(const lethe_counter *counter) {
    uint64_t after = lethe_tune.fold_after_bytes;
    if (counter->state.sketch_bytes > after) after = counter->state.sketch_bytes;
    return counter->unfolded_bytes > after ||
           (counter->sketch == NULL &&
            lethe_tally_memory_bytes(counter->tally) > counter->options.counters_memory_bytes);
}

lethe_status lethe_engine_seal(lethe_counter *counter) {
    while (!has_room(counter) && counter->failed == LETHE_OK)
        lethe_os_condition_wait(&counter->done, &counter->lock);
    if (counter->failed != LETHE_OK) return counter->failed;
    lethe_group *group = lethe_engine_filling(counter);
    if (lethe_group_is_empty(group)) return LETHE_OK;
    lethe_status status = encode_changes(group);
    if (status == LETHE_OK) {
        status = lethe_ids_end(&group->ids, (const void *)group->runs.data,
                               group->runs.size / sizeof(lethe_id_run));
    }
    if (status == LETHE_OK) {
        status = lethe_group_begin(&counter->groups[(counter->filling + 1) % LETHE_GROUPS],
                                   counter->filling + 1);
    }
    if (status != LETHE_OK) {
        lethe_engine_fail(counter, status, NULL);
        return status;
    }
    lethe_engine_set_moment(counter);
    turn_periods(counter, group);
    turn_state(counter, group);
    counter->unfolded_bytes += group->changes.size;
    counter->unfolded_changes += group->touched.size / sizeof(lethe_touched) + group->delta_count;
    if (is_fold_due(counter)) {
        counter->fold_wanted = true;
        lethe_os_condition_wake_all(&counter->fold);
    }
    counter->sealed = counter->filling++;
    restamp(counter);
    lethe_os_condition_wake_all(&counter->work);
    return LETHE_OK;
}

lethe_status lethe_engine_wait_durable(lethe_counter *counter, uint64_t number) {
    while (counter->durable < number && counter->failed == LETHE_OK)
        lethe_os_condition_wait(&counter->done, &counter->lock);
    return counter->durable >= number ? LETHE_OK : counter->failed;
}

lethe_status lethe_counter_wait(lethe_counter *counter, uint64_t ticket) {
    lethe_engine_enter(counter);
    lethe_status status = lethe_engine_wait_durable(counter, ticket);
    lethe_engine_leave(counter);
    return status;
}

bool lethe_counter_is_done(const lethe_counter *counter, uint64_t ticket) {
    lethe_counter *shared = (lethe_counter *)(uintptr_t)counter; /* only its lock changes */
    lethe_engine_enter(shared);
    bool is_done = counter->durable >= ticket || counter->failed != LETHE_OK;
    lethe_engine_leave(shared);
    return is_done;
}

void lethe_counter_explain(const lethe_counter *counter, lethe_detail *detail) {
    lethe_counter *shared = (lethe_counter *)(uintptr_t)counter;
    lethe_engine_enter(shared);
    *detail = counter->failure;
    lethe_engine_leave(shared);
}

static lethe_bytes key_of(uint64_t commit, unsigned char out[LETHE_COMMIT_KEY_BYTES]) {
    lethe_commit_key(commit, out);
    return (lethe_bytes){.data = out, .size = LETHE_COMMIT_KEY_BYTES};
}

/* Writes a sealed group. Without the lock: it is ours. */
static lethe_status write_group(lethe_counter *counter, lethe_group *group, lethe_detail *detail) {
    lethe_store *store = counter->store;
    unsigned char key[LETHE_COMMIT_KEY_BYTES], end[LETHE_COMMIT_KEY_BYTES];
    lethe_bytes own = key_of(group->number, key);
    if (lethe_group_writes_ids(group)) {
        lethe_batch_put(group->batch, store, LETHE_FAMILY_IDS, own,
                        (lethe_bytes){.data = group->ids.data, .size = group->ids.size});
    }
    if (lethe_group_writes_changes(group)) {
        lethe_batch_put(group->batch, store, LETHE_FAMILY_CHANGES, own,
                        (lethe_bytes){.data = group->changes.data, .size = group->changes.size});
    }
    if (group->drops_ids) {
        lethe_batch_delete_range(group->batch, store, LETHE_FAMILY_IDS,
                                 key_of(group->drop_from, key), key_of(group->drop_to, end));
    }
    if (group->drops_changes) {
        lethe_batch_delete_range(group->batch, store, LETHE_FAMILY_CHANGES, key_of(0, key),
                                 key_of(group->state.folded + 1, end));
    }
    lethe_status status = counter->options.exact ? lethe_group_put_index(group, store) : LETHE_OK;
    if (status == LETHE_OK) status = lethe_state_put(&group->state, group->batch, store);
    if (status == LETHE_OK) status = lethe_store_commit(store, group->batch, detail);
    if (status == LETHE_OK && group->drops_ids) {
        lethe_store_reclaim(store, LETHE_FAMILY_IDS, key_of(group->drop_from, key),
                            key_of(group->drop_to - 1, end));
        lethe_store_expire_index(store, group->expire_before_ms);
    }
    return status;
}

/* Takes the group's ids into the ledger, now that they are durable. */
static lethe_status enter_ledger(lethe_counter *counter, const lethe_group *group,
                                 lethe_detail *detail) {
    if (counter->ledger == NULL) return LETHE_OK;
    lethe_bytes segment = {0};
    if (group->runs.size > 0)
        segment = (lethe_bytes){.data = group->ids.data, .size = group->ids.size};
    lethe_status status = lethe_ledger_insert(counter->ledger, group->number, segment, detail);
    if (status != LETHE_OK) return status;
    return lethe_ledger_checkpoint(counter->ledger, group->wants_cover, detail);
}

/* How long the filling group may wait for company; 0: it is due. */
static uint64_t patience_ms(lethe_counter *counter) {
    uint64_t waited_ms = lethe_os_boot_ms() - lethe_engine_filling(counter)->opened_ms;
    uint64_t interval_ms = counter->options.commit_interval_ms;
    return counter->stopping || waited_ms >= interval_ms ? 0 : interval_ms - waited_ms;
}

/* With the lock: waits until there is a sealed group, or there never will be. */
static bool await_group(lethe_counter *counter) {
    for (;;) {
        if (counter->failed != LETHE_OK && counter->stopping) return false;
        if (counter->failed != LETHE_OK) {
            lethe_os_condition_wait(&counter->work, &counter->lock);
            continue;
        }
        if (counter->sealed > counter->durable) return true;
        if (lethe_group_is_empty(lethe_engine_filling(counter))) {
            if (counter->stopping) return false;
            lethe_os_condition_wait(&counter->work, &counter->lock);
            continue;
        }
        uint64_t wait_ms = patience_ms(counter);
        if (wait_ms > 0) {
            lethe_os_condition_wait_for(&counter->work, &counter->lock, wait_ms);
        } else {
            lethe_status status = lethe_engine_seal(counter); /* a failure shows in `failed` */
            (void)status;
        }
    }
}

void *lethe_engine_committer_main(void *context) {
    lethe_counter *counter = context;
    lethe_store_enter_thread();
    lethe_engine_enter(counter);
    while (await_group(counter)) {
        lethe_group *group = &counter->groups[(counter->durable + 1) % LETHE_GROUPS];
        lethe_engine_leave(counter);
        lethe_detail detail = {""};
        lethe_status status = write_group(counter, group, &detail);
        if (status == LETHE_OK) lethe_store_acknowledge(counter->store, group->number);
        if (status == LETHE_OK) status = enter_ledger(counter, group, &detail);
        lethe_engine_enter(counter);
        if (status == LETHE_OK) {
            counter->durable = group->number;
            lethe_os_condition_wake_all(&counter->done);
        } else {
            lethe_engine_fail(counter, status, &detail);
        }
    }
    lethe_engine_leave(counter);
    return NULL;
}
