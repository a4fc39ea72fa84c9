/* module/types/fid.c - FID.*: frequencies of any number of items in a fixed amount of memory, as
 * a data type.
 *
 * A key holds one sketch of the FID kind. It has no window and forgets nothing by itself, but
 * items can be removed again. Estimates are never too low, as long as nothing is removed that
 * was not added. The steps of its effects (docs/format/module.md):
 *   C  make the sketch with these options
 *   A  add an item this many times      R  remove it this many times
 *   N  merge the sketch under another key; M: one whose saved bytes follow */
#include <string.h>

#include "change/change.h"
#include "command/command.h"
#include "command/info.h"
#include "command/options.h"
#include "command/ranges.h"
#include "server/errors.h"
#include "server/reply.h"
#include "server/scratch.h"
#include "types.h"
#include "types/held.h"

static redis_type *handle;
VALUE_TYPE_LOADER(fid_type)

/* --- Options */

#define FIELD(kind_, field_) .kind = kind_, .offset = offsetof(lethe_sketch_options, field_)

static const uint32_t counter_bits[] = {8, 16, 32, 64, 0};

static const struct option options[] = {
    {.token = "WIDTH",
     .name = "width",
     FIELD(OPTION_LARGE, width),
     .least = 1,
     .most = LETHE_SKETCH_MAX_WIDTH,
     .fallback = "65536",
     .meaning = "The number of counters in a row; WIDTH times DEPTH is at most 2^32"},
    {.token = "DEPTH",
     .name = "depth",
     FIELD(OPTION_SMALL, depth),
     .least = 1,
     .most = LETHE_SKETCH_MAX_DEPTH,
     .fallback = "4",
     .meaning = "The number of rows"},
    {.token = "BITS",
     .name = "bits",
     FIELD(OPTION_SMALL, counter_bits),
     .least = 8,
     .most = 64,
     .values = counter_bits,
     .range = "8, 16, 32 or 64",
     .fallback = "32",
     .meaning = "The bits of a counter"},
    {.token = "TOP",
     .name = "top",
     FIELD(OPTION_SMALL, top),
     .least = 1,
     .most = LETHE_SKETCH_MAX_TOP,
     .fallback = "none",
     .meaning = "The number of most frequent items that FID.TOP can list"},
    OPTION_ROW_OF_SEED(lethe_sketch_options, seed),
    {0},
};

static void default_options(void *wanted) {
    *(lethe_sketch_options *)wanted =
        LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID, .seed = random_seed(),
                      .allocator = &module_allocator);
}

static const char *contradiction(const void *wanted) {
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    bool is_good = lethe_sketch_plan(wanted, &shape) == LETHE_OK;
    return is_good ? NULL : "WIDTH times DEPTH is too large: with all parts of the sketch, 2^32";
}

/* --- The structure */

static lethe_sketch_shape shape_of(const lethe_sketch *sketch) {
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    (void)lethe_sketch_get_shape(sketch, &shape);
    return shape;
}

static size_t memory_of(const void *structure) {
    return shape_of(structure).memory_bytes;
}

static const struct holding holding = {.row = &structure_fid, .memory = memory_of};

/* --- Adding and removing: item, how often, item, how often */

static lethe_status change_one(lethe_sketch *sketch, bool is_addition, lethe_bytes item,
                               uint64_t weight) {
    return is_addition ? lethe_sketch_add(sketch, item.data, item.size, weight)
                       : lethe_sketch_remove(sketch, item.data, item.size, weight);
}

static lethe_bytes bytes_of(const redis_string *string) {
    lethe_bytes bytes;
    bytes.data = redis.StringPtrLen(string, &bytes.size);
    return bytes;
}

static const struct range range_item = {.kind = RANGE_BYTES, .most = LETHE_SKETCH_MAX_KEY_BYTES};
static const struct range range_times = {.least = 1, .most = INT64_MAX};
static const struct range range_listed = {.least = 1, .most = LETHE_SKETCH_MAX_TOP};

