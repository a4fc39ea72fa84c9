/* scan.inc.h - scans a line of JSON, written once for every instruction set.
 *
 * The including file first defines find_stop, and SCAN, the name of its scan_function.
 *
 * IDEA    Members on a path that is asked for are followed down (scan_object, scan_array). All
 *         other values are passed over with a bit for each level that is open (skip_value): they
 *         are checked, but nothing is made of them.
 * I1      A function takes the place where something begins, and returns the place after it, or
 *         NULL after a fault. The 0 that ends the line is right nowhere, so no function goes behind
 *         it. find_stop and skip_plain look there, and have the padding for that.
 * I2      Calls go no deeper than the longest path of --fields. */
#include <string.h>

#define SCAN_INLINE static inline __attribute__((always_inline))
#define SCAN_OUTLINE static __attribute__((noinline))

struct scanner {
    const struct scan_wanted *wanted;
    struct scan_value *found;
    struct scan_failure *failure;
};

SCAN_OUTLINE const char *fail(const struct scanner *scanner, enum scan_fault fault,
                              const char *at) {
    *scanner->failure = (struct scan_failure){.fault = fault, .at = at};
    return NULL;
}

SCAN_INLINE const char *skip_space(const char *at) {
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') {
        at++;
    }
    return at;
}

/* A string from after its first quote. Returns the place of its last one. */
SCAN_INLINE const char *find_quote(const struct scanner *scanner, const char *at,
                                   bool *is_escaped) {
    const char *from = at;
    uint64_t high = 0;
    *is_escaped = false;
    while (*(at = find_stop(at, &high)) != '"') {
        if (*at != '\\') return fail(scanner, SCAN_BAD_CONTROL, at);
        *is_escaped = true;
        at = scan_escape(at, scanner->failure);
        if (at == NULL) return NULL;
    }
    return high == 0 || scan_utf8(from, at, scanner->failure) ? at : NULL;
}

SCAN_INLINE bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

SCAN_INLINE const char *skip_digits(const struct scanner *scanner, const char *at) {
    if (!is_digit(*at)) return fail(scanner, SCAN_BAD_NUMBER, at);
    while (is_digit(*at)) {
        at++;
    }
    return at;
}

SCAN_INLINE const char *skip_number(const struct scanner *scanner, const char *at, uint8_t *kind) {
    *kind = SCAN_INTEGER;
    at += *at == '-';
    const char *digits = at;
    at = skip_digits(scanner, at);
    if (at == NULL) return NULL;
    if (*digits == '0' && at > digits + 1) return fail(scanner, SCAN_BAD_NUMBER, digits);
    if (*at == '.') {
        *kind = SCAN_REAL;
        at = skip_digits(scanner, at + 1);
        if (at == NULL) return NULL;
    }
    if (*at == 'e' || *at == 'E') {
        *kind = SCAN_REAL;
        at++;
        at = skip_digits(scanner, at + (*at == '+' || *at == '-'));
    }
    return at;
}

/* A number, true, false or null. */
SCAN_INLINE const char *skip_plain(const struct scanner *scanner, const char *at, uint8_t *kind) {
    if (is_digit(*at) || *at == '-') return skip_number(scanner, at, kind);
    *kind = SCAN_BOOLEAN;
    if (memcmp(at, "true", 4) == 0) return at + 4;
    if (memcmp(at, "false", 5) == 0) return at + 5;
    *kind = SCAN_NULL;
    if (memcmp(at, "null", 4) == 0) return at + 4;
    return fail(scanner, SCAN_NO_VALUE, at);
}

/* A member's name as it is written. */
struct name {
    lethe_bytes text;
    bool is_escaped;
};

