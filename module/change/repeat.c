/* module/change/repeat.c - repeating what a master did: the command PREFIX.EFFECT.
 *
 * An effect is checked from its first byte to its last before anything is done, and is accepted
 * only from the replication link or the log: a client must not set a value's clock. The steps C,
 * c, M, N and W mean the same for every type and are repeated here, the others by the type's
 * `repeat`. */
#include "change/repeat.h"

#include <string.h>

#include "change/change.h"
#include "change/effect.h"
#include "command/options.h"
#include "server/errors.h"
#include "server/limits.h"
#include "server/reply.h"
#include "types.h"
#include "value/registry.h"
#include "value/value.h"

static bool repeat_creation(const struct value_type *type, uint8_t step, struct value **value,
                            struct effect_reader *reader, uint64_t clock_ms, bool apply) {
    union options options;
    type->default_options(&options);
    bool is_read = type->read_options != NULL
                       ? step == STEP_CREATE && type->read_options(reader, &options)
                       : options_read(type->options, step, reader, &options);
    if (!is_read || !reader->is_valid) return false;
    if (!apply) return true;
    if (make_value(type, &options, value) != LETHE_OK) return false;
    if (!has_time(type)) return true;
    (*value)->clock_ms = 0;
    value_set_clock(*value, clock_ms);
    if (type->complete != NULL) type->complete(*value);
    return true;
}

/* The other value is under another key of the same database. */
static bool repeat_named_merge(const struct value_type *type, struct value *value,
                               struct effect_reader *reader, bool apply) {
    uint32_t size = effect_read_u32(reader);
    const char *data = effect_read_bytes(reader, size);
    if (data == NULL) return false;
    redis_string *name = redis.CreateString(reader->context, data, size);
    redis_key *key = redis.OpenKey(reader->context, name, REDIS_READ);
    bool is_good = key != NULL && redis.ModuleTypeGetType(key) == *type->handle;
    if (is_good) {
        const struct value *other = redis.ModuleTypeGetValue(key);
        is_good = other->partial == NULL && other != value &&
                  (!apply || type->merge(value, other) == LETHE_OK);
    }
    if (key != NULL) redis.CloseKey(key);
    redis.FreeString(reader->context, name);
    return is_good;
}

/* The other value's saved bytes are the rest of the effect, as in logs of earlier versions. */
static bool repeat_merge(const struct value_type *type, struct value *value,
                         struct effect_reader *reader, bool apply) {
    size_t size = reader->left;
    lethe_memory_reader memory = {.data = effect_read_bytes(reader, size), .size = size};
    struct value *other = value_new(type);
    if (other == NULL) return false;
    other->clock_ms = VALUE_MAX_TIME_MS; /* not known, and no time is later */
    bool is_good = type->load(other, lethe_source_from_memory(&memory)) == LETHE_OK;
    if (is_good && apply) is_good = type->merge(value, other) == LETHE_OK;
    value_release(other);
    return is_good;
}

static bool repeat_step(const struct value_type *type, struct value **value,
                        struct effect_reader *reader, uint64_t clock_ms, bool apply,
                        bool *is_made) {
    uint8_t code = effect_read_u8(reader);
    bool exists = *value != NULL || (!apply && *is_made);
    if (code == STEP_CREATE || code == STEP_CREATE_LATE) {
        *is_made = true;
        return !exists && repeat_creation(type, code, value, reader, clock_ms, apply);
    }
    if (!exists) return false;
    if (code == 'M' && type->merge != NULL) return repeat_merge(type, *value, reader, apply);
    if (code == 'N' && type->merge != NULL) return repeat_named_merge(type, *value, reader, apply);
    if (code == 'W' && has_time(type)) {
        if (apply) type->let_time_pass(*value);
        return true;
    }
    return type->repeat(*value, code, reader, apply);
}

/* Carries out what a master did, or with apply false checks that all of it is valid. */
static bool repeat_effect(const struct value_type *type, void **value, struct effect_reader reader,
                          uint64_t clock_ms, bool apply) {
    struct value *found = *value;
    bool is_good = true, is_made = false;
    if (found != NULL && apply && has_time(type)) value_set_clock(found, clock_ms);
    while (is_good && reader.is_valid && reader.left > 0)
        is_good = repeat_step(type, &found, &reader, clock_ms, apply, &is_made);
    if (found != NULL && apply && type->complete != NULL) type->complete(found);
    *value = found;
    return is_good && reader.is_valid && (found != NULL || is_made);
}

/* Whether the command may come from where it comes from. */
static bool is_trusted(redis_context *context) {
    int flags = redis.GetContextFlags(context);
    return (flags & (REDIS_FLAG_REPLICATED | REDIS_FLAG_LOADING)) != 0;
}

int effect_command(redis_context *context, redis_string **arguments, int count) {
    const struct value_type *type = type_of_command(arguments[0]);
    if (count != 3) return redis.WrongArity(context);
    if (!is_trusted(context)) return reply_error(context, ERROR_EFFECT_CLIENT);
    size_t size;
    const char *data = redis.StringPtrLen(arguments[2], &size);
    struct effect_reader reader = {context, (const unsigned char *)data, size, true, 0};
    struct effect_head head;
    if (!effect_read_head(&reader, &head)) return reply_error(context, ERROR_EFFECT_VERSION);
    struct opened opened;
    if (!open_value(context, arguments[1], type, OPEN_TO_WRITE, &opened)) return REDIS_OK;
    void *value = opened.value;
    if (!repeat_effect(type, &value, reader, head.clock_ms, false)) {
        redis.CloseKey(opened.key);
        return reply_error(context, ERROR_EFFECT);
    }
    limits_lift();
    bool is_applied = repeat_effect(type, &value, reader, head.clock_ms, true);
    limits_restore();
    if (value != NULL && head.is_stamped) clock_set_stamp(value, &head.stamp);
    if (opened.value == NULL && value != NULL) store_value(context, &opened, arguments[1], value);
    if (value != NULL) registry_touch(value);
    redis.CloseKey(opened.key);
    redis.ReplicateVerbatim(context);
    if (!is_applied) return reply_error(context, ERROR_EFFECT_MEMORY);
    enum event event = event_read(arguments[0]);
    /* A master of an earlier version announces no event either when only time passes. */
    bool is_tick = reader.left == 0 || (reader.left == 1 && *reader.data == 'W');
    if (event == EVENT_UNKNOWN && is_tick) event = EVENT_NONE;
    const char *words = event_name(type, event);
    if (words != NULL) announce(context, arguments[1], words);
    return redis.ReplyWithSimpleString(context, "OK");
}
