/* module/types/held.c - holds a structure of the library as a value. held.h has the essay. */
#include "types/held.h"

#include "change/change.h"
#include "server/reply.h"
#include "types.h"

static const struct holding *holding_of(const struct held *held) {
    return held->head.type->holding;
}

static const struct structure *row_of(const struct held *held) {
    return holding_of(held)->row;
}

lethe_status held_make(void *value, const void *options) {
    struct held *held = value;
    lethe_status status = holding_of(held)->make != NULL
                              ? holding_of(held)->make(options, &held->structure)
                              : row_of(held)->make(options, &held->structure);
    if (status == LETHE_OK) held->seed = row_of(held)->seed(held->structure);
    return status;
}

lethe_status held_save(const void *value, lethe_sink sink) {
    const struct held *held = value;
    return row_of(held)->save(held->structure, sink);
}

lethe_status held_load(void *value, lethe_source source) {
    struct held *held = value;
    const struct structure *row = row_of(held);
    lethe_status status = row->load(source, &module_allocator, &held->structure);
    if (status != LETHE_OK) return status;
    held->seed = row->seed(held->structure);
    bool (*is_acceptable)(const void *, uint64_t) = holding_of(held)->is_acceptable;
    bool is_good = (row->is == NULL || row->is(row, held->structure)) &&
                   (is_acceptable == NULL || is_acceptable(held->structure, held->head.clock_ms));
    return is_good ? LETHE_OK : LETHE_ECORRUPT;
}

lethe_status held_merge(void *value, const void *other) {
    const struct held *held = value;
    return row_of(held)->merge(held->structure, held_structure(other));
}

void held_drop(void *value) {
    const struct held *held = value;
    row_of(held)->free(held->structure);
}

size_t held_memory(const void *value) {
    const struct held *held = value;
    return holding_of(held)->memory(held->structure);
}

uint64_t held_bytes(const void *value) {
    return held_memory(value) + sizeof(struct held);
}

uint64_t held_planned_bytes(const struct value_type *type, const void *options) {
    uint64_t bytes;
    lethe_status status = structure_planned_bytes(type->holding->row, options, &bytes);
    return status == LETHE_OK ? bytes : 0;
}

int held_count(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    struct opened opened;
    if (!open_value(context, arguments[1], type_of_command(arguments[0]), OPEN_TO_READ, &opened))
        return REDIS_OK;
    const struct held *held = opened.value;
    redis.ReplyWithArray(context, count - 2);
    for (int i = 2; i < count; i++) {
        uint64_t times = 0;
        if (held != NULL) {
            size_t size;
            const char *item = redis.StringPtrLen(arguments[i], &size);
            lethe_hash hash = lethe_hash_bytes(held->seed, item, size);
            (void)!row_of(held)->count(held->structure, &hash, 1, 0, &times);
        }
        reply_count(context, times);
    }
    redis.CloseKey(opened.key);
    return REDIS_OK;
}
