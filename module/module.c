/* module/module.c - lethe.so for Redis 7.0 and later, and for Valkey: where the server begins.
 *
 *   redis-server --loadmodule lethe.so
 *
 * The data types: the once-table (ONCE.*), counters that take every operation once; the forgetful Bloom filter
 * (FBF.*); the quotient filter (QF.*), a multiset; the Gaussian Bloom filter (GBF.*); and the FID sketch of frequencies (FID.*).
 * docs/design/module.md says why they are as they are, docs/guarantees.md what they promise and what not. A further type is one file with its struct value_type, and a row here. */
#include <string.h>
#include <strings.h>

#include "frame.h"

static const struct value_type *const types[] = {&once_type, &fbf_type, &fid_type, &qf_type,
                                                 &gbf_type};
enum { TYPES = sizeof types / sizeof types[0] };

const struct value_type *type_of_handle(const redis_type *handle) {
    for (unsigned i = 0; handle != NULL && i < TYPES; i++) {
        if (*types[i]->handle == handle) return types[i];
    }
    return NULL;
}

const struct value_type *type_of_command(const redis_string *name) {
    const char *text = redis.StringPtrLen(name, NULL);
    for (unsigned i = 1; i < TYPES; i++) {
        size_t size = strlen(types[i]->prefix);
        if (strncasecmp(text, types[i]->prefix, size) == 0 && text[size] == '.') return types[i];
    }
    return types[0];
}

static void add_info(redis_info *info, int for_crash_report) {
    (void)for_crash_report;
    redis.InfoAddSection(info, "values");
    redis.InfoAddFieldCString(info, "version", LETHE_VERSION);
    redis.InfoAddFieldULongLong(info, "keys", registry_counts.values);
    redis.InfoAddFieldULongLong(info, "effects_sent", registry_counts.effects);
    redis.InfoAddFieldULongLong(info, "rotations_sent", registry_counts.ticks);
    redis.InfoAddFieldULongLong(info, "keys_too_large_to_migrate_soon", registry_counts.large);
    /* An evicted once-table has forgotten its ids: operations sent again are applied again. */
    redis.InfoAddFieldULongLong(info, "keys_evicted_and_forgotten", registry_counts.evicted);
}

static bool start(redis_context *context) {
    redis.SetModuleOptions(context, REDIS_HANDLES_IO_ERRORS | REDIS_SIGNALS_CHANGES_ITSELF);
    if (!settings_register(context)) return false;
    for (unsigned i = 0; i < TYPES; i++) {
        if (!value_type_register(context, types[i]) || !commands_register(context, types[i]))
            return false;
    }
    if (redis.RegisterInfoFunc(context, add_info) != REDIS_OK) return false;
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
