/* python/native/store_one.c - lethe.Store: one operation, of one change or of several, with bounds
 * or without. */
#include <string.h>

#include "store.h"

static PyTypeObject *taken_type;

int store_changes_take(PyObject *given, struct store_changes *out) {
    memset(out, 0, sizeof *out);
    PyObject *pairs = PyMapping_Check(given) && PyObject_HasAttrString(given, "items")
                          ? PyMapping_Items(given)
                          : PySequence_List(given);
    Py_ssize_t n = pairs != NULL ? PyList_Size(pairs) : 0;
    PyObject *keys = PyList_New(0), *deltas = PyList_New(0);
    int failed = pairs == NULL || keys == NULL || deltas == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; failed == 0 && i < n; i++) {
        PyObject *pair = PyList_GetItem(pairs, i);
        if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
            PyErr_SetString(PyExc_TypeError, "changes must be a mapping, or (key, delta) pairs");
            failed = -1;
        } else if (PyList_Append(keys, PyTuple_GetItem(pair, 0)) != 0 ||
                   PyList_Append(deltas, PyTuple_GetItem(pair, 1)) != 0) {
            failed = -1;
        }
    }
    if (failed == 0) failed = keys_take("keys", keys, &out->keys);
    out->count = out->keys.count;
    if (failed == 0) failed = numbers_take("deltas", deltas, out->count, false, 0, &out->deltas);
    Py_XDECREF(pairs);
    Py_XDECREF(keys);
    Py_XDECREF(deltas);
    if (failed != 0) return -1;
    out->changes = calloc(out->count + 1, sizeof *out->changes);
    if (out->changes == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < out->count; i++)
        out->changes[i] =
            (lethe_change){.key = out->keys.pieces[i], .delta = numbers_at(&out->deltas, i)};
    return 0;
}

void store_changes_free(struct store_changes *changes) {
    keys_free(&changes->keys);
    numbers_free(&changes->deltas);
    free(changes->changes);
    changes->changes = NULL;
}

static PyObject *apply_one(PyObject *self, const lethe_operation *operation) {
    uint8_t outcome = LETHE_OUTCOME_INVALID;
    lethe_store *store = store_enter(self);
    if (store == NULL) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_store_apply(store, operation, 1, &outcome, NULL);
    PyEval_RestoreThread(thread);
    return store_done(self, status) == 0 ? store_outcome(outcome) : NULL;
}

static PyObject *apply(OBJECT_ARGUMENTS) {
    static const char *const one_parameters[] = {"id", "key", "delta", "time_ms", "count_late"};
    PyObject *given[5];
    struct key id = {.owner = NULL}, key = {.owner = NULL};
    lethe_change change = {.delta = 1};
    lethe_operation operation = {.changes = &change, .change_count = 1};
    bool counts_late = false;
    PyObject *outcome = NULL;
    if (arguments_take("apply", args, count, names, one_parameters, 5, 2, given) != 0 ||
        arguments_i64("delta", given[2], &change.delta) != 0 ||
        arguments_u64("time_ms", given[3], &operation.time_ms) != 0 ||
        arguments_bool(given[4], &counts_late) != 0)
        return NULL;
    operation.flags = counts_late ? LETHE_OPERATION_COUNT_LATE : 0;
    if (key_take(given[0], &id) == 0 && key_take(given[1], &key) == 0) {
        operation.id = id.bytes;
        change.key = key.bytes;
        outcome = apply_one(self, &operation);
    }
    key_free(&id);
    key_free(&key);
    return outcome;
}

static PyObject *apply_changes(OBJECT_ARGUMENTS) {
    static const char *const some_parameters[] = {"id", "changes", "time_ms", "count_late"};
    PyObject *given[4], *outcome = NULL;
    struct key id = {.owner = NULL};
    struct store_changes changes = {.count = 0};
    lethe_operation operation = {0};
    bool counts_late = false;
    if (arguments_take("apply_changes", args, count, names, some_parameters, 4, 2, given) != 0 ||
        arguments_u64("time_ms", given[2], &operation.time_ms) != 0 ||
        arguments_bool(given[3], &counts_late) != 0)
        return NULL;
    operation.flags = counts_late ? LETHE_OPERATION_COUNT_LATE : 0;
    if (key_take(given[0], &id) == 0 && store_changes_take(given[1], &changes) == 0) {
        operation.id = id.bytes;
        operation.changes = changes.changes;
        operation.change_count = changes.count;
        outcome = apply_one(self, &operation);
    }
    key_free(&id);
    store_changes_free(&changes);
    return outcome;
}

static PyObject *give_up(OBJECT_ARGUMENTS) {
    static const char *const id_parameters[] = {"id"};
    PyObject *given[1], *outcome = NULL;
    struct key id = {.owner = NULL};
    if (arguments_take("give_up", args, count, names, id_parameters, 1, 1, given) != 0) return NULL;
    if (key_take(given[0], &id) == 0) {
        lethe_operation operation = {.id = id.bytes, .flags = LETHE_OPERATION_GIVE_UP};
        outcome = apply_one(self, &operation);
    }
    key_free(&id);
    return outcome;
}

