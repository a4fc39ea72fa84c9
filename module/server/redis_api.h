/* module/server/redis_api.h - the part of the server's module API that Lethe uses.
 *
 * The server hands a module one function, by which it asks for all others by name. Here is the
 * list of those that are asked for, as members of one structure: redis.OpenKey(...) is what the
 * server calls RedisModule_OpenKey. Valkey answers to the same names.
 *
 * NEEDED  is there since Redis 7.0: without it the module does not load, and says what is missing.
 * WANTED  is newer, or missing in some builds: NULL where the server has none. Ask before use.
 *
 * The numbers and structures are the server's binary interface; they don't change between versions,
 * they only grow, and each structure that can grow carries its version. */
#ifndef LETHE_MODULE_SERVER_REDIS_API_H
#define LETHE_MODULE_SERVER_REDIS_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct RedisModuleCtx redis_context;
typedef struct RedisModuleKey redis_key;
typedef struct RedisModuleString redis_string;
typedef struct RedisModuleCallReply redis_reply;
typedef struct RedisModuleIO redis_io;
typedef struct RedisModuleType redis_type;
typedef struct RedisModuleDigest redis_digest;
typedef struct RedisModuleCommand redis_command;
typedef struct RedisModuleInfoCtx redis_info;
typedef struct RedisModuleUser redis_user;
typedef struct RedisModuleDefragCtx redis_defrag;
typedef struct RedisModuleKeyOptCtx redis_key_context;
typedef struct RedisModuleServerInfoData redis_server_info;

enum { REDIS_OK = 0, REDIS_ERROR = 1, REDIS_API_VERSION = 1 };

/* Modes of OpenKey. */
enum { REDIS_READ = 1, REDIS_WRITE = 2, REDIS_NO_TOUCH = 1 << 16 };

/* Types of keys; the others do not matter here. */
enum { REDIS_KEY_EMPTY = 0, REDIS_KEY_MODULE = 6 };

/* Types of replies. */
enum {
    REDIS_REPLY_STRING = 0,
    REDIS_REPLY_ERROR = 1,
    REDIS_REPLY_ARRAY = 3,
    REDIS_REPLY_MAP = 5,
    REDIS_REPLY_SET = 6
};

/* What GetContextFlags returns. */
enum {
    REDIS_FLAG_MASTER = 1 << 2,
    REDIS_FLAG_REPLICA = 1 << 3,
    REDIS_FLAG_CLUSTER = 1 << 5,
    REDIS_FLAG_AOF = 1 << 6,
    REDIS_FLAG_EVICT = 1 << 9,
    REDIS_FLAG_OOM = 1 << 10,
    REDIS_FLAG_REPLICATED = 1 << 12,
    REDIS_FLAG_LOADING = 1 << 13,
    REDIS_FLAG_RESP3 = 1 << 22
};

/* Classes of keyspace notifications. */
enum {
    REDIS_NOTIFY_GENERIC = 1 << 2,
    REDIS_NOTIFY_EVICTED = 1 << 9,
    REDIS_NOTIFY_MODULE = 1 << 13
};

/* Options of a module. */
enum { REDIS_HANDLES_IO_ERRORS = 1, REDIS_SIGNALS_CHANGES_ITSELF = 2 };

/* Flags of configuration values. */
enum { REDIS_CONFIG_DEFAULT = 0, REDIS_CONFIG_MEMORY = 1 << 7 };

/* Server events: their numbers and those of their kinds. */
typedef struct redis_event {
    uint64_t id;
    uint64_t version;
} redis_event;
enum {
    REDIS_EVENT_ROLE = 0,
    REDIS_EVENT_FLUSH = 2,
    REDIS_EVENT_LOADING = 3,
    REDIS_EVENT_REPLICA = 6,
    REDIS_EVENT_CRON = 8,
    REDIS_EVENT_MODULE_CHANGE = 9,
    REDIS_EVENT_SWAP_DATABASES = 11,
    REDIS_EVENT_FORK = 13
};
enum { REDIS_ROLE_MASTER = 0, REDIS_ROLE_REPLICA = 1 };
enum { REDIS_LOADING_REPLICATION = 2, REDIS_LOADING_ENDED = 3, REDIS_LOADING_FAILED = 4 };
enum { REDIS_FLUSH_BEGINS = 0 };
typedef struct redis_flush {
    uint64_t version;
    /* Whether it ends with the command; the database, or -1 for all. */
    int32_t is_synchronous, database;
} redis_flush;
typedef struct redis_swap {
    uint64_t version;
    int32_t first, second;
} redis_swap;

