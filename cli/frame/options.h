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

#define OPTION_REDIS                                                                              \
    {                                                                                             \
        .name = "redis", .value = "URL",                                                          \
        .help = "instead of `--db`: a server that has loaded the module lethe.so, or some nodes " \
                "of a cluster of such servers, as "                                               \
                "`redis://[user:password@]host:port[,host:port...]`; the password may also be "   \
                "in the environment variable `REDISCLI_AUTH`"                                     \
    }

#define OPTION_TABLE \
    { .name = "table", .value = "T", .help = "with `--redis`: the name of the table" }
/* clang-format on */

#endif
