/* module/once/call.c - ONCE.CALL: any write command, once.
 *
 * The id is remembered before the command runs, so that no command is done whose id is then refused
 * for lack of memory. If the command fails, the id is taken back. In a window that takes none back,
 * room is made for the id, and it is remembered afterwards. Both happen within one command of
 * the server, so nobody sees what is in between. The command's own replication and the table's
 * effect are sent as one transaction.
 *
 * A command that replies with an error has done nothing, and the id is free again. A command
 * that takes many items may reply with errors among other answers: some of it is done, so the id
 * stays remembered, and the reply says 2 rather than 1.
 *
 * With KEEP the id is a claim's (claims.c) instead of the window's, and the reply is kept with a
 * hash of the whole command, and of the user, so that only the same user, who sends the same
 * command and may run it, gets it again. The claim is made after the command has succeeded, and
 * needs no memory that could be refused then.
 *
 * What may be called is a plain write: a command that writes, names its keys, and does no more
 * than it says. Scripts are excluded, and what blocks or administers, and what names no key or
 * the table itself. The caller needs the right to run the command and to use its keys, as if it
 * were sent alone. The server checks that they are in the same slot, because they are reported
 * as keys of ONCE.CALL. */
#include <errno.h>
#include <string.h>

#include "command/options.h"
#include "once/kept.h"
#include "once/once.h"
#include "once/plain.h"
#include "once/ranges.h"
#include "server/errors.h"
#include "server/limits.h"
#include "server/reply.h"
#include "types.h"

/* The command that is called, in the arguments of ONCE.CALL. */
struct inner {
    redis_string **arguments;
    int count;
    int position;
    bool no_create, is_kept;
};

/* ONCE.CALL table id [NOCREATE] [KEEP] command ...: no command has such a name. */
static struct inner inner_of(redis_string **arguments, int count) {
    struct inner inner = {.position = 3};
    for (; inner.position < count; inner.position++) {
        bool *option = NULL;
        if (is_word(arguments[inner.position], "NOCREATE")) option = &inner.no_create;
        if (is_word(arguments[inner.position], "KEEP")) option = &inner.is_kept;
        if (option == NULL || *option) break;
        *option = true;
    }
    inner.arguments = arguments + inner.position;
    inner.count = count - inner.position;
    return inner;
}

enum { DEEPEST = 16 };
enum called { REPLY_GONE = -1, DUPLICATE = 0, DONE = 1, DONE_IN_PART = 2 };

/* Reports to the server which arguments are keys: the table, and the inner command's. An
 * ONCE.CALL in an ONCE.CALL will be refused; the keys in it are not asked for, since that could
 * exhaust the stack. */
static int report_keys(redis_context *context, redis_string **arguments, int count) {
    static bool is_reporting;
    redis.KeyAtPosWithFlags(context, 1, REDIS_KEY_READ_WRITE | REDIS_KEY_ACCESS | REDIS_KEY_UPDATE);
    if (is_reporting) return REDIS_OK;
    is_reporting = true;
    int keys = 0, *flags = NULL;
    struct inner inner = inner_of(arguments, count);
    int *positions = inner.count > 0 ? redis.GetCommandKeysWithFlags(context, inner.arguments,
                                                                     inner.count, &keys, &flags)
                                     : NULL;
    is_reporting = false;
    for (int i = 0; positions != NULL && i < keys; i++)
        redis.KeyAtPosWithFlags(context, inner.position + positions[i], flags[i]);
    redis.Free(positions);
    redis.Free(flags);
    return REDIS_OK;
}

/* Whether its keys are named, and none of them is the table. */
static const char *judge_keys(redis_context *context, const struct inner *inner,
                              const redis_string *table) {
    int keys = 0, *flags = NULL;
    int *positions =
        redis.GetCommandKeysWithFlags(context, inner->arguments, inner->count, &keys, &flags);
    const char *problem = NULL;
    if (positions == NULL || keys == 0) {
        problem = errno == EINVAL ? ERROR_CALL_ARITY : ERROR_CALL_NO_KEYS;
    }
    for (int i = 0; positions != NULL && i < keys; i++) {
        if (redis.StringCompare(inner->arguments[positions[i]], table) == 0)
            problem = ERROR_CALL_TABLE;
    }
    redis.Free(positions);
    redis.Free(flags);
    return problem;
}

static const char *judge_caller(redis_context *context, const struct inner *inner) {
    redis_string *name = redis.GetCurrentUserName(context);
    redis_user *user = name != NULL ? redis.GetModuleUserFromUserName(name) : NULL;
    const char *problem = NULL;
    /* Without a user the caller is the replication link, the log, or a script that was checked. */
    if (user != NULL &&
        redis.ACLCheckCommandPermissions(user, inner->arguments, inner->count) != REDIS_OK) {
        problem = ERROR_CALL_DENIED;
    }
    if (user != NULL) redis.FreeModuleUser(user);
    if (name != NULL) redis.FreeString(context, name);
    return problem;
}

