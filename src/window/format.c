/* window/format.c - saves and loads windows: docs/format/window.md.
 *
 * The payload is the options and then each stripe: a chain of parts (chain_format.c), or, for the
 * forgetful kind, a whole frame of a forgetful filter. */
#include "core/codec.h"
#include "core/io.h"
#include "window/window.h"

#define TYPE "WIND"

enum { VERSION = 2, FIELD_BYTES = 72 };

/* A slab that holds nothing takes a bit of a file, and a pointer in memory: 64 times as much. So a
 * file may list as many slabs as one part may have, and 64 more for each that it brings. */
#define MOST_LISTED (UINT64_C(1) << 22)
#define BYTES_A_LISTED (UINT64_C(1) << 15)

/* A forgetful stripe has a frame of its own inside the window's. One sink counts its bytes and
 * another writes it to the window's encoder. */
static lethe_status count_bytes(void *context, const void *data, size_t size) {
    (void)data;
    *(uint64_t *)context += size;
    return LETHE_OK;
}

static lethe_status put_into_encoder(void *context, const void *data, size_t size) {
    lethe_encoder_put_bytes(context, data, size);
    return lethe_encoder_status(context);
}

static lethe_status get_from_decoder(void *context, void *data, size_t size) {
    lethe_decoder_get_bytes(context, data, size);
    return lethe_decoder_status(context);
}

static lethe_status stripe_bytes(const lethe_window *window,
                                 const struct lethe_window_stripe *stripe, uint64_t *out) {
    *out = 0;
    if (lethe_window_is_forgetful(window)) {
        return lethe_forgetful_save(stripe->forgetful,
                                    (lethe_sink){.context = out, .write = count_bytes});
    }
    *out = lethe_chain_saved_bytes(&stripe->chain);
    return LETHE_OK;
}

static void encode_options(const lethe_window_options *options, lethe_encoder *encoder) {
    lethe_encoder_put_u32(encoder, (uint32_t)options->kind);
    lethe_encoder_put_u32(encoder, options->stripes);
    lethe_encoder_put_u64(encoder, options->window_ms);
    lethe_encoder_put_f64(encoder, options->error);
    lethe_encoder_put_f64(encoder, options->slack);
    lethe_encoder_put_u64(encoder, options->capacity);
    lethe_encoder_put_u64(encoder, options->max_memory_bytes);
    lethe_encoder_put_u64(encoder, options->seed);
    lethe_encoder_put_u32(encoder, (uint32_t)options->policy);
    lethe_encoder_put_u32(encoder, options->refresh_on_duplicate);
    lethe_encoder_put_u64(encoder, 0);
}

static lethe_status save_stripes(const lethe_window *window, lethe_sink sink) {
    uint64_t sizes[LETHE_WINDOW_MAX_STRIPES], total = FIELD_BYTES;
    lethe_status status = LETHE_OK;
    for (uint32_t i = 0; i < window->stripe_count && status == LETHE_OK; i++) {
        status = stripe_bytes(window, &window->stripes[i], &sizes[i]);
        total += 8 + sizes[i];
    }
    if (status != LETHE_OK) return status;
    lethe_encoder *encoder;
    status = lethe_encoder_begin(sink, TYPE, VERSION, total, window->options.allocator, &encoder);
    if (status != LETHE_OK) return status;
    encode_options(&window->options, encoder);
    for (uint32_t i = 0; i < window->stripe_count && status == LETHE_OK; i++) {
        lethe_encoder_put_u64(encoder, sizes[i]);
        if (lethe_window_is_forgetful(window)) {
            lethe_sink inner = {.context = encoder, .write = put_into_encoder};
            status = lethe_forgetful_save(window->stripes[i].forgetful, inner);
        } else {
            lethe_chain_encode(&window->stripes[i].chain, encoder);
        }
    }
    if (status == LETHE_OK) return lethe_encoder_end(encoder);
    lethe_encoder_abort(encoder);
    return status;
}

lethe_status lethe_window_save(const lethe_window *window, lethe_sink sink) {
    if (window == NULL || sink.write == NULL) return LETHE_EINVAL;
    /* All stripes are locked while they are written, so the file shows one moment. */
    for (uint32_t i = 0; i < window->stripe_count; i++)
        (void)lethe_window_take(window, i);
    lethe_status status = save_stripes(window, sink);
    for (uint32_t i = 0; i < window->stripe_count; i++)
        lethe_window_give(window, &window->stripes[i]);
    return status;
}

