/* simulation/module/steps.c - what may happen to once-tables and their servers, one step at a
 * time, and whether the answers are what the promises allow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

enum { MOST_WORK = 3000 };
/* By how much a restart, or a transfer of an idle table, may find too little time elapsed: see
 * the essay of module/value/clock.c. */
enum { SLOW_PER_RESTART_MS = 10 };

static void key_of(unsigned table, char out[16]) {
    snprintf(out, 16, "t%u", table);
}

static unsigned draw_table(void) {
    unsigned table = (unsigned)draw(MODEL_TABLES);
    while (!world.now.tables[table].exists) {
        table = (table + 1) % MODEL_TABLES;
    }
    return table;
}

static void check_work(const server *of, const char *what) {
    if (of->work > MOST_WORK) wrong("%s made %llu calls", what, (unsigned long long)of->work);
}

/* Whether an answer about an id is one that the promises allow; notes what was done. */
static void judge(unsigned table, unsigned id, bool is_applied, bool counts) {
    model_table *known = &world.now.tables[table];
    model_answer expected = model_expect(known, id, now_ms());
    if (expected != MODEL_EITHER && is_applied != (expected == MODEL_APPLIED)) {
        wrong("t%u id-%u: %s; its age is %lld ms of %u (fast %lld, slow %lld)", table, id,
              is_applied ? "a duplicate was applied" : "taken for a duplicate",
              (long long)(now_ms() + known->base_ms - known->applied_ms[id]), known->window_ms,
              (long long)known->fast_ms, (long long)known->slow_ms);
    }
    if (is_applied) model_note(known, id, now_ms(), counts);
    if (is_applied && counts) meters_note(known, id, host_wall_ms(master()->at));
}

static void judge_witness(unsigned table, unsigned id, long long found) {
    unsigned times = world.now.tables[table].times[id];
    if (found != times) wrong("t%u: w-%u is %lld, not %u", table, id, found, times);
}

static void judge_operation(unsigned table, unsigned id, const long long *numbers) {
    judge(table, id, numbers[0] == 1, true);
    judge_witness(table, id, numbers[1]);
    meters_check(table, id);
}

/* Sends it, and says what came back. */
static reply ask(command words, bool lacks_memory) {
    master()->fail_allocation = lacks_memory ? 1 + draw(2) : 0;
    reply answer = server_call(master(), &words);
    master()->fail_allocation = 0;
    check_work(master(), words.words[0].data);
    say("  %.*s %.*s %.*s -> %s%lld %lld", (int)words.words[0].size, words.words[0].data,
        (int)words.words[1].size, words.words[1].data, (int)words.words[2].size,
        words.words[2].data, answer.is_error ? answer.text : "", answer.numbers[0],
        answer.numbers[1]);
    if (answer.is_error && !lacks_memory) wrong("%s", answer.text);
    command_free(&words);
    return answer;
}

static void forget_in_vain(const char *key, const char *name) {
    command words = command_of("ONCE.FORGET", key, name, NULL);
    if (!server_call(master(), &words).is_error) wrong("%s %s: FORGET is not refused", key, name);
    command_free(&words);
}

static void forget(unsigned table, unsigned id, const char *key, const char *name) {
    if (world.now.tables[table].is_forgetful) {
        forget_in_vain(key, name);
        return;
    }
    model_answer expected = model_expect(&world.now.tables[table], id, now_ms());
    bool was_there = ask(command_of("ONCE.FORGET", key, name, NULL), false).numbers[0] == 1;
    if (expected != MODEL_EITHER && was_there != (expected == MODEL_DUPLICATE))
        wrong("%s %s: FORGET says %d", key, name, was_there);
    model_forget(&world.now.tables[table], id);
}

static void remove_witness(unsigned table, unsigned id, const char *key, const char *counter) {
    model_table *known = &world.now.tables[table];
    long long removed = ask(command_of("ONCE.DEL", key, counter, NULL), false).numbers[0];
    if (removed > 1 || (known->times[id] > 0 && removed == 0))
        wrong("%s %s: DEL says %lld", key, counter, removed);
    known->times[id] = 0;
    meters_drop(known, id);
    meters_check(table, id);
}

enum { TAKEN_IN_ALL = 60, TAKEN_PER_PERIOD = 5 };

/* The limit of a take: on the total, or on the present period where there is one; sliding for every
 * second id. */
struct limit {
    bool is_per, is_sliding;
    long long most, value;
    char words[3][16];
};

