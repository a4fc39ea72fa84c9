/* module/value/value.h - a value under a key, and what a data type is.
 *
 * A type is a structure that begins with a struct value, and a struct value_type with its
 * functions and descriptions of its commands. The rest comes from here and from change/: making,
 * merging, INFO and repeating (change.h, repeat.h), snapshots, log rewriting, copies and digests
 * (snapshot.c), time (clock.h), forgetting in the background (registry.h), effects (effect.h),
 * and the registration of commands (command.h).
 *
 * Threads  All of it runs in the server's main thread, except that the server may release a value
 *          in a background thread, and saves from a forked child. */
#ifndef LETHE_MODULE_VALUE_VALUE_H
#define LETHE_MODULE_VALUE_VALUE_H

#include <lethe/lethe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/redis_api.h"
#include "value/chunks.h"
#include "value/clock.h"

struct command;
struct effect;
struct effect_reader;
struct filter_operations;
struct holding;
struct info_field;
struct option;
struct ticket;
struct tally;
struct value_type;

/* The head of every value. */
struct value {
    const struct value_type *type;
    /* Its place in the registry. */
    struct ticket *ticket;

    /* The value's own time: the latest that was replicated. */
    uint64_t clock_ms;
    /* When, by this host's monotonic clock, it was that time. */
    int64_t anchor_us;
    /* For how long it had been that time when the value was loaded. */
    uint64_t idle_ms;
    /* What the log, the file and the replicas know. It was compared with this host's clocks, and is
     * not compared again before the value's clock is at that time: clock_set_stamp. */
    struct stamp stamp;
    uint64_t stamp_due_ms;

    /* The pieces so far of a value that is being loaded; NULL: the value is whole. */
    struct chunks *partial;
    /* What it took at the timer's last visit, and what it has taken since. */
    uint64_t bytes;
    /* While it is loaded: the version of the format that it was saved in. */
    uint32_t version;
};

enum { OPTIONS_LIMIT_BYTES = 256, COMMAND_TABLES_LIMIT = 6 };

/* Room for any type's options. */
union options {
    unsigned char bytes[OPTIONS_LIMIT_BYTES];
    max_align_t alignment;
};

/* One data type. The functions never see a partial value. Those marked * may be NULL. */
struct value_type {
    /* Nine letters; in saved values. */
    const char *name;
    /* VALUE_TYPE_PREFIX: what its commands' names begin with, and the names of two of them. */
    const char *prefix, *effect_name, *load_name;
    /* What messages call a value, such as "filter"; and what it remembers: "id" or "item". */
    const char *noun, *item;
    size_t value_bytes;
    /* Whether it grows by many blocks, rather than by one that replaces the old one. */
    bool grows_in_pieces;
    redis_type **handle;

    /* Besides those that every type has: CREATE or RESERVE, INFO, MERGE, EFFECT, LOAD, DUMP. */
    const struct command *commands[COMMAND_TABLES_LIMIT];
    const struct holding *holding;          /* * types/held.h */
    const struct filter_operations *filter; /* * types/filter.h */

    /* How a value is made. Options are a structure of the type's own, of at most
     * OPTIONS_LIMIT_BYTES. */
    const char *create_word;      /* PREFIX.RESERVE */
    const struct option *options; /* options.h */
    void (*default_options)(void *options);
    /* * Which options are each in range but not together, as a sentence; NULL: none. */
    const char *(*contradiction)(const void *options);
    /* * Where an effect does not carry the options as their table has them. */
    void (*write_options)(const void *options, struct effect *effect);
    /* * The steps that follow the one that makes a value, for what earlier versions do not know. */
    void (*write_more)(const void *options, struct effect *effect);
    /* * From an effect, whose reader is looked at later; false: they are nonsense. */
    bool (*read_options)(struct effect_reader *reader, void *options);
    /* About how many bytes a value with these options will take; for the limits. 0: they are
     * wrong. */
    uint64_t (*planned_bytes)(const struct value_type *type, const void *options);
    /* Into a value whose head is filled in and whose rest is zero. */
    lethe_status (*make)(void *value, const void *options);
    /* * After a command has made one. */
    void (*on_made)(redis_context *context);

