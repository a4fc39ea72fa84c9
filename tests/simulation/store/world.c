/* simulation/store/world.c - opening a store, ending its process, and knowing its clock.
 *
 * I1      A store that was not damaged opens, unless a fault comes while it does.
 * I2      By wall clock the store's time goes as the true time does, from process to process and
 *         while nobody has it open. Only a start of the machine may change the distance: then
 *         the wall clock counts, if it is ahead. */
#include "simulation/store/world.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/store/verdict.h"

uint64_t world_magnitude(struct world *world, uint64_t least, uint64_t most) {
    double share = (double)test_random_below(&world->random, 1 << 20) / (1 << 20);
    return (uint64_t)((double)least * pow((double)most / (double)least, share));
}

bool world_one_in(struct world *world, uint64_t n) {
    return test_random_below(&world->random, n) == 0;
}

static void make_folder(const char *path) {
    struct disk_node *node;
    if (disk_make(path, true, &node) != 0) verdict_fail("simulator", "cannot make %s", path);
}

static void write_boot_id(void) {
    static const char path[] = "/proc/sys/kernel/random/boot_id";
    char text[64];
    (void)snprintf(text, sizeof text, "00000000-0000-4000-8000-%012" PRIx64 "\n", machine_boots());
    uint64_t capacity_bytes = disk_settings()->capacity_bytes;
    disk_settings()->capacity_bytes = UINT64_MAX; /* the disk may be full: this is not on it */
    (void)disk_remove(path, false);
    struct disk_node *node;
    if (disk_make(path, false, &node) != 0) verdict_fail("simulator", "cannot make %s", path);
    (void)disk_write(node, 0, text, strlen(text));
    disk_sync(node);
    disk_settings()->capacity_bytes = capacity_bytes;
}

static void sync_folders(void) {
    static const char *const paths[] = {
        "/", "/proc", "/proc/sys", "/proc/sys/kernel", "/proc/sys/kernel/random", "/dev"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct disk_node *node;
        if (disk_find(paths[i], &node) == 0) disk_sync(node);
    }
}

