/* site.c - what needs no store: the page's files, /healthz and /readyz. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lethe/hash.h"
#include "page/page.h"
#include "server/routes.h"
#include "server/state.h"

const struct page_file *page_find(const char *path) {
    for (size_t i = 0; i < page_file_count; i++) {
        if (strcmp(page_files[i].path, path) == 0) return &page_files[i];
    }
    return NULL;
}

void answer_page(struct request *request) {
    const struct page_file *file = page_find(request->page_path);
    lethe_hash hash = lethe_hash_bytes(0, file->data, file->size);
    const char *known = request->header(request->connection, "If-None-Match");
    snprintf(request->tag, sizeof request->tag, "\"%016" PRIx64 "\"", hash.low);
    request->policy = PAGE_CONTENT_SECURITY_POLICY;
    bool is_known = known != NULL && strcmp(known, request->tag) == 0;
    request->file = file->data;
    request->file_size = is_known ? 0 : file->size;
    request_answer(request, is_known ? 304 : 200, file->type);
}

void answer_health(struct request *request) {
    text_put(&request->answer, "{\"status\":\"ok\"}\n");
    request_answer(request, 200, type_json);
}

void answer_ready(struct request *request) {
    if (!request_enter(request)) return;
    text_put(&request->answer, "{\"status\":\"ready\"}\n");
    request_answer(request, 200, type_json);
}
