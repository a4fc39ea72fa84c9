/* engine/detail.c - what went wrong, for people. */
#include "engine/detail.h"

#include <stdarg.h>
#include <stdio.h>

lethe_status lethe_detail_fill(lethe_detail *detail, lethe_status status, const char *format, ...) {
    if (detail == NULL) return status;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(detail->text, sizeof detail->text, format, arguments);
    va_end(arguments);
    return status;
}
