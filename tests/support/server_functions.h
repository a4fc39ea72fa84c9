/* tests/support/server_functions.h - for tests of the module's parts without a server: the server's
 * functions for memory are those of C. */
#ifndef LETHE_TESTS_SUPPORT_SERVER_FUNCTIONS_H
#define LETHE_TESTS_SUPPORT_SERVER_FUNCTIONS_H

#include <malloc.h>
#include <stdlib.h>

#include "server/redis_api.h"

static inline void use_functions_of_c(void (*random_bytes)(unsigned char *bytes, size_t size)) {
    redis.Alloc = malloc;
    redis.Realloc = realloc;
    redis.Free = free;
    redis.MallocSize = malloc_usable_size;
    redis.GetRandomBytes = random_bytes;
}

#endif
