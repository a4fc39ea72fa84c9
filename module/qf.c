/* module/qf.c - QF.*: the quotient filter as a data type.
 *
 * A key holds one filter: items are added, counted, tested and removed again. It does not forget by itself.
 * An item that is added twice is there twice, and is gone when it was removed twice. The filter takes as many
 * items as it was made for, then QF.ADD is refused; made with GROW, it doubles until it has room
 * for that many. A doubling is one pass over the filter, in which the server does nothing else.
 *
 * The plan from capacity and error takes divisions and powers of two only, so a replica of any make comes to the
 * master's shape from its options. */
#include "filter.h"

struct qf {
    struct filter filter;
    lethe_quotient *quotient;
};

static redis_type *handle;

/* --- Making one */

static void default_options(void *options) {
    *(lethe_quotient_options *)options =
        (lethe_quotient_options){.seed = random_seed(), .allocator = &module_allocator};
}

static bool parse_keys(const redis_string *text, uint64_t *out) {
    return parse_count(text, out) && *out > 0;
}

static enum option_verdict parse_option(const redis_string *name, const redis_string *value,
                                        void *wanted) {
    lethe_quotient_options *options = wanted;
    bool is_good;
    if (is_word(name, "CAPACITY")) {
        is_good = parse_keys(value, &options->capacity);
    } else if (is_word(name, "ERROR")) {
        is_good = parse_positive(value, &options->error);
    } else if (is_word(name, "GROW")) {
        is_good = parse_keys(value, &options->grow_to);
    } else if (is_word(name, "SEED")) {
        is_good = parse_seed(value, &options->seed);
    } else {
        return OPTION_UNKNOWN;
    }
    return is_good ? OPTION_FINE : OPTION_WRONG;
}

static void write_options(const void *wanted) {
    const lethe_quotient_options *options = wanted;
    effect_u64(options->capacity);
    effect_f64(options->error);
    effect_u64(options->grow_to);
    effect_u64(options->seed);
}

static bool read_options(struct effect_reader *reader, void *wanted) {
    lethe_quotient_options *options = wanted;
    options->capacity = effect_read_u64(reader);
    options->error = effect_read_f64(reader);
    options->grow_to = effect_read_u64(reader);
    options->seed = effect_read_u64(reader);
    lethe_quotient_shape shape;
    return options->seed != 0 && lethe_quotient_plan(options, &shape) == LETHE_OK;
}

static uint64_t planned_bytes(const void *options) {
    lethe_quotient_shape shape;
    return lethe_quotient_plan(options, &shape) == LETHE_OK ? shape.memory_bytes : 0;
}

static lethe_status make(void *value, const void *options) {
    struct qf *qf = value;
    lethe_status status = lethe_quotient_new(options, &qf->quotient);
    if (status == LETHE_OK) qf->filter.seed = lethe_quotient_get_shape(qf->quotient).seed;
    return status;
}

/* --- Items */

/* So many are looked up together, which overlaps their cache misses, before they are changed one by one. */
enum { GROUP = 64 };

static lethe_status add_group(struct qf *qf, const lethe_hash *hashes, size_t count,
                              uint8_t *was_there, size_t *done) {
    lethe_quotient_test_batch(qf->quotient, hashes, count, was_there);
    for (size_t i = 0; i < count; i++) {
        /* An earlier one of the group can be the same. */
        was_there[i] = was_there[i] || lethe_quotient_test_hash(qf->quotient, hashes[i]);
        lethe_status status = lethe_quotient_add_hash(qf->quotient, hashes[i], 1);
        if (status != LETHE_OK) return status;
        ++*done;
    }
    return LETHE_OK;
}

static size_t group_at(size_t start, size_t count) {
    return count - start < GROUP ? count - start : GROUP;
}

static lethe_status add(void *value, const lethe_hash *hashes, size_t count, uint8_t *was_there,
                        size_t *done) {
    lethe_status status = LETHE_OK;
    *done = 0;
    for (size_t i = 0; status == LETHE_OK && i < count; i += GROUP)
        status = add_group(value, hashes + i, group_at(i, count), was_there + i, done);
    return status;
}

static void test(const void *value, const lethe_hash *hashes, size_t count, uint8_t *is_there) {
    lethe_quotient_test_batch(((const struct qf *)value)->quotient, hashes, count, is_there);
}

static void remove_items(void *value, const lethe_hash *hashes, size_t count, uint8_t *was_there) {
    lethe_quotient *quotient = ((struct qf *)value)->quotient;
    for (size_t i = 0; i < count; i++) {
        if (i % GROUP == 0)
            lethe_quotient_test_batch(quotient, hashes + i, group_at(i, count), was_there + i);
        was_there[i] = lethe_quotient_remove_hash(quotient, hashes[i], 1) == LETHE_OK;
    }
}

static const struct filter_operations operations = {
    .counts_copies = true, .add = add, .test = test, .remove = remove_items};

