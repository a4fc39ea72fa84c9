/* paper/ring_filter.c - the filters of a simulated store; see ring.h. */
#include "lethe/forgetful.h"
#include "lethe/window.h"
#include "paper/ring.h"

static lethe_hash hash_of(uint64_t id) {
    return lethe_hash_u64(LETHE_DEFAULT_SEED, id);
}

/* The sizes of the paper's experiments, with (N+1)t = 10 s. */
static lethe_status new_forgetful(enum ring_filter_kind kind, lethe_forgetful **out) {
    lethe_forgetful_options options =
        LETHE_OPTIONS(lethe_forgetful_options, .setting = LETHE_FORGETFUL_PRINTED, .bits = 25000,
                      .hashes = 5, .past = 1, .period_ms = RING_TIMEOUT_MS / 2, .error = 0.01);
    if (kind != RING_BASIC) {
        options.bits = 6250;
        options.adapt = LETHE_FORGETFUL_ADAPT_FILTERS | LETHE_FORGETFUL_ADAPT_PERIOD;
        options.max_memory_bytes = UINT64_C(1) << 17;
    }
    if (kind == RING_CORRECTED) {
        options.setting = LETHE_FORGETFUL_PAPER;
        options.window_ms = RING_TIMEOUT_MS;
    }
    return lethe_forgetful_new(&options, out);
}

lethe_status ring_filter_new(enum ring_filter_kind kind, struct ring_filter *out) {
    *out = (struct ring_filter){.kind = kind};
    lethe_status status = LETHE_OK;
    if (kind == RING_WINDOW) {
        lethe_window *window = NULL;
        status = lethe_window_new(
            &LETHE_OPTIONS(lethe_window_options, .window_ms = RING_TIMEOUT_MS, .error = 1e-6),
            &window);
        out->object = window;
    } else if (kind != RING_NONE) {
        lethe_forgetful *filter = NULL;
        status = new_forgetful(kind, &filter);
        out->object = filter;
    }
    return status;
}

void ring_filter_free(struct ring_filter *filter) {
    if (filter->kind == RING_WINDOW) {
        lethe_window_free(filter->object);
    } else if (filter->kind != RING_NONE) {
        lethe_forgetful_free(filter->object);
    }
    filter->object = NULL;
}

lethe_status ring_filter_replace(struct ring_filter *to, const struct ring_filter *from) {
    if (from->kind == RING_NONE) return LETHE_OK;
    lethe_memory_writer writer = {0};
    lethe_sink sink = lethe_sink_to_memory(&writer);
    lethe_status status = from->kind == RING_WINDOW ? lethe_window_save(from->object, sink)
                                                    : lethe_forgetful_save(from->object, sink);
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    lethe_source source = lethe_source_from_memory(&reader);
    struct ring_filter loaded = {.kind = from->kind};
    if (status == LETHE_OK && from->kind == RING_WINDOW) {
        lethe_window *window = NULL;
        status = lethe_window_load(source, NULL, &window);
        loaded.object = window;
    } else if (status == LETHE_OK) {
        lethe_forgetful *filter = NULL;
        status = lethe_forgetful_load(source, NULL, &filter);
        loaded.object = filter;
    }
    lethe_memory_writer_free(&writer);
    if (status != LETHE_OK) return status;
    ring_filter_free(to);
    *to = loaded;
    return LETHE_OK;
}

lethe_status ring_filter_take(struct ring_filter *filter, uint64_t id, uint64_t now_ms,
                              bool *is_fresh) {
    *is_fresh = true;
    if (filter->kind == RING_NONE) return LETHE_OK;
    lethe_answer answer = LETHE_ANSWER_REFUSED;
    lethe_status status = LETHE_OK;
    if (filter->kind == RING_WINDOW) {
        status = lethe_window_add_and_test(filter->object, hash_of(id), now_ms, &answer);
    } else {
        bool more = now_ms >= RING_RESIZE_MS;
        while (more && status == LETHE_OK)
            status = lethe_forgetful_work(filter->object, now_ms, 8, &more);
        if (status == LETHE_OK) {
            status = lethe_forgetful_add_and_test(filter->object, hash_of(id), now_ms, &answer);
        }
    }
    *is_fresh = answer == LETHE_ANSWER_FRESH;
    return status;
}
