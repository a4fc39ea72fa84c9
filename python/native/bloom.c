/* python/native/bloom.c - lethe.Bloom. */
#include "lethe/bloom.h"

#include "object.h"

static lethe_status add_and_test(void *object, struct piece *piece) {
    return lethe_bloom_add_and_test_batch(object, piece->hashes, piece->count, piece->results);
}

static const char *const layouts[] = {"classic", "blocked", NULL};

static const struct option options[] = {
    WORD_OPTION(lethe_bloom_options, layout, layouts),
    POSITIVE_OPTION(lethe_bloom_options, capacity, U64),
    OPTION(lethe_bloom_options, error, F64),
    POSITIVE_OPTION(lethe_bloom_options, bits, U64),
    POSITIVE_OPTION(lethe_bloom_options, hashes, U32),
    OPTION(lethe_bloom_options, seed, U64),
    END_OF_OPTIONS,
};

const struct kind kind_bloom = {
    .name = "Bloom",
    .row = &structure_bloom,
    .options = options,
    .operations = {[DO_ADD] = piece_add, [DO_TEST] = piece_test, [DO_ADD_AND_TEST] = add_and_test},
    .chunk = 4096,
};

static PyObject *intersection_estimate(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"other"};
    lethe_object *own = (lethe_object *)self;
    PyObject *given[1];
    if (arguments_take("intersection_estimate", args, count, names, parameters, 1, 1, given) != 0)
        return NULL;
    if (object_kind_of(Py_TYPE(given[0])) != &kind_bloom) {
        PyErr_SetString(PyExc_TypeError, "intersection_estimate() takes another Bloom");
        return NULL;
    }
    lethe_object *other = (lethe_object *)given[0];
    if (own == other) {
        PyErr_SetString(PyExc_ValueError, "intersection_estimate() takes another Bloom");
        return NULL;
    }
    if (object_enter_both(own, GUARD_READ, other, GUARD_READ) != 0) return NULL;
    double estimate = 0;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_bloom_intersection_estimate(own->object, other->object, &estimate);
    PyEval_RestoreThread(thread);
    object_leave(other, GUARD_READ);
    object_leave(own, GUARD_READ);
    if (status != LETHE_OK) return errors_raise(status, "Bloom", NULL, NULL);
    return PyFloat_FromDouble(estimate);
}

static PyMethodDef methods[] = {
    SET_METHODS(
        "Adds keys; whether each seemed to be there before, repeats in the batch included."),
    METHOD("intersection_estimate", intersection_estimate,
           "intersection_estimate(other)\n--\n\nAbout how many keys are in both."),
    MERGE_METHOD("Adds every key of other, which must have the same shape and seed."),
    INFO_METHOD(""),
    COPYING_METHODS,
    SAVING_METHODS,
    CLOSING_METHODS,
    END_OF_METHODS,
};

static PyType_Slot slots[] = {
    FILTER_SLOTS(methods),
    {Py_tp_doc, DOC("Bloom(*, capacity=65536, error=0.01, layout='classic', bits=None, "
                    "hashes=None, seed=None)\n"
                    "--\n\n"
                    "A set that only grows, and may take a key for one that was added, with "
                    "probability error.\n"
                    "layout: 'classic' or 'blocked', which is faster and a little larger. The size "
                    "comes from\n"
                    "capacity and error, or from bits and hashes.")},
    {0, NULL},
};

PyType_Spec bloom_spec = OBJECT_SPEC("Bloom", slots);
