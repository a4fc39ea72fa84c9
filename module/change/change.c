/* module/change/change.c - what all types do alike: opening a value, making it, changing it,
 * merging, INFO.
 *
 * A change's effect begins with the value's clock, so the clock is moved first. A change that is
 * given up turns the clock back, and leaves neither an effect nor a new key. */
#include "change/change.h"

#include <stdio.h>
#include <string.h>

#include "command/options.h"
#include "command/ranges.h"
#include "server/errors.h"
#include "server/limits.h"
#include "server/reply.h"
#include "types.h"
#include "value/registry.h"

/* --- Opening */

bool open_value(redis_context *context, redis_string *name, const struct value_type *type,
                enum open_mode mode, struct opened *out) {
    *out = (struct opened){0};
    int flags = mode == OPEN_TO_WRITE ? REDIS_READ | REDIS_WRITE : REDIS_READ;
    out->key = redis.OpenKey(context, name, flags);
    if (out->key == NULL) return true;
    const char *wrong = NULL;
    if (redis.ModuleTypeGetType(out->key) != *type->handle) {
        if (redis.KeyType(out->key) == REDIS_KEY_EMPTY) return true;
        wrong = ERROR_WRONG_TYPE;
    } else {
        out->value = redis.ModuleTypeGetValue(out->key);
        if (((struct value *)out->value)->partial != NULL) wrong = ERROR_PARTIAL;
    }
    if (wrong == NULL) return true;
    redis.CloseKey(out->key);
    reply_error(context, wrong);
    return false;
}

void store_value(redis_context *context, struct opened *opened, redis_string *name, void *value) {
    registry_add(value, name, redis.GetSelectedDb(context));
    redis.ModuleTypeSetValue(opened->key, *((struct value *)value)->type->handle, value);
    opened->value = value;
    opened->is_new = true;
}

void announce(redis_context *context, redis_string *name, const char *event) {
    redis.SignalModifiedKey(context, name);
    redis.NotifyKeyspaceEvent(context, REDIS_NOTIFY_MODULE, event, name);
}

/* --- Making */

lethe_status make_value(const struct value_type *type, const union options *options,
                        struct value **out) {
    *out = value_new(type);
    if (*out == NULL) return LETHE_ENOMEM;
    lethe_status status = type->make(*out, options);
    if (status == LETHE_OK) return LETHE_OK;
    value_release(*out);
    *out = NULL;
    return status;
}

/* Replies with the options that contradict each other. False if there are none. */
static bool reply_contradiction(redis_context *context, const struct value_type *type,
                                const union options *options) {
    const char *contradiction = type->contradiction != NULL ? type->contradiction(options) : NULL;
    if (contradiction == NULL) return false;
    char text[PROBLEM_BYTES];
    snprintf(text, sizeof text, ERROR_CONTRADICTION("%s"), contradiction);
    reply_error(context, text);
    return true;
}

/* Makes a value under an empty key, and begins the effect with that. */
static bool create(redis_context *context, redis_string *name, const struct value_type *type,
                   const union options *options, struct change *change) {
    struct value *value;
    if (!limits_allow_value(context, type, options)) {
        redis.CloseKey(change->opened.key);
        return false;
    }
    lethe_status status = make_value(type, options, &value);
    if (status != LETHE_OK) {
        redis.CloseKey(change->opened.key);
        /* The defaults of settings may contradict each other, too. */
        if (status == LETHE_EFULL) {
            reply_error(context, ERROR_NO_ROOM);
        } else if (status != LETHE_EINVAL || !reply_contradiction(context, type, options)) {
            reply_status(context, status);
        }
        return false;
    }
    if (has_time(type)) value_start_clock(value);
    if (type->complete != NULL) type->complete(value);
    store_value(context, &change->opened, name, value);
    if (type->on_made != NULL) type->on_made(context);
    effect_begin(&change->effect, value);
    if (type->write_options != NULL) {
        effect_u8(&change->effect, STEP_CREATE);
        type->write_options(options, &change->effect);
    } else {
        options_write(type->options, options, &change->effect);
    }
    if (type->write_more != NULL) type->write_more(options, &change->effect);
    limits_watch(value);
    return true;
}

bool begin_change(redis_context *context, redis_string *name, const struct value_type *type,
                  enum absence absence, enum audience audience, struct change *out) {
    struct value *value = out->opened.value;
    if (value == NULL) {
        if (absence == ABSENT_STAYS) return true;
        union options options;
        type->default_options(&options);
        return create(context, name, type, &options, out);
    }
    out->clock_before_ms = value->clock_ms;
    if (has_time(type)) (void)value_advance(value);
    if (audience == HEARD) {
        effect_begin(&out->effect, value);
    } else {
        effect_begin_silent(&out->effect);
    }
    limits_watch(value);
    return true;
}

