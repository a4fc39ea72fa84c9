/* count.h - what the parts of `lethe count` share. */
#ifndef LETHE_CLI_COUNT_H
#define LETHE_CLI_COUNT_H

#include "arguments.h"
#include "events.h"
#include "lethe/counter.h"
#include "progress.h"

/* What became of the events; every one of them is in exactly one of these. */
struct count_totals {
    uint64_t applied, duplicates, late, future, rejected, mismatched;
};

enum { COUNT_TICKETS = 64 };

struct counting {
    const char *folder; /* or the table, for messages */
    const struct inputs *inputs;
    bool quiet, json, stops_on_error;
    struct count_late *late;   /* NULL when late events need not be listed */
    lethe_counter *counter;    /* NULL: the events go to a server, and */
    lethe_window_stats window; /* this is how its window was last seen */
    struct event_reader *reader;

    struct count_totals totals; /* of what is durable */
    uint64_t refused;           /* of those rejected: because the window met its cap */
    uint64_t unjudged;          /* events applied since `wrong` was last added to */
    double wrong;               /* new events that were probably taken for copies */
    uint64_t doubtful;          /* of the duplicates: perhaps applied by this very run */
    uint64_t resumed_at;        /* bytes that need not be read again */
    uint64_t bytes_before;      /* of the files before the one being read */
    uint64_t bytes_read;
    uint64_t pending; /* last lines that may not be whole yet */
    bool has_open;    /* one of them has lines behind it, in a quoted field that does not end */
    bool is_taken;    /* of the file being read some event was counted, or a duplicate */
    unsigned complaints;
    bool has_sketch; /* in place of counters */
    bool has_time;   /* the events */
    bool lacks_time; /* the store goes by the events' time, and they have none */
    bool has_failed; /* a commit: nothing more will be durable */
    double started_s;
    struct progress progress;

    /* What was submitted and is on its way to disk, the oldest first. */
    struct count_ticket {
        uint64_t number;
        struct count_totals totals;
    } tickets[COUNT_TICKETS];
    size_t first_ticket, ticket_count;
};

/* How many events a new store is going to get, roughly: what to prepare its window for. 0 if there is no telling. */
uint64_t count_expect(const char *folder, const struct inputs *inputs,
                      const lethe_counter_options *options);

/* The options about events, and the files. folder, which may be NULL, is the store's own. */
int count_read_options(const struct arguments *arguments, struct event_options *options);
int count_check_files(const struct arguments *arguments, const char *folder, struct inputs *inputs);

/* `lethe count --redis`. */
int count_redis(const struct arguments *arguments);

/* A list of the late events, each in it exactly once: --late-out. The name of its mark, and the mark itself, belong into the
 * commit that passes the events over. */
struct count_late;
int count_late_open(const char *path, struct count_late **out);
/* Takes in a mark of the store, if it is that of the list. */
void count_late_load(struct count_late *late, const lethe_mark *mark);
/* Once all marks are loaded. */
int count_late_begin(struct count_late *late, struct counting *counting);
int count_late_add(struct count_late *late, lethe_bytes line);
/* All that was added is on disk. */
int count_late_sync(struct count_late *late);
/* The mark as it is now; its value stays where it is. False: it has none. */
bool count_late_mark(struct count_late *late, lethe_mark *out);
/* Notes in the store that nothing is under way. Takes NULL. */
int count_late_end(struct count_late *late, struct counting *counting, int code);

/* What there is to say about a batch before it is counted. */
void count_introduce(struct counting *counting, const struct event_batch *batch);

/* Says that an event was not counted, and why; last_line is that of its batch. Returns EXIT_DONE, or EXIT_BAD_DATA
 * where that stops all. */
int count_refuse(struct counting *counting, const char *path, uint64_t line, uint64_t last_line,
                 lethe_outcome outcome);

/* Says, if code is EXIT_DONE, that events were passed over or a signal came, and returns the exit code for that. */
int count_end(const struct counting *counting, int code);

/* Counts all events of the reader. Returns EXIT_DONE, also when a signal came. */
int count_all(struct counting *counting);

uint64_t count_events(const struct count_totals *totals);
/* Those that are neither counted nor duplicates. */
uint64_t count_passed_over(const struct count_totals *totals);
/* Adds ", 5 late" to a text if there are any. */
void count_append(char *text, size_t size, uint64_t count, const char *what);

/* Adds to `wrong` what the window's error, as it is now, makes likely for so many events. */
void count_expect_wrong(struct counting *counting, uint64_t applied);

/* Shows how far it is, if somebody is looking. */
void count_show_progress(struct counting *counting);

/* Says at the end what was done: a line for people, or an object for machines. */
void count_report(const struct counting *counting);

/* Says that a line was not counted; after the first few such messages, nothing. */
void count_complain(struct counting *counting, const char *path, uint64_t line, const char *text);

double count_now_s(void);

#endif