static const char *judge(redis_context *context, const struct inner *inner,
                         const redis_string *table) {
    const char *problem = plain_judge(context, inner->arguments, inner->count);
    if (problem == NULL) problem = judge_keys(context, inner, table);
    if (problem == NULL) problem = judge_caller(context, inner);
    return problem;
}

/* Whether a reply holds an error, at any depth. */
static bool holds_error(redis_reply *reply, int depth) {
    int type = reply != NULL ? redis.CallReplyType(reply) : REDIS_REPLY_STRING;
    if (type == REDIS_REPLY_ERROR) return true;
    bool is_array = type == REDIS_REPLY_ARRAY, is_map = type == REDIS_REPLY_MAP;
    if (depth == DEEPEST || !(is_array || is_map || type == REDIS_REPLY_SET)) return false;
    bool answer = false;
    size_t count = redis.CallReplyLength(reply);
    for (size_t i = 0; i < count && !answer; i++) {
        redis_reply *one = NULL;
        if (is_map) {
            (void)redis.CallReplyMapElement(reply, i, NULL, &one);
        } else {
            one = is_array ? redis.CallReplyArrayElement(reply, i)
                           : redis.CallReplySetElement(reply, i);
        }
        answer = holds_error(one, depth + 1);
    }
    return answer;
}

/* The reply's bytes if they can be kept, or none. */
static struct slice bytes_to_keep(redis_reply *reply) {
    struct slice bytes;
    bytes.data = redis.CallReplyProto(reply, &bytes.size);
    return bytes.data != NULL && kept_is_valid(bytes) ? bytes : (struct slice){0};
}

static void reply_called(redis_context *context, redis_reply *reply, bool is_kept) {
    if (reply != NULL && redis.CallReplyType(reply) == REDIS_REPLY_ERROR) {
        redis.ReplyWithCallReply(context, reply);
    } else if (reply != NULL) {
        struct slice bytes = {0};
        if (is_kept) bytes = bytes_to_keep(reply);
        redis.ReplyWithArray(context, 2);
        redis.ReplyWithLongLong(context, holds_error(reply, 0) ? DONE_IN_PART : DONE);
        if (bytes.size > 0) {
            (void)kept_reply(context, bytes);
        } else {
            redis.ReplyWithCallReply(context, reply);
        }
    } else {
        reply_error(context, ERROR_CALL_FAILED);
    }
}

/* A call under way. */
struct call {
    struct change *change;
    /* Of the table. */
    const struct ticket *ticket;
    lethe_hash id;
    bool is_table_new;
    /* With KEEP: the id of the claim, and the hash of the command. */
    struct slice claim;
    lethe_hash command;
};

/* Makes the claim of a command that has succeeded. */
static void keep(struct once *table, struct call *call, redis_reply *reply) {
    struct effect *effect = &call->change->effect;
    struct slice bytes = bytes_to_keep(reply);
    bool is_kept = bytes.size > 0 && claims_make_room(table, effect, bytes.size, true);
    struct claim_facts facts = {
        .is_call = true,
        .id = call->claim,
        .fingerprint = {(const char *)&call->command, sizeof call->command}};
    claim_complete(table, &facts, is_kept, bytes);
    claims_set(table, effect, &facts);
}

/* A table that was made for a command that failed is removed again. */
static void unmake(redis_context *context, redis_key *key, redis_string *name) {
    redis.DeleteKey(key);
    redis.CloseKey(key);
    redis.Replicate(context, "DEL", "s", name);
    announce(context, name, "del");
}

/* Opens the table again, which the command may have moved or removed, and finishes its effect. */
static void finish_call(redis_context *context, redis_string *name, struct call *call,
                        redis_reply *reply) {
    bool has_succeeded = reply != NULL && redis.CallReplyType(reply) != REDIS_REPLY_ERROR;
    struct opened *opened = &call->change->opened;
    opened->key = redis.OpenKey(context, name, REDIS_READ | REDIS_WRITE);
    bool is_there = redis.KeyType(opened->key) == REDIS_KEY_MODULE &&
                    redis.ModuleTypeGetType(opened->key) == *once_type.handle;
    struct once *table = is_there ? redis.ModuleTypeGetValue(opened->key) : NULL;
    if (table == NULL || table->head.ticket != call->ticket) {
        effect_drop(&call->change->effect);
        redis.CloseKey(opened->key);
        return;
    }
    opened->value = table;
    if (call->is_table_new && !has_succeeded) {
        effect_drop(&call->change->effect);
        unmake(context, opened->key, name);
        return;
    }
    if (call->claim.size == 0) {
        once_end(table, &call->change->effect, call->id, has_succeeded);
    } else if (has_succeeded) {
        keep(table, call, reply);
    }
    finish_change(context, call->change, name, has_succeeded ? EVENT_CALL : EVENT_NONE);
}

/* Runs the command. The letters mean: replicate it, reply in the caller's protocol, errors are
 * replies, apply the rules of scripts, the caller's rights, and the memory limit. A reply that is
 * kept is the same for all callers. */
static redis_reply *run(redis_context *context, const struct inner *inner) {
    const char *command = redis.StringPtrLen(inner->arguments[0], NULL);
    return redis.Call(context, command, inner->is_kept ? "!ESCMv" : "!0ESCMv", inner->arguments + 1,
                      (size_t)(inner->count - 1));
}

