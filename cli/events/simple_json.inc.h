/* simple_json.inc.h - takes simple lines of JSON, written once for every instruction set.
 *
 * The including file first defines find_stops, and SIMPLE_JSON, the name of its simple_function.
 *
 * IDEA    A stretch of the text is looked at once, for all bytes that end plain text in a string,
 *         and their places are listed: quotes, backslashes, control characters, so line ends too. A
 *         string is then two of them. What is between strings is a few bytes, which are checked
 *         one by one. So a line is checked whole, once, by the rules of scan.h.
 * I1      Wherever a walk through a line is, `stop` is the first place of the list that is not
 *         before it. Outside strings a walk passes over no byte that is listed, so where it finds a
 *         quote or a line end, that is the first of the list.
 * I2      The stretch ends with a newline, which no walk passes over but as the end of its line. So
 *         none looks for a place behind the list.
 * I3      Bytes that are not ASCII are right only in strings. If a line has some, it is UTF-8 as a
 *         whole exactly if each of its strings is.
 * I4      The text of a batch has a copy of the stretch, and the padding that comparing a name may
 *         read. What is not taken of it is given back, unless an id was joined behind it.
 * WHY     To look for the end of one string after the other is a chain: none can begin before the
 *         one before it has ended. The list is made without waiting for anything.
 * LIMIT   A line longer than a stretch, or nested deeper than LEVELS, is not simple. */
#include <string.h>

#include "events/scan.h"
#include "events/simple_parts.inc.h"
#include "events/word.h"

enum {
    /* Looked at together, at first and at most: the first line may be the only simple one, and the
     * list of places stays in the fastest cache. */
    STRETCH_LEAST_BYTES = 1024,
    STRETCH_MOST_BYTES = 8192,
    LEVELS = 32,
    /* How many names of the line before are remembered. */
    GUESSES = 32
};

/* Enough is promised for an id. */
_Static_assert((int)LETHE_ID_LIMIT_BYTES >= 64, "a stretch has its padding");

/* The places of a stretch. */
struct stretch {
    uint32_t places[STRETCH_MOST_BYTES + AT_ONCE];
    size_t count;
    /* A bit for each byte that is not ASCII. */
    uint64_t highs[STRETCH_MOST_BYTES / WORD_BYTES + 1];
};

/* A walk through a line, and what was found in it. */
struct walk {
    const struct simple_rule *rule;
    const char *text, *at;
    const uint32_t *stop; /* I1 */
    /* Of each member, if its bit in `seen` is set. Objects have no value. */
    lethe_bytes values[SIMPLE_MEMBERS_LIMIT];
    uint64_t seen;
    /* Which members the names of the line before were. Most lines have the same in the same
     * order. */
    uint8_t guesses[GUESSES];
};

EVENT_INLINE void list_stretch(const char *text, size_t size, struct stretch *stretch) {
    uint32_t *to = stretch->places;
    size_t at = 0;
    for (; at + WORD_BYTES <= size; at += WORD_BYTES)
        to = list_places(find_stops(text + at, &stretch->highs[at / WORD_BYTES]), (uint32_t)at, to);
    if (at < size) {
        char last[WORD_BYTES];
        memset(last, ' ', sizeof last);
        memcpy(last, text + at, size - at);
        to = list_places(find_stops(last, &stretch->highs[at / WORD_BYTES]), (uint32_t)at, to);
    }
    stretch->count = (size_t)(to - stretch->places);
}

/* Whether some bytes are not all ASCII; may look at those around them, too. */
EVENT_INLINE bool has_high(const struct stretch *stretch, size_t from, size_t end) {
    uint64_t high = 0;
    for (size_t i = from / WORD_BYTES; i <= end / WORD_BYTES; i++)
        high |= stretch->highs[i];
    return high != 0;
}

EVENT_INLINE void pass_blanks(struct walk *walk) {
    while (*walk->at == ' ')
        walk->at++;
}

