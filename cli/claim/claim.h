/* claim.h - what the `lethe claim` commands share.
 *
 *   common.c   arguments, opening a store that others write as well, answers
 *   call.c     begin, renew, done, abort         list.c   list
 *   run.c      a command that is run once        output.c what it printed, as a reply */
#ifndef LETHE_CLI_CLAIM_CLAIM_H
#define LETHE_CLI_CLAIM_CLAIM_H

#include "frame/arguments.h"
#include "lethe/claims.h"

enum { CLAIM_DEFAULT_LEASE_MS = 60000, CLAIM_TOKEN_BYTES = 32 };

/* What the command line says. */
struct claim_words {
    const char *folder;
    lethe_bytes id, token, fingerprint;
    uint64_t lease_ms, wait_ms;
    bool json;
    /* A token that was made up. */
    char made[CLAIM_TOKEN_BYTES + 1];
};

/* Reads what the command has of these. The bytes stay in the arguments. Returns EXIT_DONE or
 * EXIT_USAGE. */
int claim_read_words(const struct arguments *arguments, bool makes_token, struct claim_words *out);

/* Opens the store to write. While another process writes it, waits for so long as the words say.
 * The caller closes it with store_close. */
int claim_open(const struct claim_words *words, bool create, lethe_store **out);

/* Prints an answer and returns the exit code: as JSON, or as a message if it is negative. claim may
 * be NULL. */
int claim_answer(const struct claim_words *words, lethe_claim_answer answer,
                 const lethe_claim *claim);

/* Says that a call failed, and closes the store. Returns the exit code. */
int claim_fail(const struct claim_words *words, lethe_store *store, lethe_status status);

/* output.c: what a command printed, as the reply of its claim: its exit status and the size of its
 * output, in one line, and the output as far as there is room. */
struct claim_output {
    int status;
    uint64_t bytes; /* printed */
    size_t kept;    /* of these, in data */
    char data[LETHE_REPLY_LIMIT_BYTES];
};
/* Adds what was printed. */
void claim_output_add(struct claim_output *output, const char *data, size_t size);
/* The reply: valid until output changes. */
lethe_bytes claim_output_reply(struct claim_output *output);
/* Reads a reply; false if it is none of these. The output is borrowed from it. */
bool claim_output_read(lethe_bytes reply, int *status, uint64_t *bytes, lethe_bytes *kept);

#endif
