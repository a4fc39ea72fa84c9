/* module/gbf.c - GBF.*: the Gaussian Bloom filter as a data type.
 *
 * A key holds one filter: items are added and tested, nothing is removed or forgotten, and the size stays as it was
 * made. The classical Bloom filter inside it can be taken out as a saved file, for a peer that knows only that.
 *
 * What a filter's marks look like comes from exp(), which may differ by a bit between machines. So that a replica
 * has its master's, the effect that makes a filter carries them: a whole saved filter with as few slots as they need,
 * after whose pattern the real one is made. */
#include <assert.h>

#include "filter.h"

struct gbf {
    struct filter filter;
    lethe_gaussian *gaussian;
};

static redis_type *handle;

/* --- Making one */

struct making {
    lethe_gaussian_options wanted;
    /* From an effect; otherwise the size is 0: */
    lethe_bytes pattern; /* a saved filter */
    uint64_t slots, capacity;
    double error;
};
static_assert(sizeof(struct making) <= OPTIONS_LIMIT_BYTES,
              "options are handed on in such a space");

static void default_options(void *options) {
    *(struct making *)options =
        (struct making){.wanted = {.seed = random_seed(), .allocator = &module_allocator}};
}

static bool parse_large(const redis_string *text, uint64_t *out) {
    return parse_count(text, out) && *out > 0;
}

static bool parse_small(const redis_string *text, uint32_t *out) {
    uint64_t number;
    if (!parse_large(text, &number) || number > UINT32_MAX) return false;
    *out = (uint32_t)number;
    return true;
}

static bool parse_spacing(const redis_string *text, lethe_gaussian_spacing *out) {
    *out =
        is_word(text, "published") ? LETHE_GAUSSIAN_SPACING_PUBLISHED : LETHE_GAUSSIAN_SPACING_EVEN;
    return is_word(text, "published") || is_word(text, "even");
}

static enum option_verdict parse_option(const redis_string *name, const redis_string *value,
                                        void *making) {
    lethe_gaussian_options *options = &((struct making *)making)->wanted;
    bool is_good;
    if (is_word(name, "CAPACITY")) {
        is_good = parse_large(value, &options->capacity);
    } else if (is_word(name, "ERROR")) {
        is_good = parse_positive(value, &options->error);
    } else if (is_word(name, "SLOTS")) {
        is_good = parse_large(value, &options->slots);
    } else if (is_word(name, "HASHES")) {
        is_good = parse_small(value, &options->hashes);
    } else if (is_word(name, "BITS")) {
        is_good = parse_small(value, &options->slot_bits);
    } else if (is_word(name, "SPACING")) {
        is_good = parse_spacing(value, &options->spacing);
    } else if (is_word(name, "SEED")) {
        is_good = parse_seed(value, &options->seed);
    } else {
        return OPTION_UNKNOWN;
    }
    return is_good ? OPTION_FINE : OPTION_WRONG;
}

/* The smallest filter with the marks of this shape. */
static lethe_status save_pattern(const lethe_gaussian_shape *shape, lethe_memory_writer *out) {
    lethe_gaussian_options options = {
        .slots = 2 * (uint64_t)shape->radius + 1,
        .hashes = shape->hashes,
        .slot_bits = shape->slot_bits,
        .spacing = shape->spacing,
        .exponential = shape->exponential,
        .deviation_cap = shape->deviation_cap,
        .seed = shape->seed,
    };
    lethe_gaussian *pattern;
    lethe_status status = lethe_gaussian_new(&options, &pattern);
    if (status == LETHE_OK) status = lethe_gaussian_save(pattern, lethe_sink_to_memory(out));
    lethe_gaussian_free(pattern);
    return status;
}

static void write_options(const void *making) {
    const lethe_gaussian_options *options = &((const struct making *)making)->wanted;
    lethe_gaussian_shape shape;
    lethe_memory_writer pattern = {0};
    lethe_status status = lethe_gaussian_plan(options, &shape);
    if (status == LETHE_OK) status = save_pattern(&shape, &pattern);
    /* Without memory for so little a replica is not told what it needs, and refuses. */
    effect_u64(shape.slots);
    effect_u64(shape.capacity);
    effect_f64(shape.error);
    effect_u32(status == LETHE_OK ? (uint32_t)pattern.size : 0);
    if (status == LETHE_OK) effect_bytes(pattern.data, pattern.size);
    lethe_memory_writer_free(&pattern);
}

static bool read_options(struct effect_reader *reader, void *options) {
    struct making *making = options;
    making->slots = effect_read_u64(reader);
    making->capacity = effect_read_u64(reader);
    making->error = effect_read_f64(reader);
    making->pattern.size = effect_read_u32(reader);
    making->pattern.data = effect_read_bytes(reader, making->pattern.size);
    return making->pattern.size > 0;
}

static lethe_status make_like_master(struct gbf *gbf, const struct making *making) {
    lethe_memory_reader reader = {.data = making->pattern.data, .size = making->pattern.size};
    lethe_gaussian *pattern;
    lethe_status status =
        lethe_gaussian_load(lethe_source_from_memory(&reader), &module_allocator, &pattern);
    if (status != LETHE_OK) return status;
    status = lethe_gaussian_new_like(pattern, making->slots, making->capacity, making->error,
                                     &gbf->gaussian);
    lethe_gaussian_free(pattern);
    return status;
}

static uint64_t planned_bytes(const void *making) {
    lethe_gaussian_shape shape;
    lethe_status status = lethe_gaussian_plan(&((const struct making *)making)->wanted, &shape);
    return status == LETHE_OK ? shape.memory_bytes : 0;
}

