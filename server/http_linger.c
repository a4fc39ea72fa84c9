/* http_linger.c - connections whose answer was sent before all of their request had come.
 *
 * WHY     If a socket is closed while bytes of the other side are unread, the kernel resets the
 *         connection, and a sender that is still sending never sees its answer. So a second
 *         descriptor keeps the connection, and what still comes is thrown away until the sender is
 *         done, for LINGER_SECONDS and LINGER_BYTES at most.
 * I1      Only the thread takes connections out of the list; others add at its end. So what it
 *         polled for stays where it was. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame/clock.h"
#include "server/caps.h"
#include "server/http_internal.h"

enum { PIECE_BYTES = 64 << 10, PIECES = 16 };

struct lingering {
    int descriptor;
    double until_s;
    size_t left;
};

struct lingers {
    pthread_mutex_t lock;
    pthread_t thread;
    /* Written to when there is something new. */
    int news;
    bool stops, has_thread;
    size_t count;
    struct lingering all[LINGERS_LIMIT];
};

/* Throws away what has come. Returns whether more may come. */
static bool discard(struct lingering *one, char piece[PIECE_BYTES]) {
    for (unsigned i = 0; i < PIECES; i++) { /* others want their turn */
        ssize_t got = recv(one->descriptor, piece, PIECE_BYTES, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        if (got == 0 || (size_t)got >= one->left) return false;
        one->left -= (size_t)got;
    }
    return true;
}

/* With the lock: looks after the first `count`, and ends those that are done. */
static void look_after(struct lingers *linger, const struct pollfd *polled, size_t count,
                       char piece[PIECE_BYTES]) {
    double now = clock_seconds();
    size_t kept = 0;
    for (size_t i = 0; i < linger->count; i++) {
        struct lingering *one = &linger->all[i];
        bool stays = !linger->stops && now < one->until_s;
        if (stays && i < count && polled[i].revents != 0) stays = discard(one, piece);
        if (stays)
            linger->all[kept++] = *one;
        else
            close(one->descriptor);
    }
    linger->count = kept;
}

static void *keep(void *context) {
    struct lingers *linger = context;
    struct pollfd polled[LINGERS_LIMIT + 1];
    static char piece[PIECE_BYTES];
    uint64_t news;
    pthread_mutex_lock(&linger->lock);
    while (!linger->stops) {
        size_t count = linger->count;
        for (size_t i = 0; i < count; i++)
            polled[i] = (struct pollfd){.fd = linger->all[i].descriptor, .events = POLLIN};
        polled[count] = (struct pollfd){.fd = linger->news, .events = POLLIN};
        pthread_mutex_unlock(&linger->lock);
        (void)poll(polled, count + 1, count > 0 ? 1000 : -1);
        if (polled[count].revents != 0) (void)!read(linger->news, &news, sizeof news);
        pthread_mutex_lock(&linger->lock);
        look_after(linger, polled, count, piece); /* I1 */
    }
    look_after(linger, polled, 0, piece);
    pthread_mutex_unlock(&linger->lock);
    return NULL;
}

static void announce(struct lingers *linger) {
    const uint64_t one = 1;
    (void)!write(linger->news, &one, sizeof one);
}

struct lingers *linger_begin(void) {
    struct lingers *linger = calloc(1, sizeof *linger);
    if (linger == NULL) return NULL;
    pthread_mutex_init(&linger->lock, NULL);
    linger->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    linger->has_thread =
        linger->news >= 0 && pthread_create(&linger->thread, NULL, keep, linger) == 0;
    if (linger->has_thread) return linger;
    linger_end(linger);
    return NULL;
}

void linger_add(struct lingers *linger, struct MHD_Connection *connection, bool is_tls) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    int descriptor = info != NULL ? fcntl(info->connect_fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (descriptor < 0) return;
    pthread_mutex_lock(&linger->lock);
    bool fits = linger->count < LINGERS_LIMIT && !linger->stops;
    if (fits) {
        linger->all[linger->count++] =
            (struct lingering){.descriptor = descriptor,
                               .until_s = clock_seconds() + LINGER_SECONDS,
                               .left = LINGER_BYTES};
    }
    pthread_mutex_unlock(&linger->lock);
    if (!fits) {
        close(descriptor);
        return;
    }
    /* The answer is complete; TLS says so by itself. */
    if (!is_tls) (void)shutdown(descriptor, SHUT_WR);
    announce(linger);
}

void linger_end(struct lingers *linger) {
    if (linger == NULL) return;
    pthread_mutex_lock(&linger->lock);
    linger->stops = true;
    pthread_mutex_unlock(&linger->lock);
    if (linger->has_thread) {
        announce(linger);
        pthread_join(linger->thread, NULL);
    }
    if (linger->news >= 0) close(linger->news);
    pthread_mutex_destroy(&linger->lock);
    free(linger);
}
