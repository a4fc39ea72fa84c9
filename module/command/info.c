/* module/command/info.c - replies with the fields of PREFIX.INFO. */
#include "command/info.h"

#include <lethe/lethe.h>
#include <stdalign.h>

#include "change/change.h"
#include "server/errors.h"
#include "server/reply.h"
#include "types.h"

static void reply_strain(redis_context *context, uint32_t strain) {
    static const struct {
        uint32_t bit;
        const char *word;
    } words[] = {
        {LETHE_STRAIN_ERROR, "error"},
        {LETHE_STRAIN_MEMORY, "memory"},
        {LETHE_STRAIN_CLOCK, "clock"},
    };
    long count = 0;
    redis.ReplyWithArray(context, -1);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if ((strain & words[i].bit) == 0) continue;
        redis.ReplyWithCString(context, words[i].word);
        count++;
    }
    redis.ReplySetArrayLength(context, count);
}

static void reply_field(redis_context *context, const struct info_field *field, const void *facts) {
    const void *at = (const char *)facts + field->offset;
    switch (field->kind) {
    case INFO_LARGE:
        reply_count(context, *(const uint64_t *)at);
        break;
    case INFO_SMALL:
        reply_count(context, *(const uint32_t *)at);
        break;
    case INFO_FRACTION:
        reply_fraction(context, *(const double *)at);
        break;
    case INFO_WORD:
        redis.ReplyWithCString(context, *(const char *const *)at);
        break;
    case INFO_STRAIN:
        reply_strain(context, *(const uint32_t *)at);
        break;
    }
}

int info_command(redis_context *context, redis_string **arguments, int count) {
    const struct value_type *type = type_of_command(arguments[0]);
    if (count != 2) return redis.WrongArity(context);
    struct opened opened;
    if (!open_value(context, arguments[1], type, OPEN_TO_READ, &opened)) return REDIS_OK;
    if (opened.value == NULL) {
        redis.CloseKey(opened.key);
        return reply_error_of(context, type, ERROR_NO_VALUE);
    }
    alignas(max_align_t) unsigned char facts[INFO_FACTS_BYTES];
    type->gather_facts(context, opened.value, facts);
    long fields = 0;
    redis.ReplyWithMap(context, -1);
    for (const struct info_field *field = type->info_fields; field->name != NULL; field++) {
        redis.ReplyWithCString(context, field->name);
        reply_field(context, field, facts);
        fields++;
    }
    redis.ReplySetMapLength(context, fields);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}
