/* simple.c - which formats have simple lines, what they are like, and which way to take them. */
#include "events/simple.h"

#include <string.h>

#include "events/word.h"
#include "lethe/version.h"

_Static_assert(SIMPLE_NOBODY <= UINT8_MAX, "a member's number fits into a byte");

simple_function *simple_choose(enum event_kind kind) {
    bool is_json = kind == EVENTS_JSONL;
#if defined(__x86_64__)
    if (strcmp(lethe_cpu_path(), "scalar") != 0) return is_json ? simple_json_avx2 : simple_avx2;
#endif
    return is_json ? simple_json_portable : simple_portable;
}

/* The first eight bytes of a name, and a mask of those that it has. */
static void set_word(struct simple_member *member) {
    char first[sizeof(uint64_t)] = {0}, mask[sizeof(uint64_t)] = {0};
    size_t size = member->size < sizeof first ? member->size : sizeof first;
    memcpy(first, member->name, size);
    memset(mask, 0xff, size);
    member->word = word_load(first);
    member->mask = word_load(mask);
}

/* The member of the whole line that a node is, or that it is in. */
static uint16_t top_of(const struct event_format *format, uint16_t node) {
    while (format->members.nodes[node].parent != MEMBER_ROOT)
        node = format->members.nodes[node].parent;
    return node;
}

/* What is on the way to others is an object. A list of changes, and what is in base64, is left; so
 * is what has a guard, whose member has no use; and so is a CloudEvent without the member that its
 * delta is in, which is no event if that is its data (json.c, I3). */
static void set_uses(const struct event_format *format, struct simple_rule *rule) {
    for (size_t i = 1; i < format->members.count; i++) {
        if (rule->members[i].first != MEMBER_ROOT) rule->members[i].use = SIMPLE_PATH;
    }
    for (size_t i = 0; i < format->place_count; i++) {
        uint16_t node = format->members.of_place[i];
        if (format->places[i].kind == PLACE_LITERAL) continue;
        bool is_leaf = rule->members[node].first == MEMBER_ROOT;
        rule->members[node].use = is_leaf ? SIMPLE_FIELD : SIMPLE_NOTHING;
        if (format->places[i].role != ROLE_DELTA) {
            rule->required |= UINT64_C(1) << node;
        } else if (format->is_cloud) {
            rule->required |= UINT64_C(1) << top_of(format, node);
        }
    }
    for (size_t i = 0; i < format->place_count; i++) {
        rule->members[format->base64_nodes[i]].use = SIMPLE_NOTHING;
    }
    rule->members[format->changes_node].use = SIMPLE_NOTHING;
}

static bool make_json_rule(const struct event_format *format, struct simple_rule *rule) {
    const struct member_tree *tree = &format->members;
    if (tree->count > SIMPLE_MEMBERS_LIMIT) return false;
    rule->required = 0;
    for (size_t i = 0; i < tree->count; i++) {
        const struct member_node *node = &tree->nodes[i];
        rule->members[i] = (struct simple_member){.name = format->text + node->name,
                                                  .size = node->name_size,
                                                  .parent = (uint8_t)node->parent,
                                                  .first = (uint8_t)node->first,
                                                  .next = (uint8_t)node->next};
        set_word(&rule->members[i]);
    }
    /* The root has no name, and is nobody's child. */
    rule->members[MEMBER_ROOT].parent = SIMPLE_NOBODY + 1;
    rule->members[SIMPLE_NOBODY] = (struct simple_member){.first = MEMBER_ROOT};
    set_uses(format, rule);
    size_t deltas = event_format_count(format, ROLE_DELTA);
    rule->is_usual = event_format_count(format, ROLE_ID) == 1 &&
                     event_format_count(format, ROLE_KEY) == 1 && deltas <= 1 &&
                     !event_format_has_time(format) && format->scale == 0;
    for (size_t i = 0; i < format->place_count; i++) {
        rule->is_usual = rule->is_usual && format->places[i].kind == PLACE_MEMBER;
    }
    return true;
}

/* With a scale, a delta of plain text is more than digits. Columns that are named may be
 * anywhere. */
bool simple_rule_make(const struct event_format *format, struct simple_rule *out) {
    bool is_plain = format->kind == EVENTS_PLAIN;
    out->delimiter = is_plain ? '\t' : format->delimiter;
    out->escape = is_plain ? '\\' : '"';
    out->is_strict = format->is_strict;
    out->format = format;
    if (format->kind == EVENTS_JSONL) return make_json_rule(format, out);
    return format->place_count == 0 && format->scale == 0 && out->delimiter != '\r';
}