/* A name, the colon after it and the space around that. */
SCAN_INLINE const char *skip_name(const struct scanner *scanner, const char *at,
                                  struct name *name) {
    *name = (struct name){.text = {.data = at + 1, .size = 0}};
    if (*at != '"') return fail(scanner, SCAN_NO_NAME, at);
    const char *end = find_quote(scanner, at + 1, &name->is_escaped);
    if (end == NULL) return NULL;
    name->text.size = (size_t)(end - at) - 1;
    at = skip_space(end + 1);
    return *at == ':' ? skip_space(at + 1) : fail(scanner, SCAN_NO_COLON, at);
}

/* The objects and arrays that are open, each by the byte that ends it. */
struct levels {
    char ends[SCAN_DEPTH_LIMIT];
    size_t count;
};

/* After a value: closes the levels that end there. Returns where the next value begins, if a level
 * is left. */
SCAN_INLINE const char *close_levels(const struct scanner *scanner, const char *at,
                                     struct levels *levels) {
    for (; levels->count > 0; levels->count--, at++) {
        char end = levels->ends[levels->count - 1];
        struct name name;
        at = skip_space(at);
        if (*at == end) continue;
        if (*at != ',') return fail(scanner, SCAN_NO_COMMA, at);
        at = skip_space(at + 1);
        return end == '}' ? skip_name(scanner, at, &name) : at;
    }
    return at;
}

/* Passes over any value that is within `depth` others. */
SCAN_OUTLINE const char *skip_value(const struct scanner *scanner, const char *at, size_t depth) {
    struct levels levels;
    struct name name;
    bool is_escaped;
    uint8_t kind;
    levels.count = 0;
    do {
        if (*at == '{' || *at == '[') {
            char end = *at == '{' ? '}' : ']';
            if (depth + levels.count == SCAN_DEPTH_LIMIT) return fail(scanner, SCAN_TOO_DEEP, at);
            at = skip_space(at + 1);
            if (*at != end) {
                levels.ends[levels.count++] = end;
                if (end == '}') at = skip_name(scanner, at, &name);
                continue;
            }
            at++;
        } else if (*at == '"') {
            at = find_quote(scanner, at + 1, &is_escaped);
            if (at != NULL) at++;
        } else {
            at = skip_plain(scanner, at, &kind);
        }
        if (at != NULL) at = close_levels(scanner, at, &levels);
    } while (at != NULL && levels.count > 0);
    return at;
}

/* Which of the members within `parent` has this name; the root if none has. */
SCAN_INLINE uint16_t find_name(const struct scan_wanted *wanted, uint16_t parent,
                               lethe_bytes name) {
    const struct member_node *nodes = wanted->tree->nodes;
    uint16_t node = nodes[parent].first;
    while (node != MEMBER_ROOT &&
           (nodes[node].name_size != name.size ||
            memcmp(wanted->names + nodes[node].name, name.data, name.size) != 0)) {
        node = nodes[node].next;
    }
    return node;
}

/* The same for a name with escapes. One that is too long for the longest name in escapes is none
 * of them. */
SCAN_OUTLINE uint16_t find_escaped_name(const struct scan_wanted *wanted, uint16_t parent,
                                        lethe_bytes name) {
    char text[SCAN_ESCAPED_NAME_BYTES];
    if (name.size > sizeof text) return MEMBER_ROOT;
    name = (lethe_bytes){.data = text, .size = scan_unescape(name, text)};
    return find_name(wanted, parent, name);
}

static const char *scan_object(const struct scanner *scanner, const char *at, uint16_t parent,
                               size_t depth);
static const char *scan_array(const struct scanner *scanner, const char *at, uint16_t parent,
                              size_t depth);

/* Takes the value of a node. */
SCAN_INLINE const char *take_value(const struct scanner *scanner, const char *at, uint16_t node,
                                   size_t depth) {
    struct scan_value *value = &scanner->found[node];
    bool is_path = scanner->wanted->tree->nodes[node].first != 0;
    const char *end;
    switch (*at) {
    case '"':
        value->at = at + 1;
        end = find_quote(scanner, at + 1, &value->is_escaped);
        if (end == NULL) return NULL;
        value->size = (uint32_t)(end - value->at);
        value->kind = SCAN_STRING;
        return end + 1;
    case '{':
        value->at = at;
        value->kind = SCAN_OBJECT;
        return is_path ? scan_object(scanner, at, node, depth) : skip_value(scanner, at, depth);
    case '[':
        value->at = at;
        value->kind = SCAN_ARRAY;
        return is_path ? scan_array(scanner, at, node, depth) : skip_value(scanner, at, depth);
    default:
        value->at = at;
        end = skip_plain(scanner, at, &value->kind);
        if (end != NULL) value->size = (uint32_t)(end - at);
        return end;
    }
}

