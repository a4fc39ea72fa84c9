/* bench/redis_nodes.c - see redis_nodes.h. */
#include "redis_nodes.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count_process.h"
#include "folder.h"
#include "frame.h"

/* The bus of a cluster listens on the port above by BUS, so a port must leave room for that. */
enum { START_MS = 20000, ANSWER_MS = 5000, WHOLE_S = 60, BUS = 10000, MOST_PORT = 65535 - BUS };
enum { SLOTS = 16384, PATH_BYTES = 4096 };

/* In a build the module is beside this program; installed, in the library folder. */
static bool find_module(char path[PATH_BYTES]) {
    char own[PATH_BYTES - 64];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(own, '/');
    if (slash != NULL) *slash = '\0';
    static const char *const places[] = {"/lethe.so", "/../../" BENCH_LIBDIR "/lethe/lethe.so"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, PATH_BYTES, "%s%s", own, places[i]);
        if (access(path, R_OK) == 0) return true;
    }
    return false;
}

bool redis_nodes_can_start(void) {
    char path[COUNT_PATH_BYTES];
    if (!count_find_command("redis-server", path)) {
        fprintf(stderr, "lethe-bench: redis-server is not installed, so there is nothing to "
                        "measure\n");
        return false;
    }
    if (!find_module(path)) {
        fprintf(stderr, "lethe-bench: lethe.so is not installed, nor next to this program, so "
                        "there is nothing to measure\n");
        return false;
    }
    return true;
}

/* A port that is free, and its bus port too. Another program may take it meanwhile; then the server
 * does not start, and the next port is tried. */
static int free_port(void) {
    for (int tries = 0; tries < 1000; tries++) {
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t size = sizeof address;
        int one = socket(AF_INET, SOCK_STREAM, 0), two = socket(AF_INET, SOCK_STREAM, 0);
        bool is_free = bind(one, (struct sockaddr *)&address, size) == 0 &&
                       getsockname(one, (struct sockaddr *)&address, &size) == 0;
        int port = ntohs(address.sin_port);
        address.sin_port = htons((uint16_t)(port + BUS));
        is_free = is_free && port <= MOST_PORT && bind(two, (struct sockaddr *)&address, size) == 0;
        close(one);
        close(two);
        if (is_free) return port;
    }
    bench_require(false, "finding a free port");
    return 0;
}

static void start_node(struct redis_nodes *nodes, struct redis_node *node, bool in_cluster) {
    char module[PATH_BYTES], port[16], log[PATH_BYTES + 32], config[32];
    bench_require(find_module(module), "finding lethe.so");
    node->port = free_port();
    snprintf(port, sizeof port, "%d", node->port);
    snprintf(log, sizeof log, "%s/log-%d", nodes->folder, node->port);
    snprintf(config, sizeof config, "nodes-%d.conf", node->port);
    const char *words[] = {"redis-server",
                           "--port",
                           port,
                           "--bind",
                           "127.0.0.1",
                           "--dir",
                           nodes->folder,
                           "--save",
                           "",
                           "--repl-diskless-sync-delay",
                           "0",
                           "--loadmodule",
                           module,
                           "--cluster-enabled",
                           in_cluster ? "yes" : "no",
                           "--cluster-config-file",
                           config,
                           "--cluster-node-timeout",
                           "2000",
                           "--cluster-replica-validity-factor",
                           "0",
                           NULL};
    node->process = count_start(words, log);
    bench_require(redis_link_open(&node->link, node->port, START_MS), "starting redis-server");
    struct redis_answer answer;
    bench_require(redis_link_ask(&node->link, &answer, "PING"), "asking redis-server");
}

static void begin(struct redis_nodes *nodes, int count, bool in_cluster) {
    *nodes = (struct redis_nodes){.count = count};
    bench_require(count <= REDIS_MOST_NODES, "that many servers");
    bench_folder_make(nodes->folder, sizeof nodes->folder);
    for (int i = 0; i < count; i++)
        start_node(nodes, &nodes->nodes[i], in_cluster);
}