static int count_command(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    struct opened opened;
    if (!open_value(context, arguments[1], &qf_type, OPEN_TO_READ, &opened)) return REDIS_OK;
    const struct qf *qf = opened.value;
    redis.ReplyWithArray(context, count - 2);
    for (int i = 2; i < count; i++) {
        size_t size;
        const char *item = redis.StringPtrLen(arguments[i], &size);
        uint64_t found = qf != NULL ? lethe_quotient_count(qf->quotient, item, size) : 0;
        reply_count(context, found);
    }
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

/* The most slots that additions would bring the filter to. */
static uint64_t most_slots(const lethe_quotient *quotient) {
    lethe_quotient_shape shape = lethe_quotient_get_shape(quotient);
    while (shape.remainder_bits > 1 && 0.9 * (double)shape.slots < (double)shape.grow_to) {
        shape.slots *= 2;
        shape.remainder_bits--;
    }
    return shape.slots;
}

/* A merge takes as many slots as it needs and holds all there is, so it would pass the filter's cap and its error. What both
 * hold is counted for each: only a merge could tell. */
static lethe_status can_merge(const void *value, const void *other) {
    const lethe_quotient *into = ((const struct qf *)value)->quotient;
    lethe_quotient_stats one = lethe_quotient_info(into);
    lethe_quotient_stats two = lethe_quotient_info(((const struct qf *)other)->quotient);
    uint64_t most = one.shape.grow_to > 0 ? one.shape.grow_to : one.shape.capacity;
    bool is_within = one.distinct + two.distinct <= most &&
                     (double)(one.slots_used + two.slots_used) <= 0.9 * (double)most_slots(into);
    return is_within || most == 0 ? LETHE_OK : LETHE_EFULL;
}

static lethe_status merge(void *value, const void *other) {
    return lethe_quotient_absorb(((struct qf *)value)->quotient,
                                 ((const struct qf *)other)->quotient);
}

static void tell(struct info *info, const void *value) {
    const struct qf *qf = value;
    lethe_quotient_stats stats = lethe_quotient_info(qf->quotient);
    info_number(info, "slots", stats.shape.slots);
    info_number(info, "remainder_bits", stats.shape.remainder_bits);
    info_number(info, "capacity", stats.shape.capacity);
    info_number(info, "grow_to", stats.shape.grow_to);
    info_fraction(info, "error_target", stats.shape.error);
    info_fraction(info, "error_estimate", stats.error_estimate);
    info_number(info, "items", stats.distinct);
    info_number(info, "total", stats.total);
    info_fraction(info, "load", stats.load);
    info_number(info, "counted", stats.counted);
    info_number(info, "missed_removals", stats.missed_removals);
    info_number(info, "memory_bytes", stats.memory_bytes + sizeof *qf);
}

/* --- Saving and the rest */

static lethe_status save(const void *value, lethe_sink sink) {
    return lethe_quotient_save(((const struct qf *)value)->quotient, sink);
}

static lethe_status load(void *value, lethe_source source) {
    struct qf *qf = value;
    lethe_status status = lethe_quotient_load(source, &module_allocator, &qf->quotient);
    if (status == LETHE_OK) qf->filter.seed = lethe_quotient_get_shape(qf->quotient).seed;
    return status;
}

static void *load_from_snapshot(redis_io *io, int version) {
    return value_from_snapshot(&qf_type, io, version);
}

static void drop(void *value) {
    lethe_quotient_free(((struct qf *)value)->quotient);
}

static size_t memory(const void *value) {
    return lethe_quotient_info(((const struct qf *)value)->quotient).memory_bytes;
}

static redis_argument reserve_arguments[] = {ARGUMENT_KEY("key", 0),
                                             ARGUMENT_NAMED("CAPACITY", "items", INTEGER),
                                             ARGUMENT_NAMED("ERROR", "error", DOUBLE),
                                             ARGUMENT_NAMED("GROW", "items-at-most", INTEGER),
                                             ARGUMENT_NAMED("SEED", "seed", INTEGER),
                                             ARGUMENT_END};
static redis_argument count_arguments[] = {
    ARGUMENT_KEY("key", 0), ARGUMENT("item", STRING, REDIS_ARGUMENT_MULTIPLE), ARGUMENT_END};

static const struct command qf_commands[] = {
    {"COUNT", count_command, "readonly fast", -3, KEY_READS, 1, 1,
     "How often items were added and not removed", "O(items)", count_arguments},
    {0},
};

const struct value_type qf_type = {
    .name = "lethe-quo",
    VALUE_TYPE_PREFIX("QF"),
    .noun = "filter",
    .value_bytes = sizeof(struct qf),
    .handle = &handle,
    .commands = {filter_commands, filter_removals, qf_commands},
    .filter = &operations,
    .create_word = "RESERVE",
    .option_arguments = reserve_arguments,
    .option_names = "CAPACITY, ERROR, GROW and SEED",
    .default_options = default_options,
    .parse_option = parse_option,
    .write_options = write_options,
    .read_options = read_options,
    .planned_bytes = planned_bytes,
    .make = make,
    .repeat = filter_repeat,
    .merge = merge,
    .can_merge = can_merge,
    .info = tell,
    .load_from_snapshot = load_from_snapshot,
    .save = save,
    .load = load,
    .drop = drop,
    .memory = memory,
};
