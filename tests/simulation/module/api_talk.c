/* simulation/module/api_talk.c - server functions: strings, replies, commands, replication, settings, timers. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api.h"

server *current;

/* --- Strings */

redis_string *api_string(const void *data, size_t size) {
    redis_string *text = calloc(1, sizeof *text);
    if (text == NULL) abort();
    bytes_add(&text->text, data, size);
    bytes_add(&text->text, "", 1); /* ends as C's do */
    text->text.size = size;
    return text;
}

void api_free_string(redis_string *text) {
    if (text == NULL) return;
    bytes_free(&text->text);
    free(text);
}

static redis_string *sim_CreateString(redis_context *context, const char *data, size_t size) {
    (void)context;
    return api_string(data, size);
}

__attribute__((format(printf, 2, 3))) static redis_string *
sim_CreateStringPrintf(redis_context *context, const char *format, ...) {
    (void)context;
    char text[512];
    va_list more;
    va_start(more, format);
    vsnprintf(text, sizeof text, format, more);
    va_end(more);
    return api_string(text, strlen(text));
}

static void sim_FreeString(redis_context *context, redis_string *text) {
    (void)context;
    api_free_string(text);
}

static const char *sim_StringPtrLen(const redis_string *text, size_t *size) {
    if (size != NULL) *size = text->text.size;
    return text->text.data;
}

static int sim_StringToLongLong(const redis_string *text, long long *value) {
    char *end;
    *value = strtoll(text->text.data, &end, 10);
    return text->text.size > 0 && *end == '\0' ? REDIS_OK : REDIS_ERROR;
}

static int sim_StringToDouble(const redis_string *text, double *value) {
    char *end;
    *value = strtod(text->text.data, &end);
    return text->text.size > 0 && *end == '\0' ? REDIS_OK : REDIS_ERROR;
}

static int sim_StringCompare(const redis_string *one, const redis_string *other) {
    if (one->text.size != other->text.size) return one->text.size < other->text.size ? -1 : 1;
    return memcmp(one->text.data, other->text.data, one->text.size);
}

/* --- Replies */

static void note_text(redis_context *context, const char *text, bool is_error) {
    if (context->answer == NULL) return;
    context->answer->is_error |= is_error;
    snprintf(context->answer->text, sizeof context->answer->text, "%s", text);
}

static int sim_ReplyWithError(redis_context *context, const char *text) {
    note_text(context, text, true);
    return REDIS_OK;
}
static int sim_ReplyWithSimpleString(redis_context *context, const char *text) {
    note_text(context, text, false);
    return REDIS_OK;
}
static int sim_ReplyWithStringBuffer(redis_context *context, const char *data, size_t size) {
    (void)context;
    (void)data;
    (void)size;
    return REDIS_OK;
}
static int sim_ReplyWithLongLong(redis_context *context, long long value) {
    reply *answer = context->answer;
    if (answer != NULL && answer->count < 4) answer->numbers[answer->count++] = value;
    return REDIS_OK;
}
static int sim_ReplyWithDouble(redis_context *context, double value) {
    (void)context;
    (void)value;
    return REDIS_OK;
}
static int sim_ReplyWithNull(redis_context *context) {
    return sim_ReplyWithLongLong(context, 0);
}
static int sim_ReplyWithArray(redis_context *context, long count) {
    (void)context;
    (void)count;
    return REDIS_OK;
}
static void sim_ReplySetArrayLength(redis_context *context, long count) {
    (void)context;
    (void)count;
}
static int sim_ReplyWithCallReply(redis_context *context, redis_reply *from) {
    (void)from;
    return sim_ReplyWithError(context, "ERR no calls in this simulation");
}
static int sim_WrongArity(redis_context *context) {
    return sim_ReplyWithError(context, "ERR wrong number of arguments");
}

/* --- Calls of other commands: none here; the simulation from outside has them */

