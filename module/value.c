/* module/value.c - what the server asks of every data type, done once for all of them.
 *
 * A saved value is a head and a body, cut into pieces (chunks.c): the head has a mark, the format's
 * version, the type's name, and the value's clock; the body is the type's own. The same bytes go into
 * snapshots, the rewritten log, copies and DUMP: there is one writer and one reader, and the reader
 * believes nothing. docs/format/module.md has every byte. */
#include <string.h>

#include "frame.h"

enum { HEAD_BYTES = 64, OLD_HEAD_BYTES = 40, FORMAT_VERSION = 2, KIND_WHOLE = 0, KIND_PARTIAL = 1 };

static const unsigned char mark[8] = {0x89, 'L', 'E', 'T', 'H', 'E', 'M', '\n'};

void *value_new(const struct value_type *type) {
    struct value *value = redis.Alloc(type->value_bytes);
    if (value == NULL) return NULL;
    memset(value, 0, type->value_bytes);
    value->type = type;
    return value;
}

static void drop_partial(struct value *value) {
    if (value->partial == NULL) return;
    chunks_drop(value->partial);
    redis.Free(value->partial);
    value->partial = NULL;
}

static struct {
    void *memory;
    size_t capacity;
} scratched;

void *scratch(size_t count, size_t size) {
    if (count * size > scratched.capacity) {
        scratched.capacity = 2 * count * size;
        redis.Free(scratched.memory);
        scratched.memory = redis.Alloc(scratched.capacity);
    }
    return scratched.memory;
}

void scratch_trim(void) {
    if (scratched.capacity <= KEPT_BYTES) return;
    redis.Free(scratched.memory);
    scratched.memory = NULL;
    scratched.capacity = 0;
}

lethe_hash *hash_items(uint64_t seed, redis_string **items, size_t count, uint8_t **answers) {
    lethe_hash *hashes = scratch(count, sizeof *hashes + 1);
    *answers = (uint8_t *)(hashes + count);
    for (size_t i = 0; i < count; i++) {
        size_t size;
        const char *data = redis.StringPtrLen(items[i], &size);
        hashes[i] = lethe_hash_bytes(seed, data, size);
    }
    return hashes;
}

void value_release(void *value) {
    struct value *head = value;
    if (head == NULL) return;
    registry_drop(head);
    drop_partial(head);
    head->type->drop(value);
    redis.Free(value);
}

/* A stamp is for a file that this server, or another one on its host, will read again; elsewhere it means nothing. */
static lethe_status save_value(const void *value, struct stamp stamp, lethe_sink sink) {
    const struct value *head = value;
    unsigned char bytes[HEAD_BYTES] = {0};
    uint32_t version = FORMAT_VERSION;
    memcpy(bytes, mark, 8);
    memcpy(bytes + 8, &version, 4);
    memcpy(bytes + 12, head->type->name, 9);
    memcpy(bytes + 21, stamp.host, CLOCK_HOST_BYTES);
    memcpy(bytes + 24, &head->clock_ms, 8);
    memcpy(bytes + 32, &stamp.wall_skew_ms, 8);
    memcpy(bytes + 40, &stamp.boot, 8);
    memcpy(bytes + 48, &stamp.boot_skew_ms, 8);
    uint64_t idle_ms = clock_idle_ms(head);
    memcpy(bytes + 56, &idle_ms, 8);
    lethe_status status = sink.write(sink.context, bytes, sizeof bytes);
    return status == LETHE_OK ? head->type->save(value, sink) : status;
}

