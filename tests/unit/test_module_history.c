/* Goal:   what a command's description says of its history is what COMMAND DOCS is given.
 * Method: a type with commands of its own is registered with functions that stand for the server's
 *         and write down what they are told. */
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "value/value.h"

enum { TOLD_LIMIT = 40, TOLD_BYTES = 4096 };

/* The histories that the server was told, by the order of the commands: "0.2.0: changes\n...". */
static struct {
    char names[TOLD_LIMIT][COMMAND_NAME_BYTES];
    char histories[TOLD_LIMIT][TOLD_BYTES];
    size_t count;
} told;

static int create_command(redis_context *context, const char *name,
                          redis_command_function *function, const char *flags, int first_key,
                          int last_key, int key_step) {
    (void)context, (void)function, (void)flags, (void)first_key, (void)last_key, (void)key_step;
    assert_true(told.count < TOLD_LIMIT);
    snprintf(told.names[told.count++], COMMAND_NAME_BYTES, "%s", name);
    return REDIS_OK;
}

static redis_command *get_command(redis_context *context, const char *name) {
    (void)context, (void)name;
    return (redis_command *)&told;
}

static int set_command_info(redis_command *command, const redis_command_info *info) {
    (void)command;
    char *text = told.histories[told.count - 1];
    size_t used = 0;
    const redis_history *entry = info->history;
    for (; entry != NULL && entry->since != NULL; entry++) {
        used += (size_t)snprintf(text + used, TOLD_BYTES - used, "%s: %s\n", entry->since,
                                 entry->changes);
        assert_true(used < TOLD_BYTES);
    }
    text[used] = '\0';
    return REDIS_OK;
}

static void say_nothing(redis_context *context, const char *level, const char *format, ...) {
    (void)context, (void)level, (void)format;
}

/* Registers a type that has one command of its own, with this history. */
static bool registers(const redis_history *history) {
    const struct option options[] = {{.token = NULL}};
    const struct command commands[] = {
        {.name = "COMMAND",
         .flags = "readonly",
         .arity = 2,
         ONE_KEY(KEY_READS),
         .since = "0.1.0",
         .history = history,
         .summary = "Does something",
         .complexity = "O(1)",
         .arguments = ARGUMENTS(ARGUMENT_KEY("key", "The key")),
         .replies = REPLIES({"always", "OK", NULL})},
        {.name = NULL},
    };
    const struct value_type type = {.prefix = "T",
                                    .noun = "thing",
                                    .item = "item",
                                    .create_word = "RESERVE",
                                    .options = options,
                                    .commands = {commands}};
    memset(&told, 0, sizeof told);
    redis.CreateCommand = create_command;
    redis.GetCommand = get_command;
    redis.SetCommandInfo = set_command_info;
    redis.Log = say_nothing;
    return commands_register(NULL, &type);
}

static const char *history_of(const char *name) {
    for (size_t i = 0; i < told.count; i++) {
        if (strcmp(told.names[i], name) == 0) return told.histories[i];
    }
    fail_msg("there is no command %s", name);
    return NULL;
}

static void a_command_without_changes_has_no_history(void **state) {
    (void)state;
    assert_true(registers(NULL));
    assert_string_equal(history_of("T.COMMAND"), "");
    assert_string_equal(history_of("T.RESERVE"), "");
}

static void changes_are_told_in_their_order(void **state) {
    (void)state;
    assert_true(registers(HISTORY({"0.2.0", "Takes NOCREATE"}, {"1.0.0", "Makes a {noun}"})));
    assert_string_equal(history_of("T.COMMAND"), "0.2.0: Takes NOCREATE\n1.0.0: Makes a thing\n");
    assert_string_equal(history_of("T.RESERVE"), "");
}

static void a_history_that_is_too_long_is_noticed(void **state) {
    (void)state;
    redis_history entries[18] = {{NULL, NULL}};
    for (unsigned i = 0; i < 16; i++)
        entries[i] = (redis_history){"1.0.0", "Changed"};
    assert_true(registers(entries));
    assert_int_equal(strlen(history_of("T.COMMAND")), 16 * strlen("1.0.0: Changed\n"));
    entries[16] = entries[0];
    assert_false(registers(entries));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_without_changes_has_no_history),
        cmocka_unit_test(changes_are_told_in_their_order),
        cmocka_unit_test(a_history_that_is_too_long_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
