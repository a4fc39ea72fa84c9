/* python/native/quotient.c - lethe.Quotient. */
#include "lethe/quotient.h"

#include "object.h"

static lethe_status add(void *object, struct piece *piece) {
    return lethe_quotient_add_batch(object, piece->hashes, piece->count, piece->results);
}

static const struct option options[] = {
    POSITIVE_OPTION(lethe_quotient_options, capacity, U64),
    OPTION(lethe_quotient_options, error, F64),
    POSITIVE_OPTION(lethe_quotient_options, slots, U64),
    POSITIVE_OPTION(lethe_quotient_options, remainder_bits, U32),
    OPTION(lethe_quotient_options, grow_to, U64),
    OPTION(lethe_quotient_options, seed, U64),
    END_OF_OPTIONS,
};

const struct kind kind_quotient = {
    .name = "Quotient",
    .row = &structure_quotient,
    .options = options,
    .operations = {[DO_ADD] = add,
                   [DO_TEST] = piece_test,
                   [DO_REMOVE] = piece_remove,
                   [DO_COUNT] = piece_count},
    .chunk = 4096,
};

static PyObject *map_file(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"path"};
    PyObject *given[1];
    if (arguments_take("map", args, count, names, parameters, 1, 1, given) != 0) return NULL;
    PyObject *path = arguments_path(given[0]);
    if (path == NULL) return NULL;
    const char *name = PyBytes_AsString(path);
    lethe_quotient *made = NULL;
    lethe_detail detail = {{0}};
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_quotient_map_file(name, NULL, &made, &detail);
    PyEval_RestoreThread(thread);
    Py_DECREF(path);
    if (status != LETHE_OK) return errors_raise(status, "Quotient", &detail, NULL);
    return object_wrap((PyTypeObject *)self, &kind_quotient, made, false);
}

static PyObject *resize(PyObject *object, lethe_status (*change)(lethe_quotient *)) {
    lethe_object *own = (lethe_object *)object;
    if (object_enter(own, GUARD_WRITE) != 0) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = change(own->object);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_WRITE);
    if (status != LETHE_OK) return errors_raise(status, "Quotient", NULL, NULL);
    Py_RETURN_NONE;
}

static PyObject *double_slots(PyObject *self, PyObject *unused) {
    (void)unused;
    return resize(self, lethe_quotient_double);
}

static PyObject *halve_slots(PyObject *self, PyObject *unused) {
    (void)unused;
    return resize(self, lethe_quotient_halve);
}

static PyMethodDef methods[] = {
    METHOD("add", object_add, "add(key)\n--\n\nAdds a key once more."),
    METHOD("add_many", object_add_many, "add_many(keys)\n--\n\nAdds each key once more."),
    TEST_METHODS,
    METHOD("count", object_count, "count(key)\n--\n\nHow often a key is there; never too low."),
    METHOD("count_many", object_count_many,
           "count_many(keys, out=None)\n--\n\nHow often each key is there; never too low."),
    METHOD("remove", object_remove,
           "remove(key)\n--\n\nRemoves a key once; whether it was there. Only for keys that were "
           "added."),
    METHOD("remove_many", object_remove_many,
           "remove_many(keys, out=None)\n--\n\nRemoves each key once; whether it was there."),
    SIMPLE_METHOD("double", double_slots, "double()\n--\n\nDoubles the slots."),
    SIMPLE_METHOD("halve", halve_slots, "halve()\n--\n\nHalves the slots."),
    CLASS_METHOD("map", map_file,
                 "map(path)\n--\n\nMaps a saved file: it is checked and not copied, and processes "
                 "share its memory. The filter is read-only."),
    MERGE_METHOD("Adds all that other holds; their counts are added up."),
    INFO_METHOD(""),
    COPYING_METHODS,
    SAVING_METHODS,
    CLOSING_METHODS,
    END_OF_METHODS,
};

static PyType_Slot slots[] = {
    FILTER_SLOTS(methods),
    {Py_tp_doc,
     DOC("Quotient(*, capacity=65536, error=0.01, slots=None, remainder_bits=None, grow_to=None, "
         "seed=None)\n--\n\n"
         "A multiset that counts, removes, merges and grows, and may take a key for one that was\n"
         "added, with probability error. It doubles by itself up to grow_to keys.")},
    {0, NULL},
};

PyType_Spec quotient_spec = OBJECT_SPEC("Quotient", slots);
