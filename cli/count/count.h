/* count.h - what the parts of `lethe count` share.
 *
 * count.c begins and ends a run into a store, switch.c looks ahead before one, options.c reads the
 * command line, files.c and expect.c look at the files, all.c counts, limit.c gives events a limit,
 * late.c lists late events,
 * unreported.c keeps what was skipped from being forgotten,
 * follow.c does what is due while files are followed, totals.c and report.c say what became of the
 * events. count/redis.h is the same for a table in a server. */
#ifndef LETHE_CLI_COUNT_COUNT_H
#define LETHE_CLI_COUNT_COUNT_H

#include "count/totals.h"
#include "events/events.h"
#include "frame/arguments.h"
#include "lethe/store.h"
#include "say/progress.h"
#include "take/bounds.h"

enum { COUNT_TICKETS = 64 };

/* Skipped events that no run has reported (unreported.c). Zeroed, there are none. */
struct count_unreported {
    /* Those of earlier runs; and together with those of this run. */
    uint64_t before, count;
    /* Where the first of them was; cut off if it is long, or empty. */
    char path[512];
    unsigned char value[8 + 512]; /* of the mark */
};

struct counting {
    /* The store's folder, or the table's name and servers, for messages. */
    const char *folder;
    const struct inputs *inputs;
    bool quiet, json, stops_on_error;
    /* The files are read as they grow, until a signal comes; how often that is reported, 0: never,
     * and when it was last. */
    bool follows;
    uint64_t report_ms, reported_ms;
    struct event_reader *reader;
    struct progress progress;
    double started_s;

    /* NULL: the events go to a server. */
    lethe_store *store;
    /* The server's window as it was last seen. */
    lethe_store_window window;
    /* NULL: late events need not be listed. */
    struct count_late *late;
    bool lists_late;
    /* The store keeps a sketch in place of counters. */
    bool has_sketch;
    /* The store counts per period as well. */
    bool has_periods;
    /* The window's error rises at its cap: --policy degrade. */
    bool degrades;
    /* The window has no cap, so that only the system can refuse it memory. */
    bool is_uncapped;
    /* The events have a time. */
    bool has_time;
    /* The store goes by the events' time, and they have none. */
    bool lacks_time;
    /* Digits after the point of the store's values; 0 of a server's. */
    unsigned scale;
    /* What no counter may pass; none, or one. */
    struct bounds bounds;

    /* Of what is durable. */
    struct count_totals totals;
    /* Of the duplicates: perhaps applied by this very run. */
    uint64_t doubtful;
    /* Fresh events since `wrong` was last added to. */
    uint64_t unjudged;
    /* Fresh events that were probably taken for duplicates. */
    double wrong;

    /* Bytes that this run did not read again, and how many files have them; one of these. */
    uint64_t resumed_at;
    size_t resumed_files;
    const char *resumed_path;
    /* Files that were begun. */
    size_t started_files;
    /* Of all files, as they are on disk. */
    uint64_t bytes_read;
    /* Last lines that may not be complete yet. */
    uint64_t pending;
    /* One of them is a quoted field that does not end in EVENT_OPEN_BYTES. */
    bool holds_back;
    /* Where events were skipped: how many are older than the one before them, and newer. */
    uint64_t backwards, forwards;
    /* By slot: whether an event of the file was counted, or was a duplicate. NULL: the events go to
     * a server. */
    bool *taken;
    struct count_unreported unreported;
    /* The summary was made. */
    bool has_reported;
    /* When the first complaint was made, and how many there were. */
    uint64_t complained_ms;
    unsigned complaints;
    /* The user knows how many files were resumed, and that the unit of times was chosen by size. */
    bool has_told_resumed, has_told_unit;

    /* A commit failed: nothing more will be durable. */
    bool has_failed;
    /* What was submitted and is on its way to disk, the oldest first: a ring. */
    struct count_ticket {
        uint64_t number;
        struct count_totals totals;
    } tickets[COUNT_TICKETS];
    size_t first_ticket, ticket_count;
};

/* --- options.c: the command line. Each returns EXIT_DONE or EXIT_USAGE. */

/* Whether the options go with where the counters are: a store, or a server. */
int count_check_place(const struct arguments *arguments);
/* The options of the window, which stores and tables share. Zero stays where one is not given. */
struct count_window_options {
    uint64_t window_ms, memory_bytes;
    double error;
    lethe_policy policy;
    lethe_switch forgetful;
};
int count_read_window(const struct arguments *arguments, struct count_window_options *options);
/* The scale of a new store. That of another is its own, and may be left out. */
int count_read_scale(const struct arguments *arguments, int32_t *out);
int count_read_store(const struct arguments *arguments, lethe_store_options *options);
int count_read_events(const struct arguments *arguments, struct event_options *options);
/* Has deltas read by a scale. */
int count_set_scale(struct event_options *options, unsigned scale);
/* What is said of a run, and whether a bad line stops it. */
void count_read_reporting(const struct arguments *arguments, struct counting *counting);

/* --- files.c, expect.c: the files. */

/* Whether the inputs can be merged by the time of their events. */
int count_check_merge(const struct inputs *inputs);
/* Whether the files go together. folder, the store's own, may be NULL. */
int count_check_files(const struct arguments *arguments, const char *folder, struct inputs *inputs);
/* How many events a new store will get, roughly: what to prepare its window for. 0: unknown. */
uint64_t count_expect(const char *folder, const struct inputs *inputs,
                      const lethe_store_options *options);

/* --- count.c: the marks of a store. */

