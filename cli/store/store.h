/* store.h - the counters' store, as commands open it and speak of it. */
#ifndef LETHE_CLI_STORE_STORE_H
#define LETHE_CLI_STORE_STORE_H

#include "frame/arguments.h"
#include "lethe/store.h"

/* The folder that --db names. Returns EXIT_DONE, or EXIT_USAGE if there is none. */
int store_folder(const struct arguments *arguments, const char **out);

/* Opens a store; on success the caller closes it. Signals are kept from the threads that this
 * starts. */
int store_open(const char *folder, const lethe_store_options *options, lethe_store **out);

/* The same for one call of many processes, of which one at a time can write: while another has the
 * store, waits for so long. */
enum { STORE_DEFAULT_WAIT_MS = 10000 };
int store_open_in_turn(const char *folder, const lethe_store_options *options, uint64_t wait_ms,
                       lethe_store **out);

/* Reads --window, --error, --scale, --per, --zone and --keep: what a new store is made with, and an
 * old one is compared with or changed to. It is made if it is not there. */
int store_read_new(const struct arguments *arguments, lethe_store_options *options);

/* Opens the store of --db for reading, even while another process writes it. */
int store_open_reader(const struct arguments *arguments, lethe_store **out);

/* Closes a store. Returns code, or, if that is of no failure, what closing gave. Takes NULL. */
int store_close(const char *folder, lethe_store *store, int code);

/* Says why something about the store in folder failed: "cannot ATTEMPT FOLDER: why; what to do".
 * detail may be NULL. Returns the exit code of that kind of failure. */
int store_fail(lethe_status status, const char *attempt, const char *folder,
               const lethe_detail *detail);

/* Says why a call of the open store failed. */
int store_fail_call(lethe_status status, const char *attempt, const char *folder,
                    const lethe_store *store);

/* How likely a fresh event is taken for a duplicate now: by the window, and by the ledger after
 * it. */
double store_error_estimate(const lethe_store_stats *stats);

/* Whether it keeps a sketch in place of counters. */
bool store_has_sketch(lethe_store *store);

/* Bytes that people write, and how many there may be. */
struct store_bytes {
    const char *name, *any; /* "id", "an id" */
    size_t least, most;
};
extern const struct store_bytes store_id;

/* Reads bytes as they are written on a command line or in a file: escaped (escape.h). They go to
 * out, which has room for as many as text has, and may be the same. Returns EXIT_DONE or code,
 * after saying what is wrong. */
int store_read_bytes(const struct store_bytes *what, lethe_bytes text, int code, char *out,
                     lethe_bytes *result);
/* The same of a word of the command line, in whose place the bytes are put. */
int store_read_word(const struct store_bytes *what, char *word, lethe_bytes *result);
/* The same of a key. */
int store_read_key(lethe_bytes text, int code, char *out, lethe_bytes *key);

/* Reads the key operands from the first on. The caller frees *keys, and nothing else. */
int store_read_keys(char *const *operands, size_t count, lethe_bytes **keys);

/* How counters are printed: as lines or as JSON objects, and with how many digits after the point
 * (input/decimal.h). */
struct store_printing {
    bool json;
    unsigned scale;
};

/* Prints an estimate: its key, the value, and between what the truth lies. */
int store_print_estimate(struct store_printing how, lethe_bytes key, lethe_estimate estimate);

/* Prints a counter: its key, escaped, a tab and the value; or a JSON object. */
int store_print(struct store_printing how, lethe_bytes key, int64_t value);

#endif
