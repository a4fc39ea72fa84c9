/* engine/claims/look.c - looking at claims: one, all, and in numbers. Also in a reader.
 *
 * I1      What is shown is durable (engine/claims/known.c, I2). */
#include "core/allocator.h"
#include "core/detail.h"
#include "core/sized.h"
#include "engine/store.h"

lethe_claim lethe_claim_describe(uint64_t window_ms, uint64_t replies_from, lethe_bytes id,
                                 const lethe_claim_record *claim, uint64_t now_ms) {
    lethe_claim out = {.size = sizeof out,
                       .id = id,
                       .token = claim->token,
                       .fingerprint = claim->fingerprint,
                       .reply_bytes = claim->reply_bytes};
    bool runs = !claim->is_done && now_ms <= claim->moment_ms;
    out.state = claim->is_done ? LETHE_CLAIM_IS_DONE
                : runs         ? LETHE_CLAIM_IS_RUNNING
                               : LETHE_CLAIM_IS_LAPSED;
    out.reply_gone = claim->reply_bytes > 0 && claim->reply_number < replies_from;
    /* One more: the clock must be past the last millisecond. */
    out.left_ms = claim->moment_ms + (runs ? 0 : window_ms) + 1 - now_ms;
    return out;
}

/* Appends bytes to a block, and lets them be those. */
static void move(lethe_bytes *bytes, unsigned char **at) {
    if (bytes->size > 0) memcpy(*at, bytes->data, bytes->size);
    bytes->data = *at;
    *at += bytes->size;
}

/* Finds the reply that a claim has. */
static lethe_status find_reply(lethe_store *store, const lethe_claim_record *claim,
                               lethe_claims_found *out, lethe_detail *detail) {
    lethe_claim_key key;
    lethe_claim_key_of_number(LETHE_CLAIM_REPLY, claim->reply_number, &key);
    lethe_status status = lethe_claims_find(store, &key, out, detail);
    if (status != LETHE_OK) return status;
    if (out->value.data != NULL && out->value.size == claim->reply_bytes) return LETHE_OK;
    lethe_claims_release(out);
    return lethe_explain_damage("a reply", LETHE_ECORRUPT, detail);
}

lethe_status lethe_claim_keep(lethe_store *store, const lethe_claim_record *claim,
                              lethe_claim *described, lethe_detail *detail) {
    lethe_claims_found found = {0};
    bool has_reply = claim->reply_bytes > 0 && !described->reply_gone;
    if (has_reply) {
        lethe_status status = find_reply(store, claim, &found, detail);
        if (status != LETHE_OK) return status;
        described->reply = found.value;
    }
    size_t bytes = described->id.size + described->token.size + described->fingerprint.size +
                   described->reply.size;
    unsigned char *at = lethe_alloc_zeroed(store->allocator, bytes);
    if (at == NULL) {
        lethe_claims_release(&found);
        return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory for a claim");
    }
    described->memory = at;
    described->memory_bytes = bytes;
    described->allocator = store->allocator;
    move(&described->id, &at);
    move(&described->token, &at);
    move(&described->fingerprint, &at);
    move(&described->reply, &at);
    lethe_claims_release(&found);
    return LETHE_OK;
}

const char *lethe_claim_answer_name(lethe_claim_answer answer) {
    static const char *const names[] = {"new",      "running",   "done",    "mismatch", "renewed",
                                        "recorded", "duplicate", "aborted", "lost",     "unknown"};
    return (size_t)answer < sizeof names / sizeof names[0] ? names[answer] : "?";
}

static lethe_claim describe(const lethe_claims_moment *moment, lethe_bytes id,
                            const lethe_claim_record *claim) {
    return lethe_claim_describe(moment->window_ms, moment->replies_from, id, claim, moment->now_ms);
}

static lethe_status keep(lethe_store *store, const lethe_claim_record *claim,
                         lethe_claim *described, lethe_detail *detail) {
    return lethe_claim_keep(store, claim, described, detail);
}

#define NOUN claim
#define RECORDS claims
#define BY_ID LETHE_CLAIM_BY_ID
#include "engine/claims/look.inc.h"

lethe_status lethe_claims_info(const lethe_store *store, lethe_claims_stats *out) {
    lethe_claims_stats stats = {0};
    if (store == NULL || out == NULL ||
        lethe_sized_check(out, LETHE_SIZE_WITH(out, clock_ms)) != LETHE_OK)
        return LETHE_EINVAL;
    lethe_store *shared = (lethe_store *)(uintptr_t)store; /* only its lock changes */
    lethe_engine_enter(shared);
    const lethe_claims_record *record = &store->claims.record;
    stats.reply_limit_bytes = LETHE_CLAIMS_REPLIES_BYTES;
    if (store->claims.exist) {
        stats.open = record->open_count;
        stats.done = record->done_count;
        stats.reply_bytes = record->reply_bytes;
        stats.reply_limit_bytes = record->reply_limit_bytes;
        stats.clock_ms = lethe_claims_time_of(store);
        stats.disk_bytes = lethe_disk_bytes(shared->disk, LETHE_FAMILY_CLAIMS);
    }
    lethe_engine_leave(shared);
    return LETHE_GIVE(&stats, out, clock_ms);
}
