/* Goal:   whatever a machine, its disk and its clocks do, a store counts every operation exactly
 *         once, keeps what it has acknowledged, and opens again.
 * Method: the engine and the cascade, with the product's src/os on a simulated system and a
 *         simulated RocksDB, do what a seed draws; every answer and everything that is read is
 *         judged by a model. Each seed runs in a process of its own. What fails is run again with
 *         steps left out, as long as the same rule is broken, and what is left is printed.
 *
 * usage: test_simulate_store [--seconds n] [--seed s] [--seeds n] [--steps n] [--only 3,7-9]
 * [--tell]
 *                            [--shrink seconds]
 *
 * Without options a fixed list of seeds runs. With --seconds new seeds run for so long, from
 * --seed on if that is given. With --seed alone that seed runs; --only leaves all but these
 * steps out. The first failure ends the program; where LETHE_TEST_STOP is set, as for mutants, it
 * is not shortened. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "simulation/store/reach.h"
#include "simulation/store/verdict.h"
#include "simulation/store/world.h"

/* Without options these run: the first so many, and some that found what the first do not. */
static const uint64_t also[] = {
    68, 73, 158, 269, 439, 1163, 9093, 1794908849000050, 1794910029000111, 1795051048000360};
enum {
    USUAL_SEEDS = 30,
    ALSO = sizeof also / sizeof also[0],
    MOST_STEPS = 100000,
    /* What a process may use of a CPU, and how long it may take on a machine with other work. */
    CPU_SECONDS = 120,
    WALL_SECONDS = 1800,
    SHRINK_SECONDS = 60
};

struct request {
    uint64_t seconds, seed, seeds, steps, shrink_seconds;
    bool has_seed, tells, has_only;
    bool only[MOST_STEPS];
};

static struct request request = {.shrink_seconds = SHRINK_SECONDS};

/* What a run in a process of its own said. */
struct found {
    bool failed;
    char text[1 << 16];
};

static void read_all(int descriptor, struct found *found) {
    size_t used = 0;
    ssize_t got;
    char rest[4096];
    for (;;) {
        size_t room = sizeof found->text - 1 - used;
        got = read(descriptor, room > 0 ? found->text + used : rest, room > 0 ? room : sizeof rest);
        if (got <= 0) break;
        if (room > 0) used += (size_t)got;
    }
    found->text[used] = '\0';
}

/* A run that does not end is ended: by the work it does, so that a busy machine makes none fail.
 * Copies of its process (harm_in_copy) have the same limit. */
static void limit_run(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_CPU, &limit) != 0) exit(2);
    if (limit.rlim_cur > CPU_SECONDS) limit.rlim_cur = CPU_SECONDS;
    if (setrlimit(RLIMIT_CPU, &limit) != 0) exit(2);
    (void)alarm(WALL_SECONDS);
}

static void run_apart(uint64_t seed, const bool *is_on, bool tells, struct found *found) {
    int ends[2];
    if (pipe(ends) != 0) exit(2);
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], 1);
        (void)close(ends[0]);
        (void)close(ends[1]);
        verdict_is_told = tells;
        if (tells) setvbuf(stdout, NULL, _IOLBF, 1 << 12);
        limit_run();
        run_plan(seed, (size_t)request.steps, is_on);
        (void)fflush(stdout);
        _exit(0);
    }
    (void)close(ends[1]);
    read_all(ends[0], found);
    (void)close(ends[0]);
    int status = 0;
    (void)waitpid(child, &status, 0);
    found->failed = status != 0;
    if (WIFSIGNALED(status)) {
        size_t used = strlen(found->text);
        (void)snprintf(found->text + used, sizeof found->text - used, "rule %s: signal %d\n",
                       verdict_of_signal(WTERMSIG(status)), WTERMSIG(status));
    }
}

enum { RULE_BYTES = 100 };

/* The rule that was broken, and how the message begins, without numbers: what stays the same
 * when steps are left out. */
static void rule_of(const struct found *found, char out[RULE_BYTES]) {
    const char *at = strstr(found->text, "\nrule ");
    at = at != NULL ? at + 1 : strstr(found->text, "rule ");
    size_t used = 0;
    for (; at != NULL && *at != '\0' && *at != '\n' && used + 1 < RULE_BYTES; at++) {
        if (*at < '0' || *at > '9') out[used++] = *at;
    }
    out[used] = '\0';
}

