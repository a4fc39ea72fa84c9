/* module/change.c - what all types do alike: making a value, changing it, merging, telling how it stands, and repeating
 * what a master did.
 *
 * A change is: open_to_change, the type's own calls and what they add to the effect, finish_change. A replica
 * reads the effect step by step; C, M, N and W mean the same for every type and are repeated here, the rest by
 * the type's `repeat`. docs/format/module.md has every byte. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "frame.h"

/* Room for any type's options. */
union options {
    unsigned char bytes[OPTIONS_LIMIT_BYTES];
    max_align_t alignment;
};

const char *event_of(const struct value_type *type, const char *word) {
    static char event[64];
    snprintf(event, sizeof event, "%s.%s", type->prefix, word);
    for (char *letter = event; *letter != '\0'; letter++)
        *letter = (char)tolower((unsigned char)*letter);
    return event;
}

/* "ERR no such filter to merge from": a sentence with the type's noun in it. */
static int reply_with_noun(redis_context *context, const struct value_type *type,
                           const char *before, const char *after) {
    char text[128];
    snprintf(text, sizeof text, "%s %s%s", before, type->noun, after);
    return reply_error(context, text);
}

/* --- Making */

static lethe_status make_value(const struct value_type *type, const union options *options,
                               struct value **out) {
    *out = value_new(type);
    if (*out == NULL) return LETHE_ENOMEM;
    lethe_status status = type->make(*out, options);
    if (status == LETHE_OK) return LETHE_OK;
    value_release(*out);
    *out = NULL;
    return status;
}

/* Makes a value under an empty key, and begins the effect with that. */
static bool create(redis_context *context, redis_string *name, const struct value_type *type,
                   const union options *options, struct opened *opened) {
    struct value *value;
    if (!limits_allow_value(context, type, options)) {
        redis.CloseKey(opened->key);
        return false;
    }
    lethe_status status = make_value(type, options, &value);
    if (status != LETHE_OK) {
        redis.CloseKey(opened->key);
        reply_status(context, status);
        return false;
    }
    if (has_time(type)) value_start_clock(value);
    if (type->complete != NULL) type->complete(value);
    store_value(context, opened, name, value);
    if (type->on_made != NULL) type->on_made(context);
    effect_begin(value);
    effect_u8('C');
    type->write_options(options);
    limits_watch(value);
    return true;
}

bool open_to_change(redis_context *context, redis_string *name, const struct value_type *type,
                    enum absence absence, struct opened *out) {
    if (!open_value(context, name, type, OPEN_TO_WRITE, out)) return false;
    struct value *value = out->value;
    if (value == NULL) {
        if (absence == ABSENT_STAYS) return true;
        union options options;
        type->default_options(&options);
        return create(context, name, type, &options, out);
    }
    out->clock_before_ms = value->clock_ms;
    if (has_time(type)) (void)value_advance(value);
    effect_begin(value);
    limits_watch(value);
    return true;
}

void finish_change(redis_context *context, struct opened *opened, redis_string *name,
                   const char *event) {
    const struct value *value = opened->value;
    if (value->type->complete != NULL) value->type->complete(opened->value);
    limits_unwatch(opened->value);
    redis.CloseKey(opened->key);
    effect_send(context, name, opened->value);
    if (event == NULL && opened->is_new) event = event_of(value->type, value->type->create_word);
    if (event != NULL) announce(context, name, event);
}

void abandon_change(struct opened *opened) {
    limits_unwatch(opened->value);
    if (opened->is_new) {
        redis.DeleteKey(opened->key);
    } else {
        value_turn_back(opened->value, opened->clock_before_ms);
    }
    redis.CloseKey(opened->key);
}

int create_command(redis_context *context, redis_string **arguments, int count) {
    const struct value_type *type = type_of_command(arguments[0]);
    if (count < 2) return redis.WrongArity(context);
    union options options;
    type->default_options(&options);
    for (int i = 2; i < count; i += 2) {
        enum option_verdict verdict = OPTION_UNKNOWN;
        if (i + 1 < count) verdict = type->parse_option(arguments[i], arguments[i + 1], &options);
        if (verdict == OPTION_FINE) continue;
        char text[160];
        if (verdict == OPTION_WRONG) {
            snprintf(text, sizeof text, "ERR the value of %.32s is out of its range%s",
                     redis.StringPtrLen(arguments[i], NULL),
                     is_word(arguments[i], "WINDOW") ? ": it is in milliseconds" : "");
            return reply_error(context, text);
        }
        snprintf(text, sizeof text, "ERR syntax error: options are %s, each with a value",
                 type->option_names);
        return reply_error(context, text);
    }
    struct opened opened;
    if (!open_value(context, arguments[1], type, OPEN_TO_WRITE, &opened)) return REDIS_OK;
    if (opened.value != NULL) {
        redis.CloseKey(opened.key);
        return reply_with_noun(context, type, "BUSYKEY the", " exists already");
    }
    if (is_out_of_memory(
            context)) { /* not earlier: who makes a value to be sure learns that it is there */
        redis.CloseKey(opened.key);
        return reply_out_of_memory(context, NULL);
    }
    if (!create(context, arguments[1], type, &options, &opened)) return REDIS_OK;
    finish_change(context, &opened, arguments[1], event_of(type, type->create_word));
    return redis.ReplyWithSimpleString(context, "OK");
}

