/* simulation/store/cascade.c - the cascade by itself, as a store does not use it: logged and
 * synced, merged by several threads, with removals.
 *
 * IDEA    Keys are inserted and removed in an order that the model keeps. Opened again, a cascade
 *         must be at some point of it: after a kill no earlier than what was returned, after a
 *         power cut no earlier than what was synced, and with checkpoints exactly at the last one,
 *         or at one that was under way.
 * I1      Only keys that are there are removed, so the count of a key is its insertions less its
 *         removals. */
#include "lethe/cascade.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/store/verdict.h"
#include "simulation/store/world.h"

enum { KEYS = 30000, EVENTS = 100000, MOST_BATCH = 5000, WORKERS = 3 };

#define FOLDER "/cascade"

/* One process's cascade and its threads. */
struct holding {
    lethe_cascade *cascade;
    bool stops;
    unsigned workers, threads[WORKERS];
    lethe_status worst; /* of the workers */
};

static struct {
    struct world world;
    lethe_cascade_options options;
    unsigned workers;
    uint64_t budget;         /* of a step of theirs */
    struct holding *holding; /* NULL: it is closed */
    /* The order of things: key * 2, and 1 for a removal. */
    uint32_t events[EVENTS];
    size_t submitted, returned, synced; /* so many of them */
    size_t checkpoint, under_way;       /* the last that was acknowledged; one that may be there */
    size_t least, most;                 /* where the next open must find it */
    uint64_t counts[KEYS];              /* of all submitted */
} all;

static lethe_hash hash_of(uint32_t key) {
    uint64_t number = key;
    return lethe_hash_bytes(all.options.seed, &number, sizeof number);
}

/* --- opening --- */

static void *work(void *context) {
    struct holding *holding = context;
    while (!holding->stops) {
        bool more = false;
        lethe_status status = lethe_cascade_work(holding->cascade, 0, all.budget, &more);
        if (status != LETHE_OK) holding->worst = status;
        if (status != LETHE_OK || !more) machine_sleep(2000);
    }
    return NULL;
}

struct opening {
    struct holding *holding;
    const char *folder; /* NULL: the cascade's own */
    lethe_status status;
    uint64_t sequence, counts[KEYS];
};

static void open_cascade(void *context) {
    struct opening *opening = context;
    struct holding *holding = opening->holding = machine_allocate(sizeof *holding);
    lethe_cascade_options options = all.options;
    options.allocator = machine_allocator();
    opening->status = lethe_cascade_open(opening->folder != NULL ? opening->folder : FOLDER,
                                         &options, &holding->cascade, NULL);
    if (opening->status != LETHE_OK) return;
    size_t note_bytes;
    lethe_cascade_last_checkpoint(holding->cascade, &opening->sequence, NULL, &note_bytes);
    static lethe_hash hashes[KEYS];
    for (uint32_t i = 0; i < KEYS; i++)
        hashes[i] = hash_of(i);
    opening->status = lethe_cascade_count_batch(holding->cascade, hashes, KEYS, 0, opening->counts);
    for (; holding->workers < all.workers; holding->workers++)
        holding->threads[holding->workers] = machine_thread_start(work, holding);
}

/* Finds the point that the counts are of. */
static size_t find_point(const uint64_t *counts) {
    static int64_t state[KEYS];
    memset(state, 0, sizeof state);
    size_t differences = 0;
    for (uint32_t i = 0; i < KEYS; i++)
        differences += counts[i] != 0;
    for (size_t n = 0; n <= all.most; n++) {
        if (n >= all.least && differences == 0) return n;
        if (n == all.most) break;
        uint32_t key = all.events[n] / 2;
        differences -= state[key] != (int64_t)counts[key];
        state[key] += all.events[n] % 2 == 0 ? 1 : -1;
        differences += state[key] != (int64_t)counts[key];
    }
    verdict_fail("prefix", "the cascade shows no state between event %zu and event %zu", all.least,
                 all.most);
}

static void settle(size_t point) {
    all.submitted = all.returned = point;
    if (all.synced > point) all.synced = point;
    memset(all.counts, 0, sizeof all.counts);
    for (size_t i = 0; i < point; i++)
        all.counts[all.events[i] / 2] += all.events[i] % 2 == 0 ? 1 : UINT64_MAX;
}

static bool is_checkpointed(void) {
    return all.options.durability == LETHE_CASCADE_CHECKPOINTED;
}

static bool is_impaired(void) {
    return world_is_impaired(&all.world);
}

