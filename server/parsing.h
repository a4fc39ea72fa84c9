/* parsing.h - bodies of events become operations: the same formats and the same ids as `lethe
 * count` has.
 *
 * A body has one event, an array of them, or one in each line. It may have more than a batch takes:
 * then it is parsed twice, once to see that all of it is right, and once to count it. */
#ifndef LETHE_SERVER_PARSING_H
#define LETHE_SERVER_PARSING_H

#include "events/elements.h"
#include "events/parse.h"
#include "server/request.h"

enum body_form { BODY_SINGLE = 0, BODY_ARRAY, BODY_LINES };

/* A batch, and what becomes of it. */
struct parsing {
    struct event_batch batch;
    uint8_t outcomes[EVENTS_PER_BATCH];
    int64_t values[EVENTS_PER_BATCH + LETHE_CHANGES_LIMIT];
};

/* Where a body is read. */
struct body_reader {
    const struct event_format *format;
    enum body_form form;
    lethe_bytes body;
    /* What supplies ids that are missing; empty: nothing. */
    lethe_bytes key;
    struct event_elements elements;
    /* The next line begins here. */
    size_t at;
    uint64_t line;
    /* Events so far. */
    uint64_t index;
    /* Found, and left for the next batch. */
    lethe_bytes kept;
    bool has_kept;
    /* After BODY_BAD: what is wrong, and where. */
    struct event_problem problem;
    uint64_t problem_line;
};

void body_begin(struct body_reader *reader, const struct event_format *format, enum body_form form,
                lethe_bytes body, lethe_bytes key);

enum body_result { BODY_ALL = 0, BODY_MORE, BODY_BAD };

/* Fills the batch, which is emptied first. BODY_MORE: it is full, and there is more. */
enum body_result body_read(struct body_reader *reader, struct event_batch *batch);

/* Writes a CloudEvent that was sent in binary mode, its attributes as headers and its data as the
 * body, as JSON: only what the format names or minds. Returns false after saying what is wrong. */
bool cloud_write(request_lookup *header, void *connection, const struct event_format *format,
                 lethe_bytes body, struct text *out, struct event_problem *problem);

struct batches;
/* Batches are kept and used again. NULL: memory is short. */
struct parsing *parsing_take(struct batches *batches);
void parsing_give(struct batches *batches, struct parsing *parsing);
void parsing_free_all(struct batches *batches);

#endif
