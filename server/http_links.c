/* http_links.c - connections, and how long each may take for what it does.
 *
 * WHY     The library ends connections on which nothing happens. Somebody who sends a byte now and
 *         then keeps one for ever, and so does somebody who takes one now and then: so each stage
 *         of a request has a deadline of its own, after which the connection is shut down. The
 *         library notices, and cleans up. */
#include <linux/sockios.h>
#include <math.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "frame/clock.h"
#include "server/caps.h"
#include "server/http_internal.h"

void links_begin(struct links *links, atomic_size_t *open) {
    *links = (struct links){.open = open};
    pthread_mutex_init(&links->lock, NULL);
}

void links_end(struct links *links) {
    pthread_mutex_destroy(&links->lock);
}

static void add(struct links *links, struct MHD_Connection *connection, void **context) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct link *link = info != NULL ? calloc(1, sizeof *link) : NULL;
    *context = link;
    if (link == NULL) return; /* it has no deadline then */
    link->links = links;
    link->descriptor = info->connect_fd;
    link->deadline_s = clock_seconds() + IDLE_SECONDS;
    pthread_mutex_lock(&links->lock);
    link->next = links->first;
    link->at = &links->first;
    if (link->next != NULL) link->next->at = &link->next;
    links->first = link;
    pthread_mutex_unlock(&links->lock);
}

static void drop(struct links *links, struct link *link) {
    if (link == NULL) return;
    pthread_mutex_lock(&links->lock);
    *link->at = link->next;
    if (link->next != NULL) link->next->at = link->at;
    pthread_mutex_unlock(&links->lock);
    free(link);
}

void links_notify(void *context, struct MHD_Connection *connection, void **socket_context,
                  enum MHD_ConnectionNotificationCode code) {
    struct links *links = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        atomic_fetch_add(links->open, 1);
        add(links, connection, socket_context);
    } else {
        atomic_fetch_sub(links->open, 1);
        drop(links, *socket_context);
        *socket_context = NULL;
    }
}

/* How long a stage may take at most when the server ends. */
static double most_of(enum link_stage stage) {
    return stage == LINK_BODY ? DRAIN_BODY_SECONDS : DRAIN_ANSWER_SECONDS;
}

static struct link *link_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

void links_stage(struct MHD_Connection *connection, enum link_stage stage, double seconds) {
    struct link *link = link_of(connection);
    if (link == NULL) return;
    pthread_mutex_lock(&link->links->lock);
    bool hurries = link->links->hurries || link->links->retires;
    if (hurries && seconds > most_of(stage)) seconds = most_of(stage);
    link->stage = stage;
    link->deadline_s = clock_seconds() + seconds;
    /* It has its answer: the kernel still sends what it was given of it. */
    if (stage == LINK_IDLE && link->links->retires) shutdown(link->descriptor, SHUT_RDWR);
    pthread_mutex_unlock(&link->links->lock);
}

bool links_is_retired(struct MHD_Connection *connection) {
    struct link *link = link_of(connection);
    if (link == NULL) return false;
    pthread_mutex_lock(&link->links->lock);
    bool retires = link->links->retires;
    pthread_mutex_unlock(&link->links->lock);
    return retires;
}

/* What a reader has not taken until now is thrown away when the connection is closed, and does not
 * stay with the kernel. */
static void drop_unsent(int descriptor) {
    const struct linger now_or_never = {.l_onoff = 1};
    int unsent = 0;
    if (ioctl(descriptor, SIOCOUTQ, &unsent) != 0 || unsent == 0) return;
    (void)setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now_or_never, sizeof now_or_never);
}

/* With the lock. Ends those that had to be ready by a time. */
static void end_due(struct links *links, double time) {
    for (struct link *link = links->first; link != NULL; link = link->next) {
        if (link->stage == LINK_ANSWERS || time < link->deadline_s) continue;
        drop_unsent(link->descriptor);
        shutdown(link->descriptor, SHUT_RDWR);
        link->deadline_s = clock_seconds() + IDLE_SECONDS;
    }
}

void links_end_slow(struct links *links) {
    pthread_mutex_lock(&links->lock);
    end_due(links, clock_seconds());
    pthread_mutex_unlock(&links->lock);
}

void links_retire(struct links *links) {
    pthread_mutex_lock(&links->lock);
    links->retires = true;
    end_due(links, HUGE_VAL);
    pthread_mutex_unlock(&links->lock);
}

void links_hurry(struct links *links) {
    double now = clock_seconds();
    pthread_mutex_lock(&links->lock);
    links->hurries = true;
    for (struct link *link = links->first; link != NULL; link = link->next) {
        double most = now + most_of(link->stage);
        if (link->deadline_s > most) link->deadline_s = most;
    }
    pthread_mutex_unlock(&links->lock);
}
