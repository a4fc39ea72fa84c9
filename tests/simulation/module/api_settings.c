/* simulation/module/api_settings.c - server functions: commands, events, settings, time; and the
 * lookup of a function by its name. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

static int sim_CreateCommand(redis_context *context, const char *name,
                             redis_command_function *function, const char *flags, int first,
                             int last, int step) {
    (void)context;
    (void)flags;
    (void)first;
    (void)last;
    (void)step;
    if (current->function_count == MOST_COMMANDS) abort();
    struct named_function *at = &current->functions[current->function_count++];
    snprintf(at->name, sizeof at->name, "%s", name);
    at->function = function;
    return REDIS_OK;
}

static redis_command *sim_GetCommand(redis_context *context, const char *name) {
    (void)name;
    return (redis_command *)(void *)context;
}
static int sim_SetCommandInfo(redis_command *described, const redis_command_info *info) {
    (void)described;
    (void)info;
    return REDIS_OK;
}
static int sim_IsKeysPositionRequest(redis_context *context) {
    (void)context;
    return 0;
}
static void sim_KeyAtPosWithFlags(redis_context *context, int position, int flags) {
    (void)context;
    (void)position;
    (void)flags;
}
static int *sim_GetCommandKeysWithFlags(redis_context *context, redis_string **arguments, int count,
                                        int *keys, int **flags) {
    (void)context;
    (void)arguments;
    (void)count;
    (void)flags;
    *keys = 0;
    return NULL;
}
static int sim_SignalModifiedKey(redis_context *context, redis_string *name) {
    (void)context;
    (void)name;
    return REDIS_OK;
}
static int sim_NotifyKeyspaceEvent(redis_context *context, int type, const char *event,
                                   redis_string *key) {
    (void)context;
    (void)type;
    (void)event;
    (void)key;
    return REDIS_OK;
}
static int sim_SubscribeToKeyspaceEvents(redis_context *context, int types,
                                         redis_notification_function *function) {
    (void)context;
    if ((types & REDIS_NOTIFY_GENERIC) != 0) current->on_move = function;
    return REDIS_OK;
}
static int sim_SubscribeToServerEvent(redis_context *context, redis_event event,
                                      redis_event_function *function) {
    (void)context;
    current->on_event[event.id] = function;
    return REDIS_OK;
}
static int sim_GetSelectedDb(redis_context *context) {
    (void)context;
    return 0;
}
static int sim_SelectDb(redis_context *context, int database) {
    (void)context;
    return database == 0 ? REDIS_OK : REDIS_ERROR;
}
/* Nothing of a context matters here except the place of the loader. */
static redis_context *sim_GetDetachedThreadSafeContext(redis_context *context) {
    static redis_context detached;
    detached.find = context->find;
    return &detached;
}
/* Every server here has a log. */
static int sim_GetContextFlags(redis_context *context) {
    (void)context;
    return REDIS_FLAG_AOF | (current->is_full ? REDIS_FLAG_OOM : 0) |
           (current->is_replica ? REDIS_FLAG_REPLICA : REDIS_FLAG_MASTER) |
           (current->is_loading ? REDIS_FLAG_LOADING : 0) |
           (current->is_replicated ? REDIS_FLAG_REPLICATED : 0);
}
static void sim_SetModuleAttribs(redis_context *context, const char *name, int version, int api) {
    (void)context;
    (void)name;
    (void)version;
    (void)api;
}
static int sim_IsModuleNameBusy(const char *name) {
    (void)name;
    return 0;
}
static void sim_SetModuleOptions(redis_context *context, int options) {
    (void)context;
    (void)options;
}
static int sim_GetServerVersion(void) {
    return 0x00070000;
}
static redis_string *sim_GetCurrentUserName(redis_context *context) {
    (void)context;
    return api_string("default", 7);
}
static redis_user *sim_GetModuleUserFromUserName(redis_string *name) {
    return (redis_user *)(void *)name;
}
static void sim_FreeModuleUser(redis_user *user) {
    (void)user;
}
static int sim_ACLCheckCommandPermissions(redis_user *user, redis_string **arguments, int count) {
    (void)user;
    (void)arguments;
    (void)count;
    return REDIS_OK;
}
__attribute__((format(printf, 3, 4))) static void sim_Log(redis_context *context, const char *level,
                                                          const char *format, ...) {
    (void)context;
    (void)level;
    if (current != NULL && current->function_count > 0) return;
    /* Nothing is registered yet: it says why it does not load. */
    va_list more;
    va_start(more, format);
    vfprintf(stderr, format, more);
    va_end(more);
    fputc('\n', stderr);
}
static int sim_RegisterInfoFunc(redis_context *context, redis_info_function *function) {
    (void)context;
    current->on_info = function;
    return REDIS_OK;
}
static int sim_InfoAddSection(redis_info *info, const char *name) {
    (void)info;
    (void)name;
    return REDIS_OK;
}
static int sim_InfoAddFieldULongLong(redis_info *to, const char *field, unsigned long long value) {
    info_list *found = (info_list *)(void *)to;
    if (found->count == MOST_FIELDS) abort();
    snprintf(found->names[found->count], sizeof found->names[0], "%s", field);
    found->values[found->count++] = value;
    return REDIS_OK;
}
static int sim_InfoAddFieldCString(redis_info *info, const char *field, const char *value) {
    (void)info;
    (void)field;
    (void)value;
    return REDIS_OK;
}
/* A server without a maxmemory. */
static redis_server_info *sim_GetServerInfo(redis_context *context, const char *section) {
    (void)section;
    return (redis_server_info *)(void *)context;
}
static void sim_FreeServerInfo(redis_context *context, redis_server_info *info) {
    (void)context;
    (void)info;
}
static unsigned long long sim_ServerInfoGetFieldUnsigned(redis_server_info *info, const char *field,
                                                         int *problem) {
    (void)info;
    (void)field;
    if (problem != NULL) *problem = REDIS_OK;
    return 0;
}
static int sim_RegisterNumericConfig(redis_context *context, const char *name, long long initial,
                                     unsigned flags, long long least, long long most,
                                     long long (*get)(const char *, void *),
                                     int (*set)(const char *, long long, void *, redis_string **),
                                     int (*apply)(redis_context *, void *, redis_string **),
                                     void *data) {
    (void)context;
    (void)flags;
    (void)least;
    (void)most;
    (void)get;
    (void)apply;
    redis_string *problem = NULL;
    if (strcmp(name, "kept-replies") == 0) initial = SIMULATED_KEPT_BYTES;
    return set(name, initial, data, &problem);
}
static int
sim_RegisterStringConfig(redis_context *context, const char *name, const char *initial,
                         unsigned flags, redis_string *(*get)(const char *, void *),
                         int (*set)(const char *, redis_string *, void *, redis_string **),
                         int (*apply)(redis_context *, void *, redis_string **), void *data) {
    (void)context;
    (void)flags;
    (void)get;
    (void)apply;
    redis_string *problem = NULL, *text = api_string(initial, strlen(initial));
    int result = set(name, text, data, &problem);
    api_free_string(text);
    return result;
}
static int sim_RegisterEnumConfig(redis_context *context, const char *name, int initial,
                                  unsigned flags, const char **names, const int *values, int count,
                                  int (*get)(const char *, void *),
                                  int (*set)(const char *, int, void *, redis_string **),
                                  int (*apply)(redis_context *, void *, redis_string **),
                                  void *data) {
    (void)context;
    (void)flags;
    (void)names;
    (void)values;
    (void)count;
    (void)get;
    (void)apply;
    redis_string *problem = NULL;
    return set(name, initial, data, &problem);
}
static int sim_LoadConfigs(redis_context *context) {
    (void)context;
    return REDIS_OK;
}