static void calm_down(void) {
    system_disarm();
    disk_settings()->capacity_bytes = UINT64_MAX;
}

/* The process is gone: from where to where the next one may find things. */
static void lose(bool cuts_power) {
    if (is_checkpointed()) {
        all.least = all.checkpoint;
        all.most = all.under_way > all.checkpoint ? all.under_way : all.checkpoint;
    } else {
        /* A sync that failed may have lost what was not synced before. */
        all.least = cuts_power || is_impaired() ? all.synced : all.returned;
        all.most = all.submitted;
    }
    all.holding = NULL;
}

static void end_process(bool cuts_power) {
    lose(cuts_power);
    world_end_process(&all.world, cuts_power);
}

/* Calls into the process; false: it was killed meanwhile. */
static bool call(void (*main)(void *context), void *context) {
    if (world_call(&all.world, main, context)) return true;
    lose(all.world.step->cuts_power);
    return false;
}

static void open_if_closed(void) {
    static struct opening opening;
    static struct step calm;
    for (unsigned tries = 0; all.holding == NULL; tries++) {
        opening = (struct opening){0};
        if (tries > 20) verdict_fail("open", "the cascade did not open in 20 tries");
        all.world.faults_before = system_faults();
        size_t least = all.least, most = all.most;
        bool returned = call(open_cascade, &opening);
        if (returned && opening.status == LETHE_OK) {
            all.holding = opening.holding;
            break;
        }
        if (returned && !is_impaired())
            verdict_fail("open", "the cascade is refused: %s", lethe_strerror(opening.status));
        bool cuts_power = returned ? world_one_in(&all.world, 2) : all.world.step->cuts_power;
        if (returned) world_end_process(&all.world, cuts_power);
        all.holding = NULL;
        all.least = cuts_power && !is_checkpointed() && least > all.synced ? all.synced : least;
        all.most = most;
        calm_down();
        calm = *all.world.step;
        calm.kill_after = 0;
        all.world.step = &calm;
    }
    if (opening.status != LETHE_OK || opening.holding == NULL) return;
    if (opening.holding != all.holding) return;
    size_t point = find_point(opening.counts);
    if (is_checkpointed() && opening.sequence != point && all.events[0] != UINT32_MAX)
        verdict_fail("checkpoint", "the checkpoint is of event %" PRIu64 ", and shown is %zu",
                     opening.sequence, point);
    verdict_tell("        opened: the first %zu of %zu to %zu events", point, all.least, all.most);
    settle(point);
    all.checkpoint = all.under_way = is_checkpointed() ? point : all.checkpoint;
    opening.holding = NULL;
}

/* --- what clients do --- */

struct sending {
    struct holding *holding;
    bool removes;
    size_t count, done;
    lethe_hash hashes[MOST_BATCH];
    lethe_status status;
};

static void send_keys(void *context) {
    struct sending *sending = context;
    lethe_cascade *cascade = sending->holding->cascade;
    sending->status =
        sending->removes
            ? lethe_cascade_remove_batch(cascade, sending->hashes, sending->count, 0,
                                         &sending->done)
            : lethe_cascade_add_batch(cascade, sending->hashes, sending->count, 0, &sending->done);
}

/* Whatever failed must have had a reason; then the process ends. */
static void excuse(const char *what, lethe_status status) {
    if (!is_impaired() && all.holding->worst == LETHE_OK)
        verdict_fail("service", "%s failed without a fault: %s", what, lethe_strerror(status));
    verdict_tell("        %s failed: %s", what, lethe_strerror(status));
    end_process(world_one_in(&all.world, 2));
    calm_down();
}

static void insert(size_t most, bool removes) {
    static struct sending sending;
    open_if_closed();
    sending.holding = all.holding;
    sending.removes = removes;
    sending.count = 0;
    size_t count = 1 + (size_t)test_random_below(&all.world.random, most);
    for (size_t i = 0; i < count && all.submitted < EVENTS; i++) {
        uint32_t key = (uint32_t)test_random_below(&all.world.random, KEYS);
        if (removes && all.counts[key] == 0) continue;
        sending.hashes[sending.count++] = hash_of(key);
        all.events[all.submitted++] = key * 2 + removes;
        all.counts[key] += removes ? UINT64_MAX : 1;
    }
    if (sending.count == 0) return;
    verdict_tell("        %zu keys %s", sending.count, removes ? "removed" : "inserted");
    if (!call(send_keys, &sending)) return;
    if (sending.status != LETHE_OK) {
        excuse("insert", sending.status);
        return;
    }
    all.returned = all.submitted;
    if (all.options.durability == LETHE_CASCADE_SYNCED) all.synced = all.submitted;
}

