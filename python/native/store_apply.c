/* python/native/store_apply.c - lethe.Store: operations.
 *
 * IDEA    A batch of operations is columns: ids, keys, deltas, times. Operations are made of them
 *         some thousands at a time and submitted; the last ticket is waited for. So a batch of any
 *         length needs little memory, and the store writes while the next ones are made.
 * I1      With times, what follows a portion is announced before the portion is submitted, so that
 *         the outcomes are those of one call with all operations (LETHE_OUTCOME_FUTURE). */
#include <string.h>

#include "store.h"

enum { CHUNK = 16384, ANNOUNCED = 64 };

/* --- Columns --- */

struct columns {
    struct keys ids, keys;
    struct numbers deltas, times;
    bool has_times, counts_late;
    struct results outcomes, values;
};

static void columns_free(struct columns *columns) {
    keys_free(&columns->ids);
    keys_free(&columns->keys);
    numbers_free(&columns->deltas);
    numbers_free(&columns->times);
    results_free(&columns->outcomes);
    results_free(&columns->values);
}

enum { IDS, KEYS, DELTAS, TIMES, COUNT_LATE, OUT, VALUES, MARKS, PARAMETERS };
static const char *const parameters[PARAMETERS] = {"ids",        "keys", "deltas", "times_ms",
                                                   "count_late", "out",  "values", "marks"};

static int columns_take(PyObject *const *given, struct columns *out) {
    if (keys_take("ids", given[IDS], &out->ids) != 0 ||
        keys_take("keys", given[KEYS], &out->keys) != 0)
        return -1;
    size_t n = out->ids.count;
    if (out->keys.count != n) {
        PyErr_Format(PyExc_ValueError, "there are %zu ids and %zu keys", n, out->keys.count);
        return -1;
    }
    out->has_times = given[TIMES] != NULL && given[TIMES] != Py_None;
    if (numbers_take("deltas", given[DELTAS], n, false, 1, &out->deltas) != 0 ||
        numbers_take("times_ms", given[TIMES], n, true, 0, &out->times) != 0 ||
        arguments_bool(given[COUNT_LATE], &out->counts_late) != 0 ||
        results_take("out", given[OUT], n, RESULTS_U8, out->ids.is_numpy, &out->outcomes) != 0)
        return -1;
    if (given[VALUES] == NULL || given[VALUES] == Py_None) return 0;
    return results_take("values", given[VALUES], n, RESULTS_I64, false, &out->values);
}

/* Room for the operations of a portion. */
struct portion {
    struct keys_room ids, keys;
    lethe_operation *operations;
    lethe_change *changes;
};

static bool portion_start(struct portion *portion, const struct columns *columns, size_t most) {
    portion->operations = calloc(most, sizeof *portion->operations);
    portion->changes = calloc(most, sizeof *portion->changes);
    bool has_ids = keys_room_start(&portion->ids, &columns->ids, most);
    bool has_keys = keys_room_start(&portion->keys, &columns->keys, most);
    return portion->operations != NULL && portion->changes != NULL && has_ids && has_keys;
}

static void portion_free(struct portion *portion) {
    free(portion->operations);
    free(portion->changes);
    keys_room_free(&portion->ids);
    keys_room_free(&portion->keys);
}

static void portion_fill(struct portion *portion, const struct columns *columns, size_t first,
                         size_t n) {
    const lethe_bytes *ids = keys_bytes(&columns->ids, first, n, &portion->ids);
    const lethe_bytes *keys = keys_bytes(&columns->keys, first, n, &portion->keys);
    for (size_t i = 0; i < n; i++) {
        portion->changes[i] =
            (lethe_change){.key = keys[i], .delta = numbers_at(&columns->deltas, first + i)};
        portion->operations[i] =
            (lethe_operation){.id = ids[i],
                              .changes = &portion->changes[i],
                              .change_count = 1,
                              .time_ms = (uint64_t)numbers_at(&columns->times, first + i),
                              .flags = columns->counts_late ? LETHE_OPERATION_COUNT_LATE : 0};
    }
}

static void announce(lethe_store *store, const struct columns *columns, size_t next,
                     struct portion *ahead) {
    if (!columns->has_times || next >= columns->ids.count) return;
    size_t left = columns->ids.count - next, n = left < ANNOUNCED ? left : ANNOUNCED;
    portion_fill(ahead, columns, next, n);
    (void)lethe_store_announce(store, ahead->operations, n);
}

/* Without the interpreter's lock. */
static lethe_status submit_pieces(lethe_store *store, const struct columns *columns,
                                  struct portion *portion, struct portion *ahead, size_t most,
                                  const struct rows *marks, const lethe_mark *list,
                                  uint64_t *ticket) {
    size_t n = columns->ids.count, first = 0;
    uint8_t *outcomes = columns->outcomes.data;
    int64_t *values = columns->values.data;
    do {
        size_t count = n - first < most ? n - first : most;
        portion_fill(portion, columns, first, count);
        announce(store, columns, first + count, ahead);
        lethe_status status =
            lethe_store_submit(store, portion->operations, count, list, marks->count,
                               outcomes + first, values != NULL ? values + first : NULL, ticket);
        if (status != LETHE_OK) return status;
        first += count;
    } while (first < n);
    return LETHE_OK;
}

