/* workers.c - threads for slow requests, first come, first served; see workers.h. */
#include "server/workers.h"

#include "server/http.h"
#include "server/request.h"
#include "server/routes.h"

static void *work(void *context) {
    struct workers *workers = context;
    pthread_mutex_lock(&workers->lock);
    while (!workers->stops || workers->first != NULL) {
        struct request *request = workers->first;
        if (request == NULL) {
            pthread_cond_wait(&workers->changed, &workers->lock);
            continue;
        }
        workers->first = request->next;
        if (workers->first == NULL) workers->last = &workers->first;
        pthread_mutex_unlock(&workers->lock);
        request->route->run(request);
        http_has_run(request);
        pthread_mutex_lock(&workers->lock);
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

bool workers_begin(struct workers *workers, size_t count) {
    *workers = (struct workers){.last = &workers->first};
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->changed, NULL);
    while (workers->thread_count < count &&
           pthread_create(&workers->threads[workers->thread_count], NULL, work, workers) == 0) {
        workers->thread_count++;
    }
    return workers->thread_count == count;
}

bool workers_add(struct workers *workers, struct request *request) {
    pthread_mutex_lock(&workers->lock);
    bool stops = workers->stops;
    if (!stops) {
        request->next = NULL;
        *workers->last = request;
        workers->last = &request->next;
        pthread_cond_signal(&workers->changed);
    }
    pthread_mutex_unlock(&workers->lock);
    return !stops;
}

void workers_end(struct workers *workers) {
    pthread_mutex_lock(&workers->lock);
    workers->stops = true;
    pthread_cond_broadcast(&workers->changed);
    pthread_mutex_unlock(&workers->lock);
    for (size_t i = 0; i < workers->thread_count; i++) {
        pthread_join(workers->threads[i], NULL);
    }
    pthread_cond_destroy(&workers->changed);
    pthread_mutex_destroy(&workers->lock);
}
