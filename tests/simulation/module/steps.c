/* simulation/module/steps.c - what may happen to once-tables and their servers, one step at a
 * time: time that passes, clocks that are set, crashes, replicas, promotion, payloads. */
#include <stdlib.h>
#include <string.h>

#include "steps.h"

/* By how much a restart, or a transfer of an idle table, may find too little time elapsed: see
 * the essay of module/value/clock.c. */
enum { SLOW_PER_RESTART_MS = 10 };

static bool has_timer_due(const server *of) {
    for (unsigned i = 0; i < of->timer_count; i++) {
        if (of->timers[i].due_ms <= host_wall_ms(of->at)) return true;
    }
    return false;
}

/* The master's timer has come: from now on its log has what its host's clocks are like. */
static void note_stamps(void) {
    const host *at = master()->at;
    for (unsigned i = 0; i < MODEL_TABLES; i++) {
        world.now.tables[i].is_unstamped = false;
    }
    for (unsigned i = 0; i < world.set_count; i++) {
        if (world.sets[i].of == at && world.sets[i].stamped_ms == 0)
            world.sets[i].stamped_ms = now_ms();
    }
    if (world.start_stamped_ms[at - hosts] == 0) world.start_stamped_ms[at - hosts] = now_ms();
}

static void run_timers(void) {
    bool is_stamped = has_timer_due(master());
    for (unsigned i = 0; i < SERVERS; i++) {
        if (world.servers[i].library == NULL) continue;
        world.servers[i].work = 0;
        server_run_timers(&world.servers[i]);
        check_work(&world.servers[i], "a tick");
    }
    if (master()->library == NULL) return;
    if (is_stamped) note_stamps();
    gather();
}

static void pass_time(int64_t ms) {
    say("  %lld ms pass", (long long)ms);
    const int slices = 40;
    for (int i = 0; i < slices; i++) {
        true_us += ms * 1000 / slices;
        run_timers();
    }
    true_us += 150000;
    run_timers();
    for (unsigned i = 0; i < MODEL_TABLES && master()->library != NULL; i++) {
        if (world.now.tables[i].exists && !world.now.tables[i].is_filter) holds_check_ended(i);
    }
}

static int64_t draw_time(void) {
    static const unsigned shares[] = {1, 10, 30, 60, 90, 110, 200};
    return (int64_t)world.now.tables[draw_table()].window_ms * shares[draw(7)] / 100;
}

static void step_wall(void) {
    host *at = &hosts[draw(MOST_HOSTS)];
    int64_t before_ms = at->wall_ahead_ms;
    at->wall_ahead_ms = ((int64_t)draw(21) - 10) * 400000;
    if (world.set_count == MOST_SETS) return;
    world.sets[world.set_count].of = at;
    world.sets[world.set_count].stamped_ms = 0;
    world.sets[world.set_count++].step_ms = llabs(at->wall_ahead_ms - before_ms);
    say("  the wall clock of host %d is %lld ms ahead", (int)(at - hosts),
        (long long)at->wall_ahead_ms);
    pass_time(200); /* so that the timers have seen it */
}

/* Whether the log ends before all tables were stamped; then they will be once more. The timer
 * stamps them one after the other, and the log may end between two. */
static bool lacks_stamps(int64_t *stamped_ms, int64_t end_ms) {
    bool lacks = *stamped_ms == 0 || *stamped_ms >= end_ms;
    if (lacks) *stamped_ms = 0;
    return lacks;
}

/* When the machine starts again, nobody knows what happened to a wall clock after the log's end.
 * The same if it did so before, and the log is cut off before that. */
static void forget_sets(const server *at, bool is_machine) {
    int64_t end_ms =
        at->log.count > 0 && world.lineage.count > 0 ? world.told_ms[world.lineage.count - 1] : 0;
    bool has_started =
        at->at->starts > 0 && lacks_stamps(&world.start_stamped_ms[at->at - hosts], end_ms);
    for (unsigned i = 0; i < world.set_count; i++) {
        if (world.sets[i].of != at->at || !lacks_stamps(&world.sets[i].stamped_ms, end_ms))
            continue;
        if (!is_machine && !has_started) continue;
        slow_all(world.sets[i].step_ms);
        for (unsigned table = 0; table < MODEL_TABLES; table++) {
            world.now.tables[table].fast_ms += world.sets[i].step_ms;
        }
    }
    if (is_machine) world.start_stamped_ms[at->at - hosts] = 0;
}

/* A master goes down whose log has no stamp of its host, because it was cut off or the server was
 * promoted since: of each table the time is lost since the stream last said something of it,
 * however much it said of others meanwhile. */
