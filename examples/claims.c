/* A payment that is asked for twice and made once; who asks again is given the first answer.
 * cc claims.c $(pkg-config --cflags --libs lethe_store) && ./a.out FOLDER
 *
 *     worker-1 begins order-7: new
 *     worker-2 begins order-7: running
 *     worker-1 is done: recorded
 *     worker-2 begins order-7: done, the reply is "paid 12 EUR"
 */
#include <lethe/claims.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lethe_bytes bytes_of(const char *text) {
    lethe_bytes bytes = {text, strlen(text)};
    return bytes;
}

/* Tokens are random in a real program: nobody else may have them. The lease is ten minutes. */
static lethe_status begin(lethe_store *store, const char *worker) {
    lethe_claim_answer answer;
    lethe_claim claim = LETHE_INIT(lethe_claim);
    lethe_status status = lethe_claim_begin(store, bytes_of("order-7"), bytes_of(worker),
                                            bytes_of("12 EUR"), 600000, &answer, &claim);
    if (status != LETHE_OK) return status;
    printf("%s begins order-7: %s", worker, lethe_claim_answer_name(answer));
    if (answer == LETHE_CLAIM_DONE) {
        printf(", the reply is \"%.*s\"", (int)claim.reply.size, (const char *)claim.reply.data);
    }
    printf("\n");
    lethe_claim_free(&claim);
    return LETHE_OK;
}

static lethe_status run(lethe_store *store) {
    lethe_status status = begin(store, "worker-1");
    if (status == LETHE_OK) status = begin(store, "worker-2");
    /* Here worker-1 pays. */
    lethe_claim_answer answer = LETHE_CLAIM_UNKNOWN;
    if (status == LETHE_OK) {
        status = lethe_claim_done(store, bytes_of("order-7"), bytes_of("worker-1"),
                                  bytes_of("paid 12 EUR"), &answer);
    }
    if (status == LETHE_OK) printf("worker-1 is done: %s\n", lethe_claim_answer_name(answer));
    return status == LETHE_OK ? begin(store, "worker-2") : status;
}

int main(int count, char **words) {
    lethe_store *store;
    lethe_store_options options = LETHE_INIT(lethe_store_options);
    options.create = true;
    lethe_detail detail = {""};
    if (count != 2 || lethe_store_open(words[1], &options, &store, &detail) != LETHE_OK) {
        fprintf(stderr, "claims: %s\n", count == 2 ? detail.text : "which folder?");
        return EXIT_FAILURE;
    }
    lethe_status status = run(store);
    lethe_status closed = lethe_store_close(store, &detail);
    return status == LETHE_OK && closed == LETHE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
