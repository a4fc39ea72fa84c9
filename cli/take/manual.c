/* manual.c - the manual of `lethe take` and `lethe give-up`. */
#include "frame/commands.h"

static const char *const take_description[] = {
    "Adds AMOUNT to the counter KEY, unless that would raise it above `--limit`, and remembers ID, "
    "in one step. The sender makes up the id, and repeats it when it sends the same request again: "
    "within the window, that is a duplicate, which takes nothing. The store is created if it does "
    "not exist.",
    "Prints the outcome (`applied`, `duplicate` or `limited`), the key, the value that the limit "
    "is on, what is left until the limit, and in how many milliseconds the period ends, or `-` for "
    "a limit on the total; with tabs between them. A duplicate has what it took when it was first "
    "sent. Of several limits, the line is about the one that refuses for longest or, if none does, "
    "about the one that leaves least.",
    "A limit belongs to the command, not to the store: it may be another one each time. A negative "
    "AMOUNT gives back; only `--min` limits that. `--limit` or `--min` must be given, or both.",
    "Only one process writes a store at a time. Where many processes take, use a server "
    "(`--redis`), or a program with the C library.",
    NULL,
};

static const char *const take_periods[] = {
    "`--limit 10/1m` is a limit on what the counter gets in the present minute, by this machine's "
    "clock. The store must count per that period: give `--per 1m` when it is created, or later. "
    "`--limit 10/1m,1000/1mo` are two limits, and all must hold. Around the border of two periods, "
    "twice the limit fits: all of it at the end of one, and again at the beginning of the next.",
    "If the clock is set back, an earlier period goes on where it was. If `--keep` has dropped "
    "that period meanwhile, every increase is limited until the clock is right again, and with "
    "`--min` every decrease.",
    NULL,
};

static const char *const take_refusals[] = {
    "What is limited is not remembered: the same id may be sent again later, and then be "
    "applied. So may an attempt that was delayed on its way. A caller that gives up says "
    "so with `lethe give-up`.",
    NULL,
};

static const struct section take_sections[] = {
    {"Periods", take_periods},
    {"Refusals", take_refusals},
    {0},
};

static const struct option take_options[] = {
    OPTION_DB("the folder of the store; created if it does not exist"),
    OPTIONS_REDIS,
    {.name = "limit",
     .is_list = true,
     .value = "LIMITS",
     .help = "what the counter may not be raised above, `100`; or its count per period, `100/1h`; "
             "several with commas between them, 8 at most"},
    {.name = "min",
     .is_list = true,
     .value = "LIMITS",
     .help = "what the counter may not be lowered below, by a negative AMOUNT; likewise"},
    OPTIONS_LIMITS_STORE,
    OPTION_JSON("print an object with id, outcome, key, value, left and resets_ms, which is null "
                "for a limit on the total"),
    {0},
};

const struct command command_take = {
    .path = "take",
    .summary = "add to a counter unless that would pass a limit",
    .synopses = SYNOPSES("--db DIR --limit LIMITS|--min LIMITS [--window W] [--error E] "
                         "[--scale N] [--per PERIODS] [--zone ZONE] [--keep SPEC] [--json] ID KEY "
                         "AMOUNT",
                         SYNOPSIS_REDIS "--limit LIMITS|--min LIMITS [--json] ID KEY AMOUNT"),
    .description = take_description,
    .options = take_options,
    .sections = take_sections,
    .examples = EXAMPLES({"Take one of a hundred, once however often this is repeated",
                          "lethe take --db quota --limit 100 request-1 alice 1"},
                         {"At most 10 a minute and 1000 a month",
                          "lethe take --db quota --per 1m,1mo --limit 10/1m,1000/1mo request-1 "
                          "alice 1"},
                         {"Pay from an account that may not go below zero",
                          "lethe take --db accounts --scale 2 --min 0 order-7 alice -19.99"}),
    .exit_done = "applied, or a duplicate of what was",
    .exit_negative = "limited: nothing was changed",
    .operands_least = 3,
    .operands_most = 3,
    .run = run_take,
};

static const char *const give_up_description[] = {
    "Remembers ids without counting anything. A request that was limited is not "
    "remembered, so an attempt that was delayed on its way may be applied later. A caller "
    "that gives up, and has turned the user away, says so with this command.",
    "Prints for each id the outcome, a tab, and the id. `given up`: it was not applied, and can't "
    "be any more within the window. `duplicate`: it was applied, or given up before. If it was "
    "applied, give back what it took, under a new id. A store with `--check-payload` knows which: "
    "it prints `applied` for the first, and `duplicate` for the second.",
    "With `--redis` the command is sent again when the connection is lost before the answer. If "
    "the "
    "first attempt had arrived, the second finds the id given up, and `duplicate` is printed. So "
    "`duplicate` does not prove that it was applied.",
    "A store that goes by the time of its events refuses this: giving up has no time.",
    NULL,
};

static const struct option give_up_options[] = {
    OPTION_DB_STORE,
    OPTIONS_REDIS,
    OPTION_JSON("print one object per line, with id and outcome"),
    {0},
};

const struct command command_give_up = {
    .path = "give-up",
    .summary = "remember ids, so that no delayed attempt is applied",
    .synopses = SYNOPSES("--db DIR [--json] ID...", SYNOPSIS_REDIS "[--json] ID..."),
    .description = give_up_description,
    .options = give_up_options,
    .examples =
        EXAMPLES({"Give up a request that was limited", "lethe give-up --db quota request-2"}),
    .exit_done = "all of them were given up",
    .exit_negative = "at least one was applied, or given up before",
    .operands_least = 1,
    .operands_most = OPERANDS_UNLIMITED,
    .run = run_give_up,
};
