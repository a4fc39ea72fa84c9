/* python/native/object.c - making, wrapping and closing structures: object.h has the essay. */
#include "object.h"

#include <assert.h>
#include <string.h>

static struct {
    const struct kind *kind;
    PyType_Spec *spec;
    PyTypeObject *type;
} all[] = {
    {&kind_bloom, &bloom_spec, NULL},       {&kind_quotient, &quotient_spec, NULL},
    {&kind_gaussian, &gaussian_spec, NULL}, {&kind_forgetful, &forgetful_spec, NULL},
    {&kind_window, &window_spec, NULL},     {&kind_sketch, &sketch_spec, NULL},
    {&kind_cascade, &cascade_spec, NULL},   {&kind_store, &store_spec, NULL},
};
enum { ALL = sizeof all / sizeof all[0] };

int object_start(PyObject *module) {
    for (size_t i = 0; i < ALL; i++) {
        all[i].type = (PyTypeObject *)PyType_FromModuleAndSpec(module, all[i].spec, NULL);
        if (all[i].type == NULL || PyModule_AddType(module, all[i].type) != 0) return -1;
    }
    return 0;
}

PyTypeObject *object_type(const struct kind *kind) {
    for (size_t i = 0; i < ALL; i++)
        if (all[i].kind == kind) return all[i].type;
    return NULL;
}

/* NULL for other classes. */
const struct kind *object_kind_of(PyTypeObject *type) {
    for (size_t i = 0; i < ALL; i++)
        if (PyType_IsSubtype(type, all[i].type)) return all[i].kind;
    return NULL;
}

static void release(const struct kind *kind, void *made) {
    if (kind != NULL && made != NULL) kind->row->free(made);
}

PyObject *object_wrap(PyTypeObject *type, const struct kind *kind, void *made, bool is_shared) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    lethe_object *self = (lethe_object *)allocate(type, 0);
    if (self == NULL) {
        release(kind, made);
        return NULL;
    }
    self->kind = kind;
    self->object = made;
    self->seed = kind->row->seed(made);
    self->is_shared = kind->is_shared || is_shared;
    guard_start(&self->guard);
    return (PyObject *)self;
}

/* The first argument of what lives in a folder: its path, as bytes. */
static int take_folder(const struct kind *kind, PyObject *args, PyObject **path) {
    Py_ssize_t given = PyTuple_Size(args), wanted = kind->row->lives_in_folder ? 1 : 0;
    *path = NULL;
    if (given != wanted) {
        PyErr_Format(PyExc_TypeError,
                     wanted == 1 ? "%s(folder, ...) takes its folder, and options by name"
                                 : "%s(...) takes its options by name",
                     kind->name);
        return -1;
    }
    if (wanted == 0) return 0;
    *path = arguments_path(PyTuple_GetItem(args, 0));
    return *path != NULL ? 0 : -1;
}

PyObject *object_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    const struct kind *kind = object_kind_of(type);
    assert(kind != NULL);
    _Alignas(max_align_t) unsigned char options[STRUCTURE_OPTIONS_BYTES] = {0};
    memcpy(options, &kind->row->options_bytes, sizeof kind->row->options_bytes);
    PyObject *path = NULL;
    if (options_take(kind->name, kind->options, keywords, options) != 0 ||
        take_folder(kind, args, &path) != 0)
        return NULL;
    void *made = NULL;
    lethe_status status;
    lethe_detail detail = {{0}};
    const char *folder = path != NULL ? PyBytes_AsString(path) : NULL;
    PyThreadState *thread = PyEval_SaveThread();
    status = folder != NULL ? kind->row->open(folder, options, &made, &detail)
                            : kind->row->make(options, &made);
    PyEval_RestoreThread(thread);
    Py_XDECREF(path);
    if (status != LETHE_OK) return errors_raise(status, kind->name, &detail, NULL);
    PyObject *object =
        object_wrap(type, kind, made, kind->made_shared != NULL && kind->made_shared(options));
    /* What opening mended, or what the caller should know. */
    if (object != NULL && detail.text[0] != '\0' &&
        PyErr_WarnEx(PyExc_RuntimeWarning, detail.text, 1) != 0)
        Py_CLEAR(object);
    return object;
}

