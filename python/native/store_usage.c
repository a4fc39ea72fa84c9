/* python/native/store_usage.c - lethe.Store: counts per period, and the store in numbers. */
#include <string.h>

#include "store.h"

static PyTypeObject *usage_type;

enum { FROM_MS, TO_MS, OFFSET_S, IS_REST, VALUE_HIGH, VALUE };

static bool keep_row(void *context, const lethe_usage_row *usage) {
    struct row *row = rows_add(context, usage->key);
    if (row == NULL) return false;
    row->numbers[FROM_MS] = (int64_t)usage->from_ms;
    row->numbers[TO_MS] = (int64_t)usage->to_ms;
    row->numbers[OFFSET_S] = usage->offset_s;
    row->numbers[IS_REST] = usage->is_rest;
    row->numbers[VALUE_HIGH] = usage->value_high;
    row->numbers[VALUE] = (int64_t)usage->value;
    return true;
}

/* value_high * 2^64 + value, of a rest; a bucket's is a number of 64 bits with a sign. */
static PyObject *make_value(const struct row *row) {
    if (!row->numbers[IS_REST]) return PyLong_FromLongLong(row->numbers[VALUE]);
    PyObject *high = PyLong_FromLongLong(row->numbers[VALUE_HIGH]);
    PyObject *low = PyLong_FromUnsignedLongLong((uint64_t)row->numbers[VALUE]);
    PyObject *bits = PyLong_FromLong(64);
    PyObject *shifted = high != NULL && bits != NULL ? PyNumber_Lshift(high, bits) : NULL;
    PyObject *sum = shifted != NULL && low != NULL ? PyNumber_Add(shifted, low) : NULL;
    Py_XDECREF(high);
    Py_XDECREF(low);
    Py_XDECREF(bits);
    Py_XDECREF(shifted);
    return sum;
}

static PyObject *make_usage(const struct rows *rows, const struct row *row) {
    bool is_rest = row->numbers[IS_REST] != 0;
    PyObject *items[] = {
        rows_object(rows, row, 0),
        is_rest ? Py_NewRef(Py_None) : PyLong_FromLongLong(row->numbers[FROM_MS]),
        is_rest ? Py_NewRef(Py_None) : PyLong_FromLongLong(row->numbers[TO_MS]),
        PyLong_FromLongLong(row->numbers[OFFSET_S]),
        make_value(row),
    };
    return store_tuple(usage_type, 5, items);
}

