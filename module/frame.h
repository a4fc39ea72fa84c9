/* module/frame.h - what every data type of the module shares.
 *
 * A type is one file: a structure that begins with a struct value, the functions of a struct value_type, and
 * tables of commands; a filter needs few, and no table (filter.h). The frame does the rest: making,
 * merging, telling and repeating (change.c), snapshots, log rewriting, copies and digests (value.c, chunks.c), time
 * (clock.c), forgetting in the background (registry.c), effects on the replication link (effect.c), and
 * command descriptions (command.c).
 *
 * Threads  All of it runs in the server's main thread, except that the server may release a value in a
 *          background thread, and saves from a forked child. */
#ifndef LETHE_MODULE_FRAME_H
#define LETHE_MODULE_FRAME_H

#include <lethe/lethe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis_api.h"

/* --- Memory: allocator.c */

extern const lethe_allocator module_allocator;

/* --- Limits of what clients may ask for: limits.c */

struct value_type;
extern long long settings_largest_value_bytes;

/* From lift to restore nothing is limited. */
void limits_lift(void);
void limits_restore(void);
/* Whether the allocator may take a block. */
bool limits_allow_block(size_t size);
void limits_note_release(size_t size);
/* Whether that was the reason why there was no memory, asked once. */
bool limits_have_refused(void);
/* Whether a client may make a value with these options. False with the error replied. */
bool limits_allow_value(redis_context *context, const struct value_type *type, const void *options);

/* For types that grow in pieces: the blocks that are taken from watch to unwatch are this value's, and count with what it has. */
struct value;
void limits_watch(const struct value *value);
void limits_unwatch(struct value *value);
/* Whether such a value is as large as lethe.largest-value allows. */
bool limits_are_reached(const struct value *value);

/* Whether the server has used up its memory, as it would ask for a command with the flag deny-oom. For commands that have an
 * answer all the same. */
bool is_out_of_memory(redis_context *context);
/* With the server's own words or, where a value is as large as it may be, with that. NULL: there is no value yet. */
int reply_out_of_memory(redis_context *context, const struct value *value);
/* Where a value refused what the last change was about: it is at its own cap, or was not allowed to grow. */
int reply_refused(redis_context *context);

/* --- Saved values as pieces: chunks.c, and docs/format/module.md */

enum { CHUNK_BYTES = 1 << 20, CHUNK_TRAILER_BYTES = 8 };

/* Pieces of a saved value, in order; each is a block of the server's allocator. {0} has none. */
struct chunks {
    char **data;
    size_t *sizes;
    size_t count, capacity;
    uint64_t bytes;
};

/* Takes over data. False when the piece can't follow those that are there, because the one before it was not
 * a full one; data is then still the caller's. */
bool chunks_append(struct chunks *chunks, char *data, size_t size);
/* Takes a copy; false for want of memory too. */
bool chunks_append_copy(struct chunks *chunks, const char *data, size_t size);
void chunks_drop(struct chunks *chunks);
/* Whether they end with the right checksum. */
bool chunks_are_whole(const struct chunks *chunks);

/* Reads the pieces from the beginning. */
struct chunk_reader {
    const struct chunks *chunks;
    size_t chunk, position;
    uint64_t left; /* without the checksum */
};
struct chunk_reader chunk_reader_at_start(const struct chunks *chunks);
lethe_source chunk_reader_source(struct chunk_reader *reader);

/* Cuts what is saved into pieces and hands each on. */
struct chunk_writer {
    lethe_status (*emit)(void *context, const char *data, size_t size, bool is_last);
    void *context;
    char *buffer;
    size_t used;
    uint64_t checksum;
};
/* Errors: LETHE_ENOMEM. */
lethe_status chunk_writer_begin(struct chunk_writer *writer,
                                lethe_status (*emit)(void *, const char *, size_t, bool),
                                void *context);
lethe_sink chunk_writer_sink(struct chunk_writer *writer);
/* Writes the checksum and the last piece if status is LETHE_OK, and releases the buffer. */
lethe_status chunk_writer_end(struct chunk_writer *writer, lethe_status status);

/* --- Values: value.c */

struct value_type;
struct ticket;

