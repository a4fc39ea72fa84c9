/* bench/redis_link.h - a connection to a server of this machine, one command after another or many
 * at once.
 *
 * Nothing here ends the program: a server that is killed is part of what is measured. */
#ifndef LETHE_BENCH_REDIS_LINK_H
#define LETHE_BENCH_REDIS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redis_link {
    int socket; /* -1: closed */
    char received[1 << 16];
    size_t at, end;
};

/* Each connects, waiting for that long at most; so does every answer. False: there is no server. */
bool redis_link_open(struct redis_link *link, int port, unsigned timeout_ms);
bool redis_link_open_socket(struct redis_link *link, const char *path, unsigned timeout_ms);
void redis_link_close(struct redis_link *link); /* may be closed already */

bool redis_link_send(struct redis_link *link, const char *bytes, size_t size);

/* An answer. Of an array, its elements are read too, and the first number in it is kept. */
struct redis_answer {
    char kind; /* as in the protocol: '+', '-', ':', '$', '*' */
    int64_t number;
    char text[1024]; /* of a string, as much as fits */
};
/* Reads an answer; false when the connection is lost, or takes too long. */
bool redis_link_receive(struct redis_link *link, struct redis_answer *answer);

/* Commands, one after another, in memory that grows. */
struct redis_text {
    char *bytes;
    size_t size, room;
    unsigned commands;
};
/* Appends a command whose words are separated by single blanks, after printf. */
void redis_text_add(struct redis_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void redis_text_clear(struct redis_text *text);
void redis_text_free(struct redis_text *text);

/* Sends one command and reads its answer. */
bool redis_link_ask(struct redis_link *link, struct redis_answer *answer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
