/* Goal: whatever way the same changes come to a sketch with a list of keys, it is the same sketch
 *       to the last byte, and it promises what a sketch promises.
 * Method: two sketches get the same additions and removals, one in batches and one by one, on
 *         different code paths where there are several; both are merged, saved, loaded and
 *         copied at random moments, and compared as saved bytes. Counters of every width, which
 *         overflow, and lists that are too short for the keys. An exact map says what can't be
 *         too little. */
#include "support/test.h"

#include <string.h>

#include "core/cpu.h"
#include "lethe/sketch.h"
#include "support/random.h"
#include "support/reports.h"

enum { KEYS = 400, MOST = 200, STEPS = 120 };

struct subject {
    struct test_random random;
    lethe_sketch_options options;
    lethe_sketch *batched, *single;
    uint64_t exact[KEYS];
    bool removes, is_never_below;
};

static uint64_t below(struct subject *subject, uint64_t range) {
    return test_random_below(&subject->random, range);
}

static void save(const lethe_sketch *sketch, lethe_memory_writer *writer) {
    *writer = (lethe_memory_writer){0};
    assert_ok(lethe_sketch_save(sketch, lethe_sink_to_memory(writer)));
}

static void assert_same(const lethe_sketch *a, const lethe_sketch *b) {
    lethe_memory_writer first, second;
    save(a, &first);
    save(b, &second);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    lethe_memory_writer_free(&first);
    lethe_memory_writer_free(&second);
}

static void reload(lethe_sketch **sketch) {
    lethe_memory_writer writer;
    save(*sketch, &writer);
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    lethe_sketch_free(*sketch);
    assert_ok(lethe_sketch_load(lethe_source_from_memory(&reader), NULL, sketch));
    lethe_memory_writer_free(&writer);
}

static void replace_by_copy(lethe_sketch **sketch) {
    lethe_sketch *copy;
    assert_ok(lethe_sketch_copy(*sketch, &copy));
    lethe_sketch_free(*sketch);
    *sketch = copy;
}

/* Keys are the beginnings of one text, so that they have many lengths, none among them. */
static const char *text_of(uint64_t key, size_t *size) {
    static char text[KEYS];
    if (text[0] == '\0') memset(text, 'k', sizeof text);
    *size = (size_t)key;
    return text;
}

struct changes {
    uint64_t keys[MOST], weights[MOST];
    lethe_bytes bytes[MOST];
    size_t count;
    bool is_weighted;
};

static void draw(struct subject *subject, struct changes *changes) {
    changes->count = below(subject, MOST);
    changes->is_weighted = below(subject, 2) == 0;
    for (size_t i = 0; i < changes->count; i++) {
        changes->keys[i] = below(subject, 1 + below(subject, KEYS));
        changes->weights[i] = changes->is_weighted ? 1 + below(subject, 100) : 1;
        changes->bytes[i].data = text_of(changes->keys[i], &changes->bytes[i].size);
    }
}

static const uint64_t *weights_of(const struct changes *changes) {
    return changes->is_weighted ? changes->weights : NULL;
}

static void add(struct subject *subject) {
    struct changes changes;
    draw(subject, &changes);
    assert_ok(lethe_sketch_add_key_batch(subject->batched, changes.bytes, changes.count,
                                         weights_of(&changes), NULL));
    for (size_t i = 0; i < changes.count; i++) {
        assert_ok(lethe_sketch_add(subject->single, changes.bytes[i].data, changes.bytes[i].size,
                                   changes.weights[i]));
        subject->exact[changes.keys[i]] += changes.weights[i];
    }
}

/* Only what is there, or the promises would not hold; now and then more, where nothing is to be
 * promised. */
static void take_out(struct subject *subject, bool is_careless) {
    struct changes changes;
    uint8_t removed[MOST];
    draw(subject, &changes);
    size_t used = 0;
    for (size_t i = 0; i < changes.count; i++) {
        uint64_t key = changes.keys[i], weight = changes.weights[i];
        if (!is_careless && subject->exact[key] < weight) continue;
        if (!is_careless) subject->exact[key] -= weight;
        changes.bytes[used] = changes.bytes[i];
        changes.weights[used++] = weight;
    }
    lethe_status together = lethe_sketch_remove_key_batch(subject->batched, changes.bytes, used,
                                                          changes.weights, removed);
    bool all = memchr(removed, 0, used) == NULL;
    assert_int_equal(together, all ? LETHE_OK : LETHE_ENOTFOUND);
    for (size_t i = 0; i < used; i++) {
        lethe_status status = lethe_sketch_remove(subject->single, changes.bytes[i].data,
                                                  changes.bytes[i].size, changes.weights[i]);
        assert_int_equal(status, removed[i] ? LETHE_OK : LETHE_ENOTFOUND);
    }
    if (is_careless) subject->is_never_below = false;
}

