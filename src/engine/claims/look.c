/* engine/claims/look.c - looking at claims: one, all, and in numbers. Also in a reader.
 *
 * I1      What is shown is durable: a walk sees only what is on disk, and get waits. */
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

void lethe_claim_free(lethe_claim *claim) {
    if (claim == NULL || lethe_sized_check(claim, LETHE_SIZE_WITH(claim, allocator)) != LETHE_OK)
        return;
    lethe_release(claim->allocator, claim->memory, claim->memory_bytes);
    lethe_claim empty = {.size = sizeof empty};
    lethe_status given = LETHE_GIVE(&empty, claim, allocator);
    (void)given; /* it was checked */
}

const char *lethe_claim_answer_name(lethe_claim_answer answer) {
    static const char *const names[] = {"new",      "running",   "done",    "mismatch", "renewed",
                                        "recorded", "duplicate", "aborted", "lost",     "unknown"};
    return (size_t)answer < sizeof names / sizeof names[0] ? names[answer] : "?";
}

/* With the lock. *commit: what this rests on. */
static lethe_status look(lethe_store *store, lethe_bytes id, lethe_claim *out, uint64_t *commit,
                         lethe_detail *detail) {
    lethe_claim_held held;
    lethe_status status = lethe_claims_hold(store, id, &held, detail);
    *commit = status == LETHE_OK ? held.commit : 0;
    uint64_t now_ms = lethe_claims_time_of(store);
    if (status != LETHE_OK || !held.exists || lethe_claim_is_old(store, &held.claim, now_ms))
        return status;
    *out = lethe_claim_describe(store->options.window_ms, store->claims.record.replies.first, id,
                                &held.claim, now_ms);
    status = lethe_claim_keep(store, &held.claim, out, detail);
    if (status != LETHE_OK) *out = (lethe_claim){.size = sizeof *out};
    return status;
}

lethe_status lethe_claim_get(lethe_store *store, lethe_bytes id, lethe_claim *out) {
    lethe_claim claim = {.size = sizeof claim};
    if (out == NULL || lethe_sized_check(out, LETHE_SIZE_WITH(out, allocator)) != LETHE_OK)
        return LETHE_EINVAL;
    lethe_status given = LETHE_GIVE(&claim, out, allocator);
    if (given != LETHE_OK || store == NULL || !lethe_is_key(id)) return LETHE_EINVAL;
    lethe_detail detail = {""};
    uint64_t commit;
    lethe_engine_enter(store);
    lethe_status status = look(store, id, &claim, &commit, &detail);
    if (status != LETHE_OK) lethe_engine_remark(store, &detail);
    if (status == LETHE_OK && commit > 0) status = lethe_log_wait(store, commit);
    lethe_engine_leave(store);
    if (status != LETHE_OK) {
        lethe_claim_free(&claim);
        return status;
    }
    return LETHE_GIVE(&claim, out, allocator);
}

/* What a walk needs to know, as of when it began. */
struct walking {
    uint64_t window_ms, replies_from, now_ms;
    lethe_claim_visit visit;
    void *context;
};

static lethe_status visit_next(const struct walking *walking, lethe_bytes key, lethe_bytes value,
                               bool *goes_on) {
    lethe_claim_record claim;
    lethe_status status = lethe_claim_load(value, &claim);
    if (status != LETHE_OK) return status;
    bool is_old =
        walking->now_ms > claim.moment_ms && walking->now_ms - claim.moment_ms > walking->window_ms;
    if (is_old) return LETHE_OK;
    lethe_bytes id = {.data = (const char *)key.data + 1, .size = key.size - 1};
    lethe_claim shown = lethe_claim_describe(walking->window_ms, walking->replies_from, id, &claim,
                                             walking->now_ms);
    *goes_on = walking->visit(walking->context, &shown);
    return LETHE_OK;
}

lethe_status lethe_claims_each(lethe_store *store, lethe_bytes from, lethe_claim_visit visit,
                               void *context) {
    if (store == NULL || visit == NULL || (from.data == NULL && from.size > 0)) return LETHE_EINVAL;
    if (from.size > LETHE_ID_LIMIT_BYTES) return LETHE_EINVAL;
    lethe_claim_key first;
    lethe_claim_key_of_id((lethe_bytes){.data = from.size > 0 ? from.data : "", .size = from.size},
                          &first);
    lethe_walk *walk = NULL;
    lethe_status status = LETHE_OK;
    lethe_engine_enter(store);
    struct walking walking = {.window_ms = store->options.window_ms,
                              .replies_from = store->claims.record.replies.first,
                              .now_ms = lethe_claims_time_of(store),
                              .visit = visit,
                              .context = context};
    if (store->claims.exist) {
        status = lethe_walk_begin(store->disk, LETHE_FAMILY_CLAIMS, lethe_claim_key_bytes(&first),
                                  &walk);
    }
    lethe_engine_leave(store);
    if (status != LETHE_OK || walk == NULL) return status;
    lethe_bytes key, value;
    bool goes_on = true;
    while (goes_on && status == LETHE_OK && lethe_walk_next(walk, &key, &value) && key.size > 1 &&
           *(const char *)key.data == LETHE_CLAIM_BY_ID)
        status = visit_next(&walking, key, value, &goes_on);
    lethe_detail detail = {""};
    lethe_status ended = lethe_walk_end(walk, &detail);
    if (status != LETHE_OK) (void)lethe_explain_damage("a claim", status, &detail);
    if (status == LETHE_OK) status = ended;
    lethe_engine_remark_late(store, status, &detail);
    return status;
}

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
