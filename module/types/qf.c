/* module/types/qf.c - QF.*: the quotient filter as a data type.
 *
 * A key holds one filter: items are added, counted, tested and removed again. It does not forget
 * by itself. An item that is added twice is there twice, and is gone after two removals. The
 * filter takes as many items as it was made for, then QF.ADD fails; made with GROW, it doubles
 * until it has room for that many. A doubling is one pass over the filter, during which the
 * server does nothing else.
 *
 * The plan from capacity and error uses only divisions and powers of two, so every replica
 * derives the master's shape from its options. */
#include <string.h>

#include "change/effect.h"
#include "command/command.h"
#include "command/info.h"
#include "command/options.h"
#include "types.h"
#include "types/filter.h"

static redis_type *handle;
VALUE_TYPE_LOADER(qf_type)

/* --- Options */

#define FIELD(kind_, field_) .kind = kind_, .offset = offsetof(lethe_quotient_options, field_)

static const struct option options[] = {
    OPTION_ROW_OF_CAPACITY(
        lethe_quotient_options, capacity,
        "The number of different items it has room for; one that is added twice or more "
        "takes the room of two"),
    OPTION_ROW_OF_ERROR(lethe_quotient_options, error,
                        "The false-positive rate when the filter is full"),
    {.token = "GROW",
     .name = "items-at-most",
     FIELD(OPTION_LARGE, grow_to),
     .least = 1,
     .most = UINT64_C(1) << 40,
     .fallback = "it does not grow",
     .meaning = "The number of items up to which it doubles; at least CAPACITY"},
    OPTION_ROW_OF_SEED(lethe_quotient_options, seed),
    {0},
};

static void default_options(void *wanted) {
    *(lethe_quotient_options *)wanted = LETHE_OPTIONS(lethe_quotient_options, .seed = random_seed(),
                                                      .allocator = &module_allocator);
}

static const char *contradiction(const void *wanted) {
    const lethe_quotient_options *asked = wanted;
    lethe_quotient_shape shape = LETHE_INIT(lethe_quotient_shape);
    if (lethe_quotient_plan(wanted, &shape) == LETHE_OK) return NULL;
    /* What CAPACITY is if it is not given. */
    uint64_t capacity = asked->capacity != 0 ? asked->capacity : 65536;
    if (asked->grow_to != 0 && asked->grow_to < capacity) return "GROW is below CAPACITY";
    return "CAPACITY, GROW and ERROR need more than 64 bits of an item's hash";
}

static bool read_options(struct effect_reader *reader, void *wanted) {
    lethe_quotient_shape shape = LETHE_INIT(lethe_quotient_shape);
    return options_read(options, STEP_CREATE, reader, wanted) &&
           ((lethe_quotient_options *)wanted)->seed != 0 &&
           lethe_quotient_plan(wanted, &shape) == LETHE_OK;
}

/* --- The structure */

static lethe_quotient_shape shape_of(const lethe_quotient *quotient) {
    lethe_quotient_shape shape = LETHE_INIT(lethe_quotient_shape);
    (void)lethe_quotient_get_shape(quotient, &shape);
    return shape;
}

static lethe_quotient_stats stats_of(const lethe_quotient *quotient) {
    lethe_quotient_stats stats = LETHE_INIT(lethe_quotient_stats);
    (void)lethe_quotient_info(quotient, &stats);
    return stats;
}

static size_t memory_of(const void *structure) {
    return stats_of(structure).memory_bytes;
}

static const struct holding holding = {.row = &structure_quotient, .memory = memory_of};

/* --- Items */

/* This many are looked up together, which overlaps their cache misses, before they are changed
 * one by one. */
enum { GROUP = 64 };

static size_t group_at(size_t start, size_t count) {
    return count - start < GROUP ? count - start : GROUP;
}

static lethe_status add_group(lethe_quotient *quotient, const lethe_hash *hashes, size_t count,
                              uint8_t *answers) {
    uint8_t was_there[GROUP];
    (void)lethe_quotient_test_batch(quotient, hashes, count, was_there);
    for (size_t i = 0; i < count; i++) {
        /* An earlier item of the group can be the same. */
        bool is_there = was_there[i] || lethe_quotient_test_hash(quotient, hashes[i]);
        lethe_status status = lethe_quotient_add_hash(quotient, hashes[i], 1);
        if (status != LETHE_OK) return status;
        answers[i] = is_there ? LETHE_ANSWER_DUPLICATE : LETHE_ANSWER_FRESH;
    }
    return LETHE_OK;
}

/* Stops at the first item that can't be added. */
static lethe_status add(struct held *value, const lethe_hash *hashes, size_t count,
                        uint8_t *answers) {
    lethe_status status = LETHE_OK;
    memset(answers, LETHE_ANSWER_REFUSED, count);
    for (size_t i = 0; status == LETHE_OK && i < count; i += GROUP)
        status = add_group(value->structure, hashes + i, group_at(i, count), answers + i);
    return status;
}

static void test(const struct held *value, const lethe_hash *hashes, size_t count,
                 uint8_t *is_there) {
    lethe_quotient_test_batch(value->structure, hashes, count, is_there);
}