/* How a host's clocks stand to a value's own. A file and the log carry it, so that a restart can tell what has elapsed
 * since the last effect. {0} is not known. */
enum { CLOCK_HOST_BYTES = 3 };
struct stamp {
    unsigned char host[CLOCK_HOST_BYTES]; /* a mark of the host; zeros: not known */
    uint64_t boot;                        /* a mark of the machine's start; 0: not known */
    int64_t boot_skew_ms; /* what has elapsed since that start, less the value's clock */
    int64_t wall_skew_ms; /* the wall clock, less the value's */
};

/* The head of every value. */
struct value {
    const struct value_type *type;
    struct ticket *ticket;  /* its place in the registry */
    uint64_t clock_ms;      /* the value's own time: the latest that was replicated */
    int64_t anchor_us;      /* when, by this host's monotonic clock, it was that time */
    uint64_t idle_ms;       /* how long it had been that time when it was loaded */
    struct stamp stamp;     /* what the log, the file and the replicas know */
    struct chunks *partial; /* pieces so far of a value that is being loaded; NULL: whole */
    uint64_t bytes; /* what it took when the timer last came by, and what it has taken since */
};

enum option_verdict { OPTION_FINE, OPTION_UNKNOWN, OPTION_WRONG };
enum { OPTIONS_LIMIT_BYTES = 160, COMMAND_TABLES_LIMIT = 4 };

struct command;
struct effect_reader;
struct filter_operations;
struct info;

/* One data type. The functions never see a partial value. Those marked * may be NULL. */
struct value_type {
    const char *name;   /* nine letters */
    const char *prefix; /* of its commands: VALUE_TYPE_PREFIX */
    const char *effect_name, *load_name;
    const char *noun; /* what messages call it, such as "filter" */
    size_t value_bytes;
    bool grows_in_pieces; /* rather than as a whole, by one new block */
    redis_type **handle;
    /* Beside those that every type has: CREATE or RESERVE, INFO, MERGE, EFFECT, LOAD, DUMP. */
    const struct command *commands[COMMAND_TABLES_LIMIT];
    const struct filter_operations *filter; /* * filter.h */

    /* How one is made. Options are a structure of the type's own, of at most OPTIONS_LIMIT_BYTES. */
    const char *create_word;          /* PREFIX.RESERVE */
    redis_argument *option_arguments; /* for COMMAND DOCS */
    const char *option_names;         /* for the error */
    void (*default_options)(void *options);
    enum option_verdict (*parse_option)(const redis_string *name, const redis_string *value,
                                        void *options);
    void (*write_options)(const void *options); /* to the effect */
    /* From an effect, whose reader is looked at later; false: they are nonsense. */
    bool (*read_options)(struct effect_reader *reader, void *options);
    /* What a value with these options will take, about; for the limits. Options that are wrong take nothing. */
    uint64_t (*planned_bytes)(const void *options);
    /* Into a value whose head is filled in and whose rest is zero. */
    lethe_status (*make)(void *value, const void *options);
    void (*on_made)(redis_context *context); /* * by a command */

    /* Repeats a step of an effect, other than C, M, N and W, which the frame knows. While apply is false, the step is
     * only looked at, and value may be NULL. */
    bool (*repeat)(void *value, uint8_t code, struct effect_reader *reader, bool apply);
    void (*complete)(void *value);                         /* * after each effect */
    lethe_status (*merge)(void *value, const void *other); /* * */
    /* * Whether a client may merge them: LETHE_OK, or why not. */
    lethe_status (*can_merge)(const void *value, const void *other);
    void (*info)(struct info *info, const void *value); /* PREFIX.INFO */

    void *(*load_from_snapshot)(redis_io *io, int version); /* calls value_from_snapshot */
    lethe_status (*save)(const void *value, lethe_sink sink);
    /* Into a value as for make. */
    lethe_status (*load)(void *value, lethe_source source);
    void (*drop)(void *value); /* what the value owns, also half-built; not the value itself */
    size_t (*memory)(const void *value);
    size_t (*allocations)(const void *value);                /* * one for each mebibyte */
    void (*digest)(const void *value, redis_digest *digest); /* * of what is saved */
    int (*defrag)(void *value, redis_defrag *defrag);        /* * */

