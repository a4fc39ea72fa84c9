/* python/native/object.h - what all structures have in common: one Python object around one of the
 * library's.
 *
 * IDEA    Each structure has a row: its description in structures/, its options, and its operations
 *         on batches of hashes. Methods are written once and go through the row; a structure's own
 *         file has the row, and what only that structure can do. A single key is a batch of one.
 * I1      Arguments are turned into C before the guard is entered, and nothing of Python runs until
 *         it is left. So no code of the caller's can come back into an object that is in use.
 * I2      The interpreter's lock is given up around batches and around everything that is long or
 *         reads a disk. */
#ifndef LETHE_PYTHON_OBJECT_H
#define LETHE_PYTHON_OBJECT_H

#include "arguments.h"
#include "errors.h"
#include "guard.h"
#include "keys.h"
#include "python.h"
#include "results.h"
#include "structures/structure.h"

enum operation { DO_ADD, DO_TEST, DO_ADD_AND_TEST, DO_REMOVE, DO_COUNT, OPERATIONS };

/* Some keys of a batch. */
struct piece {
    /* Of the structure. */
    const struct structure *row;
    const lethe_hash *hashes;
    size_t count;
    uint64_t now_ms;
    /* uint8_t for each key, or uint64_t for DO_COUNT. */
    void *results;
    /* count; fewer where an error ended the batch: so many are settled. */
    size_t done;
};
typedef lethe_status (*operation_function)(void *object, struct piece *piece);

/* What the row has, where the batch is always tried as a whole. */
lethe_status piece_add(void *object, struct piece *piece);
lethe_status piece_test(void *object, struct piece *piece);
lethe_status piece_remove(void *object, struct piece *piece);
lethe_status piece_count(void *object, struct piece *piece);

struct kind {
    /* "Bloom" */
    const char *name;
    const struct structure *row;
    const struct option *options;
    /* NULL: it cannot do that. */
    operation_function operations[OPERATIONS];
    /* Calls take now_ms. */
    bool is_timed;
    /* The library has locks of its own: calls may run side by side. */
    bool is_shared;
    /* Keys that are hashed and handed over at a time. */
    size_t chunk;
    /* Whether an object that was just made or loaded is is_shared, whatever its kind is; or NULL */
    bool (*made_shared)(const void *options);
};

typedef struct {
    PyObject_HEAD const struct kind *kind;
    /* The library's; NULL once it is closed. */
    void *object;
    uint64_t seed;
    bool is_shared;
    struct guard guard;
} lethe_object;

extern const struct kind kind_bloom, kind_quotient, kind_gaussian, kind_forgetful, kind_window,
    kind_sketch, kind_cascade, kind_store;
extern PyType_Spec bloom_spec, quotient_spec, gaussian_spec, forgetful_spec, window_spec,
    sketch_spec, cascade_spec, store_spec;

/* Makes the types of all kinds. Returns 0, or -1 with an exception. */
int object_start(PyObject *module);
PyTypeObject *object_type(const struct kind *kind);

/* Slots and methods of every type. */
PyObject *object_new(PyTypeObject *type, PyObject *args, PyObject *keywords);
void object_dealloc(PyObject *object);
int object_contains(PyObject *object, PyObject *key);

/* A Python object around `made`, which it owns, also on failure. */
PyObject *object_wrap(PyTypeObject *type, const struct kind *kind, void *made, bool is_shared);

/* Enters the guard of an object that is open. Returns 0, or -1 with an exception; object_leave
 * otherwise. What is_shared is entered to read. */
int object_enter(lethe_object *self, enum guard_use use);
/* The same in two steps, the first of which raises nothing. */
enum entry { IS_ENTERED, IS_CLOSED, IS_PARENTS, IS_TORN };
enum entry object_try(lethe_object *self, enum guard_use use);
int object_refuse(const lethe_object *self, enum entry entry);
/* Two different objects. Two threads may enter them in turned roles: they are entered in the order
 * of their addresses. */
int object_enter_both(lethe_object *own, enum guard_use own_use, lethe_object *other,
                      enum guard_use other_use);
void object_leave(lethe_object *self, enum guard_use use);

#define OBJECT_ARGUMENTS PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names

/* Operations on one key and on many. */
PyObject *object_add(OBJECT_ARGUMENTS);
PyObject *object_add_many(OBJECT_ARGUMENTS);
PyObject *object_test(OBJECT_ARGUMENTS);
PyObject *object_test_many(OBJECT_ARGUMENTS);
PyObject *object_add_and_test(OBJECT_ARGUMENTS);
PyObject *object_add_and_test_many(OBJECT_ARGUMENTS);
PyObject *object_remove(OBJECT_ARGUMENTS);
PyObject *object_remove_many(OBJECT_ARGUMENTS);
PyObject *object_count(OBJECT_ARGUMENTS);
PyObject *object_count_many(OBJECT_ARGUMENTS);

