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

void log_note(const char *what, const char *format, ...) {
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (is_json)
        write_json("info", what, text);
    else
        message_note("%s", text);
}

void log_warn(const char *what, const char *format, ...) {
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (is_json)
        write_json("warning", what, text);
    else
        message_warn("%s", text);
}
