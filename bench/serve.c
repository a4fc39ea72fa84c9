/* bench/serve.c - `lethe bench serve`: events over HTTP, each request answered when it is durable.
 *
 * Client and server share this machine's CPUs, over loopback. The client is http_load.c, and wrk
 * where that is installed. Beside it in the same run: the same by hand, a table of ids and one of
 * counters in SQLite, behind the HTTP server that comes with Python or Node.js, one transaction for
 * each request, synced. How often the disk can sync by itself is measured first: with n
 * connections, no server that answers after a sync for each request alone can do more than n times
 * that. What an open page costs is measured in rounds that alternate, with a page and without. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count_process.h"
#include "folder.h"
#include "frame.h"
#include "http_load.h"
#include "report.h"
#include "serve_peers.h"
#include "serve_wrk.h"
#include "shell.h"

static const struct report_column columns[] = {
    {"server", "server", 16, -2},
    {"manner", "manner", 13, -2},
    {"connections", "connections", 11, 0},
    {"requests_per_second", "requests/s", 11, 0},
    {"events_per_second", "events/s", 11, 0},
    {"p50_ms", "p50 ms", 8, 2},
    {"p99_ms", "p99 ms", 8, 2},
    {"cpu_us_per_event", "CPU us/event", 12, 3},
    {"syncs_per_second", "syncs/s", 9, 0},
};

/* How events are sent. */
struct manner {
    const char *name;
    size_t connections, events;
    int is_short;
};

static const struct manner manners[] = {
    {"single", 64, 1, 0}, {"batches", 8, 1000, 0}, {"counts only", 8, 1000, 1}};

/* Syncs of one small write after the other, for a moment. */
static double measure_syncs(const char *folder, double seconds) {
    char path[2 * COUNT_PATH_BYTES], block[128] = {0};
    snprintf(path, sizeof path, "%s/syncs", folder);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    bench_require(file >= 0, "making a file");
    double began = bench_now(), now = began;
    uint64_t count = 0;
    for (; now - began < seconds; now = bench_now(), count++)
        bench_require(write(file, block, sizeof block) == sizeof block && fdatasync(file) == 0,
                      "syncing a file");
    close(file);
    unlink(path);
    return (double)count / (now - began);
}

static unsigned free_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bench_require(probe >= 0 && bind(probe, (struct sockaddr *)&address, sizeof address) == 0 &&
                      getsockname(probe, (struct sockaddr *)&address, &length) == 0,
                  "finding a port");
    close(probe);
    return ntohs(address.sin_port);
}

/* Waits until a connection is taken. False if the process ends before. */
static bool await(pid_t child, unsigned port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < 3000; i++) {
        int status, probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool is_there = connect(probe, (struct sockaddr *)&address, sizeof address) == 0;
        close(probe);
        if (is_there) return true;
        if (waitpid(child, &status, WNOHANG) == child) return false;
        usleep(10000);
    }
    return false;
}

/* Seconds of CPU that a process has used, by the system's own account. */
static double cpu_of(pid_t child) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
    FILE *file = fopen(path, "re");
    size_t size = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) fclose(file);
    text[size] = '\0';
    char *at = strrchr(text, ')');
    /* After the name: the state, ten numbers, and then the two that are wanted. */
    for (int i = 0; i < 12 && at != NULL; i++)
        at = strchr(at + 1, ' ');
    if (at == NULL) return NAN;
    unsigned long user = strtoul(at, &at, 10), kernel = strtoul(at, NULL, 10);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

static pid_t start(const struct serve_peer *peer, const char *folder, unsigned port) {
    char listen[32], number[16], store[2 * COUNT_PATH_BYTES], program[SHELL_PATH_BYTES];
    shell_find_lethe(program);
    snprintf(listen, sizeof listen, "127.0.0.1:%u", port);
    snprintf(number, sizeof number, "%u", port);
    snprintf(store, sizeof store, "%s/%s", folder, peer->folder);
    const char *const lethe[] = {program, "serve", "--db", store, "--listen", listen, NULL};
    const char *const script[] = {peer->program, peer->option, peer->script, store, number, NULL};
    return count_start(peer->script == NULL ? lethe : script, NULL);
}

/* A server that runs, and what is known beforehand. */
struct served {
    const char *name, *folder;
    pid_t child;
    unsigned port;
    double syncs;
    bool quick;
};

static void add_row(struct report *report, const struct served *served, const char *manner,
                    size_t connections, const struct http_load_result *result, double cpu) {
    report_row(report,
               (struct report_cell[]){REPORT_TEXT(served->name), REPORT_TEXT(manner),
                                      REPORT_NUMBER((double)connections),
                                      REPORT_NUMBER((double)result->requests / result->seconds),
                                      REPORT_NUMBER((double)result->events / result->seconds),
                                      REPORT_NUMBER(result->p50_ms), REPORT_NUMBER(result->p99_ms),
                                      REPORT_NUMBER(1e6 * cpu / (double)result->events),
                                      REPORT_NUMBER(served->syncs)});
}

