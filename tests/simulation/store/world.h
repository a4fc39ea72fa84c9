/* simulation/store/world.h - one run: a machine, a store on it, its model, and who talks to it.
 *
 *   world.c   opening, the end of processes, clocks        run.c    the steps in their order
 *   talk.c    operations, reads, waits                     harm.c   flips, checks, backups, readers
 *   clients.c several clients at once                      switches.c  other windows and modes
 *   bounds.c  bounds of operations, and giving up          claims.c   work that must happen once
 *   holds.c   amounts that are set aside
 *   cascade.c a cascade by itself, in place of a store */
#ifndef LETHE_SIMULATION_STORE_WORLD_H
#define LETHE_SIMULATION_STORE_WORLD_H

#include "simulation/store/claims.h"
#include "simulation/store/holds.h"
#include "simulation/store/model.h"
#include "simulation/store/plan.h"

enum { WRITER = 1, READER = 2, TICKETS = 512, KEPT_BACKUPS = 3 };

#define STORE "/store"

struct waiting {
    uint64_t ticket, position, clock_ms;
    uint64_t least_ms; /* the store's clock then */
};

struct world {
    struct plan plan;
    struct model model;
    struct test_random random; /* of the step */
    const struct step *step;
    lethe_store *store; /* NULL: nobody has it open */
    bool exists, asks_forever;
    bool is_cut;       /* power was cut since the store was last opened */
    bool is_switching; /* the next open that succeeds brings these rules */
    struct rules asked;
    unsigned opens;
    unsigned faults_before; /* it was opened */
    struct waiting tickets[TICKETS];
    size_t ticket_count;
    /* By wall clock, the store's time is the true time and this. */
    int64_t least_offset_ms, most_offset_ms;
    uint64_t settled_boots; /* the boot that the offsets are of */
    uint64_t first_try_ms;  /* true time of the first try to open in this boot */
    uint64_t committed_ms;  /* the store's clock was at least that in its last commit */
    uint64_t latest_ms;     /* and at most that, ever */
    uint64_t next_mark;
    /* Backups whose content is known exactly, the latest last. */
    struct kept_backup {
        uint64_t number;
        struct state state;
    } backups[KEPT_BACKUPS];
    size_t backup_count;
    struct claims_model claims;
    struct holds_model holds;
};

/* How a call into the store ended. */
struct answer {
    enum machine_end end;
    lethe_status status;
    lethe_detail detail;
};

void world_start(struct world *world, uint64_t seed, size_t step_count);
/* Calls into the writer's process; when the step says so, the process is killed in the middle.
 * True: it returned. */
bool world_call(struct world *world, void (*main)(void *context), void *context);
/* Opens the store if it is not, and looks at all of it. */
void world_open(struct world *world);
void world_close(struct world *world);
void world_end_process(struct world *world, bool cuts_power);
/* What has failed may be a fault's doing; fails if there was none. The store is closed then. */
void world_excuse(struct world *world, const char *what, lethe_status status);
bool world_is_impaired(const struct world *world);
struct moment world_moment(const struct world *world, uint64_t from_true_ms, uint64_t to_true_ms);
void world_reboot(struct world *world, uint64_t down_ms);
/* Fills shown from a store; runs in its process. */
lethe_status world_look(lethe_store *store, struct shown *shown);
uint64_t world_magnitude(struct world *world, uint64_t least, uint64_t most);
bool world_one_in(struct world *world, uint64_t n);

/* switches.c: the next open asks for another W, or other modes. */
void world_switch(struct world *world);
/* The store has opened with what was asked for. */
void world_switched(struct world *world, struct moment now);

/* bounds.c: gives an operation bounds, or has its id given up, as is drawn. */
void bounds_draw(struct world *world, struct sent *sent);
void bounds_give_up(struct world *world, struct sent *sent);
/* What the store says of the bounds of an operation. */
void bounds_check(const struct sent *sent, uint8_t outcome, const lethe_limit *limits);

/* clients.c: several threads at once. */
void clients_apply(struct world *world);

/* claims.c: a call, as is drawn; and what a store shows of claims, against what is known of them.
 * With `settles` the store is as it shows itself from now on. */
void claims_talk(struct world *world);
void claims_match(struct world *world, const struct shown *shown, bool settles, const char *who);
/* Nothing is known of them any more. */
void claims_give_up(struct world *world);
/* Takes note of the windows that there were. */
void claims_note_window(struct world *world);

/* holds.c: the same of holds. */
void holds_talk(struct world *world);
void holds_match(struct world *world, const struct shown *shown, bool settles, const char *who);
void holds_give_up(struct world *world);

/* talk.c */
void talk_apply(struct world *world, uint32_t most, bool waits);
void talk_wait(struct world *world);
void talk_set(struct world *world, bool deletes);
void talk_read(struct world *world);
void talk_list(struct world *world);

/* harm.c */
/* Runs something in a copy of the world; fails as it does. */
void harm_in_copy(struct world *world, void (*main)(struct world *world, const void *context),
                  const void *context);
void harm_flip(struct world *world);
void harm_follow(struct world *world);
void harm_check(struct world *world);
void harm_backup(struct world *world);
void harm_restore(struct world *world);

/* A fault that comes later, as is drawn. */
void world_arm(struct world *world);

/* cascade.c */
void cascade_run(uint64_t seed, size_t step_count, const bool *is_on);

/* run.c: the steps that are on; NULL: all. */
void run_plan(uint64_t seed, size_t step_count, const bool *is_on);

#endif
