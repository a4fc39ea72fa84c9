/* site.c - what needs no store: the page's files, /healthz, /readyz and /openapi.json. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lethe/hash.h"
#include "lethe/version.h"
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

static void describe_arguments(struct text *out, const struct route *route) {
    const char *at = route->arguments != NULL ? route->arguments : "";
    bool has_one = strstr(route->path, "{}") != NULL;
    text_put(out, "\"parameters\":[");
    if (has_one)
        text_put(out, "{\"name\":\"name\",\"in\":\"path\",\"required\":true,"
                      "\"schema\":{\"type\":\"string\"}}");
    while (*at != '\0') {
        size_t size = strcspn(at, " ");
        text_format(out, "%s{\"name\":\"%.*s\",\"in\":\"query\",\"schema\":{\"type\":\"string\"}}",
                    has_one ? "," : "", (int)size, at);
        has_one = true;
        at += size + (at[size] == ' ');
    }
    text_put(out, "],");
}

static void describe_route(struct text *out, const struct route *route) {
    text_format(out, "\"%s\":{\"summary\":", strcmp(route->method, "GET") == 0 ? "get" : "post");
    text_quoted_string(out, route->summary);
    text_put(out, ",");
    describe_arguments(out, route);
    if (route->scope != 0) text_put(out, "\"security\":[{\"token\":[]}],");
    text_put(out, "\"responses\":{\"200\":{\"description\":\"Done.\"},\"default\":{\"description\":"
                  "\"A problem.\",\"content\":{\"application/problem+json\":{\"schema\":{\"$ref\":"
                  "\"#/components/schemas/Problem\"}}}}}}");
}

void answer_openapi(struct request *request) {
    struct text *out = &request->answer;
    text_put(out,
             "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Lethe\",\"version\":\"" LETHE_VERSION
             "\",\"description\":\"Counts every event exactly once. Numbers of 64 bits are "
             "strings.\"},\"paths\":{");
    for (size_t i = 0; i < route_count; i++) {
        const char *open = strstr(routes[i].path, "{}");
        int before = open != NULL ? (int)(open - routes[i].path) : (int)strlen(routes[i].path);
        text_format(out, "%s\"%.*s%s%s\":{", i > 0 ? "," : "", before, routes[i].path,
                    open != NULL ? "{name}" : "", open != NULL ? open + 2 : "");
        describe_route(out, &routes[i]);
        text_put(out, "}");
    }
    text_put(out, "},\"components\":{\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":"
                  "\"bearer\"}},\"schemas\":{\"Problem\":{\"type\":\"object\",\"properties\":{"
                  "\"type\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"status\":{"
                  "\"type\":\"integer\"},\"detail\":{\"type\":\"string\"},\"line\":{\"type\":"
                  "\"integer\"}}}}}}\n");
    request_answer(request, 200, type_json);
}