static redis_reply *sim_Call(redis_context *context, const char *name, const char *format, ...) {
    (void)context;
    (void)name;
    (void)format;
    return NULL;
}
static void sim_FreeCallReply(redis_reply *from) {
    (void)from;
}
static int sim_CallReplyType(redis_reply *from) {
    (void)from;
    return REDIS_REPLY_ERROR;
}
static size_t sim_CallReplyLength(redis_reply *from) {
    (void)from;
    return 0;
}
static int sim_CallReplyMapElement(redis_reply *from, size_t index, redis_reply **key,
                                   redis_reply **value) {
    (void)from;
    (void)index;
    *key = *value = NULL;
    return REDIS_ERROR;
}
static redis_reply *sim_CallReplyArrayElement(redis_reply *from, size_t index) {
    (void)from;
    (void)index;
    return NULL;
}
static const char *sim_CallReplyStringPtr(redis_reply *from, size_t *size) {
    (void)from;
    *size = 0;
    return "";
}

/* --- Replication */

void api_replicate(const command *words) {
    if (!current->is_loading) stream_add(&current->log, words);
}

static int sim_Replicate(redis_context *context, const char *name, const char *format, ...) {
    (void)context;
    command made = command_of(name, NULL);
    va_list more;
    va_start(more, format);
    for (const char *kind = format; *kind != '\0'; kind++) {
        bytes *word = &made.words[made.count++];
        if (*kind == 's') {
            const redis_string *text = va_arg(more, const redis_string *);
            bytes_add(word, text->text.data, text->text.size);
        } else if (*kind == 'b') {
            const char *data = va_arg(more, const char *);
            bytes_add(word, data, va_arg(more, size_t));
        } else {
            abort();
        }
    }
    va_end(more);
    api_replicate(&made);
    command_free(&made);
    return REDIS_OK;
}

static int sim_ReplicateVerbatim(redis_context *context) {
    api_replicate(context->words);
    return REDIS_OK;
}

/* --- Commands, events, settings */

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
    if (types == REDIS_NOTIFY_GENERIC) current->on_move = function;
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
static int sim_GetContextFlags(redis_context *context) {
    (void)context;
    return (current->is_replica ? REDIS_FLAG_REPLICA : REDIS_FLAG_MASTER) |
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
    (void)function;
    return REDIS_OK;
}
static int sim_InfoAddSection(redis_info *info, const char *name) {
    (void)info;
    (void)name;
    return REDIS_OK;
}
static int sim_InfoAddFieldULongLong(redis_info *info, const char *field,
                                     unsigned long long value) {
    (void)info;
    (void)field;
    (void)value;
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
        (timer){.due_us = true_us + period_ms * 1000, .function = function, .data = data};
    return 1;
}

const struct api_row api_rows_of_talk[] = {
    API_ROW(CreateString),
    API_ROW(CreateStringPrintf),
    API_ROW(FreeString),
    API_ROW(StringPtrLen),
    API_ROW(StringToLongLong),
    API_ROW(StringToDouble),
    API_ROW(StringCompare),
    API_ROW(ReplyWithError),
    API_ROW(ReplyWithSimpleString),
    {"RedisModule_ReplyWithCString", (void *)sim_ReplyWithSimpleString},
    API_ROW(ReplyWithStringBuffer),
    API_ROW(ReplyWithLongLong),
    API_ROW(ReplyWithDouble),
    API_ROW(ReplyWithNull),
    API_ROW(ReplyWithArray),
    {"RedisModule_ReplyWithMap", (void *)sim_ReplyWithArray},
    API_ROW(ReplySetArrayLength),
    {"RedisModule_ReplySetMapLength", (void *)sim_ReplySetArrayLength},
    API_ROW(ReplyWithCallReply),
    API_ROW(WrongArity),
    API_ROW(Call),
    API_ROW(FreeCallReply),
    API_ROW(CallReplyType),
    API_ROW(CallReplyLength),
    API_ROW(CallReplyArrayElement),
    {"RedisModule_CallReplySetElement", (void *)sim_CallReplyArrayElement},
    API_ROW(CallReplyMapElement),
    API_ROW(CallReplyStringPtr),
    API_ROW(Replicate),
    API_ROW(ReplicateVerbatim),
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
    {NULL, NULL},
};

int api_find(const char *name, void *out) {
    const struct api_row *const halves[] = {api_rows_of_keys, api_rows_of_talk};
    for (unsigned half = 0; half < 2; half++) {
        for (const struct api_row *row = halves[half]; row->name != NULL; row++) {
            if (strcmp(row->name, name) != 0) continue;
            memcpy(out, &row->function, sizeof row->function);
            return REDIS_OK;
        }
    }
    void *none = NULL;
    memcpy(out, &none, sizeof none);
    return REDIS_ERROR;
}
