/* simulation/store/harm.c - damage, and those who look at a store from outside of its writer.
 *
 * WHY     What a flipped bit leads to is tried in a copy of the whole simulation (fork): the
 *         store goes on without the damage, and whatever the trial does to its files is undone
 *         with it. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simulation/store/verdict.h"
#include "simulation/store/world.h"

struct looking {
    const char *folder;
    lethe_store_options options;
    struct shown *shown;
    lethe_store_health health;
    struct answer answer;
};

static void look(void *context) {
    struct looking *looking = context;
    lethe_store *store;
    looking->options.size = sizeof looking->options;
    looking->answer.status =
        lethe_store_open(looking->folder, &looking->options, &store, &looking->answer.detail);
    if (looking->answer.status != LETHE_OK) return;
    looking->answer.status = world_look(store, looking->shown);
    lethe_status closed = lethe_store_close(store, &looking->answer.detail);
    (void)closed;
}

static void check(void *context) {
    struct looking *looking = context;
    looking->health.size = sizeof looking->health;
    looking->answer.status =
        lethe_store_check(looking->folder, &looking->health, &looking->answer.detail);
}

static void end_reader(void) {
    machine_kill(READER);
    system_end_process(READER);
}

/* A clean or unclean end, as is drawn. */
static void leave_store(struct world *world) {
    if (world->store == NULL) return;
    if (world_one_in(world, 2))
        world_end_process(world, false);
    else
        world_close(world);
}

static lethe_store_options own_options(const struct world *world) {
    lethe_store_options options = world->plan.options;
    options.allocator = machine_allocator();
    options.forever = world->asks_forever ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
    return options;
}

/* Refused, or right: in a copy of the world. */
static void try_damaged(struct world *world, const struct disk_place *place) {
    static struct shown shown;
    disk_flip(place);
    struct looking looking = {.folder = STORE, .options = own_options(world), .shown = &shown};
    looking.options.read_only = world_one_in(world, 3);
    (void)machine_call(WRITER, look, &looking, 0);
    verdict_tell("        with it: %s, %s", lethe_strerror(looking.answer.status),
                 looking.answer.detail.text);
    if (looking.answer.status == LETHE_OK)
        model_match(&world->model, &shown, false, "the damaged store");
}

/* Runs something in a copy of the world; fails as it does. */
static void in_copy(struct world *world, void (*main)(struct world *world, const void *context),
                    const void *context) {
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        main(world, context);
        (void)fflush(stdout);
        _exit(0);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) verdict_fail("crash", "signal %d in a trial", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0) _exit(WEXITSTATUS(status));
}

static void flip(struct world *world, const void *context) {
    try_damaged(world, context);
}

void harm_flip(struct world *world) {
    if (!world->exists) return;
    leave_store(world);
    struct disk_place place;
    if (!disk_choose_place(&world->random, STORE, &place)) return;
    verdict_tell("        bit %u of byte %llu of %s", place.bit, (unsigned long long)place.offset,
                 place.path);
    in_copy(world, flip, &place);
}

void harm_follow(struct world *world) {
    static struct shown shown;
    if (!world->exists) return;
    struct looking looking = {.folder = STORE, .options = own_options(world), .shown = &shown};
    looking.options.read_only = true;
    looking.options.create = false;
    enum machine_end end = machine_call(READER, look, &looking, 0);
    end_reader();
    if (end != MACHINE_RETURNED) return;
    if (looking.answer.status == LETHE_OK)
        model_match(&world->model, &shown, false, "a reader");
    else if (!world_is_impaired(world))
        verdict_fail("follow", "a reader is refused: %s", looking.answer.detail.text);
}

void harm_check(struct world *world) {
    if (!world->exists) return;
    leave_store(world);
    if (world->store != NULL) return;
    struct looking looking = {.folder = STORE};
    if (!world_call(world, check, &looking)) return;
    /* What a fault has left, only the next writer mends. */
    if (looking.answer.status != LETHE_OK && !world_is_impaired(world))
        verdict_fail("check", "a store that is whole is called: %s", looking.answer.detail.text);
    world_end_process(world, false);
}

/* --- backups --- */

static void backup(void *context) {
    struct looking *looking = context;
    looking->answer.status = lethe_store_backup(STORE, "/backups", &looking->answer.detail);
}

void harm_backup(struct world *world) {
    if (!world->exists) return;
    leave_store(world);
    struct looking looking = {0};
    world->has_backup = false;
    if (!world_call(world, backup, &looking)) return;
    if (looking.answer.status != LETHE_OK && !world_is_impaired(world))
        verdict_fail("backup", "a backup failed without a fault: %s", looking.answer.detail.text);
    world_end_process(world, false);
    if (looking.answer.status != LETHE_OK) return;
    world_open(world); /* shows what the backup has */
    world->backup = world->model.acknowledged;
    world->has_backup = true;
}

static void restore(void *context) {
    struct looking *looking = context;
    looking->answer.status = lethe_store_restore("/backups", "/restored", &looking->answer.detail);
    if (looking->answer.status == LETHE_OK) look(looking);
}

static void try_restored(struct world *world, const void *context) {
    static struct shown shown;
    (void)context;
    struct looking looking = {
        .folder = "/restored", .options = own_options(world), .shown = &shown};
    (void)machine_call(READER, restore, &looking, 0);
    if (looking.answer.status != LETHE_OK)
        verdict_fail("restore", "a backup is not restored: %s", looking.answer.detail.text);
    world->model.acknowledged = world->backup;
    world->model.effect_count = 0;
    model_match(&world->model, &shown, false, "the restored store");
}

void harm_restore(struct world *world) {
    if (!world->has_backup) return;
    system_disarm();
    disk_settings()->capacity_bytes = UINT64_MAX;
    in_copy(world, try_restored, NULL);
}
