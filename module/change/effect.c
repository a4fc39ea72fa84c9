/* module/change/effect.c - what a master did, for its replicas and its log.
 *
 * IDEA    A command that changes a value is not replicated as it came: whether an id was fresh,
 *         and what time it was, is decided once, by the master. What is sent is PREFIX.EFFECT
 *         key data, where data holds the value's clock and the steps that were done at that
 *         time. A replica repeats the same calls with the same times, so it arrives at the same
 *         bytes; and counters are set, not added to, so that it has the master's values in any
 *         case.
 * MEMORY  An effect borrows its buffer (server/scratch.h) and gives it back when it has been sent.
 *         A silent one has none.
 * I1      Every effect that was begun is ended once, by effect_send or effect_drop. */
#include "change/effect.h"

#include <string.h>

#include "server/scratch.h"
#include "value/registry.h"
#include "value/value.h"

/* The head of version 1 is the version and the clock; in version 2 a stamp follows. */
enum { VERSION_PLAIN = 1, VERSION_STAMPED = 2 };

static struct block pool;

/* --- Putting one together */

static void reserve(struct effect *effect, size_t more) {
    if (effect->block.capacity - effect->size >= more) return;
    effect->block.capacity = 2 * (effect->size + more) + 256;
    effect->block.data = redis.Realloc(effect->block.data, effect->block.capacity);
}

void effect_bytes(struct effect *effect, const void *data, size_t size) {
    if (size == 0 || effect->is_silent) return;
    reserve(effect, size);
    memcpy(effect->block.data + effect->size, data, size);
    effect->size += size;
}

void effect_u8(struct effect *effect, uint8_t number) {
    effect_bytes(effect, &number, sizeof number);
}

void effect_u32(struct effect *effect, uint32_t number) {
    effect_bytes(effect, &number, sizeof number);
}

void effect_u64(struct effect *effect, uint64_t number) {
    effect_bytes(effect, &number, sizeof number);
}

void effect_f64(struct effect *effect, double number) {
    effect_bytes(effect, &number, sizeof number);
}

void effect_hash(struct effect *effect, lethe_hash hash) {
    effect_bytes(effect, &hash, sizeof hash);
}

void effect_begin(struct effect *effect, struct value *value) {
    effect->block = block_take(&pool);
    effect->size = 0;
    effect->is_silent = false;
    effect->is_stamped = has_time(value->type) && clock_needs_stamp(value, &effect->stamp);
    effect_u8(effect, effect->is_stamped ? VERSION_STAMPED : VERSION_PLAIN);
    effect_u64(effect, value->clock_ms);
    if (effect->is_stamped) {
        effect_bytes(effect, effect->stamp.host, sizeof effect->stamp.host);
        effect_u64(effect, effect->stamp.boot);
        effect_u64(effect, (uint64_t)effect->stamp.boot_skew_ms);
        effect_u64(effect, (uint64_t)effect->stamp.wall_skew_ms);
    }
}

void effect_begin_silent(struct effect *effect) {
    effect->block = (struct block){NULL, 0};
    effect->size = 0;
    effect->is_stamped = false;
    effect->is_silent = true;
}

void effect_drop(struct effect *effect) {
    if (effect->is_silent) return; /* it has borrowed nothing */
    block_give(&pool, effect->block);
    effect->block = (struct block){NULL, 0};
}

void effect_send(struct effect *effect, redis_context *context, redis_string *key,
                 struct value *value, enum event event) {
    if (effect->is_silent) {
        redis.ReplicateVerbatim(context);
    } else {
        const char *name = event_command(value->type, event);
        registry_counts.effects++;
        redis.Replicate(context, name, "sb", key, (const char *)effect->block.data, effect->size);
        if (effect->is_stamped) clock_set_stamp(value, &effect->stamp);
    }
    registry_touch(value);
    effect_drop(effect);
}

void effect_send_stamp(redis_context *context, redis_string *key, struct value *value) {
    struct effect effect;
    value->stamp_due_ms = 0; /* the value's clock stands still, and the host's may have been set */
    effect_begin(&effect, value);
    if (effect.is_stamped) {
        effect_send(&effect, context, key, value, EVENT_NONE);
    } else {
        effect_drop(&effect);
    }
}

/* --- Reading one */

const void *effect_read_bytes(struct effect_reader *reader, size_t size) {
    if (size > reader->left) {
        reader->is_valid = false;
        reader->left = 0;
        return NULL;
    }
    const void *data = reader->data;
    reader->data += size;
    reader->left -= size;
    return data;
}

static void read_into(struct effect_reader *reader, void *out, size_t size) {
    const void *data = effect_read_bytes(reader, size);
    if (data != NULL) memcpy(out, data, size);
}

uint8_t effect_read_u8(struct effect_reader *reader) {
    uint8_t number = 0;
    read_into(reader, &number, sizeof number);
    return number;
}

uint32_t effect_read_u32(struct effect_reader *reader) {
    uint32_t number = 0;
    read_into(reader, &number, sizeof number);
    return number;
}

uint64_t effect_read_u64(struct effect_reader *reader) {
    uint64_t number = 0;
    read_into(reader, &number, sizeof number);
    return number;
}

double effect_read_f64(struct effect_reader *reader) {
    double number = 0;
    read_into(reader, &number, sizeof number);
    return number;
}

lethe_hash effect_read_hash(struct effect_reader *reader) {
    lethe_hash hash = {0};
    read_into(reader, &hash, sizeof hash);
    return hash;
}

bool effect_read_head(struct effect_reader *reader, struct effect_head *out) {
    uint8_t version = effect_read_u8(reader);
    *out = (struct effect_head){.clock_ms = effect_read_u64(reader),
                                .is_stamped = version == VERSION_STAMPED};
    if (out->is_stamped) {
        read_into(reader, out->stamp.host, sizeof out->stamp.host);
        out->stamp.boot = effect_read_u64(reader);
        out->stamp.boot_skew_ms = (int64_t)effect_read_u64(reader);
        out->stamp.wall_skew_ms = (int64_t)effect_read_u64(reader);
    }
    return reader->is_valid && (version == VERSION_PLAIN || version == VERSION_STAMPED) &&
           out->clock_ms <= VALUE_MAX_TIME_MS;
}
