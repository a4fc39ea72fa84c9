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

enum { CALL_BIT = 16, COUNT_BYTES = 8 };

/* --- A claim as bytes */

size_t claim_saved_bytes(const struct claim_facts *facts) {
    return CLAIM_HEAD_BYTES + facts->id.size + facts->token.size + facts->fingerprint.size +
           facts->reply.size;
}

void claim_write_head(const struct claim_facts *facts, unsigned char head[CLAIM_HEAD_BYTES]) {
    uint32_t id_size = (uint32_t)facts->id.size, reply_size = (uint32_t)facts->reply.size;
    head[0] = (unsigned char)(facts->state | (facts->is_call ? CALL_BIT : 0));
    memcpy(head + 1, &facts->until_ms, 8);
    memcpy(head + 9, &id_size, 4);
    head[13] = (unsigned char)facts->token.size;
    head[14] = (unsigned char)facts->fingerprint.size;
    memcpy(head + 15, &reply_size, 4);
}

/* Everything except where the bytes are. */
static struct claim_facts read_head(const unsigned char head[CLAIM_HEAD_BYTES]) {
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

static bool is_head(const unsigned char head[CLAIM_HEAD_BYTES], const struct claim_facts *facts) {
    bool has_state = facts->state >= CLAIM_RUNNING && facts->state <= CLAIM_GONE &&
                     head[0] < 2 * CALL_BIT && (facts->state == CLAIM_DONE || !facts->reply.size);
    bool has_kind = facts->is_call ? facts->state != CLAIM_RUNNING && facts->token.size == 0 &&
                                         facts->fingerprint.size == CLAIM_HASH_BYTES
                                   : facts->token.size > 0;
    return has_state && has_kind && facts->id.size > 0 && facts->id.size <= CLAIM_ID_MOST &&
           facts->until_ms > 0 && facts->until_ms <= VALUE_MAX_TIME_MS + LEASE_MOST_MS + 1;
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

struct saving {
    const struct once *table;
    lethe_sink sink;
    lethe_status status;
    uint64_t count, bytes;
};

static bool is_over(const struct once *table, const struct claim *claim) {
    return claim->head.due_ms <= table->head.clock_ms;
}

static void measure(void *context, struct record *record) {
    struct saving *saving = context;
    const struct claim *claim = (const struct claim *)record;
    if (is_over(saving->table, claim)) return;
    struct claim_facts facts = claim_facts_of(claim);
    saving->count++;
    saving->bytes += claim_saved_bytes(&facts);
}

static uint64_t saved_bytes(const struct once *table) {
    struct saving saving = {.table = table};
    records_each(&table->claims.records, measure, &saving);
    return saving.count > 0 ? COUNT_BYTES + saving.bytes : 0;
}

static void save_bytes(struct saving *saving, const void *data, size_t size) {
    if (saving->status == LETHE_OK && size > 0)
        saving->status = saving->sink.write(saving->sink.context, data, size);
}

static void save_claim(struct saving *saving, const struct claim *claim) {
    if (is_over(saving->table, claim)) return;
    struct claim_facts facts = claim_facts_of(claim);
    unsigned char head[CLAIM_HEAD_BYTES];
    claim_write_head(&facts, head);
    save_bytes(saving, head, sizeof head);
    save_bytes(saving, facts.id.data, facts.id.size);
    save_bytes(saving, facts.token.data, facts.token.size);
    save_bytes(saving, facts.fingerprint.data, facts.fingerprint.size);
    save_bytes(saving, facts.reply.data, facts.reply.size);
}

static void save_unlinked(void *context, struct record *record) {
    const struct claim *claim = (const struct claim *)record;
    if (claim->reply == NULL) save_claim(context, claim);
}

static lethe_status save(const struct once *table, lethe_sink sink) {
    struct saving saving = {.table = table, .sink = sink};
    records_each(&table->claims.records, measure, &saving);
    save_bytes(&saving, &saving.count, sizeof saving.count);
    records_each(&table->claims.records, save_unlinked, &saving);
    for (const struct claim *claim = table->claims.oldest; claim != NULL; claim = claim->newer)
        save_claim(&saving, claim);
    return saving.status;
}

/* --- Loading */

/* One that commands could have left, as of the table's clock. */
static bool is_possible(const struct once *table, const struct claim_facts *facts) {
    uint64_t now_ms = table->head.clock_ms;
    uint64_t most_ms = now_ms + 1 + (facts->state == CLAIM_RUNNING ? LEASE_MOST_MS : 0);
    return facts->until_ms <= most_ms && facts->until_ms + table->window_ms > now_ms;
}

static lethe_status load_claim(struct once *table, struct chunk_reader *reader) {
    lethe_source source = chunk_reader_source(reader);
    unsigned char head[CLAIM_HEAD_BYTES];
    lethe_status status = source.read(source.context, head, sizeof head);
    if (status != LETHE_OK) return status;
    struct claim_facts facts = read_head(head);
    size_t size = claim_saved_bytes(&facts) - CLAIM_HEAD_BYTES;
    if (!is_head(head, &facts) || !is_possible(table, &facts) || size > reader->left)
        return LETHE_ECORRUPT;
    char *data = redis.Alloc(size);
    status = source.read(source.context, data, size);
    place(&facts, data);
    if (status == LETHE_OK && (!is_reply(&facts) || claims_find(table, facts.id) != NULL))
        status = LETHE_ECORRUPT;
    if (status == LETHE_OK) claims_put(table, &facts);
    redis.Free(data);
    return status;
}

static lethe_status load(struct once *table, struct chunk_reader *reader, uint64_t bytes) {
    lethe_source source = chunk_reader_source(reader);
    uint64_t count;
    if (bytes < COUNT_BYTES + CLAIM_HEAD_BYTES) return LETHE_ECORRUPT;
    lethe_status status = source.read(source.context, &count, sizeof count);
    if (status == LETHE_OK && count == 0) return LETHE_ECORRUPT;
    for (uint64_t i = 0; i < count && status == LETHE_OK; i++)
        status = load_claim(table, reader);
    return status;
}

/* --- Digests and memory */

struct digesting {
    const struct once *table;
    redis_digest *digest;
};

static void digest_slice(redis_digest *digest, struct slice slice) {
    redis.DigestAddLongLong(digest, (long long)slice.size);
    redis.DigestAddStringBuffer(digest, slice.data != NULL ? slice.data : "", slice.size);
}

static void digest_claim(void *context, struct record *record) {
    const struct digesting *digesting = context;
    const struct claim *claim = (const struct claim *)record;
    if (is_over(digesting->table, claim)) return;
    struct claim_facts facts = claim_facts_of(claim);
    redis.DigestAddLongLong(digesting->digest, facts.state | (facts.is_call ? CALL_BIT : 0));
    redis.DigestAddLongLong(digesting->digest, (long long)facts.until_ms);
    digest_slice(digesting->digest, facts.id);
    digest_slice(digesting->digest, facts.token);
    digest_slice(digesting->digest, facts.fingerprint);
    digest_slice(digesting->digest, facts.reply);
    redis.DigestEndSequence(digesting->digest);
}

static void digest(const struct once *table, redis_digest *digest) {
    struct digesting digesting = {table, digest};
    records_each(&table->claims.records, digest_claim, &digesting);
}

static size_t memory(const struct once *table) {
    return table->claims.bytes + records_memory(&table->claims.records);
}

static size_t allocations(const struct once *table) {
    return (size_t)(2 * records_count(&table->claims.records) + table->claims.replies);
}

/* --- Effects */

static bool repeat_claim(struct once *table, struct effect_reader *reader, bool apply) {
    const unsigned char *head = effect_read_bytes(reader, CLAIM_HEAD_BYTES);
    if (head == NULL) return false;
    struct claim_facts facts = read_head(head);
    const char *data = effect_read_bytes(reader, claim_saved_bytes(&facts) - CLAIM_HEAD_BYTES);
    if (data == NULL || !is_head(head, &facts)) return false;
    place(&facts, data);
    if (!is_reply(&facts)) return false;
    if (apply) claims_put(table, &facts);
    return true;
}

static bool repeat_removal(struct once *table, struct effect_reader *reader, bool apply) {
    uint32_t size = effect_read_u32(reader);
    const char *id = effect_read_bytes(reader, size);
    if (id == NULL || !apply) return id != NULL;
    struct record *record = records_find(&table->claims.records, id, size);
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

/* --- Time */

static bool is_due(const struct once *table, uint64_t now_ms) {
    return records_due(&table->claims.records, now_ms) != NULL;
}

static void give_back(struct once *table, unsigned budget) {
    struct record *record;
    while (budget-- > 0 &&
           (record = records_due(&table->claims.records, table->head.clock_ms)) != NULL)
        claims_take_out(table, (struct claim *)record);
}

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
    .init = init,
    .drop = drop,
    .saved_bytes = saved_bytes,
    .save = save,
    .load = load,
    .digest = digest,
    .memory = memory,
    .allocations = allocations,
    .repeat = repeat,
    .is_due = is_due,
    .give_back = give_back,
};