/* Another sketch is added to both; it was made by single calls, or has been saved and loaded
 * since. */
static void merge(struct subject *subject) {
    lethe_sketch *other;
    assert_ok(lethe_sketch_new(&subject->options, &other));
    struct changes changes;
    draw(subject, &changes);
    for (size_t i = 0; i < changes.count; i++) {
        assert_ok(lethe_sketch_add(other, changes.bytes[i].data, changes.bytes[i].size,
                                   changes.weights[i]));
        subject->exact[changes.keys[i]] += changes.weights[i];
    }
    assert_ok(lethe_sketch_merge(subject->single, other));
    reload(&other);
    assert_ok(lethe_sketch_merge(subject->batched, other));
    lethe_sketch_free(other);
}

static void judge_list(const struct subject *subject) {
    lethe_sketch_top_entry entries[64];
    size_t listed;
    assert_ok(lethe_sketch_top(subject->batched, entries, 64, &listed));
    assert_true(listed <= subject->options.top);
    for (size_t i = 0; i < listed && subject->is_never_below; i++) {
        uint64_t exact = subject->exact[entries[i].key.size];
        assert_true(entries[i].at_least <= exact);
        assert_true(i == 0 || entries[i].count <= entries[i - 1].count);
    }
}

static void judge(const struct subject *subject) {
    assert_same(subject->batched, subject->single);
    judge_list(subject);
    for (uint64_t key = 0; key < KEYS; key++) {
        size_t size;
        const char *text = text_of(key, &size);
        struct sketch_answer answer = sketch_count(subject->batched, text, size);
        if (subject->is_never_below && !answer.saturated)
            assert_true(answer.count >= subject->exact[key]);
    }
}

static void step(struct subject *subject) {
    uint64_t chance = below(subject, 100);
    if (chance < 50) {
        add(subject);
    } else if (chance < 75) {
        if (subject->removes) take_out(subject, below(subject, 20) == 0);
    } else if (chance < 82) {
        reload(below(subject, 2) == 0 ? &subject->batched : &subject->single);
    } else if (chance < 89) {
        replace_by_copy(below(subject, 2) == 0 ? &subject->batched : &subject->single);
    } else if (chance < 98) {
        merge(subject);
    } else {
        lethe_sketch_clear(subject->batched);
        lethe_sketch_clear(subject->single);
        memset(subject->exact, 0, sizeof subject->exact);
    }
    judge(subject);
}

static void run(lethe_sketch_options options, uint64_t seed) {
    static struct subject subject;
    lethe_cpu_level best = lethe_cpu();
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    if (lethe_sketch_plan(&options, &shape) != LETHE_OK) return; /* no such kind of this width */
    subject = (struct subject){.random = {seed}, .options = options};
    subject.removes = shape.removal > LETHE_SKETCH_REMOVAL_NONE ||
                      options.kind == LETHE_SKETCH_COUNT_MIN || options.kind == LETHE_SKETCH_COUNT;
    subject.is_never_below = options.kind != LETHE_SKETCH_COUNT && options.kind != LETHE_SKETCH_LOG;
    assert_ok(lethe_sketch_new(&options, &subject.batched));
    if (seed % 2 == 0) lethe_cpu_force(LETHE_CPU_SCALAR);
    assert_ok(lethe_sketch_new(&options, &subject.single));
    for (int i = 0; i < STEPS; i++)
        step(&subject);
    lethe_cpu_force(best);
    lethe_sketch_free(subject.batched);
    lethe_sketch_free(subject.single);
}

static void batches_and_single_calls_make_the_same_sketch(void **state) {
    (void)state;
    static const uint32_t bits[] = {8, 16, 32, 64};
    uint64_t seed = 0;
    for (int kind = LETHE_SKETCH_COUNT_MIN; kind <= LETHE_SKETCH_FID; kind++) {
        for (size_t width = 0; width < 4; width++) {
            for (uint32_t removal = 0; removal <= LETHE_SKETCH_REMOVAL_COUNT_MIN; removal++) {
                run(LETHE_OPTIONS(lethe_sketch_options, .kind = (lethe_sketch_kind)kind,
                                  .removal = (lethe_sketch_removal)removal,
                                  .counter_bits = bits[width], .width = 150, .depth = 4, .top = 10),
                    ++seed);
            }
        }
    }
}

/* Weights of every kind: single ones, some, and such that a counter just becomes full, or would go
 * far beyond. */
