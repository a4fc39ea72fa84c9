/* filter/forgetful/format.c - saves and loads forgetful Bloom filters: docs/format/forgetful.md.
 *
 * The payload is the options, the state, and for each member a head and its words. A loader
 * plans from the options as new does, so it refuses the same options. It trusts the sizes of
 * members only if they agree with the length of the data. What follows from the words (bits_set)
 * or from the options (periods) is not saved. */
#include <math.h>

#include "core/bits.h"
#include "core/codec.h"
#include "filter/forgetful/forgetful.h"

#define TYPE "FGBF"
#define MOST_BITS (UINT64_C(1) << 46)

enum { VERSION = 1, HEAD_BYTES = 208, MEMBER_HEAD_BYTES = 80, MAX_HASHES = 64 };

enum { IS_OPEN = 1, IS_STRAINED = 2, WAS_REFUSED = 4, HAS_CLOCK = 8, ALL_FLAGS = 15 };

static uint32_t flags_of(const lethe_forgetful *filter) {
    return (filter->is_open ? IS_OPEN : 0U) | (filter->is_strained ? IS_STRAINED : 0U) |
           (filter->was_refused ? WAS_REFUSED : 0U) | (filter->has_clock ? HAS_CLOCK : 0U);
}

static void put_options(lethe_encoder *encoder, const lethe_forgetful_options *options) {
    lethe_encoder_put_u32(encoder, (uint32_t)options->setting);
    lethe_encoder_put_u32(encoder, (uint32_t)options->policy);
    lethe_encoder_put_u64(encoder, options->window_ms);
    lethe_encoder_put_f64(encoder, options->error);
    lethe_encoder_put_f64(encoder, options->slack);
    lethe_encoder_put_u64(encoder, options->capacity);
    lethe_encoder_put_u64(encoder, options->max_memory_bytes);
    lethe_encoder_put_u64(encoder, options->bits);
    lethe_encoder_put_u32(encoder, options->hashes);
    lethe_encoder_put_u32(encoder, options->past);
    lethe_encoder_put_u64(encoder, options->period_ms);
    lethe_encoder_put_u32(encoder, (uint32_t)options->check);
    lethe_encoder_put_u32(encoder, options->adapt);
    lethe_encoder_put_u32(encoder, options->salted);
    lethe_encoder_put_u32(encoder, 0);
    lethe_encoder_put_u64(encoder, options->seed);
}

static void put_state(lethe_encoder *encoder, const lethe_forgetful *filter) {
    lethe_encoder_put_u32(encoder, flags_of(filter));
    lethe_encoder_put_u32(encoder, (uint32_t)filter->count);
    lethe_encoder_put_u64(encoder, filter->clock_ms);
    lethe_encoder_put_u64(encoder, filter->period_began_ms);
    lethe_encoder_put_u64(encoder, filter->salts);
    lethe_encoder_put_u64(encoder, filter->fresh);
    lethe_encoder_put_u64(encoder, filter->duplicates);
    lethe_encoder_put_u64(encoder, filter->refused);
    lethe_encoder_put_f64(encoder, filter->period_ids);
    lethe_encoder_put_u32(encoder, filter->past);
    lethe_encoder_put_u32(encoder, 0);
    lethe_encoder_put_u64(encoder, filter->period_ms);
    lethe_encoder_put_u64(encoder, filter->ticked_ms);
    lethe_encoder_put_u64(encoder, 0);
    lethe_encoder_put_u64(encoder, 0);
    lethe_encoder_put_u64(encoder, 0);
}

static void put_member_head(lethe_encoder *encoder, const struct member *member) {
    lethe_encoder_put_u64(encoder, member->bits.range);
    lethe_encoder_put_u32(encoder, member->bits.hashes);
    lethe_encoder_put_u32(encoder, member->is_paired);
    lethe_encoder_put_u64(encoder, member->salt);
    lethe_encoder_put_u64(encoder, member->ids);
    lethe_encoder_put_u64(encoder, member->own_ids);
    lethe_encoder_put_u64(encoder, member->first_ms);
    lethe_encoder_put_u64(encoder, member->last_ms);
    lethe_encoder_put_f64(encoder, member->limit);
    lethe_encoder_put_u64(encoder, 0);
    lethe_encoder_put_u64(encoder, 0);
}

lethe_status lethe_forgetful_save(const lethe_forgetful *filter, lethe_sink sink) {
    if (filter == NULL) return LETHE_EINVAL;
    uint64_t bytes = HEAD_BYTES;
    for (size_t i = 0; i < filter->count; i++)
        bytes += MEMBER_HEAD_BYTES + lethe_member_words(filter->members[i]) * sizeof(uint64_t);
    lethe_encoder *encoder;
    lethe_status status =
        lethe_encoder_begin(sink, TYPE, VERSION, bytes, filter->allocator, &encoder);
    if (status != LETHE_OK) return status;
    put_options(encoder, &filter->plan.options);
    put_state(encoder, filter);
    for (size_t i = 0; i < filter->count; i++) {
        const struct member *member = filter->members[i];
        put_member_head(encoder, member);
        lethe_encoder_put_words(encoder, member->bits.words, lethe_member_words(member));
    }
    return lethe_encoder_end(encoder);
}