/* Takes a member, whose value begins at `at`, if it is asked for. */
SCAN_INLINE const char *take_member(const struct scanner *scanner, const char *at, uint16_t parent,
                                    const struct name *name, size_t depth) {
    uint16_t node = name->is_escaped ? find_escaped_name(scanner->wanted, parent, name->text)
                                     : find_name(scanner->wanted, parent, name->text);
    if (node == MEMBER_ROOT) {
        bool is_escaped;
        if (*at != '"') return skip_value(scanner, at, depth);
        const char *end = find_quote(scanner, at + 1, &is_escaped);
        return end != NULL ? end + 1 : NULL;
    }
    if (scanner->found[node].kind != SCAN_NOTHING) {
        fail(scanner, SCAN_TWICE, name->text.data);
        scanner->failure->node = node;
        return NULL;
    }
    return take_value(scanner, at, node, depth);
}

/* An object that is on the path to a named member, and within `depth` others. */
static const char *scan_object(const struct scanner *scanner, const char *at, uint16_t parent,
                               size_t depth) {
    if (depth == SCAN_DEPTH_LIMIT) return fail(scanner, SCAN_TOO_DEEP, at);
    at = skip_space(at + 1);
    if (*at == '}') return at + 1;
    for (;;) {
        struct name name;
        at = skip_name(scanner, at, &name);
        if (at == NULL) return NULL;
        at = take_member(scanner, at, parent, &name, depth + 1);
        if (at == NULL) return NULL;
        at = skip_space(at);
        if (*at == '}') return at + 1;
        if (*at != ',') return fail(scanner, SCAN_NO_COMMA, at);
        at = skip_space(at + 1);
    }
}

/* The same for an array. */
static const char *scan_array(const struct scanner *scanner, const char *at, uint16_t parent,
                              size_t depth) {
    const struct member_node *nodes = scanner->wanted->tree->nodes;
    if (depth == SCAN_DEPTH_LIMIT) return fail(scanner, SCAN_TOO_DEEP, at);
    at = skip_space(at + 1);
    if (*at == ']') return at + 1;
    for (uint32_t element = 0;; element++) {
        uint16_t node = nodes[parent].first;
        while (node != MEMBER_ROOT && nodes[node].element != element) {
            node = nodes[node].next;
        }
        at = node != MEMBER_ROOT ? take_value(scanner, at, node, depth + 1)
                                 : skip_value(scanner, at, depth + 1);
        if (at == NULL) return NULL;
        at = skip_space(at);
        if (*at == ']') return at + 1;
        if (*at != ',') return fail(scanner, SCAN_NO_COMMA, at);
        at = skip_space(at + 1);
    }
}

bool SCAN(const struct scan_wanted *wanted, lethe_bytes line, struct scan_value *found,
          struct scan_failure *failure) {
    const struct scanner scanner = {.wanted = wanted, .found = found, .failure = failure};
    const char *at = line.data, *end = at + line.size;
    for (size_t i = 0; i < wanted->tree->count; i++) {
        found[i].kind = SCAN_NOTHING;
        found[i].is_escaped = false;
    }
    at = skip_space(at);
    at =
        *at == '{' ? scan_object(&scanner, at, MEMBER_ROOT, 0) : fail(&scanner, SCAN_NO_OBJECT, at);
    if (at == NULL) return false;
    at = skip_space(at);
    return at == end || fail(&scanner, SCAN_MORE, at) != NULL;
}