/* How a command describes itself, for COMMAND DOCS, key searches and access control. */
typedef enum redis_argument_type {
    REDIS_ARGUMENT_STRING = 0,
    REDIS_ARGUMENT_INTEGER = 1,
    REDIS_ARGUMENT_DOUBLE = 2,
    REDIS_ARGUMENT_KEY = 3,
    REDIS_ARGUMENT_PATTERN = 4,
    REDIS_ARGUMENT_TOKEN = 6,
    REDIS_ARGUMENT_ONE_OF = 7,
    REDIS_ARGUMENT_BLOCK = 8
} redis_argument_type;
enum { REDIS_ARGUMENT_OPTIONAL = 1, REDIS_ARGUMENT_MULTIPLE = 2 };

typedef struct redis_argument {
    const char *name;
    redis_argument_type type;
    int key_spec; /* of a key: which of the command's key_specs; of others -1 */
    const char *token;
    const char *summary;
    const char *since;
    int flags;
    const char *deprecated_since;
    struct redis_argument *parts;
    const char *display;
} redis_argument;

typedef struct redis_history {
    const char *since;
    const char *changes;
} redis_history;

enum {
    REDIS_KEY_READ_ONLY = 1 << 0,
    REDIS_KEY_READ_WRITE = 1 << 1,
    REDIS_KEY_OVERWRITE = 1 << 2,
    REDIS_KEY_ACCESS = 1 << 4,
    REDIS_KEY_UPDATE = 1 << 5,
    REDIS_KEY_INSERT = 1 << 6,
    REDIS_KEY_DELETE = 1 << 7,
    REDIS_KEY_INCOMPLETE = 1 << 9
};
enum { REDIS_SEARCH_INDEX = 2, REDIS_FIND_UNKNOWN = 1, REDIS_FIND_RANGE = 2 };

typedef struct redis_key_spec {
    const char *notes;
    uint64_t flags;
    int search;
    union {
        struct {
            int position;
        } index;
        struct {
            const char *keyword;
            int start;
        } keyword;
    } begin;
    int find;
    union {
        struct {
            int last, step, limit;
        } range;
        struct {
            int number, first, step;
        } count;
    } keys;
} redis_key_spec;

typedef struct redis_command_info_version {
    int version;
    size_t history_bytes, key_spec_bytes, argument_bytes;
} redis_command_info_version;

typedef struct redis_command_info {
    const redis_command_info_version *version;
    const char *summary;
    const char *complexity;
    const char *since;
    redis_history *history;
    const char *tips;
    int arity;
    redis_key_spec *key_specs;
    redis_argument *arguments;
} redis_command_info;

typedef int redis_command_function(redis_context *context, redis_string **arguments, int count);
typedef void redis_timer_function(redis_context *context, void *data);
typedef int redis_notification_function(redis_context *context, int type, const char *event,
                                        redis_string *key);
typedef void redis_event_function(redis_context *context, redis_event event, uint64_t kind,
                                  void *data);
typedef void redis_info_function(redis_info *info, int for_crash_report);

