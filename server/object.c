/* object.c - small JSON objects in bodies, by the scanner of events; see object.h.
 *
 * I1      Node 2 * i + 1 of the tree is the i-th member, and the node after it the same in
 *         base64. */
#include "server/object.h"

#include <stdio.h>
#include <string.h>

#include "events/elements.h"
#include "events/problem.h"
#include "events/scan.h"
#include "input/base64.h"
#include "server/body.h"

/* A member may be there as NAME and as NAME_base64. */
enum { NAMES_BYTES = 256, FOUND_LIMIT = 2 * OBJECT_MEMBERS_LIMIT + 1 };

static const char packed_end[] = "_base64";

/* Scans the body, which gets the padding that the scanner wants. */
static bool scan(struct request *request, const struct member_tree *tree, const char *text,
                 struct scan_value *found) {
    struct scan_wanted wanted = {.tree = tree, .names = text};
    struct scan_failure failure;
    struct event_problem problem;
    /* The padding, and what object_read takes for the strings. */
    uint64_t memory =
        text_room_for(&request->body, SCAN_PADDING_BYTES) + 2 * request->body.size + 1;
    if (!body_charge(request, memory)) return false;
    char *padding = text_reserve(&request->body, SCAN_PADDING_BYTES);
    if (padding == NULL) {
        request_problem(request, 503, "Out of memory", "memory is short");
        return false;
    }
    memset(padding, 0, SCAN_PADDING_BYTES);
    lethe_bytes body = {.data = request->body.data, .size = request->body.size};
    if (event_first_byte(body) == '\0') {
        request_problem(request, 400, "Bad request", "the body is empty; send an object, even {}");
        return false;
    }
    if (scan_choose()(&wanted, body, found, &failure)) return true;
    scan_explain(&failure, body, text + tree->nodes[failure.node].name, &problem);
    request_problem(request, 400, "Bad request", "%s", problem.text);
    return false;
}

/* Whether a member may hold such a value. */
static bool is_taken(enum object_kind kind, uint8_t found) {
    switch (kind) {
    case OBJECT_BYTES: /* a number that can be written in several ways would be several ids */
        return found == SCAN_STRING || found == SCAN_INTEGER;
    case OBJECT_NUMBER:
        return found == SCAN_STRING || found == SCAN_INTEGER || found == SCAN_REAL;
    default:
        return found == SCAN_BOOLEAN;
    }
}

static bool is_there(const struct scan_value *value) {
    return value->kind != SCAN_NOTHING && value->kind != SCAN_NULL;
}

/* Unescapes a string, which never becomes longer by that. */
static void unescape(struct object *out, lethe_bytes *member) {
    char *room = out->room.data + out->room.size;
    member->size = scan_unescape(*member, room);
    member->data = room;
    out->room.size += member->size;
}

/* The bytes of a string in base64. */
static bool take_packed(struct request *request, const char *name, const struct scan_value *value,
                        struct object *out, lethe_bytes *member) {
    size_t size = 0;
    *member = (lethe_bytes){.data = value->at, .size = value->size};
    if (value->is_escaped) unescape(out, member);
    char *room = out->room.data + out->room.size;
    if (value->kind == SCAN_STRING && base64_read(member->data, member->size, room, &size)) {
        *member = (lethe_bytes){.data = room, .size = size};
        out->room.size += size;
        return true;
    }
    request_problem(request, 400, "Bad request", "'%s%s' is not a string in base64", name,
                    packed_end);
    return false;
}

/* The text of a member, whose values are found as NAME and as NAME_base64. */
static bool take(struct request *request, const struct object_member *wanted,
                 const struct scan_value found[2], struct object *out, lethe_bytes *member) {
    static const char *const kinds[] = {"a string or a whole number", "a string or a number",
                                        "true or false"};
    const struct scan_value *value = &found[0];
    if (wanted->kind == OBJECT_BYTES && is_there(&found[1]))
        return take_packed(request, wanted->name, &found[1], out, member);
    if (!is_there(value)) return true;
    if (!is_taken(wanted->kind, value->kind)) {
        request_problem(request, 400, "Bad request", "'%s' is not %s", wanted->name,
                        kinds[wanted->kind]);
        return false;
    }
    *member = (lethe_bytes){.data = value->at, .size = value->size};
    if (value->kind == SCAN_INTEGER && value->size == 2 && memcmp(value->at, "-0", 2) == 0)
        *member = (lethe_bytes){.data = value->at + 1, .size = 1};
    if (value->is_escaped) unescape(out, member);
    return true;
}

