/* engine/claims/known.c - the record of a claim or of a hold: copied, replaced and shown.
 *
 * IDEA    Claims and holds are records under an id, and differ only in what such a record says.
 *         What is done with its bytes, whatever they say, is here.
 * I1      A copy is changed neither by steps nor by commits.
 * I2      What is shown is durable: a walk sees only what is on disk, and a look waits. */
#include <string.h>

#include "core/detail.h"
#include "engine/store.h"

lethe_status lethe_claims_copy_record(lethe_store *store, char kind, lethe_bytes id,
                                      lethe_claims_copy *out, lethe_detail *detail) {
    lethe_claims_found found;
    out->exists = false;
    out->commit = out->size = 0;
    lethe_claim_key_of_kind(kind, id, &out->key);
    if (!store->claims.exist) return LETHE_OK;
    lethe_status status = lethe_claims_find(store, &out->key, &found, detail);
    if (status != LETHE_OK) return status;
    out->commit = found.commit;
    out->exists = found.value.data != NULL;
    if (out->exists && found.value.size <= sizeof out->bytes) {
        memcpy(out->bytes, found.value.data, found.value.size);
        out->size = found.value.size;
    }
    lethe_claims_release(&found);
    return LETHE_OK;
}

void lethe_claims_step_replace(lethe_claims_step *step, const lethe_claims_copy *before,
                               lethe_bytes after, uint64_t *digest) {
    lethe_bytes key = lethe_claim_key_bytes(&before->key);
    if (before->exists) *digest -= lethe_claim_digest(key, lethe_claims_copy_bytes(before));
    if (after.data == NULL) {
        lethe_claims_step_delete(step, &before->key);
        return;
    }
    *digest += lethe_claim_digest(key, after);
    lethe_claims_step_put(step, &before->key, after);
}

lethe_status lethe_claims_look(lethe_store *store, lethe_claims_body body, void *call) {
    lethe_detail detail = {""};
    uint64_t commit = 0;
    lethe_engine_enter(store);
    lethe_status status = body(call, &commit, &detail);
    if (status != LETHE_OK) lethe_engine_remark(store, &detail);
    if (status == LETHE_OK && commit > 0) status = lethe_log_wait(store, commit);
    lethe_engine_leave(store);
    return status;
}

/* Begins a walk, if there is anything to walk over, and notes its moment. */
static lethe_status begin(lethe_store *store, char kind, lethe_bytes from,
                          lethe_claims_moment *moment, lethe_walk **out) {
    lethe_claim_key first;
    lethe_status status = LETHE_OK;
    lethe_bytes begin = {.data = from.size > 0 ? from.data : "", .size = from.size};
    lethe_claim_key_of_kind(kind, begin, &first);
    *out = NULL;
    lethe_engine_enter(store);
    *moment = (lethe_claims_moment){.window_ms = store->options.window_ms,
                                    .replies_from = store->claims.record.replies.first,
                                    .now_ms = lethe_claims_time_of(store)};
    if (store->claims.exist) {
        status =
            lethe_walk_begin(store->disk, LETHE_FAMILY_CLAIMS, lethe_claim_key_bytes(&first), out);
    }
    lethe_engine_leave(store);
    return status;
}

lethe_status lethe_claims_walk(lethe_store *store, char kind, const char *what, lethe_bytes from,
                               lethe_claims_show show, void *context) {
    lethe_claims_moment moment;
    lethe_walk *walk;
    if (store == NULL || (from.data == NULL && from.size > 0))
        return lethe_engine_refuse(store, "the first id is NULL");
    if (from.size > LETHE_ID_LIMIT_BYTES)
        return lethe_engine_refuse(store, "an id has 1024 bytes at most");
    lethe_status status = begin(store, kind, from, &moment, &walk);
    if (status != LETHE_OK || walk == NULL) return status;
    lethe_bytes key, record;
    bool goes_on = true;
    while (goes_on && status == LETHE_OK && lethe_walk_next(walk, &key, &record) && key.size > 1 &&
           *(const char *)key.data == kind) {
        lethe_bytes id = {.data = (const char *)key.data + 1, .size = key.size - 1};
        status = show(context, &moment, id, record, &goes_on);
    }
    lethe_detail detail = {""};
    lethe_status ended = lethe_walk_end(walk, &detail);
    if (status != LETHE_OK) (void)lethe_explain_damage(what, status, &detail);
    if (status == LETHE_OK) status = ended;
    lethe_engine_remark_late(store, status, &detail);
    return status;
}
