/* module/types.h - the list of data types. module.c has it; a type's own file defines the type. */
#ifndef LETHE_MODULE_TYPES_H
#define LETHE_MODULE_TYPES_H

#include "server/redis_api.h"

struct value_type;

/* The type that a handle belongs to; NULL when it is none of ours. */
const struct value_type *type_of_handle(const redis_type *handle);
/* The type of a command, by the prefix of its name. */
const struct value_type *type_of_command(const redis_string *name);

/* All of them; NULL is the last. */
extern const struct value_type *const value_types[];

extern const struct value_type once_type, fbf_type, fid_type, qf_type, gbf_type;

#endif
