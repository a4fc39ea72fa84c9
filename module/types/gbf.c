/* module/types/gbf.c - GBF.*: the Gaussian Bloom filter as a data type.
 *
 * A key holds one filter: items are added and tested, nothing is removed or forgotten, and the
 * size stays as it was made. The classical Bloom filter inside it can be extracted as a saved
 * file, for a program that knows only that.
 *
 * A filter's bells come from exp(), whose last bit may differ between machines. So that a
 * replica has its master's bells, the effect that makes a filter carries them: a whole saved
 * filter with as few slots as they need. The replica makes the real one after that pattern. */
#include <assert.h>

#include "change/change.h"
#include "command/command.h"
#include "command/info.h"
#include "command/options.h"
#include "server/errors.h"
#include "server/reply.h"
#include "types.h"
#include "types/filter.h"

static redis_type *handle;
VALUE_TYPE_LOADER(gbf_type)

/* --- Options */

struct making {
    lethe_gaussian_options wanted;
    /* From an effect: a saved filter, and what it does not say. Otherwise the pattern's size is
     * 0. */
    lethe_bytes pattern;
    uint64_t slots, capacity;
    double error;
};
static_assert(sizeof(struct making) <= OPTIONS_LIMIT_BYTES,
              "options are handed on in that much space");
static_assert(offsetof(struct making, wanted) == 0, "held_planned_bytes takes it for the options");

static const char *const spacings[] = {
    [LETHE_GAUSSIAN_SPACING_EVEN] = "even", [LETHE_GAUSSIAN_SPACING_PUBLISHED] = "published", NULL};
static_assert(sizeof(lethe_gaussian_spacing) == sizeof(int), "an OPTION_WORD is an int");

#define FIELD(kind_, field_) .kind = kind_, .offset = offsetof(struct making, wanted.field_)

static const uint32_t slot_bits[] = {1, 2, 3, 4, 5, 6, 7, 8, 32, 64, 0};

static const struct option options[] = {
    OPTION_ROW_OF_CAPACITY(struct making, wanted.capacity,
                           "The number of items it is made for; not with SLOTS"),
    OPTION_ROW_OF_ERROR(
        struct making, wanted.error,
        "The false-positive rate of the Bloom filter inside at CAPACITY; not with SLOTS"),
    {.token = "SLOTS",
     .name = "slots",
     FIELD(OPTION_LARGE, slots),
     .least = 1,
     .most = UINT64_C(1) << 40,
     .fallback = "from CAPACITY and ERROR",
     .meaning = "The number of slots"},
    {.token = "HASHES",
     .name = "hashes",
     FIELD(OPTION_SMALL, hashes),
     .least = 1,
     .most = 64,
     .fallback = "7",
     .meaning = "The number of hash functions; only with SLOTS"},
    {.token = "BITS",
     .name = "bits",
     FIELD(OPTION_SMALL, slot_bits),
     .least = 1,
     .most = 64,
     .values = slot_bits,
     .range = "1 to 8, 32 or 64",
     .fallback = "4",
     .meaning = "The bits of a slot; with 1 it is a classical Bloom filter"},
    {.token = "SPACING",
     .name = "spacing",
     FIELD(OPTION_WORD, spacing),
     .words = spacings,
     .fallback = "even",
     .meaning = "How the bells of the hash functions are spread"},
    OPTION_ROW_OF_SEED(struct making, wanted.seed),
    {0},
};

static void default_options(void *wanted) {
    *(struct making *)wanted =
        (struct making){.wanted = LETHE_OPTIONS(lethe_gaussian_options, .seed = random_seed(),
                                                .allocator = &module_allocator)};
}

static const char *contradiction(const void *making) {
    const lethe_gaussian_options *wanted = &((const struct making *)making)->wanted;
    lethe_gaussian_shape shape = LETHE_INIT(lethe_gaussian_shape);
    if (wanted->slots == 0 && wanted->hashes != 0) return "HASHES is only given with SLOTS";
    if (wanted->slots != 0 && wanted->capacity != 0) return "CAPACITY is not given with SLOTS";
    if (wanted->slots != 0 && wanted->error != 0) return "ERROR is not given with SLOTS";
    if (lethe_gaussian_plan(wanted, &shape) == LETHE_OK) return NULL;
    return wanted->slots != 0 ? "SLOTS has no room for the bells of that many HASHES and BITS"
                              : "CAPACITY and ERROR need more than 2^40 slots";
}

