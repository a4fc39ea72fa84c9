/* module/fbf.c - FBF.*: the forgetful Bloom filter of the paper, elastic setting, as a data type.
 *
 * A key holds one filter: items are added, tested, and forgotten after the window. It can't remove a single
 * item. The effects (docs/format/module.md):
 *   C  make the filter with these options
 *   A  add these items, by their hashes, as one batch
 *   M  take over what another filter remembers, whose saved bytes follow
 *   W  only let time pass */
#include <string.h>

#include "frame.h"

struct fbf {
    struct value head;
    lethe_forgetful *filter;
    uint64_t seed;
    bool has_more; /* to give back, of what has expired */
};

static redis_type *handle;

/* --- Making one */

static void fill(struct fbf *fbf, lethe_forgetful *filter) {
    fbf->filter = filter;
    fbf->seed = lethe_forgetful_info(filter, 0).seed;
}

static lethe_status new_filter(const lethe_window_options *options, struct fbf **out) {
    *out = NULL;
    lethe_forgetful_options wanted = {
        .window_ms = options->window_ms,
        .error = options->error,
        .slack = options->slack,
        .capacity = options->capacity,
        .max_memory_bytes = options->max_memory_bytes,
        .policy = options->policy == LETHE_WINDOW_DEGRADE ? LETHE_FORGETFUL_DEGRADE
                                                          : LETHE_FORGETFUL_REFUSE,
        .seed = options->seed,
        .allocator = &module_allocator,
    };
    lethe_forgetful *filter;
    lethe_status status = lethe_forgetful_new(&wanted, &filter);
    if (status != LETHE_OK) return status;
    struct fbf *fbf = value_new(&fbf_type);
    if (fbf == NULL) {
        lethe_forgetful_free(filter);
        return LETHE_ENOMEM;
    }
    fill(fbf, filter);
    *out = fbf;
    return LETHE_OK;
}

static bool create(redis_context *context, redis_string *name, const lethe_window_options *options,
                   struct opened *opened) {
    struct fbf *fbf;
    lethe_status status = new_filter(options, &fbf);
    if (status != LETHE_OK) {
        redis.CloseKey(opened->key);
        reply_status(context, status);
        return false;
    }
    value_start_clock(&fbf->head);
    store_value(context, opened, name, fbf);
    effect_begin(&fbf->head);
    effect_u8('C');
    effect_u64(options->window_ms);
    effect_f64(options->error);
    effect_f64(options->slack);
    effect_u64(options->capacity);
    effect_u64(options->max_memory_bytes);
    effect_u64(options->seed);
    effect_u8((uint8_t)options->policy);
    return true;
}

static bool open_to_change(redis_context *context, redis_string *name, struct opened *opened) {
    if (!open_value(context, name, &fbf_type, OPEN_TO_WRITE, opened)) return false;
    if (opened->value == NULL) {
        lethe_window_options options = settings_defaults();
        return create(context, name, &options, opened);
    }
    struct fbf *fbf = opened->value;
    (void)value_advance(&fbf->head);
    effect_begin(&fbf->head);
    return true;
}

static void finish(redis_context *context, struct opened *opened, redis_string *name,
                   const char *event) {
    redis.CloseKey(opened->key);
    effect_send(context, name);
    if (event != NULL) announce(context, name, event);
}

static int reserve_command(redis_context *context, redis_string **arguments, int count) {
    if (count < 2) return redis.WrongArity(context);
    lethe_window_options options = settings_defaults();
    if (!parse_options(context, arguments + 2, count - 2, &options)) return REDIS_OK;
    struct opened opened;
    if (!open_value(context, arguments[1], &fbf_type, OPEN_TO_WRITE, &opened)) return REDIS_OK;
    if (opened.value != NULL) {
        redis.CloseKey(opened.key);
        return reply_error(context, "BUSYKEY the filter exists already");
    }
    if (!create(context, arguments[1], &options, &opened)) return REDIS_OK;
    finish(context, &opened, arguments[1], "fbf.reserve");
    return redis.ReplyWithSimpleString(context, "OK");
}

