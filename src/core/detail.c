/* core/detail.c - what went wrong, as a sentence for people. */
#include "core/detail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void lethe_detail_clear(lethe_detail *detail) {
    if (detail != NULL) detail->text[0] = '\0';
}

lethe_status lethe_detail_fill(lethe_detail *detail, lethe_status status, const char *format, ...) {
    if (detail == NULL) return status;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(detail->text, sizeof detail->text, format, arguments);
    va_end(arguments);
    return status;
}

lethe_status lethe_detail_of_file(lethe_detail *detail, lethe_status status, const char *attempt,
                                  const char *path) {
    int number = errno;
    bool by_system = status == LETHE_EIO || status == LETHE_ENOSPACE || status == LETHE_ENOTFOUND;
    const char *reason = by_system && number != 0 ? strerror(number) : lethe_strerror(status);
    if (status == LETHE_OK) {
        if (detail != NULL) detail->text[0] = 0;
    } else if (path == NULL) {
        (void)lethe_detail_fill(detail, status, "no file is named");
    } else {
        (void)lethe_detail_fill(detail, status, "cannot %s %s: %s", attempt, path, reason);
    }
    errno = number;
    return status;
}

lethe_status lethe_detail_of_folder(lethe_detail *detail, lethe_status status, const char *path) {
    if (status != LETHE_ENOTFOUND || errno != ENOENT || path == NULL)
        return lethe_detail_of_file(detail, status, "make", path);
    return lethe_detail_fill(detail, status,
                             "cannot make %s: %s; make the folder that it is to be in", path,
                             strerror(ENOENT));
}
