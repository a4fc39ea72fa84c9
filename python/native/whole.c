/* python/native/whole.c - what is done to a structure as a whole: info, merge, copy, save, load. */
#include <string.h>

#include "object.h"

static PyObject *value_of(const struct structure_fact *fact) {
    switch (fact->kind) {
    case STRUCTURE_FRACTION:
        return PyFloat_FromDouble(fact->fraction);
    case STRUCTURE_FLAG:
        return PyBool_FromLong(fact->number != 0);
    case STRUCTURE_WORD:
        return PyUnicode_FromString(fact->word);
    default:
        return PyLong_FromUnsignedLongLong(fact->number);
    }
}

PyObject *object_info(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"now_ms"};
    lethe_object *own = (lethe_object *)self;
    PyObject *given[1];
    uint64_t now_ms = 0;
    struct structure_facts facts;
    if (arguments_take("info", args, count, names, parameters, own->kind->is_timed ? 1 : 0, 0,
                       given) != 0 ||
        (own->kind->is_timed && arguments_time(given[0], &now_ms) != 0) ||
        object_enter(own, GUARD_READ) != 0)
        return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = structure_report(own->kind->row, own->object, now_ms, &facts);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_READ);
    if (status != LETHE_OK) return errors_raise(status, own->kind->name, NULL, NULL);
    PyObject *info = PyDict_New();
    for (size_t i = 0; info != NULL && i < facts.count; i++) {
        PyObject *value = value_of(&facts.facts[i]);
        if (value == NULL || PyDict_SetItemString(info, facts.facts[i].name, value) != 0)
            Py_CLEAR(info);
        Py_XDECREF(value);
    }
    return info;
}

PyObject *object_merge(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"other"};
    lethe_object *own = (lethe_object *)self;
    PyObject *given[1];
    if (arguments_take("merge", args, count, names, parameters, 1, 1, given) != 0) return NULL;
    if (object_kind_of(Py_TYPE(given[0])) != own->kind || given[0] == self) {
        PyErr_Format(PyExc_TypeError, "merge() takes another %s", own->kind->name);
        return NULL;
    }
    lethe_object *other = (lethe_object *)given[0];
    /* A window empties what it merges. */
    if (object_enter_both(own, GUARD_WRITE, other, GUARD_WRITE) != 0) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = own->kind->row->merge(own->object, other->object);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_WRITE);
    object_leave(other, GUARD_WRITE);
    if (status != LETHE_OK) return errors_raise(status, own->kind->name, NULL, NULL);
    Py_RETURN_NONE;
}

PyObject *object_copy(PyObject *self, PyObject *unused) {
    (void)unused;
    lethe_object *own = (lethe_object *)self;
    void *made = NULL;
    if (object_enter(own, GUARD_READ) != 0) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = own->kind->row->copy(own->object, &made);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_READ);
    if (status != LETHE_OK) return errors_raise(status, own->kind->name, NULL, NULL);
    return object_wrap(Py_TYPE(self), own->kind, made, own->is_shared);
}

PyObject *object_clear(PyObject *self, PyObject *unused) {
    (void)unused;
    lethe_object *own = (lethe_object *)self;
    if (object_enter(own, GUARD_WRITE) != 0) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = own->kind->row->clear(own->object);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_WRITE);
    if (status != LETHE_OK) return errors_raise(status, own->kind->name, NULL, NULL);
    Py_RETURN_NONE;
}

PyObject *object_work(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"budget", "now_ms"};
    lethe_object *own = (lethe_object *)self;
    PyObject *given[2];
    uint64_t budget = 64, now_ms = 0;
    bool more = false;
    if (arguments_take("work", args, count, names, parameters, 2, 0, given) != 0 ||
        arguments_u64("budget", given[0], &budget) != 0 || arguments_time(given[1], &now_ms) != 0)
        return NULL;
    enum guard_use use = own->is_shared ? GUARD_READ : GUARD_WRITE;
    if (object_enter(own, use) != 0) return NULL;
    lethe_status status;
    unsigned bounded = budget < UINT32_MAX ? (unsigned)budget : UINT32_MAX;
    PyThreadState *thread = PyEval_SaveThread();
    status = own->kind->row->work(own->object, now_ms, bounded, &more);
    PyEval_RestoreThread(thread);
    object_leave(own, use);
    if (status != LETHE_OK) return errors_raise(status, own->kind->name, NULL, NULL);
    return PyBool_FromLong(more);
}

/* --- Files and bytes --- */

static lethe_status to_memory(lethe_object *own, lethe_memory_writer *writer) {
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = own->kind->row->save(own->object, lethe_sink_to_memory(writer));
    PyEval_RestoreThread(thread);
    return status;
}