/* NULL, or the error. */
static const char *check_pairs(redis_string **arguments, int count) {
    const char *problem = NULL;
    for (int i = 2; i < count && problem == NULL; i += 2) {
        int64_t weight;
        problem = range_size(&range_item, "item", arguments[i]);
        if (problem == NULL)
            problem = range_number(&range_times, "times", arguments[i + 1], &weight);
    }
    return problem;
}

static void change_and_reply(redis_context *context, struct change *change, bool is_addition,
                             redis_string *item, redis_string *weight_text) {
    lethe_sketch *sketch = held_structure(change->opened.value);
    uint64_t weight = 0;
    (void)parse_number(weight_text, 1, INT64_MAX, &weight);
    lethe_bytes bytes = bytes_of(item);
    lethe_status status = change_one(sketch, is_addition, bytes, weight);
    if (status == LETHE_ENOTFOUND) {
        reply_error(context, ERROR_TOO_FEW);
    } else if (status != LETHE_OK) {
        reply_status(context, status);
    } else {
        effect_u8(&change->effect, is_addition ? 'A' : 'R');
        effect_u64(&change->effect, weight);
        effect_u32(&change->effect, (uint32_t)bytes.size);
        effect_bytes(&change->effect, bytes.data, bytes.size);
        reply_count(context, lethe_sketch_count(sketch, bytes.data, bytes.size, NULL));
    }
}

static int change_items(redis_context *context, redis_string **arguments, int count,
                        bool is_addition) {
    if (count < 4 || count % 2 != 0) return redis.WrongArity(context);
    const char *problem = check_pairs(arguments, count);
    if (problem != NULL) return reply_error(context, problem);
    struct change change;
    enum absence absence = is_addition ? ABSENT_IS_MADE : ABSENT_STAYS;
    if (!open_to_change(context, arguments[1], &fid_type, absence, &change)) return REDIS_OK;
    if (change.opened.value == NULL) {
        redis.CloseKey(change.opened.key);
        return reply_error_of(context, &fid_type, ERROR_NO_VALUE);
    }
    redis.ReplyWithArray(context, (count - 2) / 2);
    for (int i = 2; i < count; i += 2)
        change_and_reply(context, &change, is_addition, arguments[i], arguments[i + 1]);
    finish_change(context, &change, arguments[1], is_addition ? EVENT_ADD : EVENT_REMOVE);
    return REDIS_OK;
}

static int add_command(redis_context *context, redis_string **arguments, int count) {
    return change_items(context, arguments, count, true);
}

static int remove_command(redis_context *context, redis_string **arguments, int count) {
    return change_items(context, arguments, count, false);
}

/* --- Asking */

