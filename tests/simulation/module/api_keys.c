/* simulation/module/api_keys.c - server functions: memory, keys, values, snapshots, digests. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

/* --- Memory. A server's blocks are in a list, so that a kill can free them. */

struct block {
    struct block *next, *previous;
    size_t size;
    const server *of;
};
static struct block blocks = {.next = &blocks, .previous = &blocks};

static void *sim_Alloc(size_t size) {
    struct block *block = malloc(sizeof *block + size);
    if (block == NULL) abort();
    *block =
        (struct block){.next = &blocks, .previous = blocks.previous, .size = size, .of = current};
    blocks.previous->next = block;
    blocks.previous = block;
    return block + 1;
}

static void *sim_TryAlloc(size_t size) {
    current->allocations++;
    if (current->allocations == current->fail_allocation) return NULL;
    return size < (size_t)1 << 32 ? sim_Alloc(size) : NULL;
}

static void sim_Free(void *memory) {
    if (memory == NULL) return;
    struct block *block = (struct block *)memory - 1;
    block->previous->next = block->next;
    block->next->previous = block->previous;
    free(block);
}

static void *sim_Realloc(void *memory, size_t size) {
    void *moved = sim_Alloc(size);
    if (memory != NULL) {
        size_t old = ((struct block *)memory - 1)->size;
        memcpy(moved, memory, old < size ? old : size);
        sim_Free(memory);
    }
    return moved;
}

static size_t sim_MallocSize(void *memory) {
    return ((struct block *)memory - 1)->size;
}

void api_forget_memory(const server *of) {
    for (struct block *block = blocks.next, *next; block != &blocks; block = next) {
        next = block->next;
        if (block->of == of) sim_Free(block + 1);
    }
}

/* --- Keys */

entry *server_find(server *of, const char *key) {
    for (unsigned i = 0; i < MOST_KEYS; i++) {
        if (of->keys[i].type != NULL && strcmp(of->keys[i].name, key) == 0) return &of->keys[i];
    }
    return NULL;
}

static redis_key *sim_OpenKey(redis_context *context, redis_string *name, int mode) {
    (void)context;
    current->work++;
    redis_key *key = calloc(1, sizeof *key);
    if (key == NULL || name->text.size >= sizeof key->name) abort();
    memcpy(key->name, name->text.data, name->text.size);
    key->at = server_find(current, key->name);
    if (key->at != NULL || (mode & REDIS_WRITE) != 0) return key;
    free(key);
    return NULL;
}

static void sim_CloseKey(redis_key *key) {
    free(key);
}

static int sim_KeyType(redis_key *key) {
    return key != NULL && key->at != NULL ? REDIS_KEY_MODULE : REDIS_KEY_EMPTY;
}

/* As a server says that a key is removed, or gets another value. */
static void send_unlink(const entry *at) {
    redis_key_context context = {.from = api_string(at->name, strlen(at->name))};
    at->type->methods.unlink_of(&context, at->value);
    api_free_string(context.from);
}

static void take_away(entry *at) {
    send_unlink(at);
    at->type->methods.release(at->value);
    *at = (entry){0};
}

void server_remove(server *of, const char *key) {
    current = of;
    take_away(server_find(of, key));
    current = NULL;
}

/* What a server does: the value is under both names for a moment, then the old one is removed. */
void server_rename(server *of, const char *from, const char *to) {
    current = of;
    entry *at = server_find(of, from), *other = server_find(of, to);
    if (other != NULL) take_away(other);
    send_unlink(at);
    snprintf(at->name, sizeof at->name, "%s", to);
    redis_context context = {.find = api_find};
    redis_string *name = api_string(to, strlen(to));
    of->on_move(&context, REDIS_NOTIFY_GENERIC, "rename_to", name);
    api_free_string(name);
    current = NULL;
}

