/* module/once/slice.h - a row of bytes that belongs to somebody else. */
#ifndef LETHE_MODULE_ONCE_SLICE_H
#define LETHE_MODULE_ONCE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "server/redis_api.h"

struct slice {
    const char *data;
    size_t size;
};

static inline struct slice slice_of(const redis_string *string) {
    struct slice slice;
    slice.data = redis.StringPtrLen(string, &slice.size);
    return slice;
}

static inline bool is_same(struct slice one, struct slice other) {
    return one.size == other.size && (one.size == 0 || memcmp(one.data, other.data, one.size) == 0);
}

#endif