/* Fills in the head; false when it is not one of this type. */
static bool read_head(struct value *value, struct chunk_reader *reader) {
    unsigned char bytes[HEAD_BYTES] = {0};
    uint32_t version;
    lethe_source source = chunk_reader_source(reader);
    if (source.read(source.context, bytes, OLD_HEAD_BYTES) != LETHE_OK) return false;
    memcpy(&version, bytes + 8, 4);
    if (version == 2 && source.read(source.context, bytes + OLD_HEAD_BYTES,
                                    HEAD_BYTES - OLD_HEAD_BYTES) != LETHE_OK)
        return false;
    memcpy(value->stamp.host, bytes + 21, CLOCK_HOST_BYTES);
    memcpy(&value->clock_ms, bytes + 24, 8);
    memcpy(&value->stamp.wall_skew_ms, bytes + 32, 8);
    memcpy(&value->stamp.boot, bytes + 40, 8); /* zeros in version 1: not known */
    memcpy(&value->stamp.boot_skew_ms, bytes + 48, 8);
    memcpy(&value->idle_ms, bytes + 56, 8);
    /* Of when another server's file was made nothing is known here. */
    if (!clock_is_loading_own_file) value->stamp = (struct stamp){0};
    return memcmp(bytes, mark, 8) == 0 && version >= 1 && version <= FORMAT_VERSION &&
           memcmp(bytes + 12, value->type->name, 9) == 0 && value->clock_ms <= VALUE_MAX_TIME_MS &&
           value->idle_ms <= VALUE_MAX_TIME_MS;
}

void *value_load(const struct value_type *type, const struct chunks *chunks) {
    if (!chunks_are_whole(chunks)) return NULL;
    struct value *value = value_new(type);
    if (value == NULL) return NULL;
    struct chunk_reader reader = chunk_reader_at_start(chunks);
    limits_lift();
    bool is_valid = read_head(value, &reader) &&
                    type->load(value, chunk_reader_source(&reader)) == LETHE_OK && reader.left == 0;
    limits_restore();
    if (!is_valid) {
        value_release(value);
        return NULL;
    }
    value_catch_up(value);
    return value;
}

/* --- Snapshots */

static lethe_status emit_to_snapshot(void *context, const char *data, size_t size, bool is_last) {
    (void)is_last;
    redis.SaveStringBuffer(context, data, size);
    return LETHE_OK;
}

static lethe_status save_in_pieces(const struct value *value, struct stamp stamp,
                                   lethe_status (*emit)(void *, const char *, size_t, bool),
                                   void *context) {
    struct chunk_writer writer;
    lethe_status status = chunk_writer_begin(&writer, emit, context);
    if (status != LETHE_OK) return status;
    limits_lift(); /* also in a child that saves, which can't ask the server */
    status = chunk_writer_end(&writer, save_value(value, stamp, chunk_writer_sink(&writer)));
    limits_restore();
    return status;
}

static struct stamp stamp_to_save(const struct value *value) {
    return has_time(value->type) ? clock_stamp(value) : (struct stamp){0};
}

static void save_to_snapshot(redis_io *io, void *value) {
    struct value *head = value;
    redis.SaveUnsigned(io, head->partial != NULL ? KIND_PARTIAL : KIND_WHOLE);
    if (head->partial != NULL) {
        for (size_t i = 0; i < head->partial->count; i++)
            redis.SaveStringBuffer(io, head->partial->data[i], head->partial->sizes[i]);
    } else if (save_in_pieces(head, stamp_to_save(head), emit_to_snapshot, io) != LETHE_OK) {
        /* Without an end the value will not load, rather than load as something else. */
        redis.LogIOError(io, "warning", "a %s could not be saved", head->type->prefix);
    }
    redis.SaveStringBuffer(io, "", 0);
}

/* Reads pieces up to the empty one. */
static bool load_pieces(redis_io *io, struct chunks *chunks) {
    for (;;) {
        size_t size = 0;
        char *data = redis.LoadStringBuffer(io, &size);
        if (data == NULL || redis.IsIOError(io)) {
            if (data != NULL) redis.Free(data);
            return false;
        }
        if (size == 0) {
            redis.Free(data);
            return true;
        }
        if (!chunks_append(chunks, data, size)) {
            redis.Free(data);
            return false;
        }
    }
}

struct value *value_partial(const struct value_type *type, struct chunks *chunks) {
    struct value *value = value_new(type);
    if (value == NULL) return NULL;
    value->partial = redis.Alloc(sizeof *value->partial);
    if (value->partial == NULL) {
        value_release(value);
        return NULL;
    }
    *value->partial = *chunks;
    *chunks = (struct chunks){0};
    return value;
}

