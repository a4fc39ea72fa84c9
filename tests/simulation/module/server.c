/* simulation/module/server.c - the life of a simulated server: starting, commands, timers, being
 * killed.
 *
 * Each start loads a copy of lethe.so of its own, so that two servers share nothing, and a
 * server that was killed leaves nothing in memory. */
#include "server.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api.h"

extern const char *module_path; /* of lethe.so */

/* A file of its own: the loader knows libraries by their files. */
static void copy_module(server *of) {
    static unsigned copies;
    snprintf(of->path, sizeof of->path, "%s/lethe-simulated-%d-%u.so",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid(), copies++);
    FILE *from = fopen(module_path, "rb"), *to = fopen(of->path, "wb");
    if (from == NULL || to == NULL) {
        fprintf(stderr, "cannot copy %s to %s\n", module_path, of->path);
        exit(2);
    }
    char data[1 << 16];
    for (size_t got; (got = fread(data, 1, sizeof data, from)) > 0;) {
        if (fwrite(data, 1, got, to) != got) exit(2);
    }
    fclose(from);
    fclose(to);
}

static redis_command_function *function_of(const server *of, bytes name) {
    for (unsigned i = 0; i < of->function_count; i++) {
        const char *known = of->functions[i].name;
        if (strlen(known) == name.size && strncasecmp(known, name.data, name.size) == 0)
            return of->functions[i].function;
    }
    return NULL;
}

static bool is_word(const command *words, const char *name) {
    return words->words[0].size == strlen(name) &&
           strncmp(words->words[0].data, name, strlen(name)) == 0;
}

static reply run(server *of, const command *words) {
    reply answer = {0};
    current = of;
    of->work = of->allocations = 0;
    if (is_word(words, "RESTORE")) {
        char key[32] = "";
        memcpy(key, words->words[1].data, words->words[1].size);
        answer.is_error =
            !server_restore(of, key, words->words[2], of->is_loading || of->is_replicated);
        if (of->is_replicated) api_replicate(words);
    } else if (is_word(words, "RENAME") || is_word(words, "DEL")) {
        char key[32] = "", other[32] = "";
        memcpy(key, words->words[1].data, words->words[1].size);
        if (words->count == 3) memcpy(other, words->words[2].data, words->words[2].size);
        if (words->count == 3) {
            server_rename(of, key, other);
        } else {
            server_remove(of, key);
        }
        current = of;
        api_replicate(words);
    } else {
        redis_command_function *function = function_of(of, words->words[0]);
        if (function == NULL) {
            fprintf(stderr, "no command %.*s\n", (int)words->words[0].size, words->words[0].data);
            exit(2);
        }
        redis_context context = {.find = api_find, .answer = &answer, .words = words};
        redis_string *arguments[MOST_WORDS];
        for (int i = 0; i < words->count; i++) {
            arguments[i] = api_string(words->words[i].data, words->words[i].size);
        }
        (void)function(&context, arguments, words->count);
        for (int i = 0; i < words->count; i++) {
            api_free_string(arguments[i]);
        }
    }
    current = NULL;
    return answer;
}

reply server_call(server *of, const command *words) {
    return run(of, words);
}

reply server_follow(server *of, const command *words) {
    of->is_replicated = true;
    reply answer = run(of, words);
    of->is_replicated = false;
    return answer;
}

static void send_event(server *of, uint64_t event, uint64_t kind) {
    redis_context context = {.find = api_find};
    current = of;
    if (of->on_event[event] != NULL)
        of->on_event[event](&context, (redis_event){event, 1}, kind, NULL);
    current = NULL;
}

void server_set_role(server *of, bool is_replica) {
    of->is_replica = is_replica;
    send_event(of, REDIS_EVENT_ROLE, is_replica ? REDIS_ROLE_REPLICA : REDIS_ROLE_MASTER);
}

void server_start(server *of) {
    copy_module(of);
    of->library = dlopen(of->path, RTLD_NOW | RTLD_LOCAL);
    if (of->library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    unlink(of->path);
    int (*on_load)(redis_context *, redis_string **, int) =
        (int (*)(redis_context *, redis_string **, int))dlsym(of->library, "RedisModule_OnLoad");
    redis_context context = {.find = api_find};
    current = of;
    if (on_load(&context, NULL, 0) != REDIS_OK) {
        fprintf(stderr, "the module does not load: is a server function missing here?\n");
        exit(2);
    }
    of->is_loading = true;
    enum { LOADING_LOG = 1 };
    send_event(of, REDIS_EVENT_LOADING, LOADING_LOG);
    bool is_loaded = server_load(of, of->snapshot, true);
    for (size_t i = 0; i < of->log.count && is_loaded; i++) {
        is_loaded = !run(of, &of->log.commands[i]).is_error;
    }
    if (!is_loaded) {
        fprintf(stderr, "server %u cannot load what it saved\n", of->number);
        abort();
    }
    send_event(of, REDIS_EVENT_LOADING, REDIS_LOADING_ENDED);
    of->is_loading = false;
}

void server_kill(server *of) {
    dlclose(of->library);
    api_forget_memory(of);
    *of = (server){.number = of->number,
                   .at = of->at,
                   .log = of->log,
                   .snapshot = of->snapshot,
                   .is_replica = of->is_replica};
}

info_list server_info(server *of) {
    info_list found = {0};
    current = of;
    of->on_info((redis_info *)(void *)&found, 0);
    current = NULL;
    return found;
}

static void take_own_turn(server *of) {
    redis_context context = {.find = api_find};
    current = of;
    of->on_event[REDIS_EVENT_CRON](&context, (redis_event){REDIS_EVENT_CRON, 1}, 0, NULL);
    current = NULL;
}

void server_run_timers(server *of) {
    take_own_turn(of);
    unsigned count = of->timer_count;
    timer due[MOST_TIMERS];
    unsigned due_count = 0, left = 0;
    for (unsigned i = 0; i < count; i++) {
        if (of->timers[i].due_ms <= host_wall_ms(of->at)) {
            due[due_count++] = of->timers[i];
        } else {
            of->timers[left++] = of->timers[i];
        }
    }
    of->timer_count = left;
    redis_context context = {.find = api_find};
    current = of;
    for (unsigned i = 0; i < due_count; i++) {
        due[i].function(&context, due[i].data);
    }
    current = NULL;
}