/* Adds a name to the tree: its node is the next one, since all names differ. */
static void plant(struct member_tree *tree, char *text, size_t *used, const char *name,
                  const char *end) {
    size_t size = (size_t)snprintf(text + *used, NAMES_BYTES - *used, "%s%s", name, end) + 1;
    (void)member_tree_add(tree, text, *used, size);
    *used += size;
}

bool object_read(struct request *request, const struct object_member *wanted, struct object *out) {
    struct member_tree tree;
    struct scan_value found[FOUND_LIMIT];
    char text[NAMES_BYTES];
    size_t used = 0, count = 0;
    *out = (struct object){0};
    if (request->header(request->connection, "Content-Encoding") != NULL) {
        request_problem(request, 415, "Unsupported encoding", "such a body is sent as it is");
        return false;
    }
    member_tree_begin(&tree);
    for (; wanted[count].name != NULL; count++) { /* I1 */
        plant(&tree, text, &used, wanted[count].name, "");
        plant(&tree, text, &used, wanted[count].name, packed_end);
    }
    if (!scan(request, &tree, text, found)) return false;
    if (text_reserve(&out->room, 2 * request->body.size + 1) == NULL) {
        request_problem(request, 503, "Out of memory", "memory is short");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (take(request, &wanted[i], &found[2 * i + 1], out, &out->members[i])) continue;
        object_free(out);
        return false;
    }
    return true;
}

void object_free(struct object *object) {
    text_free(&object->room);
}

bool object_has(struct request *request, const struct object *object,
                const struct object_member *wanted, size_t member) {
    if (object->members[member].data != NULL) return true;
    request_problem(request, 400, "Bad request", "the object has no '%s'", wanted[member].name);
    return false;
}

/* Whether a name, as it stands between its quotes, is one of those, or of one in base64. */
static bool is_wanted(lethe_bytes name, const struct object_member *wanted) {
    char room[NAMES_BYTES];
    size_t plain = 0;
    if (name.size >= sizeof room) return false;
    size_t size = scan_unescape(name, room), end = sizeof packed_end - 1;
    if (size > end && memcmp(room + size - end, packed_end, end) == 0) plain = size - end;
    for (; wanted->name != NULL; wanted++) {
        size_t length = strlen(wanted->name);
        bool is_it = length == size || (length == plain && wanted->kind == OBJECT_BYTES);
        if (is_it && memcmp(room, wanted->name, length) == 0) return true;
    }
    return false;
}

/* The body is JSON, since it was scanned: a string after { or a comma is a name. */
bool object_has_only(struct request *request, const struct object_member *wanted) {
    const char *text = request->body.data;
    struct event_excerpt excerpt;
    unsigned depth = 0;
    bool may_be_name = false;
    for (size_t at = 0; at < request->body.size; at++) {
        depth += text[at] == '{' || text[at] == '[';
        depth -= text[at] == '}' || text[at] == ']';
        if (text[at] == '{' || text[at] == ',') may_be_name = true;
        if (text[at] != '"') continue;
        size_t begin = ++at;
        for (; at < request->body.size && text[at] != '"'; at++)
            at += text[at] == '\\';
        lethe_bytes name = {.data = text + begin, .size = at - begin};
        if (may_be_name && depth == 1 && !is_wanted(name, wanted)) {
            request_problem(request, 400, "Bad request",
                            "there is nothing that '%s' could mean here; see /openapi.json",
                            event_excerpt(name, &excerpt));
            return false;
        }
        may_be_name = false;
    }
    return true;
}

bool object_is_on(const struct object *object, size_t member) {
    return object->members[member].size == 4; /* true, and not false */
}