    /* * Lets time pass up to the value's clock. A master does it, and replicates that it did. NULL: the type
     * has no time, and its clock stands still. */
    void (*let_time_pass)(void *value);
    /* Whether there is anything to forget or give back as of now_ms; with let_time_pass. */
    bool (*is_due)(const void *value, uint64_t now_ms);
    /* * Gives memory back without a change of what is saved. */
    void (*give_back)(void *value);
};

#define VALUE_TYPE_PREFIX(prefix_) \
    .prefix = prefix_, .effect_name = prefix_ ".EFFECT", .load_name = prefix_ ".LOAD"

/* Options of types with a window: a lethe_window_options. command.c */
#define VALUE_TYPE_WINDOW_OPTIONS(word)                                             \
    .create_word = word, .option_arguments = window_arguments,                      \
    .option_names = "WINDOW, ERROR, CAPACITY, SLACK, SEED, MAXMEMORY and POLICY",   \
    .default_options = window_options_default, .parse_option = window_option_parse, \
    .write_options = window_options_write, .read_options = window_options_read,     \
    .planned_bytes = window_planned_bytes

static inline bool has_time(const struct value_type *type) {
    return type->let_time_pass != NULL;
}

/* A new value with an empty body. */
void *value_new(const struct value_type *type);
/* Takes NULL and half-built values. */
void value_release(void *value);

/* NULL when the pieces are not a value of that type. */
void *value_load(const struct value_type *type, const struct chunks *chunks);

/* The server's callbacks; each type has a load function of its own that calls value_from_snapshot. */
void *value_from_snapshot(const struct value_type *type, redis_io *io, int version);
bool value_type_register(redis_context *context, const struct value_type *type);

enum { VALUE_ENCODING_VERSION = 2 };

/* Later times are taken for this one. */
#define VALUE_MAX_TIME_MS (UINT64_MAX / 128)

/* A value that is being loaded; takes the pieces over. NULL when there is no memory. */
struct value *value_partial(const struct value_type *type, struct chunks *chunks);
/* The whole of a value, as pieces; on error they are still the caller's to drop. */
lethe_status value_to_chunks(const struct value *value, struct chunks *out);

/* The digest of saved bytes: what equal values have in common. */
lethe_status hash_of_saved(lethe_status (*save)(const void *, lethe_sink), const void *value,
                           lethe_hash *out);

/* Memory for the arguments of one command; valid until the next call. */
void *scratch(size_t count, size_t size);
/* Gives it back after a large command; between commands. */
void scratch_trim(void);

/* Buffers that are used again and again are given back when they have become larger than this. */
enum { KEPT_BYTES = 1 << 20 };

/* What it takes to release memory, in the server's measure: above 64 it is done in the background. Two mebibytes take half
 * a millisecond. */
size_t effort_of_bytes(uint64_t bytes);

/* Hashes items into scratch memory, with a byte for the answer to each behind them. */
lethe_hash *hash_items(uint64_t seed, redis_string **items, size_t count, uint8_t **answers);

/* --- Time: clock.c */

/* What time it is for a value: on a master its clock and what has elapsed since, on a replica
 * just its clock. */
uint64_t value_time(const struct value *value);
/* Brings the value's clock to the present, for a change, and returns it. */
uint64_t value_advance(struct value *value);
/* Takes an advance back that nothing came of. */
void value_turn_back(struct value *value, uint64_t clock_ms);
/* Sets it to what a master says; never back. */
void value_set_clock(struct value *value, uint64_t clock_ms);
/* A new value begins at this host's wall clock. */
void value_start_clock(struct value *value);
/* After loading a file: counts what has elapsed since, never less than nothing. */
void value_catch_up(struct value *value);
/* What has elapsed since the value's clock was last moved; 0 for a type without time. */
uint64_t clock_idle_ms(const struct value *value);

/* How this host's clocks stand to the value's now. */
struct stamp clock_stamp(const struct value *value);
/* Whether that is what value->stamp says. */
bool clock_is_stamped(const struct value *value, const struct stamp *now);

extern bool clock_is_replica;          /* what this server is */
extern bool clock_is_loading_own_file; /* rather than a master's snapshot */

