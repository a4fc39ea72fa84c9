/* manual.c - the manual of the `lethe claim` commands. */
#include "frame/commands.h"

#define OPTION_TOKEN \
    { .name = "token", .value = "T", .help = "the token with which the claim was begun" }
#define OPTION_LEASE(what) \
    { .name = "lease", .value = "D", .help = what ", from 1ms to 30d; default 60s" }
#define OPTION_FINGERPRINT                                                                       \
    {                                                                                            \
        .name = "fingerprint", .value = "F",                                                     \
        .help = "says what the work is, such as a hash of a request: up to 255 bytes, escaped; " \
                "the same id with another fingerprint is refused"                                \
    }
#define ESCAPED_IDS                                                                          \
    "Ids, tokens and fingerprints are escaped as keys are: a backslash is `\\\\`, a tab is " \
    "`\\t`, and any byte may be `\\xHH`."

static const char *const claim_description[] = {
    "A claim is a piece of work that must happen once. Whoever is about to do it begins "
    "the claim, under an id. One caller at a time gets the answer `new` and a token, and "
    "does the work. It ends the claim with a reply, which everybody who begins the same id "
    "from then on receives.",
    "A lease says how long the holder may stay silent. When it has ended, the next one to begin "
    "the claim gets it. Until that happens, the first holder can still renew it and record its "
    "completion. Leases and the memory of completions go by the machine's own clock: setting the "
    "wall clock or restarting the machine never ends a lease early.",
    "A completion is known for as long as the store's window, 3 days in a new store, and the first "
    "one stays. One recorded completion is not one execution: a holder that lost its lease may "
    "still be at work.",
    "Claims are in a store, the folder that `lethe count` uses too. The ids of events and those of "
    "claims have nothing to do with each other. " ESCAPED_IDS,
    "Each command opens the store, and so reads every claim in it, to see that none is missing: "
    "about a microsecond for each claim that was begun or done within the window.",
    NULL,
};

const struct command command_claim = {
    .path = "claim",
    .summary = "do work once, and keep its answer",
    .synopses = SYNOPSES("COMMAND [ARGUMENT...]"),
    .description = claim_description,
    .exit_done = "success",
};

static const char *const claim_begin_description[] = {
    "Begins the claim of an id. If it is new, prints its token, which the other commands need. If "
    "the work is done, prints the reply as it is, byte by byte. In all cases other than the first "
    "the exit code is 1, and a line on standard error says why.",
    "With the token of a claim that is held already (`--token`), the answer is `new` "
    "again, so a caller that lost the first answer can ask again. A token must be one that "
    "nobody else uses. Without `--token`, a random one is made.",
    "The store is made if there is none. " ESCAPED_IDS,
    NULL,
};

static const struct option claim_begin_options[] = {
    OPTION_DB_STORE,
    {.name = "token",
     .value = "T",
     .help = "the token to hold the claim with, 1 to 255 bytes; default: a random one"},
    OPTION_FINGERPRINT,
    OPTION_LEASE("how long the claim is held without being renewed"),
    OPTION_WAIT,
    OPTION_JSON("print an object with answer (new, running, done, mismatch) and id; then token, "
                "left_ms, or reply (null if it is gone)"),
    {0},
};

const struct command command_claim_begin = {
    .path = "claim begin",
    .summary = "begin a claim, or learn that it is running or done",
    .synopses =
        SYNOPSES("--db DIR [--token T] [--fingerprint F] [--lease D] [--wait D] [--json] ID"),
    .description = claim_begin_description,
    .options = claim_begin_options,
    .examples = EXAMPLES({"Send an invoice once",
                          "token=$(lethe claim begin --db work invoice-7) && send-invoice 7 && "
                          "lethe claim done --db work --token \"$token\" invoice-7"}),
    .exit_done = "the claim is new: its token was printed, and whoever has it does the work",
    .exit_negative = "the claim is running or done, or was begun with another fingerprint",
    .operands_least = 1,
    .operands_most = 1,
    .run = run_claim_begin,
};

static const char *const claim_renew_description[] = {
    "Makes the lease of a claim last at least as long as `--lease` says, from now on. A "
    "lease is never made shorter.",
    NULL,
};

static const struct option claim_renew_options[] = {
    OPTION_DB_STORE,
    OPTION_TOKEN,
    OPTION_LEASE("how long the claim is held from now on"),
    OPTION_WAIT,
    OPTION_JSON("print an object with answer (renewed, done, lost, unknown) and id"),
    {0},
};

const struct command command_claim_renew = {
    .path = "claim renew",
    .summary = "hold a claim for longer",
    .synopses = SYNOPSES("--db DIR --token T [--lease D] [--wait D] [--json] ID"),
    .description = claim_renew_description,
    .options = claim_renew_options,
    .examples = EXAMPLES({"Hold a claim for ten more minutes",
                          "lethe claim renew --db work --token \"$token\" --lease 10m invoice-7"}),
    .exit_done = "the lease was renewed",
    .exit_negative = "the claim is done, was given to another, or is not known",
    .operands_least = 1,
    .operands_most = 1,
    .run = run_claim_renew,
};

static const char *const claim_done_description[] = {
    "Records that the work is done, with a reply of up to 1 MiB: an argument, a file or standard "
    "input, or an empty one. It is on disk when the command ends. Repeated with the same token it "
    "changes nothing, and the first reply stays.",
    NULL,
};