struct asking {
    struct holding *holding;
    uint32_t keys[64];
    uint64_t counts[64], sequence;
    lethe_status status;
};

static void count_keys(void *context) {
    struct asking *asking = context;
    lethe_hash hashes[64];
    for (size_t i = 0; i < 64; i++)
        hashes[i] = hash_of(asking->keys[i]);
    asking->status =
        lethe_cascade_count_batch(asking->holding->cascade, hashes, 64, 0, asking->counts);
}

static void ask(void) {
    open_if_closed();
    struct asking asking = {.holding = all.holding};
    for (size_t i = 0; i < 64; i++)
        asking.keys[i] = (uint32_t)test_random_below(&all.world.random, KEYS);
    if (!call(count_keys, &asking)) return;
    if (asking.status != LETHE_OK) {
        excuse("count", asking.status);
        return;
    }
    for (size_t i = 0; i < 64; i++) {
        if (asking.counts[i] != all.counts[asking.keys[i]])
            verdict_fail("reads", "key %u is there %" PRIu64 " times, and should be %" PRIu64,
                         asking.keys[i], asking.counts[i], all.counts[asking.keys[i]]);
    }
}

static void sync_all(void *context) {
    struct asking *asking = context;
    asking->status = lethe_cascade_sync(asking->holding->cascade);
}

static void make_checkpoint(void *context) {
    struct asking *asking = context;
    asking->status = lethe_cascade_checkpoint(asking->holding->cascade, asking->sequence, NULL, 0);
}

static void secure(bool checkpoints) {
    open_if_closed();
    struct asking asking = {.holding = all.holding, .sequence = all.submitted};
    if (checkpoints) all.under_way = all.submitted;
    if (!call(checkpoints ? make_checkpoint : sync_all, &asking)) return;
    if (asking.status != LETHE_OK) {
        excuse(checkpoints ? "checkpoint" : "sync", asking.status);
        return;
    }
    if (!is_checkpointed()) all.synced = all.returned;
    if (checkpoints) all.checkpoint = all.submitted;
}

/* --- from outside, while the process goes on --- */

struct outside {
    lethe_status status;
    lethe_detail detail;
    lethe_backup backup;
    lethe_cascade_health health;
};

static void check_and_back_up(void *context) {
    struct outside *outside = context;
    outside->health.size = sizeof outside->health;
    outside->backup.size = sizeof outside->backup;
    outside->status = lethe_cascade_check(FOLDER, &outside->health, &outside->detail);
    if (outside->status != LETHE_OK) return;
    outside->status =
        lethe_cascade_backup(FOLDER, "/backups", NULL, &outside->backup, &outside->detail);
}

static void restore_it(void *context) {
    struct opening *opening = context;
    opening->status = lethe_cascade_restore("/backups", opening->sequence, "/restored", NULL, NULL);
    opening->folder = "/restored";
    if (opening->status == LETHE_OK) open_cascade(opening);
}

/* In a copy of the world: the backup has what was acknowledged, and nothing that was not sent. As
 * in lose, a sync that failed may have lost what was not synced before. */
static void try_restored(struct world *world, const void *context) {
    static struct opening opening;
    (void)world;
    opening = (struct opening){.sequence = *(const uint64_t *)context};
    size_t logged = is_impaired() ? all.synced : all.returned;
    calm_down();
    all.workers = 0;
    all.least = is_checkpointed() ? all.checkpoint : logged;
    all.most = is_checkpointed() ? all.under_way : all.submitted;
    if (all.most < all.least) all.most = all.least;
    (void)machine_call(READER, restore_it, &opening, 0);
    if (opening.status != LETHE_OK)
        verdict_fail("restore", "a backup is not restored: %s", lethe_strerror(opening.status));
    (void)find_point(opening.counts);
}

static void back_up(void) {
    static struct outside outside;
    open_if_closed();
    outside = (struct outside){.status = LETHE_OK};
    enum machine_end end = machine_call(READER, check_and_back_up, &outside, 0);
    machine_kill(READER);
    system_end_process(READER);
    if (end != MACHINE_RETURNED) return;
    if (outside.status == LETHE_OK) {
        harm_in_copy(&all.world, try_restored, &outside.backup.number);
    } else if (!is_impaired() && all.holding->worst == LETHE_OK) {
        verdict_fail("backup", "a backup failed without a fault: %s", outside.detail.text);
    }
}

