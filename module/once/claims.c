/* module/once/claims.c - claims: work that is to be done once, with its answer kept.
 *
 * IDEA    Who wants to do some work begins a claim under the work's id, with a random token and for
 *         the time of a lease. Until the lease is over, nobody else gets it. Who has done the work
 *         says so with the same token, and the answer is kept for all who ask within W. If the
 *         lease is over first, the next one who asks gets the claim, under a token of its own; but
 *         as long as nobody has asked, the first one may still complete it.
 * I1      At any moment of the table's clock a claim has one token, and no other token can renew,
 *         complete or abort it.
 * I2      A lease is over at `until_ms` and never before: the clock counts whole milliseconds and
 *         lags behind by less than one, so until_ms is one more than the sum of both.
 * I3      What is done stays done, with its first reply, until W has passed. Only the reply may go
 *         before, which shows in the state.
 * I4      A claim is over W after until_ms: one that is done, W after that, and one that was
 *         abandoned, W after its lease.
 * I5      What happens to a claim is replicated as the whole of what it is afterwards, and which
 *         replies are dropped as their number; so a replica does not depend on its own settings.
 * WHY     A claim is not in the window: the window may take one id for another, with probability e.
 *         For a counter that is an event lost now and then. Here it would be an answer that belongs
 *         to somebody else. So ids, tokens and fingerprints are kept to the last byte.
 * MEMORY  64 bytes, the token and the fingerprint; 24 bytes and the id; 16 to 24 bytes of the map
 *         and the heap; and the reply. Blocks of the allocator are rounded up. */
#include "once/claims.h"

#include <string.h>

#include "change/effect.h"
#include "once/once.h"
#include "server/settings.h"

/* How many replies are dropped by one command. */
enum { DROPPED_AT_ONCE = 4096 };

struct claim *claims_find(const struct once *table, struct slice id) {
    struct record *record = records_find(&table->claims.records, id.data, id.size);
    return record != NULL && record->due_ms > table->head.clock_ms ? (struct claim *)record : NULL;
}

struct claim_facts claim_facts_of(const struct claim *claim) {
    const struct counter *entry = claim->head.entry;
    return (struct claim_facts){
        .state = claim->state,
        .is_call = claim->is_call,
        .until_ms = claim->until_ms,
        .id = {entry->name, entry->size},
        .token = {claim->bytes, claim->token_size},
        .fingerprint = {claim->bytes + claim->token_size, claim->fingerprint_size},
        .reply = {claim->reply, claim->reply_size},
    };
}

bool claim_is_held(const struct once *table, const struct claim *claim) {
    return claim->state == CLAIM_RUNNING && claim->until_ms > table->head.clock_ms;
}

/* --- Replies */

static void link_reply(struct claims *claims, struct claim *claim) {
    claim->older = claims->newest;
    *(claims->newest != NULL ? &claims->newest->newer : &claims->oldest) = claim;
    claims->newest = claim;
    claims->bytes += redis.MallocSize(claim->reply);
    claims->reply_bytes += claim->reply_size;
    claims->replies++;
}

static void drop_reply(struct claims *claims, struct claim *claim) {
    if (claim->reply == NULL) return;
    *(claim->older != NULL ? &claim->older->newer : &claims->oldest) = claim->newer;
    *(claim->newer != NULL ? &claim->newer->older : &claims->newest) = claim->older;
    claims->bytes -= redis.MallocSize(claim->reply);
    claims->reply_bytes -= claim->reply_size;
    claims->replies--;
    redis.Free(claim->reply);
    claim->older = claim->newer = NULL;
    claim->reply = NULL;
    claim->reply_size = 0;
}

void claims_drop_replies(struct once *table, uint32_t count) {
    struct claims *claims = &table->claims;
    while (count > 0 && claims->oldest != NULL) {
        struct claim *claim = claims->oldest;
        if (claim->head.due_ms <= table->head.clock_ms) {
            claims_take_out(table, claim); /* a replica may have done so before */
            continue;
        }
        drop_reply(claims, claim);
        claim->state = CLAIM_GONE;
        claims->dropped++;
        count--;
    }
}