/* The smallest filter with the bells of this shape. */
static lethe_status save_pattern(const lethe_gaussian_shape *shape, lethe_memory_writer *out) {
    lethe_gaussian_options smallest = LETHE_OPTIONS(
        lethe_gaussian_options, .slots = 2 * (uint64_t)shape->radius + 1, .hashes = shape->hashes,
        .slot_bits = shape->slot_bits, .spacing = shape->spacing, .exponential = shape->exponential,
        .deviation_cap = shape->deviation_cap, .seed = shape->seed);
    lethe_gaussian *pattern;
    lethe_status status = lethe_gaussian_new(&smallest, &pattern);
    if (status == LETHE_OK) status = lethe_gaussian_save(pattern, lethe_sink_to_memory(out));
    lethe_gaussian_free(pattern);
    return status;
}

static void write_options(const void *making, struct effect *effect) {
    const lethe_gaussian_options *wanted = &((const struct making *)making)->wanted;
    lethe_gaussian_shape shape = LETHE_INIT(lethe_gaussian_shape);
    lethe_memory_writer pattern = {0};
    lethe_status status = lethe_gaussian_plan(wanted, &shape);
    if (status == LETHE_OK) status = save_pattern(&shape, &pattern);
    /* Without memory for that little, the effect lacks the pattern, and replicas refuse it. */
    effect_u64(effect, shape.slots);
    effect_u64(effect, shape.capacity);
    effect_f64(effect, shape.error);
    effect_u32(effect, status == LETHE_OK ? (uint32_t)pattern.size : 0);
    if (status == LETHE_OK) effect_bytes(effect, pattern.data, pattern.size);
    lethe_memory_writer_free(&pattern);
}

static bool read_options(struct effect_reader *reader, void *wanted) {
    struct making *making = wanted;
    making->slots = effect_read_u64(reader);
    making->capacity = effect_read_u64(reader);
    making->error = effect_read_f64(reader);
    making->pattern.size = effect_read_u32(reader);
    making->pattern.data = effect_read_bytes(reader, making->pattern.size);
    return making->pattern.size > 0;
}

/* --- The structure */

static lethe_status make_like_master(const struct making *making, lethe_gaussian **out) {
    lethe_memory_reader reader = {.data = making->pattern.data, .size = making->pattern.size};
    lethe_gaussian *pattern;
    lethe_status status =
        lethe_gaussian_load(lethe_source_from_memory(&reader), &module_allocator, &pattern);
    if (status != LETHE_OK) return status;
    status = lethe_gaussian_new_like(pattern, making->slots, making->capacity, making->error, out);
    lethe_gaussian_free(pattern);
    return status;
}

static lethe_status make_structure(const void *wanted, void **out) {
    const struct making *making = wanted;
    lethe_gaussian *made = NULL;
    lethe_status status = making->pattern.size > 0 ? make_like_master(making, &made)
                                                   : lethe_gaussian_new(&making->wanted, &made);
    *out = made;
    return status;
}

static lethe_gaussian_shape shape_of(const lethe_gaussian *gaussian) {
    lethe_gaussian_shape shape = LETHE_INIT(lethe_gaussian_shape);
    (void)lethe_gaussian_get_shape(gaussian, &shape);
    return shape;
}

static size_t memory_of(const void *structure) {
    return shape_of(structure).memory_bytes;
}

static const struct holding holding = {
    .row = &structure_gaussian, .make = make_structure, .memory = memory_of};

/* --- Items */

static lethe_status add(struct held *value, const lethe_hash *hashes, size_t count,
                        uint8_t *answers) {
    lethe_gaussian_add_and_test_batch(value->structure, hashes, count, answers);
    return LETHE_OK;
}

static void test(const struct held *value, const lethe_hash *hashes, size_t count,
                 uint8_t *is_there) {
    lethe_gaussian_test_batch(value->structure, hashes, count, is_there);
}

static const struct filter_operations operations = {
    .counts_duplicates = true, .add = add, .test = test};

/* --- INFO */

/* A sample takes a few milliseconds. To look at all slots of a large filter would take a second. */
enum { SAMPLED_SLOTS = 1 << 18 };

struct facts {
    lethe_gaussian_shape shape;
    lethe_gaussian_stats stats;
    const char *spacing;
    uint64_t memory_bytes;
};
INFO_FACTS_FIT(struct facts);

