/* engine/operations/prepare.c - hashing operations ahead of their submission.
 *
 * IDEA    Of a simple operation, deciding needs 80 bits of the id's hash, 32 of the key's, where
 *         the key is, the delta, and with event time the time. A thread that has just read the
 *         operation makes these, beside one another and in order, while the store decides on
 *         others.
 * I1      What is prepared follows from the operation and from the store's secret seed, which never
 *         changes. So nothing here needs the lock, and nothing that the store does meanwhile makes
 *         it untrue.
 * WHY     The thread that decides is the only one that cannot be multiplied. What it need not do,
 *         and need not read of an operation, others can do beside it. */
#include "core/allocator.h"
#include "engine/operations/chunk.h"
#include "engine/values/counters.h"

lethe_status lethe_prepared_new(size_t capacity, const lethe_allocator *allocator,
                                lethe_prepared **out) {
    size_t bytes;
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (capacity == 0 || !lethe_allocator_is_usable(allocator)) return LETHE_EINVAL;
    if (!lethe_size_multiply(capacity, sizeof(lethe_prepared_one), &bytes)) return LETHE_ENOMEM;
    lethe_prepared *prepared = lethe_alloc_zeroed(allocator, sizeof *prepared);
    if (prepared == NULL) return LETHE_ENOMEM;
    *prepared = (lethe_prepared){.allocator = allocator, .capacity = capacity};
    prepared->all = lethe_alloc_zeroed(allocator, bytes);
    prepared->digests = lethe_alloc_zeroed(allocator, capacity * sizeof *prepared->digests);
    prepared->times = lethe_alloc_zeroed(allocator, capacity * sizeof *prepared->times);
    if (prepared->all == NULL || prepared->digests == NULL || prepared->times == NULL) {
        lethe_prepared_free(prepared);
        return LETHE_ENOMEM;
    }
    *out = prepared;
    return LETHE_OK;
}

void lethe_prepared_free(lethe_prepared *prepared) {
    if (prepared == NULL) return;
    const lethe_allocator *allocator = prepared->allocator;
    lethe_release(allocator, prepared->all, prepared->capacity * sizeof *prepared->all);
    lethe_release(allocator, prepared->digests, prepared->capacity * sizeof *prepared->digests);
    lethe_release(allocator, prepared->times, prepared->capacity * sizeof *prepared->times);
    lethe_release(allocator, prepared, sizeof *prepared);
}

static bool is_simple(const lethe_operation *operation) {
    return operation->change_count == 1 && operation->changes != NULL &&
           (operation->flags & ~(uint32_t)LETHE_OPERATION_COUNT_LATE) == 0 &&
           operation->reserved == 0 && operation->changes->flags == 0 &&
           operation->id.data != NULL && operation->id.size - 1 < LETHE_ID_LIMIT_BYTES &&
           lethe_is_key(operation->changes->key);
}

lethe_status lethe_store_prepare(const lethe_store *store, const lethe_operation *operations,
                                 size_t count, lethe_prepared *prepared) {
    if (prepared == NULL) return LETHE_EINVAL;
    prepared->opening = 0;
    lethe_store *shared = (lethe_store *)(uintptr_t)store; /* only its words, under its lock */
    if (store == NULL || (operations == NULL && count > 0))
        return lethe_engine_refuse(shared, "the operations are NULL");
    if (store->options.read_only) return lethe_engine_refuse_reader(shared);
    if (count > prepared->capacity)
        return lethe_engine_refuse(shared, "that is more operations than there is room for");
    uint64_t seed = store->state.seed;
    for (size_t i = 0; i < count; i++) {
        const lethe_operation *operation = &operations[i];
        lethe_prepared_one *one = &prepared->all[i];
        one->key_size = 0;
        if (!is_simple(operation)) continue;
        const lethe_change *change = operation->changes;
        lethe_log_id id =
            lethe_log_id_of(lethe_hash_bytes(seed, operation->id.data, operation->id.size));
        *one = (lethe_prepared_one){.id_low = id.low,
                                    .id_high = id.high,
                                    .key_size = (uint16_t)change->key.size,
                                    .tag = lethe_counters_tag(&store->values, change->key),
                                    .key = change->key.data,
                                    .delta = change->delta};
        if (store->options.exact) prepared->digests[i] = lethe_engine_digest_one(seed, change);
        if (store->options.event_time) prepared->times[i] = operation->time_ms;
    }
    prepared->opening = store->opening;
    prepared->operations = operations;
    prepared->count = count;
    return LETHE_OK;
}
