/* python/native/errors.h - from a status to an exception.
 *
 * Every status has an exception class of its own, below lethe.Error, which has the status as a
 * number and the detail as its text. */
#ifndef LETHE_PYTHON_ERRORS_H
#define LETHE_PYTHON_ERRORS_H

#include "lethe/status.h"
#include "python.h"

/* Adds the classes to the module. Returns 0, or -1 with an exception. */
int errors_start(PyObject *module);

/* Raises the exception of a status other than LETHE_OK and returns NULL. what names the object or
 * call; detail may be NULL or empty. results, unless NULL, becomes an attribute: what each item of
 * a batch met. */
PyObject *errors_raise(lethe_status status, const char *what, const lethe_detail *detail,
                       PyObject *results);

/* Raises lethe.ClosedError and returns NULL. */
PyObject *errors_raise_closed(const char *what);

#endif