static PyObject *make_taken(uint8_t outcome, const lethe_limit *limit) {
    PyObject *items[] = {
        store_outcome(outcome),
        PyLong_FromLongLong(limit->value),
        limit->left == INT64_MAX ? Py_NewRef(Py_None) : PyLong_FromLongLong(limit->left),
        limit->resets_ms == LETHE_NEVER_RESETS ? Py_NewRef(Py_None)
                                               : PyLong_FromLongLong(limit->resets_ms),
    };
    return store_tuple(taken_type, 4, items);
}

/* The period of a bound, as text; NULL without one. Returns 0, or -1 with an exception. */
static int take_period(PyObject *given, const char **by) {
    *by = NULL;
    if (given == NULL || given == Py_None) return 0;
    if (PyUnicode_Check(given)) *by = PyUnicode_AsUTF8AndSize(given, NULL);
    if (*by == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "per must be a str, such as '1h'");
    return *by != NULL ? 0 : -1;
}

static int take_bounds(PyObject *max, PyObject *min, lethe_change *change) {
    if (max != NULL && max != Py_None) change->flags |= LETHE_CHANGE_MAX;
    if (min != NULL && min != Py_None) change->flags |= LETHE_CHANGE_MIN;
    if (arguments_i64("max", max, &change->max) != 0) return -1;
    return arguments_i64("min", min, &change->min);
}

static PyObject *run_take(PyObject *self, const char *by, const lethe_operation *operation,
                          lethe_change *change) {
    uint8_t outcome = LETHE_OUTCOME_INVALID;
    lethe_limit limit = {0};
    lethe_status status = LETHE_OK;
    lethe_store *store = store_enter(self);
    if (store == NULL) return NULL;
    if (by != NULL && change->flags != 0) {
        change->flags |= LETHE_CHANGE_BUCKET;
        status = lethe_store_resolution(store, by, &change->resolution);
    }
    if (status != LETHE_OK) {
        store_leave(self);
        return PyErr_Format(PyExc_ValueError, "the store does not count per '%s'", by);
    }
    PyThreadState *thread = PyEval_SaveThread();
    status = lethe_store_apply_bounded(store, operation, 1, &outcome, &limit);
    PyEval_RestoreThread(thread);
    return store_done(self, status) == 0 ? make_taken(outcome, &limit) : NULL;
}

static PyObject *take(OBJECT_ARGUMENTS) {
    static const char *const take_parameters[] = {"id", "key", "delta", "max", "min", "per"};
    PyObject *given[6], *taken = NULL;
    const char *by = NULL;
    struct key id = {.owner = NULL}, key = {.owner = NULL};
    lethe_change change = {.delta = 1};
    lethe_operation operation = {.changes = &change, .change_count = 1};
    if (arguments_take("take", args, count, names, take_parameters, 6, 2, given) != 0 ||
        arguments_i64("delta", given[2], &change.delta) != 0 ||
        take_bounds(given[3], given[4], &change) != 0 || take_period(given[5], &by) != 0)
        return NULL;
    if (key_take(given[0], &id) == 0 && key_take(given[1], &key) == 0) {
        operation.id = id.bytes;
        change.key = key.bytes;
        taken = run_take(self, by, &operation, &change);
    }
    key_free(&id);
    key_free(&key);
    return taken;
}

PyMethodDef store_one_methods[] = {
    METHOD(
        "apply", apply,
        "apply(id, key, delta=1, time_ms=None, count_late=False)\n--\n\n"
        "Applies one operation and returns its lethe.Outcome when it is durable. time_ms is used "
        "only by a store with event_time; any other counts in the period of the clock."),
    METHOD(
        "apply_changes", apply_changes,
        "apply_changes(id, changes, time_ms=None, count_late=False)\n--\n\n"
        "Applies one operation of several changes, all together or not at all: a mapping of keys "
        "to deltas, or (key, delta) pairs. time_ms is as for apply."),
    METHOD("take", take,
           "take(id, key, delta=1, max=None, min=None, per=None)\n--\n\n"
           "Applies one operation under bounds, on the counter or, with per='1h', on its bucket. "
           "Returns a lethe.Taken: outcome, value, left, resets_ms."),
    METHOD("give_up", give_up,
           "give_up(id)\n--\n\nRemembers an id without counting, so that no delayed attempt is "
           "applied."),
    END_OF_METHODS,
};

static PyStructSequence_Field taken_fields[] = {
    {"outcome", "What became of the operation."},
    {"value", "What the bounds are on: after the operation, or now if it was not applied."},
    {"left", "How much more the bound allows; None without one."},
    {"resets_ms", "How long until the bucket ends; None for a counter."},
    {NULL, NULL},
};
static PyStructSequence_Desc taken_description = {
    .name = "lethe.Taken",
    .doc = "What Store.take returns.",
    .fields = taken_fields,
    .n_in_sequence = 4,
};

int store_one_start(PyObject *module) {
    taken_type = store_tuple_type(module, &taken_description);
    return taken_type != NULL ? 0 : -1;
}
