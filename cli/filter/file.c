/* file.c - filters as files, and filters in words. */
#include "filter/file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/interrupt.h"
#include "output/saved.h"
#include "say/human.h"
#include "say/json.h"
#include "say/message.h"
#include "say/rows.h"

/* The kind whose files have this type. If none has, the first one: loading it says what is
 * wrong. */
static const struct filter_kind *kind_of_type(const char *type) {
    for (const struct filter_kind *const *kind = filter_kinds; *kind != NULL; kind++) {
        const char *own = (*kind)->structure->type;
        if (own != NULL && strcmp(own, type) == 0) return *kind;
    }
    return filter_kinds[0];
}

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int filter_load(const char *path, struct filter *out) {
    *out = (struct filter){0};
    lethe_file_info info = LETHE_INIT(lethe_file_info);
    errno = 0;
    bool folder = is_folder(path);
    lethe_status status = folder ? LETHE_OK : lethe_file_peek(path, &info, NULL);
    if (status == LETHE_OK) {
        const struct filter_kind *kind = folder ? &filter_kind_cascade : kind_of_type(info.type);
        void *object;
        status = kind->structure->load_file(path, NULL, &object, NULL);
        if (status == LETHE_OK) {
            if (!folder) kind = filter_kind_of(kind->structure, object);
            *out = (struct filter){.kind = kind, .object = object};
        }
    }
    if (folder && status == LETHE_ENOTFOUND) {
        return message_fail(EXIT_ENVIRONMENT,
                            "cannot read the filter %s: it is a folder without a cascade filter in "
                            "it; name a filter",
                            path);
    }
    return status == LETHE_OK ? EXIT_DONE : message_fail_file(status, "read the filter", path);
}

void filter_free(struct filter *filter) {
    if (filter->kind != NULL) filter->kind->structure->free(filter->object);
    *filter = (struct filter){0};
}

int filter_save(const struct filter *filter, const char *path) {
    interrupt_hold();
    errno = 0;
    lethe_status status = filter->kind->structure->save_file(filter->object, path, NULL);
    int code = EXIT_DONE;
    if (status != LETHE_OK) code = message_fail_file(status, "write the filter", path);
    interrupt_release();
    return code;
}

const char *filter_fact_label(const struct filter_fact *fact, struct human_text *label) {
    snprintf(label->text, sizeof label->text, "%s", fact->name);
    for (char *line = strchr(label->text, '_'); line != NULL; line = strchr(line, '_'))
        *line = ' ';
    return label->text;
}

static void print_shape_text(const struct filter_facts *facts) {
    struct human_text label;
    for (size_t i = 0; i < facts->shape_count; i++) {
        const struct filter_fact *fact = &facts->shape[i];
        if (fact->word != NULL) {
            row_print(filter_fact_label(fact, &label), "%s", fact->word);
        } else {
            row_number(filter_fact_label(fact, &label), fact->number);
        }
    }
}

void filter_print_text(const char *path, const struct filter_facts *facts) {
    struct human_text text;
    row_print("file", "%s", path);
    row_print("kind", "%s", facts->kind);
    print_shape_text(facts);
    row_seed(facts->seed);
    if (facts->capacity > 0) {
        row_number("capacity", facts->capacity);
        row_print("planned error", "%s", human_probability(facts->planned_error, &text));
    } else {
        row_print("capacity", "not planned");
        row_print("planned error", "not planned");
    }
    if (facts->knows_additions) row_number("additions", facts->additions);
    if (isfinite(facts->distinct_estimate)) {
        row_print("different", "about %.0f", facts->distinct_estimate);
    } else {
        row_print("different", "unknown: every bit is set");
    }
    row_print("fill", "%.1f%%", facts->fill * 100);
    row_print("current error", "%s", human_probability(facts->error_now, &text));
    row_print("memory", "%s", human_bytes(facts->memory_bytes, &text));
    row_print("file size", "%" PRIu64 " bytes", saved_bytes(path));
}

static void print_shape_json(struct json *json, const struct filter_facts *facts) {
    for (size_t i = 0; i < facts->shape_count; i++) {
        const struct filter_fact *fact = &facts->shape[i];
        if (fact->word != NULL) {
            json_string(json, fact->name, fact->word);
        } else {
            json_integer(json, fact->name, fact->number);
        }
    }
}

