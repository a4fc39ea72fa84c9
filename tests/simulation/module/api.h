/* simulation/module/api.h - what the parts of the table of server functions share. */
#ifndef LETHE_SIMULATION_MODULE_API_H
#define LETHE_SIMULATION_MODULE_API_H

#include <stdarg.h>

#include "server.h"

struct RedisModuleString {
    bytes text;
};
struct RedisModuleCtx {
    int (*find)(const char *name, void *out); /* first: the module's loader looks here */
    reply *answer;
    const command *words; /* of the command under way */
};
struct RedisModuleKey {
    entry *at; /* NULL: there is none of that name */
    char name[32];
};
struct RedisModuleIO {
    bytes data;
    size_t position;
    bool has_failed;
    redis_string *key;
    stream *rewritten; /* where EmitAOF puts its commands */
};
struct RedisModuleDigest {
    uint64_t low, high;         /* of the sequence under way */
    uint64_t sum_low, sum_high; /* of those that have ended */
};
struct RedisModuleKeyOptCtx {
    redis_string *from, *to;
};

struct api_row {
    const char *name;
    void *function;
};
extern const struct api_row api_rows_of_keys[], api_rows_of_talk[], api_rows_of_settings[];
#define API_ROW(name) \
    { "RedisModule_" #name, (void *)sim_##name }

redis_string *api_string(const void *data, size_t size);
void api_free_string(redis_string *text);
/* Frees what the module of a server that is gone had allocated. */
void api_forget_memory(const server *of);
void api_replicate(const command *words);
/* A command with words by format: s a string, l a long long, b bytes and their size. */
command api_command(const char *name, const char *format, va_list words);

#endif
