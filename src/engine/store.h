/* engine/store.h - a store: its parts, and the lock that guards them.
 *
 *   clock.h         the store's time               operations/  from a submission to its outcomes
 *   ids/            which ids were applied         values/      what the keys add up to
 *   log/            what makes both durable        disk/        all that knows of RocksDB
 *   claims/         work that must happen once     meters/      counts per period
 *   holds/          amounts that are set aside
 *
 *   open.c          opening and closing            modes.c      what a store is asked to be
 *   view.c          a reader beside a writer       marks.c      how far sources have been read
 *   info.c          numbers                        check.c      reading every byte
 *   backup.c        checks and backups from outside   failure.c    what went wrong
 *
 * An event goes through operations/submit.c, screen.c (lengths and time) and decide.c (window and
 * ledger), values/counters.c and log/commit.c, in this order.
 *
 * Everything in a store is guarded by its lock, except the group that is being committed, which
 * belongs to the committing thread, what a fold took, which belongs to the folding thread, and the
 * window that is made to take the place of another (ids/renew.h). */
#ifndef LETHE_ENGINE_STORE_H
#define LETHE_ENGINE_STORE_H

#include "engine/claims/claims.h"
#include "engine/clock.h"
#include "engine/disk/disk.h"
#include "engine/holds/holds.h"
#include "engine/ids/ids.h"
#include "engine/ids/renew.h"
#include "engine/log/log.h"
#include "engine/values/fold.h"
#include "engine/values/values.h"
#include "os/lock.h"
#include "os/thread.h"

struct lethe_store {
    /* With defaults filled in. A mode is LETHE_SWITCH_ON or LETHE_SWITCH_KEEP, which is 0. */
    lethe_store_options options;
    const lethe_allocator *allocator;
    /* No other opening of a store in this process has the same number. */
    uint64_t opening;

    /* Whoever holds the turn is next to take the lock: see lethe_engine_enter. */
    lethe_os_lock turn;
    lethe_os_lock lock;

    lethe_disk *disk;
    /* What the filling group will be committed with. */
    lethe_state state;
    lethe_clock clock;
    lethe_ids ids;
    lethe_values values;
    lethe_log log;
    lethe_fold fold;
    lethe_renewal renewal;
    lethe_claims claims;
    lethe_holds holds;

    /* Of a commit or a fold: after it nothing goes on. */
    lethe_status failed;
    lethe_detail failure;
    /* What opening found and mended. */
    lethe_detail notice;
    bool stopping;

    /* A reader: of the store's files, before they were last read. */
    uint64_t view_fingerprint;
};

/* Takes the lock, in turn. Deciding holds it nearly all the time, and takes it again as soon as it
 * gave it up. Without turns the committing thread would get it only when nothing more can be
 * decided before a commit. */
static inline void lethe_engine_enter(lethe_store *store) {
    lethe_os_lock_take(&store->turn);
    lethe_os_lock_take(&store->lock);
    lethe_os_lock_give(&store->turn);
}
static inline void lethe_engine_leave(lethe_store *store) {
    lethe_os_lock_give(&store->lock);
}

/* failure.c: with the lock. */
/* Keeps what went wrong with a call for lethe_store_explain. */
void lethe_engine_remark(lethe_store *store, const lethe_detail *detail);
/* A new call begins: there is nothing to explain. */
void lethe_engine_forget_remark(lethe_store *store);
/* The same as remark without the lock, unless status is LETHE_OK. */
void lethe_engine_remark_late(lethe_store *store, lethe_status status, const lethe_detail *detail);
/* Says why an argument is refused: LETHE_EINVAL. A refusal without words would leave those of an
 * earlier call to be taken for its own. Takes NULL. Without the lock. */
lethe_status lethe_engine_refuse(lethe_store *store, const char *why);
/* Refuses to change a store that was opened to read only: LETHE_EINVAL, with words for it. Without
 * the lock. */
lethe_status lethe_engine_refuse_reader(lethe_store *store);
/* Registers the first failure; nothing is committed after it. */
void lethe_engine_fail(lethe_store *store, lethe_status status, const lethe_detail *detail);

/* open.c */
/* The W and the error of a new store, where they are 0. */
void lethe_engine_default_settings(lethe_store_options *options);

/* modes.c */
LETHE_MUST_CHECK lethe_status lethe_engine_check_options(const lethe_store_options *options,
                                                         lethe_detail *detail);
/* Resolves which modes the store has from now on, in store->options: those that it had, unless the
 * options say otherwise. Errors: LETHE_EINVAL (something would be lost by the change). */
LETHE_MUST_CHECK lethe_status lethe_engine_resolve_modes(lethe_store *store, lethe_detail *detail);
/* A store stays what it was made as: exact counters, or a sketch of one size; its scale; the kind
 * of its window. */
LETHE_MUST_CHECK lethe_status lethe_engine_check_kind(const lethe_store *store,
                                                      lethe_detail *detail);

/* open.c: fills a reader, whose disk is open, from it. */
LETHE_MUST_CHECK lethe_status lethe_engine_read(lethe_store *store, lethe_detail *detail);
/* view.c: makes the store as it is on disk by now what a reader sees. On error the reader sees what
 * it saw before. */
LETHE_MUST_CHECK lethe_status lethe_engine_view(lethe_store *store, const char *folder,
                                                lethe_detail *detail);

#endif