/* Passes over an escape, at which the walk stops in a string. */
static bool pass_escape(struct walk *walk) {
    struct scan_failure ignored;
    const char *escape = walk->text + *walk->stop;
    const char *after = *escape == '\\' ? scan_escape(escape, &ignored) : NULL;
    if (after == NULL) return false;
    while (walk->text + *walk->stop < after)
        walk->stop++;
    return true;
}

/* Passes over a string, at whose first quote the walk is. */
EVENT_INLINE bool pass_string(struct walk *walk, bool *is_escaped) {
    walk->stop++;
    *is_escaped = false;
    while (walk->text[*walk->stop] != '"') {
        if (!pass_escape(walk)) return false;
        *is_escaped = true;
    }
    walk->at = walk->text + *walk->stop++ + 1;
    return true;
}

EVENT_INLINE bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

EVENT_INLINE bool pass_digits(struct walk *walk) {
    if (!is_digit(*walk->at)) return false;
    while (is_digit(*walk->at))
        walk->at++;
    return true;
}

/* Passes over a number. */
EVENT_INLINE bool pass_number(struct walk *walk, bool *is_integer) {
    walk->at += *walk->at == '-';
    const char *digits = walk->at;
    if (!pass_digits(walk) || (*digits == '0' && walk->at > digits + 1)) return false;
    *is_integer = true;
    if (*walk->at == '.') {
        *is_integer = false;
        walk->at++;
        if (!pass_digits(walk)) return false;
    }
    if (*walk->at != 'e' && *walk->at != 'E') return true;
    *is_integer = false;
    walk->at++;
    walk->at += *walk->at == '+' || *walk->at == '-';
    return pass_digits(walk);
}

/* Passes over a number, true, false or null. */
EVENT_INLINE bool pass_plain(struct walk *walk, bool *is_integer) {
    if (is_digit(*walk->at) || *walk->at == '-') return pass_number(walk, is_integer);
    *is_integer = false;
    bool is_true = memcmp(walk->at, "true", 4) == 0, is_null = memcmp(walk->at, "null", 4) == 0;
    bool is_false = memcmp(walk->at, "false", 5) == 0;
    walk->at += is_false ? 5 : 4;
    return is_true || is_null || is_false;
}

EVENT_INLINE bool is_named(const struct simple_member *member, const char *name, size_t size,
                           uint64_t word) {
    if (member->size != size || ((word ^ member->word) & member->mask) != 0) return false;
    return size <= sizeof word || memcmp(member->name, name, size) == 0;
}

/* Which member within a parent has a name; the root if none has. */
EVENT_INLINE unsigned find_member(const struct simple_rule *rule, unsigned parent, const char *name,
                                  size_t size, uint8_t *guess) {
    const struct simple_member *members = rule->members;
    uint64_t word = word_load(name);
    if (members[*guess].parent == parent && is_named(&members[*guess], name, size, word))
        return *guess;
    unsigned member = members[parent].first;
    while (member != MEMBER_ROOT && !is_named(&members[member], name, size, word))
        member = members[member].next;
    *guess = (uint8_t)member;
    return member;
}

/* Passes over a name and the colon after it, and says which member it is. An escaped name is not
 * simple. */
EVENT_INLINE bool pass_name(struct walk *walk, unsigned parent, uint8_t *guess, unsigned *member) {
    bool is_escaped;
    const char *name = walk->at + 1;
    if (*walk->at != '"' || !pass_string(walk, &is_escaped) || is_escaped) return false;
    *member = find_member(walk->rule, parent, name, (size_t)(walk->at - name) - 1, guess);
    pass_blanks(walk);
    if (*walk->at != ':') return false;
    walk->at++;
    pass_blanks(walk);
    return true;
}

/* Keeps that a line has a member; false if it has it again, or had better not have it. */
EVENT_INLINE bool keep(struct walk *walk, unsigned member, enum simple_use use) {
    if (member == MEMBER_ROOT) return true;
    uint64_t bit = UINT64_C(1) << member;
    bool fine = walk->rule->members[member].use == use && (walk->seen & bit) == 0;
    walk->seen |= bit;
    return fine;
}

