/* python/native/module.c - the module lethe._lethe: its types, exceptions and functions.
 *
 * LIMIT   One interpreter in a process: the classes are kept in static variables. */
#include <string.h>

#include "lethe/id.h"
#include "lethe/io.h"
#include "lethe/version.h"
#include "object.h"
#include "store.h"

static PyObject *hash_key(PyObject *module, PyObject *const *args, Py_ssize_t count,
                          PyObject *names) {
    static const char *const parameters[] = {"key", "seed"};
    (void)module;
    PyObject *given[2];
    uint64_t seed = LETHE_DEFAULT_SEED;
    lethe_hash hash;
    if (arguments_take("hash", args, count, names, parameters, 2, 1, given) != 0 ||
        arguments_u64("seed", given[1], &seed) != 0 || key_hash(given[0], seed, &hash) != 0)
        return NULL;
    return Py_BuildValue("KK", (unsigned long long)hash.low, (unsigned long long)hash.high);
}

static PyObject *join_fields(const struct keys *fields) {
    size_t size = 0;
    lethe_status status = lethe_id_join(fields->pieces, fields->count, NULL, 0, &size);
    if (status != LETHE_EFULL) return errors_raise(status, "join_id()", NULL, NULL);
    char *id = malloc(size);
    if (id == NULL) return PyErr_NoMemory();
    status = lethe_id_join(fields->pieces, fields->count, id, size, &size);
    PyObject *made = status == LETHE_OK ? PyBytes_FromStringAndSize(id, (Py_ssize_t)size)
                                        : errors_raise(status, "join_id()", NULL, NULL);
    free(id);
    return made;
}

static PyObject *join_id(PyObject *module, PyObject *args) {
    (void)module;
    struct keys fields;
    PyObject *made = keys_take("fields", args, &fields) == 0 ? join_fields(&fields) : NULL;
    keys_free(&fields);
    return made;
}

static PyObject *peek(PyObject *module, PyObject *given) {
    (void)module;
    PyObject *path = arguments_path(given);
    if (path == NULL) return NULL;
    const char *name = PyBytes_AsString(path);
    lethe_file_info info = LETHE_INIT(lethe_file_info);
    lethe_detail detail = {{0}};
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_file_peek(name, &info, &detail);
    PyEval_RestoreThread(thread);
    Py_DECREF(path);
    if (status != LETHE_OK) return errors_raise(status, "peek()", &detail, NULL);
    return Py_BuildValue("sIK", info.type, info.version, (unsigned long long)info.payload_bytes);
}

static PyMethodDef functions[] = {
    METHOD("hash", hash_key,
           "hash(key, seed=DEFAULT_SEED)\n--\n\n"
           "The hash of a key, (low, high) of 64 bits each: XXH3-128 of its bytes."),
    {"join_id", join_id, METH_VARARGS,
     "join_id(*fields)\n--\n\nOne id made of several fields, as lethe count --id makes it."},
    {"peek", peek, METH_O,
     "peek(path)\n--\n\nWhat a saved file says about itself: (type, version, payload_bytes)."},
    END_OF_METHODS,
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "lethe._lethe",
    .m_doc = "What of the package lethe is written in C.",
    .m_size = -1,
    .m_methods = functions,
};

/* The classes that are written in Python. */
static int take_classes(PyObject *module) {
    PyObject *words = PyImport_ImportModule("lethe._words");
    PyObject *strings = words != NULL ? PyObject_GetAttrString(words, "Strings") : NULL;
    PyObject *outcomes = words != NULL ? PyObject_GetAttrString(words, "Outcome") : NULL;
    int failed = strings == NULL || outcomes == NULL || keys_start(strings) != 0 ||
                 store_start(module, outcomes) != 0;
    Py_XDECREF(words);
    Py_XDECREF(strings);
    Py_XDECREF(outcomes);
    return failed ? -1 : 0;
}

static int fill(PyObject *module) {
    PyObject *seed = PyLong_FromUnsignedLongLong(LETHE_DEFAULT_SEED);
    int failed = seed == NULL || PyModule_AddObjectRef(module, "DEFAULT_SEED", seed) != 0;
    Py_XDECREF(seed);
    if (failed || PyModule_AddStringConstant(module, "version", lethe_version()) != 0) return -1;
    store_join_methods();
    return errors_start(module) != 0 || guard_start_all() != 0 || object_start(module) != 0
               ? -1
               : take_classes(module);
}

PyMODINIT_FUNC PyInit__lethe(void);
PyMODINIT_FUNC PyInit__lethe(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && fill(module) != 0) Py_CLEAR(module);
    return module;
}
