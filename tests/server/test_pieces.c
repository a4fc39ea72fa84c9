/* Goal:   the pieces of the server that need no network: texts, escapes, tokens, hosts, bodies,
 *         small objects, and how long commits took.
 * Method: each against what it says in its header, with wrong inputs of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/access.h"
#include "server/object.h"
#include "server/parsing.h"
#include "server/state.h"

static lethe_bytes bytes(const char *text) {
    return (lethe_bytes){.data = text, .size = strlen(text)};
}

static void texts_are_json(void **state) {
    struct text text = {0};
    (void)state;
    text_bytes(&text, "key", (lethe_bytes){.data = "a\"\\\n\0\xc3\xa4", .size = 7});
    text_put(&text, ",");
    text_bytes(&text, "key", (lethe_bytes){.data = "\xff", .size = 1});
    text_put(&text, ",");
    text_bytes(&text, "key", (lethe_bytes){.data = "\xff\x00\x01\x02", .size = 4});
    text_value(&text, INT64_MIN, 0);
    text_value(&text, -5, 2);
    text_number(&text, UINT64_MAX);
    text_add(&text, "", 1);
    assert_string_equal(text.data, "\"key\":\"a\\\"\\\\\\u000a\\u0000\xc3\xa4\","
                                   "\"key\":\"\\ufffd\",\"key_base64\":\"/w==\","
                                   "\"key\":\"\\ufffd\\u0000\\u0001\\u0002\",\"key_base64\":"
                                   "\"/wABAg==\"\"-9223372036854775808\"\"-0.05\""
                                   "18446744073709551615");
    text_free(&text);
}

static void escapes_are_read(void **state) {
    static const char *const wrong[] = {"%", "%0", "%zz", "a%", "%2", "%g0"};
    char out[16];
    size_t size;
    (void)state;
    assert_true(request_unescape("a%2Fb%00c", 9, out, &size));
    assert_int_equal(size, 5);
    assert_memory_equal(out, "a/b\0c", 5);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(request_unescape(wrong[i], strlen(wrong[i]), out, &size));
}

static void hosts_and_origins(void **state) {
    static const char *const ours[] = {"localhost",  "LOCALHOST:1", "127.0.0.1:8420", "[::1]",
                                       "[::1]:8420", "a.example",   "b.example:443",  "10.0.0.1"};
    static const char *const others[] = {"",     "localhost.evil", "evil",    "127.0.0.1.evil:8420",
                                         "[::1", "[::2]",          "example", "a.exampl",
                                         ":8420"};
    (void)state;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        assert_true(access_host_is_ours(ours[i], "a.example,b.example", "10.0.0.1:8420"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(access_host_is_ours(others[i], "a.example,b.example", "10.0.0.1:8420"));
    assert_true(access_origin_is_ours("http://a:1", "a:1", false));
    assert_true(access_origin_is_ours("https://A:1", "a:1", true));
    assert_false(access_origin_is_ours("http://a:1", "a:1", true));
    assert_false(access_origin_is_ours("http://a:2", "a:1", false));
    assert_false(access_origin_is_ours("null", "a:1", false));
}

/* Writes a file of tokens. */
static void write_tokens(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void tokens_have_scopes(void **state) {
    static const char *const wrong[] = {"",
                                        "# nothing\n",
                                        "short read\n",
                                        "0123456789abcdef\n",
                                        "0123456789abcdef none\n",
                                        "0123456789abcdef read,\x01\n",
                                        "0123456789abcdef read other=x\n",
                                        "0123456789abcdef read prefix=\n",
                                        "0123456789abcdef read prefix=a b\n"};
    char path[] = "/tmp/lethe-tokens-XXXXXX", problem[256];
    struct access access;
    (void)state;
    close(mkstemp(path));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        write_tokens(path, wrong[i]);
        assert_false(access_init(&access, path, problem, sizeof problem));
        access_free(&access);
    }
    write_tokens(path,
                 "# a comment\n\n0123456789abcdef read\nfedcba9876543210 write,admin prefix=t/");
    assert_true(access_init(&access, path, problem, sizeof problem));
    const struct token *token = access_find(&access, "bearer 0123456789abcdef");
    assert_int_equal(token->scopes, SCOPE_READ);
    assert_true(access_reaches(token, bytes("anything")));
    token = access_find(&access, "Bearer fedcba9876543210");
    assert_int_equal(token->scopes, SCOPE_WRITE | SCOPE_ADMIN);
    assert_true(access_reaches(token, bytes("t/1")));
    assert_false(access_reaches(token, bytes("t")));
    assert_null(access_find(&access, NULL));
    assert_null(access_find(&access, "Basic 0123456789abcdef"));
    assert_null(access_find(&access, "Bearer 0123456789abcde"));
    assert_null(access_find(&access, "Bearer 0123456789abcdef0"));
    assert_null(access_find(&access, "Bearer "));
    write_tokens(path, "0123456789abcdef none\n");
    assert_false(access_reload(&access, problem, sizeof problem));
    assert_non_null(access_find(&access, "Bearer 0123456789abcdef"));
    access_free(&access);
    assert_true(access_init(&access, NULL, problem, sizeof problem));
    assert_int_equal(access_find(&access, NULL)->scopes, SCOPE_ALL);
    access_free(&access);
    unlink(path);
}