/* --- Which values there are, and the timer: registry.c */

bool registry_start(redis_context *context);
/* Gives a value a place; name may be NULL when it is not known yet. */
void registry_add(struct value *value, const redis_string *name, int database);
/* The value is gone. Any thread. */
void registry_drop(struct value *value);
void registry_note_unlink(const redis_string *name);
void registry_catch_up(redis_context *context);
extern uint64_t settings_tick_ms;

struct registry_counts {
    uint64_t values, ticks, evicted, large;
    uint64_t effects, no_ops;
};
extern struct registry_counts registry_counts;

/* Forgets what DUMP has kept for nobody: transfer.c. */
void transfer_tick(void);

/* --- Effects: effect.c, and docs/format/module.md */

/* One buffer, for the effect that is being put together. It begins with the value's clock and, where the value's stamp is
 * not what it should be, with the new one. */
void effect_begin(const struct value *value);
void effect_u8(uint8_t number);
void effect_u32(uint32_t number);
void effect_u64(uint64_t number);
void effect_f64(double number);
void effect_bytes(const void *data, size_t size);
void effect_hash(lethe_hash hash);
/* Replicates it, to replicas and to the log: an effect on that value. */
void effect_send(redis_context *context, redis_string *key, struct value *value);
/* Sends an effect that tells how the clocks stand, if that is not known. */
void effect_stamp(redis_context *context, redis_string *key, struct value *value);

/* Reads an effect; after the first read beyond the end, is_valid is false and all are zeros. */
struct effect_reader {
    redis_context *context;
    const unsigned char *data;
    size_t left;
    bool is_valid;
};
uint8_t effect_read_u8(struct effect_reader *reader);
uint32_t effect_read_u32(struct effect_reader *reader);
uint64_t effect_read_u64(struct effect_reader *reader);
double effect_read_f64(struct effect_reader *reader);
const void *effect_read_bytes(struct effect_reader *reader, size_t size);
lethe_hash effect_read_hash(struct effect_reader *reader);

/* --- Commands: command.c */

/* One row of a type's table of commands. */
struct command {
    const char *name; /* without the prefix */
    redis_command_function *function;
    const char *flags; /* as for CreateCommand */
    int arity;         /* the name counts; -n is n or more */
    int key_flags;     /* KEY_...; the keys are arguments first to last, -1 being the last of all */
    int first_key, last_key;
    const char *summary, *complexity;
    redis_argument *arguments;
};
enum {
    KEY_READS = REDIS_KEY_READ_ONLY | REDIS_KEY_ACCESS,
    KEY_CHANGES = REDIS_KEY_READ_WRITE | REDIS_KEY_ACCESS | REDIS_KEY_UPDATE,
    KEY_CREATES = REDIS_KEY_READ_WRITE | REDIS_KEY_INSERT,
    KEY_REMOVES = REDIS_KEY_READ_WRITE | REDIS_KEY_DELETE,
    KEY_MERGES = -1 /* the first is changed, the last is read */
};
/* All commands of a type: its own and those that every type has. */
bool commands_register(redis_context *context, const struct value_type *type);

/* An opened key. */
struct opened {
    redis_key *key;
    void *value; /* NULL: there is no such key */
    bool is_new; /* made by this command */
    uint64_t clock_before_ms;
};
enum open_mode { OPEN_TO_READ, OPEN_TO_WRITE };
/* False, with the error replied, when the key holds something else or a value that is half loaded. */
bool open_value(redis_context *context, redis_string *name, const struct value_type *type,
                enum open_mode mode, struct opened *out);
/* Puts a value under a key that was opened to write and is empty. */
void store_value(redis_context *context, struct opened *opened, redis_string *name, void *value);
/* Tells watchers and subscribers of a change. */
void announce(redis_context *context, redis_string *name, const char *event);

/* Replies with what a status means; REDIS_OK, for return. */
int reply_status(redis_context *context, lethe_status status);
int reply_error(redis_context *context, const char *text);
/* A reply has 63 bits: what is more is told as the most that they hold. */
int reply_count(redis_context *context, uint64_t count);

