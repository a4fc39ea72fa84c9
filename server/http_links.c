/* http_links.c - connections, and how long each may take for what it does.
 *
 * WHY     The library ends connections on which nothing happens. Somebody who sends a byte now and
 *         then keeps one for ever: so each stage of a request has a deadline of its own, after
 *         which the connection is shut down. The library notices, and cleans up. */
#include <stdlib.h>
#include <sys/socket.h>

#include "frame/clock.h"
#include "server/caps.h"
#include "server/http_internal.h"

void links_begin(struct links *links) {
    *links = (struct links){0};
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
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        add(context, connection, socket_context);
    } else {
        drop(context, *socket_context);
        *socket_context = NULL;
    }
}

void links_stage(struct MHD_Connection *connection, enum link_stage stage, double seconds) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct link *link = info != NULL ? info->socket_context : NULL;
    if (link == NULL) return;
    pthread_mutex_lock(&link->links->lock);
    link->stage = stage;
    link->deadline_s = clock_seconds() + seconds;
    pthread_mutex_unlock(&link->links->lock);
}

void links_end_slow(struct links *links) {
    double now = clock_seconds();
    pthread_mutex_lock(&links->lock);
    for (struct link *link = links->first; link != NULL; link = link->next) {
        if (link->stage == LINK_ANSWERS || now < link->deadline_s) continue;
        shutdown(link->descriptor, SHUT_RDWR);
        link->deadline_s = now + IDLE_SECONDS;
    }
    pthread_mutex_unlock(&links->lock);
}
