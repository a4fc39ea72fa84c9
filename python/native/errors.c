/* python/native/errors.c - from a status to an exception: errors.h has the contract.
 *
 * IDEA    One table of classes, one for each status. Each is a lethe.Error and, where Python has a
 *         class of its own for such a failure, that one too, so that `except FileNotFoundError`
 *         and `except lethe.NotFoundError` both work. */
#include "errors.h"

static PyObject *error_class, *closed_class;

static struct error_kind {
    lethe_status status;
    const char *name;
    const char *doc;
    /* Set when the module starts, except where NULL stays for none. */
    PyObject **second_base;
    PyObject *class;
} kinds[] = {
    {LETHE_EINVAL, "lethe.InvalidError", "An option or argument is out of its range.",
     &PyExc_ValueError, NULL},
    {LETHE_ENOMEM, "lethe.NoMemoryError", "There is not enough memory.", &PyExc_MemoryError, NULL},
    {LETHE_EMISMATCH, "lethe.MismatchError", "Two objects differ in shape or seed.",
     &PyExc_ValueError, NULL},
    {LETHE_EFULL, "lethe.FullError", "The structure holds all it can.", NULL, NULL},
    {LETHE_ETYPE, "lethe.FileTypeError", "The saved data is of another type.", &PyExc_ValueError,
     NULL},
    {LETHE_EVERSION, "lethe.VersionError", "The saved data is of a newer version.",
     &PyExc_ValueError, NULL},
    {LETHE_ECORRUPT, "lethe.CorruptError", "The saved data is damaged, or not Lethe's.",
     &PyExc_ValueError, NULL},
    {LETHE_EIO, "lethe.ReadWriteError", "Reading or writing failed.", &PyExc_OSError, NULL},
    {LETHE_ENOSPACE, "lethe.NoSpaceError", "The disk or the quota is full.", &PyExc_OSError, NULL},
    {LETHE_ENOTFOUND, "lethe.NotFoundError", "There is no such file or entry.",
     &PyExc_FileNotFoundError, NULL},
    {LETHE_EBUSY, "lethe.BusyError", "Another process, or another object of this one, has it open.",
     NULL, NULL},
    {LETHE_EDEVICE, "lethe.DeviceError", "A device was lost.", NULL, NULL},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static PyObject *make_class(PyObject *module, const char *name, const char *doc, PyObject *base,
                            PyObject *second_base) {
    PyObject *bases = second_base != NULL ? PyTuple_Pack(2, base, second_base) : Py_NewRef(base);
    PyObject *made = bases != NULL ? PyErr_NewExceptionWithDoc(name, doc, bases, NULL) : NULL;
    Py_XDECREF(bases);
    const char *short_name = name + sizeof "lethe." - 1;
    if (made != NULL && PyModule_AddObjectRef(module, short_name, made) != 0) Py_CLEAR(made);
    return made;
}

int errors_start(PyObject *module) {
    error_class = make_class(module, "lethe.Error",
                             "What Lethe reports. status is its number in lethe/status.h; results, "
                             "after a batch, says what each item met, else it is None.",
                             PyExc_Exception, NULL);
    if (error_class == NULL) return -1;
    if (PyObject_SetAttrString(error_class, "results", Py_None) != 0) return -1;
    for (size_t i = 0; i < KINDS; i++) {
        PyObject *second_base = kinds[i].second_base != NULL ? *kinds[i].second_base : NULL;
        kinds[i].class = make_class(module, kinds[i].name, kinds[i].doc, error_class, second_base);
        PyObject *number = PyLong_FromLong(kinds[i].status);
        bool is_made = kinds[i].class != NULL && number != NULL &&
                       PyObject_SetAttrString(kinds[i].class, "status", number) == 0;
        Py_XDECREF(number);
        if (!is_made) return -1;
    }
    closed_class = make_class(module, "lethe.ClosedError", "The object was closed before.",
                              kinds[0].class, NULL);
    return closed_class != NULL ? 0 : -1;
}

PyObject *errors_raise(lethe_status status, const char *what, const lethe_detail *detail,
                       PyObject *results) {
    PyObject *class = error_class;
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].status == status) class = kinds[i].class;
    PyObject *text =
        detail != NULL && detail->text[0] != '\0'
            ? PyUnicode_DecodeUTF8(detail->text, (Py_ssize_t)strlen(detail->text), "replace")
            : PyUnicode_FromFormat("%s: %s", what, lethe_strerror(status));
    PyObject *error = text != NULL ? PyObject_CallFunctionObjArgs(class, text, NULL) : NULL;
    Py_XDECREF(text);
    if (error == NULL) return NULL;
    if (results == NULL || PyObject_SetAttrString(error, "results", results) == 0)
        PyErr_SetObject(class, error);
    Py_DECREF(error);
    return NULL;
}

PyObject *errors_raise_closed(const char *what) {
    PyErr_Format(closed_class, "this %s is closed", what);
    return NULL;
}
