/* members.c - makes the tree of named members; see members.h.
 *
 * I1      Nodes with the same parent have different names. */
#include "events/members.h"

#include <assert.h>
#include <string.h>

#include "events/format.h"
#include "input/integer.h"

_Static_assert((int)MEMBER_NODES_LIMIT > (int)EVENT_NAMES_BYTES,
               "a name takes a byte of text at least");
_Static_assert((int)MEMBER_PLACES_LIMIT >= (int)EVENT_PLACES_LIMIT, "every place has a node");

/* An element of an array by its number, as a JSON pointer writes it: without leading zeros. No line
 * is long enough for the largest numbers, which need not be told apart. */
static uint32_t element_of(lethe_bytes name) {
    const char *digits = name.data;
    uint64_t number;
    for (size_t i = 0; i < name.size; i++) {
        if (digits[i] < '0' || digits[i] > '9') return MEMBER_NO_ELEMENT;
    }
    if (name.size == 0 || (digits[0] == '0' && name.size > 1)) return MEMBER_NO_ELEMENT;
    bool fits = integer_parse_natural(name, &number) && number < MEMBER_NO_ELEMENT;
    return fits ? (uint32_t)number : MEMBER_NO_ELEMENT - 1;
}

static uint16_t add_child(struct member_tree *tree, uint16_t parent, const char *text, size_t at) {
    lethe_bytes name = {.data = text + at, .size = strlen(text + at)};
    uint16_t *link = &tree->nodes[parent].first;
    for (; *link != 0; link = &tree->nodes[*link].next) {
        lethe_bytes other = member_name(&tree->nodes[*link], text);
        if (other.size == name.size && memcmp(other.data, name.data, name.size) == 0) return *link;
    }
    assert(tree->count < MEMBER_NODES_LIMIT);
    *link = (uint16_t)tree->count++;
    tree->nodes[*link] = (struct member_node){.name = (uint16_t)at,
                                              .name_size = (uint16_t)name.size,
                                              .parent = parent,
                                              .element = element_of(name)};
    return *link;
}

void member_tree_begin(struct member_tree *tree) {
    memset(tree, 0, sizeof *tree);
    tree->nodes[MEMBER_ROOT].element = MEMBER_NO_ELEMENT;
    tree->count = 1;
}

uint16_t member_tree_add(struct member_tree *tree, const char *text, size_t at, size_t size) {
    uint16_t node = MEMBER_ROOT;
    for (size_t end = at + size; at < end; at += strlen(text + at) + 1) {
        node = add_child(tree, node, text, at);
    }
    return node;
}