static void lose_stamps(void) {
    size_t position = world.lineage.count;
    for (unsigned i = 0; i < MODEL_TABLES; i++) {
        model_table *table = &world.now.tables[i];
        table->is_unstamped |= position <= world.promoted_at;
        if (table->is_unstamped) table->slow_ms += now_ms() - table->told_ms;
    }
}

/* What a master said, and did not replicate, binds no other one, nor itself after a restart. */
static void ask_anew(void) {
    for (unsigned i = 0; i < MODEL_TABLES; i++) {
        for (unsigned k = 0; k < MODEL_CLAIMS; k++) {
            world.now.tables[i].claims[k].is_unknown = false;
        }
    }
}

/* The master's process is killed, perhaps with its machine; it starts again from its file and
 * log. */
static void step_crash(bool is_machine, bool is_cut) {
    server *at = master();
    for (unsigned i = 0; i < SERVERS;
         i++) { /* a machine goes down with all its servers; here with one */
        is_machine = is_machine && (i == world.master || world.servers[i].at != at->at);
    }
    say("  the master, server %u, is killed%s", at->number, is_machine ? " with its machine" : "");
    server_kill(at);
    size_t loose = at->log.count - world.log_floor[world.master];
    if (is_cut && loose > 0) {
        size_t kept = at->log.count - draw(loose < 20 ? loose : 20);
        say("  its log ends after %zu of %zu", kept, at->log.count);
        stream_cut(&at->log, kept);
        roll_back(world.log_base[world.master] + kept);
        for (unsigned i = 0; i < SERVERS; i++) {
            world.follows[i] = world.follows[i] && world.offset[i] <= world.lineage.count;
        }
    }
    ask_anew();
    lose_stamps();
    forget_sets(at, is_machine);
    if (draw(2) == 0) {
        int64_t ms = draw_time();
        true_us += ms * 1000;
        say("  %lld ms pass", (long long)ms);
        for (unsigned i = 0; i < MODEL_TABLES; i++) {
            if (world.now.tables[i].is_unstamped) world.now.tables[i].slow_ms += ms;
        }
    }
    if (is_machine) {
        host *of = at->at;
        int64_t step_ms = draw(3) == 0 ? ((int64_t)draw(5) - 2) * 200000 : 0;
        of->wall_ahead_ms += step_ms;
        of->starts++;
        of->off_ms = now_ms();
        for (unsigned i = 0; i < MODEL_TABLES; i++) {
            if (step_ms > 0) world.now.tables[i].fast_ms += step_ms;
            if (step_ms < 0) world.now.tables[i].slow_ms -= step_ms;
        }
    }
    at->is_replica = false;
    server_start(at);
    world.taken = at->log.count;
    slow_all(SLOW_PER_RESTART_MS);
    gather();
}

static void step_rewrite(void) {
    bool as_commands = draw(2) == 0;
    say("  the log is rewritten as %s", as_commands ? "commands" : "a snapshot");
    server_rewrite_log(master(), as_commands);
    world.log_base[world.master] = world.lineage.count - master()->log.count;
    world.log_floor[world.master] = world.taken = master()->log.count;
}

/* Another server gets a snapshot of the master's, and follows from there. */
static void step_resync(void) {
    unsigned number = (unsigned)draw(SERVERS);
    if (number == world.master) return;
    server *at = &world.servers[number];
    say("  server %u is synchronised anew", number);
    server_set_role(at, true);
    bytes file = server_save(master());
    if (!server_load(at, file, false)) wrong("a replica cannot load its master's snapshot");
    bytes_free(&file);
    server_rewrite_log(at, false);
    world.follows[number] = true;
    world.offset[number] = world.log_base[number] = world.lineage.count;
    world.log_floor[number] = 0;
    world.lag_ms[number] = 0;
}

static void feed(unsigned number, size_t until) {
    server *at = &world.servers[number];
    while (world.offset[number] < until) {
        int64_t lag_ms = now_ms() - world.told_ms[world.offset[number]];
        if (lag_ms > world.lag_ms[number]) world.lag_ms[number] = lag_ms;
        const command *words = &world.lineage.commands[world.offset[number]++];
        reply answer = server_follow(at, words);
        if (answer.is_error) wrong("server %u does not take the stream: %s", number, answer.text);
    }
}

static void compare(unsigned number) {
    feed(number, world.lineage.count);
    for (unsigned i = 0; i < MODEL_TABLES; i++) {
        if (!world.now.tables[i].exists || world.now.tables[i].lacked_memory) continue;
        char key[16];
        uint64_t one[2], other[2];
        key_of(i, key);
        server_digest(master(), key, one);
        server_digest(&world.servers[number], key, other);
        if (one[0] != other[0] || one[1] != other[1])
            wrong("%s differs on server %u and its master", key, number);
    }
}

