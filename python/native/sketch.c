/* python/native/sketch.c - lethe.Sketch: frequencies, with weights and the most frequent keys.
 *
 * IDEA    Counting goes through the shared operations. Adding and removing have weights, and a
 *         sketch that keeps the most frequent keys needs the keys themselves: so these two hand
 *         over keys, some thousands at a time. */
#include "lethe/sketch.h"

#include "object.h"
#include "rows.h"

enum { CHUNK = 4096 };

static const char *const kinds[] = {"count-min", "conservative", "count", "log", "fid", NULL};
static const char *const removals[] = {"default", "none", "subtraction", "count-min", NULL};

static const struct option options[] = {
    WORD_OPTION(lethe_sketch_options, kind, kinds),
    POSITIVE_OPTION(lethe_sketch_options, depth, U32),
    POSITIVE_OPTION(lethe_sketch_options, width, U64),
    POSITIVE_OPTION(lethe_sketch_options, is_width, U64),
    POSITIVE_OPTION(lethe_sketch_options, is_depth, U64),
    OPTION(lethe_sketch_options, epsilon, F64),
    OPTION(lethe_sketch_options, delta, F64),
    POSITIVE_OPTION(lethe_sketch_options, memory_bytes, U64),
    POSITIVE_OPTION(lethe_sketch_options, counter_bits, U32),
    WORD_OPTION(lethe_sketch_options, removal, removals),
    OPTION(lethe_sketch_options, top, U32),
    OPTION(lethe_sketch_options, seed, U64),
    END_OF_OPTIONS,
};

const struct kind kind_sketch = {
    .name = "Sketch",
    .row = &structure_count_min,
    .options = options,
    .operations = {[DO_COUNT] = piece_count},
    .chunk = CHUNK,
};

/* Adding and removing: the same with another function. */
struct change {
    const char *name, *many_name;
    lethe_status (*one)(lethe_sketch *, const void *, size_t, uint64_t);
    lethe_status (*many)(lethe_sketch *, const lethe_bytes *, size_t, const uint64_t *, uint8_t *);
    bool is_removal;
};

static const struct change adding = {"add", "add_many", lethe_sketch_add,
                                     lethe_sketch_add_key_batch, false};
static const struct change removing = {"remove", "remove_many", lethe_sketch_remove,
                                       lethe_sketch_remove_key_batch, true};

static PyObject *change_one(PyObject *object, const struct change *change, PyObject *const *args,
                            Py_ssize_t count, PyObject *names) {
    static const char *const parameters[] = {"key", "weight"};
    lethe_object *own = (lethe_object *)object;
    PyObject *given[2];
    struct key key = {.owner = NULL};
    uint64_t weight = 1;
    if (arguments_take(change->name, args, count, names, parameters, 2, 1, given) != 0 ||
        arguments_u64("weight", given[1], &weight) != 0)
        return NULL;
    if (key_take(given[0], &key) != 0 || object_enter(own, GUARD_WRITE) != 0) {
        key_free(&key);
        return NULL;
    }
    lethe_status status = change->one(own->object, key.bytes.data, key.bytes.size, weight);
    object_leave(own, GUARD_WRITE);
    key_free(&key);
    if (change->is_removal && (status == LETHE_OK || status == LETHE_ENOTFOUND))
        return PyBool_FromLong(status == LETHE_OK);
    if (status != LETHE_OK) return errors_raise(status, "Sketch", NULL, NULL);
    Py_RETURN_NONE;
}

struct batch {
    struct keys keys;
    struct numbers weights;
    bool has_weights;
    struct results results;
};

/* Without the interpreter's lock. */
static lethe_status settle(lethe_sketch *sketch, const struct change *change,
                           const struct batch *batch, struct keys_room *room, uint64_t *weights) {
    lethe_status first_error = LETHE_OK;
    uint8_t *results = batch->results.data;
    for (size_t first = 0; first < batch->keys.count; first += room->most) {
        size_t left = batch->keys.count - first, n = left < room->most ? left : room->most;
        for (size_t i = 0; batch->has_weights && i < n; i++)
            weights[i] = (uint64_t)numbers_at(&batch->weights, first + i);
        const lethe_bytes *keys = keys_bytes(&batch->keys, first, n, room);
        lethe_status status =
            change->many(sketch, keys, n, batch->has_weights ? weights : NULL, results + first);
        bool is_answer = change->is_removal && status == LETHE_ENOTFOUND;
        if (status != LETHE_OK && !is_answer && first_error == LETHE_OK) first_error = status;
    }
    return first_error;
}

