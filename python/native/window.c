/* python/native/window.c - lethe.Window and lethe.Forgetful: what remembers keys for a time W. */
#include "lethe/window.h"

#include "lethe/forgetful.h"
#include "object.h"

static lethe_status window_add(void *object, struct piece *piece) {
    return lethe_window_add_batch(object, piece->hashes, piece->count, piece->now_ms,
                                  piece->results);
}

static lethe_status window_add_and_test(void *object, struct piece *piece) {
    return lethe_window_add_and_test_batch(object, piece->hashes, piece->count, piece->now_ms,
                                           piece->results);
}

static bool has_stripes(const void *options) {
    return ((const lethe_window_options *)options)->stripes > 0;
}

static const char *const kinds[] = {"quotient", "forgetful", NULL};
static const char *const policies[] = {"refuse", "degrade", NULL};

static const struct option window_options[] = {
    WORD_OPTION(lethe_window_options, kind, kinds),
    WORD_OPTION(lethe_window_options, policy, policies),
    POSITIVE_OPTION(lethe_window_options, window_ms, U64),
    OPTION(lethe_window_options, error, F64),
    OPTION(lethe_window_options, slack, F64),
    POSITIVE_OPTION(lethe_window_options, capacity, U64),
    OPTION(lethe_window_options, max_memory_bytes, U64),
    OPTION(lethe_window_options, refresh_on_duplicate, BOOL),
    OPTION(lethe_window_options, stripes, U32),
    OPTION(lethe_window_options, seed, U64),
    END_OF_OPTIONS,
};

const struct kind kind_window = {
    .name = "Window",
    .row = &structure_window,
    .options = window_options,
    .operations = {[DO_ADD] = window_add,
                   [DO_TEST] = piece_test,
                   [DO_ADD_AND_TEST] = window_add_and_test,
                   [DO_REMOVE] = piece_remove},
    .is_timed = true,
    .chunk = 4096,
    .made_shared = has_stripes,
};

/* --- Forgetful --- */

static lethe_status forgetful_add(void *object, struct piece *piece) {
    lethe_status first_error = LETHE_OK;
    uint8_t *added = piece->results;
    for (size_t i = 0; i < piece->count; i++) {
        lethe_status status = lethe_forgetful_add(object, piece->hashes[i], piece->now_ms);
        added[i] = status == LETHE_OK;
        if (status != LETHE_OK && first_error == LETHE_OK) first_error = status;
    }
    return first_error;
}

static lethe_status forgetful_add_and_test(void *object, struct piece *piece) {
    return lethe_forgetful_add_and_test_batch(object, piece->hashes, piece->count, piece->now_ms,
                                              piece->results);
}

static const char *const settings[] = {"elastic", "paper", "printed", NULL};
static const char *const checks[] = {"optimised", "simple", NULL};

static const struct option forgetful_options[] = {
    WORD_OPTION(lethe_forgetful_options, setting, settings),
    WORD_OPTION(lethe_forgetful_options, policy, policies),
    POSITIVE_OPTION(lethe_forgetful_options, window_ms, U64),
    OPTION(lethe_forgetful_options, error, F64),
    OPTION(lethe_forgetful_options, slack, F64),
    POSITIVE_OPTION(lethe_forgetful_options, capacity, U64),
    OPTION(lethe_forgetful_options, max_memory_bytes, U64),
    POSITIVE_OPTION(lethe_forgetful_options, bits, U64),
    POSITIVE_OPTION(lethe_forgetful_options, hashes, U32),
    POSITIVE_OPTION(lethe_forgetful_options, past, U32),
    POSITIVE_OPTION(lethe_forgetful_options, period_ms, U64),
    WORD_OPTION(lethe_forgetful_options, check, checks),
    OPTION(lethe_forgetful_options, adapt, U32),
    OPTION(lethe_forgetful_options, salted, BOOL),
    OPTION(lethe_forgetful_options, seed, U64),
    END_OF_OPTIONS,
};

const struct kind kind_forgetful = {
    .name = "Forgetful",
    .row = &structure_forgetful,
    .options = forgetful_options,
    .operations = {[DO_ADD] = forgetful_add,
                   [DO_TEST] = piece_test,
                   [DO_ADD_AND_TEST] = forgetful_add_and_test},
    .is_timed = true,
    .chunk = 4096,
};

