/* module/command/common.c - descriptions of the commands that every type has under its own
 * prefix. */
#include "change/change.h"
#include "change/repeat.h"
#include "command/command.h"
#include "command/info.h"
#include "server/errors.h"
#include "value/transfer.h"

const struct command common_commands[] = {
    {
        .name = "{create}", /* the type's word, and its options: list.c */
        .function = create_command,
        .flags = "write",
        .arity = -2,
        ONE_KEY(KEY_CREATES),
        .since = "0.1.0",
        .summary = "Makes an empty {noun} with options of its own",
        .complexity = "O(size)",
        .replies = REPLIES({.when = "made", .resp2 = "OK"}),
        .errors = ERRORS(
            {ERROR_EXISTS, "There is a {noun} under the key"},
            {ERROR_OPTIONS("...", "..."), "A word is not an option, or has no value"},
            {ERROR_VALUE("...", "NAME", "..."),
             "A value is out of the range of its option; the error names both"},
            {ERROR_CONTRADICTION("..."),
             "Options are each in range but not together; the error names them"},
            {ERROR_OPTION, "The same, in a way that it can't name"},
            {ERROR_NO_ROOM,
             "MAXMEMORY, which only windows have, is too small for the other options"},
            {ERROR_PLAN_TOO_LARGE("{noun}", "n", "n"), "It would be larger than a value may be"},
            {ERROR_PLAN_NO_MEMORY("{noun}", "n", "n"), "It would not fit into maxmemory"},
            {ERROR_SERVER_MEMORY, "The server has used up its memory"}),
        .details =
            "A {noun} that does not exist is also made by the first command that adds to it, "
            "with the defaults.",
        .example = "> {prefix}.{create} a SEED 7\n"
                   "OK\n"
                   "> {prefix}.{create} a\n"
                   "(error) BUSYKEY the {noun} exists already\n",
    },
    {
        .name = "INFO",
        .function = info_command,
        .flags = "readonly",
        .arity = 2,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Reports the state of a {noun}",
        .complexity = "O(1)",
        .arguments = ARGUMENTS(ARGUMENT_KEY("key", "The key of the {noun}")),
        .replies = REPLIES({.when = "always",
                            .resp2 = "array of names and values in turn; fractions are strings",
                            .resp3 = "map of names to values; fractions are doubles"}),
        .errors = ERRORS({ERROR_NO_VALUE, "There is no such key"}),
        .example = "> {prefix}.{create} a\n"
                   "OK\n"
                   "> {prefix}.INFO a\n"
                   "...\n"
                   "> {prefix}.INFO none\n"
                   "(error) ERR no such {noun}\n",
    },
    {
        .name = "DUMP",
        .function = dump_command,
        .flags = "readonly",
        .arity = 3,
        ONE_KEY(KEY_READS),
        .is_dangerous = true,
        .since = "0.1.0",
        .summary = "Returns one piece of a saved {noun}, for {prefix}.LOAD",
        .complexity = "O(size) for piece 0, O(1) for the others",
        .arguments =
            ARGUMENTS(ARGUMENT_KEY("key", "The key of the {noun}"), {.name = "number",
                                                                     .type = REDIS_ARGUMENT_INTEGER,
                                                                     .meaning = "Which piece",
                                                                     .limits = &range_piece}),
        .replies =
            REPLIES({.when = "there is such a piece",
                     .resp2 = "array: number, 1 if it is the last or 0, data"},
                    {.when = "no such key, or no such piece", .resp2 = "nil", .resp3 = "null"}),
        .errors = ERRORS({ERROR_DUMP_GONE, "Nobody has asked for a minute, or for piece 0"},
                         {ERROR_DUMP_BUSY, "Another value is being dumped"},
                         {ERROR_NO_MEMORY, "There is no memory for a copy of the value"}),
        .details =
            "A {noun} of any size can be carried elsewhere in pieces of 1 MiB. Piece 0 saves the "
            "whole of it in memory. The other pieces show it at that moment, whatever is written "
            "meanwhile. What was saved is kept until the last piece was asked for, or for a "
            "minute; there is one such dump at a time.",
        .example =
            "> {prefix}.DUMP none 0\n"
            "(nil)\n"
            "> {prefix}.DUMP none -1\n"
            "(error) ERR the value '-1' of number is out of its range: 0 to 9223372036854775807\n",
    },
    {
        .name = "LOAD",
        .function = load_command,
        .flags = "write deny-oom",
        .arity = 5,
        ONE_KEY(KEY_CHANGES),
        .is_dangerous = true,
        .since = "0.1.0",
        .summary = "Loads one piece of a {noun} that {prefix}.DUMP returned",
        .complexity = "O(size) for the last piece, O(1) for the others",
        .arguments =
            ARGUMENTS(ARGUMENT_KEY("key", "A key that does not exist, or that holds the earlier "
                                          "pieces"),
                      {.name = "number",
                       .type = REDIS_ARGUMENT_INTEGER,
                       .meaning = "The number of the piece, in order",
                       .limits = &range_piece},
                      {.name = "last",
                       .type = REDIS_ARGUMENT_INTEGER,
                       .meaning = "Whether it is the last",
                       .limits = &range_last},
                      {.name = "data",
                       .type = REDIS_ARGUMENT_STRING,
                       .meaning = "The piece",
                       .range = "1 MiB, or 1 byte to 1 MiB and 8 bytes if it is the last"}),
        .replies = REPLIES({.when = "the piece was taken", .resp2 = "OK"}),
        .errors = ERRORS({ERROR_PIECE_SIZE, "The piece is larger or smaller than it may be"},
                         {ERROR_PIECE_ORDER, "A piece is missing, or was sent already"},
                         {ERROR_BUSY_KEY, "The key holds a whole value"},
                         {ERROR_PIECES, "The checksum is wrong, or the type"},
                         {ERROR_SERVER_MEMORY, "The server has used up its memory"}),
        .details = "Until the last piece has come, other commands on the key fail with PARTIAL. "
                   "The pieces survive a restart. When the server rewrites its log, it writes "
                   "values as LOAD commands.",
        .example = "> {prefix}.LOAD a 0 1 nonsense\n"
                   "(error) ERR the pieces are not a saved value of this type; they were dropped\n",
    },
    {
        .name = "EFFECT",
        .function = effect_command,
        .flags = "write",
        .arity = 3,
        ONE_KEY(KEY_CHANGES),
        .is_dangerous = true,
        .since = "0.1.0",
        .summary = "Internal: what a master did, for its replicas and its log",
        .complexity = "O(size of the effect)",
        .arguments = ARGUMENTS(
            ARGUMENT_KEY("key", "The key of the {noun}"),
            {.name = "data", .type = REDIS_ARGUMENT_STRING, .meaning = "The time and the steps"}),
        .replies = REPLIES({.when = "done", .resp2 = "OK"}),
        .errors = ERRORS({ERROR_EFFECT_CLIENT, "A client sent it"},
                         {ERROR_EFFECT_VERSION, "A newer module sent it"},
                         {ERROR_EFFECT, "Its steps are not valid for this key"},
                         {ERROR_EFFECT_MEMORY, "A replica has less memory than its master"}),
        .details = "docs/format/module.md has every byte.",
        .example = "> {prefix}.EFFECT a data\n"
                   "(error) ERR effects are accepted from a master or the log only\n",
    },
    {.name = NULL},
};