/* Nobody else can know the object any more. What a parent opened is left alone: its files and
 * threads are the parent's. */
void object_dealloc(PyObject *object) {
    lethe_object *self = (lethe_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    void *held = self->object;
    self->object = NULL;
    bool is_parents =
        self->kind != NULL && self->kind->row->lives_in_folder && guard_is_inherited(&self->guard);
    if (held != NULL && !is_parents) {
        PyThreadState *thread = PyEval_SaveThread();
        release(self->kind, held);
        PyEval_RestoreThread(thread);
    }
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_object(object);
    Py_DECREF(type);
}

enum entry object_try(lethe_object *self, enum guard_use use) {
    if (self->kind->row->lives_in_folder && guard_is_inherited(&self->guard)) return IS_PARENTS;
    if (!guard_enter(&self->guard, use)) return IS_TORN;
    if (self->object != NULL) return IS_ENTERED;
    guard_leave(&self->guard, use);
    return IS_CLOSED;
}

int object_refuse(const lethe_object *self, enum entry entry) {
    if (entry == IS_ENTERED) return 0;
    if (entry == IS_CLOSED)
        errors_raise_closed(self->kind->name);
    else if (entry == IS_TORN)
        PyErr_SetString(PyExc_RuntimeError,
                        "another thread was using this object when the process was forked");
    else
        PyErr_Format(PyExc_RuntimeError,
                     "this %s was opened before the process was forked: it is the parent's",
                     self->kind->name);
    return -1;
}

int object_enter(lethe_object *self, enum guard_use use) {
    return object_refuse(self, object_try(self, use));
}

int object_enter_both(lethe_object *own, enum guard_use own_use, lethe_object *other,
                      enum guard_use other_use) {
    bool is_first = own < other;
    lethe_object *first = is_first ? own : other, *second = is_first ? other : own;
    enum guard_use first_use = is_first ? own_use : other_use;
    enum guard_use second_use = is_first ? other_use : own_use;
    if (object_enter(first, first_use) != 0) return -1;
    enum entry entry = object_try(second, second_use);
    if (entry != IS_ENTERED) object_leave(first, first_use);
    return object_refuse(second, entry);
}

void object_leave(lethe_object *self, enum guard_use use) {
    guard_leave(&self->guard, use);
}

PyObject *object_close_method(PyObject *object, PyObject *unused) {
    (void)unused;
    lethe_object *self = (lethe_object *)object;
    if (self->object == NULL) Py_RETURN_NONE;
    if (object_enter(self, GUARD_WRITE) != 0) return NULL;
    void *held = self->object;
    self->object = NULL;
    PyThreadState *thread = PyEval_SaveThread();
    release(self->kind, held);
    PyEval_RestoreThread(thread);
    object_leave(self, GUARD_WRITE);
    Py_RETURN_NONE;
}

PyObject *object_begin_with(PyObject *object, PyObject *unused) {
    (void)unused;
    lethe_object *self = (lethe_object *)object;
    return self->object != NULL ? Py_NewRef(object) : errors_raise_closed(self->kind->name);
}

PyObject *object_end_with(OBJECT_ARGUMENTS) {
    (void)args, (void)count, (void)names;
    return PyObject_CallMethod(self, "close", NULL);
}

PyObject *object_get_seed(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(((lethe_object *)self)->seed);
}

PyObject *object_get_closed(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(((lethe_object *)self)->object == NULL);
}

PyGetSetDef object_properties[] = {
    {"seed", object_get_seed, NULL, "What keys the hash.", NULL},
    {"closed", object_get_closed, NULL, "Whether it was closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