static int sim_DeleteKey(redis_key *key) {
    if (key->at != NULL) take_away(key->at);
    key->at = NULL;
    return REDIS_OK;
}

static int sim_ModuleTypeSetValue(redis_key *key, redis_type *type, void *value) {
    (void)sim_DeleteKey(key);
    for (unsigned i = 0; i < MOST_KEYS; i++) {
        if (current->keys[i].type != NULL) continue;
        key->at = &current->keys[i];
        *key->at = (entry){.type = type, .value = value};
        memcpy(key->at->name, key->name, sizeof key->name);
        return REDIS_OK;
    }
    abort();
}

static int sim_ModuleTypeReplaceValue(redis_key *key, redis_type *type, void *value,
                                      void **previous) {
    if (key->at == NULL || key->at->type != type) return REDIS_ERROR;
    if (previous != NULL) *previous = key->at->value;
    key->at->value = value;
    return REDIS_OK;
}

static redis_type *sim_ModuleTypeGetType(redis_key *key) {
    return key != NULL && key->at != NULL ? key->at->type : NULL;
}

static void *sim_ModuleTypeGetValue(redis_key *key) {
    return key != NULL && key->at != NULL ? key->at->value : NULL;
}

static redis_type *sim_CreateDataType(redis_context *context, const char *name, int encoding,
                                      redis_type_methods *methods) {
    (void)context;
    (void)encoding;
    redis_type *type = &current->types[current->type_count++];
    snprintf(type->name, sizeof type->name, "%s", name);
    type->methods = *methods;
    return type;
}

/* --- Snapshots */

static int sim_IsIOError(redis_io *io) {
    return io->has_failed;
}

static void sim_SaveUnsigned(redis_io *io, uint64_t value) {
    bytes_add(&io->data, &value, sizeof value);
}

static bool take(redis_io *io, void *out, size_t size) {
    if (io->data.size - io->position < size) {
        io->has_failed = true;
        return false;
    }
    memcpy(out, io->data.data + io->position, size);
    io->position += size;
    return true;
}

static uint64_t sim_LoadUnsigned(redis_io *io) {
    uint64_t value = 0;
    (void)take(io, &value, sizeof value);
    return value;
}

static void sim_SaveStringBuffer(redis_io *io, const char *data, size_t size) {
    sim_SaveUnsigned(io, size);
    bytes_add(&io->data, data, size);
}

static char *sim_LoadStringBuffer(redis_io *io, size_t *size) {
    *size = sim_LoadUnsigned(io);
    if (io->has_failed || io->data.size - io->position < *size) {
        io->has_failed = true;
        return NULL;
    }
    char *data = sim_Alloc(*size + 1);
    (void)take(io, data, *size);
    return data;
}

static void sim_EmitAOF(redis_io *io, const char *name, const char *format, ...) {
    va_list words;
    va_start(words, format);
    command made = api_command(name, format, words);
    va_end(words);
    stream_add(io->rewritten, &made);
    command_free(&made);
}

static void sim_LogIOError(redis_io *io, const char *level, const char *format, ...) {
    (void)io;
    (void)level;
    (void)format;
}

static redis_context *sim_GetContextFromIO(redis_io *io) {
    (void)io;
    static redis_context none;
    return &none;
}

static const redis_string *sim_GetKeyNameFromIO(redis_io *io) {
    return io->key;
}

static int sim_GetDbIdFromIO(redis_io *io) {
    (void)io;
    return 0;
}

static const redis_string *sim_GetKeyNameFromOptCtx(redis_key_context *context) {
    return context->from;
}

static const redis_string *sim_GetToKeyNameFromOptCtx(redis_key_context *context) {
    return context->to;
}

static int sim_GetToDbIdFromOptCtx(redis_key_context *context) {
    (void)context;
    return 0;
}