static struct limit limit_of(const model_table *known, unsigned id) {
    int64_t wall_ms = host_wall_ms(master()->at);
    struct limit limit = {.is_per = known->period_ms[0] > 0, .most = TAKEN_IN_ALL};
    limit.is_sliding = limit.is_per && id % 2 == 1;
    limit.value = known->times[MODEL_SHARED];
    if (limit.is_per) {
        limit.most = TAKEN_PER_PERIOD;
        limit.value = limit.is_sliding ? meters_sliding(known, MODEL_SHARED, 0, wall_ms)
                                       : meters_present(known, MODEL_SHARED, 0, wall_ms);
    }
    snprintf(limit.words[0], sizeof limit.words[0], "w-%u", MODEL_SHARED);
    snprintf(limit.words[1], sizeof limit.words[1], "%lld", limit.most);
    snprintf(limit.words[2], sizeof limit.words[2], "%u", known->period_ms[0]);
    return limit;
}

static void judge_standing(const char *key, const struct limit *limit, const long long *numbers) {
    long long left = limit->value < limit->most ? limit->most - limit->value : 0;
    if (numbers[0] != limit->value || numbers[1] != left)
        wrong("%s: %lld are taken and %lld left, not %lld", key, numbers[0], numbers[1],
              limit->value);
    if ((numbers[2] >= 0) != limit->is_per) wrong("%s: reset in %lld ms", key, numbers[2]);
}

/* Takes one of what all ids take from. */
static void take(unsigned table, unsigned id, const char *key, const char *name) {
    model_table *known = &world.now.tables[table];
    struct limit limit = limit_of(known, id);
    const char *per = limit.is_per ? "PER" : NULL, *sliding = limit.is_sliding ? "SLIDING" : NULL;
    reply answer = ask(command_of("ONCE.TAKE", key, name, limit.words[0], "1", "LIMIT",
                                  limit.words[1], per, limit.words[2], sliding, NULL),
                       false);
    bool is_limited = answer.numbers[0] == -1, is_applied = answer.numbers[0] == 1;
    model_answer expected = model_expect(known, id, now_ms());
    if (is_limited && (expected == MODEL_DUPLICATE || limit.value + 1 <= limit.most))
        wrong("%s %s: limited at %lld of %lld", key, name, limit.value, limit.most);
    if (is_applied && limit.value + 1 > limit.most) wrong("%s %s: passes its limit", key, name);
    if (!is_limited) judge(table, id, is_applied, false);
    if (is_applied) {
        known->times[MODEL_SHARED]++;
        meters_note(known, MODEL_SHARED, host_wall_ms(master()->at));
        limit.value++;
    }
    judge_standing(key, &limit, answer.numbers + 1);
    answer = ask(command_of("ONCE.PEEK", key, limit.words[0], "LIMIT", limit.words[1], per,
                            limit.words[2], sliding, NULL),
                 false);
    judge_standing(key, &limit, answer.numbers);
    meters_check(table, MODEL_SHARED);
}

static void operate(unsigned table, unsigned id, bool lacks_memory) {
    char key[16], name[16], counter[16], name_2[16], counter_2[16];
    unsigned other = (unsigned)draw(MODEL_IDS);
    key_of(table, key);
    snprintf(name, sizeof name, "id-%u", id);
    snprintf(counter, sizeof counter, "w-%u", id);
    snprintf(name_2, sizeof name_2, "id-%u", other);
    snprintf(counter_2, sizeof counter_2, "w-%u", other);
    uint64_t kind = world.now.tables[table].is_filter ? 10 : draw(10);
    reply answer;
    if (kind == 10) {
        answer = ask(command_of("FBF.ADD", key, name, NULL), lacks_memory);
        if (!answer.is_error) judge(table, id, answer.numbers[0] == 1, false);
    } else if (kind == 0 && !lacks_memory) {
        forget(table, id, key, name);
    } else if (kind == 4 && other % 4 == 0 && !lacks_memory) {
        remove_witness(table, id, key, counter);
    } else if (kind >= 8 && !lacks_memory) {
        take(table, id, key, name);
    } else if (kind == 1) {
        answer = ask(command_of("ONCE.ADD", key, name, NULL), lacks_memory);
        if (!answer.is_error) judge(table, id, answer.numbers[0] == 1, false);
    } else if (kind <= 3 && !lacks_memory) {
        answer =
            ask(command_of("ONCE.MINCRBY", key, name, counter, "1", name_2, counter_2, "1", NULL),
                false);
        if (!answer.is_error) judge_operation(table, id, answer.numbers);
        if (!answer.is_error) judge_operation(table, other, answer.numbers + 2);
    } else {
        answer = ask(command_of("ONCE.INCRBY", key, name, counter, "1", NULL), lacks_memory);
        if (!answer.is_error) judge_operation(table, id, answer.numbers);
    }
    gather();
}

