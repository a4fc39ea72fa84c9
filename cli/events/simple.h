/* simple.h - lines that are an id, a key and mostly a delta, with nothing special about them: taken
 * many at a time.
 *
 * Nearly every line of plain text and of CSV is such a line, in the usual order. So is nearly every
 * line of JSON whose named members are strings without escapes, or whole numbers; all else that
 * JSON has may be around them. Whatever is not simple is left to those who take lines one by one
 * (event_parse), which is the definition of a line.
 *
 * Cost     Each byte is looked at with 7 or 31 others at once, and copied once.
 * Threads  Any number; nothing is kept. */
#ifndef LETHE_CLI_EVENTS_SIMPLE_H
#define LETHE_CLI_EVENTS_SIMPLE_H

#include "events/batch.h"
#include "events/format.h"

enum {
    /* Of a JSON format that names more members than this, no line is simple. */
    SIMPLE_MEMBERS_LIMIT = 64,
    /* What has no named members: a list, or an object that is on no path. */
    SIMPLE_NOBODY = SIMPLE_MEMBERS_LIMIT
};

/* What a simple line may have at a node of the tree of named members (members.h). */
enum simple_use {
    SIMPLE_NOTHING = 0, /* a line that has this member is not simple */
    SIMPLE_FIELD,       /* a string or a whole number */
    SIMPLE_PATH         /* an object, in which named members are */
};

struct simple_member {
    /* The first eight bytes of its name, and which of them it has. */
    uint64_t word, mask;
    const char *name;
    uint32_t size;
    /* Of the tree. */
    uint8_t parent, first, next;
    uint8_t use;
};

/* What simple lines are like. */
struct simple_rule {
    /* Between fields; and a byte that no simple line has. Of plain text and CSV. */
    char delimiter, escape;
    /* A line without a delta is not simple. */
    bool is_strict;
    /* The batch takes so many operations. */
    size_t most;

    /* Of JSON. The format must outlive the rule. */
    const struct event_format *format;
    /* An id, a key and at most a delta, which are members, and no time. */
    bool is_usual;
    /* A bit for each member that a simple line has. */
    uint64_t required;
    struct simple_member members[SIMPLE_MEMBERS_LIMIT + 1];
};

/* Takes the simple lines that the text begins with into the batch, as event_parse would: whole
 * lines, for which there is room. `line` is the number of the first one. Returns how many bytes it
 * took; the batch shows how many lines. */
typedef size_t simple_function(const struct simple_rule *rule, lethe_bytes text, uint64_t line,
                               struct event_batch *batch);

/* The two ways to do it, which take the same: looking at eight bytes at a time, and at 32. The
 * second is for x86-64 only, and may be called where the CPU has AVX2. */
simple_function simple_portable, simple_avx2;
/* The same for JSON. */
simple_function simple_json_portable, simple_json_avx2;

/* The fastest that this CPU can, and lethe_cpu_path allows. */
simple_function *simple_choose(enum event_kind kind);

/* Whether lines of a format can be simple, and what they are then like, except for `most`. Batches
 * must have no given_id. */
bool simple_rule_make(const struct event_format *format, struct simple_rule *out);

#endif
