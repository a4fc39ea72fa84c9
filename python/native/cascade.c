/* python/native/cascade.c - lethe.Cascade: a set on disk, much larger than memory.
 *
 * The cascade has locks of its own: all calls except close run side by side. */
#include "lethe/cascade.h"

#include <string.h>

#include "object.h"

static lethe_status add(void *object, struct piece *piece) {
    lethe_status status =
        lethe_cascade_add_batch(object, piece->hashes, piece->count, piece->now_ms, &piece->done);
    memset(piece->results, 1, status == LETHE_OK ? piece->count : piece->done);
    return status;
}

static lethe_status test(void *object, struct piece *piece) {
    lethe_status status = lethe_cascade_test_batch(object, piece->hashes, piece->count,
                                                   piece->now_ms, piece->results);
    if (status != LETHE_OK) piece->done = 0;
    return status;
}

static lethe_status add_and_test(void *object, struct piece *piece) {
    return lethe_cascade_add_and_test_batch(object, piece->hashes, piece->count, piece->now_ms,
                                            piece->results, &piece->done);
}

static lethe_status remove_all(void *object, struct piece *piece) {
    lethe_status status = lethe_cascade_remove_batch(object, piece->hashes, piece->count,
                                                     piece->now_ms, &piece->done);
    memset(piece->results, 1, status == LETHE_OK ? piece->count : piece->done);
    return status;
}

static lethe_status count_all(void *object, struct piece *piece) {
    lethe_status status = lethe_cascade_count_batch(object, piece->hashes, piece->count,
                                                    piece->now_ms, piece->results);
    if (status != LETHE_OK) piece->done = 0;
    return status;
}

static const char *const durabilities[] = {"logged", "synced", "checkpointed", NULL};
static const char *const readings[] = {"best", "uring", "threads", NULL};

static const struct option options[] = {
    POSITIVE_OPTION(lethe_cascade_options, capacity, U64),
    OPTION(lethe_cascade_options, error, F64),
    OPTION(lethe_cascade_options, seed, U64),
    OPTION(lethe_cascade_options, window_ms, U64),
    OPTION(lethe_cascade_options, slack, F64),
    POSITIVE_OPTION(lethe_cascade_options, memory_bytes, U64),
    OPTION(lethe_cascade_options, level_filter_bytes, U64),
    POSITIVE_OPTION(lethe_cascade_options, growth, U32),
    POSITIVE_OPTION(lethe_cascade_options, read_depth, U32),
    WORD_OPTION(lethe_cascade_options, durability, durabilities),
    WORD_OPTION(lethe_cascade_options, reading, readings),
    OPTION(lethe_cascade_options, direct, BOOL),
    OPTION(lethe_cascade_options, refuse_over_capacity, BOOL),
    OPTION(lethe_cascade_options, must_exist, BOOL),
    END_OF_OPTIONS,
};

const struct kind kind_cascade = {
    .name = "Cascade",
    .row = &structure_cascade,
    .options = options,
    .operations = {[DO_ADD] = add,
                   [DO_TEST] = test,
                   [DO_ADD_AND_TEST] = add_and_test,
                   [DO_REMOVE] = remove_all,
                   [DO_COUNT] = count_all},
    .is_timed = true,
    .is_shared = true,
    /* Large: lookups share pages. */
    .chunk = 1 << 20,
};

/* Closing reports whether the last sync succeeded, which freeing cannot. */
static PyObject *close_cascade(PyObject *self, PyObject *unused) {
    (void)unused;
    lethe_object *own = (lethe_object *)self;
    if (own->object == NULL) Py_RETURN_NONE;
    if (object_enter(own, GUARD_WRITE) != 0) return NULL;
    lethe_cascade *held = own->object;
    own->object = NULL;
    lethe_detail detail = {{0}};
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_cascade_close(held, &detail);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_WRITE);
    if (status != LETHE_OK) return errors_raise(status, "Cascade", &detail, NULL);
    Py_RETURN_NONE;
}

static PyObject *work(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"budget", "now_ms"};
    lethe_object *own = (lethe_object *)self;
    PyObject *given[2];
    uint64_t budget = 0, now_ms = 0;
    bool more = false;
    if (arguments_take("work", args, count, names, parameters, 2, 0, given) != 0 ||
        arguments_u64("budget", given[0], &budget) != 0 || arguments_time(given[1], &now_ms) != 0 ||
        object_enter(own, GUARD_READ) != 0)
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_cascade_work(own->object, now_ms, budget, &more);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_READ);
    if (status != LETHE_OK) return errors_raise(status, "Cascade", NULL, NULL);
    return PyBool_FromLong(more);
}

static PyObject *sync_log(PyObject *self, PyObject *unused) {
    (void)unused;
    lethe_object *own = (lethe_object *)self;
    if (object_enter(own, GUARD_READ) != 0) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_cascade_sync(own->object);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_READ);
    if (status != LETHE_OK) return errors_raise(status, "Cascade", NULL, NULL);
    Py_RETURN_NONE;
}