/* Passes over a value that is neither an object nor a list, and keeps it if it is asked for. Of a
 * number that is a text, minus zero has another one (json.c). */
EVENT_INLINE bool pass_value(struct walk *walk, unsigned member) {
    const char *from = walk->at;
    bool is_string = *from == '"', is_escaped = false, is_integer = false;
    if (is_string ? !pass_string(walk, &is_escaped) : !pass_plain(walk, &is_integer)) return false;
    if (member == MEMBER_ROOT) return true;
    if (is_string ? is_escaped : !is_integer || (from[0] == '-' && from[1] == '0')) return false;
    size_t quotes = is_string ? 2 : 0;
    walk->values[member] =
        (lethe_bytes){.data = from + is_string, .size = (size_t)(walk->at - from) - quotes};
    return keep(walk, member, SIMPLE_FIELD);
}

/* Walks through an object, from its first brace to the place after its last. */
EVENT_INLINE bool walk_object(struct walk *walk) {
    uint8_t parents[LEVELS], *guess = walk->guesses;
    /* A bit for each level that is an object; the innermost is the lowest. */
    uint32_t objects = 1;
    size_t depth = 1;
    parents[0] = MEMBER_ROOT;
    if (*walk->at != '{') return false;
    walk->at++;
    pass_blanks(walk);
    for (;;) {
        unsigned member = MEMBER_ROOT;
        if ((objects & 1) != 0) {
            if (!pass_name(walk, parents[depth - 1], guess, &member)) return false;
            guess += guess < walk->guesses + GUESSES - 1;
        }
        bool is_object = *walk->at == '{';
        if (is_object || *walk->at == '[') {
            if (depth == LEVELS || (!is_object && member != MEMBER_ROOT)) return false;
            if (!keep(walk, member, SIMPLE_PATH)) return false;
            walk->at++;
            pass_blanks(walk);
            objects = objects << 1 | is_object;
            parents[depth++] = member != MEMBER_ROOT ? (uint8_t)member : SIMPLE_NOBODY;
            if (*walk->at != (is_object ? '}' : ']')) continue;
        } else {
            if (!pass_value(walk, member)) return false;
            pass_blanks(walk);
        }
        while (*walk->at == ((objects & 1) != 0 ? '}' : ']')) {
            walk->at++;
            if (--depth == 0) return true;
            objects >>= 1;
            pass_blanks(walk);
        }
        if (*walk->at != ',') return false;
        walk->at++;
        pass_blanks(walk);
    }
}

/* Walks through a line: its end is the next place of the list then, or the one after it. */
EVENT_INLINE bool walk_line(struct walk *walk, const struct stretch *stretch, lethe_bytes *line) {
    const char *from = walk->at;
    struct scan_failure ignored;
    walk->seen = 0;
    if (!walk_object(walk)) return false;
    pass_blanks(walk);
    *line = (lethe_bytes){.data = from, .size = (size_t)(walk->at - from)};
    if (has_high(stretch, (size_t)(from - walk->text), (size_t)(walk->at - walk->text)) &&
        !scan_utf8(from, walk->at, &ignored)) {
        return false; /* I3 */
    }
    if (walk->at[0] == '\r' && walk->at[1] == '\n') {
        walk->at++;
        walk->stop++;
    }
    if (*walk->at != '\n') return false;
    walk->at++;
    walk->stop++;
    return (walk->seen & walk->rule->required) == walk->rule->required;
}