/* What a data type must be able to do. Version 4 is that of Redis 7.0. */
enum { REDIS_TYPE_METHODS_VERSION = 4 };
typedef struct redis_type_methods {
    uint64_t version;
    void *(*load)(redis_io *io, int encoding_version);
    void (*save)(redis_io *io, void *value);
    void (*rewrite)(redis_io *io, redis_string *key, void *value);
    size_t (*memory_of)(const void *value);
    void (*digest)(redis_digest *digest, void *value);
    void (*release)(void *value);
    int (*load_beside)(redis_io *io, int encoding_version, int when);
    void (*save_beside)(redis_io *io, int when);
    int save_beside_when;
    size_t (*effort)(redis_string *key, const void *value);
    void (*unlink)(redis_string *key, const void *value);
    void *(*copy)(redis_string *from, redis_string *to, const void *value);
    int (*defrag)(redis_defrag *defrag, redis_string *key, void **value);
    size_t (*memory)(redis_key_context *context, const void *value, size_t samples);
    size_t (*effort_of)(redis_key_context *context, const void *value);
    void (*unlink_of)(redis_key_context *context, const void *value);
    void *(*copy_of)(redis_key_context *context, const void *value);
} redis_type_methods;

/* The list: NEEDED or WANTED (result, name, arguments). */
#define REDIS_API(NEEDED, WANTED)                                                                  \
    NEEDED(void *, Alloc, (size_t size))                                                           \
    NEEDED(void *, Realloc, (void *block, size_t size))                                            \
    NEEDED(void, Free, (void *block))                                                              \
    NEEDED(size_t, MallocSize, (void *block))                                                      \
    WANTED(void *, TryAlloc, (size_t size))                                                        \
    NEEDED(void, SetModuleAttribs, (redis_context *, const char *name, int version, int api))      \
    NEEDED(int, IsModuleNameBusy, (const char *name))                                              \
    NEEDED(void, SetModuleOptions, (redis_context *, int options))                                 \
    NEEDED(int, GetServerVersion, (void))                                                          \
    NEEDED(int, CreateCommand,                                                                     \
           (redis_context *, const char *name, redis_command_function *function,                   \
            const char *flags, int first_key, int last_key, int key_step))                         \
    NEEDED(redis_command *, GetCommand, (redis_context *, const char *name))                       \
    NEEDED(int, SetCommandInfo, (redis_command *, const redis_command_info *info))                 \
    WANTED(int, SetCommandACLCategories, (redis_command *, const char *categories))                \
    NEEDED(int, WrongArity, (redis_context *))                                                     \
    NEEDED(int, IsKeysPositionRequest, (redis_context *))                                          \
    NEEDED(void, KeyAtPosWithFlags, (redis_context *, int position, int flags))                    \
    NEEDED(int *, GetCommandKeysWithFlags,                                                         \
           (redis_context *, redis_string * *arguments, int count, int *keys, int **flags))        \
    NEEDED(redis_key *, OpenKey, (redis_context *, redis_string * name, int mode))                 \
    NEEDED(void, CloseKey, (redis_key *))                                                          \
    NEEDED(int, KeyType, (redis_key *))                                                            \
    NEEDED(int, DeleteKey, (redis_key *))                                                          \
    NEEDED(int, SignalModifiedKey, (redis_context *, redis_string * name))                         \
    NEEDED(int, NotifyKeyspaceEvent,                                                               \
           (redis_context *, int type, const char *event, redis_string *key))                      \
    NEEDED(int, SubscribeToKeyspaceEvents,                                                         \
           (redis_context *, int types, redis_notification_function *function))                    \
    NEEDED(int, SubscribeToServerEvent,                                                            \
           (redis_context *, redis_event event, redis_event_function * function))                  \
    NEEDED(int, GetSelectedDb, (redis_context *))                                                  \
    NEEDED(int, SelectDb, (redis_context *, int database))                                         \
    NEEDED(int, GetContextFlags, (redis_context *))                                                \
    WANTED(int, AvoidReplicaTraffic, (void))                                                       \
    NEEDED(redis_context *, GetDetachedThreadSafeContext, (redis_context *))                       \
    NEEDED(redis_type *, CreateDataType,                                                           \
           (redis_context *, const char *name, int encoding, redis_type_methods *methods))         \
    NEEDED(int, ModuleTypeSetValue, (redis_key *, redis_type *, void *value))                      \
    NEEDED(int, ModuleTypeReplaceValue, (redis_key *, redis_type *, void *value, void **previous)) \
    NEEDED(redis_type *, ModuleTypeGetType, (redis_key *))                                         \
    NEEDED(void *, ModuleTypeGetValue, (redis_key *))                                              \
    NEEDED(int, IsIOError, (redis_io *))                                                           \
    NEEDED(void, SaveUnsigned, (redis_io *, uint64_t value))                                       \
    NEEDED(uint64_t, LoadUnsigned, (redis_io *))                                                   \
    NEEDED(void, SaveStringBuffer, (redis_io *, const char *data, size_t size))                    \
    NEEDED(char *, LoadStringBuffer, (redis_io *, size_t * size))                                  \
    NEEDED(void, EmitAOF, (redis_io *, const char *command, const char *format, ...))              \
    NEEDED(void, LogIOError, (redis_io *, const char *level, const char *format, ...))             \
    NEEDED(redis_context *, GetContextFromIO, (redis_io *))                                        \
    NEEDED(const redis_string *, GetKeyNameFromIO, (redis_io *))                                   \
    NEEDED(int, GetDbIdFromIO, (redis_io *))                                                       \
    NEEDED(const redis_string *, GetKeyNameFromOptCtx, (redis_key_context *))                      \
    NEEDED(const redis_string *, GetToKeyNameFromOptCtx, (redis_key_context *))                    \
    NEEDED(int, GetToDbIdFromOptCtx, (redis_key_context *))                                        \
    NEEDED(void, DigestAddStringBuffer, (redis_digest *, const char *data, size_t size))           \
    NEEDED(void, DigestAddLongLong, (redis_digest *, long long value))                             \
    NEEDED(void, DigestEndSequence, (redis_digest *))                                              \
    NEEDED(void *, DefragAlloc, (redis_defrag *, void *block))                                     \
    NEEDED(int, DefragShouldStop, (redis_defrag *))                                                \
    NEEDED(int, DefragCursorSet, (redis_defrag *, unsigned long cursor))                           \
    NEEDED(int, DefragCursorGet, (redis_defrag *, unsigned long *cursor))                          \
    NEEDED(redis_string *, CreateString, (redis_context *, const char *data, size_t size))         \
    NEEDED(redis_string *, CreateStringPrintf, (redis_context *, const char *format, ...))         \
    NEEDED(void, FreeString, (redis_context *, redis_string *))                                    \
    NEEDED(const char *, StringPtrLen, (const redis_string *, size_t *size))                       \
    NEEDED(int, StringToLongLong, (const redis_string *, long long *value))                        \
    NEEDED(int, StringToDouble, (const redis_string *, double *value))                             \
    NEEDED(int, StringCompare, (const redis_string *, const redis_string *))                       \
    NEEDED(int, ReplyWithError, (redis_context *, const char *text))                               \
    NEEDED(int, ReplyWithSimpleString, (redis_context *, const char *text))                        \
    NEEDED(int, ReplyWithCString, (redis_context *, const char *text))                             \
    NEEDED(int, ReplyWithStringBuffer, (redis_context *, const char *data, size_t size))           \
    NEEDED(int, ReplyWithLongLong, (redis_context *, long long value))                             \
    NEEDED(int, ReplyWithDouble, (redis_context *, double value))                                  \
    NEEDED(int, ReplyWithLongDouble, (redis_context *, long double value))                         \
    NEEDED(int, ReplyWithBool, (redis_context *, int value))                                       \
    NEEDED(int, ReplyWithNull, (redis_context *))                                                  \
    NEEDED(int, ReplyWithArray, (redis_context *, long count))                                     \
    NEEDED(int, ReplyWithMap, (redis_context *, long count))                                       \
    NEEDED(void, ReplySetArrayLength, (redis_context *, long count))                               \
    NEEDED(void, ReplySetMapLength, (redis_context *, long count))                                 \
    NEEDED(int, ReplyWithCallReply, (redis_context *, redis_reply *))                              \
    NEEDED(redis_reply *, Call, (redis_context *, const char *command, const char *format, ...))   \
    NEEDED(void, FreeCallReply, (redis_reply *))                                                   \
    NEEDED(int, CallReplyType, (redis_reply *))                                                    \
    NEEDED(size_t, CallReplyLength, (redis_reply *))                                               \
    NEEDED(redis_reply *, CallReplyArrayElement, (redis_reply *, size_t index))                    \
    NEEDED(redis_reply *, CallReplySetElement, (redis_reply *, size_t index))                      \
    NEEDED(int, CallReplyMapElement,                                                               \
           (redis_reply *, size_t index, redis_reply * *key, redis_reply * *value))                \
    NEEDED(const char *, CallReplyStringPtr, (redis_reply *, size_t * size))                       \
    NEEDED(const char *, CallReplyProto, (redis_reply *, size_t * size))                           \
    NEEDED(int, Replicate, (redis_context *, const char *command, const char *format, ...))        \
    NEEDED(int, ReplicateVerbatim, (redis_context *))                                              \
    NEEDED(redis_string *, GetCurrentUserName, (redis_context *))                                  \
    NEEDED(redis_user *, GetModuleUserFromUserName, (redis_string * name))                         \
    NEEDED(void, FreeModuleUser, (redis_user *))                                                   \
    NEEDED(int, ACLCheckCommandPermissions, (redis_user *, redis_string * *arguments, int count))  \
    NEEDED(long long, Milliseconds, (void))                                                        \
    NEEDED(uint64_t, MonotonicMicroseconds, (void))                                                \
    NEEDED(void, GetRandomBytes, (unsigned char *out, size_t size))                                \
    NEEDED(uint64_t, CreateTimer,                                                                  \
           (redis_context *, long long period_ms, redis_timer_function *, void *data))             \
    NEEDED(int, StopTimer, (redis_context *, uint64_t timer, void **data))                         \
    NEEDED(void, Log, (redis_context *, const char *level, const char *format, ...))               \
    NEEDED(redis_server_info *, GetServerInfo, (redis_context *, const char *section))             \
    NEEDED(void, FreeServerInfo, (redis_context *, redis_server_info *))                           \
    NEEDED(unsigned long long, ServerInfoGetFieldUnsigned,                                         \
           (redis_server_info *, const char *field, int *problem))                                 \
    NEEDED(int, RegisterInfoFunc, (redis_context *, redis_info_function *))                        \
    NEEDED(int, InfoAddSection, (redis_info *, const char *name))                                  \
    NEEDED(int, InfoAddFieldULongLong,                                                             \
           (redis_info *, const char *field, unsigned long long value))                            \
    NEEDED(int, InfoAddFieldCString, (redis_info *, const char *field, const char *value))         \
    NEEDED(int, RegisterNumericConfig,                                                             \
           (redis_context *, const char *name, long long initial, unsigned flags, long long least, \
            long long most, long long (*get)(const char *, void *),                                \
            int (*set)(const char *, long long, void *, redis_string **),                          \
            int (*apply)(redis_context *, void *, redis_string **), void *data))                   \
    NEEDED(int, RegisterStringConfig,                                                              \
           (redis_context *, const char *name, const char *initial, unsigned flags,                \
            redis_string *(*get)(const char *, void *),                                            \
            int (*set)(const char *, redis_string *, void *, redis_string **),                     \
            int (*apply)(redis_context *, void *, redis_string **), void *data))                   \
    NEEDED(int, RegisterEnumConfig,                                                                \
           (redis_context *, const char *name, int initial, unsigned flags, const char **names,    \
            const int *values, int count, int (*get)(const char *, void *),                        \
            int (*set)(const char *, int, void *, redis_string **),                                \
            int (*apply)(redis_context *, void *, redis_string **), void *data))                   \
    NEEDED(int, LoadConfigs, (redis_context *))

#define REDIS_MEMBER(result, name, arguments) result(*name) arguments;
struct redis_api {
    REDIS_API(REDIS_MEMBER, REDIS_MEMBER)
};

/* Filled in by redis_api_load; main thread and background threads read it. */
extern struct redis_api redis;

/* Asks the server for all functions of the list. Returns NULL, or the name of one that is needed
 * and missing. */
const char *redis_api_load(redis_context *context);

#endif