/* Of the caller's name and all words of the command, under the table's seed. What another user's
 * rights let a command see, such as the keys of SORT's patterns, is checked only when it runs. */
static lethe_hash hash_command(redis_context *context, const struct once *table,
                               const struct inner *inner) {
    lethe_hash both[2] = {{0}};
    redis_string *user = redis.GetCurrentUserName(context);
    /* As it always was for the default user, whose kept replies are in saved tables. */
    size_t size = 0;
    const char *name = user != NULL ? redis.StringPtrLen(user, &size) : "";
    bool is_default = size == 7 && memcmp(name, "default", 7) == 0;
    if (user != NULL && !is_default) both[0] = once_hash(table, user);
    if (user != NULL) redis.FreeString(context, user);
    for (int i = 0; i < inner->count; i++) {
        both[1] = once_hash(table, inner->arguments[i]);
        both[0] = lethe_hash_bytes(table->seed, both, sizeof both);
    }
    return both[0];
}

/* The id has been called for before. */
static int reply_again(redis_context *context, struct call *call, redis_string *name,
                       const struct claim *claim) {
    struct claim_facts facts = claim_facts_of(claim);
    if (!facts.is_call || memcmp(facts.fingerprint.data, &call->command, CLAIM_HASH_BYTES) != 0) {
        abandon_change(call->change);
        return reply_error(context, ERROR_CALL_MISMATCH);
    }
    redis.ReplyWithArray(context, 2);
    redis.ReplyWithLongLong(context, facts.state == CLAIM_GONE ? REPLY_GONE : DUPLICATE);
    if (facts.state == CLAIM_GONE) {
        redis.ReplyWithNull(context);
    } else {
        (void)kept_reply(context, facts.reply);
    }
    finish_change(context, call->change, name, EVENT_NONE);
    return REDIS_OK;
}

/* The id is not fresh, or can't be remembered. */
static int reply_uncalled(redis_context *context, uint8_t answer) {
    if (answer == LETHE_ANSWER_REFUSED) return reply_refused(context);
    redis.ReplyWithArray(context, 2);
    redis.ReplyWithLongLong(context, DUPLICATE);
    return redis.ReplyWithNull(context);
}

/* Whether the command is to be run: the id is fresh, and there is memory. False with the answer
 * replied. */
static bool may_run(redis_context *context, redis_string *name, struct once_change *found,
                    struct call *call) {
    struct once *table = found->table;
    struct change *change = call->change;
    bool is_kept = call->claim.size > 0;
    const struct claim *claim = is_kept ? claims_find(table, call->claim) : NULL;
    if (claim != NULL) {
        (void)reply_again(context, call, name, claim);
        return false;
    }
    if (found->is_out_of_memory && (is_kept || !once_is_duplicate(table, call->id))) {
        abandon_change(change);
        (void)reply_out_of_memory(context, &table->head);
        return false;
    }
    if (call->is_table_new) {
        /* Replicas get the table before what the command does. */
        effect_send(&change->effect, context, name, &table->head, EVENT_CREATE);
        announce(context, name, "once.create");
        change->opened.is_new = false;
        effect_begin(&change->effect, &table->head);
    }
    if (is_kept) return true;
    uint8_t answer = once_begin(table, &change->effect, call->id);
    if (answer == LETHE_ANSWER_FRESH) return true;
    finish_change(context, change, name, EVENT_NONE);
    (void)reply_uncalled(context, answer);
    return false;
}

int once_call(redis_context *context, redis_string **arguments, int count) {
    if (redis.IsKeysPositionRequest(context))
        return count > 3 ? report_keys(context, arguments, count) : REDIS_OK;
    struct inner inner = inner_of(arguments, count);
    if (inner.count < 1) return redis.WrongArity(context);
    if (!once_are_ids(context, arguments + 2, 1, 1)) return REDIS_OK;
    struct slice id;
    id.data = redis.StringPtrLen(arguments[2], &id.size);
    const char *problem = inner.is_kept ? range_size(&range_claim_id, "id", arguments[2]) : NULL;
    if (problem == NULL) problem = judge(context, &inner, arguments[1]);
    if (problem != NULL) return reply_error(context, problem);
    struct once_change found;
    struct change *change = &found.change;
    if (!once_open_to_change(context, arguments[1], !inner.no_create, &found)) return REDIS_OK;
    struct once *table = found.table;
    struct call call = {.change = change,
                        .ticket = table->head.ticket,
                        .id = once_hash(table, arguments[2]),
                        .is_table_new = change->opened.is_new};
    if (inner.is_kept) {
        call.claim = id;
        call.command = hash_command(context, table, &inner);
    }
    if (!may_run(context, arguments[1], &found, &call)) return REDIS_OK;
    redis.CloseKey(change->opened.key);
    limits_unwatch();
    redis_reply *reply = run(context, &inner);
    finish_call(context, arguments[1], &call, reply);
    reply_called(context, reply, inner.is_kept);
    if (reply != NULL) redis.FreeCallReply(reply);
    return REDIS_OK;
}
