/* python/native/operate.c - one key and many keys, for all structures alike: object.h.
 *
 * IDEA    Keys are hashed and handed over some thousands at a time, so that their hashes stay in
 *         the cache, whatever the length of the batch is.
 * I1      The answers of a batch are those of its keys one by one, in their order.
 * I2      An error is not lost in a batch: every key is tried, as the library does, and the first
 *         error is raised, with what each key met as its results. */
#include <string.h>

#include "object.h"

static const struct {
    const char *name, *many_name;
    enum guard_use use;
    /* What a single call returns is None. */
    bool is_silent;
} operations[OPERATIONS] = {
    [DO_ADD] = {"add", "add_many", GUARD_WRITE, true},
    [DO_TEST] = {"test", "test_many", GUARD_READ, false},
    [DO_ADD_AND_TEST] = {"add_and_test", "add_and_test_many", GUARD_WRITE, false},
    [DO_REMOVE] = {"remove", "remove_many", GUARD_WRITE, false},
    [DO_COUNT] = {"count", "count_many", GUARD_READ, false},
};

static enum guard_use use_of(const lethe_object *self, enum operation operation) {
    return self->is_shared ? GUARD_READ : operations[operation].use;
}

/* Through the row. */

lethe_status piece_add(void *object, struct piece *piece) {
    return piece->row->add(object, piece->hashes, piece->count, piece->now_ms);
}

lethe_status piece_test(void *object, struct piece *piece) {
    return piece->row->test(object, piece->hashes, piece->count, piece->now_ms, piece->results);
}

lethe_status piece_remove(void *object, struct piece *piece) {
    return piece->row->remove(object, piece->hashes, piece->count, piece->now_ms, piece->results);
}

lethe_status piece_count(void *object, struct piece *piece) {
    return piece->row->count(object, piece->hashes, piece->count, piece->now_ms, piece->results);
}

/* One key. */

static lethe_status settle_one(lethe_object *self, enum operation operation, lethe_hash hash,
                               uint64_t now_ms, void *result) {
    operation_function function = self->kind->operations[operation];
    struct piece piece = {self->kind->row, &hash, 1, now_ms, result, 1};
    if (!self->kind->row->lives_in_folder) return function(self->object, &piece);
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = function(self->object, &piece);
    PyEval_RestoreThread(thread);
    return status;
}

/* Returns 0, or -1 with an exception. */
static int do_one(lethe_object *self, enum operation operation, PyObject *key, PyObject *time,
                  uint64_t *number) {
    lethe_hash hash;
    uint64_t now_ms = 0;
    uint8_t answer = 0;
    if (key_hash(key, self->seed, &hash) != 0) return -1;
    if (self->kind->is_timed && arguments_time(time, &now_ms) != 0) return -1;
    enum guard_use use = use_of(self, operation);
    if (object_enter(self, use) != 0) return -1;
    void *result = operation == DO_COUNT ? (void *)number : &answer;
    lethe_status status = settle_one(self, operation, hash, now_ms, result);
    object_leave(self, use);
    if (operation != DO_COUNT) *number = answer;
    if (status == LETHE_OK) return 0;
    errors_raise(status, self->kind->name, NULL, NULL);
    return -1;
}

static PyObject *one(PyObject *object, enum operation operation, PyObject *const *args,
                     Py_ssize_t count, PyObject *names) {
    static const char *const parameters[] = {"key", "now_ms"};
    lethe_object *self = (lethe_object *)object;
    PyObject *given[2];
    uint64_t number = 0;
    if (arguments_take(operations[operation].name, args, count, names, parameters,
                       self->kind->is_timed ? 2 : 1, 1, given) != 0)
        return NULL;
    PyObject *time = self->kind->is_timed ? given[1] : NULL;
    if (do_one(self, operation, given[0], time, &number) != 0) return NULL;
    if (operations[operation].is_silent) Py_RETURN_NONE;
    if (operation == DO_COUNT) return PyLong_FromUnsignedLongLong(number);
    return PyBool_FromLong(number != 0);
}

int object_contains(PyObject *object, PyObject *key) {
    uint64_t number = 0;
    if (do_one((lethe_object *)object, DO_TEST, key, NULL, &number) != 0) return -1;
    return number != 0;
}

/* Many keys. */

struct batch {
    lethe_object *self;
    enum operation operation;
    struct keys keys;
    struct keys_room room;
    lethe_hash *hashes;
    uint64_t now_ms;
    struct results results;
    /* Answers where the caller gets none, and after an error. */
    uint8_t *answers;
};

