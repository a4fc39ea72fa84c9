/* object.c - small JSON objects in bodies, by the scanner of events; see object.h. */
#include "server/object.h"

#include <string.h>

#include "events/scan.h"

enum { NAMES_BYTES = 128 };

/* Scans the body, which gets the padding that the scanner wants. */
static bool scan(struct request *request, const struct member_tree *tree, const char *text,
                 struct scan_value *found) {
    struct scan_wanted wanted = {.tree = tree, .names = text};
    struct scan_failure failure;
    struct event_problem problem;
    char *padding = text_reserve(&request->body, SCAN_PADDING_BYTES);
    if (padding == NULL) {
        request_problem(request, 503, "Out of memory", "memory is short");
        return false;
    }
    memset(padding, 0, SCAN_PADDING_BYTES);
    lethe_bytes body = {.data = request->body.data, .size = request->body.size};
    if (scan_choose()(&wanted, body, found, &failure)) return true;
    scan_explain(&failure, body, text + tree->nodes[failure.node].name, &problem);
    request_problem(request, 400, "Bad request", "%s", problem.text);
    return false;
}

/* The text of a member. Unescaped text is never longer than what it comes from. */
static bool take(struct request *request, const char *name, const struct scan_value *value,
                 struct object *out, lethe_bytes *member) {
    if (value->kind == SCAN_NOTHING || value->kind == SCAN_NULL) return true;
    /* As an id or a key, a number that can be written in several ways would be several. */
    bool may_be_real =
        strcmp(name, "delta") == 0 || strcmp(name, "limit") == 0 || strcmp(name, "min") == 0;
    if (value->kind != SCAN_STRING && value->kind != SCAN_INTEGER &&
        !(value->kind == SCAN_REAL && may_be_real)) {
        request_problem(request, 400, "Bad request", "'%s' is not a string or a %snumber", name,
                        may_be_real ? "" : "whole ");
        return false;
    }
    *member = (lethe_bytes){.data = value->at, .size = value->size};
    if (value->kind == SCAN_INTEGER && value->size == 2 && memcmp(value->at, "-0", 2) == 0)
        *member = (lethe_bytes){.data = value->at + 1, .size = 1};
    if (!value->is_escaped) return true;
    char *room = out->room.data + out->room.size;
    member->size = scan_unescape(*member, room);
    member->data = room;
    out->room.size += member->size;
    return true;
}

bool object_read(struct request *request, const char *const *names, struct object *out) {
    struct member_tree tree;
    struct scan_value found[OBJECT_MEMBERS_LIMIT + 1];
    char text[NAMES_BYTES];
    size_t used = 0, count = 0;
    *out = (struct object){0};
    if (request->header(request->connection, "Content-Encoding") != NULL) {
        request_problem(request, 415, "Unsupported encoding", "such a body is sent as it is");
        return false;
    }
    member_tree_begin(&tree);
    for (; names[count] != NULL; count++) {
        size_t size = strlen(names[count]) + 1;
        memcpy(text + used, names[count], size);
        (void)member_tree_add(&tree, text, used, size); /* node count + 1: names differ */
        used += size;
    }
    if (!scan(request, &tree, text, found)) return false;
    if (text_reserve(&out->room, request->body.size + 1) == NULL) {
        request_problem(request, 503, "Out of memory", "memory is short");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (take(request, names[i], &found[i + 1], out, &out->members[i])) continue;
        object_free(out);
        return false;
    }
    return true;
}

void object_free(struct object *object) {
    text_free(&object->room);
}

bool object_has(struct request *request, const struct object *object, const char *const *names,
                size_t member) {
    if (object->members[member].data != NULL) return true;
    request_problem(request, 400, "Bad request", "the object has no '%s'", names[member]);
    return false;
}