static void remove_items(struct held *value, const lethe_hash *hashes, size_t count,
                         uint8_t *was_there) {
    lethe_quotient *quotient = value->structure;
    for (size_t i = 0; i < count; i++) {
        if (i % GROUP == 0)
            lethe_quotient_test_batch(quotient, hashes + i, group_at(i, count), was_there + i);
        was_there[i] = lethe_quotient_remove_hash(quotient, hashes[i], 1) == LETHE_OK;
    }
}

static const struct filter_operations operations = {
    .counts_duplicates = true, .add = add, .test = test, .remove = remove_items};

/* --- Merging */

/* The most slots that additions would bring the filter to. */
static uint64_t most_slots(const lethe_quotient *quotient) {
    lethe_quotient_shape shape = shape_of(quotient);
    while (shape.remainder_bits > 1 && 0.9 * (double)shape.slots < (double)shape.grow_to) {
        shape.slots *= 2;
        shape.remainder_bits--;
    }
    return shape.slots;
}

/* A merge takes as many slots as it needs, so it could pass the filter's cap and its error. An
 * item that both hold is counted twice here: only the merge itself could find out. */
static lethe_status can_merge(const void *value, const void *other) {
    const lethe_quotient *into = held_structure(value);
    lethe_quotient_shape shape = shape_of(into);
    lethe_quotient_stats one = stats_of(into), two = stats_of(held_structure(other));
    uint64_t most = shape.grow_to > 0 ? shape.grow_to : shape.capacity;
    bool is_within = one.distinct + two.distinct <= most &&
                     (double)(one.slots_used + two.slots_used) <= 0.9 * (double)most_slots(into);
    return is_within || most == 0 ? LETHE_OK : LETHE_EFULL;
}

/* --- INFO */

struct facts {
    lethe_quotient_shape shape;
    lethe_quotient_stats stats;
    uint64_t memory_bytes;
};
INFO_FACTS_FIT(struct facts);

static void gather_facts(redis_context *context, const void *value, void *facts) {
    (void)context;
    *(struct facts *)facts = (struct facts){.shape = shape_of(held_structure(value)),
                                            .stats = stats_of(held_structure(value)),
                                            .memory_bytes = held_bytes(value)};
}

static const struct info_field info_fields[] = {
    INFO_ROW("slots", shape.slots, "The number of slots"),
    INFO_ROW("remainder_bits", shape.remainder_bits,
             "The bits that a slot keeps of an item's hash"),
    INFO_ROW("capacity", shape.capacity, "The number of different items it was made for"),
    INFO_ROW("grow_to", shape.grow_to,
             "The number of items up to which it doubles; 0: it does not grow"),
    INFO_ROW(
        "error_target", shape.error,
        "The false-positive rate that it was planned for: what was asked for, or less, since a "
        "slot has a whole number of bits"),
    INFO_ROW("error_estimate", stats.error_estimate, "The false-positive rate now"),
    INFO_ROW("items", stats.distinct, "The number of different items"),
    INFO_ROW("total", stats.total,
             "The number of items, each as often as it was added and not removed"),
    INFO_ROW("load", stats.load, "The share of slots in use"),
    INFO_ROW("counted", stats.counted, "The number of items that are there more than once"),
    INFO_ROW("missed_removals", stats.missed_removals,
             "The number of removals of items that were not there"),
    INFO_ROW("memory_bytes", memory_bytes, "Its memory"),
    {.name = NULL},
};

static const struct command qf_commands[] = {
    {
        .name = "COUNT",
        .function = held_count,
        .flags = "readonly fast",
        .arity = -3,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Reports how often items were added and not removed",
        .complexity = "O(number of items)",
        .arguments = ARGUMENTS(ARGUMENT_KEY("key", "The key of the {noun}"),
                               {.name = "item",
                                .type = REDIS_ARGUMENT_STRING,
                                .flags = REDIS_ARGUMENT_MULTIPLE,
                                .meaning = "An item"}),
        .replies = REPLIES({.when = "always", .resp2 = "array: per item an integer"}),
        .details =
            "A count is never too low, and too high with the false-positive rate of the filter.",
        .example = "> QF.MADD a apple apple pear\n"
                   "1) (integer) 1\n"
                   "2) (integer) 0\n"
                   "3) (integer) 1\n"
                   "> QF.COUNT a apple\n"
                   "1) (integer) 2\n",
    },
    {.name = NULL},
};

const struct value_type qf_type = {
    .name = "lethe-quo",
    VALUE_TYPE_PREFIX("QF"),
    .noun = "filter",
    .item = "item",
    VALUE_TYPE_HELD,
    .commands = {filter_commands, filter_removals, qf_commands},
    .filter = &operations,
    .create_word = "RESERVE",
    .options = options,
    .default_options = default_options,
    .contradiction = contradiction,
    .read_options = read_options,
    .planned_bytes = held_planned_bytes,
    .can_merge = can_merge,
    .repeat = filter_repeat,
    .info_fields = info_fields,
    .gather_facts = gather_facts,
};