#define TIMED_METHODS                                                                             \
    METHOD("add", object_add,                                                                     \
           "add(key, now_ms=None)\n--\n\nRemembers a key from now on, duplicate or not."),        \
        METHOD("add_many", object_add_many,                                                       \
               "add_many(keys, now_ms=None)\n--\n\nRemembers keys from now on."),                 \
        METHOD("test", object_test,                                                               \
               "test(key, now_ms=None)\n--\n\nWhether a key was added within the last W."),       \
        METHOD("test_many", object_test_many,                                                     \
               "test_many(keys, out=None, now_ms=None)\n--\n\n"                                   \
               "Whether each key was added within the last W."),                                  \
        METHOD("add_and_test", object_add_and_test,                                               \
               "add_and_test(key, now_ms=None)\n--\n\n"                                           \
               "Whether a key is a duplicate; a fresh one is remembered. Raises FullError where " \
               "there is no room."),                                                              \
        METHOD("add_and_test_many", object_add_and_test_many,                                     \
               "add_and_test_many(keys, out=None, now_ms=None)\n--\n\n"                           \
               "Whether each key is a duplicate, repeats in the batch included; fresh ones are "  \
               "remembered. If there is no room for some, all are tried, and FullError has in "   \
               "results what each is: 0 fresh, 1 duplicate, 2 refused."),                         \
        METHOD("work", object_work,                                                               \
               "work(budget=64, now_ms=None)\n--\n\n"                                             \
               "Frees what has expired; whether there is more to free.")

static PyMethodDef window_methods[] = {
    TIMED_METHODS,
    METHOD("remove", object_remove,
           "remove(key, now_ms=None)\n--\n\n"
           "Takes back a key that was fresh and whose operation failed; whether it was there."),
    METHOD("remove_many", object_remove_many,
           "remove_many(keys, out=None, now_ms=None)\n--\n\nTakes back keys."),
    MERGE_METHOD("Takes over all that other remembers, and empties other."),
    INFO_METHOD("now_ms=None"),
    SAVING_METHODS,
    CLOSING_METHODS,
    END_OF_METHODS,
};

static PyMethodDef forgetful_methods[] = {
    TIMED_METHODS,
    MERGE_METHOD("Adds all that other remembers (elastic setting only)."),
    INFO_METHOD("now_ms=None"),
    COPYING_METHODS,
    SAVING_METHODS,
    CLOSING_METHODS,
    END_OF_METHODS,
};

static PyType_Slot window_slots[] = {
    FILTER_SLOTS(window_methods),
    {Py_tp_doc,
     DOC("Window(*, window_ms=600000, error=1e-6, kind='quotient', policy='refuse', slack=0.25, "
         "capacity=None, max_memory_bytes=0, refresh_on_duplicate=False, stripes=0, "
         "seed=None)\n--\n\n"
         "Remembers keys for window_ms and then forgets them. A key that was added is recognised "
         "for\n"
         "window_ms; a fresh one is taken for a duplicate with probability error. now_ms is the "
         "time\n"
         "of a call in milliseconds; None is the wall clock, since 1970.")},
    {0, NULL},
};

static PyType_Slot forgetful_slots[] = {
    FILTER_SLOTS(forgetful_methods),
    {Py_tp_doc,
     DOC("Forgetful(*, setting='elastic', window_ms=600000, error=1e-6, policy='refuse', "
         "slack=0.25, "
         "capacity=None, max_memory_bytes=0, bits=None, hashes=None, past=None, period_ms=None, "
         "check='optimised', adapt=0, salted=False, seed=None)\n--\n\n"
         "The forgetful Bloom filter of the paper. 'elastic' keeps window_ms and error at any "
         "load;\n"
         "'paper' and 'printed' are for study. For use, Window is smaller and faster.")},
    {0, NULL},
};

PyType_Spec window_spec = OBJECT_SPEC("Window", window_slots);
PyType_Spec forgetful_spec = OBJECT_SPEC("Forgetful", forgetful_slots);
