/* bench/count_redis.c - each event once by Redis: a script sets the id unless it is there, and then
 * counts.
 *
 * The server is started in the folder, listens there only, and ends with the process that
 * started it. Its log is synced every second, so that up to a second of what it has answered can
 * be lost: it promises less than the others. Scripts are sent a thousand at a time. Memory is
 * the server's; the time of both processors is counted. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "count_peers.h"
#include "folder.h"
#include "frame.h"
#include "redis_link.h"

enum { DEPTH = 1000, COMMAND_BYTES = 256, WAIT_MS = 60000, DIGEST = 40 };

#define SOCKET_NAME "socket"

static const char script[] = "if redis.call('SET', KEYS[1], 1, 'NX', 'EX', 600) then "
                             "redis.call('HINCRBY', 'counters', ARGV[1], ARGV[2]) return 1 end "
                             "return 0";
static const char sum_script[] = "local sum = 0 "
                                 "for _, n in ipairs(redis.call('HVALS', 'counters')) do "
                                 "sum = sum + n end return sum";

static pid_t start_server(void) {
    const char *words[] = {"redis-server",
                           "--port",
                           "0",
                           "--unixsocket",
                           SOCKET_NAME,
                           "--appendonly",
                           "yes",
                           "--appendfsync",
                           "everysec",
                           "--save",
                           "",
                           "--loglevel",
                           "warning",
                           NULL};
    return count_start(words, "log");
}

static void send_all(struct redis_link *link, const char *bytes, size_t size) {
    bench_require(redis_link_send(link, bytes, size), "sending to redis-server");
}

static struct redis_answer receive(struct redis_link *link) {
    struct redis_answer answer;
    bench_require(redis_link_receive(link, &answer), "receiving from redis-server");
    if (answer.kind == '-') fprintf(stderr, "lethe-bench: redis-server: %s\n", answer.text);
    bench_require(answer.kind != '-', "a command of redis-server");
    return answer;
}

static int64_t receive_number(struct redis_link *link) {
    struct redis_answer answer = receive(link);
    bench_require(answer.kind == ':', "reading an answer of redis-server");
    return answer.number;
}

/* Hands the script over; from then on it goes by its digest. */
static void load_script(struct redis_link *link, char digest[DIGEST + 1]) {
    char command[2 * COMMAND_BYTES];
    int length =
        snprintf(command, sizeof command, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
                 strlen(script), script);
    send_all(link, command, (size_t)length);
    snprintf(digest, DIGEST + 1, "%.*s", DIGEST, receive(link).text);
}

/* Sends some events and reads what became of them; returns how many were new. */
static uint64_t count_some(struct redis_link *link, const char *digest, const char *lines,
                           size_t count) {
    static char commands[DEPTH * COMMAND_BYTES];
    char *to = commands;
    uint64_t applied = 0;
    for (size_t i = 0; i < count; i++) {
        to += snprintf(to, COMMAND_BYTES,
                       "*6\r\n$7\r\nEVALSHA\r\n$%d\r\n%s\r\n$1\r\n1\r\n$%d\r\n%.*s\r\n"
                       "$%d\r\n%.*s\r\n$1\r\n%d\r\n",
                       DIGEST, digest, COUNT_ID_BYTES, COUNT_ID_BYTES, count_id(lines, i),
                       COUNT_KEY_BYTES, COUNT_KEY_BYTES, count_key(lines, i),
                       (int)count_delta(lines, i));
    }
    send_all(link, commands, (size_t)(to - commands));
    for (size_t i = 0; i < count; i++)
        applied += (uint64_t)receive_number(link);
    return applied;
}

static int64_t sum_counters(struct redis_link *link) {
    char command[2 * COMMAND_BYTES];
    int length = snprintf(command, sizeof command, "*3\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n0\r\n",
                          strlen(sum_script), sum_script);
    send_all(link, command, (size_t)length);
    return receive_number(link);
}

static void run(void *context) {
    struct count_job *job = context;
    static struct redis_link link;
    struct count_batches batches;
    char digest[DIGEST + 1];
    /* The address of a socket is short, whatever the folder's name is. */
    bench_require(chdir(job->folder) == 0, "entering a folder");
    pid_t server = start_server();
    bench_require(redis_link_open_socket(&link, SOCKET_NAME, WAIT_MS),
                  "connecting to redis-server");
    load_script(&link, digest);
    count_batches_open(&batches, job->events);
    job->started = bench_now(); /* the start of the server is not its fault */
    while (count_batches_next(&batches)) {
        for (size_t i = 0; i < batches.count; i += DEPTH) {
            size_t count = batches.count - i < DEPTH ? batches.count - i : DEPTH;
            job->out->applied += count_some(&link, digest, count_id(batches.lines, i), count);
        }
    }
    job->out->cost = count_cost_now(job->started);
    count_batches_close(&batches);
    job->out->sum = sum_counters(&link);
    kill(server, SIGTERM);
    struct count_cost cost = count_wait(server, job->started, "redis-server");
    job->out->cost.memory_mib = cost.memory_mib;
    job->out->cost.cpu_seconds += cost.cpu_seconds;
    job->out->disk_bytes = bench_folder_bytes(".");
}

void count_by_redis(const struct count_events *events, const char *folder,
                    struct count_outcome *out) {
    count_peer_fork(run, "Redis", events, folder, out);
}