/* Reads the options and plans from them, as lethe_forgetful_new does. */
static lethe_status get_plan(lethe_decoder *decoder, struct lethe_forgetful_plan *plan) {
    lethe_forgetful_options options = {0};
    uint32_t setting = lethe_decoder_get_u32(decoder);
    uint32_t policy = lethe_decoder_get_u32(decoder);
    options.window_ms = lethe_decoder_get_u64(decoder);
    options.error = lethe_decoder_get_f64(decoder);
    options.slack = lethe_decoder_get_f64(decoder);
    options.capacity = lethe_decoder_get_u64(decoder);
    options.max_memory_bytes = lethe_decoder_get_u64(decoder);
    options.bits = lethe_decoder_get_u64(decoder);
    options.hashes = lethe_decoder_get_u32(decoder);
    options.past = lethe_decoder_get_u32(decoder);
    options.period_ms = lethe_decoder_get_u64(decoder);
    uint32_t check = lethe_decoder_get_u32(decoder);
    options.adapt = lethe_decoder_get_u32(decoder);
    uint32_t salted = lethe_decoder_get_u32(decoder);
    uint32_t zero = lethe_decoder_get_u32(decoder);
    options.seed = lethe_decoder_get_u64(decoder);
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);

    if (setting > LETHE_FORGETFUL_PRINTED || policy > LETHE_POLICY_DEGRADE ||
        check > LETHE_FORGETFUL_SIMPLE || salted > 1 || zero != 0) {
        return LETHE_ECORRUPT;
    }
    options.setting = (lethe_forgetful_setting)setting;
    options.policy = (lethe_policy)policy;
    options.check = (lethe_forgetful_check_kind)check;
    /* Saved options have all defaults filled in, and elastic ones are salted. */
    bool is_elastic = options.setting == LETHE_FORGETFUL_ELASTIC;
    bool is_whole = options.seed != 0 && options.error != 0 &&
                    (is_elastic ? options.window_ms != 0 && options.slack != 0 && salted == 1
                                : options.bits != 0 && options.hashes != 0 && options.past != 0 &&
                                      options.period_ms != 0);
    options.salted = !is_elastic && salted == 1;
    if (!is_whole || lethe_forgetful_plan_options(&options, plan) != LETHE_OK) {
        return LETHE_ECORRUPT;
    }
    return LETHE_OK;
}

/* Reads the state of the filter; sets only these fields of *state. */
static lethe_status get_state(lethe_decoder *decoder, lethe_forgetful *state, size_t *count) {
    uint32_t flags = lethe_decoder_get_u32(decoder);
    *count = lethe_decoder_get_u32(decoder);
    state->clock_ms = lethe_decoder_get_u64(decoder);
    state->period_began_ms = lethe_decoder_get_u64(decoder);
    state->salts = lethe_decoder_get_u64(decoder);
    state->fresh = lethe_decoder_get_u64(decoder);
    state->duplicates = lethe_decoder_get_u64(decoder);
    state->refused = lethe_decoder_get_u64(decoder);
    state->period_ids = lethe_decoder_get_f64(decoder);
    state->past = lethe_decoder_get_u32(decoder);
    uint64_t zero = lethe_decoder_get_u32(decoder);
    state->period_ms = lethe_decoder_get_u64(decoder);
    state->ticked_ms = lethe_decoder_get_u64(decoder);
    for (int i = 0; i < 3; i++)
        zero |= lethe_decoder_get_u64(decoder);
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);

    state->is_open = (flags & IS_OPEN) != 0;
    state->is_strained = (flags & IS_STRAINED) != 0;
    state->was_refused = (flags & WAS_REFUSED) != 0;
    state->has_clock = (flags & HAS_CLOCK) != 0;
    bool valid = (flags & ~(uint32_t)ALL_FLAGS) == 0 && zero == 0 &&
                 *count <= LETHE_FORGETFUL_MOST_MEMBERS &&
                 state->period_began_ms <= state->clock_ms && state->ticked_ms <= state->clock_ms &&
                 (state->has_clock || state->clock_ms == 0);
    return valid ? LETHE_OK : LETHE_ECORRUPT;
}

/* Whether the setting can have this state. */
static bool is_possible(const lethe_forgetful *filter, size_t count) {
    const lethe_forgetful_options *options = &filter->plan.options;
    if (options->setting == LETHE_FORGETFUL_ELASTIC) {
        return filter->period_ids >= 0 && filter->period_ids <= 0x1p60 && filter->past == 0 &&
               filter->period_ms == 0 && filter->ticked_ms == 0 && (!filter->is_open || count >= 2);
    }
    bool keeps_period = filter->period_ms == options->period_ms;
    bool may_vary = (options->adapt & LETHE_FORGETFUL_ADAPT_PERIOD) != 0 &&
                    filter->period_ms >= 1000 && filter->period_ms <= 3600000;
    return !filter->is_open && !filter->was_refused && filter->period_ids == 0 &&
           filter->past >= 1 && (keeps_period || may_vary) &&
           (filter->past == options->past || (options->adapt & LETHE_FORGETFUL_ADAPT_FILTERS)) &&
           count >= (size_t)filter->past + 2;
}