/* --- Merging */

/* Values keep times of their own: the later clock counts for both from now on. */
static lethe_status merge(const struct value_type *type, struct value *target,
                          const struct value *source) {
    lethe_status status = LETHE_OK;
    if (type->can_merge != NULL) status = type->can_merge(target, source);
    if (status == LETHE_OK) status = type->merge(target, source);
    if (status != LETHE_OK || !has_time(type)) return status;
    if (source->clock_ms > value_advance(target)) value_set_clock(target, source->clock_ms);
    return LETHE_OK;
}

int merge_command(redis_context *context, redis_string **arguments, int count) {
    const struct value_type *type = type_of_command(arguments[0]);
    if (count != 3) return redis.WrongArity(context);
    if (redis.StringCompare(arguments[1], arguments[2]) == 0)
        return reply_with_noun(context, type, "ERR a", " can't be merged into itself");
    struct opened from, into;
    if (!open_value(context, arguments[2], type, OPEN_TO_READ, &from)) return REDIS_OK;
    if (!open_value(context, arguments[1], type, OPEN_TO_WRITE, &into)) {
        redis.CloseKey(from.key);
        return REDIS_OK;
    }
    struct value *target = into.value;
    bool both = from.value != NULL && target != NULL;
    lethe_status status = both ? merge(type, target, from.value) : LETHE_EINVAL;
    if (status == LETHE_OK) {
        /* A replica has the other one too, byte for byte. To send it would fill the link's buffer, and a full one is cut. */
        size_t size;
        const char *name = redis.StringPtrLen(arguments[2], &size);
        effect_begin(target);
        effect_u8('N');
        effect_u32((uint32_t)size);
        effect_bytes(name, size);
    }
    redis.CloseKey(from.key);
    if (status != LETHE_OK) {
        redis.CloseKey(into.key);
        if (both) return reply_status(context, status);
        return reply_with_noun(context, type, "ERR no such",
                               target == NULL ? " to merge into" : " to merge from");
    }
    finish_change(context, &into, arguments[1], event_of(type, "merge"));
    return redis.ReplyWithSimpleString(context, "OK");
}

/* --- How it stands */

void info_name(struct info *info, const char *name) {
    info->count++;
    redis.ReplyWithCString(info->context, name);
}

void info_number(struct info *info, const char *name, uint64_t value) {
    info_name(info, name);
    reply_count(info->context, value);
}

void info_fraction(struct info *info, const char *name, double value) {
    info_name(info, name);
    redis.ReplyWithDouble(info->context, value);
}

int info_command(redis_context *context, redis_string **arguments, int count) {
    const struct value_type *type = type_of_command(arguments[0]);
    if (count != 2) return redis.WrongArity(context);
    struct opened opened;
    if (!open_value(context, arguments[1], type, OPEN_TO_READ, &opened)) return REDIS_OK;
    if (opened.value == NULL) {
        redis.CloseKey(opened.key);
        return reply_with_noun(context, type, "ERR no such", "");
    }
    struct info info = {.context = context};
    redis.ReplyWithMap(context, -1);
    type->info(&info, opened.value);
    redis.ReplySetMapLength(context, info.count);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

/* --- Repeating what a master did */

static bool repeat_creation(const struct value_type *type, struct value **value,
                            struct effect_reader *reader, uint64_t clock_ms, bool apply) {
    union options options;
    type->default_options(&options);
    if (!type->read_options(reader, &options) || !reader->is_valid) return false;
    if (!apply) return true;
    if (make_value(type, &options, value) != LETHE_OK) return false;
    if (!has_time(type)) return true;
    (*value)->clock_ms = 0;
    value_set_clock(*value, clock_ms);
    if (type->complete != NULL) type->complete(*value);
    return true;
}

/* The other one is a key beside this one. */
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

/* The other one's saved bytes are the rest of the effect: logs of earlier versions have that. */
static bool repeat_merge(const struct value_type *type, struct value *value,
                         struct effect_reader *reader, bool apply) {
    size_t size = reader->left;
    lethe_memory_reader memory = {.data = effect_read_bytes(reader, size), .size = size};
    struct value *other = value_new(type);
    if (other == NULL) return false;
    other->clock_ms = VALUE_MAX_TIME_MS; /* it is not told, and none is later */
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
    if (code == 'C') {
        *is_made = true;
        return !exists && repeat_creation(type, value, reader, clock_ms, apply);
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

bool repeat_effect(const struct value_type *type, void **value, struct effect_reader reader,
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
