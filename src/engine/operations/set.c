/* engine/operations/set.c - counters that are set or deleted by hand. */
#include "engine/operations/chunk.h"

/* Sets one counter, or deletes it where value is NULL. */
static lethe_status overwrite(lethe_store *store, lethe_bytes key, const int64_t *value,
                              bool *existed) {
    lethe_status status = lethe_engine_make_room(store, 1);
    if (status != LETHE_OK) return status;
    lethe_group *group = lethe_log_filling(&store->log);
    lethe_log_open_group(group);
    status = lethe_values_overwrite(&store->values, group, key, value, existed, &store->failure);
    if (status == LETHE_OK) group->operations++;
    if (status != LETHE_OK) lethe_engine_fail(store, status, NULL);
    return status;
}

static lethe_status overwrite_all(lethe_store *store, const lethe_bytes *keys,
                                  const int64_t *values, size_t count, bool *existed) {
    if (store == NULL || (keys == NULL && count > 0))
        return lethe_engine_refuse(store, "the keys are NULL");
    if (store->options.read_only) return lethe_engine_refuse_reader(store);
    if (store->values.kind->overwrite == NULL)
        return lethe_engine_refuse(store, "the store keeps a sketch, whose values can't be set");
    for (size_t i = 0; i < count; i++) {
        if (!lethe_is_key(keys[i])) return lethe_engine_refuse(store, "a key has 1 to 1024 bytes");
    }
    lethe_engine_enter(store);
    lethe_status status = store->failed;
    for (size_t i = 0; i < count && status == LETHE_OK; i++) {
        status = overwrite(store, keys[i], values != NULL ? &values[i] : NULL,
                           existed != NULL ? &existed[i] : NULL);
    }
    uint64_t ticket = lethe_log_ticket(&store->log);
    lethe_os_condition_wake_all(&store->log.work);
    lethe_engine_leave(store);
    return status == LETHE_OK ? lethe_store_wait(store, ticket) : status;
}

lethe_status lethe_store_set(lethe_store *store, const lethe_bytes *keys, const int64_t *values,
                             size_t count) {
    static const int64_t none = 0;
    if (values == NULL && count > 0) return lethe_engine_refuse(store, "the values are NULL");
    return overwrite_all(store, keys, values != NULL ? values : &none, count, NULL);
}

lethe_status lethe_store_delete(lethe_store *store, const lethe_bytes *keys, size_t count,
                                bool *existed) {
    return overwrite_all(store, keys, NULL, count, existed);
}