/* Adds the operation of an id, a key and maybe a delta. */
EVENT_INLINE bool add_usual(const struct walk *walk, struct event_batch *batch) {
    const struct event_format *format = walk->rule->format;
    const uint16_t *nodes = format->members.of_place;
    lethe_bytes id = walk->values[nodes[0]], key = walk->values[nodes[1]];
    lethe_change *change = &batch->changes[batch->change_count];
    bool has_delta = format->place_count > 2 && (walk->seen >> nodes[2] & 1) != 0;
    if (batch->change_count == EVENTS_PER_BATCH + LETHE_CHANGES_LIMIT) return false;
    if (id.size - 1 >= LETHE_ID_LIMIT_BYTES || key.size - 1 >= LETHE_KEY_LIMIT_BYTES) return false;
    change->key = key;
    change->delta = 1;
    if (has_delta) {
        const char *delta = walk->values[nodes[2]].data;
        if (!read_delta(delta, delta + walk->values[nodes[2]].size, &change->delta)) return false;
    } else if (format->place_count > 2 && format->is_strict) {
        return false;
    }
    (void)event_add(batch, id, 1, 0);
    return true;
}

/* Adds any other operation. */
static bool add_other(const struct walk *walk, struct event_batch *batch) {
    const struct event_format *format = walk->rule->format;
    lethe_bytes fields[EVENT_PLACES_LIMIT];
    struct event_problem ignored;
    if (!event_batch_has_room(batch, 0)) return false;
    for (size_t i = 0; i < format->place_count; i++) {
        uint16_t node = format->members.of_place[i];
        bool is_found = format->places[i].kind == PLACE_MEMBER && (walk->seen >> node & 1) != 0;
        fields[i] = is_found ? walk->values[node] : (lethe_bytes){0};
    }
    struct event_extent before = event_batch_extent(batch);
    if (event_take_fields(format, fields, batch, &ignored) == EVENT_TAKEN) return true;
    event_batch_cut(batch, before);
    return false;
}

/* Takes the simple lines of a stretch; returns how many bytes they have. *size becomes how many
 * bytes its whole lines have. */
static size_t take_stretch(const struct simple_rule *rule, const char *text, size_t *size,
                           uint64_t number, struct event_batch *batch) {
    struct stretch stretch;
    list_stretch(text, *size, &stretch);
    while (stretch.count > 0 && text[stretch.places[stretch.count - 1]] != '\n')
        stretch.count--;
    *size = stretch.count > 0 ? stretch.places[stretch.count - 1] + 1 : 0; /* I2 */
    size_t start = batch->text_used, taken = 0;
    char *copy = event_batch_take(batch, *size);
    memcpy(copy, text, *size);
    memset(copy + *size, 0, sizeof(uint64_t));
    struct walk walk = {.rule = rule, .text = copy, .at = copy, .stop = stretch.places};
    while (taken < *size && batch->count < rule->most) {
        lethe_bytes line;
        size_t place = batch->count;
        if (!walk_line(&walk, &stretch, &line)) break;
        if (!(rule->is_usual ? add_usual(&walk, batch) : add_other(&walk, batch))) break;
        batch->line_room[place] = line;
        batch->number_room[place] = number++;
        taken = (size_t)(walk.at - copy);
    }
    if (batch->text_used == start + *size || taken == 0) batch->text_used = start + taken; /* I4 */
    return taken;
}

size_t SIMPLE_JSON(const struct simple_rule *rule, lethe_bytes text, uint64_t line,
                   struct event_batch *batch) {
    size_t taken = 0, before = batch->count, stretch = STRETCH_LEAST_BYTES;
    for (;;) {
        size_t room = EVENT_TEXT_BYTES - batch->text_used, left = text.size - taken;
        size_t fits = room > LETHE_ID_LIMIT_BYTES ? (room - LETHE_ID_LIMIT_BYTES) / 2 : 0; /* I4 */
        if (left > fits) left = fits;
        size_t size = left < stretch ? left : stretch, whole = size;
        if (size == 0) return taken;
        size_t more = take_stretch(rule, (const char *)text.data + taken, &whole,
                                   line + (batch->count - before), batch);
        taken += more;
        /* Nothing but lines that are simple, as far as there is one. */
        bool goes_on = more == whole && size == stretch && batch->count < rule->most;
        if (!goes_on || (whole == 0 && stretch == STRETCH_MOST_BYTES)) return taken;
        if (stretch < STRETCH_MOST_BYTES) stretch *= 2;
    }
}
