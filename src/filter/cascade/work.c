/* filter/cascade/work.c - what to merge, and when.
 *
 * IDEA    A range has levels of runs, each `growth` times as large as the one above. A full table
 *         becomes a run of the first level. Two runs of a level are merged into one; when that one
 *         is as large as a level may be, it belongs to the next, and the runs there join the
 *         same merge.
 * I1      Newer runs come before older ones, and levels never decrease along the list. When a merge
 *         of newer runs reaches a higher level than older runs have, these are raised to it.
 * I2      A job's inputs are neighbours in the list, and no other job has them.
 * I3      Only the oldest frozen table of a range is being written, so that runs come in order.
 * I4      A run that can't be read is set aside: it stays in its place, and newer and older runs
 *         are merged separately.
 * WHY     Merging straight into the level where the result belongs saves writing it once for each
 *         level above. Flushes come first, since insertions wait for tables; then merges that have
 *         begun, so that there are never more merges under way than threads. */
#include "filter/cascade/state.h"

enum {
    FILTER_LEAST_BITS = 2,
    FILTER_MOST_BITS = 16,
    FLUSH_JOBS = 2 /* kept for flushes: an insertion that waits for a table must find one */
};

/* Entries that a run of the level may have before it belongs to the next. */
static uint64_t level_entries(const lethe_cascade *cascade, unsigned level) {
    uint64_t entries = cascade->tables[0].homes - cascade->tables[0].homes / 4;
    for (unsigned i = 0; i < level; i++) {
        if (entries > UINT64_MAX / 2 / cascade->setting.growth) return UINT64_MAX / 2;
        entries *= cascade->setting.growth;
    }
    return entries;
}

static bool is_idle(const struct lethe_cascade_range *range, unsigned at, unsigned level) {
    if (at >= range->run_count) return false;
    const struct lethe_cascade_run *run = range->runs[at];
    return !run->is_merging && !run->is_damaged && run->facts.level == level;
}

/* Whether a table of the range may be written. They wait when merging is so far behind that lookups
 * would suffer. */
static bool can_flush(const struct lethe_cascade_range *range) {
    return range->frozen_count > 0 && !range->is_flushing &&
           range->run_count < LETHE_CASCADE_MAX_RUNS - 1;
}

/* Each job may retire as many runs as a range has; there must be room for their names. */
static bool has_room(const lethe_cascade *cascade) {
    return cascade->obsolete_count + LETHE_CASCADE_MAX_JOBS * LETHE_CASCADE_MAX_RUNS <=
           LETHE_CASCADE_MAX_OBSOLETE;
}

/* Finds neighbours to merge: runs [*first, *first + *count) become one of *level. */
static bool find_merge(const lethe_cascade *cascade, const struct lethe_cascade_range *range,
                       unsigned *first, unsigned *count, unsigned *level) {
    for (unsigned at = 0; at < range->run_count; at++) {
        unsigned here = range->runs[at]->facts.level;
        if (!is_idle(range, at, here) || !is_idle(range, at + 1, here)) continue;
        unsigned end = at;
        uint64_t entries = 0;
        for (;;) {
            for (; is_idle(range, end, here); end++)
                entries += range->runs[end]->facts.entries;
            if (here + 1 >= LETHE_CASCADE_LEVELS || entries < level_entries(cascade, here)) break;
            here++;
        }
        *first = at;
        *count = end - at;
        *level = here;
        return true;
    }
    return false;
}

static struct lethe_cascade_job *find_free_job(lethe_cascade *cascade, bool flushes) {
    for (unsigned i = flushes ? 0 : FLUSH_JOBS; i < LETHE_CASCADE_MAX_JOBS; i++) {
        if (!cascade->jobs[i].is_used) return &cascade->jobs[i];
    }
    return NULL;
}

static struct lethe_cascade_job *find_begun_job(lethe_cascade *cascade, bool flushes) {
    for (unsigned i = 0; i < LETHE_CASCADE_MAX_JOBS; i++) {
        struct lethe_cascade_job *job = &cascade->jobs[i];
        if (job->is_used && !job->is_busy && (job->table != NULL) == flushes) return job;
    }
    return NULL;
}

