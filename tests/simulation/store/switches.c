/* simulation/store/switches.c - windows and modes that change from one opening to the next.
 *
 * I1      What is asked for is asked for by every open until one succeeds: one that was killed may
 *         have done it.
 * I2      The rules change with that open; what the old ones have forgotten by then is not
 *         demanded any more. */
#include "simulation/store/verdict.h"
#include "simulation/store/world.h"

static void draw_window(struct world *world) {
    uint64_t window_ms = world_one_in(world, 3) ? 1000 : world_magnitude(world, 1000, 3600000);
    world->plan.options.window_ms = world->asked.window_ms = window_ms;
}

/* Modes that a store keeps for ever need what exact mode has not. */
static void draw_forever(struct world *world) {
    lethe_store_options *options = &world->plan.options;
    options->forever = LETHE_SWITCH_ON;
    options->exact = options->check_payload = LETHE_SWITCH_OFF;
    options->ledger_capacity = 1 << 16;
    options->ledger_memory_bytes = 2 << 20;
    world->asks_forever = world->asked.forever = true;
    world->asked.exact = world->asked.check_payload = false;
}

static void draw_modes(struct world *world) {
    lethe_store_options *options = &world->plan.options;
    struct rules *asked = &world->asked;
    switch (test_random_below(&world->random, 9)) {
    case 0:
    case 1:
        options->exact = LETHE_SWITCH_ON;
        asked->exact = true;
        return;
    case 2:
    case 3:
        options->exact = options->check_payload = LETHE_SWITCH_OFF;
        asked->exact = asked->check_payload = false;
        return;
    case 4:
    case 5:
        options->exact = options->check_payload = LETHE_SWITCH_ON;
        asked->exact = asked->check_payload = true;
        return;
    case 6:
    case 7:
        options->check_payload = LETHE_SWITCH_OFF;
        asked->check_payload = false;
        return;
    default:
        draw_forever(world);
        return;
    }
}

void world_switch(struct world *world) {
    if (!world->exists) return;
    if (!world->is_switching) world->asked = world->model.rules;
    world->is_switching = true;
    if (world_one_in(world, 2)) draw_window(world);
    /* What is kept for ever stays so; and a plan that adds it later counts on the modes as they
     * are. */
    if (!world->plan.options.forever && world_one_in(world, 2)) draw_modes(world);
    verdict_tell("        from now on: window %llu ms%s%s%s",
                 (unsigned long long)world->asked.window_ms, world->asked.exact ? ", exact" : "",
                 world->asked.check_payload ? ", payload" : "",
                 world->asked.forever ? ", forever" : "");
}

void world_switched(struct world *world, struct moment now) {
    struct rules rules = world->is_switching ? world->asked : world->model.rules;
    rules.forever |= world->asks_forever;
    bool any = world->is_switching || rules.forever != world->model.rules.forever;
    world->is_switching = false;
    if (any) model_switch(&world->model, rules, now);
}