/* Reads and checks a member's head. */
static lethe_status get_member_head(lethe_decoder *decoder, const lethe_forgetful *filter,
                                    struct member *head) {
    *head = (struct member){0};
    head->bits.range = lethe_decoder_get_u64(decoder);
    head->bits.hashes = lethe_decoder_get_u32(decoder);
    uint32_t paired = lethe_decoder_get_u32(decoder);
    head->salt = lethe_decoder_get_u64(decoder);
    head->ids = lethe_decoder_get_u64(decoder);
    head->own_ids = lethe_decoder_get_u64(decoder);
    head->first_ms = lethe_decoder_get_u64(decoder);
    head->last_ms = lethe_decoder_get_u64(decoder);
    head->limit = lethe_decoder_get_f64(decoder);
    uint64_t zero = lethe_decoder_get_u64(decoder);
    zero |= lethe_decoder_get_u64(decoder);
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);

    head->is_paired = paired == 1;
    bool valid = paired <= 1 && zero == 0 && head->bits.range >= 1 &&
                 head->bits.range <= MOST_BITS && head->bits.hashes >= 1 &&
                 head->bits.hashes <= MAX_HASHES && head->salt % 2 == 1 &&
                 head->own_ids <= head->ids && head->first_ms <= head->last_ms &&
                 head->last_ms <= filter->clock_ms && head->limit > 0 && head->limit <= 1;
    const lethe_forgetful_options *options = &filter->plan.options;
    if (options->setting != LETHE_FORGETFUL_ELASTIC) {
        valid = valid && head->bits.range == options->bits &&
                head->bits.hashes == options->hashes && (options->salted || head->salt == 1);
    }
    uint64_t words = (head->bits.range + 63) / 64;
    if (!valid || words > lethe_decoder_left(decoder) / sizeof(uint64_t)) return LETHE_ECORRUPT;
    return LETHE_OK;
}

static lethe_status get_member(lethe_decoder *decoder, lethe_forgetful *filter) {
    struct member head;
    lethe_status status = get_member_head(decoder, filter, &head);
    if (status != LETHE_OK) return status;
    struct member *member =
        lethe_member_new(head.bits.range, head.bits.hashes, head.salt, filter->allocator);
    if (member == NULL) return LETHE_ENOMEM;
    filter->members[filter->count++] = member;
    filter->memory_bytes += lethe_member_bytes(member);
    lethe_decoder_get_words(decoder, member->bits.words, lethe_member_words(member));
    if (!lethe_bits_end_clean(member->bits.words, member->bits.range)) return LETHE_ECORRUPT;
    member->ids = head.ids;
    member->own_ids = head.own_ids;
    member->first_ms = head.first_ms;
    member->last_ms = head.last_ms;
    member->is_paired = head.is_paired;
    if (filter->plan.options.setting == LETHE_FORGETFUL_ELASTIC) {
        lethe_member_set_limit(member, head.limit);
    }
    lethe_member_count_bits(member);
    return LETHE_OK;
}

/* I2 of elastic.c: ids of an own period need an older neighbour. */
static bool is_linked(const lethe_forgetful *filter) {
    if (filter->count == 0) return true;
    const struct member *last = filter->members[filter->count - 1];
    if (last->is_paired) return false;
    if (filter->plan.options.setting != LETHE_FORGETFUL_ELASTIC) return true;
    for (size_t i = 0; i < filter->count; i++) {
        if (filter->members[i]->own_ids > 0 && !filter->members[i]->is_paired) return false;
    }
    return true;
}

static lethe_status get_filter(lethe_decoder *decoder, const lethe_allocator *allocator,
                               lethe_forgetful **out) {
    struct lethe_forgetful_plan plan;
    lethe_status status = get_plan(decoder, &plan);
    if (status != LETHE_OK) return status;
    lethe_forgetful state = {.plan = plan};
    size_t count;
    status = get_state(decoder, &state, &count);
    if (status != LETHE_OK) return status;
    if (!is_possible(&state, count) || count > lethe_decoder_left(decoder) / MEMBER_HEAD_BYTES) {
        return LETHE_ECORRUPT;
    }
    lethe_forgetful *filter;
    status = lethe_forgetful_from_plan(&plan, allocator, &filter);
    if (status != LETHE_OK) return status;
    *out = filter;
    state.allocator = allocator;
    state.memory_bytes = filter->memory_bytes;
    *filter = state;
    status = lethe_forgetful_reserve(filter, count);
    for (size_t i = 0; status == LETHE_OK && i < count; i++)
        status = get_member(decoder, filter);
    if (status == LETHE_OK && !is_linked(filter)) status = LETHE_ECORRUPT;
    /* A forged expectation must not count: EXPECTED in budget.c. */
    if (status == LETHE_OK)
        filter->period_ids = fmin(filter->period_ids, lethe_forgetful_most_expected(filter));
    return status;
}

LETHE_DEFINE_LOAD(lethe_forgetful, TYPE, VERSION, get_filter)
