/* module/once_open.c - how commands open a once-table. */
#include "once.h"

bool once_open_to_change(redis_context *context, redis_string *name, bool may_create,
                         struct once_opened *out) {
    out->is_out_of_memory = is_out_of_memory(context);
    enum absence absence = may_create && !out->is_out_of_memory ? ABSENT_IS_MADE : ABSENT_STAYS;
    if (!open_to_change(context, name, &once_type, absence, &out->opened)) return false;
    const struct value *value = out->opened.value;
    if (value != NULL) {
        out->is_out_of_memory = out->is_out_of_memory || limits_are_reached(value);
        return true;
    }
    redis.CloseKey(out->opened.key);
    if (may_create) {
        reply_out_of_memory(context, NULL);
    } else {
        reply_error(context, "NOTABLE there is no such table; make it with ONCE.CREATE");
    }
    return false;
}

bool once_are_ids(redis_context *context, redis_string **words, size_t count, size_t step) {
    for (size_t i = 0; i < count; i++) {
        size_t size;
        (void)redis.StringPtrLen(words[i * step], &size);
        if (size > 0) continue;
        reply_error(context, "ERR an id is empty; nothing was changed");
        return false;
    }
    return true;
}

bool once_open_to_read(redis_context *context, redis_string *name, struct opened *opened,
                       const struct once **out) {
    *out = NULL;
    if (!open_value(context, name, &once_type, OPEN_TO_READ, opened)) return false;
    *out = opened->value;
    return true;
}

bool once_is_copy(const struct once *table, lethe_hash id) {
    return lethe_window_check(table->window, id, table->head.clock_ms) == LETHE_DUPLICATE;
}
