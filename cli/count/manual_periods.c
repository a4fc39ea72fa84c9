/* manual_periods.c - the manual of `lethe count` about periods and limits. */
#include "count/manual.h"

#include <stddef.h>

const char *const count_periods[] = {
    "With `--per`, each counter is counted per period too, for `lethe usage` and `lethe top --by`: "
    "`1d`, `1w` (ISO weeks), `1mo`, `1y`, by the calendar in `--zone` or else in UTC, and whatever "
    "divides an hour, from `1s` to `1h`. An event is in the period of its time or, without times, "
    "of this machine's clock. The periods, eight at most, belong to the store. More can be added, "
    "none taken away, and the zone stays. What was counted before is in no period.",
    "`--keep 1h=90d,1d=2y` drops hours that ended 90 days ago by the store's clock, and days after "
    "two years (a month has 31 days, a year 366); `1h=ever` keeps them. Values stay as they are.",
    "What a counter has in a period must fit into 64 bits too: an event that would take it beyond "
    "them is `overflow`, even if the counter itself has room. `lethe set` changes no period, so it "
    "does not help then. An event of the same period with an id of its own and the opposite delta "
    "makes room, and so does `lethe del`, which deletes the counter with its periods.",
    NULL,
};

const char *const count_limits[] = {
    "With `--limit 100`, an event that would raise one of its counters above 100 is limited: it is "
    "skipped with all its keys, reported, and the exit status is 5. `--limit 100/1h` is a limit on "
    "what a counter gets in the present hour; the store must count per that period (`--per`), and "
    "go by this machine's clock, since whoever sends an old time would escape it. Values may be as "
    "fine as the store's scale. Events that lower a counter are never limited.",
    "A limited event is not remembered. Count the file again with `--from-start`, within the "
    "window, when there is room: events that were applied are duplicates. The limit is not kept in "
    "the store; a run without `--limit` has none. To ask before something is granted, use `lethe "
    "take`.",
    NULL,
};