void *value_from_snapshot(const struct value_type *type, redis_io *io, int version) {
    if (version > VALUE_ENCODING_VERSION) {
        redis.LogIOError(io, "warning", "written by a newer Lethe: a %s of version %d",
                         type->prefix, version);
        return NULL;
    }
    struct chunks chunks = {0};
    struct value *value = NULL;
    uint64_t kind = redis.LoadUnsigned(io);
    if (!redis.IsIOError(io) && kind <= KIND_PARTIAL && load_pieces(io, &chunks))
        value = kind == KIND_WHOLE ? value_load(type, &chunks) : value_partial(type, &chunks);
    chunks_drop(&chunks);
    if (value == NULL) {
        redis.LogIOError(io, "warning", "a %s is damaged", type->prefix);
        return NULL;
    }
    registry_add(value, redis.GetKeyNameFromIO(io), redis.GetDbIdFromIO(io));
    return value;
}

/* --- The rewritten log */

struct rewriting {
    redis_io *io;
    redis_string *key;
    const char *command;
    long long number;
};

static lethe_status emit_to_log(void *context, const char *data, size_t size, bool is_last) {
    struct rewriting *rewriting = context;
    redis.EmitAOF(rewriting->io, rewriting->command, "sllb", rewriting->key, rewriting->number++,
                  (long long)is_last, data, size);
    return LETHE_OK;
}

static void rewrite_log(redis_io *io, redis_string *key, void *value) {
    struct value *head = value;
    struct rewriting rewriting = {.io = io, .key = key, .command = head->type->load_name};
    if (head->partial != NULL) {
        for (size_t i = 0; i < head->partial->count; i++)
            (void)emit_to_log(&rewriting, head->partial->data[i], head->partial->sizes[i], false);
    } else if (save_in_pieces(head, stamp_to_save(head), emit_to_log, &rewriting) != LETHE_OK) {
        redis.LogIOError(io, "warning", "a %s could not be rewritten", head->type->prefix);
    }
}

/* --- Copies */

static lethe_status emit_to_chunks(void *context, const char *data, size_t size, bool is_last) {
    (void)is_last;
    return chunks_append_copy(context, data, size) ? LETHE_OK : LETHE_ENOMEM;
}

lethe_status value_to_chunks(const struct value *value, struct chunks *out) {
    return save_in_pieces(value, (struct stamp){0}, emit_to_chunks, out);
}

static struct value *copy_whole(const struct value *value) {
    struct chunks chunks = {0};
    struct value *copy = NULL;
    if (value_to_chunks(value, &chunks) == LETHE_OK) copy = value_load(value->type, &chunks);
    chunks_drop(&chunks);
    if (copy == NULL) return NULL;
    /* The same time, to the microsecond. */
    copy->anchor_us = value->anchor_us;
    copy->idle_ms = value->idle_ms;
    copy->stamp = value->stamp;
    return copy;
}

static struct value *copy_partial(const struct value *value) {
    struct chunks chunks = {0};
    for (size_t i = 0; i < value->partial->count; i++) {
        if (!chunks_append_copy(&chunks, value->partial->data[i], value->partial->sizes[i])) {
            chunks_drop(&chunks);
            return NULL;
        }
    }
    return value_partial(value->type, &chunks);
}

static void *copy_value(redis_key_context *context, const void *value) {
    const struct value *head = value;
    struct value *copy = head->partial != NULL ? copy_partial(head) : copy_whole(head);
    if (copy == NULL) return NULL;
    registry_add(copy, redis.GetToKeyNameFromOptCtx(context), redis.GetToDbIdFromOptCtx(context));
    return copy;
}

/* --- The rest */

static size_t memory_of_value(redis_key_context *context, const void *value, size_t samples) {
    (void)context;
    (void)samples;
    const struct value *head = value;
    if (head->partial != NULL) return head->partial->bytes + head->type->value_bytes;
    return head->type->value_bytes + head->type->memory(value);
}