struct count_marks {
    /* Of files that were read. */
    struct resume_table table;
    /* Takes in its own; may be NULL. */
    struct count_late *late;
    struct count_unreported unreported;
    bool is_short_of_memory;
};
/* Reads the marks; the table is to be freed, whatever is returned. */
int count_load_marks(struct counting *counting, struct count_marks *marks);

/* --- switch.c: before the store is opened to write. */

/* Looks whether the files can be read on, if the options would change how the store works, and
 * whether literal deltas fit the store's scale: a run that is refused must leave the store as it
 * was. */
int count_check_switch(struct counting *counting, const lethe_store_options *store_options,
                       struct event_options *event_options);

/* --- all.c: counting. */

/* Counts all events of the reader into the store. Returns EXIT_DONE, also when a signal came. */
int count_all(struct counting *counting);

/* Whether an event with this outcome is counted. */
static inline bool count_is_taken(uint8_t outcome) {
    return outcome == LETHE_OUTCOME_APPLIED || outcome == LETHE_OUTCOME_APPLIED_LATE ||
           outcome == LETHE_OUTCOME_DUPLICATE;
}

/* Says that the events lack the time that the store goes by. Returns EXIT_USAGE. */
int count_fail_time(const struct counting *counting);

/* Reports what there is to report of a batch before it is counted. */
void count_introduce(struct counting *counting, const struct event_batch *batch);

/* Says that an event was not counted, and why; last_line is that of its batch. Returns EXIT_DONE,
 * or EXIT_BAD_DATA where that ends the run. */
int count_refuse(struct counting *counting, const char *path, uint64_t line, uint64_t last_line,
                 lethe_outcome outcome);

/* --- prepare.c: what is done ahead. */

/* Has the reader prepare the events for the store. */
int count_prepare(struct counting *counting);

/* --- limit.c: --limit. */

/* Reads the option. */
int count_read_limit(const struct arguments *arguments, struct bounds *out);
/* Whether a store that is made with these options can keep it. */
int count_check_limit(const struct counting *counting, const lethe_store_options *options);
/* Gives all changes of a batch the limit, if there is one. */
void count_put_limit(const struct bounds *bounds, const struct event_batch *batch);

/* --- follow.c: --follow. */

/* Reads the options. */
int count_read_follow(const struct arguments *arguments, struct counting *counting,
                      struct event_options *options);
/* Whether the files can be followed. */
int count_look_followed(const struct arguments *arguments, struct inputs *inputs);
/* Waits for the next batch, or the end, and shows meanwhile how things are. Without --follow it
 * does nothing. */
void count_follow_wait(struct counting *counting);
/* Reports, if that is due. */
void count_follow_report(struct counting *counting);

/* --- late.c: --late-out, a list of the late events, each in it exactly once. The list has a mark,
 * which belongs into the commit that skips the events. */

struct count_late;
int count_late_open(const char *path, struct count_late **out);
/* Takes in a mark of the store, if it is that of the list. */
void count_late_load(struct count_late *late, const lethe_mark *mark);
/* Once all marks are loaded. */
int count_late_begin(struct count_late *late, struct counting *counting,
                     const struct event_options *options);
int count_late_add(struct count_late *late, const struct event_share *share, lethe_bytes line);
/* Puts all that was added on disk. */
int count_late_sync(struct count_late *late);
/* The mark as it is now; its value stays where it is. False: there is none. */
bool count_late_mark(struct count_late *late, lethe_mark *out);
/* Notes in the store that the run is over. Takes NULL. */
int count_late_end(struct count_late *late, struct counting *counting, int code);

/* --- unreported.c: what was skipped is as durable as the marks that pass it. */

/* Takes in a mark of the store, if it is this one. */
void count_unreported_load(struct count_unreported *unreported, const lethe_mark *mark);
/* Adds the skipped events of a batch. */
void count_unreported_note(struct count_unreported *unreported, const struct event_batch *batch,
                           const uint8_t *outcomes);
/* The mark as it is now; its value stays where it is. Without such events it removes the mark. */
lethe_mark count_unreported_mark(struct count_unreported *unreported);
/* Reports those of earlier runs. */
void count_unreported_tell(const struct counting *counting);
/* Whether a run that ends with this code has reported all of them. */
bool count_unreported_is_over(const struct counting *counting, int code);
/* Removes the mark if so. Returns the exit code. */
int count_unreported_end(struct counting *counting, int code);

/* --- report.c: what is said. */

/* Adds to `wrong` what the window's error, as it is now, makes likely for so many fresh events. */
void count_expect_wrong(struct counting *counting, uint64_t fresh);
/* Says how many files are read on from where the last run stopped, once all of them are begun; or
 * now, with `is_now`. */
void count_tell_resumed(struct counting *counting, bool is_now);
/* Shows how far it is, on a terminal. */
void count_show_progress(struct counting *counting);
/* Says that marks were not understood, if there are any such. */
void count_warn_of_marks(size_t not_understood, const char *where);
/* Where files are followed: after an hour, lines that are not counted are reported again. */
void count_renew_complaints(struct counting *counting);
/* Says that a line was not counted; after the first few such messages, nothing. */
void count_complain(struct counting *counting, const char *path, uint64_t line, const char *text);
/* Says at the end what was done: a line for people, or an object for machines. */
void count_report(struct counting *counting);
/* Says, if code is EXIT_DONE, that events were skipped or a signal came. Returns the exit code. */
int count_end(const struct counting *counting, int code);
/* Looks whether all files can be read on at the marks, starts the reader, and begins to show
 * progress. */
int count_begin(struct counting *counting, struct resume_table *marks);

#endif