bool open_to_change(redis_context *context, redis_string *name, const struct value_type *type,
                    enum absence absence, struct change *out) {
    return open_value(context, name, type, OPEN_TO_WRITE, &out->opened) &&
           begin_change(context, name, type, absence, HEARD, out);
}

void finish_change(redis_context *context, struct change *change, redis_string *name,
                   enum event event) {
    struct value *value = change->opened.value;
    const struct value_type *type = value->type;
    if (type->complete != NULL) type->complete(value);
    limits_unwatch();
    redis.CloseKey(change->opened.key);
    if (event == EVENT_NONE && change->opened.is_new) event = EVENT_CREATE;
    effect_send(&change->effect, context, name, value, event);
    const char *words = event_name(type, event);
    if (words != NULL) announce(context, name, words);
}

void abandon_change(struct change *change) {
    effect_drop(&change->effect);
    limits_unwatch();
    if (change->opened.is_new) {
        redis.DeleteKey(change->opened.key);
    } else {
        value_turn_back(change->opened.value, change->clock_before_ms);
    }
    redis.CloseKey(change->opened.key);
}

/* False with the error replied. */
static bool parse_options(redis_context *context, const struct value_type *type,
                          redis_string **words, int count, union options *out) {
    type->default_options(out);
    for (int i = 0; i < count; i += 2) {
        const struct option *option = option_find(type->options, words[i]);
        if (option == NULL || i + 1 == count) {
            char text[PROBLEM_BYTES], names[OPTION_NAMES_BYTES], shown[SHOWN_BYTES];
            option_names(type->options, names);
            snprintf(text, sizeof text, ERROR_OPTIONS("%s", "%s"), show_word(words[i], shown),
                     names);
            reply_error(context, text);
            return false;
        }
        if (!option_parse(option, words[i + 1], out)) {
            char range[OPTION_RANGE_BYTES];
            option_range(option, range);
            reply_error(context, value_problem(option->token, words[i + 1], range));
            return false;
        }
    }
    return !reply_contradiction(context, type, out);
}

int create_command(redis_context *context, redis_string **arguments, int count) {
    const struct value_type *type = type_of_command(arguments[0]);
    if (count < 2) return redis.WrongArity(context);
    union options options;
    if (!parse_options(context, type, arguments + 2, count - 2, &options)) return REDIS_OK;
    struct change change;
    if (!open_value(context, arguments[1], type, OPEN_TO_WRITE, &change.opened)) return REDIS_OK;
    if (change.opened.value != NULL) {
        redis.CloseKey(change.opened.key);
        return reply_error_of(context, type, ERROR_EXISTS);
    }
    /* Not earlier: a client that makes a value to be sure learns that it is there. */
    if (is_out_of_memory(context)) {
        redis.CloseKey(change.opened.key);
        return reply_out_of_memory(context, NULL);
    }
    if (!create(context, arguments[1], type, &options, &change)) return REDIS_OK;
    finish_change(context, &change, arguments[1], EVENT_CREATE);
    return redis.ReplyWithSimpleString(context, "OK");
}

/* --- Merging */

/* Values have clocks of their own: the later one counts for both from now on. */
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
        return reply_error_of(context, type, ERROR_MERGE_SELF);
    struct opened from;
    struct change into;
    if (!open_value(context, arguments[2], type, OPEN_TO_READ, &from)) return REDIS_OK;
    if (!open_value(context, arguments[1], type, OPEN_TO_WRITE, &into.opened)) {
        redis.CloseKey(from.key);
        return REDIS_OK;
    }
    struct value *target = into.opened.value;
    const struct value *other = from.value;
    bool both = other != NULL && target != NULL;
    lethe_status status = both ? merge(type, target, other) : LETHE_EINVAL;
    redis.CloseKey(from.key);
    if (status != LETHE_OK) {
        redis.CloseKey(into.opened.key);
        if (both) return reply_status(context, status);
        return reply_error_of(context, type, target == NULL ? ERROR_MERGE_INTO : ERROR_MERGE_FROM);
    }
    /* A replica has the other value too, byte for byte. To send it would fill the link's buffer,
     * and the server cuts off a replica whose buffer is full. */
    size_t size;
    const char *name = redis.StringPtrLen(arguments[2], &size);
    effect_begin(&into.effect, target);
    effect_u8(&into.effect, 'N');
    effect_u32(&into.effect, (uint32_t)size);
    effect_bytes(&into.effect, name, size);
    finish_change(context, &into, arguments[1], EVENT_MERGE);
    return redis.ReplyWithSimpleString(context, "OK");
}
