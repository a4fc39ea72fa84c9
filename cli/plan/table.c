/* table.c - plans a table in servers.
 *
 * IDEA    The window of a partition is planned by the library (lethe_window_plan). Counters,
 *         buckets and effects are structures of the module (module/once/counters.c, buckets.c,
 *         docs/format/module.md), whose sizes are added up here as the module allocates them; a
 *         test compares them with a real server.
 * SERVERS As many masters as keep each busy for half of its time at most, and its data in half of
 *         its memory: a fork makes the kernel copy the pages that are written meanwhile, and a
 *         window writes to all of its pages within minutes.
 * TABLES  So many that one takes 256 MiB at most, since a table that moves holds both servers up,
 *         or that twice as many would not be much smaller; and that each master has four, so that
 *         they can be dealt out anew. A power of two, and 1024 at most, the most that there can
 *         be. */
#include <math.h>
#include <string.h>

#include "plan/costs.h"
#include "plan/plan.h"
#include "redis/table.h"
#include "say/message.h"

static const uint64_t LARGEST_VALUE_BYTES = (uint64_t)4 << 30; /* lethe.largest-value */
static const uint64_t GOOD_TABLE_BYTES = (uint64_t)256 << 20;
static const uint64_t SLACK_BYTES = 2048; /* of a small table, besides the rest */
enum { TABLES_A_MASTER = 4, KEEP_MOST = 100000 };
#define BUSY_MOST 0.5
#define MEMORY_MOST 0.5
#define HELPS_MOST 0.75

/* What the allocator of Redis, jemalloc, makes of a size: multiples of 16 up to 128, then four
 * steps to each power of two. */
static double allocated(double bytes) {
    if (bytes <= 8) return 8;
    if (bytes <= 128) return 16 * ceil(bytes / 16);
    double step = exp2(floor(log2(bytes - 1)) - 2);
    return step * ceil(bytes / step);
}

/* --- counters and buckets --- */

static double length_of(const struct redis_period *period) {
    return period->length_ms == REDIS_MONTH ? 365.2425 / 12 * 86400e3 : (double)period->length_ms;
}

/* How many buckets of a period a counter has, if it is changed in each. */
static double buckets_of(const struct plan_wants *wants, const struct redis_period *period) {
    double keep = period->keep > 0 ? (double)period->keep : KEEP_MOST;
    return fmin(keep, ceil((double)wants->after_ms / length_of(period)));
}

/* An array that grows by half and one, and not beyond a quarter more than is kept (reserve in
 * module/once/buckets.c). When it has all that it keeps, it is moved down only if an eighth of it
 * is free by then; otherwise it grows. */
static double array_bytes(double buckets, double keep) {
    double capacity = 0, most = keep + floor(keep / 4) + 2;
    while (buckets < keep ? capacity < buckets : capacity - keep <= floor(capacity / 8)) {
        double count = fmin(capacity, keep);
        double larger = fmin(fmax(count + floor(count / 2) + 1, 2), most);
        if (larger <= capacity) break;
        capacity = larger;
    }
    return allocated(16 + 16 * capacity);
}

/* One counter with its buckets, and its place in the hash table. */
static double counter_bytes(const struct plan_wants *wants, double *buckets) {
    double block = 24 + (double)wants->key_bytes, bytes = 0;
    *buckets = 0;
    if (wants->periods.count > 0) block = 8 * ceil(block / 8) + 8 * (double)wants->periods.count;
    for (size_t i = 0; i < wants->periods.count; i++) {
        const struct redis_period *period = &wants->periods.each[i];
        double keep = period->keep > 0 ? (double)period->keep : KEEP_MOST;
        double each = buckets_of(wants, period);
        *buckets += each;
        bytes += array_bytes(each, keep);
    }
    return allocated(block) + 8 + bytes;
}

/* --- one partition --- */

/* How many counters a partition has. By id, each of a counter's events falls on any partition. */
static double counters_of(const struct plan_wants *wants, double partitions) {
    double keys = (double)wants->keys;
    if (keys == 0 || wants->by_key) return ceil(keys / partitions);
    double events = wants->events_per_s / 1000 * (double)wants->after_ms / keys;
    return -keys * expm1(-events / partitions);
}

/* The most bytes that are planned: far more than there is, and less than 64 bits can say. */
static const double MOST_BYTES = 0x1p58;

