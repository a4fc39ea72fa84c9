/* engine/claims/step.c - what a call writes, and reading what is not on disk yet.
 *
 * IDEA    A call composes its writes in a buffer, with the record about all claims as it will be.
 *         When nothing can fail any more they enter the filling group: its batch, which RocksDB
 *         makes durable, and its list, in which they are found until then.
 * LAYOUT  A list is a series of writes: the sizes of key and value (4 bytes each, the value's with
 *         the top bit set if the record is deleted), the key, the value.
 * I1      A group's list is emptied only when the group begins anew: its commit is on disk then.
 *         So what is in no list is on disk.
 * I2      Of several writes to one key the last counts.
 * WHY     Lists are read from one end to the other. A call waits for its commit, so a list has the
 *         writes of as many calls as there are threads. */
#include <string.h>

#include "core/bytes.h"
#include "core/detail.h"
#include "engine/operations/chunk.h"
#include "engine/store.h"

static const uint32_t DELETED = UINT32_C(1) << 31;
enum { HEAD_BYTES = 8 };

void lethe_claims_step_begin(lethe_store *store, lethe_claims_step *out) {
    store->claims.step.size = 0;
    *out = (lethe_claims_step){.writes = &store->claims.step, .after = store->claims.record};
}

static void add(lethe_claims_step *step, lethe_bytes key, lethe_bytes value, bool deletes) {
    if (step->status != LETHE_OK) return;
    if (!lethe_buffer_reserve(step->writes, HEAD_BYTES + key.size + value.size)) {
        step->status = LETHE_ENOMEM;
        return;
    }
    unsigned char head[HEAD_BYTES];
    lethe_put_u32(head, (uint32_t)key.size);
    lethe_put_u32(head + 4, (uint32_t)value.size | (deletes ? DELETED : 0));
    lethe_buffer_append(step->writes, head, sizeof head);
    lethe_buffer_append(step->writes, key.data, key.size);
    lethe_buffer_append(step->writes, value.data, value.size);
}

void lethe_claims_step_put(lethe_claims_step *step, const lethe_claim_key *key, lethe_bytes value) {
    add(step, lethe_claim_key_bytes(key), value, false);
}

void lethe_claims_step_delete(lethe_claims_step *step, const lethe_claim_key *key) {
    add(step, lethe_claim_key_bytes(key), (lethe_bytes){0}, true);
}

/* A write of a list. */
struct write {
    lethe_bytes key, value;
    bool deletes;
};

/* Takes the write at *at, and moves on. False at the end. */
static bool next_write(const lethe_buffer *list, size_t *at, struct write *out) {
    if (*at >= list->size) return false;
    const unsigned char *data = list->data + *at;
    uint32_t key_size = lethe_get_u32(data), value_size = lethe_get_u32(data + 4);
    out->deletes = (value_size & DELETED) != 0;
    out->key = (lethe_bytes){.data = data + HEAD_BYTES, .size = key_size};
    out->value = (lethe_bytes){.data = data + HEAD_BYTES + key_size, .size = value_size & ~DELETED};
    *at += HEAD_BYTES + out->key.size + out->value.size;
    return true;
}

lethe_status lethe_claims_step_end(lethe_store *store, lethe_claims_step *step) {
    lethe_group *group = lethe_log_filling(&store->log);
    if (step->status == LETHE_OK && !lethe_buffer_reserve(&group->claims, step->writes->size))
        step->status = LETHE_ENOMEM;
    if (step->status != LETHE_OK) return step->status;
    lethe_buffer_append(&group->claims, step->writes->data, step->writes->size);
    struct write write;
    for (size_t at = 0; next_write(step->writes, &at, &write);) {
        if (write.deletes)
            lethe_batch_delete(group->batch, store->disk, LETHE_FAMILY_CLAIMS, write.key);
        else
            lethe_batch_put(group->batch, store->disk, LETHE_FAMILY_CLAIMS, write.key, write.value);
    }
    store->claims.exist = true;
    store->claims.record = step->after;
    return LETHE_OK;
}

/* Finds the last write to the key. */
static bool find_in(const lethe_buffer *list, lethe_bytes key, struct write *out) {
    struct write write;
    bool found = false;
    for (size_t at = 0; next_write(list, &at, &write);) {
        if (write.key.size != key.size || memcmp(write.key.data, key.data, key.size) != 0) continue;
        *out = write;
        found = true;
    }
    return found;
}

lethe_status lethe_claims_find(lethe_store *store, const lethe_claim_key *key,
                               lethe_claims_found *out, lethe_detail *detail) {
    *out = (lethe_claims_found){0};
    lethe_bytes bytes = lethe_claim_key_bytes(key);
    if (!store->options.read_only) {
        for (uint64_t number = store->log.filling; number > store->log.durable; number--) {
            struct write write;
            const lethe_group *group = lethe_log_group(&store->log, number);
            if (!find_in(&group->claims, bytes, &write)) continue;
            out->commit = number;
            if (!write.deletes) out->value = write.value;
            return LETHE_OK;
        }
    }
    lethe_status status =
        lethe_disk_get(store->disk, LETHE_FAMILY_CLAIMS, bytes, &out->record, detail);
    out->value = (lethe_bytes){.data = out->record.data, .size = out->record.size};
    return status;
}

lethe_status lethe_claims_need_family(lethe_store *store, lethe_detail *detail) {
    if (lethe_disk_has(store->disk, LETHE_FAMILY_CLAIMS)) return LETHE_OK;
    return lethe_disk_add(store->disk, LETHE_FAMILY_CLAIMS, detail);
}

/* The group has something to commit, whatever the step was. */
static void count_in(lethe_store *store, size_t size_before) {
    lethe_group *group = lethe_log_filling(&store->log);
    if (group->claims.size == size_before) return;
    lethe_log_open_group(group);
    if (lethe_group_is_empty(group)) group->operations = 1;
}

lethe_status lethe_claims_run(lethe_store *store, size_t operations, lethe_claims_body body,
                              void *call) {
    lethe_detail detail = {""};
    uint64_t commit = 0;
    lethe_engine_enter(store);
    lethe_status status = store->failed;
    if (status == LETHE_OK) {
        lethe_engine_forget_remark(store);
        status = lethe_engine_make_room(store, operations > 0 ? operations : 1);
    }
    if (status == LETHE_OK) {
        size_t before = lethe_log_filling(&store->log)->claims.size;
        status = body(call, &commit, &detail);
        count_in(store, before);
        if (status != LETHE_OK) lethe_engine_remark(store, &detail);
        lethe_os_condition_wake_all(&store->log.work);
    }
    if (status == LETHE_OK && commit > 0) status = lethe_log_wait(store, commit);
    lethe_engine_leave(store);
    return status;
}
