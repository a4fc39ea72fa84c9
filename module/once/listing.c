/* module/once/listing.c - listing a few at a time: options, cursors, and lists of records.
 *
 * IDEA    The cursor is that of the map in which counters and records are found (counters.c). It
 *         comes before the list in a reply, and is known after it: so the records of a list are
 *         found twice. */
#include "once/listing.h"

#include <errno.h>
#include <stdlib.h>

#include "command/options.h"
#include "once/once.h"
#include "once/pattern.h"
#include "once/ranges.h"
#include "server/errors.h"

struct scanning scanning_begin(void) {
    return (struct scanning){.count = 10};
}

const char *scanning_take(struct scanning *scanning, const redis_string *option,
                          const redis_string *word) {
    if (is_word(option, "COUNT"))
        return range_number(&range_listed, "COUNT", word, &scanning->count);
    if (!is_word(option, "MATCH")) return ERROR_SCAN_SYNTAX;
    scanning->pattern = slice_of(word);
    return NULL;
}

const char *scanning_read(redis_string **words, int count, struct scanning *out) {
    *out = scanning_begin();
    const char *problem = NULL;
    for (int i = 0; i < count && problem == NULL; i += 2)
        problem = i + 1 < count ? scanning_take(out, words[i], words[i + 1]) : ERROR_SCAN_SYNTAX;
    return problem;
}

bool scanning_matches(const struct scanning *scanning, const char *name, size_t size) {
    const struct slice pattern = scanning->pattern;
    return pattern.data == NULL || pattern_matches(pattern.data, pattern.size, name, size);
}

const char *parse_cursor(const redis_string *word, uint64_t *cursor) {
    size_t size;
    const char *text = redis.StringPtrLen(word, &size);
    char copy[24] = {0}, *end = NULL;
    if (size > 0 && size < sizeof copy && text[0] >= '0' && text[0] <= '9') {
        memcpy(copy, text, size);
        errno = 0;
        *cursor = strtoull(copy, &end, 10);
    }
    bool is_cursor = end != NULL && *end == '\0' && errno != ERANGE;
    return is_cursor ? NULL : range_problem(&range_cursor, "cursor", word);
}

void reply_cursor(redis_context *context, uint64_t cursor) {
    redis_string *text = redis.CreateStringPrintf(context, "%llu", (unsigned long long)cursor);
    redis.ReplyWithCString(context, redis.StringPtrLen(text, NULL));
    redis.FreeString(context, text);
}

static void visit(void *context, struct record *record) {
    struct listing *listing = context;
    listing->seen++;
    if (listing->show != NULL && listing->show(listing, record)) listing->replied++;
}

static uint64_t scan(struct listing *listing, const struct records *records, uint64_t cursor) {
    uint64_t most = scanning_places(&listing->scanning);
    listing->seen = 0;
    do {
        cursor = records_scan(records, cursor, visit, listing);
    } while (cursor != 0 && listing->seen < listing->scanning.count && --most > 0);
    return cursor;
}

void listing_reply(struct listing *listing, const struct records *records, uint64_t cursor) {
    struct listing counting = {.scanning = listing->scanning};
    redis.ReplyWithArray(listing->context, 2);
    reply_cursor(listing->context, listing->table != NULL ? scan(&counting, records, cursor) : 0);
    redis.ReplyWithArray(listing->context, -1);
    if (listing->table != NULL) {
        listing->now_ms = value_time(&listing->table->head);
        (void)scan(listing, records, cursor);
    }
    redis.ReplySetArrayLength(listing->context, listing->replied);
}
