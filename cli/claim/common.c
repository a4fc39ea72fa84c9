/* common.c - what the `lethe claim` commands share. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "claim/claim.h"
#include "events/problem.h"
#include "output/output.h"
#include "say/escape.h"
#include "say/human.h"
#include "say/json.h"
#include "say/message.h"
#include "store/store.h"

static const struct store_bytes token_bytes = {"token", "a token", 1, LETHE_TOKEN_LIMIT_BYTES};
static const struct store_bytes print_bytes = {"fingerprint", "a fingerprint", 0,
                                               LETHE_FINGERPRINT_LIMIT_BYTES};

/* Makes up a token that nobody else has. */
static int make_token(struct claim_words *out) {
    unsigned char random[CLAIM_TOKEN_BYTES / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return message_fail(EXIT_ENVIRONMENT, "the system has no random numbers; give --token");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(out->made + 2 * i, 3, "%02x", random[i]);
    out->token = (lethe_bytes){.data = out->made, .size = CLAIM_TOKEN_BYTES};
    return EXIT_DONE;
}

static bool knows(const struct arguments *arguments, const char *name) {
    for (const struct option *option = arguments->command->options; option->name != NULL; option++)
        if (strcmp(option->name, name) == 0) return true;
    return false;
}

/* The value of an option that the command may not have. It is a word of the command line, which
 * may be changed in place. */
static char *text_of(const struct arguments *arguments, const char *name) {
    return knows(arguments, name) ? (char *)(uintptr_t)arguments_text(arguments, name) : NULL;
}

int claim_read_words(const struct arguments *arguments, bool makes_token, struct claim_words *out) {
    *out = (struct claim_words){.lease_ms = CLAIM_DEFAULT_LEASE_MS,
                                .wait_ms = STORE_DEFAULT_WAIT_MS,
                                .json = text_of(arguments, "json") != NULL};
    char *token = text_of(arguments, "token"), *print = text_of(arguments, "fingerprint");
    int code = store_folder(arguments, &out->folder);
    if (code == EXIT_DONE) code = store_read_word(&store_id, arguments->operands[0], &out->id);
    if (code == EXIT_DONE && token != NULL)
        code = store_read_word(&token_bytes, token, &out->token);
    if (code == EXIT_DONE && token == NULL && makes_token) code = make_token(out);
    if (code == EXIT_DONE && token == NULL && !makes_token)
        code = arguments_fail(arguments, "--token T is missing: what `lethe claim begin` printed");
    if (code == EXIT_DONE && print != NULL)
        code = store_read_word(&print_bytes, print, &out->fingerprint);
    if (code == EXIT_DONE && knows(arguments, "lease"))
        code = arguments_duration(arguments, "lease", 1, LETHE_LEASE_LIMIT_MS, &out->lease_ms);
    if (code == EXIT_DONE && knows(arguments, "wait"))
        code = arguments_duration(arguments, "wait", 1, UINT64_C(86400000), &out->wait_ms);
    return code;
}

int claim_open(const struct claim_words *words, bool create, lethe_store **out) {
    return store_open_in_turn(words->folder, &LETHE_OPTIONS(lethe_store_options, .create = create),
                              words->wait_ms, out);
}

int claim_fail(const struct claim_words *words, lethe_store *store, lethe_status status) {
    int code = store_fail_call(status, "write the store", words->folder, store);
    return store_close(words->folder, store, code);
}

static bool is_positive(lethe_claim_answer answer) {
    return answer == LETHE_CLAIM_NEW || answer == LETHE_CLAIM_RENEWED ||
           answer == LETHE_CLAIM_RECORDED || answer == LETHE_CLAIM_DUPLICATE ||
           answer == LETHE_CLAIM_ABORTED;
}

static void print_json(const struct claim_words *words, lethe_claim_answer answer,
                       const lethe_claim *claim) {
    struct json json = json_begin(stdout);
    json_string(&json, "answer", lethe_claim_answer_name(answer));
    json_bytes(&json, "id", words->id);
    if (answer == LETHE_CLAIM_NEW) json_bytes(&json, "token", words->token);
    if (answer == LETHE_CLAIM_RUNNING && claim != NULL)
        json_integer(&json, "left_ms", claim->left_ms);
    if (answer == LETHE_CLAIM_DONE && claim != NULL && claim->reply_gone) json_null(&json, "reply");
    if (answer == LETHE_CLAIM_DONE && claim != NULL && !claim->reply_gone)
        json_bytes(&json, "reply", claim->reply);
    json_end(&json);
}

static void explain(const struct claim_words *words, lethe_claim_answer answer,
                    const lethe_claim *claim) {
    struct event_excerpt excerpt;
    struct human_text left;
    const char *id = event_excerpt(words->id, &excerpt);
    if (answer == LETHE_CLAIM_RUNNING && claim != NULL)
        message_note("'%s' is running; its lease lasts %s more at least", id,
                     human_seconds((double)claim->left_ms / 1000, &left));
    if (answer == LETHE_CLAIM_DONE)
        message_note("'%s' is done%s", id,
                     claim != NULL && claim->reply_gone ? "; its reply has made room for later ones"
                                                        : "");
    if (answer == LETHE_CLAIM_MISMATCH)
        message_note("'%s' was begun with another fingerprint; use another id", id);
    if (answer == LETHE_CLAIM_LOST)
        message_note("'%s' is not this token's: another holds or completed it", id);
    if (answer == LETHE_CLAIM_UNKNOWN)
        message_note("there is no claim '%s': it was never begun, or aborted, or forgotten", id);
}

int claim_answer(const struct claim_words *words, lethe_claim_answer answer,
                 const lethe_claim *claim) {
    int code = is_positive(answer) ? EXIT_DONE : EXIT_NEGATIVE;
    if (words->json) {
        print_json(words, answer, claim);
        return code;
    }
    explain(words, answer, claim);
    if (answer == LETHE_CLAIM_NEW) {
        char line[ESCAPE_FACTOR * LETHE_TOKEN_LIMIT_BYTES + 1];
        size_t size = escape_write(words->token, line);
        line[size++] = '\n';
        return output_write(line, size);
    }
    if (answer != LETHE_CLAIM_DONE || claim == NULL) return code;
    int written = output_write(claim->reply.data, claim->reply.size);
    return written == EXIT_DONE ? code : written;
}
