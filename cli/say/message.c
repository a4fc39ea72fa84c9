/* message.c - says what went wrong, and is the one place that turns a lethe_status into words,
 * advice and an exit code. */
#include "say/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lethe/io.h"
#include "say/progress.h"

/* A name can be 4096 bytes long, and each byte may become four. */
enum { MESSAGE_BYTES = 16384 };

static _Thread_local char *diverted;
static _Thread_local size_t diverted_size;

void message_divert(char *room, size_t size) {
    diverted = room;
    diverted_size = size;
}

__attribute__((format(printf, 2, 0))) static void say(const char *kind, const char *format,
                                                      va_list arguments) {
    char text[MESSAGE_BYTES];
    vsnprintf(text, sizeof text, format, arguments);
    char line[4 * MESSAGE_BYTES];
    size_t length = 0;
    for (const char *from = text; *from != '\0'; from++) {
        unsigned char byte = (unsigned char)*from;
        if (byte < 0x20 || byte == 0x7f) {
            length += (size_t)snprintf(line + length, sizeof line - length, "\\x%02x", byte);
        } else {
            line[length++] = *from;
        }
    }
    line[length] = '\0';
    if (diverted != NULL) {
        snprintf(diverted, diverted_size, "%s", line);
        return;
    }
    progress_hide();
    fprintf(stderr, "lethe: %s%s\n", kind, line);
}

int message_fail(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("", format, arguments);
    va_end(arguments);
    return code;
}

int message_fail_memory(void) {
    return message_fail(EXIT_ENVIRONMENT, "not enough memory; free some");
}

void message_warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("warning: ", format, arguments);
    va_end(arguments);
}

void message_note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("", format, arguments);
    va_end(arguments);
}

/* What each failure of the library means at the command line. The reason follows the file's
 * name; where errno knows more it follows the reason. */
static const struct explanation {
    int code;
    bool has_errno;
    const char *reason;
    const char *advice;
} explanations[] = {
    [LETHE_EINVAL] = {EXIT_ENVIRONMENT, true, "not a regular file", "name a regular file"},
    [LETHE_ENOMEM] = {EXIT_ENVIRONMENT, false, "not enough memory for it",
                      "use a machine with more memory or a smaller filter"},
    [LETHE_EMISMATCH] = {EXIT_BAD_DATA, false, "it differs in shape or seed from the others",
                         "build it again with the same options"},
    [LETHE_EFULL] = {EXIT_BAD_DATA, false, "it is full", "build a larger one"},
    [LETHE_ETYPE] = {EXIT_BAD_DATA, false, "it is of another type",
                     "name a file of the right type"},
    [LETHE_EVERSION] = {EXIT_BAD_DATA, false, "it was written by a newer lethe", "upgrade lethe"},
    [LETHE_ECORRUPT] = {EXIT_BAD_DATA, false,
                        "it is damaged or not a Lethe file (checksum or length is wrong)",
                        "restore it from a backup or build it again"},
    [LETHE_EIO] = {EXIT_ENVIRONMENT, true, "input/output error",
                   "check the permissions and the device"},
    [LETHE_ENOSPACE] = {EXIT_ENVIRONMENT, true, "no space left",
                        "make room there or choose another place; nothing was changed"},
    [LETHE_ENOTFOUND] = {EXIT_ENVIRONMENT, true, "no such file", "check the name"},
    [LETHE_EBUSY] = {EXIT_ENVIRONMENT, false, "another process is writing to it",
                     "wait until it is done, or stop it"},
    [LETHE_EDEVICE] = {EXIT_ENVIRONMENT, false, "the device failed", "check its driver"},
};

/* The header of a file names its type and version, which make the message exact. */
static void describe_file(lethe_status status, const char *path, char *text, size_t size) {
    text[0] = '\0';
    if (status != LETHE_ETYPE && status != LETHE_EVERSION) return;
    lethe_file_info info = LETHE_INIT(lethe_file_info);
    lethe_status peeked = lethe_file_peek(path, &info, NULL);
    if (peeked != LETHE_OK && peeked != LETHE_EVERSION) return;
    if (info.type[0] == '\0') return;
    if (status == LETHE_ETYPE) {
        snprintf(text, size, " (type %s)", info.type);
    } else {
        snprintf(text, size, " (format version %u)", info.version);
    }
}

int message_fail_file(lethe_status status, const char *attempt, const char *path) {
    int error = errno;
    static const struct explanation unknown = {EXIT_ENVIRONMENT, false, NULL, "report this"};
    const struct explanation *why = &unknown;
    if ((size_t)status < sizeof explanations / sizeof explanations[0] &&
        explanations[status].reason != NULL) {
        why = &explanations[status];
    }
    const char *reason = why->reason != NULL ? why->reason : lethe_strerror(status);
    /* EINVAL is the library's word for "no regular file"; the system's would mislead. */
    if (why->has_errno && error != 0 && error != EINVAL) reason = strerror(error);
    char details[64];
    describe_file(status, path, details, sizeof details);
    return message_fail(why->code, "cannot %s %s: %s%s; %s", attempt, path, reason, details,
                        why->advice);
}