/* --- Adding and testing */

static lethe_hash *hash_all(const struct fbf *fbf, redis_string **items, int count,
                            uint8_t **answers) {
    lethe_hash *hashes = scratch((size_t)count, sizeof *hashes + 1);
    *answers = (uint8_t *)(hashes + count);
    for (int i = 0; i < count; i++) {
        size_t size;
        const char *data = redis.StringPtrLen(items[i], &size);
        hashes[i] = lethe_hash_bytes(fbf->seed, data, size);
    }
    return hashes;
}

/* Adds all or the first few, tells which were there, and how many it came to. */
static lethe_status add_all(struct fbf *fbf, const lethe_hash *hashes, size_t count,
                            uint8_t *answers, size_t *done) {
    return lethe_forgetful_check_and_record_batch(fbf->filter, hashes, count, fbf->head.clock_ms,
                                                  answers, done);
}

static void reply_added(redis_context *context, bool is_done, bool was_there, lethe_status status) {
    if (is_done) {
        redis.ReplyWithLongLong(context, !was_there);
    } else {
        reply_status(context, status);
    }
}

static int add_items(redis_context *context, redis_string **arguments, int count, bool is_array) {
    struct opened opened;
    if (!open_to_change(context, arguments[1], &opened)) return REDIS_OK;
    struct fbf *fbf = opened.value;
    int items = count - 2;
    uint8_t *answers;
    size_t done = 0;
    const lethe_hash *hashes = hash_all(fbf, arguments + 2, items, &answers);
    lethe_status status = add_all(fbf, hashes, (size_t)items, answers, &done);
    effect_u8('A');
    effect_u32((uint32_t)items);
    effect_bytes(hashes, (size_t)items * sizeof *hashes);
    bool is_changed = false;
    if (is_array) redis.ReplyWithArray(context, items);
    for (int i = 0; i < items; i++) {
        bool is_done = (size_t)i < done;
        is_changed = is_changed || (is_done && answers[i] == 0);
        reply_added(context, is_done, is_done && answers[i] != 0, status);
    }
    finish(context, &opened, arguments[1], is_changed ? "fbf.add" : NULL);
    return REDIS_OK;
}

static int add_command(redis_context *context, redis_string **arguments, int count) {
    if (count != 3) return redis.WrongArity(context);
    return add_items(context, arguments, count, false);
}

static int madd_command(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    return add_items(context, arguments, count, true);
}

