/* python/native/store.c - lethe.Store: opening, closing, its state; counters that are set. */
#include "store.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static PyObject *outcome_class;
/* The process that opened the first store. */
static struct guard opener;

/* When a process ends that is a fork of it: what RocksDB registered to be called then waits for
 * ever for its threads, which a fork does not copy. This is called just before, so whatever was
 * registered since has been called; the interpreter has ended, and what it printed is written. */
static void leave_at_once(int status, void *unused) {
    (void)unused;
    if (!guard_is_inherited(&opener)) return;
    (void)fflush(NULL);
    _exit(status);
}

static void note_opener(void) {
    guard_start(&opener);
    /* The only way to learn the status. Extensions stay loaded until the end. */
    (void)on_exit(leave_at_once, NULL);
}

static lethe_status open_store(const char *folder, const void *options, void **out,
                               lethe_detail *detail) {
    lethe_store *opened = NULL;
    static pthread_once_t was_noted = PTHREAD_ONCE_INIT;
    lethe_status status = lethe_store_open(folder, options, &opened, detail);
    (void)pthread_once(&was_noted, note_opener); /* after RocksDB has registered */
    *out = opened;
    return status;
}

static void free_store(void *object) {
    (void)lethe_store_close(object, NULL);
}

static uint64_t no_seed(const void *object) {
    (void)object;
    return 0;
}

/* Stores are no structures; what is the same for them goes through a row all the same. */
static const struct structure row = {
    .name = "store",
    .lives_in_folder = true,
    .options_bytes = sizeof(lethe_store_options),
    .open = open_store,
    .free = free_store,
    .seed = no_seed,
};
_Static_assert(sizeof(lethe_store_options) <= STRUCTURE_OPTIONS_BYTES, "room for options");

static const char *const policies[] = {"refuse", "degrade", NULL};

static const struct option options[] = {
    POSITIVE_OPTION(lethe_store_options, window_ms, U64),
    OPTION(lethe_store_options, error, F64),
    OPTION(lethe_store_options, capacity, U64),
    OPTION(lethe_store_options, max_memory_bytes, U64),
    OPTION(lethe_store_options, counters_memory_bytes, U64),
    OPTION(lethe_store_options, commit_interval_ms, U64),
    OPTION(lethe_store_options, max_future_ms, U64),
    OPTION(lethe_store_options, commit_operations, U32),
    WORD_OPTION(lethe_store_options, policy, policies),
    OPTION(lethe_store_options, exact, SWITCH),
    OPTION(lethe_store_options, check_payload, SWITCH),
    OPTION(lethe_store_options, event_time, SWITCH),
    OPTION(lethe_store_options, forever, SWITCH),
    OPTION(lethe_store_options, read_only, BOOL),
    OPTION(lethe_store_options, create, BOOL),
    OPTION(lethe_store_options, sketch_top, U32),
    OPTION(lethe_store_options, sketch_bytes, U64),
    OPTION(lethe_store_options, ledger_capacity, U64),
    OPTION(lethe_store_options, ledger_memory_bytes, U64),
    OPTION(lethe_store_options, ledger_error, F64),
    OPTION(lethe_store_options, seed, U64),
    OPTION(lethe_store_options, forgetful, SWITCH),
    OPTION(lethe_store_options, scale, I32),
    OPTION(lethe_store_options, threads, U32),
    OPTION(lethe_store_options, per, TEXT),
    OPTION(lethe_store_options, zone, TEXT),
    OPTION(lethe_store_options, keep, TEXT),
    END_OF_OPTIONS,
};

const struct kind kind_store = {
    .name = "Store", .row = &row, .options = options, .is_shared = true};

lethe_store *store_enter(PyObject *self) {
    lethe_object *own = (lethe_object *)self;
    return object_enter(own, GUARD_READ) == 0 ? own->object : NULL;
}

void store_leave(PyObject *self) {
    object_leave((lethe_object *)self, GUARD_READ);
}

PyObject *store_fail(PyObject *self, lethe_status status) {
    lethe_detail detail = {{0}};
    lethe_store_explain(((lethe_object *)self)->object, &detail);
    store_leave(self);
    return errors_raise(status, "Store", &detail, NULL);
}

