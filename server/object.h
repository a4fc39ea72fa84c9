/* object.h - the members of a small JSON object in a body: that of a take, a claim or a hold. */
#ifndef LETHE_SERVER_OBJECT_H
#define LETHE_SERVER_OBJECT_H

#include "server/request.h"

enum { OBJECT_MEMBERS_LIMIT = 8 };

enum object_kind {
    /* A string, or a whole number. What is not UTF-8 is in NAME_base64, which counts in place of
     * NAME. */
    OBJECT_BYTES = 0,
    /* A number, or a string that holds one. */
    OBJECT_NUMBER,
    /* true or false. */
    OBJECT_SWITCH
};

/* A member that is asked for. */
struct object_member {
    const char *name;
    enum object_kind kind;
};

/* What was found of the members that were asked for. Those that are missing or null have no
 * data. */
struct object {
    lethe_bytes members[OBJECT_MEMBERS_LIMIT];
    /* Strings without their escapes. */
    struct text room;
};

/* Reads the body. The last one of wanted has no name. Returns false after a problem. */
bool object_read(struct request *request, const struct object_member *wanted, struct object *out);
void object_free(struct object *object);

/* Whether a member is there; a problem otherwise. */
bool object_has(struct request *request, const struct object *object,
                const struct object_member *wanted, size_t member);
/* Whether the body that was read has no other members than these; a problem otherwise. */
bool object_has_only(struct request *request, const struct object_member *wanted);
/* Whether a switch is there, and true. */
bool object_is_on(const struct object *object, size_t member);

#endif
