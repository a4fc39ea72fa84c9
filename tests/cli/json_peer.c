/* json_peer.c - compares the scan of JSON with jansson; see json_peer.h. */
#include "json_peer.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/version.h"

/* The line that is looked at. */
static lethe_bytes current;

/* Ends the program, and shows the line, where something is not as it must be. */
#define REQUIRE(condition)                    \
    do {                                      \
        if (!(condition)) differ(#condition); \
    } while (0)

static _Noreturn void differ(const char *what) {
    const unsigned char *bytes = current.data;
    fprintf(stderr, "the scan of JSON differs: %s is wrong for\n", what);
    for (size_t i = 0; i < current.size; i++) {
        bool is_plain = bytes[i] >= 0x20 && bytes[i] < 0x7f && bytes[i] != '\\';
        fprintf(stderr, is_plain ? "%c" : "\\x%02x", bytes[i]);
    }
    fprintf(stderr, "\n");
    abort();
}

static bool has_avx2(void) {
    return strcmp(lethe_cpu_path(), "scalar") != 0;
}

/* A copy with its padding, at the end of its memory, so that whatever reads behind it is noticed
 * where sanitizers are. The padding is a string that goes on. */
static lethe_bytes copy_line(const void *line, size_t size) {
    static char *room;
    free(room);
    room = malloc(size + 1 + SCAN_PADDING_BYTES);
    REQUIRE(room != NULL);
    if (size > 0) memcpy(room, line, size);
    room[size] = '\0';
    memset(room + size + 1, 'x', SCAN_PADDING_BYTES);
    current = (lethe_bytes){room, size};
    return current;
}

static void assert_same(const struct scan_value *a, const struct scan_value *b, size_t count) {
    for (size_t i = 1; i < count; i++) {
        REQUIRE(a[i].kind == b[i].kind);
        if (a[i].kind == SCAN_NOTHING || a[i].kind > SCAN_STRING) continue;
        REQUIRE(a[i].at == b[i].at && a[i].size == b[i].size && a[i].is_escaped == b[i].is_escaped);
    }
}

bool json_scan_all(const struct event_format *format, const void *line, size_t size,
                   struct scan_value *found, struct scan_failure *failure, lethe_bytes *copy) {
    struct scan_wanted wanted = {.tree = &format->members, .names = format->text};
    *copy = copy_line(line, size);
    bool fine = scan_portable(&wanted, *copy, found, failure);
#if defined(__x86_64__)
    static struct scan_value other[MEMBER_NODES_LIMIT];
    struct scan_failure other_failure;
    if (has_avx2()) {
        bool other_fine = scan_avx2(&wanted, *copy, other, &other_failure);
        REQUIRE(fine == other_fine);
        if (fine) assert_same(found, other, format->members.count);
        REQUIRE(fine || (failure->fault == other_failure.fault && failure->at == other_failure.at &&
                         failure->node == other_failure.node));
    }
#endif
    return fine;
}

/* Puts 0 in place of a number that ends at `end`, and is too large for jansson. */
static void blank_number(char *text, size_t end) {
    size_t from = end;
    while (from > 0 && text[from - 1] != '\0' &&
           strchr("0123456789+-.eE", text[from - 1]) != NULL) {
        from--;
        /* A number begins with a minus that no exponent is before. */
        if (text[from] == '-' && (from == 0 || (text[from - 1] | 0x20) != 'e')) break;
    }
    REQUIRE(from < end);
    from += text[from] == '-'; /* what is before it may be a digit */
    memset(text + from, ' ', end - from);
    text[from] = '0';
}

/* Parses a text, in which numbers that are too large become 0. */
static json_t *load(char *text, size_t size, size_t flags, json_error_t *error) {
    for (;;) {
        json_t *root = json_loadb(text, size, JSON_ALLOW_NUL | flags, error);
        if (root != NULL || json_error_code(error) != json_error_numeric_overflow) return root;
        blank_number(text, (size_t)error->position);
    }
}

/* What a path leads to. */
static const json_t *follow(const struct event_format *format, uint16_t node, const json_t *root) {
    const struct member_node *at = &format->members.nodes[node];
    const char *name = format->text + at->name;
    if (node == MEMBER_ROOT) return root;
    const json_t *parent = follow(format, at->parent, root);
    if (!json_is_array(parent)) return json_object_get(parent, name);
    bool is_number = name[0] != '\0' && strspn(name, "0123456789") == strlen(name) &&
                     (name[0] != '0' || name[1] == '\0') && strlen(name) < 10;
    return is_number ? json_array_get(parent, strtoul(name, NULL, 10)) : NULL;
}

static void compare_string(const struct scan_value *value, const json_t *peer) {
    char *text = malloc(value->size + 1);
    REQUIRE(text != NULL && json_is_string(peer));
    size_t size = scan_unescape((lethe_bytes){value->at, value->size}, text);
    REQUIRE(value->is_escaped || (size == value->size && memcmp(text, value->at, size) == 0));
    REQUIRE(size == json_string_length(peer));
    REQUIRE(memcmp(text, json_string_value(peer), size) == 0);
    free(text);
}

static void compare_number(const struct scan_value *value, const json_t *peer) {
    char text[32];
    REQUIRE((value->kind == SCAN_INTEGER) == json_is_integer(peer));
    if (json_is_real(peer)) {
        char *whole = strndup(value->at, value->size);
        REQUIRE(whole != NULL && strtod(whole, NULL) == json_real_value(peer));
        free(whole);
        return;
    }
    int size = snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(peer));
    bool is_minus_zero = value->size == 2 && memcmp(value->at, "-0", 2) == 0;
    REQUIRE(is_minus_zero || (size_t)size == value->size);
    REQUIRE(memcmp(text, value->at + is_minus_zero, (size_t)size) == 0);
}

