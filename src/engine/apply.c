/* engine/apply.c - taking operations in: chunks, groups, marks; and counters set by hand.
 *
 * Which of them are applied is decided in screen.c and decide.c. */
#include "engine/decide.h"
#include "os/clock.h"

/* This part of the most that a commit may have is enough for one. */
enum { ENOUGH_SHARE = 4 };
/* So many bytes of deltas are enough as well. */
enum { ENOUGH_BYTES = 64 << 20 };

static lethe_status load_from_store(lethe_counter *counter, lethe_bytes key, int64_t *value,
                                    bool *found) {
    lethe_record record;
    lethe_status status =
        lethe_store_get(counter->store, LETHE_FAMILY_COUNTERS, key, &record, &counter->failure);
    if (status != LETHE_OK) return status;
    *value = 0;
    *found = record.data != NULL;
    if (*found) {
        status = lethe_value_load((lethe_bytes){.data = record.data, .size = record.size}, value);
    }
    lethe_record_release(&record);
    return status;
}

lethe_status lethe_engine_record(lethe_counter *counter, uint32_t tag, lethe_bytes key,
                                 lethe_tally_record **out) {
    *out = lethe_tally_find(counter->tally, tag, key);
    if (*out != NULL) return LETHE_OK;
    int64_t value = 0;
    bool found = false;
    if (!counter->tally_complete) {
        lethe_status status = load_from_store(counter, key, &value, &found);
        if (status != LETHE_OK) return status;
    }
    *out = lethe_tally_add(counter->tally, tag, key);
    if (*out == NULL) return LETHE_ENOMEM;
    (*out)->value = value;
    (*out)->absent = !found;
    return LETHE_OK;
}

lethe_status lethe_engine_change(lethe_counter *counter, const lethe_operation *operation,
                                 const uint32_t *tags, bool *overflows) {
    lethe_group *group = lethe_engine_filling(counter);
    uint32_t stamp = lethe_engine_stamp(counter, group->number);
    bool *was_absent = counter->was_absent;
    size_t made = 0;
    *overflows = false;
    for (; made < operation->change_count; made++) {
        lethe_tally_record *record;
        lethe_status status =
            lethe_engine_record(counter, tags[made], operation->changes[made].key, &record);
        if (status == LETHE_OK) status = lethe_group_touch(group, record, stamp);
        if (status != LETHE_OK) return status;
        int64_t value;
        if (__builtin_add_overflow(record->value, operation->changes[made].delta, &value)) break;
        was_absent[made] = record->absent;
        record->value = value;
        record->absent = false;
    }
    if (made == operation->change_count) return LETHE_OK;
    *overflows = true;
    while (made-- > 0) {
        lethe_tally_record *record =
            lethe_tally_find(counter->tally, tags[made], operation->changes[made].key);
        record->value -= operation->changes[made].delta;
        record->absent = was_absent[made];
    }
    return LETHE_OK;
}

static lethe_status read_estimates(lethe_counter *counter, const lethe_operation *operation,
                                   int64_t *values) {
    lethe_status status = lethe_engine_sketch_settle(counter);
    for (size_t i = 0; i < operation->change_count; i++) {
        values[i] = (int64_t)lethe_engine_sketch_ask(counter, operation->changes[i].key);
    }
    return status;
}

lethe_status lethe_engine_values(lethe_counter *counter, const lethe_operation *operation,
                                 int64_t *values) {
    if (counter->sketch != NULL) return read_estimates(counter, operation, values);
    for (size_t i = 0; i < operation->change_count; i++) {
        lethe_bytes key = operation->changes[i].key;
        values[i] = 0;
        if (!lethe_engine_is_key(key)) continue;
        const lethe_tally_record *record =
            lethe_tally_find(counter->tally, lethe_engine_tag(counter, key), key);
        bool found;
        if (record != NULL) {
            values[i] = record->value;
        } else if (!counter->tally_complete) {
            lethe_status status = load_from_store(counter, key, &values[i], &found);
            if (status != LETHE_OK) return status;
        }
    }
    return LETHE_OK;
}

/* How many of the operations make the next chunk, and how many tags they need. */
static size_t next_chunk(const lethe_operation *operations, size_t count, size_t most,
                         size_t *tag_count) {
    *tag_count = 0;
    size_t taken = 0;
    while (taken < count && taken < most && taken < LETHE_CHUNK) {
        size_t more = operations[taken].change_count;
        if (more > LETHE_CHANGES_LIMIT) more = 0; /* will be refused */
        if (taken > 0 && *tag_count + more > LETHE_CHANGES_LIMIT) break;
        *tag_count += more;
        taken++;
    }
    return taken;
}

