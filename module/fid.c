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

static lethe_status new_sketch(const lethe_sketch_options *options, struct fid **out) {
    *out = NULL;
    lethe_sketch *sketch;
    lethe_status status = lethe_sketch_new(options, &sketch);
    if (status != LETHE_OK) return status;
    struct fid *fid = value_new(&fid_type);
    if (fid == NULL) {
        lethe_sketch_free(sketch);
        return LETHE_ENOMEM;
    }
    fid->sketch = sketch;
    *out = fid;
    return LETHE_OK;
}

static lethe_sketch_options default_options(void) {
    return (lethe_sketch_options){
        .kind = LETHE_SKETCH_FID, .seed = random_seed(), .allocator = &module_allocator};
}

static bool parse_size(const redis_string *text, long long most, uint64_t *out) {
    long long number;
    if (redis.StringToLongLong(text, &number) != REDIS_OK || number < 1 || number > most)
        return false;
    *out = (uint64_t)number;
    return true;
}

static bool parse_one(const redis_string *name, const redis_string *value,
                      lethe_sketch_options *options) {
    uint64_t number = 0;
    if (!parse_size(value, INT64_MAX, &number)) return false;
    if (is_word(name, "SEED")) {
        options->seed = number;
    } else if (is_word(name, "WIDTH") && number <= LETHE_SKETCH_MAX_WIDTH) {
        options->width = number;
    } else if (is_word(name, "DEPTH") && number <= LETHE_SKETCH_MAX_DEPTH) {
        options->depth = (uint32_t)number;
    } else if (is_word(name, "BITS") && number <= 64) {
        options->counter_bits = (uint32_t)number;
    } else if (is_word(name, "TOP") && number <= LETHE_SKETCH_MAX_TOP) {
        options->top = (uint32_t)number;
    } else {
        return false;
    }
    return true;
}

static bool create(redis_context *context, redis_string *name, const lethe_sketch_options *options,
                   struct opened *opened) {
    struct fid *fid;
    lethe_status status = new_sketch(options, &fid);
    if (status != LETHE_OK) {
        redis.CloseKey(opened->key);
        reply_status(context, status);
        return false;
    }
    store_value(context, opened, name, fid);
    effect_begin(&fid->head);
    effect_u8('C');
    effect_u64(options->width);
    effect_u32(options->depth);
    effect_u32(options->counter_bits);
    effect_u32(options->top);
    effect_u64(options->seed);
    return true;
}

static void finish(redis_context *context, struct opened *opened, redis_string *name,
                   const char *event) {
    redis.CloseKey(opened->key);
    effect_send(context, name);
    announce(context, name, event);
}

static int reserve_command(redis_context *context, redis_string **arguments, int count) {
    if (count < 2) return redis.WrongArity(context);
    lethe_sketch_options options = default_options();
    for (int i = 2; i < count; i += 2) {
        if (i + 1 >= count || !parse_one(arguments[i], arguments[i + 1], &options)) {
            return reply_error(context, "ERR options are WIDTH, DEPTH, BITS, TOP and SEED, each "
                                        "with a number in its range");
        }
    }
    struct opened opened;
    if (!open_value(context, arguments[1], &fid_type, OPEN_TO_WRITE, &opened)) return REDIS_OK;
    if (opened.value != NULL) {
        redis.CloseKey(opened.key);
        return reply_error(context, "BUSYKEY the sketch exists already");
    }
    if (!create(context, arguments[1], &options, &opened)) return REDIS_OK;
    finish(context, &opened, arguments[1], "fid.reserve");
    return redis.ReplyWithSimpleString(context, "OK");
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
        redis.ReplyWithLongLong(
            context, (long long)lethe_sketch_query(fid->sketch, bytes.data, bytes.size).count);
    }
}

static int change(redis_context *context, redis_string **arguments, int count, bool is_addition) {
    if (count < 4 || count % 2 != 0) return redis.WrongArity(context);
    if (!are_pairs_valid(arguments, count)) {
        return reply_error(context, "ERR items have at most 65535 bytes, and each comes with a "
                                    "number of times from 1 on");
    }
    struct opened opened;
    if (!open_value(context, arguments[1], &fid_type, OPEN_TO_WRITE, &opened)) return REDIS_OK;
    lethe_sketch_options options = default_options();
    if (opened.value != NULL) {
        effect_begin(opened.value);
    } else if (!is_addition) {
        redis.CloseKey(opened.key);
        return reply_error(context, "ERR no such sketch");
    } else if (!create(context, arguments[1], &options, &opened)) {
        return REDIS_OK;
    }
    redis.ReplyWithArray(context, (count - 2) / 2);
    for (int i = 2; i < count; i += 2)
        change_and_reply(context, opened.value, is_addition, arguments[i], arguments[i + 1]);
    finish(context, &opened, arguments[1], is_addition ? "fid.add" : "fid.remove");
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
        redis.ReplyWithLongLong(context, (long long)found);
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
        redis.ReplyWithLongLong(context, (long long)entries[i].count);
    }
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