static uint64_t hostile_weight(struct test_random *random, uint32_t counter_bits) {
    uint64_t full = UINT64_MAX >> (64 - counter_bits);
    switch (test_random_below(random, 12)) {
    case 0:
        return full;
    case 1:
        return full - test_random_below(random, 3);
    case 2:
        return UINT64_MAX - test_random_below(random, 3);
    case 3:
        return 1 + test_random_next(random) % full;
    case 4:
        return 1 + test_random_below(random, 100);
    default:
        return 1;
    }
}

/* Goal:   a call for one hash does to a sketch without a list what a batch does, and answers the
 *         same, at every depth, on every code path.
 * Method: each hash goes to one sketch alone, and to the other as a batch of some. */
static void compare_by_hash(lethe_sketch_options options, struct test_random *random) {
    enum { MOST_AT_ONCE = 40, ROUNDS = 25 };
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    if (lethe_sketch_plan(&options, &shape) != LETHE_OK) return;
    lethe_cpu_level best = lethe_cpu();
    lethe_sketch *batched, *single;
    assert_ok(lethe_sketch_new(&options, &batched));
    if (test_random_below(random, 2) == 0) lethe_cpu_force(LETHE_CPU_SCALAR);
    assert_ok(lethe_sketch_new(&options, &single));
    for (int round = 0; round < ROUNDS; round++) {
        lethe_hash hashes[MOST_AT_ONCE];
        uint64_t weights[MOST_AT_ONCE], counts[MOST_AT_ONCE];
        uint8_t flags[MOST_AT_ONCE] = {0};
        size_t count = 1 + test_random_below(random, MOST_AT_ONCE);
        bool small = round < ROUNDS / 2;
        for (size_t i = 0; i < count; i++) {
            hashes[i] = lethe_hash_u64(7, test_random_below(random, 60));
            weights[i] = small ? 1 + test_random_below(random, 3)
                               : hostile_weight(random, shape.counter_bits);
        }
        if (test_random_below(random, 3) > 0) {
            assert_ok(lethe_sketch_add_batch(batched, hashes, count, weights, NULL));
            for (size_t i = 0; i < count; i++)
                assert_ok(lethe_sketch_add_hash(single, hashes[i], weights[i]));
        } else if (lethe_sketch_remove_batch(batched, hashes, count, weights, flags) !=
                   LETHE_EINVAL) {
            for (size_t i = 0; i < count; i++)
                assert_int_equal(lethe_sketch_remove_hash(single, hashes[i], weights[i]),
                                 flags[i] ? LETHE_OK : LETHE_ENOTFOUND);
        }
        assert_ok(lethe_sketch_count_batch(batched, hashes, count, counts, flags));
        for (size_t i = 0; i < count; i++) {
            bool saturated = !flags[i];
            assert_int_equal(lethe_sketch_count_hash(single, hashes[i], &saturated), counts[i]);
            assert_int_equal(saturated, flags[i]);
            assert_int_equal(lethe_sketch_count_hash(single, hashes[i], NULL), counts[i]);
        }
    }
    assert_same(batched, single);
    lethe_cpu_force(best);
    lethe_sketch_free(batched);
    lethe_sketch_free(single);
}

static void one_hash_is_a_batch_of_one(void **state) {
    (void)state;
    static const uint32_t bits[] = {8, 16, 32, 64}, depths[] = {1, 3, 4, 5, 8, 11};
    struct test_random random = {.state = 19};
    for (int kind = LETHE_SKETCH_COUNT_MIN; kind <= LETHE_SKETCH_FID; kind++) {
        for (size_t width = 0; width < 4; width++) {
            for (uint32_t removal = 0; removal <= LETHE_SKETCH_REMOVAL_COUNT_MIN; removal++) {
                for (size_t depth = 0; depth < 12; depth++) {
                    compare_by_hash(LETHE_OPTIONS(lethe_sketch_options,
                                                  .kind = (lethe_sketch_kind)kind,
                                                  .removal = (lethe_sketch_removal)removal,
                                                  .counter_bits = bits[width], .width = 40,
                                                  .depth = depths[depth / 2],
                                                  .is_width = kind == LETHE_SKETCH_FID ? 70 : 0,
                                                  .is_depth = kind != LETHE_SKETCH_FID ? 0
                                                              : depth % 2 == 0         ? 4
                                                                                       : 6),
                                    &random);
                }
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_and_single_calls_make_the_same_sketch),
        cmocka_unit_test(one_hash_is_a_batch_of_one),
    };
    return cmocka_run_group_tests_name("sketch_differential", tests, NULL, NULL);
}