/* With marks, all operations are one step. */
static lethe_status submit_columns(lethe_store *store, const struct columns *columns,
                                   const struct rows *marks, bool waits, uint64_t *ticket) {
    size_t most = marks->count > 0 && columns->ids.count > CHUNK ? columns->ids.count : CHUNK;
    struct portion portion = {0}, ahead = {0};
    lethe_status status = LETHE_ENOMEM;
    lethe_mark *list = calloc(marks->count + 1, sizeof *list);
    for (size_t i = 0; list != NULL && i < marks->count; i++)
        list[i] = (lethe_mark){rows_bytes(marks, &marks->rows[i], 0),
                               rows_bytes(marks, &marks->rows[i], 1)};
    if (portion_start(&portion, columns, most) && portion_start(&ahead, columns, ANNOUNCED) &&
        list != NULL)
        status = submit_pieces(store, columns, &portion, &ahead, most, marks, list, ticket);
    if (status == LETHE_OK && waits) status = lethe_store_wait(store, *ticket);
    portion_free(&portion);
    portion_free(&ahead);
    free(list);
    return status;
}

/* A mapping of names to values, as rows of two pieces. */
static int marks_take(PyObject *given, struct rows *out) {
    PyObject *items = given == NULL || given == Py_None ? PyList_New(0) : PyMapping_Items(given);
    Py_ssize_t n = items != NULL ? PyList_Size(items) : 0;
    int failed = items == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; failed == 0 && i < n; i++) {
        struct key name = {.owner = NULL}, value = {.owner = NULL};
        PyObject *pair = PyList_GetItem(items, i);
        failed = key_take(PyTuple_GetItem(pair, 0), &name) != 0 ||
                 key_take(PyTuple_GetItem(pair, 1), &value) != 0;
        if (failed == 0 &&
            (rows_add(out, name.bytes) == NULL || !rows_piece(out, 1, value.bytes))) {
            PyErr_NoMemory();
            failed = -1;
        }
        key_free(&name);
        key_free(&value);
    }
    Py_XDECREF(items);
    return failed != 0 ? -1 : 0;
}

static PyObject *run_columns(PyObject *self, PyObject *const *given, bool waits,
                             struct columns *columns, struct rows *marks) {
    uint64_t ticket = 0;
    if (columns_take(given, columns) != 0 || marks_take(given[MARKS], marks) != 0) return NULL;
    lethe_store *store = store_enter(self);
    if (store == NULL) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = submit_columns(store, columns, marks, waits, &ticket);
    PyEval_RestoreThread(thread);
    if (store_done(self, status) != 0) return NULL;
    PyObject *outcomes = results_give(&columns->outcomes);
    return waits ? outcomes : Py_BuildValue("KN", (unsigned long long)ticket, outcomes);
}

static PyObject *many(PyObject *self, const char *name, bool waits, PyObject *const *args,
                      Py_ssize_t count, PyObject *names) {
    PyObject *given[PARAMETERS] = {NULL};
    struct columns columns = {.has_times = false};
    struct rows marks = {0};
    if (arguments_take(name, args, count, names, parameters, PARAMETERS, 2, given) != 0)
        return NULL;
    PyObject *result = run_columns(self, given, waits, &columns, &marks);
    columns_free(&columns);
    rows_free(&marks);
    return result;
}

static PyObject *apply_many(OBJECT_ARGUMENTS) {
    return many(self, "apply_many", true, args, count, names);
}

static PyObject *submit_many(OBJECT_ARGUMENTS) {
    return many(self, "submit_many", false, args, count, names);
}

static PyObject *wait_for(OBJECT_ARGUMENTS) {
    static const char *const wait_parameters[] = {"ticket"};
    PyObject *given[1];
    uint64_t ticket = 0;
    if (arguments_take("wait", args, count, names, wait_parameters, 1, 1, given) != 0 ||
        arguments_u64("ticket", given[0], &ticket) != 0)
        return NULL;
    lethe_store *store = store_enter(self);
    if (store == NULL) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_store_wait(store, ticket);
    PyEval_RestoreThread(thread);
    return store_done(self, status) == 0 ? Py_NewRef(Py_None) : NULL;
}

static PyObject *is_done(OBJECT_ARGUMENTS) {
    static const char *const done_parameters[] = {"ticket"};
    PyObject *given[1];
    uint64_t ticket = 0;
    if (arguments_take("is_done", args, count, names, done_parameters, 1, 1, given) != 0 ||
        arguments_u64("ticket", given[0], &ticket) != 0)
        return NULL;
    lethe_store *store = store_enter(self);
    if (store == NULL) return NULL;
    bool answer;
    PyThreadState *thread = PyEval_SaveThread();
    answer = lethe_store_is_done(store, ticket);
    PyEval_RestoreThread(thread);
    store_leave(self);
    return PyBool_FromLong(answer);
}

PyMethodDef store_apply_methods[] = {
    METHOD("apply_many", apply_many,
           "apply_many(ids, keys, deltas=1, times_ms=None, count_late=False, out=None, "
           "values=None, marks=None)\n--\n\n"
           "Applies operations of one change each, in their order, and returns their outcomes when "
           "they are durable: an array of lethe.Outcome as uint8. deltas and times_ms: an array, a "
           "list, or one number for all. values, an array of int64, gets what each counter holds "
           "after its operation. marks: a mapping of names to values, durable in the same step."),
    METHOD("submit_many", submit_many,
           "submit_many(ids, keys, deltas=1, times_ms=None, count_late=False, out=None, "
           "values=None, marks=None)\n--\n\n"
           "As apply_many, without waiting for the disk: returns (ticket, outcomes). The outcomes "
           "count once wait(ticket) has returned."),
    METHOD("wait", wait_for,
           "wait(ticket)\n--\n\nWaits until what was submitted with the ticket is durable."),
    METHOD("is_done", is_done, "is_done(ticket)\n--\n\nWhether wait(ticket) would return at once."),
    END_OF_METHODS,
};
