/* members.h - the members of a JSON object that a format names, as a tree.
 *
 * Paths that begin alike share their beginning, and places that name the same member share its
 * node. So a name in a line is compared only with those that may stand where it is. */
#ifndef LETHE_CLI_EVENTS_MEMBERS_H
#define LETHE_CLI_EVENTS_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

enum {
    /* The root, and a node for each name of each path: a format's text has room for no more. */
    MEMBER_NODES_LIMIT = 641,
    MEMBER_PLACES_LIMIT = 32,
    /* The line's own object, which is nobody's child. */
    MEMBER_ROOT = 0
};

/* A name that is not the number of an element. */
static const uint32_t MEMBER_NO_ELEMENT = UINT32_MAX;

struct member_node {
    /* The name, in the format's text. */
    uint16_t name, name_size;
    uint16_t parent;
    /* The first of those within it, and the next one within the same; 0 after the last. */
    uint16_t first, next;
    /* Which element the name stands for where it is asked of an array. */
    uint32_t element;
};

struct member_tree {
    size_t count;
    struct member_node nodes[MEMBER_NODES_LIMIT];
    /* The node of each of the format's places; the root for a literal. */
    uint16_t of_place[MEMBER_PLACES_LIMIT];
};

/* Makes the tree empty: a root alone. */
void member_tree_begin(struct member_tree *tree);

/* Adds a path: the names at `at` in the format's text, each with a NUL after it. Returns the node
 * that it leads to. */
uint16_t member_tree_add(struct member_tree *tree, const char *text, size_t at, size_t size);

/* The name of a node, in the format's text. */
static inline lethe_bytes member_name(const struct member_node *node, const char *text) {
    return (lethe_bytes){.data = text + node->name, .size = node->name_size};
}

#endif