void world_start(struct world *world, uint64_t seed, size_t step_count) {
    *world = (struct world){0};
    plan_draw(&world->plan, seed, step_count);
    const lethe_store_options *options = &world->plan.options;
    world->model.seed = seed;
    world->model.is_modest = options->per != NULL;
    world->model.is_simple = world->plan.is_simple;
    world->model.rules = (struct rules){
        .window_ms = options->window_ms,
        .max_future_ms = options->max_future_ms > 0 ? options->max_future_ms : 60000,
        .error = options->error,
        .exact = options->exact || options->check_payload,
        .check_payload = options->check_payload,
        .event_time = options->event_time,
        .forever = options->forever && !world->plan.adds_forever,
    };
    world->asks_forever = world->model.rules.forever;
    lethe_tune = world->plan.tunables;
    database_habits = world->plan.database;
    machine_start(world->plan.machine, UINT64_C(1800000000000));
    disk_start(world->plan.disk);
    system_start(world->plan.system);
    static const char *const folders[] = {
        "/proc", "/proc/self", "/proc/sys", "/proc/sys/kernel", "/proc/sys/kernel/random",
        "/dev",  "/dev/shm"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        make_folder(folders[i]);
    write_boot_id();
    sync_folders();
    world->model.clock_ms = 0;
}

bool world_is_impaired(const struct world *world) {
    return system_faults() > world->faults_before || disk_settings()->capacity_bytes != UINT64_MAX;
}

/* --- the end of processes --- */

static void forget_process(struct world *world) {
    struct moment now = world_moment(world, machine_true_ms(), machine_true_ms());
    if (now.most_ms > world->latest_ms) world->latest_ms = now.most_ms;
    machine_kill(WRITER);
    system_end_process(WRITER);
    world->store = NULL;
    world->ticket_count = 0;
}

void world_reboot(struct world *world, uint64_t down_ms) {
    (void)world;
    machine_reboot(down_ms);
    write_boot_id();
    sync_folders();
}

void world_end_process(struct world *world, bool cuts_power) {
    forget_process(world);
    if (cuts_power) {
        world->is_cut = true;
        disk_cut_power(&world->random);
        world_reboot(world, world_magnitude(world, 1, 3 * world->plan.options.window_ms));
    } else {
        disk_collect();
    }
}

bool world_call(struct world *world, void (*main)(void *context), void *context) {
    uint64_t kill_after = world->step->kill_after;
    if (machine_call(WRITER, main, context, kill_after) == MACHINE_RETURNED) return true;
    verdict_tell("        %s after %" PRIu64 " points",
                 world->step->cuts_power ? "power cut" : "killed", kill_after);
    world_end_process(world, world->step->cuts_power);
    return false;
}

void world_excuse(struct world *world, const char *what, lethe_status status) {
    if (!world_is_impaired(world))
        verdict_fail("service", "%s failed without a fault: %s", what, lethe_strerror(status));
    verdict_tell("        %s failed: %s", what, lethe_strerror(status));
    if (world_one_in(world, 2))
        world_end_process(world, world_one_in(world, 2));
    else
        world_close(world);
    system_disarm();
    disk_settings()->capacity_bytes = UINT64_MAX;
}

/* --- clocks --- */

struct moment world_moment(const struct world *world, uint64_t from_true_ms, uint64_t to_true_ms) {
    if (world->model.rules.event_time)
        return (struct moment){world->model.clock_ms, world->model.clock_ms};
    return (struct moment){(uint64_t)((int64_t)from_true_ms + world->least_offset_ms) - 2,
                           (uint64_t)((int64_t)to_true_ms + world->most_offset_ms) + 2};
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* What the store's clock may be after an open that began and ended then. */
static void settle_offsets(struct world *world, uint64_t from_ms, uint64_t to_ms) {
    if (world->settled_boots == machine_boots()) return;
    int64_t wall = (int64_t)machine_wall_ms() - (int64_t)machine_true_ms();
    if (world->settled_boots == 0) {
        world->least_offset_ms = world->most_offset_ms = wall;
    } else {
        world->least_offset_ms = larger(wall, (int64_t)world->committed_ms - (int64_t)to_ms);
        world->most_offset_ms = larger(wall, (int64_t)world->latest_ms - (int64_t)from_ms);
    }
    world->settled_boots = machine_boots();
}

static void check_clock(struct world *world, uint64_t from_ms, uint64_t to_ms, uint64_t clock_ms) {
    struct model *model = &world->model;
    if (model->rules.event_time) {
        if (clock_ms < world->committed_ms || clock_ms > world->latest_ms)
            verdict_fail("clock",
                         "the store's clock is %" PRIu64 " after opening, and was %" PRIu64
                         " in its last commit, and never above %" PRIu64,
                         clock_ms, world->committed_ms, world->latest_ms);
        model->clock_ms = clock_ms;
        return;
    }
    settle_offsets(world, world->first_try_ms, to_ms);
    struct moment now = world_moment(world, from_ms, to_ms);
    verdict_tell("        opened at %" PRIu64 "..%" PRIu64 ", the store's clock is %" PRIu64
                 " of %" PRIu64 "..%" PRIu64 ", committed at %" PRIu64,
                 from_ms, to_ms, clock_ms, now.least_ms, now.most_ms, world->committed_ms);
    if (clock_ms < now.least_ms || clock_ms > now.most_ms)
        verdict_fail("clock",
                     "the store's clock is %" PRIu64 " ms after opening, and should be %" PRIu64
                     "..%" PRIu64,
                     clock_ms, now.least_ms, now.most_ms);
    if (now.least_ms > world->committed_ms) world->committed_ms = now.least_ms;
}

/* --- opening --- */

static bool show_counter(void *context, lethe_bytes key, int64_t value) {
    model_show(context, key, value);
    return true;
}

static bool show_mark(void *context, const lethe_mark *mark) {
    model_show_mark(context, mark);
    return true;
}

static bool show_bucket(void *context, const lethe_usage_row *row) {
    if (!row->is_rest) model_show_bucket(context, row->key, (int64_t)row->value);
    return true;
}

/* All buckets of months; and of hours, which may be many, those of a few keys. */
static lethe_status look_at_buckets(lethe_store *store, struct shown *shown) {
    static struct shown by_hour;
    static lethe_store_stats stats;
    static const lethe_bytes few[] = {{"w-0", 3}, {"w-7", 3}, {"w-13", 4}, {"shared-3", 8}};
    stats = (lethe_store_stats){.size = sizeof stats};
    lethe_status status = lethe_store_info(store, &stats);
    if (status != LETHE_OK || stats.per[0] == '\0') return status;
    shown->has_meters = true;
    shown->drops = stats.keep[0] != '\0';
    lethe_usage_query query = LETHE_INIT(lethe_usage_query);
    query.by = "1mo";
    status = lethe_store_usage(store, &query, show_bucket, shown);
    if (status != LETHE_OK || shown->drops) return status;
    memset(&by_hour, 0, sizeof by_hour);
    query.by = "1h";
    query.keys = few;
    query.key_count = sizeof few / sizeof few[0];
    status = lethe_store_usage(store, &query, show_bucket, &by_hour);
    static const unsigned ids[] = {0, 7, 13};
    for (size_t i = 0; i < 3 && status == LETHE_OK; i++) {
        if (by_hour.witness_sums[ids[i]] != shown->witness_sums[ids[i]])
            verdict_fail("meters", "id-%u is %u in months and %u in hours", ids[i],
                         shown->witness_sums[ids[i]], by_hour.witness_sums[ids[i]]);
    }
    if (status == LETHE_OK && by_hour.sums[3] != shown->sums[3])
        verdict_fail("meters", "shared-3 is not the same in months and in hours");
    return status;
}

lethe_status world_look(lethe_store *store, struct shown *shown) {
    memset(shown, 0, sizeof *shown);
    lethe_status status = lethe_store_each(store, (lethe_bytes){0}, show_counter, shown);
    if (status == LETHE_OK) status = lethe_store_marks(store, show_mark, shown);
    if (status == LETHE_OK) status = look_at_buckets(store, shown);
    if (status == LETHE_OK) status = claims_look(store, &shown->claims);
    return status == LETHE_OK ? holds_look(store, &shown->holds) : status;
}

struct opening {
    struct world *world;
    lethe_store_options options;
    lethe_store *store;
    struct answer answer;
    lethe_store_stats stats;
    struct shown *shown;
};

static void open_store(void *context) {
    struct opening *opening = context;
    opening->options.size = sizeof opening->options;
    opening->stats.size = sizeof opening->stats;
    opening->answer.status =
        lethe_store_open(STORE, &opening->options, &opening->store, &opening->answer.detail);
    if (opening->answer.status != LETHE_OK) return;
    opening->answer.status = lethe_store_info(opening->store, &opening->stats);
    if (opening->answer.status == LETHE_OK)
        opening->answer.status = world_look(opening->store, opening->shown);
}

/* A scale may be left out, or repeated; that of whole numbers has a name of its own. */
static int32_t scale_of(const struct world *world) {
    int32_t scale = world->plan.options.scale;
    if (world->opens % 3 == 2) return 0;
    return scale == 0 && world->opens % 3 == 1 ? LETHE_SCALE_WHOLE : scale;
}

/* The options of the plan, some of those left out that the store remembers. */
static lethe_store_options options_of(struct world *world) {
    lethe_store_options options = world->plan.options;
    options.allocator = machine_allocator();
    options.scale = scale_of(world);
    if (world->opens > 0 && !world->is_switching) {
        if (world_one_in(world, 4)) options.window_ms = 0;
        if (world_one_in(world, 4)) options.error = 0;
        if (world_one_in(world, 3)) options.event_time = LETHE_SWITCH_KEEP;
        if (world_one_in(world, 3)) options.exact = LETHE_SWITCH_KEEP;
        if (world_one_in(world, 3)) options.check_payload = LETHE_SWITCH_KEEP;
        if (world->opens % 3 == 1) options.forgetful = LETHE_SWITCH_KEEP;
    }
    /* Meters belong to the store: some opens leave them out. */
    bool has_meters = world->model.submitted.has_meters;
    if (has_meters ? world->opens % 2 == 1 : world->plan.adds_meters && world->opens < 2)
        options.per = options.zone = options.keep = NULL;
    if (world->plan.adds_forever && world->opens > 1) world->asks_forever = true;
    options.forever = world->asks_forever ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
    if (world->opens > 0 && world->model.rules.forever && !world->is_switching) {
        if (world_one_in(world, 3)) options.forever = LETHE_SWITCH_KEEP;
        if (world_one_in(world, 2)) options.ledger_capacity = 0;
    }
    return options;
}

static bool try_to_open(struct world *world) {
    static struct shown shown;
    struct opening opening = {.world = world, .options = options_of(world), .shown = &shown};
    uint64_t from_ms = machine_true_ms();
    if (world->settled_boots != machine_boots() && world->first_try_ms == 0)
        world->first_try_ms = from_ms;
    world->faults_before = system_faults();
    if (!world_call(world, open_store, &opening)) return false;
    if (opening.answer.status != LETHE_OK) {
        if (!world_is_impaired(world))
            verdict_fail("open", "the store is refused: %s (%s)", opening.answer.detail.text,
                         lethe_strerror(opening.answer.status));
        verdict_tell("        opening failed: %s", opening.answer.detail.text);
        world_end_process(world, world_one_in(world, 2));
        system_disarm();
        disk_settings()->capacity_bytes = UINT64_MAX;
        return false;
    }
    world->store = opening.store;
    world->exists = true;
    world->is_cut = false;
    world->opens++;
    if ((opening.stats.window.kind == LETHE_WINDOW_FORGETFUL) !=
        (world->plan.options.forgetful == LETHE_SWITCH_ON)) {
        verdict_fail("kind", "the store's window is not of its kind");
    }
    if (opening.stats.scale != (uint32_t)world->plan.options.scale)
        verdict_fail("scale", "the store's scale is %u", opening.stats.scale);
    check_clock(world, from_ms, machine_true_ms(), opening.stats.clock_ms);
    world->first_try_ms = 0;
    model_match(&world->model, &shown, true, "the store");
    claims_match(world, &shown, true, "the store");
    holds_match(world, &shown, true, "the store");
    if (opening.options.per != NULL && !world->model.submitted.has_meters)
        model_meter(&world->model);
    world_switched(world, world_moment(world, from_ms, machine_true_ms()));
    return true;
}

void world_open(struct world *world) {
    static struct step calm;
    calm = *world->step;
    for (unsigned tries = 0; world->store == NULL; tries++) {
        if (tries > 20) verdict_fail("open", "the store did not open in 20 tries");
        if (try_to_open(world)) break;
        calm.kill_after = 0; /* killed once is enough */
        world->step = &calm;
    }
}

struct closing {
    lethe_store *store;
    struct answer answer;
};

static void close_store(void *context) {
    struct closing *closing = context;
    closing->answer.status = lethe_store_close(closing->store, &closing->answer.detail);
}

void world_close(struct world *world) {
    if (world->store == NULL) return;
    struct closing closing = {.store = world->store};
    bool was_impaired = world_is_impaired(world);
    uint64_t from_ms = machine_true_ms();
    if (!world_call(world, close_store, &closing)) return;
    if (closing.answer.status != LETHE_OK && !was_impaired && !world_is_impaired(world))
        verdict_fail("close", "closing failed without a fault: %s", closing.answer.detail.text);
    if (closing.answer.status == LETHE_OK) {
        model_acknowledge(&world->model, model_position(&world->model));
        world->committed_ms = world->model.rules.event_time
                                  ? world->model.clock_ms
                                  : world_moment(world, from_ms, from_ms).least_ms;
    }
    verdict_tell("        closed: %s", lethe_strerror(closing.answer.status));
    world_end_process(world, false);
}
