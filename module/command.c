/* module/command.c - commands: how they are described to the server, and what they have in common. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "frame.h"

static const redis_command_info_version info_version = {
    .version = 1,
    .history_bytes = sizeof(redis_history),
    .key_spec_bytes = sizeof(redis_key_spec),
    .argument_bytes = sizeof(redis_argument),
};

/* name is the whole one, with the prefix. */
static bool describe(redis_context *context, const char *name, const struct command *command) {
    redis_command *created = redis.GetCommand(context, name);
    if (created == NULL) return false;
    bool has_unknown_keys = strstr(command->flags, "getkeys-api") != NULL;
    bool is_merge = command->key_flags == KEY_MERGES;
    int last_key = is_merge ? command->first_key : command->last_key;
    redis_key_spec specs[3] = {
        {
            .flags = is_merge ? KEY_CHANGES : (uint64_t)command->key_flags,
            .search = REDIS_SEARCH_INDEX,
            .begin.index.position = command->first_key,
            .find = REDIS_FIND_RANGE,
            .keys.range = {last_key == -1 ? -1 : last_key - command->first_key, 1, 0},
        },
    };
    if (is_merge) {
        specs[1] = (redis_key_spec){
            .flags = KEY_READS,
            .search = REDIS_SEARCH_INDEX,
            .begin.index.position = command->last_key,
            .find = REDIS_FIND_RANGE,
            .keys.range = {0, 1, 0},
        };
    }
    if (has_unknown_keys) {
        /* The keys of the command that is called: only it knows them. */
        specs[1] = (redis_key_spec){
            .flags = REDIS_KEY_READ_WRITE | REDIS_KEY_UPDATE | REDIS_KEY_INCOMPLETE,
            .search = REDIS_SEARCH_INDEX,
            .begin.index.position = 3,
            .find = REDIS_FIND_UNKNOWN,
        };
    }
    redis_command_info info = {
        .version = &info_version,
        .summary = command->summary,
        .complexity = command->complexity,
        .since = LETHE_VERSION,
        .arity = command->arity,
        .key_specs = specs,
        .arguments = command->arguments,
    };
    return redis.SetCommandInfo(created, &info) == REDIS_OK;
}

/* Those that change what is remembered, or carry all of it away. */
static bool is_dangerous(const struct command *command) {
    static const char *const names[] = {"DUMP", "EFFECT", "FORGET", "LOAD"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(command->name, names[i]) == 0) return true;
    }
    return false;
}

/* What ACL rules like +@write and -@dangerous mean here: docs/acl.md. A server that is too old for it ignores it, and needs
 * rules by name. */
static bool categorize(redis_context *context, const char *name, const struct command *command) {
    if (redis.SetCommandACLCategories == NULL) return true;
    bool is_write = strstr(command->flags, "write") != NULL;
    bool is_fast = strstr(command->flags, "fast") != NULL;
    char categories[64];
    snprintf(categories, sizeof categories, "%s %s%s", is_write ? "write" : "read",
             is_fast ? "fast" : "slow", is_dangerous(command) ? " dangerous" : "");
    return redis.SetCommandACLCategories(redis.GetCommand(context, name), categories) == REDIS_OK;
}

static bool register_table(redis_context *context, const struct value_type *type,
                           const struct command *table) {
    for (const struct command *command = table; command->name != NULL; command++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%s", type->prefix, command->name);
        if (redis.CreateCommand(context, name, command->function, command->flags,
                                command->first_key, command->last_key, 1) != REDIS_OK ||
            !describe(context, name, command) || !categorize(context, name, command)) {
            redis.Log(context, "warning", "command %s can't be added", name);
            return false;
        }
    }
    return true;
}

static redis_argument key_arguments[] = {ARGUMENT_KEY("key", 0), ARGUMENT_END};
static redis_argument merge_arguments[] = {ARGUMENT_KEY("into", 0), ARGUMENT_KEY("from", 0),
                                           ARGUMENT_END};
static redis_argument effect_arguments[] = {ARGUMENT_KEY("key", 0), ARGUMENT("data", STRING, 0),
                                            ARGUMENT_END};
static redis_argument load_arguments[] = {ARGUMENT_KEY("key", 0), ARGUMENT("number", INTEGER, 0),
                                          ARGUMENT("last", INTEGER, 0), ARGUMENT("data", STRING, 0),
                                          ARGUMENT_END};
