/* module/server/redis_api.c - finds the server's functions.
 *
 * The first word of the context that OnLoad is given is the function that finds all others. */
#include "server/redis_api.h"

struct redis_api redis;

typedef int find_function(const char *name, void *out);

#define FIND(result, name, arguments) find("RedisModule_" #name, (void *)&redis.name);
#define REQUIRE(result, name, arguments) \
    if (redis.name == NULL) return #name;
#define NOTHING(result, name, arguments)

const char *redis_api_load(redis_context *context) {
    find_function *find = *(find_function **)context;
    REDIS_API(FIND, FIND)
    REDIS_API(REQUIRE, NOTHING)
    return NULL;
}