static lethe_status run(lethe_sketch *sketch, const struct change *change,
                        const struct batch *batch) {
    struct keys_room room;
    lethe_status status = LETHE_ENOMEM;
    PyThreadState *thread = PyEval_SaveThread();
    uint64_t *weights = calloc(CHUNK, sizeof *weights);
    if (keys_room_start(&room, &batch->keys, CHUNK) && weights != NULL)
        status = settle(sketch, change, batch, &room, weights);
    keys_room_free(&room);
    free(weights);
    PyEval_RestoreThread(thread);
    return status;
}

static PyObject *change_batch(lethe_object *own, const struct change *change,
                              PyObject *const *given, struct batch *batch) {
    if (keys_take("keys", given[0], &batch->keys) != 0) return NULL;
    batch->has_weights = given[1] != NULL && given[1] != Py_None;
    if (numbers_take("weights", given[1], batch->keys.count, true, 1, &batch->weights) != 0 ||
        results_take("out", given[2], batch->keys.count, RESULTS_BOOL, batch->keys.is_numpy,
                     &batch->results) != 0 ||
        object_enter(own, GUARD_WRITE) != 0)
        return NULL;
    lethe_status status = run(own->object, change, batch);
    object_leave(own, GUARD_WRITE);
    if (status != LETHE_OK) return errors_raise(status, "Sketch", NULL, batch->results.object);
    if (!change->is_removal) Py_RETURN_NONE;
    return results_give(&batch->results);
}

static PyObject *change_many(PyObject *object, const struct change *change, PyObject *const *args,
                             Py_ssize_t count, PyObject *names) {
    static const char *const parameters[] = {"keys", "weights", "out"};
    PyObject *given[3] = {NULL, NULL, NULL};
    struct batch batch = {.has_weights = false};
    if (arguments_take(change->many_name, args, count, names, parameters,
                       change->is_removal ? 3 : 2, 1, given) != 0)
        return NULL;
    PyObject *result = change_batch((lethe_object *)object, change, given, &batch);
    results_free(&batch.results);
    numbers_free(&batch.weights);
    keys_free(&batch.keys);
    return result;
}

static PyObject *add(OBJECT_ARGUMENTS) {
    return change_one(self, &adding, args, count, names);
}
static PyObject *add_many(OBJECT_ARGUMENTS) {
    return change_many(self, &adding, args, count, names);
}
static PyObject *remove_one(OBJECT_ARGUMENTS) {
    return change_one(self, &removing, args, count, names);
}
static PyObject *remove_many(OBJECT_ARGUMENTS) {
    return change_many(self, &removing, args, count, names);
}

static PyObject *make_entry(const struct rows *rows, const struct row *row) {
    PyObject *key = rows_object(rows, row, 0);
    if (key == NULL) return NULL;
    return Py_BuildValue("NKK", key, (unsigned long long)row->numbers[0],
                         (unsigned long long)row->numbers[1]);
}

static void keep_entries(const lethe_sketch_top_entry *entries, size_t listed, struct rows *rows) {
    for (size_t i = 0; i < listed; i++) {
        struct row *row = rows_add(rows, entries[i].key);
        if (row == NULL) return;
        row->numbers[0] = (int64_t)entries[i].count;
        row->numbers[1] = (int64_t)entries[i].at_least;
    }
}

static PyObject *top(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"n"};
    lethe_object *own = (lethe_object *)self;
    PyObject *given[1];
    size_t room = 10, listed = 0;
    struct rows rows = {0};
    if (arguments_take("top", args, count, names, parameters, 1, 0, given) != 0 ||
        arguments_size("n", given[0], &room) != 0)
        return NULL;
    if (room > LETHE_SKETCH_MAX_TOP) room = LETHE_SKETCH_MAX_TOP;
    lethe_sketch_top_entry *entries = calloc(room + 1, sizeof *entries);
    if (entries == NULL) return PyErr_NoMemory();
    PyObject *list = NULL;
    if (object_enter(own, GUARD_READ) == 0) {
        lethe_status status = lethe_sketch_top(own->object, entries, room, &listed);
        /* The keys belong to the sketch: they are copied before others may change it. */
        if (status == LETHE_OK) keep_entries(entries, listed, &rows);
        if (rows.lacks_memory) status = LETHE_ENOMEM;
        object_leave(own, GUARD_READ);
        list = status == LETHE_OK ? rows_list(&rows, make_entry)
                                  : errors_raise(status, "Sketch", NULL, NULL);
    }
    rows_free(&rows);
    free(entries);
    return list;
}

