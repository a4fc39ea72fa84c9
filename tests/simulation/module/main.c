/* simulation/module/main.c - simulates the life of once-tables and forgetful filters: masters,
 * replicas, logs, payloads, clocks.
 *
 * usage: test_simulate_module MODULE [--seeds A-B] [--seconds N]
 *                             [--seed S [--without i,j,...]] [--verbose]
 *
 * A seed draws the tables and a sequence of steps. Each step draws from the seed and its own
 * number, so that steps can be left out while the others stay what they are. What is checked:
 *   P1, P3   duplicates within W are never applied, and ids are forgotten by W and the slack
 *            (model.h), over crashes, restarts of machines, clocks that are set, logs that are
 *            cut off, promotions, payloads that are kept and restored;
 *   witness  each id of a once-table has a counter of its own, whose value is how often it was
 *            applied, and whose buckets say in which periods of its master's wall clock (meters.c);
 *   limits   all ids of a table also take from one counter, whose total or whose present bucket
 *            never passes its limit, fixed or sliding, and which refuses only what would pass it;
 *   holds    and what was counted never pass a limit together, except by FORCE; their sums agree;
 *            leases end, and never early; takes that go down stop at a floor (holds.c);
 *   claims   have one holder at a time, are completed once, and keep their first reply (claims.c);
 *   sums     INFO has the sums over the tables that a server has at that moment (sums.c);
 *   replicas that have the whole stream have their master's digests; refused an operation that
 *   finds no memory changes nothing; work a command calls a bounded number of server functions.
 * A failure prints its seed, what is wrong and a shortened list of steps. Where LETHE_TEST_STOP is
 * set, as for mutants, the first one ends the program and is not shortened. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

enum { STEPS = 60 };
/* Steps draw from the seed and twenty bits after it. */
#define MOST_SEEDS (UINT64_MAX >> 20)

const char *module_path;

static void begin(uint64_t seed) {
    chance = seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
    api_random = chance | 1;
    world.wrong[0] = '\0';
    world.now = (model){0};
    true_us = 0;
    for (unsigned i = 0; i < MOST_HOSTS; i++) {
        hosts[i] = (host){.wall_ahead_ms = (int64_t)draw(5) * 1000000};
    }
    for (unsigned i = 0; i < SERVERS; i++) {
        world.servers[i] = (server){.number = i, .at = &hosts[draw(MOST_HOSTS)]};
        server_start(&world.servers[i]);
        world.follows[i] = false;
        world.offset[i] = world.log_base[i] = world.log_floor[i] = 0;
        world.lag_ms[i] = 0;
    }
    world.master = 0;
    world.set_count = 0;
    memset(world.start_stamped_ms, 0, sizeof world.start_stamped_ms);
    world.births = world.replies = 0;
    world.promoted_at = 0;
    world.taken = world.history_count = world.payload_count = 0;
    make_table(0, false);
    make_table(1, false);
    make_table(2, true);
}

static void end(void) {
    for (unsigned i = 0; i < SERVERS; i++) {
        server_kill(&world.servers[i]);
        stream_free(&world.servers[i].log);
        bytes_free(&world.servers[i].snapshot);
    }
    for (unsigned i = 0; i < world.payload_count; i++) {
        bytes_free(&world.payloads[i].data);
    }
    stream_free(&world.lineage);
}

/* Returns the step at which it went wrong, or STEPS. */
static unsigned attempt(uint64_t seed, const bool *is_left_out) {
    begin(seed);
    unsigned at = 0;
    for (; at < STEPS && world.wrong[0] == '\0'; at++) {
        if (is_left_out[at]) continue;
        chance = (seed << 20) + at;
        say("step %u", at);
        step();
        sums_check();
    }
    end();
    return world.wrong[0] == '\0' ? STEPS : at - 1;
}

static void report(uint64_t seed, unsigned failed_at) {
    bool left_out[STEPS] = {false};
    for (unsigned i = failed_at + 1; i < STEPS; i++) {
        left_out[i] = true;
    }
    for (unsigned size = STEPS / 2; size >= 1; size /= 2) {
        for (unsigned from = 0; from < STEPS; from += size) {
            bool saved[STEPS];
            memcpy(saved, left_out, sizeof saved);
            for (unsigned i = from; i < from + size && i < STEPS; i++) {
                left_out[i] = true;
            }
            if (attempt(seed, left_out) == STEPS) memcpy(left_out, saved, sizeof saved);
        }
    }
    world.is_verbose = true;
    (void)attempt(seed, left_out);
    world.is_verbose = false;
    printf("WRONG, seed %llu: %s\nagain: --seed %llu --without ", (unsigned long long)seed,
           world.wrong, (unsigned long long)seed);
    for (unsigned i = 0; i < STEPS; i++) {
        if (left_out[i]) printf("%u,", i);
    }
    printf("\n");
    fflush(stdout);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int run_seeds(uint64_t first, uint64_t last, double seconds) {
    const bool none[STEPS] = {false};
    unsigned failed = 0;
    double start = seconds_now();
    uint64_t seed = first;
    for (; seed <= last && (seconds <= 0 || seconds_now() - start < seconds); seed++) {
        unsigned at = attempt(seed, none);
        if (at == STEPS) continue;
        failed++;
        if (getenv("LETHE_TEST_STOP") != NULL) {
            printf("WRONG, seed %llu: %s\n", (unsigned long long)seed, world.wrong);
            break;
        }
        report(seed, at);
        if (failed == 5) break;
    }
    printf("module, inside: %llu seeds in %.0f s, %u failed\n", (unsigned long long)(seed - first),
           seconds_now() - start, failed);
    /* To have tried nothing is not to have found nothing. */
    return failed > 0 || seed == first ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int count, char **words) {
    if (count < 2) {
        fprintf(stderr, "usage: %s MODULE [--seeds A-B] [--seconds N] [--seed S [--without i,j]]\n",
                words[0]);
        return 2;
    }
    module_path = words[1];
    setvbuf(stdout, NULL, _IOLBF, 0);
    world.history = calloc(MOST_HISTORY, sizeof *world.history);
    if (world.history == NULL) return 2;
    uint64_t first = 1, last = 700, single = 0;
    double seconds = 0;
    bool left_out[STEPS] = {false};
    for (int i = 2; i + 1 < count; i += 2) {
        if (strcmp(words[i], "--seeds") == 0) {
            char *rest;
            first = strtoull(words[i + 1], &rest, 10);
            last = strtoull(rest + 1, NULL, 10);
        } else if (strcmp(words[i], "--seconds") == 0) {
            seconds = strtod(words[i + 1], NULL);
            first = (uint64_t)time(NULL) * 100;
            last = MOST_SEEDS;
        } else if (strcmp(words[i], "--seed") == 0) {
            single = strtoull(words[i + 1], NULL, 10);
        } else if (strcmp(words[i], "--without") == 0) {
            for (char *rest = words[i + 1]; *rest != '\0';) {
                unsigned long number = strtoul(rest, &rest, 10);
                if (number < STEPS) left_out[number] = true;
                if (*rest == ',') rest++;
            }
        }
    }
    if (single == 0) return run_seeds(first, last, seconds);
    world.is_verbose = true;
    unsigned at = attempt(single, left_out);
    printf("%s\n", at == STEPS ? "right" : world.wrong);
    return at == STEPS ? EXIT_SUCCESS : EXIT_FAILURE;
}
