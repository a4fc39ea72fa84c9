/* module/once/plain.c - plain writes, and a small table of those that are known.
 *
 * IDEA    The server describes a command to those who ask, in a reply that takes longer to make
 *         than most commands take to run. Its answers change only when a module is loaded or
 *         unloaded, so the names of plain writes are kept until then.
 * I1      A name is kept as it was sent, letter for letter, and only if the server said that it is
 *         a plain write. What is refused, unknown or has subcommands is asked about each time.
 * I2      Nothing is kept unless the server reports modules that come and go. Names that are given
 *         to commands by the configuration are given before modules are loaded.
 * WHY     Access rights are not in the table: they may change at any time, and are checked in every
 *         call. */
#include "once/plain.h"

#include <string.h>

#include "command/options.h"
#include "server/errors.h"

enum { KNOWN = 64, NAME_BYTES = 31 };

struct known {
    unsigned char size; /* 0: free */
    char name[NAME_BYTES];
};

static struct known known[KNOWN];
static bool is_kept;

static void on_module_change(redis_context *context, redis_event event, uint64_t kind, void *data) {
    (void)context;
    (void)event;
    (void)kind;
    (void)data;
    memset(known, 0, sizeof known);
}

void plain_start(redis_context *context) {
    const redis_event change = {REDIS_EVENT_MODULE_CHANGE, 1};
    is_kept = redis.SubscribeToServerEvent(context, change, on_module_change) == REDIS_OK;
}

/* The place of a name; NULL if it is not one that is kept. */
static struct known *place_of(const char *name, size_t size) {
    if (!is_kept || size == 0 || size > NAME_BYTES) return NULL;
    unsigned sum = (unsigned)size;
    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + (unsigned char)name[i];
    return &known[sum % KNOWN];
}

/* Whether one of the words in a reply's array is this one. */
static bool has_flag(redis_reply *flags, const char *wanted) {
    for (size_t i = 0; i < redis.CallReplyLength(flags); i++) {
        size_t size;
        const char *flag = redis.CallReplyStringPtr(redis.CallReplyArrayElement(flags, i), &size);
        if (flag != NULL && size == strlen(wanted) && memcmp(flag, wanted, size) == 0) return true;
    }
    return false;
}

static const char not_plain[] = ERROR_CALL_NOT_PLAIN;

/* Asks the server what kind of command it is. NULL if it may be called, or the error. */
static const char *ask(redis_context *context, redis_string *name) {
    redis_reply *reply = redis.Call(context, "COMMAND", "cs", "INFO", name);
    if (reply == NULL) return ERROR_CALL_FAILED;
    const char *problem = ERROR_CALL_UNKNOWN;
    redis_reply *command = redis.CallReplyType(reply) == REDIS_REPLY_ARRAY
                               ? redis.CallReplyArrayElement(reply, 0)
                               : NULL;
    if (command != NULL && redis.CallReplyType(command) == REDIS_REPLY_ARRAY) {
        redis_reply *flags = redis.CallReplyArrayElement(command, 2);
        bool is_plain = has_flag(flags, "write") && !has_flag(flags, "noscript") &&
                        !has_flag(flags, "blocking") && !has_flag(flags, "admin");
        problem = is_plain ? NULL : not_plain;
    }
    redis.FreeCallReply(reply);
    return problem;
}

/* A command like XGROUP is judged with its second word, as XGROUP|CREATE. */
static const char *ask_about_both(redis_context *context, redis_string **arguments) {
    size_t size, more;
    const char *word = redis.StringPtrLen(arguments[0], &size);
    const char *second = redis.StringPtrLen(arguments[1], &more);
    char both[64];
    if (size + 1 + more > sizeof both) return not_plain;
    memcpy(both, word, size);
    both[size] = '|';
    memcpy(both + size + 1, second, more);
    redis_string *joined = redis.CreateString(context, both, size + 1 + more);
    const char *problem = ask(context, joined) == NULL ? NULL : not_plain;
    redis.FreeString(context, joined);
    return problem;
}

const char *plain_judge(redis_context *context, redis_string **arguments, int count) {
    size_t size;
    const char *name = redis.StringPtrLen(arguments[0], &size);
    struct known *place = place_of(name, size);
    if (place != NULL && place->size == size && memcmp(place->name, name, size) == 0) return NULL;
    /* One would be within itself; the other would wait for another server. */
    if (is_word(arguments[0], "ONCE.CALL") || is_word(arguments[0], "MIGRATE")) return not_plain;
    const char *problem = ask(context, arguments[0]);
    if (problem == NULL && place != NULL) {
        place->size = (unsigned char)size;
        memcpy(place->name, name, size);
    }
    return problem == not_plain && count > 1 ? ask_about_both(context, arguments) : problem;
}
