/* engine/claims/record.h - the records of CLAIMS: what they are in memory, and their bytes.
 *
 * Pure functions; docs/format/store.md has the layouts. Everything is checked when it is read. */
#ifndef LETHE_ENGINE_CLAIMS_RECORD_H
#define LETHE_ENGINE_CLAIMS_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/disk/disk.h"
#include "lethe/claims.h"
#include "lethe/io.h"

/* The kinds of records, by the first byte of their keys. */
enum {
    LETHE_CLAIM_BY_ID = 'c',   /* and the id: a claim */
    LETHE_CLAIM_DONE_AT = 'd', /* and a number: which claim was done next */
    LETHE_CLAIM_OPEN_AT = 'o', /* and a number: which claim was begun, or looked at, next */
    LETHE_CLAIM_REPLY = 'r',   /* and a number: a reply */
    LETHE_HOLD_BY_ID = 'h',    /* and the id: a hold (engine/holds/record.h) */
    LETHE_HOLD_ENDED_AT = 'e'  /* and a number: which hold ended next */
};

enum {
    LETHE_CLAIM_KEY_LIMIT_BYTES = 1 + LETHE_ID_LIMIT_BYTES,
    LETHE_CLAIM_NUMBER_KEY_BYTES = 9,
    LETHE_CLAIM_FIXED_BYTES = 40,
    LETHE_CLAIM_RECORD_LIMIT_BYTES =
        LETHE_CLAIM_FIXED_BYTES + LETHE_TOKEN_LIMIT_BYTES + LETHE_FINGERPRINT_LIMIT_BYTES,
    /* The largest record under an id is that of a hold. */
    LETHE_CLAIMS_COPY_LIMIT_BYTES = 64 + LETHE_KEY_LIMIT_BYTES,
    LETHE_CLAIM_ENTRY_FIXED_BYTES = 24,
    LETHE_CLAIM_ENTRY_LIMIT_BYTES = LETHE_CLAIM_ENTRY_FIXED_BYTES + LETHE_ID_LIMIT_BYTES
};
_Static_assert((int)LETHE_CLAIM_RECORD_LIMIT_BYTES <= (int)LETHE_CLAIMS_COPY_LIMIT_BYTES,
               "a claim's record can be copied, too");

typedef struct lethe_claim_key {
    unsigned char data[LETHE_CLAIM_KEY_LIMIT_BYTES];
    size_t size;
} lethe_claim_key;

/* The key of a hold or of a claim; of the record of a queue, or of a reply. */
void lethe_claim_key_of_kind(char kind, lethe_bytes id, lethe_claim_key *out);
static inline void lethe_claim_key_of_id(lethe_bytes id, lethe_claim_key *out) {
    lethe_claim_key_of_kind(LETHE_CLAIM_BY_ID, id, out);
}
void lethe_claim_key_of_number(char kind, uint64_t number, lethe_claim_key *out);
static inline lethe_bytes lethe_claim_key_bytes(const lethe_claim_key *key) {
    return (lethe_bytes){.data = key->data, .size = key->size};
}

/* A claim. Token and fingerprint are borrowed. */
typedef struct lethe_claim_record {
    bool is_done;
    /* In the queue of the open ones, or of those that are done. */
    uint64_t number;
    /* The end of the lease, or when it was done, by the clock of claims. */
    uint64_t moment_ms;
    /* Done: of the reply; 0, and 0 bytes: it is empty. */
    uint64_t reply_number;
    uint32_t reply_bytes;
    lethe_bytes token, fingerprint;
} lethe_claim_record;

size_t lethe_claim_store(unsigned char out[LETHE_CLAIM_RECORD_LIMIT_BYTES],
                         const lethe_claim_record *claim);
/* Errors: LETHE_ECORRUPT, LETHE_EVERSION. */
LETHE_MUST_CHECK lethe_status lethe_claim_load(lethe_bytes record, lethe_claim_record *out);

/* What stands for a claim, or a hold, in the digest of all. */
uint64_t lethe_claim_digest(lethe_bytes key, lethe_bytes record);

/* What stands in a queue. */
typedef struct lethe_claim_entry {
    uint64_t moment_ms;
    /* Of a claim that is done, as in its record. */
    uint64_t reply_number;
    uint32_t reply_bytes;
    lethe_bytes id;
} lethe_claim_entry;

size_t lethe_claim_entry_store(unsigned char out[LETHE_CLAIM_ENTRY_LIMIT_BYTES],
                               const lethe_claim_entry *entry);
LETHE_MUST_CHECK lethe_status lethe_claim_entry_load(lethe_bytes record, lethe_claim_entry *out);

/* What a reply counts as in the cap of all. */
static inline uint64_t lethe_claim_charge(uint32_t reply_bytes) {
    if (reply_bytes == 0) return 0;
    return reply_bytes < LETHE_REPLY_LEAST_BYTES ? LETHE_REPLY_LEAST_BYTES : reply_bytes;
}

/* A range of numbers: from first up to, but without, next. */
typedef struct lethe_claim_range {
    uint64_t first, next;
} lethe_claim_range;

/* What it says of holds. */
typedef struct lethe_holds_totals {
    /* How many there ever were; while there is none, the record is as versions without holds have
     * it. */
    uint64_t placed;
    /* Holds whose end is not recorded, and those whose is. */
    uint64_t open_count, ended_count;
    /* Settlements beyond their limit. */
    uint64_t forced;
    /* The queue of those that have ended. */
    lethe_claim_range ended;
    /* The sum of all holds' digests. */
    uint64_t digest;
} lethe_holds_totals;

/* The record about all claims and holds, under the empty key. Every commit carries it. */
typedef struct lethe_claims_record {
    /* The clock of claims, and the machine's clocks at the same moment. */
    uint64_t clock_ms, boot_ms, wall_ms;
    unsigned char boot_id[16];
    /* The queues, and the replies that are there. */
    lethe_claim_range opened, done, replies;
    /* Claims that are not done, and that are. */
    uint64_t open_count, done_count;
    uint64_t reply_bytes, reply_limit_bytes;
    /* The sum of all claims' digests. */
    uint64_t digest;
    lethe_holds_totals holds;
} lethe_claims_record;

/* Its bytes, in *out, which the caller frees (lethe_memory_writer_free). Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_claims_encode(const lethe_claims_record *record,
                                                  lethe_memory_writer *out);
/* Errors: LETHE_ECORRUPT, LETHE_ETYPE, LETHE_EVERSION, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_claims_decode(lethe_bytes bytes, lethe_claims_record *out);
/* Adds the record to a batch. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_claims_put(const lethe_claims_record *record,
                                               lethe_batch *batch, lethe_disk *disk);
/* Errors: LETHE_ENOTFOUND (no claim was ever begun), LETHE_ECORRUPT, LETHE_EVERSION, those of the
 * disk. */
LETHE_MUST_CHECK lethe_status lethe_claims_load(lethe_disk *disk, lethe_claims_record *out,
                                                lethe_detail *detail);

#endif
