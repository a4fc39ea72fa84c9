/* lethe/store_stats.h - a store in numbers: window, ledger, outcomes, sizes and modes.
 * lethe/store.h includes it. */
#ifndef LETHE_STORE_STATS_H
#define LETHE_STORE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/status.h"
#include "lethe/store_open.h"
#include "lethe/window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A period of the log: what a picture of the window shows. */
typedef struct lethe_store_period {
    /* Of the store's clock. */
    uint64_t first_ms;
    uint64_t last_ms;
    uint64_t ids;
} lethe_store_period;

enum { LETHE_PERIODS_SHOWN = 64, LETHE_METERS_TEXT_BYTES = 256 };

/* The ids of the last W. In a reader as the writer last recorded it, about a second ago. */
typedef struct lethe_store_window {
    uint64_t window_ms;
    double error_target;
    /* The probability that a fresh id is taken for a duplicate, now. */
    double error_estimate;
    uint64_t ids;
    uint64_t memory_bytes;
    /* LETHE_STRAIN_...; 0 in a reader. */
    uint32_t strain;
    lethe_window_kind kind;
} lethe_store_window;

/* The ids of all time, with forever; zero without it. In a reader as of the last checkpoint,
 * without memory_bytes. */
typedef struct lethe_store_ledger {
    uint64_t ids;
    uint64_t capacity;
    /* Beside the window's: they add up. */
    double error_target;
    double error_estimate;
    uint64_t memory_bytes;
    uint64_t disk_bytes;
    /* The last commit whose ids it has for certain. The log has the others. */
    uint64_t covers;
} lethe_store_ledger;

typedef struct lethe_store_stats {
    /* sizeof(lethe_store_stats): see LETHE_INIT. */
    size_t size;

    lethe_store_window window;
    lethe_store_ledger ledger;
    /* The store's time now, by which ids have their age: with event_time that of the latest event;
     * otherwise it goes on while nothing is written, for readers too. */
    uint64_t clock_ms;
    /* The number of the last commit, and of the last one that the counters on disk include. */
    uint64_t commits;
    uint64_t folded;

    /* Outcomes over the store's life; overflow, invalid and limited are at the end. */
    uint64_t applied;
    uint64_t duplicates;
    uint64_t late;
    uint64_t future;
    uint64_t refused;
    uint64_t mismatched;
    /* Exact mode: ids that the window took for duplicates although they were fresh. */
    uint64_t confirmed_false;

    /* Keys; an estimate unless all are in memory. 0 with a sketch. */
    uint64_t counters;
    uint64_t counters_in_memory;
    /* Of the counters, or of the sketch. */
    uint64_t counters_memory_bytes;
    /* Ids in the log, which are dropped when they are older than W. */
    uint64_t log_ids;
    /* On disk, roughly. */
    uint64_t log_bytes;
    uint64_t changes_bytes;
    /* Of a writer: in memory, and on disk beyond that. */
    uint64_t index_bytes;
    uint64_t counters_bytes;

    /* With a sketch; 0 otherwise: its size as asked for; what all keys add up to; an estimate is
     * too high by more than sketch_error with the probability sketch_delta. */
    uint64_t sketch_bytes;
    uint64_t sketch_total;
    double sketch_error;
    double sketch_delta;
    uint32_t sketch_top;

    bool exact;
    bool check_payload;
    bool event_time;
    bool forever;

    /* The oldest first. */
    uint64_t period_count;
    lethe_store_period periods[LETHE_PERIODS_SHOWN];

    /* More outcomes. What versions before these fields counted of them is in `refused`. */
    uint64_t overflow;
    uint64_t invalid;

    /* Digits after the point of all values. */
    uint32_t scale;
    uint32_t reserved;

    /* Meters: as the options have them, empty without. */
    char per[LETHE_METERS_TEXT_BYTES];
    char zone[LETHE_METERS_TEXT_BYTES];
    char keep[LETHE_METERS_TEXT_BYTES];
    uint64_t buckets_in_memory;
    uint64_t buckets_memory_bytes;
    /* On disk, roughly. */
    uint64_t buckets_bytes;

    /* One more outcome. */
    uint64_t limited;

    /* Of a writer; 0 in a reader. What is in memory of index_bytes; what operations wait in until
     * they are committed, without what is being committed at the moment; and RocksDB's caches,
     * tables and records that it has not written yet. */
    uint64_t index_memory_bytes;
    uint64_t groups_memory_bytes;
    uint64_t database_memory_bytes;
} lethe_store_stats;

/* On an error, the fields that are known are filled in all the same.
 * Cost: O(1), and a few questions to RocksDB; in a reader the log's ids are read when it is first
 * asked. Errors: LETHE_EINVAL; in a reader, as get. */
LETHE_API lethe_status lethe_store_info(const lethe_store *store, lethe_store_stats *out);

#ifdef __cplusplus
}
#endif

#endif
