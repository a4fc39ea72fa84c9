/* simulation/store/run.c - the steps of a plan, one after the other, and a last look. */
#include <errno.h>
#include <stdlib.h>

#include "simulation/store/reach.h"
#include "simulation/store/verdict.h"
#include "simulation/store/world.h"

/* Of the seeds, these are about a cascade by itself. */
enum { CASCADE_ONE_IN = 4 };

static void reboot(struct world *world) {
    world_close(world);
    uint64_t window_ms = world->plan.options.window_ms;
    world_reboot(world, world_magnitude(world, 1, 2 * window_ms));
}

static void step_wall(struct world *world) {
    int64_t by_ms = (int64_t)world_magnitude(world, 1, 10 * world->plan.options.window_ms);
    machine_step_wall(world_one_in(world, 2) ? by_ms : -by_ms);
}

void world_arm(struct world *world) {
    static const enum system_operation operations[] = {SYSTEM_SYNC,  SYSTEM_SYNC,   SYSTEM_WRITE,
                                                       SYSTEM_OPEN,  SYSTEM_RENAME, SYSTEM_READ,
                                                       SYSTEM_REMOVE};
    enum system_operation operation = operations[test_random_below(&world->random, 7)];
    system_arm(operation, world_magnitude(world, 1, 100), world_one_in(world, 3) ? ENOSPC : EIO);
}

static void stall(struct world *world) {
    uint64_t window_ms = world->plan.options.window_ms;
    system_arm_stall(world_magnitude(world, 1, 10),
                     1000 * world_magnitude(world, 1 + window_ms / 4, 3 * window_ms));
}

static void fill(struct world *world) {
    world_open(world);
    disk_settings()->capacity_bytes = disk_used_bytes() + world_magnitude(world, 1, 1 << 16);
}

static void do_step(struct world *world) {
    uint64_t window_ms = world->plan.options.window_ms;
    switch (world->step->kind) {
    case STEP_APPLY:
        if (world->plan.clients > 1 && world_one_in(world, 3)) {
            clients_apply(world);
            return;
        }
        talk_apply(world, world->plan.batch, true);
        return;
    case STEP_SUBMIT:
        talk_apply(world, world->plan.batch, false);
        return;
    case STEP_BULK:
        talk_apply(world, 6000, world_one_in(world, 2));
        return;
    case STEP_WAIT:
        talk_wait(world);
        return;
    case STEP_SET:
        talk_set(world, false);
        return;
    case STEP_DELETE:
        talk_set(world, true);
        return;
    case STEP_READ:
        talk_read(world);
        return;
    case STEP_LIST:
        talk_list(world);
        return;
    case STEP_PAUSE:
        machine_idle(WRITER, world_magnitude(world, 1, 200));
        return;
    case STEP_SUSPEND:
        machine_suspend(world_magnitude(world, window_ms / 64, 2 * window_ms));
        return;
    case STEP_CLOSE:
        world_close(world);
        return;
    case STEP_KILL:
        world_end_process(world, false);
        return;
    case STEP_CUT:
        world_end_process(world, true);
        return;
    case STEP_REBOOT:
        reboot(world);
        return;
    case STEP_WALL:
        step_wall(world);
        return;
    case STEP_FAULT:
        world_arm(world);
        return;
    case STEP_STALL:
        stall(world);
        return;
    case STEP_FILL:
        fill(world);
        return;
    case STEP_FLIP:
        harm_flip(world);
        return;
    case STEP_FOLLOW:
        harm_follow(world);
        return;
    case STEP_CHECK:
        harm_check(world);
        return;
    case STEP_BACKUP:
        harm_backup(world);
        return;
    case STEP_RESTORE:
        harm_restore(world);
        return;
    case STEP_KINDS:
        return;
    }
}

/* Without faults from here on: the store opens, closes, and is whole. */
static void finish(struct world *world) {
    static const struct step last = {.kind = STEP_KINDS};
    world->step = &last;
    verdict_tell("  at the end");
    /* A fault or a full disk that came before may still have its effect: a fold that failed
     * shows when the store is closed. */
    bool was_impaired = world_is_impaired(world);
    system_disarm();
    disk_settings()->capacity_bytes = UINT64_MAX;
    if (world->store != NULL && was_impaired) world_end_process(world, false);
    world->faults_before = system_faults();
    world_open(world);
    world_close(world);
    harm_check(world);
    world_open(world);
    model_end(&world->model);
}

void run_plan(uint64_t seed, size_t step_count, const bool *is_on) {
    if (seed % CASCADE_ONE_IN == 0) {
        cascade_run(seed, step_count, is_on);
        return;
    }
    static struct world world;
    world_start(&world, seed, step_count);
    plan_describe(&world.plan);
    for (size_t i = 0; i < world.plan.step_count; i++) {
        if (is_on != NULL && !is_on[i]) continue;
        world.step = &world.plan.steps[i];
        world.random.state = world.step->seed;
        machine_reseed(world.step->seed ^ 1);
        verdict_at_step((unsigned)i);
        verdict_tell("  %zu %s", i, step_names[world.step->kind]);
        do_step(&world);
        reach_note(world.store);
        if (world.plan.claims && world_one_in(&world, 2)) claims_talk(&world);
        if (world.plan.holds && world_one_in(&world, 2)) holds_talk(&world);
        if (world.plan.switches && world.store == NULL && world_one_in(&world, 2))
            world_switch(&world);
    }
    verdict_at_step((unsigned)world.plan.step_count);
    machine_reseed(seed);
    world.random.state = seed;
    finish(&world);
}
