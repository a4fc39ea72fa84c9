/* openapi.c - GET /openapi.json: the routes, and what is posted to them, for programs that make
 * clients.
 *
 * I1      Each route that is posted to is in `bodies`, or takes events. */
#include <stdio.h>
#include <string.h>

#include "lethe/version.h"
#include "server/routes.h"
#include "server/state.h"

/* The members of what is posted: NAME=KIND. B is bytes, which may also be in NAME_base64, n a
 * number, i milliseconds, s a switch; B and N must be there. */
static const struct {
    const char *path, *members;
} bodies[] = {
    {"/v1/take", "id=b key=B amount=n delta=n limit=n min=n"},
    {"/v1/claims/{}/begin", "token=B lease_ms=i fingerprint=b"},
    {"/v1/claims/{}/renew", "token=B lease_ms=i"},
    {"/v1/claims/{}/done", "token=B reply=b"},
    {"/v1/claims/{}/abort", "token=B"},
    {"/v1/holds/{}/place", "key=B amount=N limit=N lease_ms=i"},
    {"/v1/holds/{}/settle", "actual=N force=s"},
    {"/v1/holds/{}/release", ""},
    {"/v1/backup", ""},
};

static const char events_body[] =
    "\"requestBody\":{\"required\":true,\"description\":\"Members are named as --fields says.\","
    "\"content\":{\"application/json\":{\"schema\":{\"oneOf\":[{\"$ref\":"
    "\"#/components/schemas/Event\"},{\"type\":\"array\",\"items\":{\"$ref\":"
    "\"#/components/schemas/Event\"}}]}},\"application/x-ndjson\":{\"schema\":{\"type\":"
    "\"string\"}},\"application/cloudevents+json\":{\"schema\":{\"type\":\"object\"}},"
    "\"application/cloudevents-batch+json\":{\"schema\":{\"type\":\"array\",\"items\":{"
    "\"type\":\"object\"}}}}},";

/* What a member may be. */
static const char *type_of(char kind) {
    switch (kind) {
    case 'b':
    case 'B':
        return "[\"string\",\"integer\"]";
    case 's':
        return "\"boolean\"";
    case 'i':
        return "[\"integer\",\"string\"]";
    default:
        return "[\"string\",\"number\"]";
    }
}

/* The next member at *at. */
static bool next_member(const char **at, int *size, const char **name, char *kind) {
    if (**at == '\0') return false;
    const char *end = strchr(*at, '=');
    *name = *at;
    *size = (int)(end - *at);
    *kind = end[1];
    *at = end + 2 + (end[2] == ' ');
    return true;
}

static void describe_members(struct text *out, const char *members) {
    const char *at = members, *name;
    const char *comma = "";
    int size;
    char kind;
    text_put(out, "\"requestBody\":{\"required\":true,\"content\":{\"application/json\":{"
                  "\"schema\":{\"type\":\"object\",\"properties\":{");
    for (; next_member(&at, &size, &name, &kind); comma = ",") {
        text_format(out, "%s\"%.*s\":{\"type\":%s}", comma, size, name, type_of(kind));
        if (kind == 'b' || kind == 'B')
            text_format(out, ",\"%.*s_base64\":{\"type\":\"string\"}", size, name);
    }
    text_put(out, "}");
    comma = ",\"allOf\":[";
    for (at = members; next_member(&at, &size, &name, &kind);) {
        if (kind != 'B' && kind != 'N') continue;
        text_format(out, "%s{\"anyOf\":[{\"required\":[\"%.*s\"]}", comma, size, name);
        if (kind == 'B') text_format(out, ",{\"required\":[\"%.*s_base64\"]}", size, name);
        text_put(out, "]}");
        comma = ",";
    }
    text_put(out, comma[1] == '\0' ? "]}}}}," : "}}}},");
}

static void describe_body(struct text *out, const char *path) {
    if (strcmp(path, "/v1/events") == 0) text_put(out, events_body);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        if (strcmp(bodies[i].path, path) == 0) describe_members(out, bodies[i].members);
    }
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
    describe_body(out, route->path);
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
    size_t count;
    const struct route *all = routes_of(request->server, &count);
    for (size_t i = 0; i < count; i++) {
        const char *open = strstr(all[i].path, "{}");
        int before = open != NULL ? (int)(open - all[i].path) : (int)strlen(all[i].path);
        text_format(out, "%s\"%.*s%s%s\":{", i > 0 ? "," : "", before, all[i].path,
                    open != NULL ? "{name}" : "", open != NULL ? open + 2 : "");
        describe_route(out, &all[i]);
        text_put(out, "}");
    }
    text_put(out, "},\"components\":{\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":"
                  "\"bearer\"}},\"schemas\":{\"Problem\":{\"type\":\"object\",\"properties\":{"
                  "\"type\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"status\":{"
                  "\"type\":\"integer\"},\"detail\":{\"type\":\"string\"},\"line\":{\"type\":"
                  "\"integer\"}}},\"Event\":{\"type\":\"object\",\"properties\":{\"id\":{"
                  "\"type\":[\"string\",\"integer\"]},\"key\":{\"type\":[\"string\",\"integer\"]"
                  "},\"delta\":{\"type\":[\"string\",\"number\"]},\"time\":{\"type\":["
                  "\"string\",\"integer\"]},\"changes\":{\"type\":\"array\",\"items\":{"
                  "\"type\":\"object\"}}}}}}}\n");
    request_answer(request, 200, type_json);
}