/* Sends a command that must not fail. */
static struct redis_answer must(struct redis_node *node, const char *command) {
    struct redis_answer answer;
    bool is_done = redis_link_ask(&node->link, &answer, "%s", command) && answer.kind != '-';
    if (!is_done) fprintf(stderr, "lethe-bench: %s: %s\n", command, answer.text);
    bench_require(is_done, "a command of redis-server");
    return answer;
}

/* Waits until what a server reports in a section of INFO contains some words. */
static void wait_for(struct redis_node *node, const char *command, const char *words) {
    double deadline = bench_now() + WHOLE_S;
    while (strstr(must(node, command).text, words) == NULL) {
        bench_require(bench_now() < deadline, "waiting for the servers to find each other");
        usleep(20000);
    }
}

void redis_nodes_start_star(struct redis_nodes *nodes, int count) {
    begin(nodes, count, false);
    char command[64];
    snprintf(command, sizeof command, "REPLICAOF 127.0.0.1 %d", nodes->nodes[0].port);
    for (int i = 1; i < count; i++)
        must(&nodes->nodes[i], command);
    for (int i = 1; i < count; i++)
        wait_for(&nodes->nodes[i], "INFO replication", "master_link_status:up");
}

void redis_nodes_start_cluster(struct redis_nodes *nodes, int count) {
    begin(nodes, count, true);
    char command[128];
    for (int i = 0; i < count; i++) {
        struct redis_node *node = &nodes->nodes[i];
        snprintf(command, sizeof command, "CLUSTER SET-CONFIG-EPOCH %d", i + 1);
        must(node, command);
        snprintf(node->id, sizeof node->id, "%.40s", must(node, "CLUSTER MYID").text);
        if (i < REDIS_MASTERS) {
            snprintf(command, sizeof command, "CLUSTER ADDSLOTSRANGE %d %d",
                     i * SLOTS / REDIS_MASTERS, (i + 1) * SLOTS / REDIS_MASTERS - 1);
            must(node, command);
        }
        snprintf(command, sizeof command, "CLUSTER MEET 127.0.0.1 %d", node->port);
        if (i > 0) must(&nodes->nodes[0], command);
    }
    snprintf(command, sizeof command, "cluster_known_nodes:%d", count);
    for (int i = 0; i < count; i++)
        wait_for(&nodes->nodes[i], "CLUSTER INFO", command);
    for (int i = REDIS_MASTERS; i < count; i++) {
        snprintf(command, sizeof command, "CLUSTER REPLICATE %s",
                 nodes->nodes[i % REDIS_MASTERS].id);
        must(&nodes->nodes[i], command);
    }
    for (int i = REDIS_MASTERS; i < count; i++)
        wait_for(&nodes->nodes[i], "INFO replication", "master_link_status:up");
    for (int i = 0; i < count; i++)
        wait_for(&nodes->nodes[i], "CLUSTER INFO", "cluster_state:ok");
}

void redis_nodes_kill(struct redis_nodes *nodes, int node) {
    struct redis_node *killed = &nodes->nodes[node];
    if (killed->process == 0) return;
    kill(killed->process, SIGKILL);
    waitpid(killed->process, NULL, 0);
    killed->process = 0;
    redis_link_close(&killed->link);
}

void redis_nodes_stop(struct redis_nodes *nodes) {
    for (int i = 0; i < nodes->count; i++)
        redis_nodes_kill(nodes, i);
    bench_folder_remove(nodes->folder);
}

void redis_nodes_version(struct redis_nodes *nodes, char *version, size_t size) {
    struct redis_answer answer = must(&nodes->nodes[0], "INFO server");
    const char *at = strstr(answer.text, "redis_version:");
    at = at != NULL ? at + strlen("redis_version:") : "unknown";
    snprintf(version, size, "%.*s", (int)strcspn(at, "\r\n"), at);
}
