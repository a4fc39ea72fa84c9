/* module/value/transfer.c - PREFIX.DUMP and PREFIX.LOAD: a value in pieces, so that any size can
 * be moved.
 *
 * DUMP    A value goes on changing while its pieces are asked for, if only because time passes.
 *         So DUMP of piece 0 saves the whole value, and the other pieces come from what was
 *         saved. It is kept until the last piece was returned, or until nobody has asked for a
 *         minute; there is one at a time. A value of one piece needs none of that.
 * LOAD    Pieces are collected under a key that holds no value yet (`partial`), on which all
 *         other commands fail. When the last one has come, the value is made of them. They
 *         survive a restart meanwhile. */
#include "value/transfer.h"

#include <string.h>

#include "change/change.h"
#include "command/ranges.h"
#include "server/errors.h"
#include "server/reply.h"
#include "types.h"
#include "value/registry.h"
#include "value/value.h"

const struct range range_piece = {.least = 0, .most = INT64_MAX};
const struct range range_last = {.least = 0, .most = 1};

enum { KEPT_US = 60 * 1000000, BUSY_US = 10 * 1000000 };

/* --- DUMP */

static struct {
    /* NULL: nothing is kept. */
    const struct value_type *type;
    redis_string *name;
    int database;

    /* Empty when all were returned. */
    struct chunks chunks;
    /* How many pieces there were. */
    size_t count;
    uint64_t asked_us;
} kept;

static void forget_kept(void) {
    if (kept.type == NULL) return;
    redis.FreeString(NULL, kept.name);
    chunks_drop(&kept.chunks);
    memset(&kept, 0, sizeof kept);
}

void transfer_tick(void) {
    if (kept.type != NULL && redis.MonotonicMicroseconds() - kept.asked_us > KEPT_US) forget_kept();
}

static bool is_kept(redis_context *context, const struct value_type *type,
                    const redis_string *name) {
    return kept.type == type && kept.database == redis.GetSelectedDb(context) &&
           redis.StringCompare(kept.name, name) == 0;
}

static int reply_piece(redis_context *context, const struct chunks *chunks, size_t number) {
    redis.ReplyWithArray(context, 3);
    redis.ReplyWithLongLong(context, (long long)number);
    redis.ReplyWithLongLong(context, number + 1 == chunks->count);
    return redis.ReplyWithStringBuffer(context, chunks->data[number], chunks->sizes[number]);
}

/* Piece 0, of a value as it is now. */
static int begin_dump(redis_context *context, const struct value *value, redis_string *name) {
    bool is_other = kept.chunks.count > 0 && !is_kept(context, value->type, name);
    if (is_other && redis.MonotonicMicroseconds() - kept.asked_us < BUSY_US)
        return reply_error(context, ERROR_DUMP_BUSY);
    forget_kept();
    struct chunks chunks = {0};
    lethe_status status = value_to_chunks(value, &chunks);
    if (status != LETHE_OK) {
        chunks_drop(&chunks);
        return reply_status(context, status);
    }
    reply_piece(context, &chunks, 0);
    size_t size;
    const char *text = redis.StringPtrLen(name, &size);
    kept.type = value->type;
    kept.name = redis.CreateString(NULL, text, size);
    kept.database = redis.GetSelectedDb(context);
    kept.count = chunks.count;
    kept.asked_us = redis.MonotonicMicroseconds();
    if (chunks.count > 1) {
        kept.chunks = chunks;
    } else {
        chunks_drop(&chunks);
    }
    return REDIS_OK;
}

static int go_on_with_dump(redis_context *context, const struct value_type *type,
                           const redis_string *name, uint64_t number) {
    bool is_known = is_kept(context, type, name);
    if (is_known && number >= kept.count) return redis.ReplyWithNull(context);
    if (!is_known || kept.chunks.count == 0) return reply_error(context, ERROR_DUMP_GONE);
    kept.asked_us = redis.MonotonicMicroseconds();
    reply_piece(context, &kept.chunks, number);
    if (number + 1 == kept.count) chunks_drop(&kept.chunks);
    return REDIS_OK;
}

