/* module/fid.c - FID.*: frequencies of any number of items in a fixed amount of memory, as a data type.
 *
 * A key holds one sketch of the FID kind; it has no window and forgets nothing by itself, but items can be
 * removed again. Estimates are never too low, as long as nothing is removed that was not added. The effects
 * (docs/format/module.md):
 *   C  make the sketch with these options
 *   A  add an item, so often      R  remove it, so often
 *   M  add all of another sketch, whose saved bytes follow */
#include <string.h>

#include "frame.h"

struct fid {
    struct value head;
    lethe_sketch *sketch;
};

static redis_type *handle;

/* --- Making one */

static void default_options(void *options) {
    *(lethe_sketch_options *)options = (lethe_sketch_options){
        .kind = LETHE_SKETCH_FID, .seed = random_seed(), .allocator = &module_allocator};
}

static uint64_t planned_bytes(const void *options) {
    lethe_sketch_shape shape;
    return lethe_sketch_plan(options, &shape) == LETHE_OK ? shape.memory_bytes : 0;
}

static lethe_status make(void *value, const void *options) {
    return lethe_sketch_new(options, &((struct fid *)value)->sketch);
}

static bool parse_size(const redis_string *text, long long most, uint64_t *out) {
    long long number;
    if (redis.StringToLongLong(text, &number) != REDIS_OK || number < 1 || number > most)
        return false;
    *out = (uint64_t)number;
    return true;
}

static bool parse_small(const redis_string *text, long long most, uint32_t *out) {
    uint64_t number = 0;
    bool is_good = parse_size(text, most, &number);
    if (is_good) *out = (uint32_t)number;
    return is_good;
}

static enum option_verdict parse_option(const redis_string *name, const redis_string *value,
                                        void *wanted) {
    lethe_sketch_options *options = wanted;
    bool is_good;
    if (is_word(name, "SEED")) {
        is_good = parse_seed(value, &options->seed);
    } else if (is_word(name, "WIDTH")) {
        is_good = parse_size(value, (long long)LETHE_SKETCH_MAX_WIDTH, &options->width);
    } else if (is_word(name, "DEPTH")) {
        is_good = parse_small(value, LETHE_SKETCH_MAX_DEPTH, &options->depth);
    } else if (is_word(name, "BITS")) {
        is_good = parse_small(value, 64, &options->counter_bits);
    } else if (is_word(name, "TOP")) {
        is_good = parse_small(value, LETHE_SKETCH_MAX_TOP, &options->top);
    } else {
        return OPTION_UNKNOWN;
    }
    return is_good ? OPTION_FINE : OPTION_WRONG;
}

static void write_options(const void *wanted) {
    const lethe_sketch_options *options = wanted;
    effect_u64(options->width);
    effect_u32(options->depth);
    effect_u32(options->counter_bits);
    effect_u32(options->top);
    effect_u64(options->seed);
}

static bool read_options(struct effect_reader *reader, void *wanted) {
    lethe_sketch_options *options = wanted;
    options->width = effect_read_u64(reader);
    options->depth = effect_read_u32(reader);
    options->counter_bits = effect_read_u32(reader);
    options->top = effect_read_u32(reader);
    options->seed = effect_read_u64(reader);
    return true;
}

/* --- Adding and removing: item, how often, item, how often */

static lethe_status change_one(struct fid *fid, bool is_addition, lethe_bytes item,
                               uint64_t weight) {
    return is_addition ? lethe_sketch_add(fid->sketch, item.data, item.size, weight)
                       : lethe_sketch_remove(fid->sketch, item.data, item.size, weight);
}

static lethe_bytes bytes_of(const redis_string *string) {
    lethe_bytes bytes;
    bytes.data = redis.StringPtrLen(string, &bytes.size);
    return bytes;
}

static bool are_pairs_valid(redis_string **arguments, int count) {
    for (int i = 2; i < count; i += 2) {
        uint64_t weight;
        if (!parse_size(arguments[i + 1], INT64_MAX, &weight) ||
            bytes_of(arguments[i]).size > LETHE_SKETCH_MAX_KEY_BYTES) {
            return false;
        }
    }
    return true;
}

static void change_and_reply(redis_context *context, struct fid *fid, bool is_addition,
                             redis_string *item, redis_string *weight_text) {
    uint64_t weight = 0;
    (void)parse_size(weight_text, INT64_MAX, &weight);
    lethe_bytes bytes = bytes_of(item);
    lethe_status status = change_one(fid, is_addition, bytes, weight);
    if (status == LETHE_ENOTFOUND) {
        reply_error(context, "ERR fewer than that were added; nothing was changed");
    } else if (status != LETHE_OK) {
        reply_status(context, status);
    } else {
        effect_u8(is_addition ? 'A' : 'R');
        effect_u64(weight);
        effect_u32((uint32_t)bytes.size);
        effect_bytes(bytes.data, bytes.size);
        reply_count(context, lethe_sketch_query(fid->sketch, bytes.data, bytes.size).count);
    }
}

