/* options.h - options that several families of commands share: described once, alike everywhere. */
#ifndef LETHE_CLI_FRAME_OPTIONS_H
#define LETHE_CLI_FRAME_OPTIONS_H

#include "frame/command.h"

/* clang-format off: one field per line */
#define OPTION_QUIET                                                         \
    {                                                                        \
        .name = "quiet", .letter = 'q',                                      \
        .help = "print no progress and no summary, only warnings and errors" \
    }

#define OPTION_BINARY                                                                        \
    {                                                                                        \
        .name = "binary",                                                                    \
        .help = "read input that is not text, such as a program or an archive, all the same" \
    }

#define OPTION_JSON(what) \
    { .name = "json", .help = what }
#define OPTION_JSON_SUMMARY OPTION_JSON("print the summary as JSON on standard output")
#define OPTION_JSON_OBJECT OPTION_JSON("print one JSON object instead")

#define OPTION_OUT(letter_of_file, what) \
    { .name = "out", .value = letter_of_file, .help = what, .completion = COMPLETE_FILES }

#define OPTION_SEED(what)                                                                  \
    {                                                                                      \
        .name = "seed", .value = "S",                                                      \
        .help = "the key of the hash, decimal or 0x...; only " what " with the same seed " \
                "can be merged; the default is the same for all"                           \
    }

#define OPTION_DB(what) \
    { .name = "db", .value = "DIR", .help = what, .completion = COMPLETE_FILES }
#define OPTION_DB_STORE OPTION_DB("the folder of the store")

/* Of commands that keep limits: what a store is made with. */
#define OPTIONS_LIMITS_STORE                                                                       \
    {.name = "window",                                                                             \
     .value = "W",                                                                                 \
     .help = "how long duplicates are recognised, from 1s to 30d; default: as the store was last " \
             "opened, or 3d for a new store"},                                                     \
        {.name = "error",                                                                          \
         .value = "E",                                                                             \
         .help =                                                                                   \
             "the probability that a fresh id is taken for a duplicate, which then is granted "    \
             "and takes nothing, from 1e-12 to 0.1; default: as before, or 1e-12"},                \
        {.name = "scale",                                                                          \
         .value = "N",                                                                             \
         .help = "for a new store: how many digits after the point its values have; default 0"},   \
        {.name = "per",                                                                            \
         .value = "PERIODS",                                                                       \
         .is_list = true,                                                                          \
         .help = "count per period as well, `1m,1mo`; later runs may leave it out; see "           \
                 "lethe-count(1)"},                                                                \
        {.name = "zone",                                                                           \
         .value = "ZONE",                                                                          \
         .help = "with a new `--per`: the zone of days and longer periods; default UTC"},          \
    {                                                                                              \
        .name = "keep", .value = "SPEC", .is_list = true,                                          \
        .help = "how long to keep periods, such as `1m=1h`"                                        \
    }
#define OPTION_WAIT                                                                       \
    {                                                                                     \
        .name = "wait", .value = "D",                                                     \
        .help = "how long to wait while another process writes to the store; default 10s" \
    }

/* Where counters in a server are, and how it is reached. */
#define OPTIONS_REDIS                                                                            \
    {.name = "redis",                                                                            \
     .value = "URL",                                                                             \
     .help = "instead of `--db`: a server that has loaded the module lethe.so, or some nodes "   \
             "of a cluster of such servers, as "                                                 \
             "`redis://[user@]host:port[,host:port...][/database]`, or `rediss://...` for TLS"}, \
        {.name = "table", .value = "T", .help = "with `--redis`: the name of the table"},        \
        {.name = "user",                                                                         \
         .value = "NAME",                                                                        \
         .help = "with `--redis`: the server's user; also possible in the URL"},                 \
        {.name = "password-file",                                                                \
         .value = "FILE",                                                                        \
         .completion = COMPLETE_FILES,                                                           \
         .help = "with `--redis`: a file with the password, in one line; without it, the "       \
                 "password is in the environment variable `LETHE_REDIS_PASSWORD` or "            \
                 "`REDISCLI_AUTH`"},                                                             \
        {.name = "tls-ca",                                                                       \
         .value = "PATH",                                                                        \
         .completion = COMPLETE_FILES,                                                           \
         .help = "with `rediss://`: the certificates of the authorities to trust, a file (PEM) " \
                 "or a folder as `openssl rehash` leaves it; default: the system's"},            \
        {.name = "tls-cert",                                                                     \
         .value = "FILE",                                                                        \
         .completion = COMPLETE_FILES,                                                           \
         .help = "with `rediss://`: the client's certificate, for servers that want one (PEM)"}, \
        {.name = "tls-key",                                                                      \
         .value = "FILE",                                                                        \
         .completion = COMPLETE_FILES,                                                           \
         .help = "with `--tls-cert`: its private key (PEM), without a pass phrase"},             \
    {                                                                                            \
        .name = "tls-name", .value = "NAME",                                                     \
        .help = "with `rediss://`: the name that the servers' certificates are for; default: "   \
                "the host that each server is reached by"                                        \
    }

#define SYNOPSIS_REDIS                                                                             \
    "--redis URL --table T [--user NAME] [--password-file FILE] [--tls-ca PATH] [--tls-cert FILE " \
    "--tls-key FILE] [--tls-name NAME] "
/* clang-format on */

#endif
