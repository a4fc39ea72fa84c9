/* bench/serve.c - `lethe bench serve`: events over HTTP, each request answered when it is durable.
 *
 * Client and server share this machine's CPUs, over loopback. The client is http_load.c. Beside it
 * in the same run: the same by hand, a table of ids and one of counters in SQLite, behind the HTTP
 * server that comes with Python or Node.js, one transaction for each request, synced. How often the
 * disk can sync by itself is measured first: with n connections, no server that answers after a
 * sync for each request alone can do more than n times that. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count_process.h"
#include "folder.h"
#include "frame.h"
#include "http_load.h"
#include "report.h"
#include "serve_peers.h"
#include "shell.h"

static const struct report_column columns[] = {
    {"server", "server", 16, -2},
    {"manner", "manner", 12, -2},
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

/* Runs one server in all manners. */
static void run_peer(struct report *report, const struct serve_peer *peer, const char *folder,
                     const struct bench_options *options, double syncs) {
    unsigned port = free_port();
    pid_t child = start(peer, folder, port);
    if (!await(child, port)) {
        fprintf(stderr, "lethe-bench: %s is left out: it did not start\n", peer->name);
        return;
    }
    for (size_t i = 0; i < sizeof manners / sizeof manners[0]; i++) {
        struct http_load load = {.port = port,
                                 .connections = manners[i].connections,
                                 .events = manners[i].events,
                                 .seconds = options->quick ? 0.2 : 5,
                                 .keys = 1000,
                                 .first_id = (uint64_t)(i + 1) << 40,
                                 .is_short = manners[i].is_short};
        struct http_load_result result;
        if (manners[i].is_short && peer->script != NULL) continue;
        double cpu = cpu_of(child);
        bench_require(http_load_run(&load, &result) == 0 && result.failures == 0, peer->name);
        cpu = cpu_of(child) - cpu;
        report_row(report,
                   (struct report_cell[]){
                       REPORT_TEXT(peer->name), REPORT_TEXT(manners[i].name),
                       REPORT_NUMBER((double)manners[i].connections),
                       REPORT_NUMBER((double)result.requests / result.seconds),
                       REPORT_NUMBER((double)result.events / result.seconds),
                       REPORT_NUMBER(result.p50_ms), REPORT_NUMBER(result.p99_ms),
                       REPORT_NUMBER(1e6 * cpu / (double)result.events), REPORT_NUMBER(syncs)});
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
