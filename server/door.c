/* door.c - opens the store again after a failure; see door.h.
 *
 * I1      The store is closed only while there is no user, and a user gets in only while the store
 *         is open and sound. */
#include "server/door.h"

#include <time.h>

#include "server/log.h"

enum { PAUSE_MS = 500 };

static void pause_ms(unsigned ms) {
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* Without the lock: nobody else has the store. */
static lethe_status open_again(struct door *door, lethe_store *failed, lethe_store **out) {
    lethe_detail detail = {""};
    (void)lethe_store_close(failed, NULL);
    /* It is there: a folder that has vanished is not made anew. */
    door->options.create = false;
    lethe_status status = lethe_store_open(door->folder, &door->options, out, &detail);
    if (status == LETHE_OK) {
        log_note("reopened", "the store is open again");
        if (detail.text[0] != '\0') log_warn("store_notice", "%s", detail.text);
    } else {
        log_warn("reopen_failed", "cannot open the store again yet: %s",
                 detail.text[0] != '\0' ? detail.text : lethe_strerror(status));
    }
    return status;
}

static void *keep(void *context) {
    struct door *door = context;
    pthread_mutex_lock(&door->lock);
    while (!door->stops) {
        if (!door->has_failed || door->users > 0) {
            pthread_cond_wait(&door->changed, &door->lock);
            continue;
        }
        lethe_store *failed = door->store, *store = NULL;
        door->store = NULL;
        pthread_mutex_unlock(&door->lock);
        pause_ms(PAUSE_MS);
        lethe_status status = open_again(door, failed, &store);
        pthread_mutex_lock(&door->lock);
        door->store = store;
        door->has_failed = store == NULL;
        if (store == NULL) door->why = status;
        door->reopened += store != NULL;
    }
    pthread_mutex_unlock(&door->lock);
    return NULL;
}

lethe_status door_open(struct door *door, const char *folder, const lethe_store_options *options,
                       lethe_detail *detail) {
    *door = (struct door){.folder = folder, .options = *options};
    pthread_mutex_init(&door->lock, NULL);
    pthread_cond_init(&door->changed, NULL);
    lethe_status status = lethe_store_open(folder, options, &door->store, detail);
    if (status != LETHE_OK) return status;
    door->has_keeper = pthread_create(&door->keeper, NULL, keep, door) == 0;
    return door->has_keeper ? LETHE_OK : LETHE_ENOMEM;
}

lethe_store *door_enter(struct door *door) {
    pthread_mutex_lock(&door->lock);
    lethe_store *store = door->has_failed ? NULL : door->store;
    door->users += store != NULL;
    pthread_mutex_unlock(&door->lock);
    return store;
}

lethe_status door_why(struct door *door) {
    pthread_mutex_lock(&door->lock);
    lethe_status why = door->why;
    pthread_mutex_unlock(&door->lock);
    return why;
}

void door_leave(struct door *door) {
    pthread_mutex_lock(&door->lock);
    if (--door->users == 0) pthread_cond_broadcast(&door->changed);
    pthread_mutex_unlock(&door->lock);
}

void door_fail(struct door *door, lethe_status status, const char *reason) {
    pthread_mutex_lock(&door->lock);
    bool is_first = !door->has_failed;
    if (is_first) door->why = status;
    door->has_failed = true;
    pthread_cond_broadcast(&door->changed);
    pthread_mutex_unlock(&door->lock);
    if (is_first)
        log_warn("store_failed", "the store failed (%s): %s", lethe_strerror(status), reason);
}

lethe_status door_close(struct door *door, lethe_detail *detail) {
    pthread_mutex_lock(&door->lock);
    door->stops = true;
    while (door->users > 0) {
        pthread_cond_wait(&door->changed, &door->lock);
    }
    pthread_cond_broadcast(&door->changed);
    pthread_mutex_unlock(&door->lock);
    if (door->has_keeper) pthread_join(door->keeper, NULL);
    lethe_status status = lethe_store_close(door->store, detail);
    door->store = NULL;
    pthread_cond_destroy(&door->changed);
    pthread_mutex_destroy(&door->lock);
    return status;
}
