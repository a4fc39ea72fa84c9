/* module/once/claims_save.c - claims as bytes, in saved tables and in effects; and what is due.
 * docs/format/module.md has every byte.
 *
 * LAYOUT  A claim is a head of 19 bytes (state and kind 1, until_ms 8, sizes of id 4, token 1,
 *         fingerprint 1 and reply 4), then these four. A saved table has the number of its claims
 *         first, and then those with a reply to drop in the order in which they were done, so that
 *         the oldest are still known after loading.
 * I1      A claim that is over is not saved (sections.c, I2). A loader takes none that commands
 *         could not have left. */
#include <string.h>

#include "change/effect.h"
#include "once/claims.h"
#include "once/kept.h"
#include "once/once.h"

enum { HEAD_BYTES = 19, CALL_BIT = 16, COUNT_BYTES = 8 };

/* --- A claim as bytes */

void claim_write(const struct claim_facts *facts, struct record_bytes *out) {
    uint32_t id_size = (uint32_t)facts->id.size, reply_size = (uint32_t)facts->reply.size;
    unsigned char *head = out->head;
    head[0] = (unsigned char)(facts->state | (facts->is_call ? CALL_BIT : 0));
    memcpy(head + 1, &facts->until_ms, 8);
    memcpy(head + 9, &id_size, 4);
    head[13] = (unsigned char)facts->token.size;
    head[14] = (unsigned char)facts->fingerprint.size;
    memcpy(head + 15, &reply_size, 4);
    out->slices[0] = facts->id;
    out->slices[1] = facts->token;
    out->slices[2] = facts->fingerprint;
    out->slices[3] = facts->reply;
}

static void write_record(const struct record *record, struct record_bytes *out) {
    struct claim_facts facts = claim_facts_of((const struct claim *)record);
    claim_write(&facts, out);
}

/* Everything except where the bytes are. */
static struct claim_facts read_head(const unsigned char *head) {
    uint32_t id_size, reply_size;
    struct claim_facts facts = {.state = head[0] & (CALL_BIT - 1),
                                .is_call = (head[0] & CALL_BIT) != 0};
    memcpy(&facts.until_ms, head + 1, 8);
    memcpy(&id_size, head + 9, 4);
    memcpy(&reply_size, head + 15, 4);
    facts.id.size = id_size;
    facts.token.size = head[13];
    facts.fingerprint.size = head[14];
    facts.reply.size = reply_size;
    return facts;
}

static bool is_head(const unsigned char *head, const struct claim_facts *facts) {
    bool has_state = facts->state >= CLAIM_RUNNING && facts->state <= CLAIM_GONE &&
                     head[0] < 2 * CALL_BIT && (facts->state == CLAIM_DONE || !facts->reply.size);
    bool has_kind = facts->is_call ? facts->state != CLAIM_RUNNING && facts->token.size == 0 &&
                                         facts->fingerprint.size == CLAIM_HASH_BYTES
                                   : facts->token.size > 0;
    return has_state && has_kind && facts->id.size > 0 && facts->id.size <= CLAIM_ID_MOST &&
           facts->until_ms > 0 && facts->until_ms <= VALUE_MAX_TIME_MS + LEASE_MOST_MS + 1;
}

static size_t body_size(const unsigned char *head) {
    struct claim_facts facts = read_head(head);
    return facts.id.size + facts.token.size + facts.fingerprint.size + facts.reply.size;
}

/* The rest of a claim, which has come from bytes. */
static void place(struct claim_facts *facts, const char *data) {
    facts->id.data = data;
    facts->token.data = facts->id.data + facts->id.size;
    facts->fingerprint.data = facts->token.data + facts->token.size;
    facts->reply.data = facts->fingerprint.data + facts->fingerprint.size;
}

static bool is_reply(const struct claim_facts *facts) {
    return !facts->is_call || facts->state != CLAIM_DONE || kept_is_valid(facts->reply);
}

/* --- Saving */

static bool is_over(const struct once *table, const struct record *record) {
    return record->due_ms <= table->head.clock_ms;
}

static uint64_t saved_bytes(const struct once *table) {
    struct records_size size = records_measure(table, &claim_kind);
    return size.count > 0 ? COUNT_BYTES + size.bytes : 0;
}

static bool is_unlinked(const struct record *record) {
    return ((const struct claim *)record)->reply == NULL;
}

