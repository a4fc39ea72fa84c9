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
    lethe_backup backup;
    uint64_t number; /* to restore; or how many to keep */
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
    options.per = options.zone = options.keep = NULL; /* as the store has them */
    return options;
}

/* The one gap (engine/disk/disk.c, LIMIT): nothing may say how far a log reached before a power
 * cut, so damage to its end looks like what was being written. */
static bool may_lose_end(const struct world *world, const struct disk_place *place) {
    const char *ending = strrchr(place->path, '.');
    return world->is_cut && ending != NULL && strcmp(ending, ".log") == 0;
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
    if (looking.answer.status != LETHE_OK || may_lose_end(world, place)) return;
    model_match(&world->model, &shown, false, "the damaged store");
    claims_match(world, &shown, false, "the damaged store");
    holds_match(world, &shown, false, "the damaged store");
}

void harm_in_copy(struct world *world, void (*main)(struct world *world, const void *context),
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
    if (WIFSIGNALED(status))
        verdict_fail(verdict_of_signal(WTERMSIG(status)), "signal %d in a trial", WTERMSIG(status));
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
    harm_in_copy(world, flip, &place);
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
    if (looking.answer.status == LETHE_OK) {
        model_match(&world->model, &shown, false, "a reader");
        claims_match(world, &shown, false, "a reader");
        holds_match(world, &shown, false, "a reader");
    } else if (!world_is_impaired(world)) {
        verdict_fail("follow", "a reader is refused: %s", looking.answer.detail.text);
    }
}

/* Whether what somebody met who looked in from outside has an excuse. */
static void expect(const struct world *world, const struct looking *looking, const char *rule,
                   const char *what) {
    /* What a fault has left, only the next writer mends. */
    if (looking->answer.status != LETHE_OK && !world_is_impaired(world))
        verdict_fail(rule, "%s: %s", what, looking->answer.detail.text);
}

/* In a process of its own, while the writer goes on. True: it returned. */
static bool call_beside(void (*main)(void *context), struct looking *looking) {
    enum machine_end end = machine_call(READER, main, looking, 0);
    end_reader();
    return end == MACHINE_RETURNED;
}

void harm_check(struct world *world) {
    struct looking looking = {.folder = STORE};
    if (!world->exists) return;
    if (world->store != NULL && world_one_in(world, 2)) {
        if (call_beside(check, &looking))
            expect(world, &looking, "check", "a store that is being written is called");
        return;
    }
    leave_store(world);
    if (world->store != NULL) return;
    if (!world_call(world, check, &looking)) return;
    expect(world, &looking, "check", "a store that is whole is called");
    world_end_process(world, false);
}

/* --- backups --- */

static void backup(void *context) {
    struct looking *looking = context;
    looking->backup.size = sizeof looking->backup;
    looking->answer.status =
        lethe_store_backup(STORE, "/backups", &looking->backup, &looking->answer.detail);
}

static void restore(void *context) {
    struct looking *looking = context;
    looking->answer.status = lethe_store_restore("/backups", looking->number, "/restored", NULL,
                                                 &looking->answer.detail);
    if (looking->answer.status == LETHE_OK) look(looking);
}

/* Restores a backup, whose state the model has by now. */
static void try_restored(struct world *world, const void *context) {
    static struct shown shown;
    struct looking looking = {.folder = "/restored",
                              .options = own_options(world),
                              .shown = &shown,
                              .number = *(const uint64_t *)context};
    system_disarm();
    disk_settings()->capacity_bytes = UINT64_MAX;
    (void)machine_call(READER, restore, &looking, 0);
    if (looking.answer.status != LETHE_OK)
        verdict_fail("restore", "backup %llu is not restored: %s",
                     (unsigned long long)looking.number, looking.answer.detail.text);
    model_match(&world->model, &shown, false, "the restored store");
    claims_match(world, &shown, false, "the restored store");
    holds_match(world, &shown, false, "the restored store");
}