static PyObject *checkpoint(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"sequence", "note"};
    lethe_object *own = (lethe_object *)self;
    PyObject *given[2];
    uint64_t sequence = 0;
    struct key note = {.owner = NULL};
    if (arguments_take("checkpoint", args, count, names, parameters, 2, 1, given) != 0 ||
        arguments_u64("sequence", given[0], &sequence) != 0)
        return NULL;
    if ((given[1] != NULL && key_take(given[1], &note) != 0) ||
        object_enter(own, GUARD_READ) != 0) {
        key_free(&note);
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status =
        lethe_cascade_checkpoint(own->object, sequence, note.bytes.data, note.bytes.size);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_READ);
    key_free(&note);
    if (status != LETHE_OK) return errors_raise(status, "Cascade", NULL, NULL);
    Py_RETURN_NONE;
}

static PyObject *last_checkpoint(PyObject *self, PyObject *unused) {
    (void)unused;
    lethe_object *own = (lethe_object *)self;
    char note[LETHE_CASCADE_MAX_NOTE_BYTES];
    size_t note_bytes = 0;
    uint64_t sequence = 0;
    if (object_enter(own, GUARD_READ) != 0) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_cascade_last_checkpoint(own->object, &sequence, note, &note_bytes);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_READ);
    if (status != LETHE_OK) return errors_raise(status, "Cascade", NULL, NULL);
    return Py_BuildValue("Ky#", (unsigned long long)sequence, note, (Py_ssize_t)note_bytes);
}

static PyMethodDef methods[] = {
    METHOD("add", object_add, "add(key, now_ms=None)\n--\n\nAdds a key once more."),
    METHOD("add_many", object_add_many, "add_many(keys, now_ms=None)\n--\n\nAdds keys."),
    METHOD("test", object_test, "test(key, now_ms=None)\n--\n\nWhether a key seems to be there."),
    METHOD("test_many", object_test_many,
           "test_many(keys, out=None, now_ms=None)\n--\n\nWhether each key seems to be there."),
    METHOD("add_and_test", object_add_and_test,
           "add_and_test(key, now_ms=None)\n--\n\n"
           "Adds a key that is not there; whether it seemed to be."),
    METHOD("add_and_test_many", object_add_and_test_many,
           "add_and_test_many(keys, out=None, now_ms=None)\n--\n\n"
           "Adds what is not there and reports what was. An error ends the batch; its results have "
           "2 for what was not settled."),
    METHOD("remove", object_remove,
           "remove(key, now_ms=None)\n--\n\nCancels one earlier addition; always True, since only "
           "merging shows whether there was one."),
    METHOD("remove_many", object_remove_many,
           "remove_many(keys, out=None, now_ms=None)\n--\n\nCancels earlier additions."),
    METHOD("count", object_count, "count(key, now_ms=None)\n--\n\nHow often a key is there."),
    METHOD("count_many", object_count_many,
           "count_many(keys, out=None, now_ms=None)\n--\n\nHow often each key is there."),
    METHOD("work", work,
           "work(budget=0, now_ms=None)\n--\n\nDoes a part of the merging that is due; whether "
           "there is more. Call it from one or more threads."),
    SIMPLE_METHOD("sync", sync_log, "sync()\n--\n\nMakes all calls survive a power cut."),
    METHOD("checkpoint", checkpoint,
           "checkpoint(sequence, note=b'')\n--\n\nSyncs, and stores a number and a note."),
    SIMPLE_METHOD("last_checkpoint", last_checkpoint,
                  "last_checkpoint()\n--\n\nThe last checkpoint's (sequence, note)."),
    INFO_METHOD("now_ms=None"),
    SIMPLE_METHOD("close", close_cascade,
                  "close()\n--\n\nSyncs and closes. It may be closed twice."),
    SIMPLE_METHOD("__enter__", object_begin_with, NULL),
    METHOD("__exit__", object_end_with, NULL),
    END_OF_METHODS,
};

static PyType_Slot slots[] = {
    FILTER_SLOTS(methods),
    {Py_tp_doc,
     DOC("Cascade(folder, *, capacity=2**30, error=1e-3, memory_bytes=64 MiB, window_ms=0, "
         "...)\n--\n\n"
         "A set or multiset in a folder, much larger than memory. Opens what is there or makes "
         "it.\n"
         "durability: 'logged', 'synced' or 'checkpointed'; reading: 'best', 'uring' or "
         "'threads'.\n"
         "Further options: seed, slack, level_filter_bytes, growth, read_depth, direct,\n"
         "refuse_over_capacity, must_exist.")},
    {0, NULL},
};

PyType_Spec cascade_spec = OBJECT_SPEC("Cascade", slots);
