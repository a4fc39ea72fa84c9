/* bench/count_redis.c - each event once by Redis: a script sets the id unless it is there, and then
 * counts.
 *
 * The server is started in the folder, listens there only, and ends with the process that
 * started it. Its log is synced every second, so that up to a second of what it has answered can
 * be lost: it promises less than the others. Scripts are sent a thousand at a time. Memory is
 * the server's; the time of both processors is counted. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "count_peers.h"
#include "folder.h"
#include "frame.h"

enum { DEPTH = 1000, COMMAND_BYTES = 256, TRIES = 1000, TRY_MICROSECONDS = 10000, DIGEST = 40 };

#define SOCKET_NAME "socket"

static const char script[] = "if redis.call('SET', KEYS[1], 1, 'NX', 'EX', 600) then "
                             "redis.call('HINCRBY', 'counters', ARGV[1], ARGV[2]) return 1 end "
                             "return 0";
static const char sum_script[] = "local sum = 0 "
                                 "for _, n in ipairs(redis.call('HVALS', 'counters')) do "
                                 "sum = sum + n end return sum";

struct connection {
    int socket;
    char received[1 << 16];
    size_t at, end;
};

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

/* The server makes the socket some time after it was started. */
static void connect_to_server(struct connection *connection) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = SOCKET_NAME};
    connection->socket = socket(AF_UNIX, SOCK_STREAM, 0);
    bench_require(connection->socket >= 0, "making a socket");
    for (int i = 0; i < TRIES; i++) {
        if (connect(connection->socket, (struct sockaddr *)&address, sizeof address) == 0) return;
        usleep(TRY_MICROSECONDS);
    }
    bench_require(false, "connecting to redis-server");
}

static void send_all(const struct connection *connection, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t sent = write(connection->socket, bytes, size);
        bench_require(sent > 0 || errno == EINTR, "sending to redis-server");
        if (sent <= 0) continue;
        bytes += sent;
        size -= (size_t)sent;
    }
}

static char receive_byte(struct connection *connection) {
    while (connection->at == connection->end) {
        ssize_t received =
            read(connection->socket, connection->received, sizeof connection->received);
        bench_require(received > 0 || (received < 0 && errno == EINTR),
                      "receiving from redis-server");
        connection->at = 0;
        connection->end = received > 0 ? (size_t)received : 0;
    }
    return connection->received[connection->at++];
}

/* A line of an answer, without its end. */
static void receive_line(struct connection *connection, char *line, size_t size) {
    size_t length = 0;
    for (char byte; (byte = receive_byte(connection)) != '\n';) {
        if (byte != '\r' && length + 1 < size) line[length++] = byte;
    }
    line[length] = '\0';
    if (line[0] == '-') fprintf(stderr, "lethe-bench: redis-server: %s\n", line);
    bench_require(line[0] != '-', "a command of redis-server");
}

static int64_t receive_number(struct connection *connection) {
    char line[COMMAND_BYTES];
    receive_line(connection, line, sizeof line);
    bench_require(line[0] == ':', "reading an answer of redis-server");
    return strtoll(line + 1, NULL, 10);
}

/* Hands the script over; from then on it goes by its digest. */
static void load_script(struct connection *connection, char digest[DIGEST + 1]) {
    char command[2 * COMMAND_BYTES], line[COMMAND_BYTES];
    int length =
        snprintf(command, sizeof command, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
                 strlen(script), script);
    send_all(connection, command, (size_t)length);
    receive_line(connection, line, sizeof line);
    receive_line(connection, digest, DIGEST + 1);
}

/* Sends some events and reads what became of them; returns how many were new. */
static uint64_t count_some(struct connection *connection, const char *digest, const char *lines,
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
    send_all(connection, commands, (size_t)(to - commands));
    for (size_t i = 0; i < count; i++)
        applied += (uint64_t)receive_number(connection);
    return applied;
}

static int64_t sum_counters(struct connection *connection) {
    char command[2 * COMMAND_BYTES];
    int length = snprintf(command, sizeof command, "*3\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n0\r\n",
                          strlen(sum_script), sum_script);
    send_all(connection, command, (size_t)length);
    return receive_number(connection);
}

static void run(void *context) {
    struct count_job *job = context;
    static struct connection connection;
    struct count_batches batches;
    char digest[DIGEST + 1];
    /* The address of a socket is short, whatever the folder's name is. */
    bench_require(chdir(job->folder) == 0, "entering a folder");
    pid_t server = start_server();
    connect_to_server(&connection);
    load_script(&connection, digest);
    count_batches_open(&batches, job->events);
    job->started = bench_now(); /* the start of the server is not its fault */
    while (count_batches_next(&batches)) {
        for (size_t i = 0; i < batches.count; i += DEPTH) {
            size_t count = batches.count - i < DEPTH ? batches.count - i : DEPTH;
            job->out->applied += count_some(&connection, digest, count_id(batches.lines, i), count);
        }
    }
    job->out->cost = count_cost_now(job->started);
    count_batches_close(&batches);
    job->out->sum = sum_counters(&connection);
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
