/* python/native/results.h - arrays that a batch fills.
 *
 * The caller may give one, of anything that is a writable buffer. Otherwise one is made: of NumPy
 * if the keys were NumPy's, else a memoryview. */
#ifndef LETHE_PYTHON_RESULTS_H
#define LETHE_PYTHON_RESULTS_H

#include "python.h"

enum results_type { RESULTS_BOOL, RESULTS_U8, RESULTS_U64, RESULTS_I64 };

struct results {
    /* What the caller gets. */
    PyObject *object;
    Py_buffer view;
    void *data;
};

/* Takes the array `given`, unless it is NULL or None, or makes one, for count results. Returns 0,
 * or -1 with an exception. results_free afterwards in any case. */
int results_take(const char *name, PyObject *given, size_t count, enum results_type type,
                 bool is_numpy, struct results *out);
void results_free(struct results *results);

/* The object for the caller, a new reference; frees the rest. */
PyObject *results_give(struct results *results);

#endif
