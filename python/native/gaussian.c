/* python/native/gaussian.c - lethe.Gaussian. */
#include "lethe/gaussian.h"

#include "object.h"

static lethe_status add_and_test(void *object, struct piece *piece) {
    return lethe_gaussian_add_and_test_batch(object, piece->hashes, piece->count, piece->results);
}

static const char *const spacings[] = {"even", "published", NULL};
static const char *const exponentials[] = {"exact", "schraudolph", NULL};

static const struct option options[] = {
    POSITIVE_OPTION(lethe_gaussian_options, capacity, U64),
    OPTION(lethe_gaussian_options, error, F64),
    POSITIVE_OPTION(lethe_gaussian_options, slots, U64),
    POSITIVE_OPTION(lethe_gaussian_options, hashes, U32),
    POSITIVE_OPTION(lethe_gaussian_options, slot_bits, U32),
    WORD_OPTION(lethe_gaussian_options, spacing, spacings),
    WORD_OPTION(lethe_gaussian_options, exponential, exponentials),
    OPTION(lethe_gaussian_options, deviation_cap, F64),
    OPTION(lethe_gaussian_options, seed, U64),
    END_OF_OPTIONS,
};

const struct kind kind_gaussian = {
    .name = "Gaussian",
    .row = &structure_gaussian,
    .options = options,
    .operations = {[DO_ADD] = piece_add, [DO_TEST] = piece_test, [DO_ADD_AND_TEST] = add_and_test},
    .chunk = 4096,
};

static PyObject *extract(PyObject *self, PyObject *unused) {
    (void)unused;
    lethe_object *own = (lethe_object *)self;
    lethe_bloom *made = NULL;
    if (object_enter(own, GUARD_READ) != 0) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_gaussian_extract(own->object, &made);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_READ);
    if (status != LETHE_OK) return errors_raise(status, "Gaussian", NULL, NULL);
    return object_wrap(object_type(&kind_bloom), &kind_bloom, made, false);
}

static PyObject *promote(PyObject *class, PyObject *args, PyObject *keywords) {
    lethe_gaussian_options given = LETHE_INIT(lethe_gaussian_options);
    PyObject *bloom = PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : NULL;
    if (bloom == NULL || object_kind_of(Py_TYPE(bloom)) != &kind_bloom) {
        PyErr_SetString(PyExc_TypeError, "promote() takes a Bloom, and options by name");
        return NULL;
    }
    if (options_take("promote()", options, keywords, &given) != 0) return NULL;
    lethe_object *own = (lethe_object *)bloom;
    lethe_gaussian *made = NULL;
    if (object_enter(own, GUARD_READ) != 0) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_gaussian_promote(own->object, &given, &made);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_READ);
    if (status != LETHE_OK) return errors_raise(status, "Gaussian", NULL, NULL);
    return object_wrap((PyTypeObject *)class, &kind_gaussian, made, false);
}

static PyMethodDef methods[] = {
    SET_METHODS("Adds keys; whether each seemed to be there before."),
    SIMPLE_METHOD("extract", extract, "extract()\n--\n\nThe Bloom filter underneath, bit for bit."),
    {"promote", (PyCFunction)(void (*)(void))promote, METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "promote(bloom, *, slot_bits=4, spacing='even', exponential='exact', deviation_cap=None)\n"
     "--\n\nMakes one from a classical Bloom filter."},
    MERGE_METHOD("Adds every key of other, which must have the same shape and seed."),
    INFO_METHOD(""),
    COPYING_METHODS,
    SAVING_METHODS,
    CLOSING_METHODS,
    END_OF_METHODS,
};

static PyType_Slot slots[] = {
    FILTER_SLOTS(methods),
    {Py_tp_doc,
     DOC("Gaussian(*, capacity=65536, error=0.01, slots=None, hashes=None, slot_bits=4, "
         "spacing='even', exponential='exact', deviation_cap=None, seed=None)\n--\n\n"
         "A Bloom filter whose empty slots carry information: where bits and hashes are given by\n"
         "somebody else, and there is memory to spare, it has fewer false positives.")},
    {0, NULL},
};

PyType_Spec gaussian_spec = OBJECT_SPEC("Gaussian", slots);