static void close_cascade(void *context) {
    struct asking *asking = context;
    struct holding *holding = asking->holding;
    holding->stops = true;
    for (unsigned i = 0; i < holding->workers; i++)
        machine_thread_join(holding->threads[i]);
    asking->status = lethe_cascade_close(holding->cascade, NULL);
}

static void close_if_open(void) {
    if (all.holding == NULL) return;
    struct asking asking = {.holding = all.holding};
    lethe_status worst = all.holding->worst;
    if (!call(close_cascade, &asking)) return;
    if (asking.status != LETHE_OK && !is_impaired() && worst == LETHE_OK)
        verdict_fail("close", "closing failed without a fault: %s", lethe_strerror(asking.status));
    if (asking.status == LETHE_OK && !is_checkpointed()) all.synced = all.returned;
    end_process(false);
}

static void harm(enum step_kind kind) {
    struct world *world = &all.world;
    switch (kind) {
    case STEP_FILL:
        disk_settings()->capacity_bytes = disk_used_bytes() + world_magnitude(world, 1, 1 << 18);
        return;
    case STEP_FAULT:
    case STEP_FLIP:
    case STEP_CHECK:
        world_arm(world);
        return;
    default:
        machine_idle(WRITER, world_magnitude(world, 1, 300));
        return;
    }
}

static void do_step(const struct step *step) {
    switch (step->kind) {
    case STEP_APPLY:
    case STEP_SUBMIT:
        insert(all.world.plan.batch, false);
        return;
    case STEP_BULK:
    case STEP_WALL:
    case STEP_STALL:
        insert(MOST_BATCH, false);
        return;
    case STEP_DELETE:
    case STEP_SUSPEND:
        insert(all.world.plan.batch, true);
        return;
    case STEP_READ:
    case STEP_LIST:
        ask();
        return;
    case STEP_WAIT:
        secure(false);
        return;
    case STEP_SET:
    case STEP_FOLLOW:
        secure(true);
        return;
    case STEP_BACKUP:
    case STEP_RESTORE:
        back_up();
        return;
    case STEP_CLOSE:
    case STEP_REBOOT:
        close_if_open();
        return;
    case STEP_KILL:
        if (all.holding != NULL) end_process(false);
        return;
    case STEP_CUT:
        if (all.holding != NULL) end_process(true);
        return;
    default:
        harm(step->kind);
        return;
    }
}

void cascade_run(uint64_t seed, size_t step_count, const bool *is_on) {
    struct world *world = &all.world;
    world_start(world, seed, step_count);
    struct test_random random = {.state = seed ^ 5};
    all.options = LETHE_OPTIONS(
        lethe_cascade_options, .capacity = 1 << 20, .error = 1e-9, .seed = 77,
        .memory_bytes = 1 << 20, .growth = (uint32_t)(2 + test_random_below(&random, 4)),
        .level_filter_bytes = test_random_below(&random, 2) * (1 << 20),
        .durability = (lethe_cascade_durability)test_random_below(&random, 3), .read_depth = 4);
    all.workers = (unsigned)test_random_below(&random, WORKERS + 1);
    all.budget = 10 + test_random_below(&random, 300);
    /* Small tables, so that they are full while others are still being merged. */
    lethe_tune.cascade_table_homes = 32 << test_random_below(&random, 5);
    lethe_tune.cascade_log_file_bytes = 512 << test_random_below(&random, 6);
    lethe_tune.cascade_obsolete_bytes = 4096 << test_random_below(&random, 5);
    verdict_tell("  a cascade of durability %d, merged by %u threads", all.options.durability,
                 all.workers);
    for (size_t i = 0; i < world->plan.step_count; i++) {
        if (is_on != NULL && !is_on[i]) continue;
        world->step = &world->plan.steps[i];
        world->random.state = world->step->seed;
        machine_reseed(world->step->seed ^ 1);
        verdict_at_step((unsigned)i);
        verdict_tell("  %zu %s", i, step_names[world->step->kind]);
        do_step(world->step);
    }
    static const struct step last = {.kind = STEP_KINDS};
    world->step = &last;
    verdict_tell("  at the end");
    calm_down();
    if (all.holding != NULL && (is_impaired() || all.holding->worst != LETHE_OK))
        end_process(false);
    open_if_closed();
    close_if_open();
    open_if_closed();
}
