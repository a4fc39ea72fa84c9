/* module/change/effect.h - effects: what a master did, for its replicas and its log.
 *
 * effect.c has the essay, docs/format/module.md every byte. A change owns one effect:
 * open_to_change begins it, the type's functions append their steps to it, finish_change sends
 * it. */
#ifndef LETHE_MODULE_CHANGE_EFFECT_H
#define LETHE_MODULE_CHANGE_EFFECT_H

#include <lethe/lethe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "change/events.h"
#include "server/redis_api.h"
#include "server/scratch.h"
#include "value/clock.h"

struct value;

/* An effect that is being put together. */
struct effect {
    struct block block;
    size_t size;
    /* The new stamp, if the head carries one. */
    struct stamp stamp;
    bool is_stamped;
    /* Nobody gets it, and nothing is appended to it. */
    bool is_silent;
};

/* Begins an effect with the value's clock and, where the value's stamp is out of date, with a
 * new one. It must be ended by effect_send or effect_drop. Cost: no allocation, except for an
 * effect that begins while another is under way, or one of more than a mebibyte. */
void effect_begin(struct effect *effect, struct value *value);
/* Begins one to which nobody listens (change/listeners.h): what is appended to it is dropped, and
 * sending it only reports to the server that something has changed. For commands that would do the
 * same if a replica ran them. */
void effect_begin_silent(struct effect *effect);
void effect_u8(struct effect *effect, uint8_t number);
void effect_u32(struct effect *effect, uint32_t number);
void effect_u64(struct effect *effect, uint64_t number);
void effect_f64(struct effect *effect, double number);
void effect_bytes(struct effect *effect, const void *data, size_t size);
void effect_hash(struct effect *effect, lethe_hash hash);

/* Sends the effect on that value, and what it is announced by, to the replicas and the log, and
 * ends it. */
void effect_send(struct effect *effect, redis_context *context, redis_string *key,
                 struct value *value, enum event event);
/* Ends an effect that is not sent. */
void effect_drop(struct effect *effect);

/* Sends an effect without steps if the value's stamp is out of date. */
void effect_send_stamp(redis_context *context, redis_string *key, struct value *value);

/* Reads an effect. After the first read beyond the end, is_valid is false and numbers read as 0. */
struct effect_reader {
    redis_context *context;
    const unsigned char *data;
    size_t left;
    bool is_valid;
    /* Which steps came before: a type's own note. */
    uint32_t seen;
};
uint8_t effect_read_u8(struct effect_reader *reader);
uint32_t effect_read_u32(struct effect_reader *reader);
uint64_t effect_read_u64(struct effect_reader *reader);
double effect_read_f64(struct effect_reader *reader);
/* NULL beyond the end. */
const void *effect_read_bytes(struct effect_reader *reader, size_t size);
lethe_hash effect_read_hash(struct effect_reader *reader);

/* The beginning of an effect. */
struct effect_head {
    uint64_t clock_ms;
    struct stamp stamp;
    bool is_stamped;
};
/* False when this is not an effect that this version knows. */
bool effect_read_head(struct effect_reader *reader, struct effect_head *out);

#endif
