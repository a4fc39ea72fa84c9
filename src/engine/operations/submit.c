/* engine/operations/submit.c - taking operations in: cut into chunks, put into groups.
 *
 * IDEA    A submission is decided in chunks of a thousand operations, each within one group. Its
 *         outcomes count once the group of the last one is durable (lethe_store_wait).
 * I1      Operations that come with marks go into one group with them. If a mark became durable
 *         later than its operations, a crash in between would cause them to be read again, and an
 *         operation that is sent again after W is counted twice. */
#include "core/detail.h"
#include "core/tunables.h"
#include "engine/marks.h"
#include "engine/operations/chunk.h"

/* This share of the most that a commit may have is enough for one. */
enum { ENOUGH_SHARE = 4 };
/* So many bytes of changes are enough as well. */
enum { ENOUGH_BYTES = 64 << 20 };

/* How many of the operations make the next chunk. */
static size_t next_chunk(const lethe_operation *operations, size_t count, size_t most) {
    size_t taken = 0, changes = 0;
    while (taken < count && taken < most && taken < LETHE_CHUNK) {
        size_t more = operations[taken].change_count;
        if (more > LETHE_CHANGES_LIMIT) more = 0; /* the operation is invalid */
        if (taken > 0 && changes + more > LETHE_CHANGES_LIMIT) break;
        changes += more;
        taken++;
    }
    return taken;
}

/* Whether the filling group should be sealed before `more` operations go into it: it would have too
 * many, or there are enough for a commit and the disk is idle. So groups are larger on a slow
 * disk. */
static bool is_due(lethe_store *store, size_t more) {
    const lethe_group *group = lethe_log_filling(&store->log);
    uint32_t waiting = group->operations, most = store->options.commit_operations;
    if (waiting == 0) return false;
    return waiting + more > most || group->changes.size + group->claims.size > ENOUGH_BYTES ||
           (waiting >= most / ENOUGH_SHARE && store->log.sealed == store->log.durable);
}

/* Seals until they fit; into an empty group they do. */
lethe_status lethe_engine_make_room(lethe_store *store, size_t more) {
    lethe_status status = LETHE_OK;
    while (store->failed == LETHE_OK && status == LETHE_OK && is_due(store, more))
        status = lethe_log_seal(store);
    return store->failed != LETHE_OK ? store->failed : status;
}

static size_t count_changes(const lethe_operation *operations, size_t count) {
    size_t changes = 0;
    for (size_t i = 0; i < count; i++)
        changes += operations[i].change_count;
    return changes;
}

/* How many of the next operations are simple, of those that fit into a chunk. Fewer than make it
 * worth while to decide them by themselves are none. */
static size_t next_simple(const lethe_prepared_one *next, size_t count, size_t most) {
    size_t taken = 0;
    while (taken < count && taken < most && taken < LETHE_CHUNK &&
           lethe_prepared_is_simple(&next[taken]))
        taken++;
    bool are_enough = taken == count || taken == most || taken >= lethe_tune.simple_operations;
    return are_enough ? taken : 0;
}

/* prepared has these operations, or is NULL. */
static lethe_status decide_all(lethe_store *store, const lethe_operation *operations,
                               const lethe_prepared *prepared, size_t count, bool has_marks,
                               lethe_answers answers) {
    bool can_be_simple = prepared != NULL && lethe_engine_has_simple(store) &&
                         answers.values == NULL && answers.limits == NULL;
    size_t done = 0;
    while (done < count) {
        const lethe_operation *next = operations + done;
        const lethe_prepared_one *ones = prepared != NULL ? prepared->all + done : NULL;
        lethe_status status = has_marks ? LETHE_OK : lethe_engine_make_room(store, 1);
        if (status != LETHE_OK) return status;
        uint32_t waiting = lethe_log_filling(&store->log)->operations;
        size_t left = count - done, most = store->options.commit_operations - waiting;
        size_t taken = can_be_simple ? next_simple(ones, left, most) : 0;
        if (taken > 0) {
            status = lethe_engine_decide_simple(store, prepared, done, taken, answers.outcomes);
        } else {
            taken = next_chunk(next, left, most);
            status = lethe_engine_decide(store, next, ones, taken, left - taken, answers);
        }
        if (status != LETHE_OK) return status;
        if (answers.values != NULL) answers.values += count_changes(next, taken);
        if (answers.limits != NULL) answers.limits += count_changes(next, taken);
        answers.outcomes += taken;
        done += taken;
    }
    return LETHE_OK;
}

lethe_status lethe_engine_decide_together(lethe_store *store, const lethe_operation *operations,
                                          size_t count, uint8_t *outcomes, int64_t *values) {
    lethe_answers answers = {0};
    answers.outcomes = outcomes;
    answers.values = values;
    lethe_status status = decide_all(store, operations, NULL, count, true, answers);
    store->clock.announced = 0;
    return status;
}

static void put_marks(lethe_store *store, const lethe_mark *marks, size_t count) {
    lethe_group *group = lethe_log_filling(&store->log);
    if (count == 0) return;
    lethe_log_open_group(group);
    if (lethe_group_is_empty(group)) group->operations = 1;
    lethe_marks_put(marks, count, group->batch, store->disk);
}

/* What a caller does between deciding and committing. */
struct between {
    lethe_store_decided decided;
    void *context;
    lethe_mark *marks;
};

static lethe_status call_between(const struct between *between, const uint8_t *outcomes,
                                 size_t mark_count) {
    if (between == NULL) return LETHE_OK;
    lethe_status status = between->decided(between->context, outcomes, between->marks);
    if (status != LETHE_OK) return status;
    return lethe_marks_are_valid(between->marks, mark_count) ? LETHE_OK : LETHE_EINVAL;
}

