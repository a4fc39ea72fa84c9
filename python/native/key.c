/* python/native/key.c - one key: keys.h has the rule. */
#include "keys.h"

static int take_integer(PyObject *object, uint64_t *out) {
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0) {
        *out = (uint64_t)value;
        return value == -1 && PyErr_Occurred() ? -1 : 0;
    }
    if (overflow > 0) *out = PyLong_AsUnsignedLongLong(object);
    if (overflow > 0 && !PyErr_Occurred()) return 0;
    PyErr_SetString(PyExc_OverflowError, "an integer key must be from -2^63 to 2^64 - 1");
    return -1;
}

/* Integers that are not int, such as NumPy's; bytes that may change, which are copied. */
static int take_other(PyObject *object, struct key *out) {
    if (PyIndex_Check(object)) {
        PyObject *number = PyNumber_Index(object);
        int failed = number != NULL ? take_integer(number, &out->number) : -1;
        Py_XDECREF(number);
        out->bytes = (lethe_bytes){&out->number, sizeof out->number};
        return failed;
    }
    bool is_bytes = PyByteArray_Check(object);
    if (PyMemoryView_Check(object)) {
        Py_buffer view;
        if (PyObject_GetBuffer(object, &view, PyBUF_CONTIG_RO | PyBUF_FORMAT) != 0) return -1;
        is_bytes = view.itemsize == 1 && view.ndim <= 1;
        PyBuffer_Release(&view);
    }
    if (!is_bytes) {
        PyErr_Format(PyExc_TypeError, "a key must be bytes, str or int, not %R",
                     (PyObject *)Py_TYPE(object));
        return -1;
    }
    out->owner = PyBytes_FromObject(object);
    if (out->owner == NULL) return -1;
    out->bytes = (lethe_bytes){PyBytes_AsString(out->owner), (size_t)PyBytes_Size(out->owner)};
    return 0;
}

int key_take(PyObject *object, struct key *out) {
    Py_ssize_t size = 0;
    out->owner = NULL;
    if (PyUnicode_Check(object)) {
        const char *text = PyUnicode_AsUTF8AndSize(object, &size);
        out->bytes = (lethe_bytes){text, (size_t)size};
        return text != NULL ? 0 : -1;
    }
    if (PyBytes_Check(object)) {
        out->bytes = (lethe_bytes){PyBytes_AsString(object), (size_t)PyBytes_Size(object)};
        return 0;
    }
    if (PyLong_Check(object)) {
        out->bytes = (lethe_bytes){&out->number, sizeof out->number};
        return take_integer(object, &out->number);
    }
    return take_other(object, out);
}

void key_free(struct key *key) {
    Py_CLEAR(key->owner);
}

int key_hash(PyObject *object, uint64_t seed, lethe_hash *out) {
    struct key key;
    if (key_take(object, &key) != 0) {
        key_free(&key);
        return -1;
    }
    /* An integer's 8 bytes are little-endian on every machine. */
    *out = key.bytes.data == &key.number ? lethe_hash_u64(seed, key.number)
                                         : lethe_hash_bytes(seed, key.bytes.data, key.bytes.size);
    key_free(&key);
    return 0;
}
