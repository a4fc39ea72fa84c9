/* simulation/module/api_talk.c - server functions: strings, replies, calls of other commands,
 * replication. */
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
    size_t used = strlen(context->answer->words);
    if (!is_error)
        snprintf(context->answer->words + used, sizeof context->answer->words - used, " %s", text);
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
    reply *answer = context->answer;
    if (answer == NULL) return REDIS_OK;
    answer->has_buffer = true;
    snprintf(answer->buffer, sizeof answer->buffer, "%.*s", (int)size, data);
    return REDIS_OK;
}
static int sim_ReplyWithLongLong(redis_context *context, long long value) {
    reply *answer = context->answer;
    const int room = (int)(sizeof answer->numbers / sizeof answer->numbers[0]);
    if (answer != NULL && answer->count < room) answer->numbers[answer->count++] = value;
    return REDIS_OK;
}
static int sim_ReplyWithDouble(redis_context *context, double value) {
    (void)context;
    (void)value;
    return REDIS_OK;
}
static int sim_ReplyWithLongDouble(redis_context *context, long double value) {
    return sim_ReplyWithDouble(context, (double)value);
}
static int sim_ReplyWithBool(redis_context *context, int value) {
    return sim_ReplyWithLongLong(context, value != 0);
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

command api_command(const char *name, const char *format, va_list words) {
    command made = command_of(name, NULL);
    for (const char *kind = format; *kind != '\0'; kind++) {
        bytes *word = &made.words[made.count++];
        if (*kind == 's') {
            const redis_string *text = va_arg(words, const redis_string *);
            bytes_add(word, text->text.data, text->text.size);
        } else if (*kind == 'l') {
            char number[32];
            int size = snprintf(number, sizeof number, "%lld", va_arg(words, long long));
            bytes_add(word, number, (size_t)size);
        } else if (*kind == 'b') {
            const char *data = va_arg(words, const char *);
            bytes_add(word, data, va_arg(words, size_t));
        } else {
            abort();
        }
    }
    return made;
}

static int sim_Replicate(redis_context *context, const char *name, const char *format, ...) {
    (void)context;
    va_list words;
    va_start(words, format);
    command made = api_command(name, format, words);
    va_end(words);
    api_replicate(&made);
    command_free(&made);
    return REDIS_OK;
}

static int sim_ReplicateVerbatim(redis_context *context) {
    api_replicate(context->words);
    return REDIS_OK;
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
    API_ROW(ReplyWithLongDouble),
    API_ROW(ReplyWithBool),
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
    {"RedisModule_CallReplyProto", (void *)sim_CallReplyStringPtr},
    API_ROW(Replicate),
    API_ROW(ReplicateVerbatim),
    {NULL, NULL},
};
