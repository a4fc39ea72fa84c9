/* python/native/arguments.c - arguments of methods, and options of structures: arguments.h. */
#include "arguments.h"

#include <string.h>
#include <time.h>

#include "lethe/store.h"

static int find_name(PyObject *name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) return (int)i;
    return -1;
}

static int take_named(const char *function, PyObject *const *values, PyObject *given_names,
                      const char *const *names, size_t count, PyObject **out) {
    Py_ssize_t given = PyTuple_Size(given_names);
    for (Py_ssize_t i = 0; i < given; i++) {
        PyObject *name = PyTuple_GetItem(given_names, i);
        int at = find_name(name, names, count);
        if (at < 0 || out[at] != NULL) {
            PyErr_Format(PyExc_TypeError,
                         at < 0 ? "%s() has no argument '%U'" : "%s() got '%U' twice", function,
                         name);
            return -1;
        }
        out[at] = values[i];
    }
    return 0;
}

int arguments_take(const char *function, PyObject *const *given, Py_ssize_t given_count,
                   PyObject *given_names, const char *const *names, size_t count, size_t needed,
                   PyObject **out) {
    size_t by_place = (size_t)given_count;
    if (by_place > count) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zu arguments (%zu given)", function,
                     count, by_place);
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        out[i] = i < by_place ? given[i] : NULL;
    if (given_names != NULL &&
        take_named(function, given + given_count, given_names, names, count, out) != 0)
        return -1;
    for (size_t i = 0; i < needed; i++) {
        if (out[i] != NULL && out[i] != Py_None) continue;
        PyErr_Format(PyExc_TypeError, "%s() needs '%s'", function, names[i]);
        return -1;
    }
    return 0;
}

static int refuse_range(const char *name, const char *range) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_OverflowError)) return -1;
    PyErr_Format(PyExc_ValueError, "%s must be %s", name, range);
    return -1;
}

/* The integer as Python's, or NULL with an exception that names the argument. */
static PyObject *as_integer(const char *name, PyObject *value) {
    if (PyIndex_Check(value)) return PyNumber_Index(value);
    PyErr_Format(PyExc_TypeError, "%s must be an integer", name);
    return NULL;
}

int arguments_u64(const char *name, PyObject *value, uint64_t *out) {
    if (value == NULL || value == Py_None) return 0;
    PyObject *number = as_integer(name, value);
    if (number == NULL) return -1;
    uint64_t result = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    if (PyErr_Occurred()) return refuse_range(name, "from 0 to 2^64 - 1");
    *out = result;
    return 0;
}

int arguments_i64(const char *name, PyObject *value, int64_t *out) {
    if (value == NULL || value == Py_None) return 0;
    PyObject *number = as_integer(name, value);
    if (number == NULL) return -1;
    int64_t result = PyLong_AsLongLong(number);
    Py_DECREF(number);
    if (PyErr_Occurred()) return refuse_range(name, "from -2^63 to 2^63 - 1");
    *out = result;
    return 0;
}

int arguments_size(const char *name, PyObject *value, size_t *out) {
    uint64_t result = *out;
    if (arguments_u64(name, value, &result) != 0) return -1;
    *out = (size_t)result;
    return 0;
}

int arguments_bool(PyObject *value, bool *out) {
    if (value == NULL || value == Py_None) return 0;
    int truth = PyObject_IsTrue(value);
    if (truth < 0) return -1;
    *out = truth != 0;
    return 0;
}

int arguments_time(PyObject *value, uint64_t *now_ms) {
    if (value != NULL && value != Py_None) return arguments_u64("now_ms", value, now_ms);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    return 0;
}

PyObject *arguments_path(PyObject *value) {
    PyObject *path = NULL;
    if (value == NULL || value == Py_None) {
        PyErr_SetString(PyExc_TypeError, "a path is needed");
        return NULL;
    }
    return PyUnicode_FSConverter(value, &path) != 0 ? path : NULL;
}

