/* engine/values/read.c - the calls that read values: get, estimate, each, top. */
#include "core/detail.h"
#include "engine/store.h"

/* With the lock: says why a call failed, so that nobody is given the reason of an earlier one. */
static void explain(lethe_store *store, lethe_status status, const char *if_invalid) {
    lethe_detail detail = {""};
    (void)lethe_detail_fill(&detail, status, "%s",
                            status == LETHE_EINVAL ? if_invalid : lethe_strerror(status));
    lethe_engine_remark(store, &detail);
}

lethe_status lethe_store_get(lethe_store *store, const lethe_bytes *keys, size_t count,
                             int64_t *values, bool *found) {
    if (store == NULL) return LETHE_EINVAL;
    if (count > 0 && (keys == NULL || values == NULL || found == NULL))
        return lethe_engine_refuse(store, "the keys or what is filled in are NULL");
    lethe_engine_enter(store);
    lethe_status status = LETHE_OK;
    for (size_t i = 0; i < count; i++) {
        lethe_detail detail = {""};
        lethe_status one =
            lethe_values_read(&store->values, keys[i], &values[i], &found[i], &detail);
        if (one == LETHE_OK) continue;
        found[i] = false;
        if (detail.text[0] == '\0')
            (void)lethe_detail_fill(&detail, one, "cannot read a counter: %s", lethe_strerror(one));
        if (status == LETHE_OK) lethe_engine_remark(store, &detail);
        if (status == LETHE_OK) status = one;
    }
    lethe_engine_leave(store);
    return status;
}

lethe_status lethe_store_estimate(lethe_store *store, const lethe_bytes *keys, size_t count,
                                  lethe_estimate *out) {
    if (store == NULL || (count > 0 && (keys == NULL || out == NULL)))
        return lethe_engine_refuse(store, "the keys or what is filled in are NULL");
    lethe_engine_enter(store);
    const lethe_values_kind *kind = store->values.kind;
    lethe_status status =
        kind->estimate != NULL ? kind->estimate(&store->values, keys, count, out) : LETHE_EINVAL;
    if (status != LETHE_OK) explain(store, status, "only a store that keeps a sketch estimates");
    lethe_engine_leave(store);
    return status;
}

static lethe_value_walk empty_walk(const lethe_store *store) {
    return (lethe_value_walk){.entries = {.allocator = store->allocator},
                              .keys = {.allocator = store->allocator}};
}

lethe_status lethe_store_each(lethe_store *store, lethe_bytes from, lethe_store_visit visit,
                              void *context) {
    if (store == NULL || visit == NULL || (from.data == NULL && from.size > 0))
        return lethe_engine_refuse(store, "what visits or the first key is NULL");
    lethe_value_walk walk = empty_walk(store);
    lethe_engine_enter(store);
    const lethe_values_kind *kind = store->values.kind;
    lethe_status status =
        kind->begin_walk != NULL ? kind->begin_walk(&store->values, from, &walk) : LETHE_EINVAL;
    if (status != LETHE_OK)
        explain(store, status,
                kind->begin_walk == NULL ? "the store keeps a sketch, which does not know its keys"
                                         : lethe_strerror(status));
    lethe_engine_leave(store);
    if (status == LETHE_OK) status = lethe_value_walk_visit(&walk, visit, context);
    lethe_detail detail = {""};
    lethe_status ended = lethe_value_walk_end(&walk, &detail);
    lethe_engine_remark_late(store, ended, &detail);
    return status != LETHE_OK ? status : ended;
}

/* Ranks all counters, where there is no list of the largest. */
static lethe_status rank_all(lethe_store *store, size_t n, lethe_store_visit visit, void *context) {
    /* No more than there are, whatever is asked for, with room for those that come meanwhile. */
    lethe_store_stats stats = {0};
    lethe_engine_enter(store);
    store->values.kind->info(&store->values, &stats);
    uint64_t stored = lethe_disk_records(store->disk, LETHE_FAMILY_COUNTERS);
    lethe_engine_leave(store);
    uint64_t known = stored + stats.counters_in_memory + LETHE_GROUP_LIMIT;
    if (n > known) n = (size_t)known;
    if (n == 0) return LETHE_OK;
    lethe_ranking *ranking;
    lethe_status status = lethe_ranking_new(n, store->allocator, &ranking);
    if (status != LETHE_OK) return status;
    status = lethe_store_each(store, (lethe_bytes){0}, lethe_ranking_add, ranking);
    if (status == LETHE_OK) status = lethe_ranking_visit(ranking, visit, context);
    lethe_ranking_free(ranking);
    return status;
}

lethe_status lethe_store_top(lethe_store *store, size_t n, lethe_store_visit visit, void *context) {
    if (store == NULL || visit == NULL) return lethe_engine_refuse(store, "what visits is NULL");
    lethe_value_walk list = empty_walk(store);
    lethe_engine_enter(store);
    const lethe_values_kind *kind = store->values.kind;
    bool has_list = kind->copy_top != NULL;
    lethe_status status = has_list ? kind->copy_top(&store->values, n, &list) : LETHE_OK;
    if (status != LETHE_OK) explain(store, status, "the store's sketch lists no keys");
    lethe_engine_leave(store);
    if (!has_list) return rank_all(store, n, visit, context);
    const lethe_value_entry *entries = (const void *)list.entries.data;
    size_t count = list.entries.size / sizeof *entries;
    for (size_t i = 0; i < count && status == LETHE_OK; i++) {
        lethe_bytes key = {.data = list.keys.data + entries[i].key_at, .size = entries[i].key.size};
        if (!visit(context, key, entries[i].value)) break;
    }
    lethe_buffer_free(&list.entries);
    lethe_buffer_free(&list.keys);
    return status;
}
