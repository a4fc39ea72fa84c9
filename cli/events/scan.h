/* scan.h - one line of JSON: whether it is an object, and what its named members hold.
 *
 * Rules    The whole line must be one object as RFC 8259 has it, in UTF-8: names and strings with
 *          right escapes and whole surrogate pairs, no control characters in them, numbers without
 *          leading zeros, nothing after the object. Values may be nested 1024 deep, the object
 *          itself counted. A member on a path that the format names may be there once. Other
 *          members may repeat. Numbers are text: one of any size is right, where it is not asked
 *          for.
 * Values   are where they stand in the line. Only strings that are asked for are unescaped, by
 *          scan_unescape.
 * Cost     A byte of a string is looked at with 7 or 31 others at once, any other byte alone.
 * Threads  Any number; nothing is kept. */
#ifndef LETHE_CLI_EVENTS_SCAN_H
#define LETHE_CLI_EVENTS_SCAN_H

#include "events/members.h"
#include "events/problem.h"

enum {
    SCAN_DEPTH_LIMIT = 1024,
    /* After a line. */
    SCAN_PADDING_BYTES = 32,
    /* The longest name of --fields, each byte of it as six. */
    SCAN_ESCAPED_NAME_BYTES = 6 * 128
};

enum scan_kind {
    SCAN_NOTHING = 0, /* the line has no such member */
    SCAN_NULL,
    SCAN_BOOLEAN,
    SCAN_INTEGER, /* a number without a point and an exponent */
    SCAN_REAL,
    SCAN_STRING,
    SCAN_OBJECT,
    SCAN_ARRAY,
    /* Never found: whoever reads a string in base64 leaves its bytes so. */
    SCAN_BYTES
};

/* What a member holds. */
struct scan_value {
    /* Of numbers and strings: their text, without quotes. Of objects and arrays: where they begin;
     * they have no size. */
    const char *at;
    uint32_t size;
    uint8_t kind;
    /* It is a string with escapes. */
    bool is_escaped;
};

enum scan_fault {
    SCAN_FINE = 0,
    SCAN_NO_OBJECT,      /* the line is another value */
    SCAN_NO_NAME,        /* in an object, neither a name nor its end */
    SCAN_NO_COLON,       /* after a name */
    SCAN_NO_COMMA,       /* after a value, neither a comma nor the end of what it is in */
    SCAN_NO_VALUE,       /* what is there is no value */
    SCAN_BAD_NUMBER,     /* such as 01 or 1. */
    SCAN_BAD_CONTROL,    /* in a string */
    SCAN_BAD_ESCAPE,     /* in a string */
    SCAN_HALF_SURROGATE, /* in a string */
    SCAN_NOT_UTF8,       /* in a string */
    SCAN_TOO_DEEP,
    SCAN_MORE, /* after the object */
    SCAN_TWICE /* a named member */
};

struct scan_failure {
    enum scan_fault fault;
    /* In the line. */
    const char *at;
    /* Of SCAN_TWICE. */
    uint16_t node;
};

/* What the format names: a tree, and the text that has its names. */
struct scan_wanted {
    const struct member_tree *tree;
    const char *names;
};

/* Scans a line. The byte after it is 0, and SCAN_PADDING_BYTES are readable there. Fills in
 * found[n] for each node n of the tree but the root. Returns false after a fault, of which it says
 * what and where. */
typedef bool scan_function(const struct scan_wanted *wanted, lethe_bytes line,
                           struct scan_value *found, struct scan_failure *failure);

/* The two ways to do it, which find the same: eight bytes of a string at a time, and 32. The second
 * is for x86-64 only, and may be called where the CPU has AVX2. */
scan_function scan_portable, scan_avx2;

/* The fastest that this CPU can, and lethe_cpu_path allows. */
scan_function *scan_choose(void);

/* Writes a string of a scanned line as it is meant; `out` has room for text.size bytes. Returns its
 * size. */
size_t scan_unescape(lethe_bytes text, char *out);

/* Says what is wrong with a line, at which byte, and what to do. */
void scan_explain(const struct scan_failure *failure, lethe_bytes line, const char *member,
                  struct event_problem *problem);

/* For the scanners. The place after the escape whose backslash is at `at`; NULL after a fault. */
const char *scan_escape(const char *at, struct scan_failure *failure);
/* Whether a string is UTF-8; false after a fault. */
bool scan_utf8(const char *at, const char *end, struct scan_failure *failure);

#endif