static void gather_facts(redis_context *context, const void *value, void *facts) {
    struct facts *out = facts;
    (void)context;
    *out = (struct facts){.shape = shape_of(held_structure(value)),
                          .stats = LETHE_INIT(lethe_gaussian_stats),
                          .memory_bytes = held_bytes(value)};
    (void)lethe_gaussian_estimate(held_structure(value), SAMPLED_SLOTS, &out->stats);
    out->spacing = spacings[out->shape.spacing];
}

static const struct info_field info_fields[] = {
    INFO_ROW("slots", shape.slots, "The number of slots"),
    INFO_ROW("hashes", shape.hashes, "The number of hash functions"),
    INFO_ROW("slot_bits", shape.slot_bits, "The bits of a slot"),
    INFO_ROW("spacing", spacing, "How the bells are spread: even or published"),
    INFO_ROW("capacity", shape.capacity, "The number of items it was made for"),
    INFO_ROW(
        "error_target", shape.error,
        "The false-positive rate that the Bloom filter inside was planned for: what was asked for, "
        "or less"),
    INFO_ROW("error_estimate", stats.error_estimate, "The false-positive rate now"),
    INFO_ROW("bloom_error_estimate", stats.bloom_error,
             "The false-positive rate now of the Bloom filter inside"),
    INFO_ROW("additions", stats.additions, "The number of additions"),
    INFO_ROW("items_estimate", stats.distinct_estimate, "The number of different items, estimated"),
    INFO_ROW("fill", stats.fill, "The share of slots in use"),
    INFO_ROW("memory_bytes", memory_bytes, "Its memory"),
    {.name = NULL},
};

/* --- The Bloom filter inside */

enum { EXTRACT_LIMIT_BYTES = 512 << 20 }; /* what a client takes for a string */

static int reply_with_saved(redis_context *context, const lethe_bloom *bloom) {
    lethe_memory_writer saved = {0};
    lethe_status status = lethe_bloom_save(bloom, lethe_sink_to_memory(&saved));
    if (status == LETHE_OK) {
        redis.ReplyWithStringBuffer(context, saved.data, saved.size);
    } else {
        reply_status(context, status);
    }
    lethe_memory_writer_free(&saved);
    return REDIS_OK;
}

static int extract_command(redis_context *context, redis_string **arguments, int count) {
    if (count != 2) return redis.WrongArity(context);
    struct opened opened;
    if (!open_value(context, arguments[1], &gbf_type, OPEN_TO_READ, &opened)) return REDIS_OK;
    const lethe_gaussian *gaussian = held_structure(opened.value);
    lethe_bloom *bloom = NULL;
    if (gaussian == NULL) {
        reply_error_of(context, &gbf_type, ERROR_NO_VALUE);
    } else if (shape_of(gaussian).slots / 8 > EXTRACT_LIMIT_BYTES - 4096) {
        reply_error(context, ERROR_EXTRACT);
    } else {
        lethe_status status = lethe_gaussian_extract(gaussian, &bloom);
        if (status == LETHE_OK) {
            reply_with_saved(context, bloom);
        } else {
            reply_status(context, status);
        }
    }
    lethe_bloom_free(bloom);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

static const struct command gbf_commands[] = {
    {
        .name = "EXTRACT",
        .function = extract_command,
        .flags = "readonly",
        .arity = 2,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Returns the classical Bloom filter inside, as a saved file",
        .complexity = "O(size)",
        .arguments = ARGUMENTS(ARGUMENT_KEY("key", "The key of the {noun}")),
        .replies = REPLIES({.when = "always", .resp2 = "string: the file"}),
        .errors = ERRORS({ERROR_NO_VALUE, "There is no such key"},
                         {ERROR_EXTRACT, "The file would be larger than a reply can be"},
                         {ERROR_NO_MEMORY, "There is no memory for it"}),
        .details = "`lethe filter` reads the file, as does `lethe_bloom_load`.",
        .example = "> GBF.EXTRACT none\n"
                   "(error) ERR no such filter\n",
    },
    {.name = NULL},
};

const struct value_type gbf_type = {
    .name = "lethe-gbf",
    VALUE_TYPE_PREFIX("GBF"),
    .noun = "filter",
    .item = "item",
    VALUE_TYPE_HELD,
    .commands = {filter_commands, gbf_commands},
    .filter = &operations,
    .create_word = "RESERVE",
    .options = options,
    .default_options = default_options,
    .contradiction = contradiction,
    .write_options = write_options,
    .read_options = read_options,
    .planned_bytes = held_planned_bytes,
    .repeat = filter_repeat,
    .info_fields = info_fields,
    .gather_facts = gather_facts,
};