static int take_text(const char *name, PyObject *given, const char **out) {
    if (given == NULL || given == Py_None) return 0;
    if (PyUnicode_Check(given)) *out = PyUnicode_AsUTF8AndSize(given, NULL);
    if (*out == NULL && !PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%s must be a str", name);
    return *out != NULL ? 0 : -1;
}

struct question {
    lethe_usage_query query;
    struct keys keys;
    struct keys_room room;
    struct key prefix;
};

enum { PER, KEYS, PREFIX, BEGIN, END, PARAMETERS };

static int take_question(PyObject *const *given, struct question *out) {
    if (take_text("per", given[PER], &out->query.by) != 0 ||
        arguments_u64("from_ms", given[BEGIN], &out->query.from_ms) != 0 ||
        arguments_u64("to_ms", given[END], &out->query.to_ms) != 0)
        return -1;
    if (given[PREFIX] != NULL && given[PREFIX] != Py_None) {
        if (key_take(given[PREFIX], &out->prefix) != 0) return -1;
        out->query.prefix = out->prefix.bytes;
    }
    if (given[KEYS] == NULL || given[KEYS] == Py_None) return 0;
    if (keys_take("keys", given[KEYS], &out->keys) != 0) return -1;
    if (!keys_room_start(&out->room, &out->keys, out->keys.count)) {
        PyErr_NoMemory();
        return -1;
    }
    out->query.keys = keys_bytes(&out->keys, 0, out->keys.count, &out->room);
    out->query.key_count = out->keys.count;
    return 0;
}

static PyObject *run_question(PyObject *self, PyObject *const *given, struct question *question) {
    struct rows rows = {.most = 0};
    if (take_question(given, question) != 0) return NULL;
    bool has_keys = given[KEYS] != NULL && given[KEYS] != Py_None;
    if (has_keys && question->keys.count == 0) return PyList_New(0);
    lethe_store *store = store_enter(self);
    if (store == NULL) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_store_usage(store, &question->query, keep_row, &rows);
    PyEval_RestoreThread(thread);
    if (status == LETHE_OK && rows.lacks_memory) status = LETHE_ENOMEM;
    PyObject *list = store_done(self, status) == 0 ? rows_list(&rows, make_usage) : NULL;
    rows_free(&rows);
    return list;
}

static PyObject *usage(OBJECT_ARGUMENTS) {
    static const char *const parameters[PARAMETERS] = {"per", "keys", "prefix", "from_ms", "to_ms"};
    PyObject *given[PARAMETERS];
    struct question question = {.query = LETHE_INIT(lethe_usage_query)};
    if (arguments_take("usage", args, count, names, parameters, PARAMETERS, 0, given) != 0)
        return NULL;
    PyObject *list = run_question(self, given, &question);
    keys_room_free(&question.room);
    keys_free(&question.keys);
    key_free(&question.prefix);
    return list;
}

/* --- The store in numbers --- */

#define NUMBER(field_) \
    { #field_, offsetof(lethe_store_stats, field_) }
static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    NUMBER(clock_ms),
    NUMBER(commits),
    NUMBER(folded),
    NUMBER(applied),
    NUMBER(duplicates),
    NUMBER(late),
    NUMBER(future),
    NUMBER(refused),
    NUMBER(mismatched),
    NUMBER(overflow),
    NUMBER(invalid),
    NUMBER(limited),
    NUMBER(confirmed_false),
    NUMBER(counters),
    NUMBER(counters_in_memory),
    NUMBER(counters_memory_bytes),
    NUMBER(log_ids),
    NUMBER(log_bytes),
    NUMBER(changes_bytes),
    NUMBER(index_bytes),
    NUMBER(index_memory_bytes),
    NUMBER(groups_memory_bytes),
    NUMBER(database_memory_bytes),
    NUMBER(counters_bytes),
    NUMBER(sketch_bytes),
    NUMBER(sketch_total),
    NUMBER(buckets_in_memory),
    NUMBER(buckets_memory_bytes),
    NUMBER(buckets_bytes),
    {"window_ms", offsetof(lethe_store_stats, window.window_ms)},
    {"window_ids", offsetof(lethe_store_stats, window.ids)},
    {"window_memory_bytes", offsetof(lethe_store_stats, window.memory_bytes)},
    {"ledger_ids", offsetof(lethe_store_stats, ledger.ids)},
    {"ledger_capacity", offsetof(lethe_store_stats, ledger.capacity)},
    {"ledger_disk_bytes", offsetof(lethe_store_stats, ledger.disk_bytes)},
};

static PyObject *make_info(const lethe_store_stats *stats) {
    PyObject *info = Py_BuildValue(
        "{s:d,s:d,s:I,s:s,s:d,s:d,s:d,s:d,s:I,s:I,s:O,s:O,s:O,s:O,s:s,s:s,s:s}", "error_target",
        stats->window.error_target, "error_estimate", stats->window.error_estimate, "strain",
        stats->window.strain, "window_kind",
        stats->window.kind == LETHE_WINDOW_FORGETFUL ? "forgetful" : "quotient",
        "ledger_error_target", stats->ledger.error_target, "ledger_error_estimate",
        stats->ledger.error_estimate, "sketch_error", stats->sketch_error, "sketch_delta",
        stats->sketch_delta, "sketch_top", stats->sketch_top, "scale", stats->scale, "exact",
        stats->exact ? Py_True : Py_False, "check_payload",
        stats->check_payload ? Py_True : Py_False, "event_time",
        stats->event_time ? Py_True : Py_False, "forever", stats->forever ? Py_True : Py_False,
        "per", stats->per, "zone", stats->zone, "keep", stats->keep);
    for (size_t i = 0; info != NULL && i < sizeof numbers / sizeof numbers[0]; i++) {
        uint64_t number;
        memcpy(&number, (const char *)stats + numbers[i].offset, sizeof number);
        PyObject *value = PyLong_FromUnsignedLongLong(number);
        if (value == NULL || PyDict_SetItemString(info, numbers[i].name, value) != 0)
            Py_CLEAR(info);
        Py_XDECREF(value);
    }
    return info;
}

static PyObject *info_of(PyObject *self, PyObject *unused) {
    (void)unused;
    lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    lethe_store *store = store_enter(self);
    if (store == NULL) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_store_info(store, &stats);
    PyEval_RestoreThread(thread);
    return store_done(self, status) == 0 ? make_info(&stats) : NULL;
}

PyMethodDef store_usage_methods[] = {
    METHOD(
        "usage", usage,
        "usage(per=None, keys=None, prefix=None, from_ms=None, to_ms=None)\n--\n\n"
        "What counters got in each period: a list of lethe.Usage (key, from_ms, to_ms, offset_s, "
        "value), periods in their order, and then the rest of each counter, whose times are "
        "None."),
    SIMPLE_METHOD("info", info_of, "info()\n--\n\nThe store in numbers, as a dict."),
    END_OF_METHODS,
};

static PyStructSequence_Field usage_fields[] = {
    {"key", "The counter."},
    {"from_ms", "When the period begins, since 1970; None: this is the rest."},
    {"to_ms", "When it ends; None: this is the rest."},
    {"offset_s", "How far local time is ahead of UTC when it begins."},
    {"value", "What the counter got in it."},
    {NULL, NULL},
};
static PyStructSequence_Desc usage_description = {
    .name = "lethe.Usage",
    .doc = "A row of Store.usage.",
    .fields = usage_fields,
    .n_in_sequence = 5,
};

int store_usage_start(PyObject *module) {
    usage_type = store_tuple_type(module, &usage_description);
    return usage_type != NULL ? 0 : -1;
}
