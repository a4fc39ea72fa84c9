/* engine/ids/ids.c - making the window, opening the ledger.
 *
 * I1      Ids decided within one step of the clock (W / 64) are recorded under the time of the last
 *         of them. The window therefore keeps ids one step longer than W, and its slack is smaller
 *         by as much, so that an id is still forgotten by W (1 + slack). */
#include "engine/ids/ids.h"

#include "core/detail.h"
#include "os/clock.h"

enum { STEPS_PER_WINDOW = 64, BATCH = 1024 };
static const double SLACK = 0.25;

void lethe_ids_plan(lethe_ids *ids, uint64_t window_ms) {
    ids->step_ms = window_ms / STEPS_PER_WINDOW;
    if (ids->step_ms > LETHE_LONGEST_WINDOW_MS - window_ms) {
        ids->step_ms = LETHE_LONGEST_WINDOW_MS - window_ms;
    }
    ids->kept_ms = window_ms + ids->step_ms;
}

lethe_window_options lethe_ids_window(const lethe_ids *ids, const lethe_store_options *options) {
    double kept = (double)ids->kept_ms, step = (double)ids->step_ms;
    return LETHE_OPTIONS(lethe_window_options, .window_ms = ids->kept_ms, .error = options->error,
                         .slack = ((1 + SLACK) * (double)options->window_ms - step) / kept - 1,
                         .capacity = options->capacity,
                         .max_memory_bytes = options->max_memory_bytes, .policy = options->policy,
                         .allocator = options->allocator,
                         .one_line = options->max_memory_bytes == 0);
}

lethe_status lethe_ids_make_window(const lethe_ids *ids, const lethe_store_options *options,
                                   const lethe_state *state, uint64_t capacity,
                                   lethe_window **out) {
    lethe_window_options window = lethe_ids_window(ids, options);
    window.kind = state->forgetful ? LETHE_WINDOW_FORGETFUL : LETHE_WINDOW_QUOTIENT;
    window.capacity = capacity;
    window.seed = state->seed;
    return lethe_window_new(&window, out);
}

static lethe_status open_window(lethe_ids *ids, const lethe_store_options *options,
                                const lethe_state *state, lethe_detail *detail) {
    uint64_t capacity = options->capacity;
    /* Under a cap, what the log has gets its room later: lethe_ids_refill. */
    if (capacity < state->log_ids && options->max_memory_bytes == 0) capacity = state->log_ids;
    /* The window is made again from the log. Its filters then begin at other times than they did,
     * and may need more memory than those that kept to the cap: the store could not be opened. */
    if (state->forgetful && options->max_memory_bytes > 0) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "a window of the forgetful kind has no memory cap in a store; "
                                 "leave the cap out, or make a store of the quotient kind");
    }
    lethe_status status = lethe_ids_make_window(ids, options, state, capacity, &ids->window);
    if (status == LETHE_EFULL) {
        return lethe_detail_fill(detail, status,
                                 "the window's memory cap is too small for the ids that are "
                                 "expected; raise it");
    }
    return status == LETHE_OK ? LETHE_OK
                              : lethe_detail_fill(detail, status, "cannot make the window: %s",
                                                  lethe_strerror(status));
}

static lethe_status open_ledger(lethe_ids *ids, const char *folder,
                                const lethe_store_options *options, const lethe_state *state,
                                lethe_detail *detail) {
    if (!options->forever) return LETHE_OK;
    lethe_ledger_options ledger = {.error = options->ledger_error,
                                   .capacity = options->ledger_capacity,
                                   .memory_bytes = options->ledger_memory_bytes,
                                   .seed = state->seed,
                                   .allocator = options->allocator};
    lethe_status status = lethe_ledger_open(folder, &ledger, !state->forever, &ids->ledger, detail);
    if (status != LETHE_OK || !state->forever) return status;
    return lethe_ledger_match(ids->ledger, state, detail);
}

static lethe_status make_index(lethe_ids *ids, const char *folder,
                               const lethe_store_options *options, lethe_detail *detail) {
    if (!options->exact) return LETHE_OK;
    lethe_index_options index = {.window_ms = options->window_ms,
                                 .kept_ms = ids->kept_ms,
                                 .folder = folder,
                                 .allocator = options->allocator,
                                 .is_alone = options->threads == 1};
    lethe_status status = lethe_index_new(&index, &ids->index);
    return status == LETHE_OK ? LETHE_OK
                              : lethe_detail_fill(detail, status, "cannot make the index: %s",
                                                  lethe_strerror(status));
}

lethe_status lethe_ids_open(lethe_ids *ids, const char *folder, const lethe_store_options *options,
                            const lethe_state *state, lethe_detail *detail) {
    ids->oldest_ms = UINT64_MAX;
    lethe_status status = open_window(ids, options, state, detail);
    if (status == LETHE_OK) status = make_index(ids, folder, options, detail);
    return status == LETHE_OK ? open_ledger(ids, folder, options, state, detail) : status;
}

/* A new ledger has the ids of the log by now, and so all there are: nobody remembers what the log
 * dropped before. It must be on disk before the state says that there is a ledger. */
lethe_status lethe_ids_found_ledger(lethe_ids *ids, const lethe_state *state,
                                    lethe_detail *detail) {
    if (ids->ledger == NULL || lethe_ledger_covers(ids->ledger) > 0) return LETHE_OK;
    lethe_status status = lethe_ledger_insert(ids->ledger, state->commit, (lethe_bytes){0}, detail);
    return status == LETHE_OK ? lethe_ledger_checkpoint(ids->ledger, true, detail) : status;
}

void lethe_ids_drop_memory(lethe_ids *ids) {
    lethe_window_free(ids->window);
    lethe_index_free(ids->index);
    ids->window = NULL;
    ids->index = NULL;
}

void lethe_ids_close(lethe_ids *ids) {
    lethe_ids_drop_memory(ids);
    lethe_ledger_close(ids->ledger);
    ids->ledger = NULL;
}

lethe_status lethe_ids_record_run(lethe_window *window, const unsigned char *log_ids,
                                  lethe_id_run run) {
    lethe_hash hashes[BATCH];
    for (uint32_t done = 0, size; done < run.count; done += size) {
        size = run.count - done < BATCH ? run.count - done : BATCH;
        lethe_log_ids_expand(log_ids + (size_t)done * LETHE_LOG_ID_BYTES, size, hashes);
        lethe_status status = lethe_window_add_batch(window, hashes, size, run.clock_ms, NULL);
        if (status != LETHE_OK) return status;
    }
    return LETHE_OK;
}

lethe_status lethe_ids_refill(lethe_ids *ids, uint64_t count, lethe_detail *detail) {
    lethe_status status = lethe_window_refill(ids->window, count);
    if (status == LETHE_EFULL) {
        return lethe_detail_fill(detail, status,
                                 "the window's memory cap is too small for the %llu ids that it "
                                 "must remember; raise it",
                                 (unsigned long long)count);
    }
    return status == LETHE_OK ? LETHE_OK
                              : lethe_detail_fill(detail, status, "cannot make the window: %s",
                                                  lethe_strerror(status));
}

void lethe_ids_measure(lethe_ids *ids, lethe_state *state) {
    ids->measured_ms = lethe_os_boot_ms();
    if (ids->window == NULL) return;
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    (void)lethe_window_info(ids->window, state->clock_ms, &stats);
    state->window_error = stats.error_estimate;
    state->window_memory_bytes = stats.memory_bytes;
    state->window_ids = stats.ids;
}
