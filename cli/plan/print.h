/* print.h - what the plans of stores and of servers print alike. */
#ifndef LETHE_CLI_PLAN_PRINT_H
#define LETHE_CLI_PLAN_PRINT_H

#include "plan/plan.h"
#include "say/human.h"
#include "say/json.h"

/* 0.0021 -> "2.1 ms", 75 -> "75 s", 4000 -> "67 min". */
const char *plan_time(double seconds, struct human_text *out);

void plan_print_load(const struct plan_wants *wants, uint64_t ids);
void plan_json_load(struct json *json, const struct plan_wants *wants, uint64_t ids);

#endif