static int take_word(const struct option *option, PyObject *value, void *field) {
    int at = -1;
    for (int i = 0; option->words[i] != NULL; i++)
        if (PyUnicode_Check(value) &&
            PyUnicode_CompareWithASCIIString(value, option->words[i]) == 0)
            at = i;
    if (at >= 0) {
        memcpy(field, &at, sizeof at);
        return 0;
    }
    PyObject *list = PyUnicode_FromString("");
    for (int i = 0; list != NULL && option->words[i] != NULL; i++) {
        PyObject *longer =
            PyUnicode_FromFormat("%U%s'%s'", list, i == 0 ? "" : ", ", option->words[i]);
        Py_DECREF(list);
        list = longer;
    }
    if (list != NULL) PyErr_Format(PyExc_ValueError, "%s must be one of %U", option->name, list);
    Py_XDECREF(list);
    return -1;
}

static int take_number(const struct option *option, PyObject *value, void *field) {
    uint64_t number = 0;
    if (arguments_u64(option->name, value, &number) != 0) return -1;
    if (option->is_positive && number == 0) return refuse_range(option->name, "above 0");
    if (option->type == OPTION_U64) {
        memcpy(field, &number, sizeof number);
        return 0;
    }
    if (number > UINT32_MAX) return refuse_range(option->name, "below 2^32");
    uint32_t word = (uint32_t)number;
    memcpy(field, &word, sizeof word);
    return 0;
}

static int take_fraction(const struct option *option, PyObject *value, void *field) {
    double fraction = PyFloat_AsDouble(value);
    if (PyErr_Occurred()) return -1;
    if (!(fraction > 0)) return refuse_range(option->name, "above 0");
    memcpy(field, &fraction, sizeof fraction);
    return 0;
}

static int take_flag(const struct option *option, PyObject *value, void *field) {
    bool flag = false;
    if (arguments_bool(value, &flag) != 0) return -1;
    if (option->type == OPTION_BOOL) {
        memcpy(field, &flag, sizeof flag);
        return 0;
    }
    lethe_switch mode = flag ? LETHE_SWITCH_ON : LETHE_SWITCH_OFF;
    memcpy(field, &mode, sizeof mode);
    return 0;
}

static int take_text(const struct option *option, PyObject *value, void *field) {
    Py_ssize_t size = 0;
    const char *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &size) : NULL;
    if (text == NULL || strlen(text) != (size_t)size) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%s must be a str without NUL", option->name);
        return -1;
    }
    memcpy(field, &text, sizeof text);
    return 0;
}

static int take_option(const struct option *option, PyObject *value, void *field) {
    int64_t number = 0;
    int32_t word;
    switch (option->type) {
    case OPTION_U64:
    case OPTION_U32:
        return take_number(option, value, field);
    case OPTION_I32:
        if (arguments_i64(option->name, value, &number) != 0) return -1;
        if (number != (int32_t)number) return refuse_range(option->name, "a small number");
        word = (int32_t)number;
        memcpy(field, &word, sizeof word);
        return 0;
    case OPTION_F64:
        return take_fraction(option, value, field);
    case OPTION_BOOL:
    case OPTION_SWITCH:
        return take_flag(option, value, field);
    case OPTION_WORD:
        return take_word(option, value, field);
    case OPTION_TEXT:
        return take_text(option, value, field);
    }
    return 0;
}

int options_take(const char *what, const struct option *options, PyObject *keywords, void *out) {
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (keywords != NULL && PyDict_Next(keywords, &position, &name, &value)) {
        const struct option *option = options;
        while (option->name != NULL && PyUnicode_CompareWithASCIIString(name, option->name) != 0)
            option++;
        if (option->name == NULL) {
            PyErr_Format(PyExc_TypeError, "%s has no option '%U'", what, name);
            return -1;
        }
        if (value == Py_None) continue;
        if (take_option(option, value, (char *)out + option->offset) != 0) return -1;
    }
    return 0;
}
