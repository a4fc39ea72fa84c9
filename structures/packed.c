/* structures/packed.c - the row of lethe_packed. It holds no keys: its blocks belong to the
 * caller. */
#include "lethe/packed.h"

#include "structures/structure.h"

static void plan_options(const struct structure *row, const struct structure_plan *plan,
                         void *options) {
    lethe_packed_options *own = options;
    own->kind = (lethe_packed_kind)row->kind;
    own->seed = plan->seed;
    own->allocator = plan->allocator;
}

static lethe_status make(const void *options, void **out) {
    lethe_packed *made = NULL;
    lethe_status status = lethe_packed_new(options, out != NULL ? &made : NULL);
    if (out != NULL) *out = made;
    return status;
}

static void free_packed(void *object) {
    lethe_packed_free(object);
}

const struct structure structure_packed = {
    .name = "packed",
    .options_bytes = sizeof(lethe_packed_options),
    .make = make,
    .free = free_packed,
    .plan_options = plan_options,
};
