/* Goal:   the lines of a text come to a sketch with just the weights that they have, and the sketch
 *         is the same for any number of threads and however the text arrives.
 * Method: digests are added up and compared with a model that counts lines as they are made up; the
 *         tables are so small that keys push each other out, or so large that most stay.
 *         Files of several blocks are fed to sketches of every kind by 1, 2, 3 and 7 threads, whose
 *         saved bytes are compared; where a kind allows it, with those of a sketch to which the
 *         lines are added one by one. A line that lacks its field is somewhere in the middle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "frame/exit_code.h"
#include "freq/digest.h"
#include "freq/feed.h"
#include "support/random.h"

enum { KEYS = 60000, LONGEST = 40, MOST_BYTES = 7 << 20 };

/* A text, and how often each key is in it. */
struct model {
    struct test_random random;
    char *text;
    size_t size;
    uint64_t lines;
    /* A weight of 64 bits can come many times. */
    unsigned __int128 weights[KEYS], found[KEYS];
};

/* Writes key number i: zero bytes, that many, or its number after some letters. */
static size_t write_key(unsigned i, char out[LONGEST]) {
    if (i < 24) {
        memset(out, 0, i);
        return i;
    }
    int letters = (int)(i % 25);
    return (size_t)snprintf(out, LONGEST, "%.*s%u", letters, "abcdefghijklmnopqrstuvwxyz", i);
}

static unsigned number_of(const char *key, size_t size) {
    if (size == 0 || key[0] == '\0') return (unsigned)size;
    char text[LONGEST] = {0};
    memcpy(text, key, size);
    return (unsigned)strtoul(text + strcspn(text, "0123456789"), NULL, 10);
}

static struct model *make(uint64_t seed, size_t bytes, unsigned different, bool has_fields) {
    struct model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    model->random.state = seed;
    model->text = calloc(1, bytes + 200 + DIGEST_PADDING);
    assert_non_null(model->text);
    while (model->size < bytes) {
        /* Small numbers are frequent. */
        uint64_t most = 1 + test_random_below(&model->random, different);
        unsigned key = (unsigned)test_random_below(&model->random, most);
        uint64_t weight = 1;
        char *to = model->text + model->size;
        size_t size = write_key(key, to);
        if (has_fields) {
            weight += test_random_below(&model->random, 3) == 0
                          ? UINT64_MAX - 1 - test_random_below(&model->random, 3)
                          : test_random_below(&model->random, 1000);
            size += (size_t)sprintf(to + size, ",%llu", (unsigned long long)weight);
        }
        model->weights[key] += weight;
        if (test_random_below(&model->random, 10) == 0) to[size++] = '\r';
        to[size++] = '\n';
        model->size += size;
        model->lines++;
    }
    return model;
}

static void drop(struct model *model) {
    free(model->text);
    free(model);
}

/* A digest_visit. */
static bool add_up(void *context, const struct digest_key *keys, size_t count) {
    struct model *model = context;
    assert_in_range(count, 1, DIGEST_LIST);
    for (size_t i = 0; i < count; i++) {
        assert_true(keys[i].weight > 0);
        lethe_bytes bytes = digest_key_bytes(&keys[i], model->text);
        unsigned key = number_of(bytes.data, bytes.size);
        char expected[LONGEST];
        assert_int_equal(write_key(key, expected), bytes.size);
        assert_memory_equal(expected, bytes.data, bytes.size);
        model->found[key] += keys[i].weight;
    }
    return true;
}

/* Digests the text, in so many parts of whole lines, each from a copy that is gone afterwards. */
static void digest_in_parts(struct model *model, struct digest *digest, struct digest_table *table,
                            size_t parts) {
    char *all = model->text;
    size_t from = 0;
    uint64_t lines = 0;
    for (size_t part = 1; part <= parts; part++) {
        size_t end = part * model->size / parts;
        if (end < from) end = from;
        while (end > from && end < model->size && all[end - 1] != '\n')
            end++;
        model->text = calloc(1, end - from + DIGEST_PADDING);
        assert_non_null(model->text);
        memcpy(model->text, all + from, end - from);
        uint64_t some;
        struct key_problem problem;
        assert_int_equal(digest_text(digest, table, (lethe_bytes){model->text, end - from}, add_up,
                                     model, &some, &problem),
                         DIGEST_DONE);
        free(model->text);
        from = end;
        lines += some;
    }
    model->text = NULL; /* what is left in the table does not need it */
    assert_int_equal(digest_empty(digest, table, add_up, model), DIGEST_DONE);
    model->text = all;
    assert_int_equal(lines, model->lines);
}