static void step_stream(void) {
    unsigned number = (unsigned)draw(SERVERS);
    if (number == world.master || !world.follows[number]) return;
    size_t behind = world.lineage.count - world.offset[number];
    feed(number, world.offset[number] + draw(behind + 1));
    if (draw(2) == 0) compare(number);
}

/* A replica, which may lack the end of the stream, becomes the master. */
static void step_promote(void) {
    unsigned number = (unsigned)draw(SERVERS);
    if (number == world.master || !world.follows[number]) return;
    say("  server %u is promoted, %zu behind", number, world.lineage.count - world.offset[number]);
    roll_back(world.offset[number]);
    ask_anew();
    unsigned old = world.master;
    world.master = number;
    world.taken = master()->log.count;
    world.log_base[number] = world.lineage.count - master()->log.count;
    server_set_role(master(), false);
    slow_all(world.lag_ms[number]); /* what is late is taken for what has just been */
    /* Their stamps are of another host, until the timer comes. */
    for (unsigned i = 0; i < MODEL_TABLES; i++) {
        world.now.tables[i].is_unstamped = true;
    }
    gather();
    world.promoted_at = world.lineage.count;
    for (unsigned i = 0; i < SERVERS; i++) {
        world.follows[i] =
            world.follows[i] && i != number && world.offset[i] <= world.lineage.count;
    }
    server_set_role(&world.servers[old], true);
    world.follows[old] = false;
    if (draw(2) == 0) pass_time(draw_time());
}

static void step_dump(void) {
    unsigned table = draw_table();
    if (world.payload_count == MOST_PAYLOADS) return;
    char key[16];
    key_of(table, key);
    world.payloads[world.payload_count].data = server_dump(master(), key);
    world.payloads[world.payload_count].table = world.now.tables[table];
    world.payloads[world.payload_count++].at_ms = now_ms();
}

static void step_restore(void) {
    if (world.payload_count == 0) return;
    unsigned table = (unsigned)draw(MODEL_TABLES), which = (unsigned)draw(world.payload_count);
    char key[16];
    key_of(table, key);
    say("  a payload comes back as %s", key);
    if (!server_restore(master(), key, world.payloads[which].data, false)) {
        wrong("a payload is not taken");
        return;
    }
    world.now.tables[table] = world.payloads[which].table;
    world.now.tables[table].born = ++world.births;
    /* Its time stood still in the payload, and begins at its last change. */
    world.now.tables[table].base_ms -= now_ms() - world.payloads[which].at_ms;
    world.now.tables[table].is_unstamped = true;
    gather();
}

/* A table gets another name, in the place of what had it, or is removed. */
static void step_name(void) {
    unsigned left = 0, table = draw_table(), other = (unsigned)draw(MODEL_TABLES);
    for (unsigned i = 0; i < MODEL_TABLES; i++) {
        left += world.now.tables[i].exists;
    }
    bool is_removed = draw(3) == 0;
    if (left <= 3 || table == other) return;
    char key[16], name[16];
    key_of(table, key);
    key_of(other, name);
    say("  %s is %s%s", key, is_removed ? "removed" : "named ", is_removed ? "" : name);
    command words = command_of(is_removed ? "DEL" : "RENAME", key, is_removed ? NULL : name, NULL);
    (void)server_call(master(), &words);
    command_free(&words);
    if (!is_removed) world.now.tables[other] = world.now.tables[table];
    world.now.tables[table].exists = false;
    gather();
}

static void step_claims(void) {
    unsigned table = draw_table();
    if (!world.now.tables[table].is_filter) claims_step(table);
}

static void step_holds(void) {
    unsigned table = draw_table();
    if (!world.now.tables[table].is_filter) holds_step(table);
}

void step(void) {
    switch (draw(29)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
        step_operate(false);
        return;
    case 6:
        step_operate(true);
        return;
    case 7:
    case 8:
    case 9:
        pass_time(draw_time());
        return;
    case 10:
        step_wall();
        return;
    case 11:
        step_crash(false, false);
        return;
    case 12:
        step_crash(draw(2) == 0, draw(2) == 0);
        return;
    case 13:
        step_rewrite();
        return;
    case 14:
    case 15:
        step_resync();
        return;
    case 16:
        step_stream();
        return;
    case 17:
        step_promote();
        return;
    case 18:
        step_dump();
        return;
    case 19:
    case 20:
    case 21:
    case 22:
        step_claims();
        return;
    case 23:
    case 24:
    case 25:
        step_holds();
        return;
    case 26:
    case 27:
        step_name();
        return;
    default:
        step_restore();
        return;
    }
}
