/* module/types/filter_commands.c - descriptions of the commands that all filters have. */
#include "server/errors.h"
#include "types/filter.h"

#define FILTER ARGUMENT_KEY("key", "The key of the {noun}")
#define ITEM \
    { .name = "item", .type = REDIS_ARGUMENT_STRING, .meaning = "The item" }
#define ITEMS                                                                            \
    {                                                                                    \
        .name = "item", .type = REDIS_ARGUMENT_STRING, .flags = REDIS_ARGUMENT_MULTIPLE, \
        .meaning = "An item"                                                             \
    }

#define ADD_ERRORS                                                                            \
    {ERROR_FULL, "The {noun} has no room"}, {ERROR_TOO_LARGE, "The {noun} may not grow"},     \
        {ERROR_NO_MEMORY_LEFT, "The {noun} has to grow, and that much memory is not left"}, { \
        ERROR_SERVER_MEMORY, "The server has used up its memory"                              \
    }

const struct command filter_commands[] = {
    {
        .name = "ADD",
        .function = filter_add,
        .flags = "write deny-oom fast",
        .arity = 3,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Adds an item",
        .complexity = "O(1)",
        .arguments = ARGUMENTS(FILTER, ITEM),
        .replies =
            REPLIES({.when = "it was not there", .resp2 = "1", .resp3 = "true"},
                    {.when = "it was there already, or seems so", .resp2 = "0", .resp3 = "false"}),
        .errors = ERRORS(ADD_ERRORS),
        .details =
            "A {noun} that does not exist is made with the defaults. An item that was never added "
            "is reported as there already with the false-positive rate of the {noun}.",
        .example = "> {prefix}.ADD a apple\n"
                   "(integer) 1\n"
                   "> {prefix}.ADD a apple\n"
                   "(integer) 0\n",
    },
    {
        .name = "MADD",
        .function = filter_madd,
        .flags = "write deny-oom fast",
        .arity = -3,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Adds items",
        .complexity = "O(number of items)",
        .arguments = ARGUMENTS(FILTER, ITEMS),
        .replies =
            REPLIES({.when = "always",
                     .resp2 = "array: per item 1 if it was not there, 0 if it was, or an error",
                     .resp3 = "array: per item true if it was not there, false if it was, or an "
                              "error"}),
        .errors = ERRORS(ADD_ERRORS),
        .details = "As {prefix}.ADD for each item, and faster. Where the {noun} has no room for "
                   "all, those "
                   "that were not added are answered with an error.",
        .example = "> {prefix}.MADD a apple pear apple\n"
                   "1) (integer) 1\n"
                   "2) (integer) 1\n"
                   "3) (integer) 0\n",
    },
    {
        .name = "TEST",
        .function = filter_test,
        .flags = "readonly fast",
        .arity = 3,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Reports whether an item is there",
        .complexity = "O(1)",
        .arguments = ARGUMENTS(FILTER, ITEM),
        .replies =
            REPLIES({.when = "it is there, or seems so", .resp2 = "1", .resp3 = "true"},
                    {.when = "it is not, or there is no such key", .resp2 = "0", .resp3 = "false"}),
        .details =
            "An item that was never added is reported with the false-positive rate of the {noun}; "
            "one that was added always is.",
        .example = "> {prefix}.ADD a apple\n"
                   "(integer) 1\n"
                   "> {prefix}.TEST a apple\n"
                   "(integer) 1\n"
                   "> {prefix}.TEST none apple\n"
                   "(integer) 0\n",
    },
    {
        .name = "MTEST",
        .function = filter_mtest,
        .flags = "readonly fast",
        .arity = -3,
        ONE_KEY(KEY_READS),
        .since = "0.1.0",
        .summary = "Reports whether items are there",
        .complexity = "O(number of items)",
        .arguments = ARGUMENTS(FILTER, ITEMS),
        .replies = REPLIES({.when = "always",
                            .resp2 = "array: per item 1 if it is there, or 0",
                            .resp3 = "array: per item true if it is there, or false"}),
        .details = "As {prefix}.TEST for each item, and faster.",
        .example = "> {prefix}.RESERVE a SEED 7\n"
                   "OK\n"
                   "> {prefix}.ADD a apple\n"
                   "(integer) 1\n"
                   "> {prefix}.MTEST a apple pear\n"
                   "1) (integer) 1\n"
                   "2) (integer) 0\n",
    },
    {.name = NULL},
};

const struct command filter_removals[] = {
    {
        .name = "REMOVE",
        .function = filter_remove,
        .flags = "write fast",
        .arity = 3,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Removes an item that was added",
        .complexity = "O(1)",
        .arguments = ARGUMENTS(FILTER, ITEM),
        .replies = REPLIES({.when = "removed", .resp2 = "1", .resp3 = "true"},
                           {.when = "it was not there", .resp2 = "0", .resp3 = "false"}),
        .details =
            "An item that was added twice is there until it was removed twice. To remove one that "
            "was never added may remove another, with the false-positive rate of the {noun}.",
        .example = "> {prefix}.ADD a apple\n"
                   "(integer) 1\n"
                   "> {prefix}.REMOVE a apple\n"
                   "(integer) 1\n"
                   "> {prefix}.REMOVE a apple\n"
                   "(integer) 0\n",
    },
    {
        .name = "MREMOVE",
        .function = filter_mremove,
        .flags = "write fast",
        .arity = -3,
        ONE_KEY(KEY_CHANGES),
        .since = "0.1.0",
        .summary = "Removes items that were added",
        .complexity = "O(number of items)",
        .arguments = ARGUMENTS(FILTER, ITEMS),
        .replies = REPLIES({.when = "always",
                            .resp2 = "array: per item 1 if removed, or 0",
                            .resp3 = "array: per item true if removed, or false"}),
        .details = "As {prefix}.REMOVE for each item, and faster.",
        .example = "> {prefix}.MADD a apple pear\n"
                   "1) (integer) 1\n"
                   "2) (integer) 1\n"
                   "> {prefix}.MREMOVE a pear pear\n"
                   "1) (integer) 1\n"
                   "2) (integer) 0\n",
    },
    {.name = NULL},
};