/* --- Time */

static long long sim_Milliseconds(void) {
    return host_wall_ms(current->at);
}

static uint64_t sim_MonotonicMicroseconds(void) {
    current->work++;
    return (uint64_t)host_since_start_us(current->at);
}

uint64_t api_random;

static void sim_GetRandomBytes(unsigned char *out, size_t size) {
    for (size_t i = 0; i < size; i++) {
        api_random ^= api_random << 13;
        api_random ^= api_random >> 7;
        api_random ^= api_random << 17;
        out[i] = (unsigned char)(api_random >> 24);
    }
}

static uint64_t sim_CreateTimer(redis_context *context, long long period_ms,
                                redis_timer_function *function, void *data) {
    (void)context;
    if (current->timer_count == MOST_TIMERS) abort();
    current->timers[current->timer_count++] =
        (timer){.id = ++current->last_timer,
                .due_ms = host_wall_ms(current->at) + period_ms,
                .function = function,
                .data = data};
    return current->last_timer;
}

static int sim_StopTimer(redis_context *context, uint64_t id, void **data) {
    (void)context;
    (void)data;
    for (unsigned i = 0; i < current->timer_count; i++) {
        if (current->timers[i].id != id) continue;
        current->timers[i] = current->timers[--current->timer_count];
        return REDIS_OK;
    }
    return REDIS_ERROR;
}

const struct api_row api_rows_of_settings[] = {
    API_ROW(CreateCommand),
    API_ROW(GetCommand),
    API_ROW(SetCommandInfo),
    API_ROW(IsKeysPositionRequest),
    API_ROW(KeyAtPosWithFlags),
    API_ROW(GetCommandKeysWithFlags),
    API_ROW(SignalModifiedKey),
    API_ROW(NotifyKeyspaceEvent),
    API_ROW(SubscribeToKeyspaceEvents),
    API_ROW(SubscribeToServerEvent),
    API_ROW(GetSelectedDb),
    API_ROW(SelectDb),
    API_ROW(GetContextFlags),
    API_ROW(GetDetachedThreadSafeContext),
    API_ROW(SetModuleAttribs),
    API_ROW(IsModuleNameBusy),
    API_ROW(SetModuleOptions),
    API_ROW(GetServerVersion),
    API_ROW(GetCurrentUserName),
    API_ROW(GetModuleUserFromUserName),
    API_ROW(FreeModuleUser),
    API_ROW(ACLCheckCommandPermissions),
    API_ROW(Log),
    API_ROW(RegisterInfoFunc),
    API_ROW(InfoAddSection),
    API_ROW(InfoAddFieldULongLong),
    API_ROW(InfoAddFieldCString),
    API_ROW(GetServerInfo),
    API_ROW(FreeServerInfo),
    API_ROW(ServerInfoGetFieldUnsigned),
    API_ROW(RegisterNumericConfig),
    API_ROW(RegisterStringConfig),
    API_ROW(RegisterEnumConfig),
    API_ROW(LoadConfigs),
    API_ROW(Milliseconds),
    API_ROW(MonotonicMicroseconds),
    API_ROW(GetRandomBytes),
    API_ROW(CreateTimer),
    API_ROW(StopTimer),
    {NULL, NULL},
};

int api_find(const char *name, void *out) {
    const struct api_row *const parts[] = {api_rows_of_keys, api_rows_of_talk,
                                           api_rows_of_settings};
    for (unsigned part = 0; part < 3; part++) {
        for (const struct api_row *row = parts[part]; row->name != NULL; row++) {
            if (strcmp(row->name, name) != 0) continue;
            memcpy(out, &row->function, sizeof row->function);
            return REDIS_OK;
        }
    }
    void *none = NULL;
    memcpy(out, &none, sizeof none);
    return REDIS_ERROR;
}