/* Numbers as options have them. */
bool parse_count(const redis_string *string, uint64_t *out);
bool parse_positive(const redis_string *string, double *out); /* zero would mean the default */
/* A seed is any 64 bits but all zeros; negative numbers are those with the upper bit set. */
bool parse_seed(const redis_string *string, uint64_t *out);
uint64_t random_seed(void);                                 /* a secret one */
bool is_word(const redis_string *string, const char *word); /* in any case */

void window_options_default(void *options);
enum option_verdict window_option_parse(const redis_string *name, const redis_string *value,
                                        void *options);
void window_options_write(const void *options);
bool window_options_read(struct effect_reader *reader, void *options);
uint64_t window_planned_bytes(const void *options);

/* --- Changes: change.c */

/* Opens a value for a change: the effect has begun, and its clock is the present. One that is absent is made with
 * the type's defaults, or stays absent: then the value is NULL and nothing has begun. False with the error
 * replied. */
enum absence { ABSENT_IS_MADE, ABSENT_STAYS };
bool open_to_change(redis_context *context, redis_string *name, const struct value_type *type,
                    enum absence absence, struct opened *out);
/* Sends the effect and closes the key; with event not NULL also announces a change. */
void finish_change(redis_context *context, struct opened *opened, redis_string *name,
                   const char *event);
/* Closes the key as if the change had never begun; nothing of it has been done. */
void abandon_change(struct opened *opened);
/* "fbf.add", until the next call. */
const char *event_of(const struct value_type *type, const char *word);

/* What INFO tells, a map: a name, and then one reply. */
struct info {
    redis_context *context;
    long count;
};
void info_name(struct info *info, const char *name);
void info_number(struct info *info, const char *name, uint64_t value);
void info_fraction(struct info *info, const char *name, double value);

/* Carries out what a master did, or with apply false looks whether the whole of it is valid. */
bool repeat_effect(const struct value_type *type, void **value, struct effect_reader reader,
                   uint64_t clock_ms, bool apply);

/* The commands that every type has under its own prefix: PREFIX.RESERVE key option value ..., PREFIX.INFO key, PREFIX.MERGE
 * into from, PREFIX.EFFECT key data, PREFIX.LOAD key number last data, PREFIX.DUMP key number. */
redis_command_function create_command, info_command, merge_command, effect_command, load_command,
    dump_command;

/* Arguments in COMMAND DOCS. */
#define ARGUMENT(name_, type_, flags_) \
    { .name = name_, .type = REDIS_ARGUMENT_##type_, .key_spec = -1, .flags = flags_ }
#define ARGUMENT_KEY(name_, flags_) \
    { .name = name_, .type = REDIS_ARGUMENT_KEY, .key_spec = 0, .flags = flags_ }
#define ARGUMENT_NAMED(token_, name_, type_)                                            \
    {                                                                                   \
        .name = name_, .type = REDIS_ARGUMENT_##type_, .key_spec = -1, .token = token_, \
        .flags = REDIS_ARGUMENT_OPTIONAL                                                \
    }
#define ARGUMENT_TOKEN(token_, name_)                                                 \
    {                                                                                 \
        .name = name_, .type = REDIS_ARGUMENT_TOKEN, .key_spec = -1, .token = token_, \
        .flags = REDIS_ARGUMENT_OPTIONAL                                              \
    }
#define ARGUMENT_BLOCK(name_, flags_, parts_)                                         \
    {                                                                                 \
        .name = name_, .type = REDIS_ARGUMENT_BLOCK, .key_spec = -1, .flags = flags_, \
        .parts = parts_                                                               \
    }
#define ARGUMENT_END \
    { .name = NULL }

extern redis_argument window_arguments[]; /* key and all options of a window */

/* --- Settings: settings.c */

bool settings_register(redis_context *context);
/* What a table gets that is made by its first use; a new seed each time. */
lethe_window_options settings_defaults(void);

/* --- The types: module.c */

/* The type that a handle belongs to; NULL when it is none of ours. */
const struct value_type *type_of_handle(const redis_type *handle);
/* The type whose prefix the name of a command has: one that was registered. */
const struct value_type *type_of_command(const redis_string *name);

extern const struct value_type once_type, fbf_type, fid_type, qf_type, gbf_type;

#endif