/* Without the interpreter's lock. */
static lethe_status settle_all(struct batch *batch) {
    const struct kind *kind = batch->self->kind;
    operation_function function = kind->operations[batch->operation];
    size_t item = batch->operation == DO_COUNT ? sizeof(uint64_t) : 1;
    char *results = batch->answers != NULL ? (char *)batch->answers : batch->results.data;
    lethe_status first_error = LETHE_OK;
    for (size_t first = 0; first < batch->keys.count; first += batch->room.most) {
        size_t left = batch->keys.count - first;
        size_t count = left < batch->room.most ? left : batch->room.most;
        struct piece piece = {kind->row,     batch->hashes,          count,
                              batch->now_ms, results + first * item, count};
        keys_hash(&batch->keys, batch->self->seed, first, count, &batch->room, batch->hashes);
        lethe_status status = function(batch->self->object, &piece);
        if (status != LETHE_OK && first_error == LETHE_OK) first_error = status;
        if (status == LETHE_OK || piece.done == count) continue;
        /* What came after an error that ends the batch was not tried. */
        memset(results + (first + piece.done) * item, item == 1 ? 2 : 0,
               (left - piece.done) * item);
        break;
    }
    return first_error;
}

static lethe_status run(struct batch *batch) {
    lethe_status status = LETHE_ENOMEM;
    size_t chunk = batch->self->kind->chunk;
    PyThreadState *thread = PyEval_SaveThread();
    if (keys_room_start(&batch->room, &batch->keys, chunk))
        batch->hashes = calloc(batch->room.most + 1, sizeof *batch->hashes);
    if (batch->hashes != NULL) status = settle_all(batch);
    free(batch->hashes);
    keys_room_free(&batch->room);
    PyEval_RestoreThread(thread);
    return status;
}

/* Raises an error with the answers, and makes what the caller's own array has of them 0 and 1. */
static void raise_with_answers(struct batch *batch, lethe_status status) {
    PyObject *answers = NULL;
    uint8_t *given = batch->answers != NULL ? batch->answers : batch->results.data;
    if (batch->operation != DO_COUNT)
        answers = PyBytes_FromStringAndSize((const char *)given, (Py_ssize_t)batch->keys.count);
    else
        PyErr_Clear();
    for (size_t i = 0; answers != NULL && i < batch->keys.count; i++)
        given[i] = given[i] != 0;
    errors_raise(status, batch->self->kind->name, NULL, answers);
    Py_XDECREF(answers);
}

static int take_batch(struct batch *batch, PyObject *const *given) {
    const struct kind *kind = batch->self->kind;
    if (keys_take("keys", given[0], &batch->keys) != 0) return -1;
    if (kind->is_timed && arguments_time(given[2], &batch->now_ms) != 0) return -1;
    if (operations[batch->operation].is_silent) {
        batch->answers = calloc(batch->keys.count + 1, 1);
        if (batch->answers == NULL) PyErr_NoMemory();
        return batch->answers != NULL ? 0 : -1;
    }
    return results_take("out", given[1], batch->keys.count,
                        batch->operation == DO_COUNT ? RESULTS_U64 : RESULTS_BOOL,
                        batch->keys.is_numpy, &batch->results);
}

static PyObject *do_batch(struct batch *batch, PyObject *const *given) {
    if (take_batch(batch, given) != 0) return NULL;
    enum guard_use use = use_of(batch->self, batch->operation);
    if (object_enter(batch->self, use) != 0) return NULL;
    lethe_status status = run(batch);
    object_leave(batch->self, use);
    if (status != LETHE_OK) {
        raise_with_answers(batch, status);
        return NULL;
    }
    if (batch->results.object == NULL) Py_RETURN_NONE;
    return results_give(&batch->results);
}

static PyObject *many(PyObject *object, enum operation operation, PyObject *const *args,
                      Py_ssize_t count, PyObject *names) {
    static const char *const parameters[] = {"keys", "out", "now_ms"};
    static const char *const silent_parameters[] = {"keys", "now_ms"};
    struct batch batch = {.self = (lethe_object *)object, .operation = operation};
    bool is_silent = operations[operation].is_silent;
    size_t most = (is_silent ? 1 : 2) + (batch.self->kind->is_timed ? 1 : 0);
    PyObject *given[3] = {NULL, NULL, NULL};
    if (arguments_take(operations[operation].many_name, args, count, names,
                       is_silent ? silent_parameters : parameters, most, 1, given) != 0)
        return NULL;
    if (is_silent && most == 2) given[2] = given[1], given[1] = NULL;
    PyObject *answer = do_batch(&batch, given);
    results_free(&batch.results);
    free(batch.answers);
    keys_free(&batch.keys);
    return answer;
}

#define OPERATION(name_, operation_)                       \
    PyObject *object_##name_(OBJECT_ARGUMENTS) {           \
        return one(self, operation_, args, count, names);  \
    }                                                      \
    PyObject *object_##name_##_many(OBJECT_ARGUMENTS) {    \
        return many(self, operation_, args, count, names); \
    }
OPERATION(add, DO_ADD)
OPERATION(test, DO_TEST)
OPERATION(add_and_test, DO_ADD_AND_TEST)
OPERATION(remove, DO_REMOVE)
OPERATION(count, DO_COUNT)
