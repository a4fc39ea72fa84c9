/* module/command/info.h - the fields of PREFIX.INFO.
 *
 * A type gathers what it reports in a `struct facts` of its own. One table says how each field is
 * called, what it means and where it is in the facts. The reply and the reference pages both come
 * from that table. */
#ifndef LETHE_MODULE_COMMAND_INFO_H
#define LETHE_MODULE_COMMAND_INFO_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "server/redis_api.h"

enum info_kind {
    INFO_LARGE,    /* uint64_t */
    INFO_SMALL,    /* uint32_t */
    INFO_FRACTION, /* double */
    INFO_WORD,     /* const char * */
    INFO_STRAIN    /* uint32_t, LETHE_STRAIN_... bits: a list of words */
};

/* A field. A table ends with one whose name is NULL. */
struct info_field {
    const char *name, *meaning;
    enum info_kind kind;
    size_t offset; /* in the facts */
};

/* The room for a type's facts. */
enum { INFO_FACTS_BYTES = 1024 };
#define INFO_FACTS_FIT(type_) \
    static_assert(sizeof(type_) <= INFO_FACTS_BYTES, "facts are gathered in that much space")

/* The kind of a member, from its type. */
/* clang-format off */
#define INFO_KIND_OF(member_)                     \
    _Generic(((struct facts *)NULL)->member_,     \
             uint64_t: INFO_LARGE,                \
             uint32_t: INFO_SMALL,                \
             double: INFO_FRACTION,               \
             const char *: INFO_WORD)
/* clang-format on */
/* A row of the table. */
#define INFO_ROW(name_, member_, meaning_)                                             \
    {                                                                                  \
        .name = name_, .meaning = meaning_, .offset = offsetof(struct facts, member_), \
        .kind = INFO_KIND_OF(member_)                                                  \
    }
#define INFO_ROW_OF_STRAIN(member_, meaning_)                                             \
    {                                                                                     \
        .name = "strain", .meaning = meaning_, .offset = offsetof(struct facts, member_), \
        .kind = INFO_STRAIN                                                               \
    }

redis_command_function info_command;

#endif