/* Lets a table's clock catch up. At the start of a period a window may make another part, and what
 * memory was missing then its replicas do not know. */
static void move_clock(unsigned table) {
    char key[16];
    key_of(table, key);
    (void)ask(command_of("ONCE.DEL", key, "nothing", NULL), false);
    gather();
}

static void step_operate(bool lacks_memory) {
    unsigned table = draw_table();
    bool is_filter = world.now.tables[table].is_filter;
    world.now.tables[table].lacked_memory |= lacks_memory && is_filter;
    for (uint64_t i = 1 + draw(24); i > 0; i--) {
        bool lacks_now = lacks_memory && draw(3) == 0;
        if (lacks_now && !is_filter) move_clock(table);
        operate(table, (unsigned)draw(MODEL_IDS), lacks_now);
    }
}

static bool has_timer_due(const server *of) {
    for (unsigned i = 0; i < of->timer_count; i++) {
        if (of->timers[i].due_us <= true_us) return true;
    }
    return false;
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
    for (unsigned i = 0; i < MODEL_TABLES && is_stamped; i++) {
        world.now.tables[i].is_unstamped = false;
    }
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
    world.sets[world.set_count].at_ms = now_ms();
    world.sets[world.set_count++].step_ms = llabs(at->wall_ahead_ms - before_ms);
    say("  the wall clock of host %d is %lld ms ahead", (int)(at - hosts),
        (long long)at->wall_ahead_ms);
    pass_time(200); /* so that the timers have seen it */
}

/* When the machine starts again, nobody knows what happened to a wall clock after the log's end.
 * The same if it did so before, and the log is cut off before that. */
static void forget_sets(const server *at, bool is_machine) {
    int64_t end_ms =
        at->log.count > 0 && world.lineage.count > 0 ? world.told_ms[world.lineage.count - 1] : 0;
    bool has_started = at->at->starts > 0 && at->at->off_ms >= end_ms;
    if (!is_machine && !has_started) return;
    for (unsigned i = 0; i < world.set_count; i++) {
        if (world.sets[i].of != at->at || world.sets[i].at_ms < end_ms) continue;
        slow_all(world.sets[i].step_ms);
        for (unsigned table = 0; table < MODEL_TABLES; table++) {
            world.now.tables[table].fast_ms += world.sets[i].step_ms;
        }
    }
}

/* A master goes down whose log has no stamp of its host, because it was cut off or the server was
 * promoted since: the time since the end of its log is lost. */
static void lose_stamps(void) {
    size_t position = world.lineage.count;
    int64_t since_ms = position > 0 ? now_ms() - world.told_ms[position - 1] : now_ms();
    for (unsigned i = 0; i < MODEL_TABLES; i++) {
        model_table *table = &world.now.tables[i];
        table->is_unstamped |= position <= world.promoted_at;
        if (table->is_unstamped) table->slow_ms += since_ms;
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

void make_table(unsigned table, bool is_filter) {
    char key[16], window[16];
    key_of(table, key);
    model_table *made = &world.now.tables[table];
    /* Not drawn, so that the seeds do with other tables what they did. */
    bool is_forgetful = !is_filter && (chance >> 33) % 3 == 0;
    *made = (model_table){.exists = true,
                          .born = ++world.births,
                          .is_filter = is_filter,
                          .is_forgetful = is_forgetful,
                          .window_ms = (uint32_t)(draw(2) == 0 ? 20000 : 3600000)};
    for (unsigned id = 0; id < MODEL_IDS; id++) {
        model_forget(made, id);
    }
    if (!is_filter && (chance >> 37) % 2 == 0) meters_draw(made);
    snprintf(window, sizeof window, "%u", made->window_ms);
    command words = command_of(is_filter ? "FBF.RESERVE" : "ONCE.CREATE", key, "WINDOW", window,
                               "ERROR", draw(2) == 0 ? "1e-9" : "1e-12",
                               made->is_forgetful ? "KIND" : NULL, "forgetful", NULL);
    meters_words(made, &words);
    reply answer = server_call(master(), &words);
    if (answer.is_error) wrong("a table cannot be made: %s", answer.text);
    command_free(&words);
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
    switch (draw(27)) {
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
    default:
        step_restore();
        return;
    }
}