static lethe_status save(const struct once *table, lethe_sink sink) {
    uint64_t count = records_measure(table, &claim_kind).count;
    lethe_status status = sink.write(sink.context, &count, sizeof count);
    if (status == LETHE_OK) status = records_save(table, &claim_kind, is_unlinked, sink);
    for (const struct claim *claim = table->claims.oldest; claim != NULL; claim = claim->newer)
        records_save_one(table, &claim_kind, &claim->head, sink, &status);
    return status;
}

/* --- Loading */

/* One that commands could have left, as of the table's clock. */
static bool is_possible(const struct once *table, const unsigned char *head) {
    struct claim_facts facts = read_head(head);
    uint64_t now_ms = table->head.clock_ms;
    uint64_t most_ms = now_ms + 1 + (facts.state == CLAIM_RUNNING ? LEASE_MOST_MS : 0);
    return is_head(head, &facts) && facts.until_ms <= most_ms &&
           facts.until_ms + table->window_ms > now_ms;
}

static bool load_claim(struct once *table, const unsigned char *head, const char *body) {
    struct claim_facts facts = read_head(head);
    place(&facts, body);
    if (!is_reply(&facts) || claims_find(table, facts.id) != NULL) return false;
    claims_put(table, &facts);
    return true;
}

static lethe_status load(struct once *table, struct chunk_reader *reader, uint64_t bytes) {
    lethe_source source = chunk_reader_source(reader);
    uint64_t count;
    if (bytes < COUNT_BYTES + HEAD_BYTES) return LETHE_ECORRUPT;
    lethe_status status = source.read(source.context, &count, sizeof count);
    if (status == LETHE_OK && count == 0) return LETHE_ECORRUPT;
    return status == LETHE_OK ? records_load(table, &claim_kind, count, reader) : status;
}

static void take_out(struct once *table, struct record *record) {
    claims_take_out(table, (struct claim *)record);
}

const struct record_kind claim_kind = {
    .place = offsetof(struct once, claims.records),
    .head_size = HEAD_BYTES,
    .slice_count = 4,
    .is_over = is_over,
    .take_out = take_out,
    .write = write_record,
    .body_size = body_size,
    .is_possible = is_possible,
    .load = load_claim,
};

/* --- Digests and memory */

static void digest(const struct once *table, redis_digest *digest) {
    records_digest(table, &claim_kind, digest);
}

static size_t memory(const struct once *table) {
    return table->claims.bytes + records_memory(&table->claims.records);
}

static size_t allocations(const struct once *table) {
    return (size_t)(2 * records_count(&table->claims.records) + table->claims.replies);
}

/* --- Effects */

static bool repeat_claim(struct once *table, struct effect_reader *reader, bool apply) {
    const unsigned char *head;
    const char *body;
    if (!records_read(reader, &claim_kind, &head, &body)) return false;
    struct claim_facts facts = read_head(head);
    if (!is_head(head, &facts)) return false;
    place(&facts, body);
    if (!is_reply(&facts)) return false;
    if (apply) claims_put(table, &facts);
    return true;
}

static bool repeat_removal(struct once *table, struct effect_reader *reader, bool apply) {
    struct slice id;
    if (!records_read_id(reader, &id)) return false;
    struct record *record = apply ? records_find(&table->claims.records, id.data, id.size) : NULL;
    if (record != NULL) claims_take_out(table, (struct claim *)record);
    return true;
}

static bool repeat(struct once *table, uint8_t code, struct effect_reader *reader, bool apply,
                   bool *is_known) {
    *is_known = true;
    switch (code) {
    case 'K':
        return repeat_claim(table, reader, apply);
    case 'k':
        return repeat_removal(table, reader, apply);
    case 'G': {
        uint32_t count = effect_read_u32(reader);
        if (apply) claims_drop_replies(table, count);
        return reader->is_valid;
    }
    default:
        *is_known = false;
        return false;
    }
}

/* --- Making and releasing */

static void init(struct once *table) {
    records_init(&table->claims.records, table->seed);
}

static void release(void *context, struct record *record) {
    (void)context;
    redis.Free(((struct claim *)record)->reply);
    redis.Free(record);
}

static void drop(struct once *table) {
    records_drop(&table->claims.records, release, NULL);
}

const struct once_section claims_section = {
    .tag = 1,
    .kind = &claim_kind,
    .init = init,
    .drop = drop,
    .saved_bytes = saved_bytes,
    .save = save,
    .load = load,
    .digest = digest,
    .memory = memory,
    .allocations = allocations,
    .repeat = repeat,
};