/* Reads a body of JSON events into a batch of its own. */
static enum body_result read_body(struct parsing *parsing, enum body_form form, const char *body,
                                  const char *key, struct body_reader *reader) {
    static struct event_format format;
    struct event_problem problem;
    struct event_format_options options = {
        .kind = EVENTS_JSONL, .takes_changes = true, .takes_base64 = true};
    assert_true(event_format_make(&options, &format, &problem));
    body_begin(reader, &format, form, bytes(body), bytes(key));
    return body_read(reader, &parsing->batch);
}

static void bodies_become_operations(void **state) {
    struct batches batches = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct parsing *parsing = parsing_take(&batches);
    struct body_reader reader;
    (void)state;
    assert_non_null(parsing);
    const struct event_batch *batch = &parsing->batch;
    assert_int_equal(
        read_body(parsing, BODY_ARRAY,
                  " [ {\"key\":\"a\"} ,\n{\"id\":\"K/1\",\"changes\":[ {\"key\":\"]}\"},"
                  "{\"delta\":-2,\"key\":\"\\u00e4\"} ]}\n] ",
                  "K", &reader),
        BODY_ALL);
    assert_int_equal(batch->count, 2);
    assert_memory_equal(batch->operations[0].id.data, "K/0", 3);
    assert_int_equal(batch->operations[1].change_count, 2);
    assert_memory_equal(batch->operations[1].changes[0].key.data, "]}", 2);
    assert_memory_equal(batch->operations[1].changes[1].key.data, "\xc3\xa4", 2);
    assert_int_equal(batch->operations[1].changes[1].delta, -2);
    assert_int_equal(read_body(parsing, BODY_ARRAY, "[{\"id\":\"x\",\"key\":\"a\"}]", "K", &reader),
                     BODY_BAD);
    assert_int_equal(read_body(parsing, BODY_LINES, "", "", &reader), BODY_ALL);
    assert_int_equal(batch->count, 0);
    assert_int_equal(
        read_body(parsing, BODY_LINES, "{\"id\":\"x\",\"key\":\"a\"}\n\n{", "", &reader), BODY_BAD);
    assert_int_equal(reader.problem_line, 2);
    parsing_give(&batches, parsing);
    parsing_free_all(&batches);
}

static void quantiles_of_commits(void **state) {
    struct latency then = {0}, now = {0};
    (void)state;
    assert_true(latency_quantile(&then, &now, 0.5) == 0);
    now.count = 100;
    now.counts[0] = 50;
    now.counts[3] = 49;
    now.counts[10] = 1;
    assert_true(latency_quantile(&then, &now, 0.5) == LATENCY_LEAST_SECONDS);
    assert_true(latency_quantile(&then, &now, 0.51) == LATENCY_LEAST_SECONDS * 8);
    assert_true(latency_quantile(&then, &now, 0.99) == LATENCY_LEAST_SECONDS * 8);
    assert_true(latency_quantile(&then, &now, 1) == LATENCY_LEAST_SECONDS * 1024);
    then = now;
    assert_true(latency_quantile(&then, &now, 0.99) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_json),           cmocka_unit_test(escapes_are_read),
        cmocka_unit_test(hosts_and_origins),        cmocka_unit_test(tokens_have_scopes),
        cmocka_unit_test(bodies_become_operations), cmocka_unit_test(quantiles_of_commits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