static void try_kept(struct world *world, const void *context) {
    const struct kept_backup *kept = context;
    world->model.acknowledged = kept->state;
    world->model.effect_count = 0;
    claims_give_up(world); /* the backup has those of its own time */
    holds_give_up(world);
    try_restored(world, &kept->number);
}

/* While the writer goes on: it has a state between acknowledged and submitted. */
static void backup_beside(struct world *world) {
    struct looking looking = {.number = 0};
    if (!call_beside(backup, &looking)) return;
    expect(world, &looking, "backup", "a backup beside a writer failed without a fault");
    if (looking.answer.status == LETHE_OK)
        harm_in_copy(world, try_restored, &looking.backup.number);
}

static void prune(void *context) {
    struct looking *looking = context;
    looking->answer.status =
        lethe_backup_prune("/backups", looking->number, NULL, &looking->answer.detail);
}

struct listing {
    struct world *world;
    lethe_status status;
    bool is_there[KEPT_BACKUPS];
    uint64_t count;
};

static bool list_one(void *context, const lethe_backup *found) {
    struct listing *listing = context;
    listing->count++;
    for (size_t i = 0; i < listing->world->backup_count; i++)
        if (listing->world->backups[i].number == found->number) listing->is_there[i] = true;
    return true;
}

static void list_all(void *context) {
    struct listing *listing = context;
    listing->status = lethe_backup_list("/backups", list_one, listing, NULL);
}

/* Removes old backups; those that must stay can still be restored, which a later step tries. */
static void prune_backups(struct world *world) {
    struct listing before = {.world = world}, after = {.world = world};
    struct looking looking = {.number = 1 + world_one_in(world, 2)};
    (void)machine_call(READER, list_all, &before, 0);
    end_reader();
    if (before.status != LETHE_OK || !call_beside(prune, &looking)) return;
    expect(world, &looking, "backup", "pruning failed without a fault");
    system_disarm(); /* of what is armed, listing might meet it */
    (void)machine_call(READER, list_all, &after, 0);
    end_reader();
    if (after.status != LETHE_OK)
        verdict_fail("backup", "backups are not listed: %s", lethe_strerror(after.status));
    uint64_t most = before.count < looking.number ? before.count : looking.number;
    if (looking.answer.status == LETHE_OK && after.count != most)
        verdict_fail("backup", "%llu backups are left of %llu, and %llu were to stay",
                     (unsigned long long)after.count, (unsigned long long)before.count,
                     (unsigned long long)looking.number);
    size_t kept = 0;
    for (size_t i = 0; i < world->backup_count; i++)
        if (after.is_there[i]) world->backups[kept++] = world->backups[i];
    world->backup_count = kept;
}

void harm_backup(struct world *world) {
    if (!world->exists) return;
    if (world_one_in(world, 4)) prune_backups(world);
    if (world->store != NULL && world_one_in(world, 2)) {
        backup_beside(world);
        return;
    }
    leave_store(world);
    struct looking looking = {.number = 0};
    if (!world_call(world, backup, &looking)) return;
    expect(world, &looking, "backup", "a backup failed without a fault");
    world_end_process(world, false);
    if (looking.answer.status != LETHE_OK) return;
    bool has_meters = world->model.acknowledged.has_meters;
    world_open(world); /* shows what the backup has, and may bring meters */
    if (world->backup_count == KEPT_BACKUPS) {
        world->backup_count--;
        memmove(world->backups, world->backups + 1, world->backup_count * sizeof *world->backups);
    }
    struct kept_backup *kept = &world->backups[world->backup_count++];
    kept->number = looking.backup.number;
    kept->state = world->model.acknowledged;
    kept->state.has_meters = has_meters;
}

void harm_restore(struct world *world) {
    if (world->backup_count == 0) return;
    size_t which = world->backup_count - 1;
    if (world_one_in(world, 2)) which = (size_t)test_random_below(&world->random, which + 1);
    harm_in_copy(world, try_kept, &world->backups[which]);
}