static redis_argument dump_arguments[] = {ARGUMENT_KEY("key", 0), ARGUMENT("number", INTEGER, 0),
                                          ARGUMENT_END};

bool commands_register(redis_context *context, const struct value_type *type) {
    const struct command common[] = {
        {type->create_word, create_command, "write", -2, KEY_CREATES, 1, 1,
         "Creates a value of this type", "O(size)", type->option_arguments},
        {"INFO", info_command, "readonly", 2, KEY_READS, 1, 1, "How a value stands",
         "O(1), for some types O(size)", key_arguments},
        {"EFFECT", effect_command, "write", 3, KEY_CHANGES, 1, 1,
         "Internal: what a master did, for its replicas and its log", "O(size)", effect_arguments},
        {"LOAD", load_command, "write deny-oom", 5, KEY_CHANGES, 1, 1,
         "Loads a value that DUMP of this type wrote, piece by piece",
         "O(size) for the last piece, O(1) for others", load_arguments},
        {"DUMP", dump_command, "readonly", 3, KEY_READS, 1, 1,
         "One piece of a value, to be loaded by LOAD of this type",
         "O(size) for piece 0, O(1) for the others", dump_arguments},
        {0},
    };
    const struct command merging[] = {
        {"MERGE", merge_command, "write deny-oom", 3, KEY_MERGES, 1, 2,
         "Takes over all that another value holds", "O(size of the other)", merge_arguments},
        {0},
    };
    bool is_registered = register_table(context, type, common) &&
                         (type->merge == NULL || register_table(context, type, merging));
    for (int i = 0; is_registered && i < COMMAND_TABLES_LIMIT && type->commands[i] != NULL; i++)
        is_registered = register_table(context, type, type->commands[i]);
    return is_registered;
}

redis_argument window_arguments[] = {
    ARGUMENT_KEY("key", 0),
    ARGUMENT_NAMED("WINDOW", "milliseconds", INTEGER),
    ARGUMENT_NAMED("ERROR", "error", DOUBLE),
    ARGUMENT_NAMED("CAPACITY", "ids", INTEGER),
    ARGUMENT_NAMED("SLACK", "slack", DOUBLE),
    ARGUMENT_NAMED("SEED", "seed", INTEGER),
    ARGUMENT_NAMED("MAXMEMORY", "bytes", INTEGER),
    ARGUMENT_NAMED("POLICY", "policy", STRING),
    ARGUMENT_END,
};

int reply_error(redis_context *context, const char *text) {
    return redis.ReplyWithError(context, text);
}

int reply_count(redis_context *context, uint64_t count) {
    return redis.ReplyWithLongLong(context, count < INT64_MAX ? (long long)count : INT64_MAX);
}

int reply_status(redis_context *context, lethe_status status) {
    switch (status) {
    case LETHE_EFULL:
        return reply_error(context, "FULL there is no room under its cap; nothing was changed");
    case LETHE_ENOMEM:
        return reply_error(context,
                           limits_have_refused()
                               ? "OOM that needs more than maxmemory leaves or lethe.largest-value "
                                 "allows; nothing was changed"
                               : "OOM no memory for that; nothing was changed");
    case LETHE_EINVAL:
        return reply_error(context, "ERR an option is out of its range");
    case LETHE_EMISMATCH:
        return reply_error(context, "ERR the two differ in seed or shape; nothing was changed");
    default:
        return reply_error(context, "ERR internal failure");
    }
}

bool open_value(redis_context *context, redis_string *name, const struct value_type *type,
                enum open_mode mode, struct opened *out) {
    *out = (struct opened){0};
    int flags = mode == OPEN_TO_WRITE ? REDIS_READ | REDIS_WRITE : REDIS_READ;
    out->key = redis.OpenKey(context, name, flags);
    if (out->key == NULL || redis.KeyType(out->key) == REDIS_KEY_EMPTY) return true;
    const char *wrong = NULL;
    if (redis.ModuleTypeGetType(out->key) != *type->handle) {
        wrong = "WRONGTYPE Operation against a key holding the wrong kind of value";
    } else {
        out->value = redis.ModuleTypeGetValue(out->key);
        if (((struct value *)out->value)->partial != NULL)
            wrong = "PARTIAL the key is being loaded in pieces and is not whole yet";
    }
    if (wrong == NULL) return true;
    redis.CloseKey(out->key);
    reply_error(context, wrong);
    return false;
}