/* What a level filter for a job's output may take: its share of the budget by entries. A part stays
 * free for the filters that merges replace. */
static uint64_t share_of_filters(lethe_cascade *cascade, uint64_t entries) {
    uint64_t budget = cascade->setting.level_filter_bytes;
    if (budget == 0 || entries == 0) return 0;
    uint64_t all = lethe_cascade_run_entries(cascade) + lethe_cascade_memory_entries(cascade);
    double bits = 8.0 * 0.95 * (double)budget / (double)(all > entries ? all : entries);
    if (bits > FILTER_MOST_BITS) bits = FILTER_MOST_BITS;
    uint64_t bytes = (uint64_t)((double)entries * bits / 8);
    uint64_t left = budget > cascade->filter_bytes ? budget - cascade->filter_bytes : 0;
    if (bytes > left) bytes = left;
    return bytes * 8 < entries * FILTER_LEAST_BITS ? 0 : bytes;
}

/* Completes a new job whose inputs are known. */
static void start(lethe_cascade *cascade, struct lethe_cascade_job *job) {
    const struct lethe_cascade_range *range = &cascade->ranges[job->range];
    job->is_used = true;
    job->run_id = cascade->next_run_id++;
    unsigned older = range->run_count;
    if (job->input_count > 0) {
        older = 0;
        while (range->runs[range->run_count - 1 - older] != job->inputs[job->input_count - 1])
            older++;
    }
    job->is_bottom = older == 0;
    job->filter_bytes = share_of_filters(cascade, job->expected);
    cascade->filter_bytes += job->filter_bytes;
    job->frame = (struct lethe_cascade_frame){
        .words = cascade->words,
        .allocator = cascade->allocator,
        .identity = cascade->shape.identity,
        .oldest_period = lethe_cascade_oldest_period(&cascade->shape, cascade->clock_ms),
        .buffer_bytes = cascade->setting.buffer_bytes};
}

static struct lethe_cascade_job *start_flush(lethe_cascade *cascade) {
    struct lethe_cascade_job *job = find_free_job(cascade, true);
    if (job == NULL) return NULL;
    for (unsigned i = 0; i < cascade->range_count; i++) {
        struct lethe_cascade_range *range = &cascade->ranges[i];
        if (!can_flush(range)) continue;
        *job = (struct lethe_cascade_job){
            .range = i, .table = range->frozen[range->frozen_count - 1], .level = 1};
        job->expected = job->table->count;
        range->is_flushing = true;
        start(cascade, job);
        return job;
    }
    return NULL;
}

/* Begins the merge that is due in the range with the most runs. */
static struct lethe_cascade_job *start_merge(lethe_cascade *cascade) {
    struct lethe_cascade_job *job = find_free_job(cascade, false);
    if (job == NULL) return NULL;
    unsigned first = 0, count = 0, level = 0, chosen = UINT32_MAX;
    for (unsigned i = 0; i < cascade->range_count; i++) {
        unsigned a, b, c;
        const struct lethe_cascade_range *range = &cascade->ranges[i];
        if (chosen != UINT32_MAX && range->run_count <= cascade->ranges[chosen].run_count) continue;
        if (!find_merge(cascade, range, &a, &b, &c)) continue;
        chosen = i;
        first = a;
        count = b;
        level = c;
    }
    if (chosen == UINT32_MAX) return NULL;
    *job = (struct lethe_cascade_job){.range = chosen, .level = level, .input_count = count};
    for (unsigned i = 0; i < count; i++) {
        struct lethe_cascade_run *run = cascade->ranges[chosen].runs[first + i];
        run->is_merging = true;
        run->references++;
        job->inputs[i] = run;
        job->expected += run->facts.entries;
        job->input_bytes += lethe_cascade_run_bytes(run);
    }
    start(cascade, job);
    return job;
}

/* A run that has no level filter though there is room for one: after an open, or when others became
 * smaller. */