int store_done(PyObject *self, lethe_status status) {
    if (status != LETHE_OK) {
        store_fail(self, status);
        return -1;
    }
    store_leave(self);
    return 0;
}

PyObject *store_outcome(uint8_t outcome) {
    return PyObject_CallFunction(outcome_class, "i", (int)outcome);
}

PyObject *store_tuple(PyTypeObject *type, size_t count, PyObject **items) {
    PyObject *tuple = PyStructSequence_New(type);
    bool is_whole = tuple != NULL;
    for (size_t i = 0; i < count; i++) {
        if (items[i] == NULL) is_whole = false;
        if (tuple != NULL && items[i] != NULL)
            PyStructSequence_SetItem(tuple, (Py_ssize_t)i, items[i]);
        else
            Py_XDECREF(items[i]);
    }
    if (!is_whole) Py_CLEAR(tuple);
    return tuple;
}

PyTypeObject *store_tuple_type(PyObject *module, PyStructSequence_Desc *description) {
    PyTypeObject *type = PyStructSequence_NewType(description);
    const char *name = strrchr(description->name, '.') + 1;
    if (type != NULL && PyModule_AddObjectRef(module, name, (PyObject *)type) != 0) return NULL;
    return type;
}

/* Closing reports whether the last commit succeeded, which freeing cannot. */
static PyObject *close_store(PyObject *self, PyObject *unused) {
    (void)unused;
    lethe_object *own = (lethe_object *)self;
    if (own->object == NULL) Py_RETURN_NONE;
    if (object_enter(own, GUARD_WRITE) != 0) return NULL;
    lethe_store *held = own->object;
    own->object = NULL;
    lethe_detail detail = {{0}};
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_store_close(held, &detail);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_WRITE);
    if (status != LETHE_OK) return errors_raise(status, "Store", &detail, NULL);
    Py_RETURN_NONE;
}

static bool set_all(PyObject *self, const struct keys *keys, const struct numbers *numbers) {
    struct keys_room room;
    int64_t *values = calloc(keys->count + 1, sizeof *values);
    bool has_room = keys_room_start(&room, keys, keys->count) && values != NULL;
    if (!has_room) PyErr_NoMemory();
    lethe_store *store = has_room ? store_enter(self) : NULL;
    lethe_status status = LETHE_ENOMEM;
    if (store != NULL && values != NULL) {
        PyThreadState *thread = PyEval_SaveThread();
        for (size_t i = 0; i < keys->count; i++)
            values[i] = numbers_at(numbers, i);
        status =
            lethe_store_set(store, keys_bytes(keys, 0, keys->count, &room), values, keys->count);
        PyEval_RestoreThread(thread);
    }
    bool is_set = store != NULL && store_done(self, status) == 0;
    keys_room_free(&room);
    free(values);
    return is_set;
}

static PyObject *set_many(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"keys", "values"};
    PyObject *given[2];
    struct keys keys = {0};
    struct numbers numbers = {0};
    if (arguments_take("set_many", args, count, names, parameters, 2, 2, given) != 0) return NULL;
    bool is_set = keys_take("keys", given[0], &keys) == 0 &&
                  numbers_take("values", given[1], keys.count, false, 0, &numbers) == 0 &&
                  set_all(self, &keys, &numbers);
    numbers_free(&numbers);
    keys_free(&keys);
    return is_set ? Py_NewRef(Py_None) : NULL;
}

static PyObject *set_one(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"key", "value"};
    PyObject *given[2];
    struct key key = {.owner = NULL};
    int64_t value = 0;
    if (arguments_take("set", args, count, names, parameters, 2, 2, given) != 0 ||
        arguments_i64("value", given[1], &value) != 0)
        return NULL;
    lethe_store *store = key_take(given[0], &key) == 0 ? store_enter(self) : NULL;
    bool is_set = false;
    if (store != NULL) {
        PyThreadState *thread = PyEval_SaveThread();
        lethe_status status = lethe_store_set(store, &key.bytes, &value, 1);
        PyEval_RestoreThread(thread);
        is_set = store_done(self, status) == 0;
    }
    key_free(&key);
    return is_set ? Py_NewRef(Py_None) : NULL;
}