static void reply_number(redis_context *context, const char *name, uint64_t value) {
    redis.ReplyWithCString(context, name);
    redis.ReplyWithLongLong(context, (long long)value);
}

static size_t memory(const void *value) {
    return lethe_sketch_get_shape(((const struct fid *)value)->sketch).memory_bytes;
}

static int info_command(redis_context *context, redis_string **arguments, int count) {
    if (count != 2) return redis.WrongArity(context);
    struct opened opened;
    if (!open_value(context, arguments[1], &fid_type, OPEN_TO_READ, &opened)) return REDIS_OK;
    const struct fid *fid = opened.value;
    if (fid == NULL) {
        redis.CloseKey(opened.key);
        return reply_error(context, "ERR no such sketch");
    }
    lethe_sketch_stats stats = lethe_sketch_info(fid->sketch);
    redis.ReplyWithMap(context, 7);
    reply_number(context, "width", stats.shape.width);
    reply_number(context, "depth", stats.shape.depth);
    reply_number(context, "counter_bits", stats.shape.counter_bits);
    reply_number(context, "total", stats.total);
    reply_number(context, "memory_bytes", memory(fid) + sizeof *fid);
    redis.ReplyWithCString(context, "error_above");
    redis.ReplyWithDouble(context, stats.error_above);
    reply_number(context, "top", stats.shape.top);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

/* --- Merging */

static lethe_status save_to_effect(void *context, const void *data, size_t size) {
    (void)context;
    effect_bytes(data, size);
    return LETHE_OK;
}

static int merge_command(redis_context *context, redis_string **arguments, int count) {
    if (count != 3) return redis.WrongArity(context);
    if (redis.StringCompare(arguments[1], arguments[2]) == 0)
        return reply_error(context, "ERR a sketch can't be merged into itself");
    struct opened from, into;
    if (!open_value(context, arguments[2], &fid_type, OPEN_TO_READ, &from)) return REDIS_OK;
    if (!open_value(context, arguments[1], &fid_type, OPEN_TO_WRITE, &into)) {
        redis.CloseKey(from.key);
        return REDIS_OK;
    }
    const struct fid *source = from.value;
    struct fid *target = into.value;
    bool both = source != NULL && target != NULL;
    lethe_status status = both ? lethe_sketch_merge(target->sketch, source->sketch) : LETHE_EINVAL;
    if (status == LETHE_OK) {
        effect_begin(&target->head);
        effect_u8('M');
        (void)!lethe_sketch_save(source->sketch, (lethe_sink){NULL, save_to_effect});
    }
    redis.CloseKey(from.key);
    if (status != LETHE_OK) {
        redis.CloseKey(into.key);
        return both ? reply_status(context, status)
                    : reply_error(context, "ERR no such sketch to merge");
    }
    finish(context, &into, arguments[1], "fid.merge");
    return redis.ReplyWithSimpleString(context, "OK");
}

/* --- Repeating what a master did */

static bool repeat_creation(struct fid **fid, struct effect_reader *reader, bool apply) {
    lethe_sketch_options options = default_options();
    options.width = effect_read_u64(reader);
    options.depth = effect_read_u32(reader);
    options.counter_bits = effect_read_u32(reader);
    options.top = effect_read_u32(reader);
    options.seed = effect_read_u64(reader);
    return !apply || new_sketch(&options, fid) == LETHE_OK;
}

static bool repeat_change(struct fid *fid, struct effect_reader *reader, bool is_addition,
                          bool apply) {
    uint64_t weight = effect_read_u64(reader);
    uint32_t size = effect_read_u32(reader);
    lethe_bytes item = {.data = effect_read_bytes(reader, size), .size = size};
    bool is_valid = item.data != NULL && weight > 0 && size <= LETHE_SKETCH_MAX_KEY_BYTES;
    if (is_valid && apply) (void)!change_one(fid, is_addition, item, weight);
    return is_valid;
}

static bool repeat_merge(struct fid *fid, struct effect_reader *reader, bool apply) {
    size_t size = reader->left;
    lethe_memory_reader memory_reader = {.data = effect_read_bytes(reader, size), .size = size};
    lethe_sketch *other = NULL;
    bool is_good = lethe_sketch_load(lethe_source_from_memory(&memory_reader), &module_allocator,
                                     &other) == LETHE_OK;
    if (is_good && apply) is_good = lethe_sketch_merge(fid->sketch, other) == LETHE_OK;
    lethe_sketch_free(other);
    return is_good;
}

static bool repeat_one(struct fid **fid, struct effect_reader *reader, bool apply, bool *is_made) {
    uint8_t code = effect_read_u8(reader);
    bool exists = *fid != NULL || (!apply && *is_made);
    if (code == 'C') {
        *is_made = true;
        return !exists && repeat_creation(fid, reader, apply);
    }
    if (!exists) return false;
    if (code == 'A' || code == 'R') return repeat_change(*fid, reader, code == 'A', apply);
    return code == 'M' && repeat_merge(*fid, reader, apply);
}

static bool repeat(void **value, const unsigned char *data, size_t size, uint64_t clock_ms,
                   bool apply) {
    (void)clock_ms; /* a sketch has no time */
    struct fid *fid = *value;
    struct effect_reader reader = {data, size, true};
    bool is_good = true, is_made = false;
    while (is_good && reader.is_valid && reader.left > 0)
        is_good = repeat_one(&fid, &reader, apply, &is_made);
    *value = fid;
    return is_good && reader.is_valid && (fid != NULL || is_made);
}

/* --- The type */

static void let_time_pass(void *value) {
    (void)value;
}

static bool is_due(const void *value, uint64_t now_ms) {
    (void)value;
    (void)now_ms;
    return false;
}

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

static size_t allocations(const void *value) {
    return (memory(value) >> 20) + 1;
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

const struct value_type fid_type = {
    .name = "lethe-fid",
    .prefix = "FID",
    .effect_name = "FID.EFFECT",
    .load_name = "FID.LOAD",
    .value_bytes = sizeof(struct fid),
    .handle = &handle,
    .load_from_snapshot = load_from_snapshot,
    .save = save,
    .load = load,
    .drop = drop,
    .memory = memory,
    .allocations = allocations,
    .digest = digest,
    .let_time_pass = let_time_pass,
    .is_due = is_due,
    .effect = repeat,
};

static int fid_effect(redis_context *context, redis_string **arguments, int count) {
    return effect_command(context, arguments, count, &fid_type);
}

static int fid_load(redis_context *context, redis_string **arguments, int count) {
    return load_command(context, arguments, count, &fid_type);
}

static int fid_dump(redis_context *context, redis_string **arguments, int count) {
    return dump_command(context, arguments, count, &fid_type);
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
static redis_argument merge_arguments[] = {ARGUMENT_KEY("into", 0), ARGUMENT_KEY("from", 0),
                                           ARGUMENT_END};
static redis_argument key_arguments[] = {ARGUMENT_KEY("key", 0), ARGUMENT_END};
static redis_argument effect_arguments[] = {ARGUMENT_KEY("key", 0), ARGUMENT("data", STRING, 0),
                                            ARGUMENT_END};
static redis_argument load_arguments[] = {ARGUMENT_KEY("key", 0), ARGUMENT("number", INTEGER, 0),
                                          ARGUMENT("last", INTEGER, 0), ARGUMENT("data", STRING, 0),
                                          ARGUMENT_END};
static redis_argument dump_arguments[] = {ARGUMENT_KEY("key", 0), ARGUMENT("number", INTEGER, 0),
                                          ARGUMENT_END};

enum {
    READS = REDIS_KEY_READ_ONLY | REDIS_KEY_ACCESS,
    CHANGES = REDIS_KEY_READ_WRITE | REDIS_KEY_ACCESS | REDIS_KEY_UPDATE,
    CREATES = REDIS_KEY_READ_WRITE | REDIS_KEY_INSERT
};

const struct command fid_commands[] = {
    {"FID.RESERVE", reserve_command, "write deny-oom", -2, CREATES, 1, 1, "Creates a FID sketch",
     "O(width)", reserve_arguments},
    {"FID.ADD", add_command, "write deny-oom fast", -4, CHANGES, 1, 1,
     "Adds items so many times, and tells the estimates", "O(items)", pairs_arguments},
    {"FID.REMOVE", remove_command, "write fast", -4, CHANGES, 1, 1,
     "Takes items back that were added", "O(items)", pairs_arguments},
    {"FID.COUNT", count_command, "readonly fast", -3, READS, 1, 1, "How often items were added",
     "O(items)", items_arguments},
    {"FID.TOP", top_command, "readonly", 3, READS, 1, 1,
     "The most frequent items, where the sketch was made with TOP", "O(top log top)",
     top_arguments},
    {"FID.MERGE", merge_command, "write deny-oom", 3, CHANGES, 1, 2, "Adds all of another sketch",
     "O(size of the other)", merge_arguments},
    {"FID.INFO", info_command, "readonly", 2, READS, 1, 1, "How a sketch stands", "O(width)",
     key_arguments},
    {"FID.EFFECT", fid_effect, "write", 3, CHANGES, 1, 1,
     "Internal: what a master did, for its replicas and its log", "O(size)", effect_arguments},
    {"FID.LOAD", fid_load, "write deny-oom", 5, CHANGES, 1, 1,
     "Loads a sketch that FID.DUMP wrote, piece by piece",
     "O(size) for the last piece, O(1) for others", load_arguments},
    {"FID.DUMP", fid_dump, "readonly", 3, READS, 1, 1,
     "One piece of a sketch, to be loaded by FID.LOAD", "O(size of the sketch)", dump_arguments},
    {0},
};
