/* object.h - the members of a small JSON object in a body: that of a take or a claim. */
#ifndef LETHE_SERVER_OBJECT_H
#define LETHE_SERVER_OBJECT_H

#include "server/request.h"

enum { OBJECT_MEMBERS_LIMIT = 8 };

/* What was found of the members that were asked for. Those that are missing or null have no
 * data. */
struct object {
    lethe_bytes members[OBJECT_MEMBERS_LIMIT];
    /* Strings without their escapes. */
    struct text room;
};

/* Reads the body. Each member is a string or a number. names ends with NULL. Returns false after a
 * problem. */
bool object_read(struct request *request, const char *const *names, struct object *out);
void object_free(struct object *object);

/* Whether a member is there; a problem otherwise. */
bool object_has(struct request *request, const struct object *object, const char *const *names,
                size_t member);

#endif
