/* python/native/results.c - arrays that a batch fills: results.h has the contract. */
#include "results.h"

#include <string.h>

#include "keys.h"

static const struct {
    const char *format;
    const char *numpy_type;
    const char *letters;
    size_t bytes;
} types[] = {
    [RESULTS_BOOL] = {"?", "bool", "?Bb", 1},
    [RESULTS_U8] = {"B", "uint8", "?Bb", 1},
    [RESULTS_U64] = {"Q", "uint64", "QLN", 8},
    [RESULTS_I64] = {"q", "int64", "qln", 8},
};

static PyObject *make_numpy(size_t count, enum results_type type) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (numpy == NULL) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *made =
        PyObject_CallMethod(numpy, "zeros", "ns", (Py_ssize_t)count, types[type].numpy_type);
    Py_DECREF(numpy);
    return made;
}

static PyObject *make_view(size_t count, enum results_type type) {
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(count * types[type].bytes));
    if (bytes == NULL) return NULL;
    if (count > 0) memset(PyByteArray_AsString(bytes), 0, count * types[type].bytes);
    PyObject *view = PyMemoryView_FromObject(bytes);
    Py_DECREF(bytes);
    if (view == NULL) return NULL;
    PyObject *made = PyObject_CallMethod(view, "cast", "s", types[type].format);
    Py_DECREF(view);
    return made;
}

static bool is_suitable(const Py_buffer *view, size_t count, enum results_type type) {
    const char *format = view->format != NULL ? view->format : "B";
    if (strchr("@=<", *format) != NULL && *format != '\0') format++;
    return view->ndim == 1 && (size_t)view->itemsize == types[type].bytes &&
           (size_t)view->shape[0] == count && format[0] != '\0' && format[1] == '\0' &&
           strchr(types[type].letters, format[0]) != NULL;
}

int results_take(const char *name, PyObject *given, size_t count, enum results_type type,
                 bool is_numpy, struct results *out) {
    *out = (struct results){0};
    if (given != NULL && given != Py_None) {
        out->object = Py_NewRef(given);
    } else {
        out->object = is_numpy ? make_numpy(count, type) : NULL;
        if (out->object == NULL && !PyErr_Occurred()) out->object = make_view(count, type);
    }
    if (out->object == NULL) return -1;
    if (PyObject_GetBuffer(out->object, &out->view, PyBUF_CONTIG | PyBUF_FORMAT) != 0) return -1;
    out->data = out->view.buf;
    if (is_suitable(&out->view, count, type)) return 0;
    PyErr_Format(PyExc_ValueError, "%s must be an array of %zu elements of type %s", name, count,
                 types[type].numpy_type);
    return -1;
}

void results_free(struct results *results) {
    if (results->view.obj != NULL) PyBuffer_Release(&results->view);
    Py_CLEAR(results->object);
    results->data = NULL;
}

PyObject *results_give(struct results *results) {
    PyObject *object = results->object;
    results->object = NULL;
    results_free(results);
    return object;
}