static uint64_t now_s(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

/* Leaves out as many steps as can be left out: halves first, then smaller parts. */
static void shrink(uint64_t seed, const char *rule, bool *is_on, size_t count) {
    static struct found trial;
    uint64_t end_s = now_s() + request.shrink_seconds;
    for (size_t part = (count + 1) / 2; part > 0 && now_s() < end_s; part /= 2) {
        bool again = true;
        while (again && now_s() < end_s) {
            again = false;
            for (size_t from = 0; from < count && now_s() < end_s; from += part) {
                bool kept[MOST_STEPS], any = false;
                memcpy(kept, is_on, count * sizeof *is_on);
                for (size_t i = from; i < from + part && i < count; i++) {
                    any |= is_on[i];
                    is_on[i] = false;
                }
                char own[RULE_BYTES] = "";
                if (any) {
                    run_apart(seed, is_on, false, &trial);
                    if (trial.failed) rule_of(&trial, own);
                }
                if (any && trial.failed && strcmp(own, rule) == 0)
                    again = part == 1;
                else
                    memcpy(is_on, kept, count * sizeof *is_on);
            }
        }
    }
}

static size_t count_steps(uint64_t seed) {
    struct plan plan;
    plan_draw(&plan, seed, (size_t)request.steps);
    size_t count = plan.step_count;
    free(plan.steps);
    return count;
}

static void print_only(const bool *is_on, size_t count) {
    const char *between = "";
    for (size_t i = 0; i < count; i++) {
        if (!is_on[i]) continue;
        size_t last = i;
        while (last + 1 < count && is_on[last + 1])
            last++;
        if (last > i)
            printf("%s%zu-%zu", between, i, last);
        else
            printf("%s%zu", between, i);
        between = ",";
        i = last;
    }
}

static void report(uint64_t seed, const struct found *found) {
    static bool is_on[MOST_STEPS];
    static struct found shortened;
    char rule[RULE_BYTES];
    rule_of(found, rule);
    printf("seed %llu failed: %s", (unsigned long long)seed, found->text);
    (void)fflush(stdout);
    if (getenv("LETHE_TEST_STOP") != NULL) return;
    size_t count = count_steps(seed);
    memset(is_on, true, count);
    shrink(seed, rule, is_on, count);
    run_apart(seed, is_on, true, &shortened);
    printf("shortened:\n%s", shortened.text);
    printf("again: test_simulate_store --seed %llu%s", (unsigned long long)seed,
           request.steps > 0 ? " --steps " : "");
    if (request.steps > 0) printf("%llu", (unsigned long long)request.steps);
    printf(" --tell --only ");
    print_only(is_on, count);
    printf("\n");
}

static void read_only_list(const char *text) {
    request.has_only = true;
    for (char *end; *text != '\0'; text = *end == ',' ? end + 1 : end) {
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (*end == '-') last = strtoul(end + 1, &end, 10);
        for (unsigned long i = first; i <= last && i < MOST_STEPS; i++)
            request.only[i] = true;
        if (*end != ',' && *end != '\0') exit(2);
    }
}

static void read_arguments(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        const char *name = arguments[i];
        if (strcmp(name, "--tell") == 0) {
            request.tells = true;
            continue;
        }
        if (i + 1 == count) {
            fprintf(stderr, "test_simulate_store: %s needs a value\n", name);
            exit(2);
        }
        const char *value = arguments[++i];
        uint64_t number = strtoull(value, NULL, 10);
        if (strcmp(name, "--seconds") == 0) {
            request.seconds = number;
        } else if (strcmp(name, "--shrink") == 0) {
            request.shrink_seconds = number;
        } else if (strcmp(name, "--seeds") == 0) {
            request.seeds = number;
        } else if (strcmp(name, "--steps") == 0 && number < MOST_STEPS) {
            request.steps = number;
        } else if (strcmp(name, "--seed") == 0) {
            request.seed = number;
            request.has_seed = true;
        } else if (strcmp(name, "--only") == 0) {
            read_only_list(value);
        } else {
            fprintf(stderr, "test_simulate_store: what is %s %s?\n", name, value);
            exit(2);
        }
    }
}

int main(int count, char **arguments) {
    static struct found found;
    read_arguments(count, arguments);
    reach_prepare();
    if (request.tells) {
        run_apart(request.seed, request.has_only ? request.only : NULL, true, &found);
        printf("%s", found.text);
        return found.failed;
    }
    uint64_t seed = request.has_seed      ? request.seed
                    : request.seconds > 0 ? (uint64_t)time(NULL) * 1000000
                                          : 1;
    uint64_t limit = request.seeds > 0     ? request.seeds
                     : request.seconds > 0 ? UINT64_MAX
                     : request.has_seed    ? 1
                                           : USUAL_SEEDS + ALSO;
    uint64_t end_s = request.seconds > 0 ? now_s() + request.seconds : UINT64_MAX;
    uint64_t done = 0, failed = 0;
    bool is_usual = limit == USUAL_SEEDS + ALSO && !request.has_seed;
    for (; done < limit && now_s() < end_s && failed == 0; done++, seed++) {
        if (is_usual && done >= USUAL_SEEDS) seed = also[done - USUAL_SEEDS];
        run_apart(seed, request.has_only ? request.only : NULL, false, &found);
        if (!found.failed) continue;
        failed++;
        report(seed, &found);
    }
    if (!reach_show() && is_usual && failed == 0) {
        printf("the seeds do not reach what they must\n");
        failed++;
    }
    printf("%llu seeds, %llu failed\n", (unsigned long long)done, (unsigned long long)failed);
    return failed > 0;
}
