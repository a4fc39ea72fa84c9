/* python/native/store_read.c - lethe.Store: reading counters, marks and its state. */
#include <string.h>

#include "store.h"

/* One counter: 1 if it is there, 0 if not, -1 with an exception. */
static int read_one(PyObject *self, PyObject *given, int64_t *value) {
    struct key key = {.owner = NULL};
    bool found = false;
    int result = -1;
    lethe_store *store = key_take(given, &key) == 0 ? store_enter(self) : NULL;
    if (store != NULL) {
        PyThreadState *thread = PyEval_SaveThread();
        lethe_status status = lethe_store_get(store, &key.bytes, 1, value, &found);
        PyEval_RestoreThread(thread);
        if (store_done(self, status) == 0) result = found ? 1 : 0;
    }
    key_free(&key);
    return result;
}

static PyObject *get(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"key", "default"};
    PyObject *given[2];
    int64_t value = 0;
    if (arguments_take("get", args, count, names, parameters, 2, 1, given) != 0) return NULL;
    int found = read_one(self, given[0], &value);
    if (found < 0) return NULL;
    if (found > 0) return PyLong_FromLongLong(value);
    return Py_NewRef(given[1] != NULL ? given[1] : Py_None);
}

int store_contains(PyObject *self, PyObject *key) {
    int64_t value = 0;
    return read_one(self, key, &value);
}

struct reading {
    struct keys keys;
    struct keys_room room;
    struct results values, found;
    bool *was_found;
};

static lethe_status read_all(lethe_store *store, struct reading *reading) {
    size_t n = reading->keys.count;
    int64_t *values = reading->values.data;
    for (size_t first = 0; first < n; first += reading->room.most) {
        size_t left = n - first, count = left < reading->room.most ? left : reading->room.most;
        const lethe_bytes *keys = keys_bytes(&reading->keys, first, count, &reading->room);
        lethe_status status =
            lethe_store_get(store, keys, count, values + first, reading->was_found + first);
        if (status != LETHE_OK) return status;
    }
    return LETHE_OK;
}

static PyObject *run_reading(PyObject *self, PyObject *const *given, struct reading *reading) {
    bool wants_found = given[2] != NULL && given[2] != Py_None;
    if (keys_take("keys", given[0], &reading->keys) != 0 ||
        results_take("out", given[1], reading->keys.count, RESULTS_I64, reading->keys.is_numpy,
                     &reading->values) != 0 ||
        (wants_found && results_take("found", given[2], reading->keys.count, RESULTS_BOOL, false,
                                     &reading->found) != 0))
        return NULL;
    reading->was_found = calloc(reading->keys.count + 1, sizeof *reading->was_found);
    if (reading->was_found == NULL || !keys_room_start(&reading->room, &reading->keys, 16384))
        return PyErr_NoMemory();
    lethe_store *store = store_enter(self);
    if (store == NULL) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = read_all(store, reading);
    PyEval_RestoreThread(thread);
    if (store_done(self, status) != 0) return NULL;
    if (wants_found) memcpy(reading->found.data, reading->was_found, reading->keys.count);
    return results_give(&reading->values);
}

static PyObject *get_many(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"keys", "out", "found"};
    PyObject *given[3];
    struct reading reading = {.was_found = NULL};
    if (arguments_take("get_many", args, count, names, parameters, 3, 1, given) != 0) return NULL;
    PyObject *values = run_reading(self, given, &reading);
    keys_room_free(&reading.room);
    results_free(&reading.values);
    results_free(&reading.found);
    free(reading.was_found);
    keys_free(&reading.keys);
    return values;
}

static PyObject *estimate(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"key"};
    PyObject *given[1], *pair = NULL;
    struct key key = {.owner = NULL};
    lethe_estimate answer = {0};
    if (arguments_take("estimate", args, count, names, parameters, 1, 1, given) != 0) return NULL;
    lethe_store *store = key_take(given[0], &key) == 0 ? store_enter(self) : NULL;
    if (store != NULL) {
        PyThreadState *thread = PyEval_SaveThread();
        lethe_status status = lethe_store_estimate(store, &key.bytes, 1, &answer);
        PyEval_RestoreThread(thread);
        if (store_done(self, status) == 0)
            pair = Py_BuildValue("KK", (unsigned long long)answer.value,
                                 (unsigned long long)answer.least);
    }
    key_free(&key);
    return pair;
}

/* --- Lists of counters --- */

static bool keep_counter(void *context, lethe_bytes key, int64_t value) {
    struct rows *rows = context;
    struct row *row = rows_add(rows, key);
    if (row != NULL) row->numbers[0] = value;
    return row != NULL && (rows->most == 0 || rows->count < rows->most);
}

static PyObject *make_counter(const struct rows *rows, const struct row *row) {
    PyObject *key = rows_object(rows, row, 0);
    return key != NULL ? Py_BuildValue("NL", key, (long long)row->numbers[0]) : NULL;
}