const struct command merge_commands[] = {
    {
        .name = "MERGE",
        .function = merge_command,
        .flags = "write deny-oom",
        .arity = 3,
        .key_flags = KEY_MERGES,
        .first_key = 1,
        .last_key = 2,
        .since = "0.1.0",
        .summary = "Adds all that another {noun} holds",
        .complexity = "O(size of the other)",
        .arguments = ARGUMENTS(ARGUMENT_KEY("into", "The {noun} that is changed"),
                               ARGUMENT_KEY("from", "The {noun} that is added")),
        .replies = REPLIES({.when = "merged", .resp2 = "OK"}),
        .errors =
            ERRORS({ERROR_MERGE_SELF, "Both keys are the same"},
                   {ERROR_MERGE_INTO, "There is no first key"},
                   {ERROR_MERGE_FROM, "There is no second key"},
                   {ERROR_MISMATCH, "They were not made with the same SEED and shape"},
                   {ERROR_FULL, "All of it would not fit"}, {ERROR_NO_MEMORY, "There is no memory"},
                   {ERROR_SERVER_MEMORY, "The server has used up its memory"}),
        .details =
            "Both must have been made with the same SEED and the same shape. Where values have a "
            "clock, as FBF has, the later of the two holds from then on. The other {noun} is not "
            "changed.",
        .example = "> {prefix}.{create} a SEED 7\n"
                   "OK\n"
                   "> {prefix}.{create} b SEED 7\n"
                   "OK\n"
                   "> {prefix}.MERGE a b\n"
                   "OK\n"
                   "> {prefix}.MERGE a none\n"
                   "(error) ERR no such {noun} to merge from\n",
    },
    {.name = NULL},
};