/* One key as it is in a snapshot. */
static void save_entry(const entry *at, bytes *to) {
    redis_io io = {0};
    at->type->methods.save(&io, at->value);
    bytes_add(to, at->name, sizeof at->name);
    bytes_add(to, at->type->name, sizeof at->type->name);
    uint64_t size = io.data.size;
    bytes_add(to, &size, sizeof size);
    bytes_add(to, io.data.data, io.data.size);
    bytes_free(&io.data);
}

bytes server_save(server *of) {
    current = of;
    bytes file = {0};
    for (unsigned i = 0; i < MOST_KEYS; i++) {
        if (of->keys[i].type != NULL) save_entry(&of->keys[i], &file);
    }
    current = NULL;
    return file;
}

/* Takes a key in, under its own name or another. */
static bool load_entry(server *of, bytes file, size_t *position, const char *other_name) {
    char name[32], type_name[16];
    uint64_t size;
    memcpy(name, file.data + *position, sizeof name);
    memcpy(type_name, file.data + *position + 32, sizeof type_name);
    memcpy(&size, file.data + *position + 48, sizeof size);
    if (other_name != NULL) snprintf(name, sizeof name, "%s", other_name);
    redis_io io = {.data = {.data = file.data + *position + 56, .size = size}};
    *position += 56 + size;
    for (unsigned i = 0; i < of->type_count; i++) {
        if (strcmp(of->types[i].name, type_name) != 0) continue;
        io.key = api_string(name, strlen(name));
        void *value = of->types[i].methods.load(&io, 0);
        redis_key key = {.at = server_find(of, name)};
        memcpy(key.name, name, sizeof name);
        if (value != NULL) (void)sim_ModuleTypeSetValue(&key, &of->types[i], value);
        api_free_string(io.key);
        return value != NULL;
    }
    return false;
}

static void send_event(server *of, uint64_t event, uint64_t kind, void *data) {
    redis_context context = {.find = api_find};
    if (of->on_event[event] != NULL)
        of->on_event[event](&context, (redis_event){event, 1}, kind, data);
}

/* All keys are removed at once: of single ones nothing is said. */
static void flush(server *of) {
    redis_flush all = {.version = 1, .is_synchronous = 1, .database = -1};
    send_event(of, REDIS_EVENT_FLUSH, REDIS_FLUSH_BEGINS, &all);
    for (unsigned i = 0; i < MOST_KEYS; i++) {
        if (of->keys[i].type == NULL) continue;
        of->keys[i].type->methods.release(of->keys[i].value);
        of->keys[i] = (entry){0};
    }
}

bool server_load(server *of, bytes file, bool is_own) {
    current = of;
    flush(of);
    if (!is_own) send_event(of, REDIS_EVENT_LOADING, REDIS_LOADING_REPLICATION, NULL);
    bool is_loaded = true;
    for (size_t position = 0; position < file.size && is_loaded;) {
        is_loaded = load_entry(of, file, &position, NULL);
    }
    if (!is_own) send_event(of, REDIS_EVENT_LOADING, REDIS_LOADING_ENDED, NULL);
    current = NULL;
    return is_loaded;
}

bytes server_dump(server *of, const char *key) {
    current = of;
    bytes payload = {0};
    save_entry(server_find(of, key), &payload);
    current = NULL;
    return payload;
}

bool server_restore(server *of, const char *key, bytes payload, bool is_replayed) {
    server *caller = current;
    current = of;
    size_t position = 0;
    bool is_restored = load_entry(of, payload, &position, key);
    if (is_restored) {
        redis_context context = {.find = api_find};
        redis_string *name = api_string(key, strlen(key));
        if (of->on_move != NULL) of->on_move(&context, REDIS_NOTIFY_GENERIC, "restore", name);
        api_free_string(name);
        command words = command_of("RESTORE", key, NULL);
        bytes_add(&words.words[words.count++], payload.data, payload.size);
        if (!is_replayed) api_replicate(&words);
        command_free(&words);
    }
    current = caller;
    return is_restored;
}

