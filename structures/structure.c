/* structures/structure.c - the table of structures, and what is done through it alike for all of
 * them. structure.h has the essay. */
#include "structures/structure.h"

#include <assert.h>
#include <string.h>

const struct structure *const structures[] = {
    &structure_bloom,
    &structure_blocked,
    &structure_quotient,
    &structure_gaussian,
    &structure_forgetful,
    &structure_forgetful_paper,
    &structure_forgetful_printed,
    &structure_window,
    &structure_window_forgetful,
    &structure_count_min,
    &structure_conservative,
    &structure_count,
    &structure_log,
    &structure_fid,
    &structure_export,
    &structure_cascade,
    &structure_packed,
    NULL,
};

const struct structure *structure_of_object(const struct structure *row, const void *object) {
    for (const struct structure *const *other = structures; *other != NULL; other++) {
        bool same_type =
            (*other)->type != NULL && row->type != NULL && strcmp((*other)->type, row->type) == 0;
        if (same_type && ((*other)->is == NULL || (*other)->is(*other, object))) return *other;
    }
    return row;
}

/* A struct of `size` bytes that starts with its size; the rest is zero. */
static void begin_sized(void *bytes, size_t room, size_t size) {
    assert(size >= sizeof size && size <= room);
    (void)room;
    memset(bytes, 0, size);
    memcpy(bytes, &size, sizeof size);
}

lethe_status structure_make(const struct structure *row, const struct structure_plan *plan,
                            void **out) {
    _Alignas(max_align_t) unsigned char options[STRUCTURE_OPTIONS_BYTES];
    begin_sized(options, sizeof options, row->options_bytes);
    row->plan_options(row, plan, options);
    if (row->lives_in_folder) return row->open(plan->folder, options, out, NULL);
    return row->make(options, out);
}

static struct structure_fact fact_of(const struct structure_field *field,
                                     const unsigned char *bytes) {
    struct structure_fact fact = {.name = field->name, .kind = STRUCTURE_NUMBER};
    uint32_t word = 0;
    bool flag;
    switch (field->type) {
    case FIELD_U64:
        memcpy(&fact.number, bytes + field->offset, sizeof fact.number);
        break;
    case FIELD_U32:
        memcpy(&word, bytes + field->offset, sizeof word);
        fact.number = word;
        break;
    case FIELD_F64:
        fact.kind = STRUCTURE_FRACTION;
        memcpy(&fact.fraction, bytes + field->offset, sizeof fact.fraction);
        break;
    case FIELD_BOOL:
        fact.kind = STRUCTURE_FLAG;
        memcpy(&flag, bytes + field->offset, sizeof flag);
        fact.number = flag;
        break;
    case FIELD_ENUM:
        fact.kind = STRUCTURE_WORD;
        memcpy(&word, bytes + field->offset, sizeof word);
        fact.number = word;
        fact.word = field->words[word];
        break;
    }
    return fact;
}

lethe_status structure_planned_bytes(const struct structure *row, const void *options,
                                     uint64_t *memory_bytes) {
    _Alignas(max_align_t) unsigned char shape[STRUCTURE_REPORT_BYTES];
    *memory_bytes = 0;
    if (row->plan == NULL) return LETHE_EINVAL;
    begin_sized(shape, sizeof shape, row->shape_bytes);
    lethe_status status = row->plan(options, shape);
    if (status == LETHE_OK)
        memcpy(memory_bytes, shape + row->memory_in_shape, sizeof *memory_bytes);
    return status;
}

lethe_status structure_report(const struct structure *row, const void *object, uint64_t now_ms,
                              struct structure_facts *out) {
    _Alignas(max_align_t) unsigned char shape[STRUCTURE_REPORT_BYTES],
        stats[STRUCTURE_REPORT_BYTES];
    lethe_status status = LETHE_OK;
    out->count = 0;
    if (row->get_shape != NULL) {
        begin_sized(shape, sizeof shape, row->shape_bytes);
        status = row->get_shape(object, shape);
    }
    if (status == LETHE_OK && row->info != NULL) {
        begin_sized(stats, sizeof stats, row->stats_bytes);
        status = row->info(object, now_ms, stats);
    }
    if (status != LETHE_OK || row->fields == NULL) return status;
    for (const struct structure_field *field = row->fields; field->name != NULL; field++) {
        assert(out->count < STRUCTURE_FACTS);
        out->facts[out->count++] = fact_of(field, field->is_of_shape ? shape : stats);
    }
    return LETHE_OK;
}

const struct structure_fact *structure_fact(const struct structure_facts *facts, const char *name) {
    for (size_t i = 0; i < facts->count; i++)
        if (strcmp(facts->facts[i].name, name) == 0) return &facts->facts[i];
    return NULL;
}

uint64_t structure_number(const struct structure_facts *facts, const char *name) {
    const struct structure_fact *fact = structure_fact(facts, name);
    return fact != NULL ? fact->number : 0;
}

double structure_fraction(const struct structure_facts *facts, const char *name) {
    const struct structure_fact *fact = structure_fact(facts, name);
    return fact != NULL ? fact->fraction : 0;
}