/* The rest. */
PyObject *object_close_method(PyObject *object, PyObject *unused);
PyObject *object_begin_with(PyObject *object, PyObject *unused);
PyObject *object_end_with(OBJECT_ARGUMENTS);
PyObject *object_info(OBJECT_ARGUMENTS);
PyObject *object_merge(OBJECT_ARGUMENTS);
PyObject *object_copy(PyObject *self, PyObject *unused);
PyObject *object_clear(PyObject *self, PyObject *unused);
PyObject *object_work(OBJECT_ARGUMENTS);
PyObject *object_save(OBJECT_ARGUMENTS);
PyObject *object_load(OBJECT_ARGUMENTS);
PyObject *object_to_bytes(PyObject *self, PyObject *unused);
PyObject *object_from_bytes(OBJECT_ARGUMENTS);
PyObject *object_reduce(PyObject *self, PyObject *unused);
PyObject *object_get_seed(PyObject *self, void *unused);
PyObject *object_get_closed(PyObject *self, void *unused);
extern PyGetSetDef object_properties[];

/* The kind of a class of ours or of one derived from it. */
const struct kind *object_kind_of(PyTypeObject *type);

/* Of filters without time. */
#define TEST_METHODS                                                                  \
    METHOD("test", object_test, "test(key)\n--\n\nWhether a key seems to be there."), \
        METHOD("test_many", object_test_many,                                         \
               "test_many(keys, out=None)\n--\n\nWhether each key seems to be there.")
#define SET_METHODS(add_and_test_many_doc_)                                                    \
    METHOD("add", object_add, "add(key)\n--\n\nAdds a key."),                                  \
        METHOD("add_many", object_add_many, "add_many(keys)\n--\n\nAdds keys."), TEST_METHODS, \
        METHOD("add_and_test", object_add_and_test,                                            \
               "add_and_test(key)\n--\n\nAdds a key; whether it seemed to be there before."),  \
        METHOD("add_and_test_many", object_add_and_test_many,                                  \
               "add_and_test_many(keys, out=None)\n--\n\n" add_and_test_many_doc_)
#define FILTER_SLOTS(methods_)                 \
    COMMON_SLOTS, {Py_tp_methods, methods_}, { \
        Py_sq_contains, object_contains        \
    }

#define CLOSING_METHODS                                                           \
    SIMPLE_METHOD("close", object_close_method,                                   \
                  "close()\n--\n\nFrees what it holds. It may be closed twice."), \
        SIMPLE_METHOD("__enter__", object_begin_with, NULL),                      \
        METHOD("__exit__", object_end_with, NULL)
#define SAVING_METHODS                                                                             \
    METHOD("save", object_save,                                                                    \
           "save(path)\n--\n\nWrites a file, in place of one that is there, as a whole or not at " \
           "all. The bytes are those of the C library and the command line."),                     \
        CLASS_METHOD("load", object_load, "load(path)\n--\n\nReads a file that save wrote."),      \
        SIMPLE_METHOD("to_bytes", object_to_bytes,                                                 \
                      "to_bytes()\n--\n\nThe bytes that save writes."),                            \
        CLASS_METHOD("from_bytes", object_from_bytes,                                              \
                     "from_bytes(data)\n--\n\nMakes one from the bytes of a saved one."),          \
        SIMPLE_METHOD("__reduce__", object_reduce, NULL)
#define COPYING_METHODS                                                       \
    SIMPLE_METHOD("copy", object_copy, "copy()\n--\n\nAn independent copy."), \
        SIMPLE_METHOD("clear", object_clear, "clear()\n--\n\nForgets all keys.")
#define MERGE_METHOD(doc_) METHOD("merge", object_merge, "merge(other)\n--\n\n" doc_)
#define INFO_METHOD(arguments_)                                          \
    METHOD("info", object_info,                                          \
           "info(" arguments_ ")\n--\n\nIts shape and state, as a dict " \
           "with the names of the C library.")

#define COMMON_SLOTS                                            \
    {Py_tp_new, object_new}, {Py_tp_dealloc, object_dealloc}, { \
        Py_tp_getset, object_properties                         \
    }

#define OBJECT_SPEC(name_, slots_)                                         \
    {                                                                      \
        .name = "lethe." name_, .basicsize = sizeof(lethe_object),         \
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, .slots = slots_ \
    }

#endif
