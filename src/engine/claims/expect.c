/* engine/claims/expect.c - whether all claims are there, as the record about them counts them.
 *
 * IDEA    The record has the sum of all claims' digests. A claim that is missing, or is there as it
 *         was at another time, changes the sum.
 * WHY     A database whose manifest lost its end opens without an error, and a reader may meet the
 *         tables of one moment and the log of another. Neither may show a claim as it was: its work
 *         would be done again. */
#include <string.h>

#include "core/bytes.h"
#include "core/detail.h"
#include "engine/claims/claims.h"
#include "engine/log/log.h"

/* What a walk found. */
struct tally {
    uint64_t open, done, digest;
    uint64_t opened, dones, replies, charge;
};

static lethe_status count_claim(lethe_bytes key, lethe_bytes value, struct tally *tally) {
    lethe_claim_record claim;
    lethe_status status = lethe_claim_load(value, &claim);
    if (status != LETHE_OK) return status;
    if (key.size < 2 || key.size > LETHE_CLAIM_KEY_LIMIT_BYTES) return LETHE_ECORRUPT;
    tally->open += !claim.is_done;
    tally->done += claim.is_done;
    tally->digest += lethe_claim_digest(key, value);
    return LETHE_OK;
}

static char kind_of(lethe_bytes key) {
    return key.size > 0 ? *(const char *)key.data : 0;
}

/* Counts the claims: the first records of CLAIMS, after the one about all. */
static lethe_status count_claims(lethe_disk *disk, struct tally *tally, lethe_detail *detail) {
    static const char first = LETHE_CLAIM_BY_ID;
    lethe_walk *walk;
    lethe_status status = lethe_walk_begin(disk, LETHE_FAMILY_CLAIMS,
                                           (lethe_bytes){.data = &first, .size = 1}, &walk);
    if (status != LETHE_OK) return lethe_explain_damage("", status, detail);
    lethe_bytes key, value;
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value) &&
           kind_of(key) == LETHE_CLAIM_BY_ID)
        status = count_claim(key, value, tally);
    lethe_status ended = lethe_walk_end(walk, detail);
    return status == LETHE_OK ? ended : lethe_explain_damage("a claim", status, detail);
}

static lethe_status compare(const lethe_claims_record *record, const struct tally *tally,
                            lethe_detail *detail) {
    if (tally->open == record->open_count && tally->done == record->done_count &&
        tally->digest == record->digest) {
        return LETHE_OK;
    }
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "claims are missing, or are not as they were last written; restore a "
                             "backup");
}

lethe_status lethe_claims_expect(lethe_disk *disk, lethe_detail *detail) {
    struct tally tally = {0};
    lethe_claims_record record;
    if (!lethe_disk_has(disk, LETHE_FAMILY_CLAIMS)) return LETHE_OK;
    lethe_status status = lethe_claims_load(disk, &record, detail);
    if (status != LETHE_OK && status != LETHE_ENOTFOUND) return status;
    status = count_claims(disk, &tally, detail);
    return status == LETHE_OK ? compare(&record, &tally, detail) : status;
}

/* The number in a key of a queue or of a reply; whether it is one. */
static bool number_of(lethe_bytes key, uint64_t *out) {
    if (key.size != LETHE_CLAIM_NUMBER_KEY_BYTES) return false;
    *out = lethe_get_sorted_u64((const char *)key.data + 1);
    return true;
}

static lethe_status count_record(const lethe_claims_record *record, lethe_bytes key,
                                 lethe_bytes value, struct tally *tally) {
    lethe_claim_entry entry;
    uint64_t number;
    if (key.size == 0) return LETHE_OK;
    if (kind_of(key) == LETHE_CLAIM_BY_ID) return count_claim(key, value, tally);
    if (!number_of(key, &number)) return LETHE_ECORRUPT;
    switch (kind_of(key)) {
    case LETHE_CLAIM_OPEN_AT:
        tally->opened++;
        if (number < record->opened.first || number >= record->opened.next) return LETHE_ECORRUPT;
        return lethe_claim_entry_load(value, &entry);
    case LETHE_CLAIM_DONE_AT:
        tally->dones++;
        if (number < record->done.first || number >= record->done.next) return LETHE_ECORRUPT;
        return lethe_claim_entry_load(value, &entry);
    case LETHE_CLAIM_REPLY:
        tally->replies++;
        if (number < record->replies.first || number >= record->replies.next ||
            value.size > LETHE_REPLY_LIMIT_BYTES) {
            return LETHE_ECORRUPT;
        }
        tally->charge += lethe_claim_charge((uint32_t)value.size);
        return LETHE_OK;
    default:
        return LETHE_ECORRUPT;
    }
}

static lethe_status walk_all(lethe_disk *disk, const lethe_claims_record *record,
                             struct tally *tally, lethe_detail *detail) {
    lethe_walk *walk;
    lethe_status status = lethe_walk_begin(disk, LETHE_FAMILY_CLAIMS, (lethe_bytes){0}, &walk);
    if (status != LETHE_OK) return lethe_explain_damage("", status, detail);
    lethe_bytes key, value;
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value))
        status = count_record(record, key, value, tally);
    lethe_status ended = lethe_walk_end(walk, detail);
    return status == LETHE_OK ? ended
                              : lethe_explain_damage("a record of the claims", status, detail);
}

lethe_status lethe_claims_examine(lethe_disk *disk, uint64_t *count, lethe_detail *detail) {
    struct tally tally = {0};
    lethe_claims_record record;
    *count = 0;
    if (!lethe_disk_has(disk, LETHE_FAMILY_CLAIMS)) return LETHE_OK;
    lethe_status status = lethe_claims_load(disk, &record, detail);
    if (status != LETHE_OK && status != LETHE_ENOTFOUND) return status;
    status = walk_all(disk, &record, &tally, detail);
    if (status == LETHE_OK) status = compare(&record, &tally, detail);
    if (status != LETHE_OK) return status;
    *count = tally.open + tally.done;
    if (tally.opened == record.opened.next - record.opened.first &&
        tally.dones == record.done.next - record.done.first &&
        tally.replies == record.replies.next - record.replies.first &&
        tally.charge == record.reply_bytes) {
        return LETHE_OK;
    }
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "queues or replies of the claims are missing; restore a backup");
}