static struct lethe_cascade_run *find_unfiltered(lethe_cascade *cascade, unsigned *range) {
    if (cascade->setting.level_filter_bytes == 0) return NULL;
    for (*range = 0; *range < cascade->range_count; ++*range) {
        for (unsigned i = 0; i < cascade->ranges[*range].run_count; i++) {
            struct lethe_cascade_run *run = cascade->ranges[*range].runs[i];
            if (run->filter != NULL || run->is_merging || run->is_damaged) continue;
            if (share_of_filters(cascade, run->facts.entries) > 0) return run;
        }
    }
    return NULL;
}

static struct lethe_cascade_job *start_scan(lethe_cascade *cascade) {
    unsigned range;
    struct lethe_cascade_job *job = find_free_job(cascade, false);
    struct lethe_cascade_run *run = job == NULL ? NULL : find_unfiltered(cascade, &range);
    if (run == NULL) return NULL;
    *job = (struct lethe_cascade_job){.range = range, .is_scan = true, .input_count = 1};
    run->is_merging = true;
    run->references++;
    job->inputs[0] = run;
    job->expected = run->facts.entries;
    start(cascade, job);
    return job;
}

static struct lethe_cascade_job *choose(lethe_cascade *cascade, bool flushes) {
    struct lethe_cascade_job *job = find_begun_job(cascade, true);
    if (job == NULL) job = start_flush(cascade);
    if (job != NULL || flushes) return job;
    job = find_begun_job(cascade, false);
    if (job == NULL) job = start_merge(cascade);
    return job != NULL ? job : start_scan(cascade);
}

static unsigned place_of(const struct lethe_cascade_range *range,
                         const struct lethe_cascade_run *run) {
    unsigned at = 0;
    while (range->runs[at] != run)
        at++;
    return at;
}

/* Takes a run off its list: its file is removed now, or after the next manifest. */
static void retire(lethe_cascade *cascade, struct lethe_cascade_run *run) {
    if (run->filter != NULL) {
        cascade->filter_bytes -= lethe_cascade_sieve_bytes(run->filter);
    }
    if (run->generation != 0) {
        cascade->obsolete[cascade->obsolete_count++] = run;
    } else {
        lethe_cascade_release_run(cascade, run);
    }
}

/* Restores the order of levels where a merge of newer runs reached a higher level than older runs
 * have. */
static void raise_levels(struct lethe_cascade_range *range) {
    for (unsigned i = 1; i < range->run_count; i++) {
        uint32_t newer = range->runs[i - 1]->facts.level;
        if (range->runs[i]->facts.level < newer) range->runs[i]->facts.level = newer;
    }
}

/* Puts a finished job's output in the place of its inputs. */
static void install(lethe_cascade *cascade, struct lethe_cascade_job *job) {
    struct lethe_cascade_range *range = &cascade->ranges[job->range];
    unsigned at = job->input_count == 0 ? 0 : place_of(range, job->inputs[0]);
    for (unsigned i = 0; i < job->input_count; i++) {
        lethe_cascade_release_run(cascade, job->inputs[i]); /* the job's own reference */
        retire(cascade, job->inputs[i]);
    }
    unsigned added = job->output != NULL;
    unsigned gone = job->input_count;
    if (gone == 0 && added == 1) { /* room before the first */
        for (unsigned i = range->run_count; i > 0; i--)
            range->runs[i] = range->runs[i - 1];
    } else {
        for (unsigned i = at + gone; i < range->run_count; i++)
            range->runs[i - gone + added] = range->runs[i];
    }
    range->run_count = range->run_count - gone + added;
    cascade->filter_bytes -= job->filter_bytes;
    if (job->output != NULL) {
        range->runs[at] = job->output;
        uint64_t bytes = lethe_cascade_run_bytes(job->output);
        cascade->written_bytes += bytes;
        if (job->table != NULL) cascade->flushed_bytes += bytes;
        if (job->output->filter != NULL) {
            cascade->filter_bytes += lethe_cascade_sieve_bytes(job->output->filter);
        }
    }
    raise_levels(range);
    cascade->unmatched += job->unmatched;
    if (job->table != NULL) {
        range->frozen_count--;
        range->is_flushing = false;
    }
}

