/* filter_file.c - filters as files, and filters in words. */
#include "filter_file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "human.h"
#include "interrupt.h"
#include "json.h"
#include "message.h"

/* The kind whose files have this type. When none has, the first one: loading it says what is wrong. */
static const struct filter_kind *kind_of_type(const char *type) {
    for (const struct filter_kind *const *kind = filter_kinds; *kind != NULL; kind++) {
        if (strcmp((*kind)->type, type) == 0) return *kind;
    }
    return filter_kinds[0];
}

/* The kind that a loaded object is, among those with the same type of file. */
static const struct filter_kind *kind_of_object(const struct filter_kind *loader,
                                                const void *object) {
    for (const struct filter_kind *const *kind = filter_kinds; *kind != NULL; kind++) {
        bool same_type = strcmp((*kind)->type, loader->type) == 0;
        if (same_type && ((*kind)->is == NULL || (*kind)->is(object))) return *kind;
    }
    return loader;
}

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int filter_load(const char *path, struct filter *out) {
    *out = (struct filter){0};
    lethe_file_info info = {0};
    errno = 0;
    bool folder = is_folder(path);
    lethe_status status = folder ? LETHE_OK : lethe_file_peek(path, &info);
    if (status == LETHE_OK) {
        const struct filter_kind *loader = folder ? &filter_kind_cascade : kind_of_type(info.type);
        void *object;
        status = loader->load(path, &object);
        if (status == LETHE_OK) {
            *out = (struct filter){.kind = kind_of_object(loader, object), .object = object};
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
    if (filter->kind != NULL) filter->kind->free(filter->object);
    *filter = (struct filter){0};
}

/* The folder that path is in: all before its last slash. The caller frees it. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int filter_check_output(const char *path) {
    if (strcmp(path, "-") == 0) {
        return message_fail(EXIT_USAGE,
                            "--out - is no file; a filter is written to a file, name one");
    }
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : 0;
        return message_fail_file(LETHE_EINVAL, "write the filter", path);
    }
    char *folder = folder_of(path);
    bool writable = folder != NULL && access(folder, W_OK | X_OK) == 0;
    int code = EXIT_DONE;
    if (!writable) {
        code = message_fail(EXIT_ENVIRONMENT,
                            "cannot write the filter %s: folder %s: %s; choose another place", path,
                            folder != NULL ? folder : "?", strerror(errno));
    }
    free(folder);
    return code;
}

int filter_save(const struct filter *filter, const char *path) {
    interrupt_hold();
    errno = 0;
    lethe_status status = filter->kind->save(filter->object, path);
    int code = EXIT_DONE;
    if (status != LETHE_OK) code = message_fail_file(status, "write the filter", path);
    interrupt_release();
    return code;
}

/* Of the files of a folder together. */
static uint64_t folder_bytes(const char *path) {
    DIR *files = opendir(path);
    uint64_t sum = 0;
    const struct dirent *file;
    while (files != NULL && (file = readdir(files)) != NULL) {
        struct stat status;
        if (fstatat(dirfd(files), file->d_name, &status, 0) == 0 && S_ISREG(status.st_mode))
            sum += (uint64_t)status.st_size;
    }
    if (files != NULL) closedir(files);
    return sum;
}

/* The file is as large as the bits and a little more. */
static uint64_t file_bytes(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) return 0;
    return S_ISDIR(status.st_mode) ? folder_bytes(path) : (uint64_t)status.st_size;
}

static const char *default_note(uint64_t seed) {
    return seed == LETHE_DEFAULT_SEED ? " (the default)" : "";
}

static void print_shape_text(const struct filter_facts *facts) {
    for (size_t i = 0; i < facts->shape_count; i++) {
        const struct filter_fact *fact = &facts->shape[i];
        if (fact->word != NULL) {
            printf("%-15s %s\n", fact->name, fact->word);
        } else {
            printf("%-15s %" PRIu64 "\n", fact->name, fact->number);
        }
    }
}

void filter_print_text(const char *path, const struct filter_facts *facts) {
    struct human_text text;
    printf("file            %s\n", path);
    printf("kind            %s\n", facts->kind);
    print_shape_text(facts);
    printf("seed            0x%016" PRIx64 "%s\n", facts->seed, default_note(facts->seed));
    if (facts->capacity > 0) {
        printf("capacity        %" PRIu64 "\n", facts->capacity);
        printf("planned error   %s\n", human_probability(facts->planned_error, &text));
    } else {
        printf("capacity        not planned\n");
        printf("planned error   not planned\n");
    }
    printf("additions       %" PRIu64 "\n", facts->additions);
    if (isfinite(facts->distinct_estimate)) {
        printf("different       about %.0f\n", facts->distinct_estimate);
    } else {
        printf("different       too many to tell: every bit is set\n");
    }
    printf("fill            %.1f%%\n", facts->fill * 100);
    printf("error now       %s\n", human_probability(facts->error_now, &text));
    printf("memory          %s\n", human_bytes(facts->memory_bytes, &text));
    printf("file size       %" PRIu64 " bytes\n", file_bytes(path));
}

/* "slot bits" is slot_bits in JSON. */
static void put_member_name(const char *name, char *text, size_t size) {
    snprintf(text, size, "%s", name);
    for (char *space = strchr(text, ' '); space != NULL; space = strchr(space, ' '))
        *space = '_';
}

static void print_shape_json(struct json *json, const struct filter_facts *facts) {
    for (size_t i = 0; i < facts->shape_count; i++) {
        const struct filter_fact *fact = &facts->shape[i];
        char name[32];
        put_member_name(fact->name, name, sizeof name);
        if (fact->word != NULL) {
            json_string(json, name, fact->word);
        } else {
            json_integer(json, name, fact->number);
        }
    }
}

void filter_print_json(const char *path, const struct filter_facts *facts) {
    struct json json = json_begin(stdout);
    json_string(&json, "file", path);
    json_string(&json, "kind", facts->kind);
    print_shape_json(&json, facts);
    char seed[32];
    snprintf(seed, sizeof seed, "0x%016" PRIx64, facts->seed);
    json_string(&json, "seed", seed);
    if (facts->capacity > 0) {
        json_integer(&json, "capacity", facts->capacity);
        json_real(&json, "planned_error", facts->planned_error);
    } else {
        json_null(&json, "capacity");
        json_null(&json, "planned_error");
    }
    json_integer(&json, "additions", facts->additions);
    json_real(&json, "distinct_estimate", facts->distinct_estimate);
    json_real(&json, "fill", facts->fill);
    json_real(&json, "error_now", facts->error_now);
    json_integer(&json, "memory_bytes", facts->memory_bytes);
    json_integer(&json, "file_bytes", file_bytes(path));
    json_end(&json);
}

/* The shape in words: "6250 bits, 5 hashes". */
static void put_shape(const struct filter_facts *facts, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < facts->shape_count && used < size; i++) {
        const struct filter_fact *fact = &facts->shape[i];
        const char *comma = i > 0 ? ", " : "";
        int length = fact->word != NULL ? snprintf(text + used, size - used, "%s%s %s", comma,
                                                   fact->name, fact->word)
                                        : snprintf(text + used, size - used, "%s%" PRIu64 " %s",
                                                   comma, fact->number, fact->name);
        if (length < 0) return;
        used += (size_t)length;
    }
}

