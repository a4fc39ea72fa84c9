/* filter_kinds.c - the table of kinds. */
#include <assert.h>

#include "filter_kind.h"

const struct filter_kind *const filter_kinds[] = {
    &filter_kind_bloom,    &filter_kind_blocked, &filter_kind_quotient,
    &filter_kind_gaussian, &filter_kind_cascade, NULL,
};

static void add_fact(struct filter_facts *facts, struct filter_fact fact) {
    assert(facts->shape_count < FILTER_FACTS);
    facts->shape[facts->shape_count++] = fact;
}

void filter_fact_number(struct filter_facts *facts, const char *name, uint64_t number) {
    add_fact(facts, (struct filter_fact){.name = name, .number = number});
}

void filter_fact_word(struct filter_facts *facts, const char *name, const char *word) {
    add_fact(facts, (struct filter_fact){.name = name, .word = word});
}
