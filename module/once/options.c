/* module/once/options.c - the options of once-tables: those of their window, its kind, and per
 * which periods they also count.
 *
 * PER may be given several times, and KEEP belongs to the PER before it. In an effect they are a
 * step of their own, after the one that makes the table: a table that does not count per period is
 * made by what earlier versions know, and any other is refused by them. */
#include "command/options.h"

#include <assert.h>
#include <string.h>

#include "change/effect.h"
#include "once/once.h"

static_assert(sizeof(lethe_window_kind) == sizeof(int), "an OPTION_WORD is an int");
static_assert(offsetof(struct once_options, window) == 0, "the rows of windows hold here too");
static_assert(sizeof(struct once_options) <= OPTIONS_LIMIT_BYTES, "a union options has room");

static const char *const kinds[] = {
    [LETHE_WINDOW_QUOTIENT] = "quotient", [LETHE_WINDOW_FORGETFUL] = "forgetful", NULL};

static bool parse_per(const redis_string *value, void *options) {
    struct once_options *wanted = options;
    uint64_t period_ms;
    return period_parse(value, &period_ms) &&
           resolutions_add(&wanted->resolutions, period_ms, RESOLUTION_KEEP_MOST);
}

static bool parse_keep(const redis_string *value, void *options) {
    struct once_options *wanted = options;
    uint64_t keep;
    return parse_count(value, &keep) && resolutions_keep(&wanted->resolutions, keep);
}

#define FIELD(kind_, field_) .kind = kind_, .offset = offsetof(lethe_window_options, field_)

const struct option once_options[] = {
#include "command/window_rows.inc.h"
    {.token = "KIND",
     .name = "kind",
     FIELD(OPTION_WORD, kind),
     .is_late = true,
     .words = kinds,
     .fallback = "lethe.window-kind (quotient)",
     .meaning =
         "How ids are remembered: by the forgetful quotient filter, or by the paper's "
         "forgetful Bloom filter, which is larger and slower, takes no {item} back and has no "
         "MAXMEMORY"},
    {.token = "PER",
     .name = "period",
     .kind = OPTION_OWN,
     .parse = parse_per,
     .range = PERIOD_RANGE "; at most 4 of them, each once",
     .fallback = "totals only",
     .meaning = "Count per period of UTC too; may be given several times"},
    {.token = "KEEP",
     .name = "buckets",
     .kind = OPTION_OWN,
     .most = RESOLUTION_KEEP_MOST,
     .parse = parse_keep,
     .range = "1 to 100000, after the PER that it belongs to",
     .fallback = "100000",
     .meaning = "How many buckets of that period each counter keeps, the latest ones"},
    {0},
};

void once_default_options(void *options) {
    struct once_options *wanted = options;
    memset(wanted, 0, sizeof *wanted);
    window_options_default(&wanted->window);
}

const char *once_contradiction(const void *options) {
    const lethe_window_options *window = options;
    bool has_cap = window->kind == LETHE_WINDOW_FORGETFUL && window->max_memory_bytes > 0;
    return has_cap ? "KIND forgetful has no MAXMEMORY" : NULL;
}

void once_write_more(const void *options, struct effect *effect) {
    const struct resolutions *resolutions = &((const struct once_options *)options)->resolutions;
    if (resolutions->count == 0) return;
    effect_u8(effect, 'P');
    effect_u8(effect, (uint8_t)resolutions->count);
    for (uint32_t i = 0; i < resolutions->count; i++) {
        effect_u64(effect, resolutions->each[i].period_ms);
        effect_u32(effect, resolutions->each[i].keep);
    }
}

bool once_read_more(struct effect_reader *reader, struct resolutions *out) {
    *out = (struct resolutions){0};
    uint8_t count = effect_read_u8(reader);
    for (uint8_t i = 0; i < count; i++) {
        uint64_t period_ms = effect_read_u64(reader);
        uint32_t keep = effect_read_u32(reader);
        if (!reader->is_valid || !resolutions_add(out, period_ms, keep)) return false;
    }
    return count > 0;
}
