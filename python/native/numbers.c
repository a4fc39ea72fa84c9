/* python/native/numbers.c - columns of integers, and what the elements of a buffer are. */
#include <string.h>

#include "arguments.h"
#include "keys.h"

struct element element_of(const Py_buffer *view) {
    const char *format = view->format != NULL ? view->format : "B";
    bool is_other_order = false;
    if (strchr("@=<>!", *format) != NULL && *format != '\0')
        is_other_order = *format == '>' || *format == '!', format++;
    while (*format >= '0' && *format <= '9')
        format++;
    if (format[0] == '\0' || format[1] != '\0') return (struct element){0};
    char letter = *format;
    if (letter == 's' || letter == 'x' || letter == 'O') return (struct element){.letter = letter};
    if (letter == 'c') return (struct element){.letter = 's'};
    if (is_other_order && view->itemsize > 1) return (struct element){0};
    if (letter == 'w') return (struct element){.letter = 'w'};
    bool is_signed = strchr("bhilqn", letter) != NULL;
    bool is_integer = is_signed || strchr("BHILQN?", letter) != NULL;
    return (struct element){.letter = is_integer ? 'i' : 0, .is_signed = is_signed};
}

uint64_t element_integer(const char *at, size_t bytes, bool is_signed) {
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 1:
        memcpy(&one, at, sizeof one);
        return is_signed ? (uint64_t)(int64_t)(int8_t)one : one;
    case 2:
        memcpy(&two, at, sizeof two);
        return is_signed ? (uint64_t)(int64_t)(int16_t)two : two;
    case 4:
        memcpy(&four, at, sizeof four);
        return is_signed ? (uint64_t)(int64_t)(int32_t)four : four;
    default:
        memcpy(&eight, at, sizeof eight);
        return eight;
    }
}

static int take_one(const char *name, PyObject *item, bool is_unsigned, int64_t *out) {
    if (!is_unsigned) return arguments_i64(name, item, out);
    uint64_t number = 0;
    if (arguments_u64(name, item, &number) != 0) return -1;
    *out = (int64_t)number;
    return 0;
}

static int refuse_length(const char *name, size_t given, size_t count) {
    PyErr_Format(PyExc_ValueError, "%s has %zu items where %zu are needed", name, given, count);
    return -1;
}

static int take_list(const char *name, PyObject *object, size_t count, bool is_unsigned,
                     struct numbers *out) {
    PyObject *items = PySequence_Tuple(object);
    if (items == NULL) return -1;
    size_t given = (size_t)PyTuple_Size(items);
    int failed = given == count ? 0 : refuse_length(name, given, count);
    if (failed == 0) {
        out->own = calloc(count + 1, sizeof *out->own);
        if (out->own == NULL) {
            PyErr_NoMemory();
            failed = -1;
        }
    }
    for (size_t i = 0; failed == 0 && i < count; i++) {
        PyObject *item = PyTuple_GetItem(items, (Py_ssize_t)i);
        if (item == Py_None) PyErr_Format(PyExc_TypeError, "%s must be integers", name);
        failed = item == Py_None ? -1 : take_one(name, item, is_unsigned, &out->own[i]);
    }
    Py_DECREF(items);
    return failed;
}

/* Elements of 8 unsigned bytes that do not fit, and negative ones where there can be none. */
static int check_range(const char *name, size_t count, bool is_unsigned,
                       const struct numbers *numbers) {
    if (numbers->is_signed != is_unsigned) return 0;
    if (!is_unsigned && numbers->item_bytes < 8) return 0;
    for (size_t i = 0; i < count; i++)
        if (numbers_at(numbers, i) < 0) {
            PyErr_Format(PyExc_ValueError, "%s: number %zu is out of range", name, i);
            return -1;
        }
    return 0;
}

static int take_array(const char *name, size_t count, bool is_unsigned, struct numbers *out) {
    struct element element = element_of(&out->view);
    if (element.letter != 'i' || out->view.ndim != 1) {
        PyErr_Format(PyExc_TypeError, "%s must be integers, in one dimension", name);
        return -1;
    }
    if ((size_t)out->view.shape[0] != count)
        return refuse_length(name, (size_t)out->view.shape[0], count);
    out->items = out->view.buf;
    out->item_bytes = (size_t)out->view.itemsize;
    out->stride = out->view.strides != NULL ? out->view.strides[0] : out->view.itemsize;
    out->is_signed = element.is_signed;
    return check_range(name, count, is_unsigned, out);
}

int numbers_take(const char *name, PyObject *object, size_t count, bool is_unsigned,
                 int64_t otherwise, struct numbers *out) {
    *out = (struct numbers){.all = otherwise};
    if (object == NULL || object == Py_None) return 0;
    if (PyLong_Check(object)) return take_one(name, object, is_unsigned, &out->all);
    if (PyObject_CheckBuffer(object)) {
        if (PyObject_GetBuffer(object, &out->view, PyBUF_RECORDS_RO) != 0) return -1;
        if (element_of(&out->view).letter == 'i' && out->view.ndim == 0) {
            PyBuffer_Release(&out->view);
            return take_one(name, object, is_unsigned, &out->all);
        }
        out->has_view = true;
        return take_array(name, count, is_unsigned, out);
    }
    if (PyObject_HasAttrString(object, "__array__")) {
        PyObject *array = PyObject_CallMethod(object, "__array__", NULL);
        if (array == NULL) return -1;
        bool is_buffer = PyObject_CheckBuffer(array) != 0;
        int failed = is_buffer ? numbers_take(name, array, count, is_unsigned, otherwise, out)
                               : take_list(name, array, count, is_unsigned, out);
        Py_DECREF(array);
        return failed;
    }
    return take_list(name, object, count, is_unsigned, out);
}

void numbers_free(struct numbers *numbers) {
    if (numbers->has_view) PyBuffer_Release(&numbers->view);
    free(numbers->own);
    *numbers = (struct numbers){0};
}

int64_t numbers_at(const struct numbers *numbers, size_t at) {
    if (numbers->own != NULL) return numbers->own[at];
    if (!numbers->has_view) return numbers->all;
    return (int64_t)element_integer(numbers->items + (ptrdiff_t)at * numbers->stride,
                                    numbers->item_bytes, numbers->is_signed);
}