static lethe_status decode_options(lethe_decoder *decoder, const lethe_allocator *allocator,
                                   lethe_window_options *out) {
    uint32_t kind = lethe_decoder_get_u32(decoder);
    lethe_window_options options = {.stripes = lethe_decoder_get_u32(decoder),
                                    .allocator = allocator};
    options.window_ms = lethe_decoder_get_u64(decoder);
    options.error = lethe_decoder_get_f64(decoder);
    options.slack = lethe_decoder_get_f64(decoder);
    options.capacity = lethe_decoder_get_u64(decoder);
    options.max_memory_bytes = lethe_decoder_get_u64(decoder);
    options.seed = lethe_decoder_get_u64(decoder);
    uint32_t policy = lethe_decoder_get_u32(decoder);
    uint32_t refresh = lethe_decoder_get_u32(decoder);
    uint64_t zero = lethe_decoder_get_u64(decoder);
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);
    if (kind > LETHE_WINDOW_FORGETFUL || policy > LETHE_POLICY_DEGRADE || refresh > 1 ||
        zero != 0 || options.window_ms == 0 || options.error == 0 || options.slack == 0 ||
        options.seed == 0) {
        return LETHE_ECORRUPT;
    }
    options.kind = (lethe_window_kind)kind;
    options.policy = (lethe_policy)policy;
    options.refresh_on_duplicate = refresh != 0;
    return lethe_chain_plan(&options, out) == LETHE_OK ? LETHE_OK : LETHE_ECORRUPT;
}

/* Whether a loaded forgetful stripe fits this window. */
static bool belongs(const lethe_window *window, const lethe_forgetful *forgetful) {
    lethe_forgetful_stats stats = LETHE_INIT(lethe_forgetful_stats);
    return lethe_forgetful_info(forgetful, 0, &stats) == LETHE_OK &&
           stats.setting == LETHE_FORGETFUL_ELASTIC &&
           stats.window_ms == window->options.window_ms && stats.seed == window->options.seed;
}

static lethe_status decode_stripe(lethe_window *window, struct lethe_window_stripe *stripe,
                                  const lethe_window_options *share, uint64_t *may_list,
                                  lethe_decoder *decoder) {
    uint64_t size = lethe_decoder_get_u64(decoder), left = lethe_decoder_left(decoder);
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);
    if (size > left) return LETHE_ECORRUPT;
    lethe_status status;
    if (lethe_window_is_forgetful(window)) {
        lethe_source inner = {.context = decoder, .read = get_from_decoder, .size_bytes = size};
        status = lethe_forgetful_load(inner, window->options.allocator, &stripe->forgetful);
        if (status == LETHE_ETYPE || status == LETHE_EVERSION) status = LETHE_ECORRUPT;
        if (status == LETHE_OK && !belongs(window, stripe->forgetful)) status = LETHE_ECORRUPT;
    } else {
        /* The contents are accepted even if a part planned today would exceed the cap. */
        lethe_window_options empty = *share;
        empty.capacity = 0;
        empty.max_memory_bytes = 0;
        status = lethe_chain_init(&stripe->chain, &empty);
        if (status == LETHE_OK) {
            stripe->chain.options = *share;
            status = lethe_chain_decode(&stripe->chain, may_list, decoder);
        }
    }
    if (status == LETHE_OK && left - lethe_decoder_left(decoder) != size) return LETHE_ECORRUPT;
    return status;
}

static lethe_status decode_window(lethe_decoder *decoder, const lethe_allocator *allocator,
                                  lethe_window **out) {
    lethe_window_options options;
    lethe_status status = decode_options(decoder, allocator, &options);
    if (status != LETHE_OK) return status;
    status = lethe_window_new_without_stripes(&options, out);
    if (status != LETHE_OK) return status == LETHE_EINVAL ? LETHE_ECORRUPT : status;
    lethe_window *window = *out;
    lethe_window_options share = lethe_window_stripe_options(window);
    uint64_t may_list = MOST_LISTED + lethe_decoder_left(decoder) / BYTES_A_LISTED;
    for (uint32_t i = 0; i < window->stripe_count && status == LETHE_OK; i++)
        status = decode_stripe(window, &window->stripes[i], &share, &may_list, decoder);
    return status;
}

LETHE_DEFINE_LOAD(lethe_window, TYPE, VERSION, decode_window)

LETHE_DEFINE_FILE_FUNCTIONS(lethe_window)