static int top_command(redis_context *context, redis_string **arguments, int count) {
    int64_t wanted;
    if (count != 3) return redis.WrongArity(context);
    const char *problem = range_number(&range_listed, "count", arguments[2], &wanted);
    if (problem != NULL) return reply_error(context, problem);
    struct opened opened;
    if (!open_value(context, arguments[1], &fid_type, OPEN_TO_READ, &opened)) return REDIS_OK;
    const lethe_sketch *sketch = held_structure(opened.value);
    size_t listed = 0;
    lethe_sketch_top_entry *entries = NULL;
    struct scratch room = {0};
    if (sketch != NULL && shape_of(sketch).top > 0) {
        entries = scratch_take(&room, (size_t)wanted, sizeof *entries);
        if (lethe_sketch_top(sketch, entries, (size_t)wanted, &listed) != LETHE_OK) listed = 0;
    }
    redis.ReplyWithArray(context, (long)(2 * listed));
    for (size_t i = 0; i < listed; i++) {
        redis.ReplyWithStringBuffer(context, entries[i].key.data, entries[i].key.size);
        reply_count(context, entries[i].count);
    }
    scratch_give(&room);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

/* --- INFO */

struct facts {
    lethe_sketch_shape shape;
    uint64_t total, memory_bytes, counter_max;
    double error_above, fill, saturation;
};
INFO_FACTS_FIT(struct facts);

/* A sketch of the usual size is looked at as a whole, which takes less than a millisecond. To look
 * at all counters of a large one would take seconds. */
enum { SAMPLED_COUNTERS = 1 << 18 };

static void gather_facts(redis_context *context, const void *value, void *facts) {
    struct facts *out = facts;
    (void)context;
    *out = (struct facts){.shape = shape_of(held_structure(value)),
                          .total = lethe_sketch_total(held_structure(value)),
                          .memory_bytes = held_bytes(value)};
    out->error_above = out->shape.epsilon * (double)out->total;
    lethe_sketch_stats stats = LETHE_INIT(lethe_sketch_stats);
    (void)lethe_sketch_estimate(held_structure(value), SAMPLED_COUNTERS, &stats);
    double counters = (double)out->shape.width * (double)out->shape.depth;
    out->counter_max = stats.counter_max;
    out->fill = (double)stats.counters_used / counters;
    out->saturation = (double)stats.counters_saturated / counters;
}

static const struct info_field info_fields[] = {
    INFO_ROW("width", shape.width, "The number of counters in a row"),
    INFO_ROW("depth", shape.depth, "The number of rows"),
    INFO_ROW("counter_bits", shape.counter_bits, "The bits of a counter"),
    INFO_ROW("total", total, "The sum of all that was added, less what was removed"),
    INFO_ROW("memory_bytes", memory_bytes, "Its memory"),
    INFO_ROW("error_above", error_above,
             "By how much an estimate may be too high, except in few cases"),
    INFO_ROW("top", shape.top, "The number of most frequent items that it keeps"),
    INFO_ROW("counter_max", counter_max, "The most that a counter holds"),
    INFO_ROW("fill", fill, "The share of counters in use, of a sample of 262144 if there are more"),
    INFO_ROW("saturation", saturation,
             "The share of counters that are full, of the same sample. An estimate that rests on "
             "full counters is too low: the sketch needs more BITS"),
    {.name = NULL},
};

/* --- Repeating what a master did */

static bool repeat_change(lethe_sketch *sketch, struct effect_reader *reader, bool is_addition,
                          bool apply) {
    uint64_t weight = effect_read_u64(reader);
    uint32_t size = effect_read_u32(reader);
    lethe_bytes item = {.data = effect_read_bytes(reader, size), .size = size};
    bool is_valid = item.data != NULL && weight > 0 && size <= LETHE_SKETCH_MAX_KEY_BYTES;
    if (is_valid && apply) (void)!change_one(sketch, is_addition, item, weight);
    return is_valid;
}

static bool repeat(void *value, uint8_t code, struct effect_reader *reader, bool apply) {
    return (code == 'A' || code == 'R') &&
           repeat_change(held_structure(value), reader, code == 'A', apply);
}

/* --- The type */

static lethe_status save_answers(const void *value, lethe_sink sink) {
    return lethe_sketch_export(held_structure(value), sink);
}

/* Of the part that answers: the last places of the list of most frequent items may differ
 * between a sketch and one that was loaded in between, where several items have the same count. */
static void digest(const void *value, redis_digest *digest) {
    digest_saved(save_answers, value, digest);
}

#define SKETCH ARGUMENT_KEY("key", "The key of the {noun}")
#define ITEM \
    { .name = "item", .type = REDIS_ARGUMENT_STRING, .meaning = "An item", .limits = &range_item }
#define CHANGES                                                                           \
    {                                                                                     \
        .name = "change", .type = REDIS_ARGUMENT_BLOCK, .flags = REDIS_ARGUMENT_MULTIPLE, \
        .parts = ARGUMENTS(ITEM, {.name = "times",                                        \
                                  .type = REDIS_ARGUMENT_INTEGER,                         \
                                  .meaning = "How many times",                            \
                                  .limits = &range_times})                                \
    }

static const struct command fid_commands[] = {
    {
        .name = "ADD",
        .function = add_command,
        .flags = "write deny-oom fast",
        .arity = -4,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Adds items, each a given number of times",
        .complexity = "O(number of items)",
        .arguments = ARGUMENTS(SKETCH, CHANGES),
        .replies =
            REPLIES({.when = "always", .resp2 = "array: the estimate of each item afterwards"}),
        .errors = ERRORS({ERROR_SERVER_MEMORY, "The server has used up its memory"}),
        .details =
            "A sketch that does not exist is made with the defaults. An estimate that a reply "
            "can't hold is returned as 9223372036854775807.",
        .example = "> FID.ADD a apple 3 pear 1\n"
                   "1) (integer) 3\n"
                   "2) (integer) 1\n"
                   "> FID.ADD a apple 1\n"
                   "1) (integer) 4\n",
    },
    {
        .name = "REMOVE",
        .function = remove_command,
        .flags = "write fast",
        .arity = -4,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Removes items that were added, each a given number of times",
        .complexity = "O(number of items)",
        .arguments = ARGUMENTS(SKETCH, CHANGES),
        .replies = REPLIES({.when = "always",
                            .resp2 = "array: the estimate of each item afterwards, or an "
                                     "error"}),
        .errors = ERRORS({ERROR_NO_VALUE, "There is no such key"},
                         {ERROR_TOO_FEW, "In place of an item's estimate"}),
        .details = "Estimates are never too low as long as nothing is removed that was not added.",
        .example = "> FID.ADD a apple 3\n"
                   "1) (integer) 3\n"
                   "> FID.REMOVE a apple 2\n"
                   "1) (integer) 1\n"
                   "> FID.REMOVE a apple 2\n"
                   "1) (error) ERR fewer than that were added; nothing was changed\n",
    },
    {
        .name = "COUNT",
        .function = held_count,
        .flags = "readonly fast",
        .arity = -3,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Estimates how often items were added",
        .complexity = "O(number of items)",
        .arguments = ARGUMENTS(SKETCH, {.name = "item",
                                        .type = REDIS_ARGUMENT_STRING,
                                        .flags = REDIS_ARGUMENT_MULTIPLE,
                                        .meaning = "An item"}),
        .replies = REPLIES({.when = "always", .resp2 = "array: per item its estimate"}),
        .details = "An estimate is never too low. FID.INFO has by how much it may be too high.",
        .example = "> FID.ADD a apple 3\n"
                   "1) (integer) 3\n"
                   "> FID.COUNT a apple\n"
                   "1) (integer) 3\n"
                   "> FID.COUNT none apple\n"
                   "1) (integer) 0\n",
    },
    {
        .name = "TOP",
        .function = top_command,
        .flags = "readonly",
        .arity = 3,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Lists the most frequent items of a sketch that was made with TOP",
        .complexity = "O(top log top)",
        .arguments = ARGUMENTS(SKETCH, {.name = "count",
                                        .type = REDIS_ARGUMENT_INTEGER,
                                        .meaning = "How many",
                                        .limits = &range_listed}),
        .replies = REPLIES(
            {.when = "always", .resp2 = "array: items and estimates in turn, the largest first"}),
        .details = "If the sketch was made without TOP, the list is empty.",
        .example = "> FID.RESERVE a TOP 10\n"
                   "OK\n"
                   "> FID.ADD a apple 3 pear 1\n"
                   "...\n"
                   "> FID.TOP a 1\n"
                   "1) \"apple\"\n"
                   "2) (integer) 3\n",
    },
    {.name = NULL},
};

const struct value_type fid_type = {
    .name = "lethe-fid",
    VALUE_TYPE_PREFIX("FID"),
    .noun = "sketch",
    .item = "item",
    VALUE_TYPE_HELD,
    .commands = {fid_commands},
    .create_word = "RESERVE",
    .options = options,
    .default_options = default_options,
    .contradiction = contradiction,
    .planned_bytes = held_planned_bytes,
    .repeat = repeat,
    .info_fields = info_fields,
    .gather_facts = gather_facts,
    .digest = digest,
};
