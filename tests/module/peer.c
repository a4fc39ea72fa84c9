/* tests/module/peer.c - a module beside Lethe's, with one command, PEER.PUT key, of the flags that
 * it is loaded with. It counts its calls, and replies their number. */
#include <stddef.h>
#include <string.h>

typedef int command_function(void *context, void **arguments, int count);

static int (*reply_number)(void *context, long long number);
static long long calls;

static int put(void *context, void **arguments, int count) {
    (void)arguments;
    (void)count;
    return reply_number(context, ++calls);
}

int RedisModule_OnLoad(void *context, void **arguments, int count);

int RedisModule_OnLoad(void *context, void **arguments, int count) {
    int (*get)(const char *name, void *out);
    void (*name_module)(void *context, const char *name, int version, int api);
    int (*create)(void *context, const char *name, command_function *function, const char *flags,
                  int first_key, int last_key, int step);
    const char *(*text_of)(const void *string, size_t *size);
    memcpy(&get, context, sizeof get); /* a context begins with it */
    if (count != 1 || get("RedisModule_SetModuleAttribs", &name_module) != 0 ||
        get("RedisModule_CreateCommand", &create) != 0 ||
        get("RedisModule_StringPtrLen", &text_of) != 0 ||
        get("RedisModule_ReplyWithLongLong", &reply_number) != 0)
        return 1;
    name_module(context, "peer", 1, 1);
    return create(context, "peer.put", put, text_of(arguments[0], NULL), 1, 1, 1);
}