static PyObject *total(PyObject *self, void *unused) {
    (void)unused;
    lethe_object *own = (lethe_object *)self;
    if (object_enter(own, GUARD_READ) != 0) return NULL;
    uint64_t sum = lethe_sketch_total(own->object);
    object_leave(own, GUARD_READ);
    return PyLong_FromUnsignedLongLong(sum);
}

static PyObject *export_file(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"path"};
    lethe_object *own = (lethe_object *)self;
    PyObject *given[1];
    if (arguments_take("export", args, count, names, parameters, 1, 1, given) != 0) return NULL;
    PyObject *path = arguments_path(given[0]);
    if (path == NULL || object_enter(own, GUARD_READ) != 0) {
        Py_XDECREF(path);
        return NULL;
    }
    const char *name = PyBytes_AsString(path);
    lethe_detail detail = {{0}};
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_sketch_export_file(own->object, name, &detail);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_READ);
    Py_DECREF(path);
    if (status != LETHE_OK) return errors_raise(status, "Sketch", &detail, NULL);
    Py_RETURN_NONE;
}

static PyObject *import_file(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"path"};
    PyObject *given[1];
    if (arguments_take("import_", args, count, names, parameters, 1, 1, given) != 0) return NULL;
    PyObject *path = arguments_path(given[0]);
    if (path == NULL) return NULL;
    const char *name = PyBytes_AsString(path);
    lethe_sketch *made = NULL;
    lethe_detail detail = {{0}};
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_sketch_import_file(name, NULL, &made, &detail);
    PyEval_RestoreThread(thread);
    Py_DECREF(path);
    if (status != LETHE_OK) return errors_raise(status, "Sketch", &detail, NULL);
    return object_wrap((PyTypeObject *)self, &kind_sketch, made, false);
}

static PyMethodDef methods[] = {
    METHOD("add", add, "add(key, weight=1)\n--\n\nAdds weight to the frequency of a key."),
    METHOD(
        "add_many", add_many,
        "add_many(keys, weights=None)\n--\n\nAdds to the frequencies of keys. weights: an array, "
        "a list, or one number for all."),
    METHOD("count", object_count, "count(key)\n--\n\nThe estimated frequency of a key."),
    METHOD("count_many", object_count_many,
           "count_many(keys, out=None)\n--\n\nThe estimated frequency of each key."),
    METHOD("remove", remove_one,
           "remove(key, weight=1)\n--\n\nSubtracts; False where that cannot be right."),
    METHOD("remove_many", remove_many,
           "remove_many(keys, weights=None, out=None)\n--\n\nSubtracts; False where that cannot be "
           "right."),
    METHOD("top", top,
           "top(n=10)\n--\n\nThe most frequent keys: (key, count, at_least), for a sketch that was "
           "made with top."),
    METHOD("export", export_file, "export(path)\n--\n\nWrites only the part that answers."),
    CLASS_METHOD("import_", import_file,
                 "import_(path)\n--\n\nA sketch from an export: it can only count."),
    MERGE_METHOD("Adds all that other holds."),
    INFO_METHOD(""),
    COPYING_METHODS,
    SAVING_METHODS,
    CLOSING_METHODS,
    END_OF_METHODS,
};

static PyGetSetDef properties[] = {
    {"seed", object_get_seed, NULL, "What keys the hash.", NULL},
    {"closed", object_get_closed, NULL, "Whether it was closed.", NULL},
    {"total", total, NULL, "What was added minus what was removed.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, object_new},
    {Py_tp_dealloc, object_dealloc},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {Py_tp_doc,
     DOC("Sketch(*, kind='count-min', width=None, depth=None, epsilon=None, delta=None, "
         "memory_bytes=None, counter_bits=32, removal='default', top=0, is_width=None, "
         "is_depth=None, seed=None)\n--\n\n"
         "How often each key was added, in memory that does not grow with the keys. kind:\n"
         "'count-min', 'conservative', 'count', 'log' or 'fid'. top: how many of the most "
         "frequent\n"
         "keys to keep.")},
    {0, NULL},
};

PyType_Spec sketch_spec = OBJECT_SPEC("Sketch", slots);
