/* module/value/value.c - making, releasing, saving and loading a value.
 *
 * LAYOUT  A saved value is a head and a body, cut into pieces (chunks.c): the head has a mark,
 *         the format's version, the type's name, and the value's clock; the body is the type's
 *         own. The same bytes go into snapshots, the rewritten log, copies and DUMP: there is
 *         one writer and one reader, and the reader trusts nothing. docs/format/module.md has
 *         every byte. */
#include "value/value.h"

#include <string.h>

#include "server/limits.h"
#include "value/registry.h"

enum { HEAD_BYTES = 64, OLD_HEAD_BYTES = 40 };

static const unsigned char mark[8] = {0x89, 'L', 'E', 'T', 'H', 'E', 'M', '\n'};

/* --- Making and releasing */

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

void value_release(void *value) {
    struct value *head = value;
    if (head == NULL) return;
    registry_drop(head);
    drop_partial(head);
    head->type->drop(value);
    redis.Free(value);
}

/* --- Saving and loading */

/* A stamp is for a file that this server, or another one on its host, will read again. Elsewhere
 * it means nothing. */
static lethe_status save_value(const void *value, struct stamp stamp, lethe_sink sink) {
    const struct value *head = value;
    unsigned char bytes[HEAD_BYTES] = {0};
    uint32_t version = head->type->version_of != NULL ? head->type->version_of(value)
                                                      : (uint32_t)VALUE_PLAIN_VERSION;
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

static bool is_known(const struct value *value) {
    uint32_t most = value->type->version_of != NULL ? VALUE_SECTIONED_VERSION : VALUE_PLAIN_VERSION;
    return value->version >= 1 && value->version <= most;
}

/* Fills in the head. False when it is not one of this type. */
static bool read_head(struct value *value, struct chunk_reader *reader) {
    unsigned char bytes[HEAD_BYTES] = {0};
    lethe_source source = chunk_reader_source(reader);
    if (source.read(source.context, bytes, OLD_HEAD_BYTES) != LETHE_OK) return false;
    memcpy(&value->version, bytes + 8, 4);
    if (value->version >= VALUE_PLAIN_VERSION &&
        source.read(source.context, bytes + OLD_HEAD_BYTES, HEAD_BYTES - OLD_HEAD_BYTES) !=
            LETHE_OK)
        return false;
    memcpy(value->stamp.host, bytes + 21, CLOCK_HOST_BYTES);
    memcpy(&value->clock_ms, bytes + 24, 8);
    memcpy(&value->stamp.wall_skew_ms, bytes + 32, 8);
    memcpy(&value->stamp.boot, bytes + 40, 8); /* zeros in version 1: not known */
    memcpy(&value->stamp.boot_skew_ms, bytes + 48, 8);
    memcpy(&value->idle_ms, bytes + 56, 8);
    /* When another server's file was made is not known here. */
    if (!clock_is_loading_own_file) value->stamp = (struct stamp){0};
    return memcmp(bytes, mark, 8) == 0 && is_known(value) &&
           memcmp(bytes + 12, value->type->name, 9) == 0 && value->clock_ms <= VALUE_MAX_TIME_MS &&
           value->idle_ms <= VALUE_MAX_TIME_MS;
}

lethe_status value_save(const struct value *value, struct stamp stamp, chunk_emitter *emit,
                        void *context) {
    struct chunk_writer writer;
    lethe_status status = chunk_writer_begin(&writer, emit, context);
    if (status != LETHE_OK) return status;
    limits_lift(); /* also in a forked child, which can't ask the server */
    status = chunk_writer_end(&writer, save_value(value, stamp, chunk_writer_sink(&writer)));
    limits_restore();
    return status;
}

static lethe_status emit_to_chunks(void *context, const char *data, size_t size, bool is_last) {
    (void)is_last;
    return chunks_append_copy(context, data, size) ? LETHE_OK : LETHE_ENOMEM;
}

lethe_status value_to_chunks(const struct value *value, struct chunks *out) {
    return value_save(value, (struct stamp){0}, emit_to_chunks, out);
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