/* The estimate of a filter filled exactly to its capacity lies above it half of the time. Lines
 * that were never added cannot be too many, and neither is what the estimate alone could be wrong by. */
static bool is_overfull(const struct filter_facts *facts) {
    return facts->capacity > 0 && facts->additions > facts->capacity &&
           facts->distinct_estimate > 1.02 * (double)facts->capacity;
}

void filter_report(const char *path, const struct filter *filter, bool json, bool quiet) {
    struct filter_facts facts;
    filter->kind->describe(filter->object, &facts);
    struct human_text size, error, planned, different;
    bool is_full = isinf(facts.distinct_estimate);
    snprintf(different.text, sizeof different.text, "about %.0f", facts.distinct_estimate);
    if (is_full) snprintf(different.text, sizeof different.text, "unknown");
    if (json) {
        filter_print_json(path, &facts);
    } else if (!quiet) {
        char shape[256];
        put_shape(&facts, shape, sizeof shape);
        message_note("%s: %" PRIu64 " line%s added, %s different; %s, %s, %s; error now %s", path,
                     facts.additions, facts.additions == 1 ? "" : "s", different.text, facts.kind,
                     shape, human_bytes(facts.memory_bytes, &size),
                     human_probability(facts.error_now, &error));
    }
    if (is_overfull(&facts)) {
        message_warn("%s was planned for %" PRIu64 " different lines and holds %s: error now %s, "
                     "planned %s; build it again with a larger "
                     "--capacity",
                     path, facts.capacity, is_full ? "more than can be told" : different.text,
                     human_probability(facts.error_now, &error),
                     human_probability(facts.planned_error, &planned));
    }
}