/* Whether the filling group should be sealed before `more` operations go into it: it would have too many, or there are
 * enough for a commit and the disk has nothing to do. On a slow disk groups are larger for it. */
static bool is_due(lethe_counter *counter, size_t more) {
    const lethe_group *group = lethe_engine_filling(counter);
    uint32_t waiting = group->operations, most = counter->options.commit_operations;
    if (waiting == 0) return false;
    return waiting + more > most || group->changes.size > ENOUGH_BYTES ||
           (waiting >= most / ENOUGH_SHARE && counter->sealed == counter->durable);
}

/* Seals the filling group until `more` operations fit in; they do in an empty one. */
static lethe_status make_room_for(lethe_counter *counter, size_t more) {
    lethe_status status = LETHE_OK;
    while (counter->failed == LETHE_OK && status == LETHE_OK && is_due(counter, more))
        status = lethe_engine_seal(counter);
    return counter->failed != LETHE_OK ? counter->failed : status;
}

static lethe_status decide_all(lethe_counter *counter, const lethe_operation *operations,
                               size_t count, bool has_marks, uint8_t *outcomes, int64_t *values) {
    while (count > 0) {
        lethe_status status = has_marks ? LETHE_OK : make_room_for(counter, 1);
        if (status != LETHE_OK) return status;
        size_t tag_count;
        size_t most =
            counter->options.commit_operations - lethe_engine_filling(counter)->operations;
        size_t taken = next_chunk(operations, count, most, &tag_count);
        size_t value_count = 0;
        for (size_t i = 0; i < taken; i++) {
            value_count += operations[i].change_count;
        }
        status = lethe_engine_decide(counter, operations, taken, count - taken, tag_count, outcomes,
                                     values);
        if (status != LETHE_OK) return status;
        operations += taken;
        outcomes += taken;
        count -= taken;
        if (values != NULL) values += value_count;
    }
    return LETHE_OK;
}

static const char MARK_PREFIX = 'm';

static void put_marks(lethe_counter *counter, const lethe_mark *marks, size_t count) {
    lethe_group *group = lethe_engine_filling(counter);
    if (count == 0) return;
    if (lethe_group_is_empty(group)) {
        group->opened_ms = lethe_os_boot_ms();
        group->operations = 1;
    }
    for (size_t i = 0; i < count; i++) {
        char name[1 + LETHE_KEY_LIMIT_BYTES];
        name[0] = MARK_PREFIX;
        memcpy(name + 1, marks[i].name.data, marks[i].name.size);
        lethe_bytes key = {.data = name, .size = 1 + marks[i].name.size};
        if (marks[i].value.size == 0) {
            lethe_batch_delete(group->batch, counter->store, LETHE_FAMILY_STATE, key);
        } else {
            lethe_batch_put(group->batch, counter->store, LETHE_FAMILY_STATE, key, marks[i].value);
        }
    }
}

static bool are_valid_marks(const lethe_mark *marks, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!lethe_engine_is_key(marks[i].name) || marks[i].value.size > LETHE_KEY_LIMIT_BYTES)
            return false;
    }
    return count < LETHE_GROUP_LIMIT;
}

/* What a caller does between deciding and committing. */
struct between {
    lethe_counter_decided decided;
    void *context;
    lethe_mark *marks;
};

static lethe_status call_between(const struct between *between, const uint8_t *outcomes,
                                 size_t mark_count) {
    if (between == NULL) return LETHE_OK;
    lethe_status status = between->decided(between->context, outcomes, between->marks);
    if (status != LETHE_OK) return status;
    return are_valid_marks(between->marks, mark_count) ? LETHE_OK : LETHE_EINVAL;
}

static lethe_status submit(lethe_counter *counter, const lethe_operation *operations, size_t count,
                           const lethe_mark *marks, size_t mark_count, uint8_t *outcomes,
                           int64_t *values, const struct between *between, uint64_t *ticket) {
    *ticket = 0;
    if (counter->options.read_only || !are_valid_marks(marks, mark_count)) return LETHE_EINVAL;
    if (mark_count > 0 && count > counter->options.commit_operations) return LETHE_EINVAL;
    lethe_engine_enter(counter);
    lethe_status status = counter->failed;
    if (status == LETHE_OK) {
        /* Operations that come with marks go into one group with them: a mark that is not durable with all that it
         * speaks of would have it read again, and a copy that comes after W is no copy. */
        if (mark_count > 0) status = make_room_for(counter, count);
        bool was_empty = lethe_group_is_empty(lethe_engine_filling(counter));
        if (status == LETHE_OK)
            status = decide_all(counter, operations, count, mark_count > 0, outcomes, values);
        counter->announced = 0;
        if (status == LETHE_OK) status = call_between(between, outcomes, mark_count);
        if (status == LETHE_OK) put_marks(counter, marks, mark_count);
        if (status != LETHE_OK) lethe_engine_fail(counter, status, NULL);
        *ticket = lethe_group_is_empty(lethe_engine_filling(counter)) ? counter->sealed
                                                                      : counter->filling;
        if (was_empty || counter->options.commit_interval_ms == 0) {
            lethe_os_condition_wake_all(&counter->work);
        }
    }
    lethe_engine_leave(counter);
    return status;
}

