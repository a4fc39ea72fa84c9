/* kinds.c - the table of kinds, and what is done alike for all of them. */
#include <assert.h>
#include <string.h>

#include "filter/kind.h"

const struct filter_kind *const filter_kinds[] = {
    &filter_kind_bloom,    &filter_kind_blocked, &filter_kind_quotient,
    &filter_kind_gaussian, &filter_kind_cascade, NULL,
};

const struct filter_kind *filter_kind_of(const struct structure *structure, const void *object) {
    const struct structure *row = structure_of_object(structure, object);
    for (const struct filter_kind *const *kind = filter_kinds; *kind != NULL; kind++)
        if ((*kind)->structure == row) return *kind;
    return NULL;
}

/* Room for the options of any structure. */
struct own_options {
    _Alignas(max_align_t) unsigned char bytes[STRUCTURE_OPTIONS_BYTES];
};

static struct own_options options_of(const struct filter_kind *kind,
                                     const struct filter_settings *settings) {
    struct own_options options = {{0}};
    memcpy(options.bytes, &kind->structure->options_bytes, sizeof kind->structure->options_bytes);
    kind->fill_options(settings, options.bytes);
    return options;
}

lethe_status filter_plan(const struct filter_kind *kind, const struct filter_settings *settings,
                         uint64_t *memory_bytes) {
    if (kind->plan != NULL) return kind->plan(settings, memory_bytes);
    struct own_options options = options_of(kind, settings);
    return structure_planned_bytes(kind->structure, &options, memory_bytes);
}

lethe_status filter_make(const struct filter_kind *kind, const struct filter_settings *settings,
                         struct filter *out) {
    *out = (struct filter){0};
    void *object;
    lethe_status status;
    if (kind->make != NULL) {
        status = kind->make(settings, &object);
    } else {
        struct own_options options = options_of(kind, settings);
        status = kind->structure->make(&options, &object);
    }
    if (status == LETHE_OK) *out = (struct filter){.kind = kind, .object = object};
    return status;
}

uint64_t filter_seed(const struct filter *filter) {
    return filter->kind->structure->seed(filter->object);
}

lethe_status filter_add(const struct filter *filter, const lethe_hash *hashes, size_t count) {
    if (filter->kind->add != NULL) return filter->kind->add(filter->object, hashes, count);
    return filter->kind->structure->add(filter->object, hashes, count, 0);
}

static void add_fact(struct filter_facts *facts, struct filter_fact fact) {
    assert(facts->shape_count < FILTER_FACTS);
    facts->shape[facts->shape_count++] = fact;
}

void filter_fact_number(struct filter_facts *facts, const char *name, uint64_t number) {
    add_fact(facts, (struct filter_fact){.name = name, .number = number});
}

void filter_describe(const struct filter *filter, struct filter_facts *out) {
    const struct filter_kind *kind = filter->kind;
    struct structure_facts facts = {.count = 0};
    *out = (struct filter_facts){
        .kind = kind->name, .seed = filter_seed(filter), .knows_additions = true};
    if (kind->structure->fields != NULL &&
        structure_report(kind->structure, filter->object, 0, &facts) == LETHE_OK) {
        out->capacity = structure_number(&facts, "capacity");
        out->planned_error = structure_fraction(&facts, "error");
        out->additions = structure_number(&facts, "additions");
        out->distinct_estimate = structure_fraction(&facts, "distinct_estimate");
        out->fill = structure_fraction(&facts, "fill");
        out->error_now = structure_fraction(&facts, "error_estimate");
        out->memory_bytes = structure_number(&facts, "memory_bytes");
    }
    for (const char *const *name = kind->shape; *name != NULL; name++) {
        const struct structure_fact *fact = structure_fact(&facts, *name);
        if (fact != NULL)
            add_fact(out, (struct filter_fact){
                              .name = *name, .number = fact->number, .word = fact->word});
    }
    if (kind->describe != NULL) kind->describe(filter->object, out);
}