/* Gives a failed job's inputs back. */
static void cancel(lethe_cascade *cascade, struct lethe_cascade_job *job) {
    for (unsigned i = 0; i < job->input_count; i++) {
        job->inputs[i]->is_merging = false;
        lethe_cascade_release_run(cascade, job->inputs[i]);
    }
    cascade->filter_bytes -= job->filter_bytes;
    if (job->table != NULL) cascade->ranges[job->range].is_flushing = false;
    job->is_used = false;
}

/* Gives a run the filter that was made for it. */
static void install_filter(lethe_cascade *cascade, struct lethe_cascade_job *job) {
    job->inputs[0]->filter = job->filter;
    cascade->filter_bytes += lethe_cascade_sieve_bytes(job->filter);
    job->filter = NULL;
    lethe_cascade_job_drop(cascade, job);
    cancel(cascade, job);
}

/* Drops runs all of whose entries have expired, from the old end. */
static void drop_expired(lethe_cascade *cascade) {
    if (cascade->shape.window_ms == 0) return;
    uint64_t oldest = lethe_cascade_oldest_period(&cascade->shape, cascade->clock_ms);
    for (unsigned i = 0; i < cascade->range_count; i++) {
        struct lethe_cascade_range *range = &cascade->ranges[i];
        while (range->run_count > 0 && cascade->obsolete_count < LETHE_CASCADE_MAX_OBSOLETE) {
            struct lethe_cascade_run *run = range->runs[range->run_count - 1];
            if (run->is_merging || run->facts.last_period >= oldest) break;
            range->run_count--;
            retire(cascade, run);
        }
    }
}

/* Ends a job whose step failed. If one of its runs can't be read, that run is set aside and merging
 * goes on elsewhere; any other failure is returned to the caller. State is held. */
static lethe_status fail(lethe_cascade *cascade, struct lethe_cascade_job *job,
                         struct lethe_cascade_run *damaged, lethe_status status,
                         struct lethe_cascade_progress *progress) {
    if (damaged != NULL) {
        damaged->is_damaged = true;
        progress->damage = status;
        status = LETHE_OK;
    }
    cancel(cascade, job);
    return status;
}

lethe_status lethe_cascade_step(lethe_cascade *cascade, uint64_t budget, bool flushes,
                                struct lethe_cascade_progress *progress) {
    lethe_os_lock_take(&cascade->state);
    drop_expired(cascade);
    struct lethe_cascade_job *job = choose(cascade, flushes || !has_room(cascade));
    *progress = (struct lethe_cascade_progress){.did = job != NULL};
    if (job != NULL) job->is_busy = true;
    lethe_os_lock_give(&cascade->state);
    if (job == NULL) return LETHE_OK;

    bool finished;
    lethe_status status = lethe_cascade_job_step(cascade, job, budget, &finished);
    struct lethe_cascade_table *table = NULL;
    struct lethe_cascade_run *damaged = NULL;
    if (status != LETHE_OK) {
        damaged = lethe_cascade_stream_damaged(job->stream);
        lethe_cascade_job_drop(cascade, job);
    }
    lethe_os_lock_take(&cascade->state);
    job->is_busy = false;
    if (status != LETHE_OK) {
        status = fail(cascade, job, damaged, status, progress);
    } else if (finished && job->is_scan) {
        install_filter(cascade, job);
    } else if (finished) {
        install(cascade, job);
        table = job->table;
        job->is_used = false;
        if (table != NULL && table->readers > 0) {
            table->is_written = true;
            table = NULL;
        }
    }
    if (table == NULL) lethe_os_condition_wake_all(&cascade->changed);
    lethe_os_lock_give(&cascade->state);
    lethe_cascade_free_unused(cascade);
    if (table != NULL) lethe_cascade_free_table(cascade, table);
    return status;
}