void server_rewrite_log(server *of, bool as_commands) {
    bytes file = {0};
    stream log = {0};
    if (as_commands) {
        current = of;
        for (unsigned i = 0; i < MOST_KEYS; i++) {
            if (of->keys[i].type == NULL) continue;
            redis_string *name = api_string(of->keys[i].name, strlen(of->keys[i].name));
            redis_io io = {.key = name, .rewritten = &log};
            of->keys[i].type->methods.rewrite(&io, name, of->keys[i].value);
            api_free_string(name);
        }
        current = NULL;
    } else {
        file = server_save(of);
    }
    bytes_free(&of->snapshot);
    stream_free(&of->log);
    of->snapshot = file;
    of->log = log;
}

/* --- Digests */

static void sim_DigestAddStringBuffer(redis_digest *digest, const char *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        digest->low = (digest->low ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
        digest->high += digest->low ^ digest->high << 7;
    }
}

static void sim_DigestAddLongLong(redis_digest *digest, long long value) {
    sim_DigestAddStringBuffer(digest, (const char *)&value, sizeof value);
}

/* Sequences are summed up in any order, as a server does. */
static void sim_DigestEndSequence(redis_digest *digest) {
    digest->sum_low ^= digest->low;
    digest->sum_high ^= digest->high;
    digest->low = UINT64_C(0xcbf29ce484222325);
    digest->high = 0;
}

void server_digest(server *of, const char *key, uint64_t out[2]) {
    current = of;
    entry *at = server_find(of, key);
    redis_digest digest = {.low = UINT64_C(0xcbf29ce484222325)};
    if (at != NULL) at->type->methods.digest(&digest, at->value);
    out[0] = digest.sum_low;
    out[1] = digest.sum_high;
    current = NULL;
}

static void *sim_DefragAlloc(redis_defrag *defrag, void *block) {
    (void)defrag;
    (void)block;
    return NULL;
}
static int sim_DefragShouldStop(redis_defrag *defrag) {
    (void)defrag;
    return 0;
}
static int sim_DefragCursorSet(redis_defrag *defrag, unsigned long cursor) {
    (void)defrag;
    (void)cursor;
    return REDIS_OK;
}
static int sim_DefragCursorGet(redis_defrag *defrag, unsigned long *cursor) {
    (void)defrag;
    *cursor = 0;
    return REDIS_OK;
}

const struct api_row api_rows_of_keys[] = {
    API_ROW(Alloc),
    API_ROW(TryAlloc),
    API_ROW(Free),
    API_ROW(Realloc),
    API_ROW(MallocSize),
    API_ROW(OpenKey),
    API_ROW(CloseKey),
    API_ROW(KeyType),
    API_ROW(DeleteKey),
    API_ROW(ModuleTypeSetValue),
    API_ROW(ModuleTypeReplaceValue),
    API_ROW(ModuleTypeGetType),
    API_ROW(ModuleTypeGetValue),
    API_ROW(CreateDataType),
    API_ROW(IsIOError),
    API_ROW(SaveUnsigned),
    API_ROW(LoadUnsigned),
    API_ROW(SaveStringBuffer),
    API_ROW(LoadStringBuffer),
    API_ROW(EmitAOF),
    API_ROW(LogIOError),
    API_ROW(GetContextFromIO),
    API_ROW(GetKeyNameFromIO),
    API_ROW(GetDbIdFromIO),
    API_ROW(GetKeyNameFromOptCtx),
    API_ROW(GetToKeyNameFromOptCtx),
    API_ROW(GetToDbIdFromOptCtx),
    API_ROW(DigestAddStringBuffer),
    API_ROW(DigestAddLongLong),
    API_ROW(DigestEndSequence),
    API_ROW(DefragAlloc),
    API_ROW(DefragShouldStop),
    API_ROW(DefragCursorSet),
    API_ROW(DefragCursorGet),
    {NULL, NULL},
};
