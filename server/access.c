/* access.c - tokens, hosts and origins; see access.h.
 *
 * WHY     A page of another site, open in a browser on the same machine, can send requests to the
 *         loopback address. Its Origin gives it away. If it has pointed a name of its own at that
 *         address, its Host does. */
#include "server/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct token_set {
    struct token *tokens;
    struct token_set *older;
};

/* What is wrong with a line, in words. */
enum { WRONG_BYTES = 96 };

static const struct token everybody = {.scopes = SCOPE_ALL};

static void free_set(struct token_set *set) {
    while (set != NULL && set->tokens != NULL) {
        struct token *token = set->tokens;
        set->tokens = token->next;
        free((void *)(uintptr_t)token->prefix.data);
        free(token);
    }
    free(set);
}

static bool read_scopes(char *text, unsigned *out) {
    static const struct {
        const char *name;
        unsigned scope;
    } all[] = {{"read", SCOPE_READ}, {"write", SCOPE_WRITE}, {"admin", SCOPE_ADMIN}};
    char *rest = NULL;
    *out = 0;
    for (char *word = strtok_r(text, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        unsigned scope = 0;
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            if (strcmp(word, all[i].name) == 0) scope = all[i].scope;
        }
        if (scope == 0) return false;
        *out |= scope;
    }
    return *out != 0;
}

static bool is_visible(const char *text) {
    for (; *text != '\0'; text++) {
        if (*text <= ' ' || *text > '~') return false;
    }
    return true;
}

/* Reads a line. Returns what is wrong with it, or NULL. */
static const char *read_line(char *line, struct token *token) {
    char *rest = NULL;
    const char *text = strtok_r(line, " \t\r\n", &rest);
    char *scopes = strtok_r(NULL, " \t\r\n", &rest);
    const char *prefix = strtok_r(NULL, " \t\r\n", &rest);
    size_t size = strlen(text);
    if (size < TOKEN_LEAST_BYTES || size > TOKEN_LIMIT_BYTES || !is_visible(text))
        return "a token has 16 to 255 visible ASCII characters";
    memcpy(token->text, text, size);
    if (scopes == NULL || !read_scopes(scopes, &token->scopes))
        return "after the token come its scopes: read, write, admin, with commas";
    if (prefix == NULL) return NULL;
    if (strncmp(prefix, "prefix=", 7) != 0 || prefix[7] == '\0' || strtok_r(NULL, " \t\r\n", &rest))
        return "after the scopes may come prefix=TEXT, and no more";
    char *copy = strdup(prefix + 7);
    if (copy == NULL) return "memory is short";
    token->prefix = (lethe_bytes){.data = copy, .size = strlen(copy)};
    return NULL;
}

/* All bytes are looked at, whatever the first ones are. */
static bool is_same(const unsigned char *one, const unsigned char *other) {
    volatile unsigned char differences = 0;
    for (size_t i = 0; i < TOKEN_LIMIT_BYTES + 1; i++) {
        differences |= (unsigned char)(one[i] ^ other[i]);
    }
    return differences == 0;
}

/* The token of a set with this text, padded with zeros; NULL if there is none. */
static const struct token *find(const struct token_set *set, const unsigned char *text) {
    const struct token *found = NULL;
    for (const struct token *token = set->tokens; token != NULL; token = token->next) {
        if (is_same(token->text, text)) found = token;
    }
    return found;
}

static const char *read_lines(FILE *file, struct token_set *set, unsigned *number,
                              char room[WRONG_BYTES]) {
    char line[2048];
    size_t count = 0;
    for (*number = 1; fgets(line, sizeof line, file) != NULL; (*number)++) {
        if (strchr(line, '\n') == NULL && !feof(file)) return "the line is too long";
        size_t blank = strspn(line, " \t\r\n");
        if (line[blank] == '#' || line[blank] == '\0') continue;
        if (++count > TOKENS_LIMIT) return "there are too many tokens";
        struct token *token = calloc(1, sizeof *token);
        if (token == NULL) return "memory is short";
        const char *wrong = read_line(line, token);
        const struct token *twin = find(set, token->text);
        token->line = *number;
        token->next = set->tokens;
        set->tokens = token;
        if (wrong != NULL) return wrong;
        if (twin == NULL) continue;
        snprintf(room, WRONG_BYTES, "this token is in line %u, too; give it one line", twin->line);
        return room;
    }
    return count == 0 ? "there is no token in it" : NULL;
}