void lethe_cascade_free_table(lethe_cascade *cascade, struct lethe_cascade_table *table) {
    lethe_cascade_table_clear(table); /* nobody knows of it now; megabytes, so without the lock */
    lethe_os_lock_take(&cascade->state);
    cascade->free_tables[cascade->free_count++] = table;
    lethe_os_condition_wake_all(&cascade->changed);
    lethe_os_lock_give(&cascade->state);
}

bool lethe_cascade_is_behind(const lethe_cascade *cascade) {
    for (unsigned i = 0; i < cascade->range_count; i++) {
        const struct lethe_cascade_range *range = &cascade->ranges[i];
        unsigned idle = 0;
        while (is_idle(range, idle, 1))
            idle++;
        if (idle > cascade->setting.growth) return true;
    }
    return false;
}

void lethe_cascade_drop_jobs(lethe_cascade *cascade) {
    for (unsigned i = 0; i < LETHE_CASCADE_MAX_JOBS; i++) {
        struct lethe_cascade_job *job = &cascade->jobs[i];
        if (!job->is_used) continue;
        lethe_cascade_job_drop(cascade, job);
        cancel(cascade, job);
    }
}

/* Whether a flush or a merge could go on or begin. State is held. */
static bool can_step(const lethe_cascade *cascade) {
    unsigned a, b, c, free_for_merges = 0, free_jobs = 0;
    bool merges = has_room(cascade);
    for (unsigned i = 0; i < LETHE_CASCADE_MAX_JOBS; i++) {
        const struct lethe_cascade_job *job = &cascade->jobs[i];
        if (job->is_used && !job->is_busy && (merges || job->table != NULL)) return true;
        free_jobs += !job->is_used;
        free_for_merges += !job->is_used && i >= FLUSH_JOBS;
    }
    for (unsigned i = 0; i < cascade->range_count; i++) {
        const struct lethe_cascade_range *range = &cascade->ranges[i];
        if (free_jobs > 0 && can_flush(range)) return true;
        if (!merges || free_for_merges == 0) continue;
        if (find_merge(cascade, range, &a, &b, &c)) return true;
    }
    return false;
}

bool lethe_cascade_stands_still(const lethe_cascade *cascade) {
    unsigned frozen = 0;
    for (unsigned i = 0; i < LETHE_CASCADE_MAX_JOBS; i++) {
        if (cascade->jobs[i].is_busy) return false;
    }
    for (unsigned i = 0; i < cascade->range_count; i++)
        frozen += cascade->ranges[i].frozen_count;
    /* Else a table is being emptied, or is read. */
    bool all_wait = cascade->range_count + frozen == cascade->setting.table_count;
    return all_wait && !can_step(cascade);
}

static bool has_work(lethe_cascade *cascade) {
    unsigned range;
    if (can_step(cascade) || lethe_cascade_commit_is_due(cascade)) return true;
    return has_room(cascade) && find_free_job(cascade, false) != NULL &&
           find_unfiltered(cascade, &range) != NULL;
}

lethe_status lethe_cascade_work(lethe_cascade *cascade, uint64_t now_ms, uint64_t budget,
                                bool *more) {
    if (more == NULL) return LETHE_EINVAL;
    *more = false;
    if (cascade == NULL) return LETHE_EINVAL;
    lethe_os_lock_take(&cascade->state);
    lethe_cascade_tell_time(cascade, now_ms);
    bool is_due = lethe_cascade_commit_is_due(cascade);
    lethe_os_lock_give(&cascade->state);
    lethe_status status = is_due ? lethe_cascade_commit(cascade, NULL, false) : LETHE_OK;
    struct lethe_cascade_progress progress = {0};
    if (status == LETHE_OK) {
        status = lethe_cascade_step(cascade, budget == 0 ? 65536 : budget, false, &progress);
        if (status == LETHE_OK) status = progress.damage;
    }
    lethe_os_lock_take(&cascade->state);
    *more = has_work(cascade);
    lethe_os_lock_give(&cascade->state);
    return status;
}