/* Makes the list of what a call left in rows, and frees them. */
static PyObject *list_rows(PyObject *self, lethe_status status, struct rows *rows,
                           PyObject *(*make)(const struct rows *, const struct row *)) {
    if (status == LETHE_OK && rows->lacks_memory) status = LETHE_ENOMEM;
    PyObject *list = store_done(self, status) == 0 ? rows_list(rows, make) : NULL;
    rows_free(rows);
    return list;
}

/* Some counters from a key on, in the order of their bytes: lethe.Store.items asks for one such
 * page after another. */
static PyObject *page(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"start", "n"};
    PyObject *given[2], *list = NULL;
    struct key from = {.owner = NULL};
    struct rows rows = {.most = 1024};
    if (arguments_take("_page", args, count, names, parameters, 2, 1, given) != 0 ||
        arguments_size("n", given[1], &rows.most) != 0)
        return NULL;
    lethe_store *store = key_take(given[0], &from) == 0 ? store_enter(self) : NULL;
    if (store != NULL) {
        PyThreadState *thread = PyEval_SaveThread();
        lethe_status status = lethe_store_each(store, from.bytes, keep_counter, &rows);
        PyEval_RestoreThread(thread);
        list = list_rows(self, status, &rows, make_counter);
    }
    key_free(&from);
    return list;
}

static PyObject *top(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"n", "per", "at_ms"};
    PyObject *given[3];
    size_t n = 10;
    uint64_t at_ms = 0;
    const char *by = NULL;
    if (arguments_take("top", args, count, names, parameters, 3, 0, given) != 0 ||
        arguments_size("n", given[0], &n) != 0 || arguments_time(given[2], &at_ms) != 0)
        return NULL;
    bool has_period = given[1] != NULL && given[1] != Py_None;
    if (has_period) {
        by = PyUnicode_Check(given[1]) ? PyUnicode_AsUTF8AndSize(given[1], NULL) : NULL;
        if (by == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "per must be a str");
        if (by == NULL) return NULL;
    }
    struct rows rows = {.most = 0};
    lethe_store *store = store_enter(self);
    if (store == NULL) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = has_period ? lethe_store_top_at(store, by, at_ms, n, keep_counter, &rows)
                                     : lethe_store_top(store, n, keep_counter, &rows);
    PyEval_RestoreThread(thread);
    return list_rows(self, status, &rows, make_counter);
}

static bool keep_mark(void *context, const lethe_mark *mark) {
    struct rows *rows = context;
    return rows_add(rows, mark->name) != NULL && rows_piece(rows, 1, mark->value);
}

static PyObject *make_mark(const struct rows *rows, const struct row *row) {
    PyObject *name = rows_object(rows, row, 0), *value = rows_object(rows, row, 1);
    if (name != NULL && value != NULL) return Py_BuildValue("NN", name, value);
    Py_XDECREF(name);
    Py_XDECREF(value);
    return NULL;
}

static PyObject *marks(PyObject *self, PyObject *unused) {
    (void)unused;
    struct rows rows = {.most = 0};
    lethe_store *store = store_enter(self);
    if (store == NULL) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_store_marks(store, keep_mark, &rows);
    PyEval_RestoreThread(thread);
    PyObject *list = list_rows(self, status, &rows, make_mark);
    PyObject *dict = list != NULL ? PyDict_New() : NULL;
    if (dict != NULL && PyDict_MergeFromSeq2(dict, list, 1) != 0) Py_CLEAR(dict);
    Py_XDECREF(list);
    return dict;
}

static PyObject *refresh(PyObject *self, PyObject *unused) {
    (void)unused;
    lethe_store *store = store_enter(self);
    if (store == NULL) return NULL;
    lethe_detail detail = {{0}};
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_store_refresh(store, &detail);
    PyEval_RestoreThread(thread);
    store_leave(self);
    if (status != LETHE_OK) return errors_raise(status, "Store", &detail, NULL);
    Py_RETURN_NONE;
}

PyMethodDef store_read_methods[] = {
    METHOD("get", get, "get(key, default=None)\n--\n\nThe value of a counter."),
    METHOD("get_many", get_many,
           "get_many(keys, out=None, found=None)\n--\n\n"
           "The values of counters, 0 for those that are not there: an array of int64. found, an "
           "array of bool, gets which are there."),
    METHOD("estimate", estimate,
           "estimate(key)\n--\n\n(value, least) of a store that keeps a sketch."),
    METHOD("_page", page, NULL),
    METHOD("top", top,
           "top(n=10, per=None, at_ms=None)\n--\n\n"
           "The n largest counters, as (key, value); with per='1h', the largest buckets of the "
           "period that at_ms is in (None: now)."),
    SIMPLE_METHOD("marks", marks, "marks()\n--\n\nHow far each source has been read, as a dict."),
    SIMPLE_METHOD("refresh", refresh,
                  "refresh()\n--\n\nLets a reader see what was acknowledged up to now."),
    END_OF_METHODS,
};