/* `patched` is where the value is in the text that jansson has read. */
static void compare_value(const struct scan_value *value, const json_t *peer, const char *patched) {
    switch (value->kind) {
    case SCAN_NOTHING:
        REQUIRE(peer == NULL);
        break;
    case SCAN_NULL:
        REQUIRE(json_is_null(peer));
        break;
    case SCAN_BOOLEAN:
        REQUIRE(json_is_boolean(peer));
        break;
    case SCAN_OBJECT:
        REQUIRE(json_is_object(peer));
        break;
    case SCAN_ARRAY:
        REQUIRE(json_is_array(peer));
        break;
    case SCAN_STRING:
        compare_string(value, peer);
        break;
    default:
        if (memcmp(patched, value->at, value->size) == 0) compare_number(value, peer);
    }
}

void json_compare(const struct event_format *format, const void *line, size_t size) {
    static struct scan_value found[MEMBER_NODES_LIMIT];
    struct scan_failure failure;
    struct event_problem problem;
    lethe_bytes copy;
    json_error_t error;
    bool fine = json_scan_all(format, line, size, found, &failure, &copy);
    if (!fine) {
        scan_explain(&failure, copy, "x", &problem);
        REQUIRE(strstr(problem.text, "; ") != NULL);
        REQUIRE(failure.at >= (const char *)copy.data &&
                failure.at <= (const char *)copy.data + size);
    }
    if (memchr(copy.data, '\0', size) != NULL) {
        REQUIRE(!fine);
        return;
    }
    if (!fine && failure.fault == SCAN_TOO_DEEP) return;
    char *patched = malloc(size + 1);
    REQUIRE(patched != NULL);
    memcpy(patched, copy.data, size);
    bool is_twice = !fine && failure.fault == SCAN_TWICE;
    json_t *root = load(patched, size, is_twice ? JSON_REJECT_DUPLICATES : 0, &error);
    bool has_nul_name = root == NULL && json_error_code(&error) == json_error_null_byte_in_key;
    if (!has_nul_name) REQUIRE(fine == (root != NULL && json_is_object(root)));
    for (uint16_t i = 1; root != NULL && fine && i < format->members.count; i++) {
        bool has_text = found[i].kind == SCAN_INTEGER || found[i].kind == SCAN_REAL;
        size_t at = has_text ? (size_t)(found[i].at - (const char *)copy.data) : 0;
        compare_value(&found[i], follow(format, i, root), patched + at);
    }
    json_decref(root);
    free(patched);
}