static const struct option claim_done_options[] = {
    OPTION_DB_STORE,
    OPTION_TOKEN,
    {.name = "reply", .value = "TEXT", .help = "the reply, as it is", .may_be_empty = true},
    {.name = "reply-file",
     .value = "FILE",
     .help = "read the reply from a file; `-` is standard input",
     .completion = COMPLETE_FILES},
    OPTION_WAIT,
    OPTION_JSON("print an object with answer (recorded, duplicate, lost, unknown) and id"),
    {0},
};

const struct command command_claim_done = {
    .path = "claim done",
    .summary = "record that the work of a claim is done",
    .synopses =
        SYNOPSES("--db DIR --token T [--reply TEXT | --reply-file FILE] [--wait D] [--json] ID"),
    .description = claim_done_description,
    .options = claim_done_options,
    .examples = EXAMPLES({"Keep what a command printed",
                          "make-report | lethe claim done --db work --token \"$token\" "
                          "--reply-file - report-7"}),
    .exit_done = "the completion is recorded, by this run or by an earlier one",
    .exit_negative = "the claim was given to another, or is not known",
    .operands_least = 1,
    .operands_most = 1,
    .run = run_claim_done,
};

static const char *const claim_abort_description[] = {
    "Gives a claim up. Whoever comes next can begin it at once.",
    NULL,
};

static const struct option claim_abort_options[] = {
    OPTION_DB_STORE,
    OPTION_TOKEN,
    OPTION_WAIT,
    OPTION_JSON("print an object with answer (aborted, done, lost, unknown) and id"),
    {0},
};

const struct command command_claim_abort = {
    .path = "claim abort",
    .summary = "give a claim up",
    .synopses = SYNOPSES("--db DIR --token T [--wait D] [--json] ID"),
    .description = claim_abort_description,
    .options = claim_abort_options,
    .examples = EXAMPLES(
        {"Let somebody else try", "lethe claim abort --db work --token \"$token\" invoice-7"}),
    .exit_done = "nobody holds the claim any more",
    .exit_negative = "the claim is done, was given to another, or is not known",
    .operands_least = 1,
    .operands_most = 1,
    .run = run_claim_abort,
};

static const char *const claim_list_description[] = {
    "Prints each open claim, in the order of the bytes of their ids: the id, `running` or `lapsed` "
    "(its lease has ended), how many milliseconds of the lease are left, or until a lapsed one is "
    "forgotten, and the token, with tabs between them. Ids and tokens are escaped.",
    "This works while other commands write to the store.",
    NULL,
};

static const struct option claim_list_options[] = {
    OPTION_DB_STORE,
    {.name = "all", .help = "print those that are done as well"},
    OPTION_JSON("print one object per line, with id, state, left_ms, token and fingerprint; with "
                "reply_bytes and reply_gone if it is done"),
    {0},
};

const struct command command_claim_list = {
    .path = "claim list",
    .summary = "print the claims that are not done",
    .synopses = SYNOPSES("--db DIR [--all] [--json]"),
    .description = claim_list_description,
    .options = claim_list_options,
    .examples = EXAMPLES({"See what is under way", "lethe claim list --db work"}),
    .exit_done = "success, even if there is no claim",
    .run = run_claim_list,
};

static const char *const claim_run_description[] = {
    "Runs a command once for an id. Its standard output is passed on and kept, with its exit "
    "status, as the reply of the claim. Another run with the same id, within the store's window, "
    "does not run the command: it prints the same output and ends with the same status.",
    "While the command runs, its lease is renewed. If somebody else is running the "
    "command, this one ends at once, with the status of `--busy-code`.",
    "A command that fails has run, and its status is kept; with `--abort-on-failure` the claim is "
    "given up instead, and the next run tries again. A command that was ended by a signal was not "
    "done: its claim is always given up. SIGINT, SIGTERM and SIGHUP are passed on to the command; "
    "if "
    "it then ends by itself, its status is kept as without the signal. "
    "If `lethe claim run` itself is killed, the command gets SIGTERM, and the claim can be begun "
    "again when its lease has ended.",
    "The first MiB of the output is kept, minus 25 bytes. Standard error is passed on, and "
    "not kept. The reply is a line with the status and the size of the output, followed by "
    "the output.",
    NULL,
};

static const struct option claim_run_options[] = {
    OPTION_DB_STORE,
    {.name = "abort-on-failure",
     .help = "give the claim up if the command ends with a status other than 0"},
    {.name = "busy-code",
     .value = "N",
     .help = "the exit code when the command was not run because somebody else runs it, from 1 to "
             "255; default 1"},
    OPTION_FINGERPRINT,
    OPTION_LEASE("how long after a kill the claim can be begun again"),
    {.name = "token",
     .value = "T",
     .help = "the token to hold the claim with, 1 to 255 bytes; default: a random one"},
    OPTION_WAIT,
    {0},
};

const struct command command_claim_run = {
    .path = "claim run",
    .summary = "run a command once, and keep what it printed",
    .synopses = SYNOPSES("--db DIR [--abort-on-failure] [--busy-code N] [--fingerprint F] "
                         "[--lease D] [--token T] [--wait D] ID -- COMMAND [ARGUMENT...]"),
    .description = claim_run_description,
    .options = claim_run_options,
    .examples = EXAMPLES({"Make today's backup once, whichever machine's timer comes first",
                          "lethe claim run --db jobs \"backup-$(date +%F)\" -- make-backup"}),
    .exit_done = "the command ended with 0, now or in an earlier run; otherwise its own status",
    .exit_negative = "somebody else runs it (see `--busy-code`), or the command ended with 1",
    .operands_least = 2,
    .operands_most = OPERANDS_UNLIMITED,
    .run = run_claim_run,
};