static PyObject *delete_many(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"keys", "out"};
    PyObject *given[2];
    struct keys keys = {0};
    struct keys_room room = {0};
    struct results results = {0};
    PyObject *answer = NULL;
    if (arguments_take("delete_many", args, count, names, parameters, 2, 1, given) != 0)
        return NULL;
    if (keys_take("keys", given[0], &keys) == 0 &&
        results_take("out", given[1], keys.count, RESULTS_BOOL, keys.is_numpy, &results) == 0) {
        if (!keys_room_start(&room, &keys, keys.count)) PyErr_NoMemory();
        lethe_store *store = PyErr_Occurred() ? NULL : store_enter(self);
        if (store != NULL) {
            PyThreadState *thread = PyEval_SaveThread();
            lethe_status status = lethe_store_delete(store, keys_bytes(&keys, 0, keys.count, &room),
                                                     keys.count, results.data);
            PyEval_RestoreThread(thread);
            if (store_done(self, status) == 0) answer = results_give(&results);
        }
    }
    keys_room_free(&room);
    results_free(&results);
    keys_free(&keys);
    return answer;
}

static PyObject *delete_one(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"key"};
    PyObject *given[1];
    struct key key = {.owner = NULL};
    if (arguments_take("delete", args, count, names, parameters, 1, 1, given) != 0) return NULL;
    lethe_store *store = key_take(given[0], &key) == 0 ? store_enter(self) : NULL;
    bool existed = false, is_deleted = false;
    if (store != NULL) {
        PyThreadState *thread = PyEval_SaveThread();
        lethe_status status = lethe_store_delete(store, &key.bytes, 1, &existed);
        PyEval_RestoreThread(thread);
        is_deleted = store_done(self, status) == 0;
    }
    key_free(&key);
    return is_deleted ? PyBool_FromLong(existed) : NULL;
}

static PyMethodDef own_methods[] = {
    METHOD("set", set_one,
           "set(key, value)\n--\n\nSets a counter, whatever it holds; durable on return."),
    METHOD("set_many", set_many, "set_many(keys, values)\n--\n\nSets counters."),
    METHOD("delete", delete_one, "delete(key)\n--\n\nDeletes a counter; whether it was there."),
    METHOD("delete_many", delete_many,
           "delete_many(keys, out=None)\n--\n\nDeletes counters; whether each was there."),
    SIMPLE_METHOD("close", close_store,
                  "close()\n--\n\nCommits what is under way and closes. It may be closed twice."),
    SIMPLE_METHOD("__enter__", object_begin_with, NULL),
    METHOD("__exit__", object_end_with, NULL),
    END_OF_METHODS,
};

static PyGetSetDef properties[] = {
    {"closed", object_get_closed, NULL, "Whether it was closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

enum { METHODS_ROOM = 64 };
static PyMethodDef methods[METHODS_ROOM];

/* A type has one table of methods; the store's are in several files. */
void store_join_methods(void) {
    PyMethodDef *const tables[] = {own_methods,        store_one_methods,   store_apply_methods,
                                   store_read_methods, store_usage_methods, store_claims_methods};
    size_t n = 0;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (PyMethodDef *method = tables[i]; method->ml_name != NULL && n + 1 < METHODS_ROOM;
             method++)
            methods[n++] = *method;
}

static PyType_Slot slots[] = {
    {Py_tp_new, object_new},
    {Py_tp_dealloc, object_dealloc},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {Py_sq_contains, store_contains},
    {Py_tp_doc,
     DOC("Store(folder, *, create=False, read_only=False, window_ms=None, error=None, ...)\n--\n\n"
         "Counters in a folder that apply every operation exactly once. Options are those of\n"
         "lethe_store_options in lethe/store_open.h, with the same names; None keeps what the "
         "store "
         "has.\n"
         "Modes, True or False: exact, check_payload, event_time, forever, forgetful. Of a new "
         "store:\n"
         "sketch_bytes, sketch_top, scale, seed. Meters: per='1h,1d', zone='Europe/Berlin',\n"
         "keep='1h=90d'.")},
    {0, NULL},
};

PyType_Spec store_spec = OBJECT_SPEC("Store", slots);

int store_start(PyObject *module, PyObject *outcomes) {
    outcome_class = Py_NewRef(outcomes);
    bool is_started = store_one_start(module) == 0 && store_usage_start(module) == 0 &&
                      store_claims_start(module) == 0;
    return is_started ? 0 : -1;
}
