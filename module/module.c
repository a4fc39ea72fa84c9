/* module/module.c - lethe.so for Redis 7.0 and later, and for Valkey: where the server begins.
 *
 *   redis-server --loadmodule lethe.so
 *
 * The data types are the once-table (ONCE.*), counters that apply every operation once; the
 * forgetful Bloom filter (FBF.*); the quotient filter (QF.*), a multiset; the Gaussian Bloom
 * filter (GBF.*); and the FID-sketch of frequencies (FID.*). docs/commands describes the
 * commands, docs/guarantees.md what is promised, docs/design/module.md why it is built this way. A
 * new type is one file with its struct value_type, and a row here. */
#include <string.h>
#include <strings.h>

#include "change/listeners.h"
#include "command/command.h"
#include "once/plain.h"
#include "server/limits.h"
#include "server/settings.h"
#include "types.h"
#include "value/registry.h"
#include "value/value.h"

const struct value_type *const value_types[] = {&once_type, &fbf_type, &fid_type,
                                                &qf_type,   &gbf_type, NULL};

const struct value_type *type_of_handle(const redis_type *handle) {
    for (unsigned i = 0; handle != NULL && value_types[i] != NULL; i++) {
        if (*value_types[i]->handle == handle) return value_types[i];
    }
    return NULL;
}

const struct value_type *type_of_command(const redis_string *name) {
    const char *text = redis.StringPtrLen(name, NULL);
    for (unsigned i = 1; value_types[i] != NULL; i++) {
        size_t size = strlen(value_types[i]->prefix);
        if (strncasecmp(text, value_types[i]->prefix, size) == 0 && text[size] == '.')
            return value_types[i];
    }
    return value_types[0];
}

static void add_info(redis_info *info, int for_crash_report) {
    redis.InfoAddSection(info, "values");
    redis.InfoAddFieldCString(info, "version", LETHE_VERSION);
    redis.InfoAddFieldULongLong(info, "keys", registry_counts.values - registry_counts.gone);
    redis.InfoAddFieldULongLong(info, "effects_sent", registry_counts.effects);
    redis.InfoAddFieldULongLong(info, "ticks_sent", registry_counts.ticks);
    redis.InfoAddFieldULongLong(info, "keys_nearly_too_large_to_migrate", registry_counts.large);
    /* An evicted once-table has forgotten its ids: duplicates are applied again. */
    redis.InfoAddFieldULongLong(info, "keys_evicted", registry_counts.evicted);
    if (for_crash_report) return; /* keys can't be opened then */
    struct tally sums = registry_sums();
    redis.InfoAddSection(info, "tables");
    redis.InfoAddFieldULongLong(info, "tables", sums.tables);
    redis.InfoAddFieldULongLong(info, "fresh", sums.fresh);
    redis.InfoAddFieldULongLong(info, "duplicates", sums.duplicates);
    redis.InfoAddFieldULongLong(info, "refused", sums.refused);
    redis.InfoAddFieldULongLong(info, "strained", sums.strained);
}

static bool start(redis_context *context) {
    redis.SetModuleOptions(context, REDIS_HANDLES_IO_ERRORS | REDIS_SIGNALS_CHANGES_ITSELF);
    if (!settings_register(context)) return false;
    for (const struct value_type *const *type = value_types; *type != NULL; type++) {
        if (!value_type_register(context, *type) || !commands_register(context, *type))
            return false;
    }
    if (redis.RegisterInfoFunc(context, add_info) != REDIS_OK) return false;
    limits_start();
    plain_start(context);
    listeners_start(context);
    clock_is_replica = (redis.GetContextFlags(context) & REDIS_FLAG_REPLICA) != 0;
    return registry_start(context);
}

__attribute__((visibility("default"))) int RedisModule_OnLoad(redis_context *context,
                                                              redis_string **arguments, int count);

int RedisModule_OnLoad(redis_context *context, redis_string **arguments, int count) {
    (void)arguments;
    const char *missing = redis_api_load(context);
    if (missing != NULL) {
        /* Before the module has a name only this much can be said. */
        if (redis.Log != NULL)
            redis.Log(context, "warning", "lethe needs Redis 7.0 or Valkey: no %s here", missing);
        return REDIS_ERROR;
    }
    if (redis.IsModuleNameBusy("lethe")) return REDIS_ERROR;
    const int version =
        LETHE_VERSION_MAJOR * 10000 + LETHE_VERSION_MINOR * 100 + LETHE_VERSION_PATCH;
    redis.SetModuleAttribs(context, "lethe", version, REDIS_API_VERSION);
    if (count > 0) {
        redis.Log(context, "warning",
                  "lethe takes no arguments; its settings are lethe.* in the configuration");
        return REDIS_ERROR;
    }
    return start(context) ? REDIS_OK : REDIS_ERROR;
}