static lethe_status make(void *value, const void *options) {
    struct gbf *gbf = value;
    const struct making *making = options;
    lethe_status status = making->pattern.size > 0
                              ? make_like_master(gbf, making)
                              : lethe_gaussian_new(&making->wanted, &gbf->gaussian);
    if (status == LETHE_OK) gbf->filter.seed = lethe_gaussian_get_shape(gbf->gaussian).seed;
    return status;
}

/* --- Items */

static lethe_status add(void *value, const lethe_hash *hashes, size_t count, uint8_t *was_there,
                        size_t *done) {
    lethe_gaussian_add_and_test_batch(((struct gbf *)value)->gaussian, hashes, count, was_there);
    *done = count;
    return LETHE_OK;
}

static void test(const void *value, const lethe_hash *hashes, size_t count, uint8_t *is_there) {
    lethe_gaussian_test_batch(((const struct gbf *)value)->gaussian, hashes, count, is_there);
}

static const struct filter_operations operations = {
    .counts_copies = true, .add = add, .test = test};

static lethe_status merge(void *value, const void *other) {
    return lethe_gaussian_union(((struct gbf *)value)->gaussian,
                                ((const struct gbf *)other)->gaussian);
}

/* A sample that takes few milliseconds: to look at all slots of a large filter would take the server a second. */
enum { SAMPLED_SLOTS = 1 << 18 };

static void tell(struct info *info, const void *value) {
    const struct gbf *gbf = value;
    lethe_gaussian_stats stats = lethe_gaussian_estimate(gbf->gaussian, SAMPLED_SLOTS);
    info_number(info, "slots", stats.shape.slots);
    info_number(info, "hashes", stats.shape.hashes);
    info_number(info, "slot_bits", stats.shape.slot_bits);
    info_name(info, "spacing");
    redis.ReplyWithCString(info->context, stats.shape.spacing == LETHE_GAUSSIAN_SPACING_PUBLISHED
                                              ? "published"
                                              : "even");
    info_number(info, "capacity", stats.shape.capacity);
    info_fraction(info, "error_target", stats.shape.error);
    info_fraction(info, "error_estimate", stats.error_estimate);
    info_fraction(info, "bloom_error_estimate", stats.bloom_error);
    info_number(info, "additions", stats.additions);
    info_fraction(info, "items_estimate", stats.distinct_estimate);
    info_fraction(info, "fill", stats.fill);
    info_number(info, "memory_bytes", stats.shape.memory_bytes + sizeof *gbf);
}

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
    const struct gbf *gbf = opened.value;
    lethe_bloom *bloom = NULL;
    if (gbf == NULL) {
        reply_error(context, "ERR no such filter");
    } else if (lethe_gaussian_get_shape(gbf->gaussian).slots / 8 > EXTRACT_LIMIT_BYTES - 4096) {
        reply_error(context, "ERR the Bloom filter inside is too large for a reply: 512 MB");
    } else {
        lethe_status status = lethe_gaussian_extract(gbf->gaussian, &bloom);
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

/* --- Saving and the rest */

static lethe_status save(const void *value, lethe_sink sink) {
    return lethe_gaussian_save(((const struct gbf *)value)->gaussian, sink);
}

static lethe_status load(void *value, lethe_source source) {
    struct gbf *gbf = value;
    lethe_status status = lethe_gaussian_load(source, &module_allocator, &gbf->gaussian);
    if (status == LETHE_OK) gbf->filter.seed = lethe_gaussian_get_shape(gbf->gaussian).seed;
    return status;
}

static void *load_from_snapshot(redis_io *io, int version) {
    return value_from_snapshot(&gbf_type, io, version);
}

static void drop(void *value) {
    lethe_gaussian_free(((struct gbf *)value)->gaussian);
}

static size_t memory(const void *value) {
    return lethe_gaussian_get_shape(((const struct gbf *)value)->gaussian).memory_bytes;
}

static redis_argument reserve_arguments[] = {ARGUMENT_KEY("key", 0),
                                             ARGUMENT_NAMED("CAPACITY", "items", INTEGER),
                                             ARGUMENT_NAMED("ERROR", "error", DOUBLE),
                                             ARGUMENT_NAMED("SLOTS", "slots", INTEGER),
                                             ARGUMENT_NAMED("HASHES", "hashes", INTEGER),
                                             ARGUMENT_NAMED("BITS", "bits", INTEGER),
                                             ARGUMENT_NAMED("SPACING", "spacing", STRING),
                                             ARGUMENT_NAMED("SEED", "seed", INTEGER),
                                             ARGUMENT_END};
static redis_argument extract_arguments[] = {ARGUMENT_KEY("key", 0), ARGUMENT_END};

static const struct command gbf_commands[] = {
    {"EXTRACT", extract_command, "readonly", 2, KEY_READS, 1, 1,
     "The Bloom filter inside, as a saved file of Lethe's", "O(size)", extract_arguments},
    {0},
};

const struct value_type gbf_type = {
    .name = "lethe-gbf",
    VALUE_TYPE_PREFIX("GBF"),
    .noun = "filter",
    .value_bytes = sizeof(struct gbf),
    .handle = &handle,
    .commands = {filter_commands, gbf_commands},
    .filter = &operations,
    .create_word = "RESERVE",
    .option_arguments = reserve_arguments,
    .option_names = "CAPACITY, ERROR, SLOTS, HASHES, BITS, SPACING and SEED",
    .default_options = default_options,
    .parse_option = parse_option,
    .write_options = write_options,
    .read_options = read_options,
    .planned_bytes = planned_bytes,
    .make = make,
    .repeat = filter_repeat,
    .merge = merge,
    .info = tell,
    .load_from_snapshot = load_from_snapshot,
    .save = save,
    .load = load,
    .drop = drop,
    .memory = memory,
};
