/* module/once/records_save.c - records as bytes, and giving back those that are over.
 *
 * IDEA    Claims and holds are records (records.h), and are saved, loaded and repeated in one way:
 *         a head of a fixed size, and the slices whose sizes it has. A kind says what is in them.
 * I1      A record that is over is not saved (sections.c, I2).
 * I2      No byte is trusted: a head is judged before what it asks for is allocated, and no more is
 *         allocated than there is to read. */
#include "once/records_save.h"

#include "change/effect.h"
#include "once/once.h"

/* --- A record */

void records_replace(struct once *table, const struct record_kind *kind, struct slice id,
                     struct record *record) {
    struct records *records = records_of(table, kind);
    struct record *before = records_find(records, id.data, id.size);
    char *copy = NULL;
    if (before != NULL) {
        if (before->entry->name == id.data) {
            /* The id is the old record's own, and goes with it. */
            copy = redis.Alloc(id.size);
            memcpy(copy, id.data, id.size);
            id.data = copy;
        }
        kind->take_out(table, before);
    }
    records_add(records, id.data, id.size, record);
    redis.Free(copy);
}

void records_append(struct effect *effect, const struct record_kind *kind,
                    const struct record_bytes *bytes) {
    effect_bytes(effect, bytes->head, kind->head_size);
    for (size_t i = 0; i < kind->slice_count; i++)
        effect_bytes(effect, bytes->slices[i].data, bytes->slices[i].size);
}

bool records_read(struct effect_reader *reader, const struct record_kind *kind,
                  const unsigned char **head, const char **body) {
    *head = effect_read_bytes(reader, kind->head_size);
    *body = *head != NULL ? effect_read_bytes(reader, kind->body_size(*head)) : NULL;
    return *body != NULL;
}

bool records_read_id(struct effect_reader *reader, struct slice *out) {
    out->size = effect_read_u32(reader);
    out->data = effect_read_bytes(reader, out->size);
    return out->data != NULL;
}

/* --- All of them */

struct measuring {
    const struct once *table;
    const struct record_kind *kind;
    struct records_size size;
};

static void measure(void *context, struct record *record) {
    struct measuring *measuring = context;
    const struct record_kind *kind = measuring->kind;
    struct record_bytes bytes;
    if (kind->is_over(measuring->table, record)) return;
    kind->write(record, &bytes);
    measuring->size.count++;
    measuring->size.bytes += kind->head_size + kind->body_size(bytes.head);
}

struct records_size records_measure(const struct once *table, const struct record_kind *kind) {
    struct measuring measuring = {.table = table, .kind = kind};
    records_each(records_of(table, kind), measure, &measuring);
    return measuring.size;
}

static void save_bytes(lethe_sink sink, const void *data, size_t size, lethe_status *status) {
    if (*status == LETHE_OK && size > 0) *status = sink.write(sink.context, data, size);
}

void records_save_one(const struct once *table, const struct record_kind *kind,
                      const struct record *record, lethe_sink sink, lethe_status *status) {
    struct record_bytes bytes;
    if (kind->is_over(table, record)) return;
    kind->write(record, &bytes);
    save_bytes(sink, bytes.head, kind->head_size, status);
    for (size_t i = 0; i < kind->slice_count; i++)
        save_bytes(sink, bytes.slices[i].data, bytes.slices[i].size, status);
}

struct saving {
    const struct once *table;
    const struct record_kind *kind;
    bool (*is_wanted)(const struct record *record);
    lethe_sink sink;
    lethe_status status;
};

static void save(void *context, struct record *record) {
    struct saving *saving = context;
    if (saving->is_wanted == NULL || saving->is_wanted(record))
        records_save_one(saving->table, saving->kind, record, saving->sink, &saving->status);
}

lethe_status records_save(const struct once *table, const struct record_kind *kind,
                          bool (*is_wanted)(const struct record *record), lethe_sink sink) {
    struct saving saving = {table, kind, is_wanted, sink, LETHE_OK};
    records_each(records_of(table, kind), save, &saving);
    return saving.status;
}

static lethe_status load_one(struct once *table, const struct record_kind *kind,
                             struct chunk_reader *reader) {
    lethe_source source = chunk_reader_source(reader);
    unsigned char head[RECORD_HEAD_MOST];
    lethe_status status = source.read(source.context, head, kind->head_size);
    if (status != LETHE_OK) return status;
    size_t size = kind->body_size(head);
    if (!kind->is_possible(table, head) || size > reader->left) return LETHE_ECORRUPT;
    char *body = redis.Alloc(size);
    status = source.read(source.context, body, size);
    if (status == LETHE_OK && !kind->load(table, head, body)) status = LETHE_ECORRUPT;
    redis.Free(body);
    return status;
}

lethe_status records_load(struct once *table, const struct record_kind *kind, uint64_t count,
                          struct chunk_reader *reader) {
    lethe_status status = LETHE_OK;
    for (uint64_t i = 0; i < count && status == LETHE_OK; i++)
        status = load_one(table, kind, reader);
    return status;
}

struct digesting {
    const struct once *table;
    const struct record_kind *kind;
    redis_digest *digest;
};

static void digest_one(void *context, struct record *record) {
    const struct digesting *digesting = context;
    if (digesting->kind->is_over(digesting->table, record)) return;
    const struct record_kind *kind = digesting->kind;
    struct record_bytes bytes;
    kind->write(record, &bytes);
    redis.DigestAddStringBuffer(digesting->digest, (const char *)bytes.head, kind->head_size);
    for (size_t i = 0; i < kind->slice_count; i++) {
        struct slice slice = bytes.slices[i];
        redis.DigestAddStringBuffer(digesting->digest, slice.size > 0 ? slice.data : "",
                                    slice.size);
    }
    redis.DigestEndSequence(digesting->digest);
}

void records_digest(const struct once *table, const struct record_kind *kind,
                    redis_digest *digest) {
    struct digesting digesting = {table, kind, digest};
    records_each(records_of(table, kind), digest_one, &digesting);
}

void records_give_back(struct once *table, const struct record_kind *kind, unsigned budget) {
    for (; budget > 0; budget--) {
        struct record *record = records_due(records_of(table, kind), table->head.clock_ms);
        if (record == NULL || !kind->is_over(table, record)) return;
        kind->take_out(table, record);
    }
}
