/* simulation/store/plan.h - what a seed draws: the store's options, sizes, the machine's habits,
 * and a list of steps.
 *
 * Each seed draws which features it has at all (swarm testing): a run with every feature in it
 * would seldom have much of any. A step carries its own seed, so that leaving out others does
 * not change what it does. */
#ifndef LETHE_SIMULATION_STORE_PLAN_H
#define LETHE_SIMULATION_STORE_PLAN_H

#include "core/tunables.h"
#include "lethe/store.h"
#include "simulation/store/database.h"
#include "simulation/store/disk.h"
#include "simulation/store/machine.h"
#include "simulation/store/system.h"

enum step_kind {
    STEP_APPLY,
    STEP_SUBMIT,
    STEP_WAIT,
    STEP_BULK, /* thousands of operations */
    STEP_SET,
    STEP_DELETE,
    STEP_READ,
    STEP_LIST,
    STEP_PAUSE, /* background threads go on */
    STEP_SUSPEND,
    STEP_CLOSE,
    STEP_KILL,
    STEP_CUT,
    STEP_REBOOT,
    STEP_WALL,
    STEP_FAULT,
    STEP_STALL,
    STEP_FILL,
    STEP_FLIP,
    STEP_FOLLOW, /* a reader beside the writer */
    STEP_CHECK,
    STEP_BACKUP,
    STEP_RESTORE,
    STEP_KINDS
};
extern const char *const step_names[STEP_KINDS];

struct step {
    enum step_kind kind;
    uint64_t seed;
    uint64_t kill_after; /* points; 0: it is not killed */
    bool cuts_power;     /* when it is */
};

struct plan {
    lethe_store_options options;
    lethe_tunables tunables;
    struct machine_habits machine;
    struct disk_habits disk;
    struct system_habits system;
    struct database_habits database;
    uint32_t batch; /* operations of a step at most */
    uint32_t duplicates_percent, late_percent, ahead_percent, jump_percent, variant_percent;
    uint32_t marks_percent;
    /* Of all operations with event time: counted even if they are late. */
    uint32_t count_late_percent;
    bool adds_forever;       /* the mode comes only with a later open */
    bool switches;           /* windows and modes change between openings */
    unsigned clients;        /* that submit at once in some steps */
    bool adds_meters;        /* the store gets its meters only with a later open */
    uint32_t bounds_percent; /* of operations that carry bounds */
    bool claims;             /* work is begun and done between the steps */
    bool is_simple;          /* most operations have one change */
    bool holds;              /* amounts are held and settled between the steps */
    struct step *steps;
    size_t step_count;
};

void plan_draw(struct plan *plan, uint64_t seed, size_t step_count);
void plan_describe(const struct plan *plan);

#endif
