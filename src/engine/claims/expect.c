/* engine/claims/expect.c - whether all claims and holds are there, as the record about them counts
 * them.
 *
 * IDEA    The record has the sum of all claims' digests, and that of holds. A claim that is
 *         missing, or is there as it was at another time, changes the sum.
 * WHY     A database whose manifest lost its end opens without an error, and a reader may meet the
 *         tables of one moment and the log of another. Neither may show a claim as it was: its work
 *         would be done again. Such a manifest may lack the whole family, whose records in the log
 *         RocksDB then passes over. So the state says that there is one. */
#include <string.h>

#include "core/bytes.h"
#include "core/detail.h"
#include "engine/claims/claims.h"
#include "engine/holds/record.h"
#include "engine/log/log.h"

/* What a walk found. */
struct tally {
    uint64_t open, done, digest;
    uint64_t opened, dones, replies, charge;
    uint64_t holds_open, holds_ended, holds_digest, ends;
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

static lethe_status count_hold(lethe_bytes key, lethe_bytes value, struct tally *tally) {
    lethe_hold_record hold;
    lethe_status status = lethe_hold_load(value, &hold);
    if (status != LETHE_OK) return status;
    if (key.size < 2 || key.size > LETHE_CLAIM_KEY_LIMIT_BYTES) return LETHE_ECORRUPT;
    tally->holds_open += hold.state == LETHE_HOLD_IS_OPEN;
    tally->holds_ended += hold.state != LETHE_HOLD_IS_OPEN;
    tally->holds_digest += lethe_claim_digest(key, value);
    return LETHE_OK;
}

static char kind_of(lethe_bytes key) {
    return key.size > 0 ? *(const char *)key.data : 0;
}

/* Counts the claims, or the holds: the records of CLAIMS whose keys begin with that kind. */
static lethe_status count_kind(lethe_disk *disk, char kind, struct tally *tally,
                               lethe_detail *detail) {
    bool are_claims = kind == LETHE_CLAIM_BY_ID;
    lethe_walk *walk;
    lethe_status status =
        lethe_walk_begin(disk, LETHE_FAMILY_CLAIMS, (lethe_bytes){.data = &kind, .size = 1}, &walk);
    if (status != LETHE_OK) return lethe_explain_damage("", status, detail);
    lethe_bytes key, value;
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value) && kind_of(key) == kind)
        status = are_claims ? count_claim(key, value, tally) : count_hold(key, value, tally);
    lethe_status ended = lethe_walk_end(walk, detail);
    if (status == LETHE_OK) return ended;
    return lethe_explain_damage(are_claims ? "a claim" : "a hold", status, detail);
}

static lethe_status compare(const lethe_claims_record *record, const struct tally *tally,
                            lethe_detail *detail) {
    const lethe_holds_totals *holds = &record->holds;
    bool has_claims = tally->open == record->open_count && tally->done == record->done_count &&
                      tally->digest == record->digest;
    bool has_holds = tally->holds_open == holds->open_count &&
                     tally->holds_ended == holds->ended_count &&
                     tally->holds_digest == holds->digest;
    if (has_claims && has_holds) return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "%s are missing, or are not as they were last written; restore a "
                             "backup",
                             has_claims ? "holds" : "claims");
}

/* Reads the record about all; LETHE_ENOTFOUND if there is none, and need not be. */
static lethe_status load_record(lethe_disk *disk, const lethe_state *state,
                                lethe_claims_record *out, lethe_detail *detail) {
    lethe_status status = lethe_claims_load(disk, out, detail);
    if (status != LETHE_ENOTFOUND || !state->has_claims) return status;
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "the claims and holds that the store's state counts are missing; "
                             "restore a backup");
}

lethe_status lethe_claims_expect(lethe_disk *disk, const lethe_state *state, lethe_detail *detail) {
    struct tally tally = {0};
    lethe_claims_record record;
    lethe_status status = load_record(disk, state, &record, detail);
    if (status != LETHE_OK && status != LETHE_ENOTFOUND) return status;
    if (!lethe_disk_has(disk, LETHE_FAMILY_CLAIMS)) return LETHE_OK;
    status = count_kind(disk, LETHE_CLAIM_BY_ID, &tally, detail);
    if (status == LETHE_OK) status = count_kind(disk, LETHE_HOLD_BY_ID, &tally, detail);
    return status == LETHE_OK ? compare(&record, &tally, detail) : status;
}

/* The number in a key of a queue or of a reply; whether it is one. */
static bool number_of(lethe_bytes key, uint64_t *out) {
    if (key.size != LETHE_CLAIM_NUMBER_KEY_BYTES) return false;
    *out = lethe_get_sorted_u64((const char *)key.data + 1);
    return true;
}

static bool is_in(lethe_claim_range range, uint64_t number) {
    return number >= range.first && number < range.next;
}

static lethe_status count_record(const lethe_claims_record *record, lethe_bytes key,
                                 lethe_bytes value, struct tally *tally) {
    lethe_claim_entry entry;
    uint64_t number;
    if (key.size == 0) return LETHE_OK;
    if (kind_of(key) == LETHE_CLAIM_BY_ID) return count_claim(key, value, tally);
    if (kind_of(key) == LETHE_HOLD_BY_ID) return count_hold(key, value, tally);
    if (!number_of(key, &number)) return LETHE_ECORRUPT;
    switch (kind_of(key)) {
    case LETHE_CLAIM_OPEN_AT:
        tally->opened++;
        if (!is_in(record->opened, number)) return LETHE_ECORRUPT;
        return lethe_claim_entry_load(value, &entry);
    case LETHE_CLAIM_DONE_AT:
        tally->dones++;
        if (!is_in(record->done, number)) return LETHE_ECORRUPT;
        return lethe_claim_entry_load(value, &entry);
    case LETHE_HOLD_ENDED_AT:
        tally->ends++;
        if (!is_in(record->holds.ended, number)) return LETHE_ECORRUPT;
        return lethe_claim_entry_load(value, &entry);
    case LETHE_CLAIM_REPLY:
        tally->replies++;
        if (!is_in(record->replies, number) || value.size > LETHE_REPLY_LIMIT_BYTES)
            return LETHE_ECORRUPT;
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

static uint64_t length_of(lethe_claim_range range) {
    return range.next - range.first;
}

lethe_status lethe_claims_examine(lethe_disk *disk, const lethe_state *state, uint64_t *claims,
                                  uint64_t *holds, lethe_detail *detail) {
    struct tally tally = {0};
    lethe_claims_record record;
    *claims = *holds = 0;
    lethe_status status = load_record(disk, state, &record, detail);
    if (status != LETHE_OK && status != LETHE_ENOTFOUND) return status;
    if (!lethe_disk_has(disk, LETHE_FAMILY_CLAIMS)) return LETHE_OK;
    status = walk_all(disk, &record, &tally, detail);
    if (status == LETHE_OK) status = compare(&record, &tally, detail);
    if (status != LETHE_OK) return status;
    *claims = tally.open + tally.done;
    *holds = tally.holds_open + tally.holds_ended;
    if (tally.opened == length_of(record.opened) && tally.dones == length_of(record.done) &&
        tally.replies == length_of(record.replies) && tally.charge == record.reply_bytes &&
        tally.ends == length_of(record.holds.ended)) {
        return LETHE_OK;
    }
    return lethe_detail_fill(
        detail, LETHE_ECORRUPT,
        "queues of claims or holds, or replies, are missing; restore a backup");
}