static int change(redis_context *context, redis_string **arguments, int count, bool is_addition) {
    if (count < 4 || count % 2 != 0) return redis.WrongArity(context);
    if (!are_pairs_valid(arguments, count)) {
        return reply_error(context, "ERR items have at most 65535 bytes, and each comes with a "
                                    "number of times from 1 on");
    }
    struct opened opened;
    enum absence absence = is_addition ? ABSENT_IS_MADE : ABSENT_STAYS;
    if (!open_to_change(context, arguments[1], &fid_type, absence, &opened)) return REDIS_OK;
    if (opened.value == NULL) {
        redis.CloseKey(opened.key);
        return reply_error(context, "ERR no such sketch");
    }
    redis.ReplyWithArray(context, (count - 2) / 2);
    for (int i = 2; i < count; i += 2)
        change_and_reply(context, opened.value, is_addition, arguments[i], arguments[i + 1]);
    finish_change(context, &opened, arguments[1], is_addition ? "fid.add" : "fid.remove");
    return REDIS_OK;
}

static int add_command(redis_context *context, redis_string **arguments, int count) {
    return change(context, arguments, count, true);
}

static int remove_command(redis_context *context, redis_string **arguments, int count) {
    return change(context, arguments, count, false);
}

/* --- Asking */

static int count_command(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    struct opened opened;
    if (!open_value(context, arguments[1], &fid_type, OPEN_TO_READ, &opened)) return REDIS_OK;
    const struct fid *fid = opened.value;
    redis.ReplyWithArray(context, count - 2);
    for (int i = 2; i < count; i++) {
        lethe_bytes item = bytes_of(arguments[i]);
        uint64_t found =
            fid != NULL ? lethe_sketch_query(fid->sketch, item.data, item.size).count : 0;
        reply_count(context, found);
    }
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

static int top_command(redis_context *context, redis_string **arguments, int count) {
    uint64_t wanted;
    if (count != 3) return redis.WrongArity(context);
    if (!parse_size(arguments[2], LETHE_SKETCH_MAX_TOP, &wanted))
        return reply_error(context, "ERR how many is a number from 1 on");
    struct opened opened;
    if (!open_value(context, arguments[1], &fid_type, OPEN_TO_READ, &opened)) return REDIS_OK;
    const struct fid *fid = opened.value;
    size_t listed = 0;
    lethe_sketch_top_entry *entries = NULL;
    if (fid != NULL && lethe_sketch_get_shape(fid->sketch).top > 0) {
        entries = scratch(wanted, sizeof *entries);
        if (lethe_sketch_top(fid->sketch, entries, wanted, &listed) != LETHE_OK) listed = 0;
    }
    redis.ReplyWithArray(context, (long)(2 * listed));
    for (size_t i = 0; i < listed; i++) {
        redis.ReplyWithStringBuffer(context, entries[i].key, entries[i].size);
        reply_count(context, entries[i].count);
    }
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

static size_t memory(const void *value) {
    return lethe_sketch_get_shape(((const struct fid *)value)->sketch).memory_bytes;
}

static void tell(struct info *info, const void *value) {
    const struct fid *fid = value;
    /* Not lethe_sketch_info, which looks at all counters: for a large sketch that takes seconds. */
    lethe_sketch_shape shape = lethe_sketch_get_shape(fid->sketch);
    uint64_t total = lethe_sketch_total(fid->sketch);
    info_number(info, "width", shape.width);
    info_number(info, "depth", shape.depth);
    info_number(info, "counter_bits", shape.counter_bits);
    info_number(info, "total", total);
    info_number(info, "memory_bytes", memory(fid) + sizeof *fid);
    info_fraction(info, "error_above", shape.epsilon * (double)total);
    info_number(info, "top", shape.top);
}

static lethe_status merge(void *value, const void *other) {
    return lethe_sketch_merge(((struct fid *)value)->sketch, ((const struct fid *)other)->sketch);
}

/* --- Repeating what a master did */

static bool repeat_change(struct fid *fid, struct effect_reader *reader, bool is_addition,
                          bool apply) {
    uint64_t weight = effect_read_u64(reader);
    uint32_t size = effect_read_u32(reader);
    lethe_bytes item = {.data = effect_read_bytes(reader, size), .size = size};
    bool is_valid = item.data != NULL && weight > 0 && size <= LETHE_SKETCH_MAX_KEY_BYTES;
    if (is_valid && apply) (void)!change_one(fid, is_addition, item, weight);
    return is_valid;
}

static bool repeat(void *value, uint8_t code, struct effect_reader *reader, bool apply) {
    return (code == 'A' || code == 'R') && repeat_change(value, reader, code == 'A', apply);
}

/* --- The type */

static lethe_status save(const void *value, lethe_sink sink) {
    return lethe_sketch_save(((const struct fid *)value)->sketch, sink);
}

static lethe_status load(void *value, lethe_source source) {
    struct fid *fid = value;
    lethe_status status = lethe_sketch_load(source, &module_allocator, &fid->sketch);
    if (status != LETHE_OK) return status;
    bool is_ours = lethe_sketch_get_shape(fid->sketch).kind == LETHE_SKETCH_FID;
    return is_ours ? LETHE_OK : LETHE_ECORRUPT;
}

static void *load_from_snapshot(redis_io *io, int version) {
    return value_from_snapshot(&fid_type, io, version);
}

static void drop(void *value) {
    lethe_sketch_free(((struct fid *)value)->sketch);
}

static lethe_status save_answers(const void *value, lethe_sink sink) {
    return lethe_sketch_export(((const struct fid *)value)->sketch, sink);
}

/* Of the part that answers: which keys are listed as the most frequent may differ in the last places between
 * a sketch and one that was loaded in between, where several have the same count. */
static void digest(const void *value, redis_digest *digest) {
    lethe_hash hash;
    lethe_status status = hash_of_saved(save_answers, value, &hash);
    redis.DigestAddLongLong(digest, status);
    redis.DigestAddStringBuffer(digest, (const char *)&hash, sizeof hash);
}

static redis_argument reserve_arguments[] = {ARGUMENT_KEY("key", 0),
                                             ARGUMENT_NAMED("WIDTH", "width", INTEGER),
                                             ARGUMENT_NAMED("DEPTH", "depth", INTEGER),
                                             ARGUMENT_NAMED("BITS", "bits", INTEGER),
                                             ARGUMENT_NAMED("TOP", "top", INTEGER),
                                             ARGUMENT_NAMED("SEED", "seed", INTEGER),
                                             ARGUMENT_END};
static redis_argument pair_parts[] = {ARGUMENT("item", STRING, 0), ARGUMENT("times", INTEGER, 0),
                                      ARGUMENT_END};
static redis_argument pairs_arguments[] = {
    ARGUMENT_KEY("key", 0), ARGUMENT_BLOCK("change", REDIS_ARGUMENT_MULTIPLE, pair_parts),
    ARGUMENT_END};
static redis_argument items_arguments[] = {
    ARGUMENT_KEY("key", 0), ARGUMENT("item", STRING, REDIS_ARGUMENT_MULTIPLE), ARGUMENT_END};
static redis_argument top_arguments[] = {ARGUMENT_KEY("key", 0), ARGUMENT("count", INTEGER, 0),
                                         ARGUMENT_END};

static const struct command fid_commands[] = {
    {"ADD", add_command, "write deny-oom fast", -4, KEY_CHANGES, 1, 1,
     "Adds items so many times, and tells the estimates", "O(items)", pairs_arguments},
    {"REMOVE", remove_command, "write fast", -4, KEY_CHANGES, 1, 1,
     "Takes items back that were added", "O(items)", pairs_arguments},
    {"COUNT", count_command, "readonly fast", -3, KEY_READS, 1, 1, "How often items were added",
     "O(items)", items_arguments},
    {"TOP", top_command, "readonly", 3, KEY_READS, 1, 1,
     "The most frequent items, where the sketch was made with TOP", "O(top log top)",
     top_arguments},
    {0},
};

const struct value_type fid_type = {
    .name = "lethe-fid",
    VALUE_TYPE_PREFIX("FID"),
    .noun = "sketch",
    .value_bytes = sizeof(struct fid),
    .handle = &handle,
    .commands = {fid_commands},
    .create_word = "RESERVE",
    .option_arguments = reserve_arguments,
    .option_names = "WIDTH, DEPTH, BITS, TOP and SEED",
    .default_options = default_options,
    .parse_option = parse_option,
    .write_options = write_options,
    .read_options = read_options,
    .planned_bytes = planned_bytes,
    .make = make,
    .repeat = repeat,
    .merge = merge,
    .info = tell,
    .load_from_snapshot = load_from_snapshot,
    .save = save,
    .load = load,
    .drop = drop,
    .memory = memory,
    .digest = digest,
};