size_t effort_of_bytes(uint64_t bytes) {
    return (size_t)(bytes >> 15) + 1;
}

static size_t effort_of_value(redis_key_context *context, const void *value) {
    (void)context;
    const struct value *head = value;
    if (head->partial != NULL) return effort_of_bytes(head->partial->bytes);
    if (head->type->allocations != NULL) return head->type->allocations(value);
    return effort_of_bytes(head->type->memory(value));
}

static void note_unlink(redis_key_context *context, const void *value) {
    (void)value;
    registry_note_unlink(redis.GetKeyNameFromOptCtx(context));
}

static void digest_saved(const struct value *value, redis_digest *digest) {
    lethe_hash hash;
    lethe_status status = hash_of_saved(value->type->save, value, &hash);
    redis.DigestAddLongLong(digest, status);
    redis.DigestAddStringBuffer(digest, (const char *)&hash, sizeof hash);
}

static void digest_value(redis_digest *digest, void *value) {
    struct value *head = value;
    if (head->partial != NULL) {
        for (size_t i = 0; i < head->partial->count; i++)
            redis.DigestAddStringBuffer(digest, head->partial->data[i], head->partial->sizes[i]);
    } else {
        redis.DigestAddLongLong(digest, (long long)head->clock_ms);
        redis.DigestEndSequence(digest);
        if (head->type->digest != NULL) {
            head->type->digest(value, digest);
        } else {
            digest_saved(head, digest);
        }
    }
    redis.DigestEndSequence(digest);
}

static int defrag_value(redis_defrag *defrag, redis_string *key, void **value) {
    (void)key;
    unsigned long cursor = 0;
    if (redis.DefragCursorGet(defrag, &cursor) != REDIS_OK || cursor == 0) {
        void *moved = redis.DefragAlloc(defrag, *value);
        if (moved != NULL) *value = moved;
    }
    struct value *head = *value;
    if (head->partial != NULL || head->type->defrag == NULL) return 0;
    return head->type->defrag(*value, defrag);
}

bool value_type_register(redis_context *context, const struct value_type *type) {
    redis_type_methods methods = {
        .version = REDIS_TYPE_METHODS_VERSION,
        .load = type->load_from_snapshot,
        .save = save_to_snapshot,
        .rewrite = rewrite_log,
        .digest = digest_value,
        .release = value_release,
        .defrag = defrag_value,
        .memory = memory_of_value,
        .effort_of = effort_of_value,
        .unlink_of = note_unlink,
        .copy_of = copy_value,
    };
    *type->handle = redis.CreateDataType(context, type->name, VALUE_ENCODING_VERSION, &methods);
    return *type->handle != NULL;
}

/* --- Digests */

struct hashing {
    char *buffer;
    size_t used;
    lethe_hash hash;
};

enum { HASHED_BYTES = 1 << 16 };

static void hash_buffer(struct hashing *hashing) {
    lethe_hash hash = lethe_hash_bytes(hashing->hash.low, hashing->buffer, hashing->used);
    hashing->hash.low = hash.low;
    hashing->hash.high ^= hash.high;
    hashing->used = 0;
}

static lethe_status hash_saved(void *context, const void *data, size_t size) {
    struct hashing *hashing = context;
    for (const char *from = data; size > 0;) {
        size_t here = HASHED_BYTES - hashing->used;
        if (here > size) here = size;
        memcpy(hashing->buffer + hashing->used, from, here);
        hashing->used += here;
        from += here;
        size -= here;
        if (hashing->used == HASHED_BYTES) hash_buffer(hashing);
    }
    return LETHE_OK;
}

lethe_status hash_of_saved(lethe_status (*save)(const void *, lethe_sink), const void *value,
                           lethe_hash *out) {
    struct hashing hashing = {.buffer = redis.Alloc(HASHED_BYTES)};
    lethe_status status = save(value, (lethe_sink){.context = &hashing, .write = hash_saved});
    hash_buffer(&hashing);
    redis.Free(hashing.buffer);
    *out = hashing.hash;
    return status;
}