static int test_items(redis_context *context, redis_string **arguments, int count, bool is_array) {
    struct opened opened;
    if (!open_value(context, arguments[1], &fbf_type, OPEN_TO_READ, &opened)) return REDIS_OK;
    const struct fbf *fbf = opened.value;
    int items = count - 2;
    uint8_t *answers = NULL;
    if (fbf != NULL) {
        const lethe_hash *hashes = hash_all(fbf, arguments + 2, items, &answers);
        lethe_forgetful_check_batch(fbf->filter, hashes, (size_t)items, value_time(&fbf->head),
                                    answers);
    }
    if (is_array) redis.ReplyWithArray(context, items);
    for (int i = 0; i < items; i++)
        redis.ReplyWithLongLong(context, fbf != NULL && answers[i] != 0);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

static int test_command(redis_context *context, redis_string **arguments, int count) {
    if (count != 3) return redis.WrongArity(context);
    return test_items(context, arguments, count, false);
}

static int mtest_command(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    return test_items(context, arguments, count, true);
}

/* --- Merging */

static lethe_status save_to_effect(void *context, const void *data, size_t size) {
    (void)context;
    effect_bytes(data, size);
    return LETHE_OK;
}

/* Filters keep times of their own: the later clock counts for both from now on. */
static lethe_status merge_one(struct fbf *target, const struct fbf *source) {
    lethe_status status = lethe_forgetful_merge(target->filter, source->filter);
    if (status != LETHE_OK) return status;
    if (source->head.clock_ms > value_advance(&target->head))
        value_set_clock(&target->head, source->head.clock_ms);
    return LETHE_OK;
}

static int merge_command(redis_context *context, redis_string **arguments, int count) {
    if (count != 3) return redis.WrongArity(context);
    struct opened from, into;
    if (!open_value(context, arguments[2], &fbf_type, OPEN_TO_READ, &from)) return REDIS_OK;
    const struct fbf *source = from.value;
    if (source == NULL) {
        redis.CloseKey(from.key);
        return reply_error(context, "ERR no such filter to merge from");
    }
    if (redis.StringCompare(arguments[1], arguments[2]) == 0) {
        redis.CloseKey(from.key);
        return reply_error(context, "ERR a filter can't be merged into itself");
    }
    if (!open_value(context, arguments[1], &fbf_type, OPEN_TO_WRITE, &into)) {
        redis.CloseKey(from.key);
        return REDIS_OK;
    }
    struct fbf *target = into.value;
    lethe_status status = LETHE_EMISMATCH;
    if (target != NULL) status = merge_one(target, source);
    if (status != LETHE_OK) {
        redis.CloseKey(from.key);
        redis.CloseKey(into.key);
        return target == NULL ? reply_error(context, "ERR no such filter to merge into")
                              : reply_status(context, status);
    }
    effect_begin(&target->head);
    effect_u8('M');
    (void)!lethe_forgetful_save(source->filter, (lethe_sink){NULL, save_to_effect});
    redis.CloseKey(from.key);
    finish(context, &into, arguments[1], "fbf.merge");
    return redis.ReplyWithSimpleString(context, "OK");
}

/* --- INFO */

static void reply_number(redis_context *context, const char *name, uint64_t value) {
    redis.ReplyWithCString(context, name);
    redis.ReplyWithLongLong(context, (long long)value);
}

static void reply_fraction(redis_context *context, const char *name, double value) {
    redis.ReplyWithCString(context, name);
    redis.ReplyWithDouble(context, value);
}

static int info_command(redis_context *context, redis_string **arguments, int count) {
    if (count != 2) return redis.WrongArity(context);
    struct opened opened;
    if (!open_value(context, arguments[1], &fbf_type, OPEN_TO_READ, &opened)) return REDIS_OK;
    const struct fbf *fbf = opened.value;
    if (fbf == NULL) {
        redis.CloseKey(opened.key);
        return reply_error(context, "ERR no such filter");
    }
    lethe_forgetful_stats stats = lethe_forgetful_info(fbf->filter, value_time(&fbf->head));
    redis.ReplyWithMap(context, 13);
    reply_number(context, "window_ms", stats.window_ms);
    reply_number(context, "clock_ms", fbf->head.clock_ms);
    reply_number(context, "oldest_age_ms", stats.oldest_age_ms);
    reply_number(context, "period_ms", stats.period_ms);
    reply_fraction(context, "slack", stats.slack);
    reply_fraction(context, "error_target", stats.error_target);
    reply_fraction(context, "error_estimate", stats.error_estimate);
    reply_number(context, "items", stats.ids_held);
    reply_number(context, "fresh", stats.fresh);
    reply_number(context, "duplicates", stats.duplicates);
    reply_number(context, "refused", stats.refused);
    reply_number(context, "memory_bytes", stats.memory_bytes + sizeof *fbf);
    reply_number(context, "filters", stats.filters);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

/* --- Repeating what a master did */

static bool repeat_creation(struct fbf **fbf, struct effect_reader *reader, uint64_t clock_ms,
                            bool apply) {
    lethe_window_options options = {0};
    options.window_ms = effect_read_u64(reader);
    options.error = effect_read_f64(reader);
    options.slack = effect_read_f64(reader);
    options.capacity = effect_read_u64(reader);
    options.max_memory_bytes = effect_read_u64(reader);
    options.seed = effect_read_u64(reader);
    uint8_t policy = effect_read_u8(reader);
    options.policy = policy == 0 ? LETHE_WINDOW_REFUSE : LETHE_WINDOW_DEGRADE;
    if (!apply) return policy <= 1;
    if (new_filter(&options, fbf) != LETHE_OK) return false;
    value_set_clock(&(*fbf)->head, clock_ms);
    return true;
}

static bool repeat_adding(struct fbf *fbf, struct effect_reader *reader, bool apply) {
    uint32_t count = effect_read_u32(reader);
    const void *data = effect_read_bytes(reader, (size_t)count * sizeof(lethe_hash));
    if (data == NULL || !apply) return data != NULL && count > 0;
    lethe_hash *hashes = scratch(count, sizeof *hashes + 1);
    memcpy(hashes, data, (size_t)count * sizeof *hashes);
    size_t done;
    (void)!add_all(fbf, hashes, count, (uint8_t *)(hashes + count), &done);
    return true;
}

static bool repeat_merge(struct fbf *fbf, struct effect_reader *reader, bool apply) {
    size_t size = reader->left;
    lethe_memory_reader memory = {.data = effect_read_bytes(reader, size), .size = size};
    lethe_forgetful *other = NULL;
    bool is_good = lethe_forgetful_load(lethe_source_from_memory(&memory), &module_allocator,
                                        &other) == LETHE_OK;
    if (is_good && apply) is_good = lethe_forgetful_merge(fbf->filter, other) == LETHE_OK;
    lethe_forgetful_free(other);
    return is_good;
}

/* What it drops shows in what is saved: so this happens in effects only. */
static void let_time_pass(void *value) {
    struct fbf *fbf = value;
    fbf->has_more = lethe_forgetful_advance(fbf->filter, fbf->head.clock_ms);
}

static bool repeat_one(struct fbf **fbf, struct effect_reader *reader, uint64_t clock_ms,
                       bool apply, bool *is_made) {
    uint8_t code = effect_read_u8(reader);
    bool exists = *fbf != NULL || (!apply && *is_made);
    if (code == 'C') {
        *is_made = true;
        return !exists && repeat_creation(fbf, reader, clock_ms, apply);
    }
    if (!exists) return false;
    if (code == 'A') return repeat_adding(*fbf, reader, apply);
    if (code == 'M') return repeat_merge(*fbf, reader, apply);
    if (code == 'W' && apply) let_time_pass(*fbf);
    return code == 'W';
}

static bool repeat(void **value, const unsigned char *data, size_t size, uint64_t clock_ms,
                   bool apply) {
    struct fbf *fbf = *value;
    struct effect_reader reader = {data, size, true};
    bool is_good = true, is_made = false;
    if (fbf != NULL && apply) value_set_clock(&fbf->head, clock_ms);
    while (is_good && reader.is_valid && reader.left > 0)
        is_good = repeat_one(&fbf, &reader, clock_ms, apply, &is_made);
    *value = fbf;
    return is_good && reader.is_valid && (fbf != NULL || is_made);
}

/* --- The type */

static bool is_due(const void *value, uint64_t now_ms) {
    const struct fbf *fbf = value;
    lethe_forgetful_stats stats = lethe_forgetful_info(fbf->filter, fbf->head.clock_ms);
    bool is_late = now_ms - fbf->head.clock_ms >= stats.period_ms;
    return stats.filters > 0 && (is_late || fbf->has_more);
}

static lethe_status save(const void *value, lethe_sink sink) {
    return lethe_forgetful_save(((const struct fbf *)value)->filter, sink);
}

static lethe_status load(void *value, lethe_source source) {
    struct fbf *fbf = value;
    lethe_forgetful *filter;
    lethe_status status = lethe_forgetful_load(source, &module_allocator, &filter);
    if (status != LETHE_OK) return status;
    fill(fbf, filter);
    lethe_forgetful_stats stats = lethe_forgetful_info(filter, 0);
    bool is_ours = stats.setting == LETHE_FORGETFUL_ELASTIC && stats.clock_ms <= fbf->head.clock_ms;
    return is_ours ? LETHE_OK : LETHE_ECORRUPT;
}

static void *load_from_snapshot(redis_io *io, int version) {
    return value_from_snapshot(&fbf_type, io, version);
}

static void drop(void *value) {
    lethe_forgetful_free(((struct fbf *)value)->filter);
}

static size_t memory(const void *value) {
    const struct fbf *fbf = value;
    return lethe_forgetful_info(fbf->filter, fbf->head.clock_ms).memory_bytes;
}

static size_t allocations(const void *value) {
    return (memory(value) >> 20) + 1;
}

static void digest(const void *value, redis_digest *digest) {
    const struct fbf *fbf = value;
    lethe_hash hash;
    lethe_status status = hash_of_saved(save, fbf, &hash);
    redis.DigestAddLongLong(digest, status);
    redis.DigestAddStringBuffer(digest, (const char *)&hash, sizeof hash);
}

const struct value_type fbf_type = {
    .name = "lethe-fbf",
    .prefix = "FBF",
    .effect_name = "FBF.EFFECT",
    .load_name = "FBF.LOAD",
    .value_bytes = sizeof(struct fbf),
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

static int fbf_effect(redis_context *context, redis_string **arguments, int count) {
    return effect_command(context, arguments, count, &fbf_type);
}

static int fbf_load(redis_context *context, redis_string **arguments, int count) {
    return load_command(context, arguments, count, &fbf_type);
}

static int fbf_dump(redis_context *context, redis_string **arguments, int count) {
    return dump_command(context, arguments, count, &fbf_type);
}

static redis_argument item_arguments[] = {ARGUMENT_KEY("key", 0), ARGUMENT("item", STRING, 0),
                                          ARGUMENT_END};
static redis_argument items_arguments[] = {
    ARGUMENT_KEY("key", 0), ARGUMENT("item", STRING, REDIS_ARGUMENT_MULTIPLE), ARGUMENT_END};
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

const struct command fbf_commands[] = {
    {"FBF.RESERVE", reserve_command, "write deny-oom", -2, CREATES, 1, 1,
     "Creates a forgetful Bloom filter", "O(1)", option_arguments},
    {"FBF.ADD", add_command, "write deny-oom fast", 3, CHANGES, 1, 1,
     "Adds an item: 1 new, 0 seen within the window", "O(1)", item_arguments},
    {"FBF.MADD", madd_command, "write deny-oom fast", -3, CHANGES, 1, 1, "Adds items", "O(items)",
     items_arguments},
    {"FBF.TEST", test_command, "readonly fast", 3, READS, 1, 1,
     "Whether an item was added within the window", "O(1)", item_arguments},
    {"FBF.MTEST", mtest_command, "readonly fast", -3, READS, 1, 1,
     "Whether items were added within the window", "O(items)", items_arguments},
    {"FBF.MERGE", merge_command, "write deny-oom", 3, CHANGES, 1, 2,
     "Takes over what another filter remembers", "O(size of the other)", merge_arguments},
    {"FBF.INFO", info_command, "readonly fast", 2, READS, 1, 1, "How a filter stands", "O(1)",
     key_arguments},
    {"FBF.EFFECT", fbf_effect, "write", 3, CHANGES, 1, 1,
     "Internal: what a master did, for its replicas and its log", "O(size)", effect_arguments},
    {"FBF.LOAD", fbf_load, "write deny-oom", 5, CHANGES, 1, 1,
     "Loads a filter that FBF.DUMP wrote, piece by piece",
     "O(size) for the last piece, O(1) for others", load_arguments},
    {"FBF.DUMP", fbf_dump, "readonly", 3, READS, 1, 1,
     "One piece of a filter, to be loaded by FBF.LOAD", "O(size of the filter)", dump_arguments},
    {0},
};