void filter_print_json(const char *path, const struct filter_facts *facts) {
    struct json json = json_begin(stdout);
    json_string(&json, "file", path);
    json_string(&json, "kind", facts->kind);
    print_shape_json(&json, facts);
    json_hex(&json, "seed", facts->seed);
    if (facts->capacity > 0) {
        json_integer(&json, "capacity", facts->capacity);
        json_real(&json, "planned_error", facts->planned_error);
    } else {
        json_null(&json, "capacity");
        json_null(&json, "planned_error");
    }
    if (facts->knows_additions) {
        json_integer(&json, "additions", facts->additions);
    } else {
        json_null(&json, "additions");
    }
    json_real(&json, "distinct_estimate", facts->distinct_estimate);
    json_real(&json, "fill", facts->fill);
    json_real(&json, "error_estimate", facts->error_now);
    json_integer(&json, "memory_bytes", facts->memory_bytes);
    json_integer(&json, "file_bytes", saved_bytes(path));
    json_end(&json);
}

/* The shape in words: "6250 bits, 5 hashes". */
static void put_shape(const struct filter_facts *facts, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < facts->shape_count && used < size; i++) {
        const struct filter_fact *fact = &facts->shape[i];
        const char *comma = i > 0 ? ", " : "";
        struct human_text label;
        const char *name = filter_fact_label(fact, &label);
        int length =
            fact->word != NULL
                ? snprintf(text + used, size - used, "%s%s %s", comma, name, fact->word)
                : snprintf(text + used, size - used, "%s%" PRIu64 " %s", comma, fact->number, name);
        if (length < 0) return;
        used += (size_t)length;
    }
}

/* The estimate of a filter filled exactly to its capacity lies above it half of the time. Lines
 * that were never added cannot be too many, and neither is what the estimate alone could be wrong
 * by. */
static bool is_overfull(const struct filter_facts *facts) {
    return facts->capacity > 0 && (!facts->knows_additions || facts->additions > facts->capacity) &&
           facts->distinct_estimate > 1.02 * (double)facts->capacity;
}

/* "1000 lines added, about 998 different". */
static void put_work(const struct filter_facts *facts, enum filter_work work, uint64_t lines,
                     const char *different, char *text, size_t size) {
    const char *plural = lines == 1 ? "" : "s";
    if (work == FILTER_REMOVED) {
        snprintf(text, size, "%" PRIu64 " line%s removed, %s different left", lines, plural,
                 different);
    } else if (facts->knows_additions) {
        snprintf(text, size, "%" PRIu64 " line%s added, %s different", lines, plural, different);
    } else {
        snprintf(text, size, "%s different lines", different);
    }
}

void filter_report(const char *path, const struct filter *filter, enum filter_work work,
                   uint64_t lines, bool json, bool quiet) {
    struct filter_facts facts;
    filter_describe(filter, &facts);
    if (work == FILTER_ADDED) { /* not every structure counts them */
        facts.additions = lines;
        facts.knows_additions = true;
    } else if (work == FILTER_MADE) {
        lines = facts.additions;
    }
    struct human_text size, error, planned, different;
    bool is_full = isinf(facts.distinct_estimate);
    snprintf(different.text, sizeof different.text, "about %.0f", facts.distinct_estimate);
    if (is_full) snprintf(different.text, sizeof different.text, "unknown");
    if (json) {
        filter_print_json(path, &facts);
    } else if (!quiet) {
        char done[160], shape[256];
        put_work(&facts, work, lines, different.text, done, sizeof done);
        put_shape(&facts, shape, sizeof shape);
        message_note("%s: %s; %s, %s, %s; current error %s", path, done, facts.kind, shape,
                     human_bytes(facts.memory_bytes, &size),
                     human_probability(facts.error_now, &error));
    }
    if (is_overfull(&facts)) {
        message_warn("%s was planned for %" PRIu64
                     " different lines and holds %s: current error %s, "
                     "planned %s; build it again with a larger "
                     "--capacity",
                     path, facts.capacity, is_full ? "an unknown number" : different.text,
                     human_probability(facts.error_now, &error),
                     human_probability(facts.planned_error, &planned));
    }
}