/* Goal: the weights in the lists are those of the lines, whatever their number and their parts. */
static void digests_add_up(void **state) {
    (void)state;
    static const struct {
        size_t bytes;
        unsigned different;
        bool has_fields;
    } texts[] = {{0, 1, false},         {1, 1, false},        {100, 30, false},
                 {100000, 1, false},    {1000000, 24, false}, {5000000, KEYS, false},
                 {1000000, 2000, true}, {3000000, KEYS, true}};
    static const size_t sets[] = {2, 128, 8192, 65536}, parts[] = {1, 2, 9};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        struct model *model = make(t + 1, texts[t].bytes, texts[t].different, texts[t].has_fields);
        struct digest_settings settings = {.seed = 7, .longest_key = LONGEST};
        if (texts[t].has_fields)
            settings.fields = (struct key_fields){.key = 1, .weight = 2, .delimiter = ','};
        struct digest *digest = digest_new(&settings);
        assert_non_null(digest);
        for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
            struct digest_table *table = digest_table_new(sets[s]);
            assert_non_null(table);
            for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
                /* The table is empty again each time. */
                memset(model->found, 0, sizeof model->found);
                digest_in_parts(model, digest, table, parts[p]);
                assert_memory_equal(model->found, model->weights, sizeof model->found);
            }
            digest_table_free(table);
        }
        digest_free(digest);
        drop(model);
    }
}

/* A digest_visit that counts the keys it is given. */
static bool count_keys(void *context, const struct digest_key *keys, size_t count) {
    (void)keys;
    *(size_t *)context += count;
    return true;
}

/* A digest_visit that ends the work at once. */
static bool end(void *context, const struct digest_key *keys, size_t count) {
    (void)keys;
    *(size_t *)context += count;
    return false;
}

/* Goal: short keys stay in the table from text to text, so that each comes out once; long ones come
 *       out with each text. Work that is ended hands out nothing more. */
static void tables_keep_short_keys(void **state) {
    (void)state;
    static const char lines[] = "a\nb\nsixteen bytes ab\nseventeen bytes ab\na\n";
    char text[sizeof lines + DIGEST_PADDING] = {0};
    memcpy(text, lines, sizeof lines - 1);
    struct digest_settings settings = {.seed = 7, .longest_key = LONGEST};
    struct digest *digest = digest_new(&settings);
    struct digest_table *table = digest_table_new(1024);
    assert_true(digest != NULL && table != NULL);
    uint64_t count;
    struct key_problem problem;
    size_t keys = 0;
    for (size_t round = 1; round <= 3; round++) {
        assert_int_equal(digest_text(digest, table, (lethe_bytes){text, sizeof lines - 1},
                                     count_keys, &keys, &count, &problem),
                         DIGEST_DONE);
        assert_int_equal(keys, round);
        assert_int_equal(count, 5);
    }
    assert_int_equal(digest_empty(digest, table, end, &keys), DIGEST_ENDED);
    assert_int_equal(keys, 3 + 3);
    assert_int_equal(digest_empty(digest, table, count_keys, &keys), DIGEST_DONE);
    assert_int_equal(keys, 6);
    assert_int_equal(digest_text(digest, table, (lethe_bytes){text, sizeof lines - 1}, end, &keys,
                                 &count, &problem),
                     DIGEST_ENDED);
    assert_int_equal(keys, 7);
    digest_table_free(table);
    digest_free(digest);
}

static char path[64];