static struct http_load load_of(const struct served *served, const struct manner *manner,
                                uint64_t number) {
    return (struct http_load){.port = served->port,
                              .connections = manner->connections,
                              .events = manner->events,
                              .seconds = served->quick ? 0.2 : 5,
                              .keys = 1000,
                              .first_id = number << 40,
                              .is_short = manner->is_short};
}

/* The same with wrk, of lethe. */
static void run_wrk(struct report *report, const struct served *served) {
    static const char *const names[] = {"single, wrk", "batches, wrk"};
    if (!wrk_is_there()) {
        fprintf(stderr, "lethe-bench: wrk is left out: it is not installed\n");
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        struct http_load load = load_of(served, &manners[i], 100 + i);
        struct http_load_result result;
        double cpu = cpu_of(served->child);
        bench_require(wrk_run(&load, served->folder, &result) == 0 && result.failures == 0, "wrk");
        add_row(report, served, names[i], load.connections, &result, cpu_of(served->child) - cpu);
    }
}

/* What a page does: it asks for the stream, and reads it. Ends when it is killed. */
static pid_t open_page(unsigned port) {
    pid_t child = fork();
    if (child != 0) return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    char text[1 << 14];
    int stream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int size = snprintf(text, sizeof text,
                        "GET /v1/live?interval=1000 HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", port);
    if (connect(stream, (struct sockaddr *)&address, sizeof address) == 0 &&
        send(stream, text, (size_t)size, MSG_NOSIGNAL) == size) {
        while (recv(stream, text, sizeof text, 0) > 0) {
        }
    }
    _exit(1); /* the bench kills it before that */
}

/* One round of load, and the CPU time that the server took for it. */
struct round {
    struct http_load_result result;
    double cpu;
};

static double cost_of(const struct round *round) {
    return round->cpu / (double)round->result.events;
}

static int compare_costs(const void *a, const void *b) {
    double one = cost_of(a), other = cost_of(b);
    return (one > other) - (one < other);
}

/* Batches with a page open and without. The store grows meanwhile, so that each goes first in half
 * of the pairs; and in some rounds its window is made larger, so that the middle one counts. */
static void run_page(struct report *report, const struct served *served) {
    enum { ROUNDS = 9 };
    static const char *const names[] = {"without page", "page open"};
    struct round rounds[2][ROUNDS];
    size_t count = served->quick ? 1 : ROUNDS, done[2] = {0, 0};
    for (uint64_t i = 0; i < 2 * count; i++) {
        bool is_open = (i + 1) / 2 % 2 != 0;
        struct round *round = &rounds[is_open][done[is_open]++];
        struct http_load load = load_of(served, &manners[1], 200 + i);
        pid_t page = is_open ? open_page(served->port) : -1;
        load.seconds *= 0.4;
        double before = cpu_of(served->child);
        bench_require(http_load_run(&load, &round->result) == 0 && round->result.failures == 0,
                      "the page");
        round->cpu = cpu_of(served->child) - before;
        if (page > 0) {
            bench_require(waitpid(page, NULL, WNOHANG) == 0, "a page that stays open");
            kill(page, SIGKILL);
            waitpid(page, NULL, 0);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        qsort(rounds[i], count, sizeof rounds[i][0], compare_costs);
        const struct round *middle = &rounds[i][count / 2];
        add_row(report, served, names[i], manners[1].connections, &middle->result, middle->cpu);
    }
}

/* Runs one server in all manners. */
static void run_peer(struct report *report, const struct serve_peer *peer, const char *folder,
                     const struct bench_options *options, double syncs) {
    unsigned port = free_port();
    if (peer->prepare != NULL && !peer->prepare(folder, options->quick)) return;
    pid_t child = start(peer, folder, port);
    if (!await(child, port)) {
        fprintf(stderr, "lethe-bench: %s is left out: it did not start\n", peer->name);
        return;
    }
    struct served served = {.name = peer->name,
                            .folder = folder,
                            .child = child,
                            .port = port,
                            .syncs = syncs,
                            .quick = options->quick};
    for (size_t i = 0; i < sizeof manners / sizeof manners[0]; i++) {
        struct http_load load = load_of(&served, &manners[i], i + 1);
        struct http_load_result result;
        if (manners[i].is_short && peer->script != NULL) continue;
        double cpu = cpu_of(child);
        bench_require(http_load_run(&load, &result) == 0 && result.failures == 0, peer->name);
        add_row(report, &served, manners[i].name, load.connections, &result, cpu_of(child) - cpu);
    }
    if (peer->script == NULL) {
        run_wrk(report, &served);
        run_page(report, &served);
    }
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
}

static int run(const struct bench_options *options) {
    char folder[COUNT_PATH_BYTES];
    struct report report;
    bench_folder_make(folder, sizeof folder);
    double syncs = measure_syncs(folder, options->quick ? 0.05 : 1);
    report_begin(&report, "serve", options->json, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < serve_peer_count; i++)
        run_peer(&report, &serve_peers[i], folder, options, syncs);
    report_end(&report);
    bench_folder_remove(folder);
    return 0;
}

const struct workload workload_serve = {
    .name = "serve",
    .summary = "events over HTTP, durable when answered, beside SQLite behind Python and Node.js",
    .run = run,
};