static struct token_set *read_set(const char *path, char *problem, size_t size) {
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        snprintf(problem, size, "cannot read the tokens in %s: %s", path, strerror(errno));
        return NULL;
    }
    unsigned line = 0;
    char room[WRONG_BYTES];
    struct token_set *set = calloc(1, sizeof *set);
    const char *wrong = set != NULL ? read_lines(file, set, &line, room) : "memory is short";
    fclose(file);
    if (wrong == NULL) return set;
    snprintf(problem, size, "%s:%u: %s", path, line, wrong);
    free_set(set);
    return NULL;
}

bool access_init(struct access *access, const char *path, char *problem, size_t size) {
    *access = (struct access){.path = path};
    pthread_mutex_init(&access->lock, NULL);
    if (path == NULL) return true;
    access->current = read_set(path, problem, size);
    return access->current != NULL;
}

bool access_reload(struct access *access, char *problem, size_t size) {
    if (access->path == NULL) return true;
    struct token_set *set = read_set(access->path, problem, size);
    if (set == NULL) return false;
    pthread_mutex_lock(&access->lock);
    access->current->older = access->old;
    access->old = access->current;
    access->current = set;
    pthread_mutex_unlock(&access->lock);
    return true;
}

void access_free(struct access *access) {
    free_set(access->current);
    while (access->old != NULL) {
        struct token_set *older = access->old->older;
        free_set(access->old);
        access->old = older;
    }
    pthread_mutex_destroy(&access->lock);
}

static const struct token_set *set_of(struct access *access) {
    pthread_mutex_lock(&access->lock);
    const struct token_set *set = access->current;
    pthread_mutex_unlock(&access->lock);
    return set;
}

const struct token *access_find(struct access *access, const char *authorization) {
    static const char scheme[] = "Bearer ";
    unsigned char text[TOKEN_LIMIT_BYTES + 1] = {0};
    const struct token_set *set = set_of(access);
    if (set == NULL) return &everybody;
    if (authorization == NULL || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
        return NULL;
    const char *given = authorization + sizeof scheme - 1;
    size_t size = strlen(given);
    if (size > TOKEN_LIMIT_BYTES) return NULL;
    snprintf((char *)text, sizeof text, "%s", given);
    return find(set, text);
}

bool access_still(struct access *access, const struct token *token) {
    const struct token_set *set = set_of(access);
    if (set == NULL) return token == &everybody;
    const struct token *now = find(set, token->text);
    return now != NULL && now->scopes == token->scopes && now->prefix.size == token->prefix.size &&
           (token->prefix.size == 0 ||
            memcmp(now->prefix.data, token->prefix.data, token->prefix.size) == 0);
}

bool access_reaches(const struct token *token, lethe_bytes key) {
    return token->prefix.size == 0 ||
           (key.size >= token->prefix.size &&
            memcmp(key.data, token->prefix.data, token->prefix.size) == 0);
}

/* The length of a host without its port: [::1]:80, 127.0.0.1:80, localhost. All of it if what
 * follows is no port. */
static size_t name_length(const char *host) {
    const char *end = host[0] == '[' ? strchr(host, ']') : NULL;
    size_t size = end != NULL ? (size_t)(end - host) + 1 : strcspn(host, ":");
    size_t port = host[size] == ':' ? 1 + strspn(host + size + 1, "0123456789") : 0;
    return host[size + port] == '\0' ? size : strlen(host);
}

static bool is_name(const char *host, size_t size, const char *name, size_t name_size) {
    return size == name_size && strncasecmp(host, name, size) == 0;
}

bool access_host_is_ours(const char *host, const char *hosts, const char *listens) {
    static const char *const usual[] = {"localhost", "127.0.0.1", "[::1]"};
    size_t size = name_length(host);
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (is_name(host, size, usual[i], strlen(usual[i]))) return true;
    }
    if (is_name(host, size, listens, name_length(listens))) return true;
    while (hosts != NULL && *hosts != '\0') {
        size_t length = strcspn(hosts, ",");
        if (is_name(host, size, hosts, length)) return true;
        hosts += length + (hosts[length] == ',');
    }
    return false;
}

bool access_origin_is_ours(const char *origin, const char *host, bool is_tls) {
    const char *scheme = is_tls ? "https://" : "http://";
    size_t size = strlen(scheme);
    return strncasecmp(origin, scheme, size) == 0 && strcasecmp(origin + size, host) == 0;
}