static void write_text(const char *text, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static lethe_sketch *make_sketch(lethe_sketch_kind kind, uint32_t top) {
    lethe_sketch *sketch;
    lethe_sketch_options options =
        LETHE_OPTIONS(lethe_sketch_options, .kind = kind, .width = 500, .top = top);
    assert_int_equal(lethe_sketch_new(&options, &sketch), LETHE_OK);
    return sketch;
}

static void save(const lethe_sketch *sketch, lethe_memory_writer *writer) {
    *writer = (lethe_memory_writer){0};
    assert_int_equal(lethe_sketch_save(sketch, lethe_sink_to_memory(writer)), LETHE_OK);
}

static int feed(lethe_sketch *sketch, const struct key_fields *fields, unsigned threads) {
    char *paths[] = {path};
    struct inputs inputs;
    assert_int_equal(inputs_look(paths, 1, &inputs), EXIT_DONE);
    inputs.takes_binary = true;
    return feed_all(&inputs, fields, false, threads, sketch);
}

static void assert_same(const lethe_memory_writer *expected, const lethe_sketch *sketch) {
    lethe_memory_writer saved;
    save(sketch, &saved);
    assert_int_equal(saved.size, expected->size);
    assert_memory_equal(saved.data, expected->data, expected->size);
    lethe_memory_writer_free(&saved);
}

/* Goal: any number of threads makes the same sketch, of every kind, with and without a list. */
static void threads_make_the_same(void **state) {
    (void)state;
    static const unsigned threads[] = {1, 2, 3, 7};
    const struct key_fields fields = {.delimiter = '\t'};
    struct model *model = make(11, MOST_BYTES, KEYS, false);
    write_text(model->text, model->size - 1); /* without the last newline */
    for (int kind = 0; kind < 5; kind++) {
        lethe_memory_writer first = {0};
        uint32_t top = kind % 2 == 0 ? 20 : 0;
        for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
            lethe_sketch *sketch = make_sketch((lethe_sketch_kind)kind, top);
            assert_int_equal(feed(sketch, &fields, threads[i]), EXIT_DONE);
            assert_int_equal(lethe_sketch_total(sketch), model->lines);
            if (i == 0) save(sketch, &first);
            assert_same(&first, sketch);
            lethe_sketch_free(sketch);
        }
        lethe_memory_writer_free(&first);
    }
    drop(model);
}

/* Goal: of kinds whose counters are sums, it is the sketch that single additions make. */
static void sums_are_those_of_single_lines(void **state) {
    (void)state;
    static const lethe_sketch_kind kinds[] = {LETHE_SKETCH_COUNT_MIN, LETHE_SKETCH_COUNT};
    const struct key_fields fields = {.delimiter = '\t'};
    struct model *model = make(12, MOST_BYTES / 2, KEYS, false);
    write_text(model->text, model->size);
    for (size_t k = 0; k < 2; k++) {
        lethe_sketch *one = make_sketch(kinds[k], 0), *fed = make_sketch(kinds[k], 0);
        for (unsigned key = 0; key < KEYS; key++) {
            char bytes[LONGEST];
            uint64_t weight = (uint64_t)model->weights[key];
            size_t size = write_key(key, bytes);
            if (weight > 0) assert_int_equal(lethe_sketch_add(one, bytes, size, weight), LETHE_OK);
        }
        lethe_memory_writer expected;
        save(one, &expected);
        assert_int_equal(feed(fed, &fields, 3), EXIT_DONE);
        assert_same(&expected, fed);
        lethe_memory_writer_free(&expected);
        lethe_sketch_free(one);
        lethe_sketch_free(fed);
    }
    drop(model);
}

/* Goal: a line longer than a block is a block of its own; a line without its field ends the work in
 *       any thread. */
static void odd_lines(void **state) {
    (void)state;
    enum { LONG = 5 << 20 };
    char *text = malloc(2 * LONG + 100);
    assert_non_null(text);
    memcpy(text, "a\nb\na\n", 6);
    memset(text + 6, 'x', LONG);
    memcpy(text + 6 + LONG, "\na\n", 3);
    memset(text + 9 + LONG, 'y', LONG);
    write_text(text, 9 + 2 * (size_t)LONG);
    const struct key_fields whole = {.delimiter = '\t'}, second = {.key = 2, .delimiter = '\t'};
    for (unsigned threads = 1; threads < 4; threads++) {
        lethe_sketch *sketch = make_sketch(LETHE_SKETCH_CONSERVATIVE, 0);
        assert_int_equal(feed(sketch, &whole, threads), EXIT_DONE);
        assert_int_equal(lethe_sketch_total(sketch), 6);
        assert_int_equal(lethe_sketch_count(sketch, "a", 1, NULL), 3);
        assert_int_equal(lethe_sketch_count(sketch, text + 6, LONG, NULL), 1);
        assert_int_equal(feed(sketch, &second, threads), EXIT_BAD_DATA);
        lethe_sketch_free(sketch);
        sketch = make_sketch(LETHE_SKETCH_COUNT_MIN, 3); /* lists keys, so they must be short */
        assert_int_equal(feed(sketch, &whole, threads), EXIT_BAD_DATA);
        lethe_sketch_free(sketch);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_add_up),
        cmocka_unit_test(tables_keep_short_keys),
        cmocka_unit_test(threads_make_the_same),
        cmocka_unit_test(sums_are_those_of_single_lines),
        cmocka_unit_test(odd_lines),
    };
    snprintf(path, sizeof path, "/tmp/test_feed.%ld", (long)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
