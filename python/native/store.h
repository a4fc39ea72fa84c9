/* python/native/store.h - lethe.Store: what its files share. */
#ifndef LETHE_PYTHON_STORE_H
#define LETHE_PYTHON_STORE_H

#include "lethe/store.h"
#include "object.h"
#include "rows.h"

/* Before the type is made. */
void store_join_methods(void);
/* Makes the classes of what a store returns. Returns 0, or -1 with an exception. */
int store_start(PyObject *module, PyObject *outcomes);

/* Enters an open store, whose calls run side by side. The store, or NULL with an exception. */
lethe_store *store_enter(PyObject *self);
void store_leave(PyObject *self);

/* Leaves the store and raises, with what it says about its last failure. Returns NULL. */
PyObject *store_fail(PyObject *self, lethe_status status);
/* Leaves the store; raises if there was an error. Returns 0 or -1. */
int store_done(PyObject *self, lethe_status status);

/* lethe.Outcome of an outcome; a new reference. */
PyObject *store_outcome(uint8_t outcome);

/* One operation of several changes: a mapping of keys to deltas, or pairs. */
struct store_changes {
    struct keys keys;
    struct numbers deltas;
    lethe_change *changes;
    size_t count;
};
int store_changes_take(PyObject *given, struct store_changes *out);
void store_changes_free(struct store_changes *changes);

/* Named tuples. */
PyTypeObject *store_tuple_type(PyObject *module, PyStructSequence_Desc *description);
PyObject *store_tuple(PyTypeObject *type, size_t count, PyObject **items);

/* The methods of each file, and the named tuples that they return. */
extern PyMethodDef store_apply_methods[], store_one_methods[], store_read_methods[],
    store_usage_methods[], store_claims_methods[];
int store_contains(PyObject *self, PyObject *key);
int store_one_start(PyObject *module);
int store_usage_start(PyObject *module);
int store_claims_start(PyObject *module);

#endif