lethe_status lethe_counter_submit(lethe_counter *counter, const lethe_operation *operations,
                                  size_t count, const lethe_mark *marks, size_t mark_count,
                                  uint8_t *outcomes, int64_t *values, uint64_t *ticket) {
    return submit(counter, operations, count, marks, mark_count, outcomes, values, NULL, ticket);
}

lethe_status lethe_counter_submit_with(lethe_counter *counter, const lethe_operation *operations,
                                       size_t count, lethe_mark *marks, size_t mark_count,
                                       uint8_t *outcomes, int64_t *values,
                                       lethe_counter_decided decided, void *context,
                                       uint64_t *ticket) {
    struct between between = {.decided = decided, .context = context, .marks = marks};
    *ticket = 0;
    if (mark_count == 0) return LETHE_EINVAL;
    return submit(counter, operations, count, marks, mark_count, outcomes, values, &between,
                  ticket);
}

lethe_status lethe_counter_apply(lethe_counter *counter, const lethe_operation *operations,
                                 size_t count, uint8_t *outcomes, int64_t *values) {
    uint64_t ticket;
    lethe_status status =
        lethe_counter_submit(counter, operations, count, NULL, 0, outcomes, values, &ticket);
    return status == LETHE_OK ? lethe_counter_wait(counter, ticket) : status;
}

/* Sets one counter, or deletes it where `deletes` says so. */
static lethe_status overwrite(lethe_counter *counter, lethe_bytes key, int64_t value, bool deletes,
                              bool *existed) {
    lethe_tally_record *record;
    lethe_status status =
        lethe_engine_record(counter, lethe_engine_tag(counter, key), key, &record);
    if (status != LETHE_OK) return status;
    lethe_group *group = lethe_engine_filling(counter);
    if (lethe_group_is_empty(group)) group->opened_ms = lethe_os_boot_ms();
    status = lethe_group_touch(group, record, lethe_engine_stamp(counter, group->number));
    if (status != LETHE_OK) return status;
    if (existed != NULL) *existed = !record->absent;
    record->value = deletes ? 0 : value;
    record->absent = deletes;
    group->operations++;
    return LETHE_OK;
}

static lethe_status overwrite_all(lethe_counter *counter, const lethe_bytes *keys,
                                  const int64_t *values, size_t count, bool *existed) {
    if (counter->options.read_only || counter->has_sketch) return LETHE_EINVAL;
    for (size_t i = 0; i < count; i++) {
        if (!lethe_engine_is_key(keys[i])) return LETHE_EINVAL;
    }
    lethe_engine_enter(counter);
    lethe_status status = counter->failed;
    for (size_t i = 0; i < count && status == LETHE_OK; i++) {
        status = make_room_for(counter, 1);
        if (status != LETHE_OK) break;
        status = overwrite(counter, keys[i], values != NULL ? values[i] : 0, values == NULL,
                           existed != NULL ? &existed[i] : NULL);
        if (status != LETHE_OK) lethe_engine_fail(counter, status, NULL);
    }
    uint64_t ticket =
        lethe_group_is_empty(lethe_engine_filling(counter)) ? counter->sealed : counter->filling;
    lethe_os_condition_wake_all(&counter->work);
    lethe_engine_leave(counter);
    return status == LETHE_OK ? lethe_counter_wait(counter, ticket) : status;
}

lethe_status lethe_counter_set(lethe_counter *counter, const lethe_bytes *keys,
                               const int64_t *values, size_t count) {
    static const int64_t none = 0;
    return overwrite_all(counter, keys, values != NULL ? values : &none, count, NULL);
}

lethe_status lethe_counter_delete(lethe_counter *counter, const lethe_bytes *keys, size_t count,
                                  bool *existed) {
    return overwrite_all(counter, keys, NULL, count, existed);
}
