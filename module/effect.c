/* module/effect.c - what a master did, for its replicas and its log.
 *
 * A command that changes a value is not replicated as it came: whether an id was fresh, and what time it was,
 * is decided once, by the master. What is sent is PREFIX.EFFECT key data, where data tells the time
 * and what was done at that time. A replica repeats the same calls with the same times, so it arrives at
 * the same bytes; and counters are set, not added to, so that it has the master's values even if it did not.
 *
 * An effect is checked from its first byte to its last before anything is done, and is accepted only from the
 * replication link or the log: a client has no business setting a value's clock. */
#include <string.h>

#include "frame.h"

/* The head of version 1 is the version and the clock; in version 2 a stamp follows. */
enum { VERSION_PLAIN = 1, VERSION_STAMPED = 2 };

static struct {
    unsigned char *data;
    size_t size, capacity;
    size_t head_size;
    struct stamp stamp;
    bool is_stamped;
} effect;

static void reserve(size_t more) {
    if (effect.capacity - effect.size >= more) return;
    effect.capacity = 2 * (effect.size + more) + 256;
    effect.data = redis.Realloc(effect.data, effect.capacity);
}

void effect_bytes(const void *data, size_t size) {
    if (size == 0) return;
    reserve(size);
    memcpy(effect.data + effect.size, data, size);
    effect.size += size;
}

void effect_u8(uint8_t number) {
    effect_bytes(&number, sizeof number);
}

void effect_u32(uint32_t number) {
    effect_bytes(&number, sizeof number);
}

void effect_u64(uint64_t number) {
    effect_bytes(&number, sizeof number);
}

void effect_f64(double number) {
    effect_bytes(&number, sizeof number);
}

void effect_hash(lethe_hash hash) {
    effect_bytes(&hash, sizeof hash);
}

void effect_begin(const struct value *value) {
    effect.size = 0;
    effect.is_stamped = false;
    /* The process may have had to wait between the reading of two clocks; hardly so three times in a row. */
    for (int i = 0; i < 3 && has_time(value->type) && (i == 0 || effect.is_stamped); i++) {
        effect.stamp = clock_stamp(value);
        effect.is_stamped = !clock_is_stamped(value, &effect.stamp);
    }
    effect_u8(effect.is_stamped ? VERSION_STAMPED : VERSION_PLAIN);
    effect_u64(value->clock_ms);
    if (effect.is_stamped) {
        effect_bytes(effect.stamp.host, sizeof effect.stamp.host);
        effect_u64(effect.stamp.boot);
        effect_u64((uint64_t)effect.stamp.boot_skew_ms);
        effect_u64((uint64_t)effect.stamp.wall_skew_ms);
    }
    effect.head_size = effect.size;
}

void effect_stamp(redis_context *context, redis_string *key, struct value *value) {
    effect_begin(value);
    if (effect.is_stamped) effect_send(context, key, value);
}

void effect_send(redis_context *context, redis_string *key, struct value *value) {
    registry_counts.effects++;
    if (effect.size == effect.head_size) registry_counts.no_ops++;
    redis.Replicate(context, value->type->effect_name, "sb", key, (const char *)effect.data,
                    effect.size);
    if (effect.is_stamped) value->stamp = effect.stamp;
    if (effect.capacity <= KEPT_BYTES) return;
    redis.Free(effect.data);
    effect.data = NULL;
    effect.capacity = effect.size = 0;
}

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

/* Whether the command may come from where it comes from. */
static bool is_trusted(redis_context *context) {
    int flags = redis.GetContextFlags(context);
    return (flags & (REDIS_FLAG_REPLICATED | REDIS_FLAG_LOADING)) != 0;
}

/* The beginning of an effect. */
struct head {
    uint64_t clock_ms;
    struct stamp stamp;
    bool is_stamped;
};

static bool read_head(struct effect_reader *reader, struct head *out) {
    uint8_t version = effect_read_u8(reader);
    *out = (struct head){.clock_ms = effect_read_u64(reader),
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

int effect_command(redis_context *context, redis_string **arguments, int count) {
    const struct value_type *type = type_of_command(arguments[0]);
    if (count != 3) return redis.WrongArity(context);
    if (!is_trusted(context))
        return reply_error(context, "ERR effects come from a master or the log only");
    size_t size;
    const char *data = redis.StringPtrLen(arguments[2], &size);
    struct effect_reader reader = {context, (const unsigned char *)data, size, true};
    struct head head;
    if (!read_head(&reader, &head))
        return reply_error(context, "ERR not an effect that this Lethe knows");
    struct opened opened;
    if (!open_value(context, arguments[1], type, OPEN_TO_WRITE, &opened)) return REDIS_OK;
    void *value = opened.value;
    if (!repeat_effect(type, &value, reader, head.clock_ms, false)) {
        redis.CloseKey(opened.key);
        return reply_error(context, "ERR not an effect on this value");
    }
    limits_lift();
    bool is_applied = repeat_effect(type, &value, reader, head.clock_ms, true);
    limits_restore();
    if (value != NULL && head.is_stamped) ((struct value *)value)->stamp = head.stamp;
    if (opened.value == NULL && value != NULL) store_value(context, &opened, arguments[1], value);
    redis.CloseKey(opened.key);
    redis.ReplicateVerbatim(context);
    if (!is_applied) return reply_error(context, "ERR no memory for what the master did");
    /* That time passes is no event, as it is none on the master. */
    bool is_tick = reader.left == 0 || (reader.left == 1 && *reader.data == 'W');
    if (!is_tick) announce(context, arguments[1], "effect");
    return redis.ReplyWithSimpleString(context, "OK");
}