bool claims_make_room(struct once *table, struct effect *effect, size_t size, bool may_grow) {
    const struct claims *claims = &table->claims;
    uint64_t most = settings_kept_replies_bytes();
    if (size == 0) return true;
    if (!may_grow || size > settings_largest_reply_bytes() || size > most) return false;
    uint64_t left = claims->reply_bytes;
    uint32_t count = 0;
    const struct claim *claim = claims->oldest;
    for (unsigned i = 0; i < DROPPED_AT_ONCE && claim != NULL && left > most - size; i++) {
        left -= claim->reply_size;
        if (claim->head.due_ms > table->head.clock_ms) count++;
        claim = claim->newer;
    }
    if (count > 0) {
        effect_u8(effect, 'G');
        effect_u32(effect, count);
        claims_drop_replies(table, count);
    }
    return left <= most - size;
}

void claim_complete(struct once *table, struct claim_facts *facts, bool is_kept,
                    struct slice reply) {
    facts->state = is_kept ? CLAIM_DONE : CLAIM_GONE;
    facts->until_ms = table->head.clock_ms + 1;
    facts->reply = is_kept ? reply : (struct slice){0};
    if (!is_kept) table->claims.dropped++;
}

/* --- Claims */

static struct claim *make(const struct claim_facts *facts) {
    struct claim *claim = redis.Alloc(sizeof *claim + facts->token.size + facts->fingerprint.size);
    *claim = (struct claim){
        .until_ms = facts->until_ms,
        .reply_size = (uint32_t)facts->reply.size,
        .state = facts->state,
        .is_call = facts->is_call,
        .token_size = (uint8_t)facts->token.size,
        .fingerprint_size = (uint8_t)facts->fingerprint.size,
    };
    if (facts->token.size > 0) memcpy(claim->bytes, facts->token.data, facts->token.size);
    if (facts->fingerprint.size > 0)
        memcpy(claim->bytes + facts->token.size, facts->fingerprint.data, facts->fingerprint.size);
    if (facts->reply.size > 0) {
        claim->reply = redis.Alloc(facts->reply.size);
        memcpy(claim->reply, facts->reply.data, facts->reply.size);
    }
    return claim;
}

void claims_take_out(struct once *table, struct claim *claim) {
    struct claims *claims = &table->claims;
    drop_reply(claims, claim);
    records_remove(&claims->records, &claim->head);
    claims->running -= claim->state == CLAIM_RUNNING ? 1 : 0;
    claims->bytes -= redis.MallocSize(claim);
    redis.Free(claim);
}

void claims_put(struct once *table, const struct claim_facts *facts) {
    struct claims *claims = &table->claims;
    struct claim *claim = make(facts);
    claim->head.due_ms = facts->until_ms + table->window_ms;
    records_replace(table, &claim_kind, facts->id, &claim->head);
    claims->running += claim->state == CLAIM_RUNNING ? 1 : 0;
    claims->bytes += redis.MallocSize(claim);
    if (claim->reply != NULL) link_reply(claims, claim);
}

void claims_set(struct once *table, struct effect *effect, const struct claim_facts *facts) {
    struct record_bytes bytes;
    claim_write(facts, &bytes);
    effect_u8(effect, 'K');
    records_append(effect, &claim_kind, &bytes);
    claims_put(table, facts);
}

void claims_remove(struct once *table, struct effect *effect, struct claim *claim) {
    struct claim_facts facts = claim_facts_of(claim);
    effect_u8(effect, 'k');
    effect_u32(effect, (uint32_t)facts.id.size);
    effect_bytes(effect, facts.id.data, facts.id.size);
    claims_take_out(table, claim);
}