    /* Repeats a step of an effect, except C, c, M, N and W, which repeat.c knows. While apply is
     * false, the step is only checked, and value may be NULL. */
    bool (*repeat)(void *value, uint8_t code, struct effect_reader *reader, bool apply);
    /* * After each effect, here and on replicas. */
    void (*complete)(void *value);
    lethe_status (*merge)(void *value, const void *other); /* * */
    /* * Whether a client may merge them: LETHE_OK, or why not. */
    lethe_status (*can_merge)(const void *value, const void *other);
    /* PREFIX.INFO (command/info.h): its fields, and what fills the facts in which they are. */
    const struct info_field *info_fields;
    void (*gather_facts)(redis_context *context, const void *value, void *facts);
    /* * What it adds to the sums of INFO (registry.h). */
    void (*tally)(const void *value, struct tally *out);

    /* Calls value_from_snapshot: VALUE_TYPE_LOADER. */
    void *(*load_from_snapshot)(redis_io *io, int version);
    lethe_status (*save)(const void *value, lethe_sink sink);
    /* * Which version of the format its bytes have; otherwise VALUE_PLAIN_VERSION. */
    uint32_t (*version_of)(const void *value);
    /* Into a value as for make. */
    lethe_status (*load)(void *value, lethe_source source);
    /* Releases what the value owns, also half-built; not the value itself. */
    void (*drop)(void *value);

    size_t (*memory)(const void *value);
    size_t (*allocations)(const void *value);                /* * effort_of_bytes(memory) */
    void (*digest)(const void *value, redis_digest *digest); /* * of what is saved */
    int (*defrag)(void *value, redis_defrag *defrag);        /* * */

    /* * Lets time pass up to the value's clock. A master does it, and replicates that it did.
     * NULL: the type has no time, and its clock stands still. */
    void (*let_time_pass)(void *value);
    /* With let_time_pass: whether there is anything to forget or give back as of now_ms. */
    bool (*is_due)(const void *value, uint64_t now_ms);
    /* * On a master, after the timer has let time pass: does what has become due, and appends the
     * steps. */
    void (*end_due)(void *value, struct effect *effect);
    /* * Gives memory back without a change of what is saved. */
    void (*give_back)(void *value);
};

#define VALUE_TYPE_PREFIX(prefix_) \
    .prefix = prefix_, .effect_name = prefix_ ".EFFECT", .load_name = prefix_ ".LOAD"

static inline bool has_time(const struct value_type *type) {
    return type->let_time_pass != NULL;
}

/* A new value with an empty body; NULL if there is no memory. */
void *value_new(const struct value_type *type);
/* Takes NULL and half-built values. */
void value_release(void *value);
/* A value that is being loaded; takes the pieces over. NULL when there is no memory. */
struct value *value_partial(const struct value_type *type, struct chunks *chunks);

/* Saves the whole of a value, piece by piece. Errors: those of emit, LETHE_ENOMEM. */
lethe_status value_save(const struct value *value, struct stamp stamp, chunk_emitter *emit,
                        void *context);
/* The whole of a value, as pieces; on error they are still the caller's to drop. */
lethe_status value_to_chunks(const struct value *value, struct chunks *out);
/* NULL when the pieces are not a value of that type. */
void *value_load(const struct value_type *type, const struct chunks *chunks);

enum { VALUE_ENCODING_VERSION = 2 };

/* Of the format of a saved value. A value that uses nothing new has the bytes that earlier versions
 * of the module know; they refuse any other. */
enum { VALUE_PLAIN_VERSION = 2, VALUE_METERED_VERSION = 3, VALUE_SECTIONED_VERSION = 4 };

/* Registers a type with the server: snapshot.c. */
bool value_type_register(redis_context *context, const struct value_type *type);
void *value_from_snapshot(const struct value_type *type, redis_io *io, int version);
/* The server's callback does not say which type it is for: each type has one of its own. */
#define VALUE_TYPE_LOADER(type)                                  \
    static void *load_from_snapshot(redis_io *io, int version) { \
        return value_from_snapshot(&type, io, version);          \
    }

/* Adds a hash of what save writes to a digest: equal values have equal ones. */
void digest_saved(lethe_status (*save)(const void *, lethe_sink), const void *value,
                  redis_digest *digest);

/* What it takes to release memory, in the server's unit: above 64 it is done in the background. Two
 * mebibytes take half a millisecond. */
size_t effort_of_bytes(uint64_t bytes);

#endif
