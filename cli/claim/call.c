/* call.c - `lethe claim begin`, `renew`, `done` and `abort`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim/claim.h"
#include "frame/commands.h"
#include "frame/interrupt.h"
#include "say/message.h"
#include "store/store.h"

int run_claim_begin(const struct arguments *arguments) {
    struct claim_words words;
    lethe_store *store;
    lethe_claim claim = LETHE_INIT(lethe_claim);
    lethe_claim_answer answer;
    int code = claim_read_words(arguments, true, &words);
    if (code != EXIT_DONE) return code;
    interrupt_begin();
    code = claim_open(&words, true, &store);
    if (code != EXIT_DONE) return code;
    lethe_status status = lethe_claim_begin(store, words.id, words.token, words.fingerprint,
                                            words.lease_ms, &answer, &claim);
    if (status != LETHE_OK) return claim_fail(&words, store, status);
    code = store_close(words.folder, store, EXIT_DONE);
    int said = claim_answer(&words, answer, &claim);
    lethe_claim_free(&claim);
    return code == EXIT_DONE ? said : code;
}

/* One of the calls that a holder makes. */
typedef lethe_status (*holder_call)(lethe_store *store, const struct claim_words *words,
                                    lethe_bytes reply, lethe_claim_answer *answer);

static lethe_status renew(lethe_store *store, const struct claim_words *words, lethe_bytes reply,
                          lethe_claim_answer *answer) {
    (void)reply;
    return lethe_claim_renew(store, words->id, words->token, words->lease_ms, answer);
}

static lethe_status done(lethe_store *store, const struct claim_words *words, lethe_bytes reply,
                         lethe_claim_answer *answer) {
    return lethe_claim_done(store, words->id, words->token, reply, answer);
}

static lethe_status give_up(lethe_store *store, const struct claim_words *words, lethe_bytes reply,
                            lethe_claim_answer *answer) {
    (void)reply;
    return lethe_claim_abort(store, words->id, words->token, answer);
}

static int hold(const struct claim_words *words, holder_call call, lethe_bytes reply) {
    lethe_store *store;
    lethe_claim_answer answer;
    interrupt_begin();
    int code = claim_open(words, false, &store);
    if (code != EXIT_DONE) return code;
    lethe_status status = call(store, words, reply, &answer);
    if (status != LETHE_OK) return claim_fail(words, store, status);
    code = store_close(words->folder, store, EXIT_DONE);
    int said = claim_answer(words, answer, NULL);
    return code == EXIT_DONE ? said : code;
}

int run_claim_renew(const struct arguments *arguments) {
    struct claim_words words;
    int code = claim_read_words(arguments, false, &words);
    return code == EXIT_DONE ? hold(&words, renew, (lethe_bytes){0}) : code;
}

int run_claim_abort(const struct arguments *arguments) {
    struct claim_words words;
    int code = claim_read_words(arguments, false, &words);
    return code == EXIT_DONE ? hold(&words, give_up, (lethe_bytes){0}) : code;
}

/* Reads a reply from a file, or from standard input, into room for one byte more than it may
 * have. */
static int read_file(const char *path, char *room, lethe_bytes *out) {
    bool is_input = strcmp(path, "-") == 0;
    FILE *file = is_input ? stdin : fopen(path, "rbe");
    if (file == NULL)
        return message_fail(EXIT_ENVIRONMENT, "cannot read %s: %s; check the name", path,
                            strerror(errno));
    size_t size = fread(room, 1, LETHE_REPLY_LIMIT_BYTES + 1, file);
    bool has_failed = ferror(file) != 0;
    int reason = errno;
    if (!is_input) (void)fclose(file);
    if (has_failed)
        return message_fail(EXIT_ENVIRONMENT, "cannot read %s: %s; check the device", path,
                            strerror(reason));
    if (size > LETHE_REPLY_LIMIT_BYTES)
        return message_fail(EXIT_USAGE, "a reply has %d bytes at most; keep the rest elsewhere",
                            LETHE_REPLY_LIMIT_BYTES);
    *out = (lethe_bytes){.data = room, .size = size};
    return EXIT_DONE;
}

int run_claim_done(const struct arguments *arguments) {
    struct claim_words words;
    lethe_bytes reply = {0};
    const char *text = arguments_text(arguments, "reply");
    const char *path = arguments_text(arguments, "reply-file");
    int code = claim_read_words(arguments, false, &words);
    if (code == EXIT_DONE && text != NULL && path != NULL)
        code = arguments_fail(arguments, "--reply and --reply-file are both given; give one");
    if (code != EXIT_DONE) return code;
    char *room = path != NULL ? malloc(LETHE_REPLY_LIMIT_BYTES + 1) : NULL;
    if (path != NULL && room == NULL) return message_fail_memory();
    if (path != NULL) code = read_file(path, room, &reply);
    if (text != NULL) reply = (lethe_bytes){.data = text, .size = strlen(text)};
    if (code == EXIT_DONE) code = hold(&words, done, reply);
    free(room);
    return code;
}
