/* module/value/snapshot.c - what the server asks of every data type: snapshots, log rewriting,
 * copies, digests, memory and defragmentation, done once for all types.
 *
 * In a snapshot a value is its kind, its pieces, and an empty piece. A value that is only partly
 * loaded (transfer.c) is saved as the pieces that have come so far. */
#include <string.h>

#include "server/limits.h"
#include "server/redis_api.h"
#include "value/registry.h"
#include "value/value.h"

enum { KIND_WHOLE = 0, KIND_PARTIAL = 1 };

/* --- Snapshots */

static lethe_status emit_to_snapshot(void *context, const char *data, size_t size, bool is_last) {
    (void)is_last;
    redis.SaveStringBuffer(context, data, size);
    return LETHE_OK;
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
    } else if (value_save(head, stamp_to_save(head), emit_to_snapshot, io) != LETHE_OK) {
        /* Without an end the value will not load, rather than load as another value. */
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
    } else if (value_save(head, stamp_to_save(head), emit_to_log, &rewriting) != LETHE_OK) {
        redis.LogIOError(io, "warning", "a %s could not be rewritten", head->type->prefix);
    }
}

/* --- Copies */

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

/* --- Memory */

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
    registry_note_unlink(redis.GetKeyNameFromOptCtx(context), value);
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

void digest_saved(lethe_status (*save)(const void *, lethe_sink), const void *value,
                  redis_digest *digest) {
    struct hashing hashing = {.buffer = redis.Alloc(HASHED_BYTES)};
    limits_lift();
    lethe_status status = save(value, (lethe_sink){.context = &hashing, .write = hash_saved});
    limits_restore();
    hash_buffer(&hashing);
    redis.Free(hashing.buffer);
    redis.DigestAddLongLong(digest, status);
    redis.DigestAddStringBuffer(digest, (const char *)&hashing.hash, sizeof hashing.hash);
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
            digest_saved(head->type->save, value, digest);
        }
    }
    redis.DigestEndSequence(digest);
}

/* --- Defragmentation and registration */

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