void store_value(redis_context *context, struct opened *opened, redis_string *name, void *value) {
    registry_add(value, name, redis.GetSelectedDb(context));
    redis.ModuleTypeSetValue(opened->key, *((struct value *)value)->type->handle, value);
    opened->value = value;
    opened->is_new = true;
}

void announce(redis_context *context, redis_string *name, const char *event) {
    redis.SignalModifiedKey(context, name);
    redis.NotifyKeyspaceEvent(context, REDIS_NOTIFY_MODULE, event, name);
}

bool is_word(const redis_string *string, const char *word) {
    size_t size;
    const char *text = redis.StringPtrLen(string, &size);
    return size == strlen(word) && strncasecmp(text, word, size) == 0;
}

uint64_t random_seed(void) {
    uint64_t seed = 0;
    while (seed == 0)
        redis.GetRandomBytes((unsigned char *)&seed, sizeof seed);
    return seed;
}

bool parse_count(const redis_string *string, uint64_t *out) {
    long long number;
    if (redis.StringToLongLong(string, &number) != REDIS_OK || number < 0) return false;
    *out = (uint64_t)number;
    return true;
}

bool parse_positive(const redis_string *string, double *out) {
    return redis.StringToDouble(string, out) == REDIS_OK && *out > 0;
}

bool parse_seed(const redis_string *string, uint64_t *out) {
    long long number;
    if (redis.StringToLongLong(string, &number) != REDIS_OK || number == 0) return false;
    *out = (uint64_t)number;
    return true;
}

/* --- Options of types with a window */

void window_options_default(void *options) {
    *(lethe_window_options *)options = settings_defaults();
}

static bool parse_policy(const redis_string *string, lethe_window_policy *out) {
    *out = is_word(string, "degrade") ? LETHE_WINDOW_DEGRADE : LETHE_WINDOW_REFUSE;
    return is_word(string, "degrade") || is_word(string, "refuse");
}

static bool parse_window_option(const redis_string *name, const redis_string *value,
                                lethe_window_options *options, bool *is_known) {
    if (is_word(name, "WINDOW"))
        return parse_count(value, &options->window_ms) && options->window_ms > 0;
    if (is_word(name, "ERROR")) return parse_positive(value, &options->error);
    if (is_word(name, "CAPACITY")) return parse_count(value, &options->capacity);
    if (is_word(name, "SLACK")) return parse_positive(value, &options->slack);
    if (is_word(name, "SEED")) return parse_seed(value, &options->seed);
    if (is_word(name, "MAXMEMORY")) return parse_count(value, &options->max_memory_bytes);
    if (is_word(name, "POLICY")) return parse_policy(value, &options->policy);
    *is_known = false;
    return false;
}

enum option_verdict window_option_parse(const redis_string *name, const redis_string *value,
                                        void *options) {
    bool is_known = true;
    if (parse_window_option(name, value, options, &is_known)) return OPTION_FINE;
    return is_known ? OPTION_WRONG : OPTION_UNKNOWN;
}

void window_options_write(const void *options) {
    const lethe_window_options *window = options;
    effect_u64(window->window_ms);
    effect_f64(window->error);
    effect_f64(window->slack);
    effect_u64(window->capacity);
    effect_u64(window->max_memory_bytes);
    effect_u64(window->seed);
    effect_u8((uint8_t)window->policy);
}

bool window_options_read(struct effect_reader *reader, void *options) {
    lethe_window_options *window = options;
    window->window_ms = effect_read_u64(reader);
    window->error = effect_read_f64(reader);
    window->slack = effect_read_f64(reader);
    window->capacity = effect_read_u64(reader);
    window->max_memory_bytes = effect_read_u64(reader);
    window->seed = effect_read_u64(reader);
    uint8_t policy = effect_read_u8(reader);
    window->policy = policy == 0 ? LETHE_WINDOW_REFUSE : LETHE_WINDOW_DEGRADE;
    return policy <= 1;
}

/* Both kinds of window take about so many bits an id beside those of the error. */
enum { BITS_BESIDE = 20 };

uint64_t window_planned_bytes(const void *options) {
    const lethe_window_options *window = options;
    if (!(window->error > 0 && window->error < 1)) return 0;
    double bits = BITS_BESIDE - log2(window->error);
    double bytes = (double)window->capacity * bits / 8;
    if (window->max_memory_bytes > 0 && bytes > (double)window->max_memory_bytes)
        return window->max_memory_bytes;
    return bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX;
}
