/* manual.c - the manual of the `lethe hold` commands. */
#include "frame/commands.h"

#define STANDING                                                                                \
    "Prints the answer, the key, the value that the limit is on, what is left until the limit " \
    "beside what is held, and in how many milliseconds the period ends, or `-` for a limit on " \
    "the total; with tabs between them."

#define JSON_STANDING "print an object with id, answer, key, value, left and resets_ms"

static const char *const hold_description[] = {
    "A hold sets an amount aside under a limit, for work that shows how much it uses only "
    "when it is done. What is held is not part of the counter's value, but every limit "
    "counts it: the limits of other holds, of `lethe take` and of `lethe count --limit`. "
    "When the work is done, the hold is settled with what was really used, or released if "
    "nothing was. Then nothing is held any more.",
    "A lease says how long the amount is held if the hold is neither settled nor released. "
    "It goes by the machine's own clock: setting the wall clock or restarting the machine "
    "never ends it early.",
    "How a hold ended is known for as long as the store's window, 3 days in a new store: the same "
    "settlement again is a `duplicate`, and another one is refused. Ids of holds have nothing to "
    "do with those of events and claims.",
    "Holds are in a store, the folder that `lethe count` uses too. Each command opens the store, "
    "and waits while another process writes to it. In a server, ONCE.HOLD does the same.",
    NULL,
};

const struct command command_hold = {
    .path = "hold",
    .summary = "set an amount aside under a limit, and settle later",
    .synopses = SYNOPSES("COMMAND [ARGUMENT...]"),
    .description = hold_description,
    .exit_done = "success",
};

static const char *const hold_place_description[] = {
    "Sets AMOUNT of the counter KEY aside, unless the value and all that is held of it "
    "would pass `--limit` together. Repeat the id when you send the same request again: "
    "the answer is `duplicate`, and nothing more is held. Nothing is counted yet. The "
    "store is created if it does not exist.",
    STANDING,
    "With `--limit 100/1mo` the limit is on what the counter gets in the present month; what is "
    "settled later belongs to that month. The store must count per that period, see `--per`.",
    "What is `limited` is not remembered: the same id may be sent again later, and then be held.",
    NULL,
};

static const struct option hold_place_options[] = {
    OPTION_DB("the folder of the store; created if it does not exist"),
    {.name = "limit",
     .is_list = true,
     .value = "LIMIT",
     .help = "what value and held may not pass together, `100`; or the same of a period, `100/1h`"},
    {.name = "lease",
     .value = "D",
     .help = "how long the amount is held at least, from 1ms to 30d; default 60s"},
    OPTION_WAIT,
    OPTIONS_LIMITS_STORE,
    OPTION_JSON(JSON_STANDING ", which is null for a limit on the total; and lease_ms, what is "
                              "left of the lease"),
    {0},
};

const struct command command_hold_place = {
    .path = "hold place",
    .summary = "set an amount aside",
    .synopses = SYNOPSES("--db DIR --limit LIMIT [--lease D] [--wait D] [--window W] [--error E] "
                         "[--scale N] [--per PERIODS] [--zone ZONE] [--keep SPEC] [--json] ID KEY "
                         "AMOUNT"),
    .description = hold_place_description,
    .options = hold_place_options,
    .examples = EXAMPLES({"Set 60 of a quota of 100 aside, for 10 minutes",
                          "lethe hold place --db quota --limit 100 --lease 10m job-1 alice 60"}),
    .exit_done = "held, or a duplicate of what was",
    .exit_negative = "limited: nothing was changed",
    .operands_least = 3,
    .operands_most = 3,
    .run = run_hold_place,
};

static const char *const hold_settle_description[] = {
    "Adds ACTUAL to the counter of a hold, once, and ends the hold. Up to the amount of "
    "the hold, that always fits. What is beyond it is judged by the limit of the hold; "
    "`--force` adds it even so, and `lethe stat` counts how often.",
    "After the end of the lease nothing is held any more. Settling is then a new take: "
    "now, under the limit of the hold.",
    STANDING,
    NULL,
};

static const struct option hold_settle_options[] = {
    OPTION_DB_STORE,
    {.name = "force", .help = "add it even if that passes the limit"},
    OPTION_WAIT,
    OPTION_JSON(JSON_STANDING),
    {0},
};

const struct command command_hold_settle = {
    .path = "hold settle",
    .summary = "count what was really used, and end a hold",
    .synopses = SYNOPSES("--db DIR [--force] [--wait D] [--json] ID ACTUAL"),
    .description = hold_settle_description,
    .options = hold_settle_options,
    .examples = EXAMPLES({"The job has used 25", "lethe hold settle --db quota job-1 25"}),
    .exit_done = "settled, or a duplicate of what was",
    .exit_negative = "limited, or there is no such hold: nothing was changed",
    .operands_least = 2,
    .operands_most = 2,
    .run = run_hold_settle,
};

static const char *const hold_release_description[] = {
    "Ends a hold of which nothing was used. A hold whose lease has ended can be released "
    "too. It cannot be settled any more. Prints the answer, a tab, and the key.",
    NULL,
};

static const struct option hold_release_options[] = {
    OPTION_DB_STORE,
    OPTION_WAIT,
    OPTION_JSON("print an object with id, answer and key"),
    {0},
};

const struct command command_hold_release = {
    .path = "hold release",
    .summary = "end a hold of which nothing was used",
    .synopses = SYNOPSES("--db DIR [--wait D] [--json] ID"),
    .description = hold_release_description,
    .options = hold_release_options,
    .examples = EXAMPLES({"The job was not run", "lethe hold release --db quota job-1"}),
    .exit_done = "released, now or before",
    .exit_negative = "there is no such hold",
    .operands_least = 1,
    .operands_most = 1,
    .run = run_hold_release,
};

static const char *const hold_list_description[] = {
    "Prints each hold that is neither settled nor released, in the order of the bytes of their "
    "ids: the id, `open` or `lapsed` (its lease has ended), the key, the amount, the limit, and "
    "how many milliseconds of the lease are left, or until one that has ended is forgotten; with "
    "tabs between them. Ids and keys are escaped.",
    "This works while other commands write to the store.",
    NULL,
};

static const struct option hold_list_options[] = {
    OPTION_DB_STORE,
    {.name = "all", .help = "print those that were settled or released as well"},
    OPTION_JSON("print one object per line, with id, state, key, amount, limit, period, wall_ms "
                "(the moment that its periods go by) and left_ms; with actual if it is settled"),
    {0},
};

const struct command command_hold_list = {
    .path = "hold list",
    .summary = "print the holds that are not settled",
    .synopses = SYNOPSES("--db DIR [--all] [--json]"),
    .description = hold_list_description,
    .options = hold_list_options,
    .examples = EXAMPLES({"See what is held", "lethe hold list --db quota"}),
    .exit_done = "success, even if there is no hold",
    .run = run_hold_list,
};
