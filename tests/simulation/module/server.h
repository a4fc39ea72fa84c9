/* simulation/module/server.h - servers that exist only in this process, each with a copy of
 * lethe.so.
 *
 * A server has one database of keys, a log of what was replicated, timers, and a host. A host
 * has a wall clock that can be set, a clock since its start, and a name; the module asks for
 * them through the table of server functions and through the C library (host.c). All time is
 * simulated: it passes only in host_pass_time.
 *
 * Nothing here fails for want of memory: it ends the program. */
#ifndef LETHE_SIMULATION_MODULE_SERVER_H
#define LETHE_SIMULATION_MODULE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../module/server/redis_api.h"

enum {
    MOST_KEYS = 32,
    MOST_COMMANDS = 160,
    MOST_TYPES = 8,
    MOST_TIMERS = 8,
    MOST_HOSTS = 3,
    MOST_WORDS = 20
};

/* lethe.kept-replies, here. */
enum { SIMULATED_KEPT_BYTES = 60 };

/* --- Bytes and commands */

typedef struct bytes {
    char *data;
    size_t size, room;
} bytes;

void bytes_add(bytes *to, const void *data, size_t size);
void bytes_free(bytes *these);
bytes bytes_copy(bytes these);

typedef struct command {
    bytes words[MOST_WORDS];
    int count;
} command;

command command_copy(const command *from);
void command_free(command *these);
/* A command of these words, up to NULL. */
command command_of(const char *first, ...) __attribute__((sentinel));

/* What a server has replicated, or loaded, in order. */
typedef struct stream {
    command *commands;
    size_t count, room;
} stream;

void stream_add(stream *to, const command *from);
void stream_cut(stream *these, size_t count);
void stream_free(stream *these);

/* --- Hosts */

typedef struct host {
    int64_t wall_ahead_ms; /* of the true time */
    int64_t off_ms;        /* true time at which its machine was started */
    unsigned starts;
} host;

extern host hosts[MOST_HOSTS];
extern int64_t true_us; /* since the beginning of the simulation */

int64_t host_wall_ms(const host *of);
int64_t host_since_start_us(const host *of);

/* --- Servers */

typedef struct server server;
struct RedisModuleType {
    char name[16];
    redis_type_methods methods;
};

typedef struct entry {
    char name[32];
    redis_type *type;
    void *value;
} entry;

/* Timers go by the host's wall clock, as those of Redis do. */
typedef struct timer {
    uint64_t id;
    int64_t due_ms;
    redis_timer_function *function;
    void *data;
} timer;

/* What a command answered: its first numbers, or an error. */
typedef struct reply {
    bool is_error;
    char text[256];
    long long numbers[16];
    int count;
    /* All words that are no numbers and no errors, with a space before each. */
    char words[1024];
    /* The last string, or its beginning. */
    bool has_buffer;
    char buffer[128];
} reply;

struct server {
    unsigned number;
    host *at;
    void *library; /* NULL while it is down */
    char path[64];
    entry keys[MOST_KEYS];
    struct named_function {
        char name[32];
        redis_command_function *function;
    } functions[MOST_COMMANDS];
    unsigned function_count;
    struct RedisModuleType types[MOST_TYPES];
    unsigned type_count;
    timer timers[MOST_TIMERS];
    unsigned timer_count;
    uint64_t last_timer;
    redis_event_function *on_event[16];
    redis_notification_function *on_move;
    redis_info_function *on_info;
    bool is_replica, is_loading;
    bool is_full;       /* it says that it has used up its memory */
    bool is_replicated; /* the command under way comes from a master */
    stream log;         /* since the snapshot */
    bytes snapshot;
    uint64_t work;            /* calls of server functions by the command under way */
    uint64_t fail_allocation; /* this attempt of the command under way gets no memory; 0: none */
    uint64_t allocations;
};

/* Starts a server with what its snapshot and its log hold. Ends the program if the module does
 * not load. */
void server_start(server *of);
/* The process is gone; snapshot and log stay. */
void server_kill(server *of);
/* Runs a command as a client does. */
reply server_call(server *of, const command *words);
/* Runs a command as it comes from a master. */
reply server_follow(server *of, const command *words);
/* Lets the server take its own turn, and the timers run that are due. */
void server_run_timers(server *of);
void server_set_role(server *of, bool is_replica);
/* Writes all keys into bytes, as a snapshot does, and takes them in, as one's own file or
 * another's. */
bytes server_save(server *of);
bool server_load(server *of, bytes file, bool is_own);
/* Replaces the log by a snapshot, or by what its values write of themselves. */
void server_rewrite_log(server *of, bool as_commands);
bytes server_dump(server *of, const char *key);
/* RESTORE: as a client's command it goes to the log and the replicas. */
bool server_restore(server *of, const char *key, bytes payload, bool is_replayed);
void server_digest(server *of, const char *key, uint64_t out[2]);
entry *server_find(server *of, const char *key);
/* RENAME and DEL of a key that exists: they go to the log and the replicas, unless the command is
 * one of theirs. */
void server_rename(server *of, const char *from, const char *to);
void server_remove(server *of, const char *key);
/* The fields of INFO that are numbers, as the module reports them. */
enum { MOST_FIELDS = 32 };
typedef struct info_list {
    char names[MOST_FIELDS][32];
    unsigned long long values[MOST_FIELDS];
    unsigned count;
} info_list;
info_list server_info(server *of);

/* The table of server functions, for the module's loader. */
int api_find(const char *name, void *out);
/* What random bytes come from; never 0. */
extern uint64_t api_random;
/* Whose functions are called. */
extern server *current;

#endif
