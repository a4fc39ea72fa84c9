/* print_servers.c - prints the plan of a table in servers. */
#include <inttypes.h>
#include <stdio.h>

#include "plan/costs.h"
#include "plan/print.h"
#include "redis/slots.h"
#include "say/message.h"
#include "say/rows.h"

static void print_json(const struct plan_wants *wants, const struct plan_table *table) {
    struct json json = json_begin(stdout);
    json_string(&json, "plan", "redis");
    plan_json_load(&json, wants, table->ids);
    json_string(&json, "partition_by", wants->by_key ? "key" : "id");
    json_integer(&json, "batch", wants->batch);
    json_integer(&json, "replicas", wants->replicas);
    json_integer(&json, "server_memory_bytes", wants->server_memory_bytes);
    json_integer(&json, "partitions", table->partitions);
    json_integer(&json, "counters", table->counters);
    json_integer(&json, "buckets", table->buckets);
    json_integer(&json, "partition_bytes", table->partition_bytes);
    json_integer(&json, "partition_peak_bytes", table->partition_peak_bytes);
    json_integer(&json, "window_bytes", table->window_bytes);
    json_integer(&json, "counters_bytes", table->counters_bytes);
    json_integer(&json, "memory_bytes", table->memory_bytes);
    json_integer(&json, "used_bytes", table->used_bytes);
    json_integer(&json, "masters", table->masters);
    json_integer(&json, "masters_for_work", table->masters_for_work);
    json_integer(&json, "masters_for_memory", table->masters_for_memory);
    json_integer(&json, "slots_per_master", REDIS_SLOTS / table->masters);
    json_integer(&json, "master_bytes", table->server_bytes);
    json_real(&json, "busy", table->busy);
    json_real(&json, "effect_bytes", table->effect_bytes);
    json_real(&json, "replicated_bytes_per_s", table->replicated_bytes_per_s);
    json_real(&json, "move_s", table->move_s);
    json_real(&json, "fork_s", table->fork_s);
    json_real(&json, "resync_s", table->resync_s);
    json_end(&json);
}

static void print_text(const struct plan_wants *wants, const struct plan_table *table) {
    struct human_text a, b, c;
    plan_print_load(wants, table->ids);
    row_print("partitions", "%" PRIu64 ", by %s: %" PRIu64 " of them on each master",
              table->partitions, wants->by_key ? "key" : "id",
              (table->partitions + table->masters - 1) / table->masters);
    row_print("slots", "%" PRIu64 " on each master", REDIS_SLOTS / table->masters);
    row_print("masters",
              "%" PRIu64 ", each with %" PRIu64 " replica%s: %" PRIu64 " for the work, %" PRIu64
              " for the memory",
              table->masters, wants->replicas, wants->replicas == 1 ? "" : "s",
              table->masters_for_work, table->masters_for_memory);
    row_print("memory", "%s in all tables; used_memory %s", human_bytes(table->memory_bytes, &a),
              human_bytes(table->used_bytes, &b));
    row_print("  a partition", "%s, at most %s while it grows; ids %s",
              human_bytes(table->partition_bytes, &a), human_bytes(table->partition_peak_bytes, &b),
              human_bytes(table->window_bytes, &c));
    if (wants->keys == 0) {
        row_print("  counters", "not planned; say how many there are with --keys");
    } else {
        row_print("  counters", "%s in all partitions", human_count((double)table->counters, &a));
    }
    if (wants->per != NULL)
        row_print("  buckets", "%s in all partitions, after %s",
                  human_count((double)table->buckets, &a), human_duration(wants->after_ms, &b));
    row_print("  a master", "%s", human_bytes(table->server_bytes, &a));
    row_print("work", "%.2g%% of each master's thread, in commands of %" PRIu64 " events",
              table->busy * 100, wants->batch);
    row_print("replication", "%s a second in all, %.0f bytes an event and replica",
              human_bytes((uint64_t)table->replicated_bytes_per_s, &a), table->effect_bytes);
    row_print("moving", "%s for a partition, in which both servers stand still",
              plan_time(table->move_s, &a));
    row_print("fork", "%s of a master", plan_time(table->fork_s, &a));
    row_print("resync", "%s until a new replica of a master is there",
              plan_time(table->resync_s, &a));
}

void plan_print_table(const struct plan_wants *wants, const struct plan_table *table) {
    struct human_text a;
    if (wants->json) {
        print_json(wants, table);
    } else {
        print_text(wants, table);
    }
    if (table->is_too_large)
        message_warn("a partition takes up to %s, and a server allows 4 GiB unless "
                     "lethe.largest-value is raised; use more partitions, several tables, or a "
                     "shorter window",
                     human_bytes(table->partition_peak_bytes, &a));
    if (table->partitions < table->masters)
        message_warn("%" PRIu64 " partitions cannot be spread over %" PRIu64
                     " masters; use more partitions, or several tables",
                     table->partitions, table->masters);
    if (wants->by_key)
        message_warn("by key, one master has all the work of a key that is used most; see "
                     "'hot keys' in docs/scale.md");
}