int dump_command(redis_context *context, redis_string **arguments, int count) {
    const struct value_type *type = type_of_command(arguments[0]);
    int64_t number;
    if (count != 3) return redis.WrongArity(context);
    const char *problem = range_number(&range_piece, "number", arguments[2], &number);
    if (problem != NULL) return reply_error(context, problem);
    struct opened opened;
    if (!open_value(context, arguments[1], type, OPEN_TO_READ, &opened)) return REDIS_OK;
    if (opened.value == NULL) {
        redis.ReplyWithNull(context);
    } else if (number == 0) {
        begin_dump(context, opened.value, arguments[1]);
    } else {
        go_on_with_dump(context, type, arguments[1], (uint64_t)number);
    }
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

/* --- LOAD */

/* Replaces what is under the key by the value that the pieces make. */
static int finish_load(redis_context *context, redis_string *name, struct opened *opened) {
    struct value *partial = opened->value;
    struct value *value = value_load(partial->type, partial->partial);
    if (value == NULL) {
        redis.DeleteKey(opened->key);
        redis.CloseKey(opened->key);
        /* Replicas drop the pieces that they have. The command itself is not sent: what fails here
         * for lack of memory might succeed there. */
        if (!opened->is_new) {
            announce(context, name, "load");
            redis.Replicate(context, "DEL", "s", name);
        }
        return reply_error(context, ERROR_PIECES);
    }
    registry_add(value, name, redis.GetSelectedDb(context));
    void *previous = NULL;
    redis.ModuleTypeReplaceValue(opened->key, *value->type->handle, value, &previous);
    if (previous != NULL) registry_note_replaced(previous);
    value_release(previous);
    redis.CloseKey(opened->key);
    announce(context, name, "load");
    redis.ReplicateVerbatim(context);
    return redis.ReplyWithSimpleString(context, "OK");
}

/* The key's value, if pieces can be added to it: number 0 makes one in an empty key. */
static bool open_partial(redis_context *context, redis_string *name, const struct value_type *type,
                         long long number, struct opened *out) {
    *out = (struct opened){.key = redis.OpenKey(context, name, REDIS_READ | REDIS_WRITE)};
    bool is_empty = redis.KeyType(out->key) == REDIS_KEY_EMPTY;
    if (is_empty && number == 0) {
        struct chunks none = {0};
        struct value *value = value_partial(type, &none);
        registry_add(value, name, redis.GetSelectedDb(context));
        redis.ModuleTypeSetValue(out->key, *type->handle, value);
        out->value = value;
        out->is_new = true;
        return true;
    }
    if (!is_empty && redis.ModuleTypeGetType(out->key) == *type->handle) {
        struct value *value = redis.ModuleTypeGetValue(out->key);
        if (value->partial != NULL && (uint64_t)number == value->partial->count) {
            out->value = value;
            return true;
        }
    }
    redis.CloseKey(out->key);
    reply_error(context, is_empty || number != 0 ? ERROR_PIECE_ORDER : ERROR_BUSY_KEY);
    return false;
}

int load_command(redis_context *context, redis_string **arguments, int count) {
    const struct value_type *type = type_of_command(arguments[0]);
    int64_t number, is_last;
    if (count != 5) return redis.WrongArity(context);
    const char *problem = range_number(&range_piece, "number", arguments[2], &number);
    if (problem == NULL) problem = range_number(&range_last, "last", arguments[3], &is_last);
    if (problem != NULL) return reply_error(context, problem);
    size_t size;
    const char *data = redis.StringPtrLen(arguments[4], &size);
    if (size == 0 || size > CHUNK_BYTES + CHUNK_TRAILER_BYTES ||
        (is_last == 0 && size != CHUNK_BYTES)) {
        return reply_error(context, ERROR_PIECE_SIZE);
    }
    struct opened opened;
    if (!open_partial(context, arguments[1], type, number, &opened)) return REDIS_OK;
    struct value *value = opened.value;
    if (!chunks_append_copy(value->partial, data, size)) {
        redis.CloseKey(opened.key);
        return reply_error(context, ERROR_PIECE_ORDER);
    }
    if (is_last == 1) return finish_load(context, arguments[1], &opened);
    redis.CloseKey(opened.key);
    announce(context, arguments[1], "load");
    redis.ReplicateVerbatim(context);
    return redis.ReplyWithSimpleString(context, "OK");
}
