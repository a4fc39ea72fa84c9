/* access.c - reads how servers are reached, and as whom. */
#include "redis/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "frame/arguments.h"
#include "say/message.h"

/* --- The password */

static int fail_length(const char *where) {
    return message_fail(EXIT_BAD_DATA, "the password in %s is too long; %d bytes are the most",
                        where, REDIS_PASSWORD_BYTES - 1);
}

static void warn_of_readers(FILE *file, const char *path) {
    struct stat about;
    bool is_known = fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode);
    if (!is_known || (about.st_mode & S_IROTH) == 0) return;
    message_warn("--password-file: every user of this machine can read %s; chmod o-r it", path);
}

/* Takes the line out of what a file has: one line, whatever it ends with. */
static int take_line(const char *path, char *text, size_t size) {
    if (size > 0 && text[size - 1] == '\n') size--;
    if (size > 0 && text[size - 1] == '\r') size--;
    text[size] = '\0';
    if (size == 0) return message_fail(EXIT_BAD_DATA, "--password-file: %s is empty", path);
    if (strlen(text) != size || strpbrk(text, "\r\n") != NULL) {
        return message_fail(EXIT_BAD_DATA,
                            "--password-file: %s is not one line of text; write the password and "
                            "nothing else into it",
                            path);
    }
    return size < REDIS_PASSWORD_BYTES ? EXIT_DONE : fail_length(path);
}

static int read_password_file(const char *path, char out[REDIS_PASSWORD_BYTES]) {
    static char text[REDIS_PASSWORD_BYTES + 3]; /* with the end of the line, and one byte more */
    FILE *file = fopen(path, "re");
    size_t size = 0;
    bool is_read = file != NULL && setvbuf(file, NULL, _IONBF, 0) == 0;
    if (is_read) {
        size = fread(text, 1, sizeof text - 1, file);
        is_read = ferror(file) == 0;
    }
    int code = EXIT_DONE;
    if (is_read) {
        warn_of_readers(file, path);
        code = take_line(path, text, size);
    } else {
        code =
            message_fail(EXIT_ENVIRONMENT,
                         "--password-file: cannot read %s: %s; check the name and the permissions",
                         path, strerror(errno));
    }
    if (file != NULL) fclose(file);
    if (code == EXIT_DONE) memcpy(out, text, strlen(text) + 1);
    explicit_bzero(text, sizeof text);
    return code;
}

static int read_password(const struct arguments *arguments, char out[REDIS_PASSWORD_BYTES]) {
    static const char *const names[] = {"LETHE_REDIS_PASSWORD", "REDISCLI_AUTH"};
    const char *path = arguments_text(arguments, "password-file");
    if (path != NULL) return read_password_file(path, out);
    for (size_t i = 0; i < 2; i++) {
        const char *password = getenv(names[i]);
        size_t size = password != NULL ? strlen(password) : 0;
        if (size == 0) continue;
        if (size >= REDIS_PASSWORD_BYTES) return fail_length(names[i]);
        memcpy(out, password, size + 1);
        return EXIT_DONE;
    }
    return EXIT_DONE;
}

/* --- The user */

static int read_user(const struct arguments *arguments, struct redis_access *out) {
    const char *named = arguments_text(arguments, "user"), *in_url = out->url.user;
    if (named == NULL) {
        memcpy(out->user, in_url, sizeof out->user);
        return EXIT_DONE;
    }
    size_t size = strlen(named);
    if (size == 0 || size >= sizeof out->user) {
        return arguments_fail(arguments, "the name of --user has %zu bytes; give one of 1 to %zu",
                              size, sizeof out->user - 1);
    }
    if (in_url[0] != '\0' && strcmp(named, in_url) != 0)
        return arguments_fail(arguments, "--user and the URL of --redis name two users");
    memcpy(out->user, named, size + 1);
    return EXIT_DONE;
}

/* --- TLS */

enum { TLS_OPTIONS = 4, OPTION_NAME_BYTES = 32 };

/* prefix: what the names of the options begin with, before tls. */
static int read_tls(const struct arguments *arguments, const char *prefix,
                    struct redis_access *out) {
    static const char *const kinds[TLS_OPTIONS] = {"ca", "cert", "key", "name"};
    char names[TLS_OPTIONS][OPTION_NAME_BYTES];
    const char *values[TLS_OPTIONS];
    for (size_t i = 0; i < TLS_OPTIONS; i++) {
        snprintf(names[i], sizeof names[i], "%stls-%s", prefix, kinds[i]);
        values[i] = arguments_text(arguments, names[i]);
        if (values[i] == NULL || out->url.is_tls) continue;
        return arguments_fail(
            arguments, "--%s needs TLS; write rediss:// instead of redis:// in --redis", names[i]);
    }
    struct redis_tls_options options = {
        .ca = values[0], .certificate = values[1], .key = values[2], .name = values[3]};
    if ((options.certificate == NULL) != (options.key == NULL)) {
        return arguments_fail(arguments, "--%s and --%s belong together; give both", names[1],
                              names[2]);
    }
    if (options.name != NULL &&
        (options.name[0] == '\0' || strlen(options.name) >= REDIS_HOST_BYTES)) {
        return arguments_fail(arguments, "--%s is no name of a host", names[3]);
    }
    return out->url.is_tls ? redis_tls_new(&options, &out->tls) : EXIT_DONE;
}

int redis_access_read_as(const struct arguments *arguments, const char *prefix,
                         struct redis_access *out) {
    *out = (struct redis_access){0};
    int code = redis_url_parse(arguments_text(arguments, "redis"), &out->url);
    if (code == EXIT_DONE) code = read_user(arguments, out);
    if (code == EXIT_DONE) code = read_password(arguments, out->password);
    if (code == EXIT_DONE) code = read_tls(arguments, prefix, out);
    return code;
}

int redis_access_read(const struct arguments *arguments, struct redis_access *out) {
    return redis_access_read_as(arguments, "", out);
}

void redis_access_free(struct redis_access *access) {
    redis_tls_free(access->tls);
    explicit_bzero(access, sizeof *access);
}

size_t redis_access_greet(const struct redis_access *access, bool selects,
                          struct redis_text *text) {
    size_t count = 0;
    bool has_user = access->user[0] != '\0';
    /* A user without a password may be one that needs none. */
    if (has_user || access->password[0] != '\0') {
        redis_text_begin(text, has_user ? 3 : 2);
        redis_text_string(text, "AUTH");
        if (has_user) redis_text_string(text, access->user);
        redis_text_string(text, access->password);
        count++;
    }
    if (selects && access->url.database > 0) {
        redis_text_begin(text, 2);
        redis_text_string(text, "SELECT");
        redis_text_count(text, access->url.database);
        count++;
    }
    return count;
}