static lethe_status submit(lethe_store *store, const lethe_operation *operations,
                           const lethe_prepared *prepared, size_t count, const lethe_mark *marks,
                           size_t mark_count, lethe_answers answers, const struct between *between,
                           uint64_t *ticket) {
    if (ticket != NULL) *ticket = 0;
    if (store == NULL || ticket == NULL || (marks == NULL && mark_count > 0))
        return lethe_engine_refuse(store, "the ticket or the marks are NULL");
    if (count > 0 && (operations == NULL || answers.outcomes == NULL))
        return lethe_engine_refuse(store, "the operations or the outcomes are NULL");
    if (store->options.read_only) return lethe_engine_refuse_reader(store);
    if (!lethe_marks_are_valid(marks, mark_count))
        return lethe_engine_refuse(
            store, "a mark has a name of 1 to 1024 bytes, and a value of 1024 at most");
    if (mark_count > 0 && count > store->options.commit_operations)
        return lethe_engine_refuse(
            store, "operations with a mark are one commit, and that is more than a commit has");
    lethe_engine_enter(store);
    lethe_status status = store->failed;
    if (status == LETHE_OK) {
        lethe_engine_forget_remark(store);
        if (mark_count > 0) status = lethe_engine_make_room(store, count); /* I1 */
        bool was_empty = lethe_group_is_empty(lethe_log_filling(&store->log));
        uint64_t filling = store->log.filling;
        if (status == LETHE_OK)
            status = decide_all(store, operations, prepared, count, mark_count > 0, answers);
        store->clock.announced = 0;
        if (status == LETHE_OK) status = call_between(between, answers.outcomes, mark_count);
        if (status == LETHE_OK) put_marks(store, marks, mark_count);
        if (status != LETHE_OK) lethe_engine_fail(store, status, NULL);
        *ticket = lethe_log_ticket(&store->log);
        /* The committer may have sealed the group while this thread waited for room, and wait for
         * the first operation of the next one by now. */
        bool is_next = was_empty || store->log.filling != filling;
        if (is_next || store->options.commit_interval_ms == 0)
            lethe_os_condition_wake_all(&store->log.work);
    }
    lethe_engine_leave(store);
    return status;
}

lethe_status lethe_store_submit(lethe_store *store, const lethe_operation *operations, size_t count,
                                const lethe_mark *marks, size_t mark_count, uint8_t *outcomes,
                                int64_t *values, uint64_t *ticket) {
    lethe_answers answers = {0};
    answers.outcomes = outcomes;
    answers.values = values;
    return submit(store, operations, NULL, count, marks, mark_count, answers, NULL, ticket);
}

lethe_status lethe_store_submit_with(lethe_store *store, const lethe_operation *operations,
                                     size_t count, lethe_mark *marks, size_t mark_count,
                                     uint8_t *outcomes, int64_t *values,
                                     lethe_store_decided decided, void *context, uint64_t *ticket) {
    struct between between = {.decided = decided, .context = context, .marks = marks};
    if (ticket != NULL) *ticket = 0;
    if (decided == NULL || mark_count == 0)
        return lethe_engine_refuse(store, "what decides is NULL, or there is no mark");
    lethe_answers answers = {0};
    answers.outcomes = outcomes;
    answers.values = values;
    return submit(store, operations, NULL, count, marks, mark_count, answers, &between, ticket);
}

lethe_status lethe_store_submit_prepared(lethe_store *store, const lethe_prepared *prepared,
                                         lethe_mark *marks, size_t mark_count, uint8_t *outcomes,
                                         lethe_store_decided decided, void *context,
                                         uint64_t *ticket) {
    struct between between = {.decided = decided, .context = context, .marks = marks};
    if (ticket != NULL) *ticket = 0;
    if (store == NULL || prepared == NULL)
        return lethe_engine_refuse(store, "what was prepared is NULL");
    if (prepared->opening != store->opening)
        return lethe_engine_refuse(store, "nothing was prepared for this store");
    if (decided != NULL && mark_count == 0) return lethe_engine_refuse(store, "there is no mark");
    lethe_answers answers = {0};
    answers.outcomes = outcomes;
    return submit(store, prepared->operations, prepared, prepared->count, marks, mark_count,
                  answers, decided != NULL ? &between : NULL, ticket);
}

lethe_status lethe_store_apply(lethe_store *store, const lethe_operation *operations, size_t count,
                               uint8_t *outcomes, int64_t *values) {
    uint64_t ticket;
    lethe_status status =
        lethe_store_submit(store, operations, count, NULL, 0, outcomes, values, &ticket);
    return status == LETHE_OK ? lethe_store_wait(store, ticket) : status;
}

lethe_status lethe_store_apply_bounded(lethe_store *store, const lethe_operation *operations,
                                       size_t count, uint8_t *outcomes, lethe_limit *limits) {
    uint64_t ticket;
    lethe_answers answers = {0};
    answers.outcomes = outcomes;
    answers.limits = limits;
    if (count > 0 && (operations == NULL || limits == NULL))
        return lethe_engine_refuse(store, "the operations or the limits are NULL");
    size_t changes = count_changes(operations, count);
    if (changes > 0) memset(limits, 0, changes * sizeof *limits);
    lethe_status status = submit(store, operations, NULL, count, NULL, 0, answers, NULL, &ticket);
    return status == LETHE_OK ? lethe_store_wait(store, ticket) : status;
}