PyObject *object_to_bytes(PyObject *self, PyObject *unused) {
    (void)unused;
    lethe_object *own = (lethe_object *)self;
    lethe_memory_writer writer = {0};
    if (object_enter(own, GUARD_READ) != 0) return NULL;
    lethe_status status = to_memory(own, &writer);
    object_leave(own, GUARD_READ);
    PyObject *bytes = status == LETHE_OK
                          ? PyBytes_FromStringAndSize(writer.data, (Py_ssize_t)writer.size)
                          : errors_raise(status, own->kind->name, NULL, NULL);
    lethe_memory_writer_free(&writer);
    return bytes;
}

PyObject *object_from_bytes(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"data"};
    const struct kind *kind = object_kind_of((PyTypeObject *)self);
    PyObject *given[1];
    Py_buffer view;
    if (arguments_take("from_bytes", args, count, names, parameters, 1, 1, given) != 0 ||
        PyObject_GetBuffer(given[0], &view, PyBUF_SIMPLE) != 0)
        return NULL;
    void *made = NULL;
    lethe_memory_reader reader = {.data = view.buf, .size = (size_t)view.len};
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = kind->row->load(lethe_source_from_memory(&reader), NULL, &made);
    PyEval_RestoreThread(thread);
    PyBuffer_Release(&view);
    if (status != LETHE_OK) return errors_raise(status, kind->name, NULL, NULL);
    return object_wrap((PyTypeObject *)self, kind, made, false);
}

/* A structure that the library has no files for is written by lethe._files, in the same way. */
static PyObject *save_bytes(PyObject *self, PyObject *path) {
    PyObject *files = PyImport_ImportModule("lethe._files");
    PyObject *bytes = files != NULL ? object_to_bytes(self, NULL) : NULL;
    PyObject *result =
        bytes != NULL ? PyObject_CallMethod(files, "replace", "OO", path, bytes) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(files);
    return result;
}

static PyObject *load_bytes(PyObject *class, PyObject *path) {
    PyObject *files = PyImport_ImportModule("lethe._files");
    PyObject *bytes = files != NULL ? PyObject_CallMethod(files, "read", "O", path) : NULL;
    PyObject *made = bytes != NULL ? object_from_bytes(class, &bytes, 1, NULL) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(files);
    return made;
}

PyObject *object_save(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"path"};
    lethe_object *own = (lethe_object *)self;
    PyObject *given[1];
    if (arguments_take("save", args, count, names, parameters, 1, 1, given) != 0) return NULL;
    if (own->kind->row->save_file == NULL) return save_bytes(self, given[0]);
    PyObject *path = arguments_path(given[0]);
    if (path == NULL) return NULL;
    if (object_enter(own, GUARD_READ) != 0) {
        Py_DECREF(path);
        return NULL;
    }
    const char *name = PyBytes_AsString(path);
    lethe_detail detail = {{0}};
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = own->kind->row->save_file(own->object, name, &detail);
    PyEval_RestoreThread(thread);
    object_leave(own, GUARD_READ);
    Py_DECREF(path);
    if (status != LETHE_OK) return errors_raise(status, own->kind->name, &detail, NULL);
    Py_RETURN_NONE;
}

PyObject *object_load(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"path"};
    const struct kind *kind = object_kind_of((PyTypeObject *)self);
    PyObject *given[1];
    if (arguments_take("load", args, count, names, parameters, 1, 1, given) != 0) return NULL;
    if (kind->row->load_file == NULL) return load_bytes(self, given[0]);
    PyObject *path = arguments_path(given[0]);
    if (path == NULL) return NULL;
    const char *name = PyBytes_AsString(path);
    void *made = NULL;
    lethe_detail detail = {{0}};
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = kind->row->load_file(name, NULL, &made, &detail);
    PyEval_RestoreThread(thread);
    Py_DECREF(path);
    if (status != LETHE_OK) return errors_raise(status, kind->name, &detail, NULL);
    return object_wrap((PyTypeObject *)self, kind, made, false);
}

PyObject *object_reduce(PyObject *self, PyObject *unused) {
    PyObject *bytes = object_to_bytes(self, unused);
    PyObject *maker =
        bytes != NULL ? PyObject_GetAttrString((PyObject *)Py_TYPE(self), "from_bytes") : NULL;
    PyObject *reduced = maker != NULL ? Py_BuildValue("O(O)", maker, bytes) : NULL;
    Py_XDECREF(maker);
    Py_XDECREF(bytes);
    return reduced;
}
