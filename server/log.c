/* log.c - the server's messages; see log.h. */
#include "server/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "frame/clock.h"
#include "say/json.h"
#include "say/message.h"

enum { MESSAGE_BYTES = 1024 };

static bool is_json;

void log_begin(bool json) {
    is_json = json;
}

static void write_json(const char *level, const char *what, const char *text) {
    flockfile(stderr); /* a line stays in one piece */
    struct json json = json_begin(stderr);
    json_integer(&json, "time_ms", clock_wall_ms());
    json_string(&json, "level", level);
    json_string(&json, "event", what);
    json_string(&json, "message", text);
    json_end(&json);
    fflush(stderr);
    funlockfile(stderr);
}

__attribute__((format(printf, 3, 0))) static void write_log(bool is_warning, const char *what,
                                                            const char *format, va_list arguments) {
    char text[MESSAGE_BYTES];
    vsnprintf(text, sizeof text, format, arguments);
    if (is_json)
        write_json(is_warning ? "warning" : "info", what, text);
    else if (is_warning)
        message_warn("%s", text);
    else
        message_note("%s", text);
}

void log_note(const char *what, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_log(false, what, format, arguments);
    va_end(arguments);
}

void log_warn(const char *what, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_log(true, what, format, arguments);
    va_end(arguments);
}