/* False: there are more ids, or counters with their buckets, than so many partitions can hold. */
static bool plan_partition(const struct plan_wants *wants, uint64_t partitions,
                           struct plan_table *out) {
    double ids = wants->events_per_s / 1000 * (double)wants->window_ms, buckets;
    lethe_window_options options =
        LETHE_OPTIONS(lethe_window_options, .window_ms = wants->window_ms, .error = wants->error);
    lethe_window_needs window = LETHE_INIT(lethe_window_needs);
    double share = ids / (double)partitions;
    if (share > 0x1p62 || lethe_window_plan(&options, (uint64_t)share, &window) != LETHE_OK)
        return false;
    double counters = counters_of(wants, (double)partitions);
    double each = counter_bytes(wants, &buckets);
    if (counters * each * (double)partitions > MOST_BYTES) return false;
    out->partitions = partitions;
    out->ids = (uint64_t)ids;
    out->counters = (uint64_t)(counters * (double)partitions);
    out->buckets = (uint64_t)(counters * buckets * (double)partitions);
    out->window_bytes = window.memory_bytes;
    out->counters_bytes = (uint64_t)(counters * each);
    out->partition_bytes = out->window_bytes + out->counters_bytes + SLACK_BYTES;
    out->partition_peak_bytes =
        out->partition_bytes - window.memory_bytes + window.peak_memory_bytes;
    out->memory_bytes = out->partition_bytes * partitions;
    double rounded =
        (double)window.slabs * (allocated((double)window.slab_bytes) - (double)window.slab_bytes);
    out->used_bytes = out->memory_bytes + (uint64_t)(rounded * (double)partitions);
    out->is_too_large = out->partition_peak_bytes > LARGEST_VALUE_BYTES;
    return true;
}

/* --- servers --- */

static uint64_t bytes_of_number(double number) {
    uint64_t bytes = 1;
    for (double most = 128; 2 * number >= most; most *= 128)
        bytes++;
    return bytes;
}

/* An event's share of an effect, as docs/format/module.md has it: a command with three arguments,
 * the head, its id, and its counter with its buckets. */
static double effect_bytes(const struct plan_wants *wants) {
    double key = 24; /* of the table's name, about */
    double head = 4 + 5 + 13 + 5 + key + 2 + 8 + 2, ids = 9 + 5;
    double value = (double)bytes_of_number(wants->events_per_s / 1000 * (double)wants->after_ms /
                                           fmax((double)wants->keys, 1));
    double each = 17 + 2 + (double)wants->key_bytes + value;
    if (wants->periods.count > 0) {
        ids += 9;
        each += 2 + (double)wants->periods.count * value;
    }
    return each + (head + ids) / (double)wants->batch;
}

static uint64_t above(double number) {
    return number <= 1 ? 1 : (uint64_t)ceil(number);
}

static void plan_servers(const struct plan_wants *wants, struct plan_table *table) {
    double rate = wants->events_per_s;
    table->event_s = COST_EVENT_S + COST_COMMAND_S / (double)wants->batch;
    table->masters_for_work = above(rate * table->event_s / BUSY_MOST);
    table->masters_for_memory =
        above((double)table->used_bytes / ((double)wants->server_memory_bytes * MEMORY_MOST));
    table->masters = table->masters_for_work > table->masters_for_memory
                         ? table->masters_for_work
                         : table->masters_for_memory;
    table->busy = rate * table->event_s / (double)table->masters;
    table->server_bytes = (uint64_t)((double)table->memory_bytes / (double)table->masters);
    table->effect_bytes = effect_bytes(wants);
    table->replicated_bytes_per_s = rate * table->effect_bytes * (double)wants->replicas;
    table->move_s = (double)table->partition_bytes / COST_MOVE_BYTES_PER_S;
    table->fork_s = (double)table->server_bytes * COST_FORK_S_PER_BYTE;
    table->resync_s = (double)table->server_bytes / COST_COPY_BYTES_PER_S;
}

/* Whether so many partitions are enough, where the table with half of them took so much for each.
 * By id, counters are in all partitions: more of these do not make them smaller. */
static bool suffices(const struct plan_table *table, uint64_t before_bytes) {
    bool is_small = table->partition_bytes <= GOOD_TABLE_BYTES;
    bool is_no_help =
        before_bytes > 0 && (double)table->partition_bytes > HELPS_MOST * (double)before_bytes;
    bool is_spread = table->masters == 1 || table->partitions >= TABLES_A_MASTER * table->masters;
    return is_spread && (is_small || is_no_help);
}

int plan_table(const struct plan_wants *wants, struct plan_table *out) {
    uint64_t partitions = wants->partitions > 0 ? wants->partitions : 1, before_bytes = 0;
    for (;; partitions *= 2) {
        *out = (struct plan_table){0};
        bool holds = plan_partition(wants, partitions, out);
        bool is_last = wants->partitions > 0 || partitions >= REDIS_PARTITIONS_LIMIT;
        if (holds) plan_servers(wants, out);
        if (holds && (is_last || suffices(out, before_bytes))) return EXIT_DONE;
        before_bytes = out->partition_bytes;
        if (!is_last) continue;
        return message_fail(EXIT_USAGE,
                            "%.3g ids and %.3g counters are more than a table of %llu partitions "
                            "can hold; shorten --window, or spread the events over several tables",
                            wants->events_per_s / 1000 * (double)wants->window_ms,
                            (double)wants->keys, (unsigned long long)partitions);
    }
}
