/* Goal: against an exact map, whatever is added, removed, merged, saved and copied in between:
 *       count-min and count say exactly what their definition says, conservative and FID are never
 *       below the truth nor above count-min, log is near; and what can't be removed is refused with
 *       nothing changed.
 *
 * test_sketch_model [MILLIONS] does that many million additions and removals for each kind;
 * without it a fair part of what `make test-long` does. */
#include "support/test.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/sketch.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/sketch_position.h"

enum { KEYS = 600, MAX_BATCH = 700, MAX_WEIGHT = 40 };

static uint64_t operations_wanted = 1000000;

/* One sketch, and what it must know. */
struct subject {
    lethe_sketch *sketch;
    uint64_t exact[KEYS];
};

struct schedule {
    struct test_random random;
    lethe_sketch_options options;
    uint64_t seed, operations;
    bool removes;
    struct subject subjects[2];
};

static uint64_t below(struct schedule *schedule, uint64_t range) {
    return test_random_below(&schedule->random, range);
}

/* Few keys get most of it. */
static uint64_t choose_key(struct schedule *schedule) {
    uint64_t range = 1 + below(schedule, KEYS);
    return below(schedule, range);
}

static lethe_hash hash_of(const struct schedule *schedule, uint64_t key) {
    return lethe_hash_u64(schedule->seed, key);
}

static int compare(const void *a, const void *b) {
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

/* What a count-min or count sketch must say, from the frequencies of all keys. */
static void define(const struct schedule *schedule, const struct subject *subject, bool is_count,
                   uint64_t *answers) {
    lethe_sketch_shape shape = sketch_shape(subject->sketch);
    int64_t *cells = calloc(shape.width * shape.depth, sizeof *cells);
    for (uint64_t key = 0; key < KEYS; key++) {
        lethe_hash hash = hash_of(schedule, key);
        for (uint32_t row = 0; row < shape.depth; row++) {
            bool negative = is_count && (lethe_place_signs(hash) >> row & 1) == 0;
            int64_t more = (int64_t)subject->exact[key];
            cells[row * shape.width + test_sketch_position(hash, row, shape.width)] +=
                negative ? -more : more;
        }
    }
    for (uint64_t key = 0; key < KEYS; key++) {
        lethe_hash hash = hash_of(schedule, key);
        int64_t values[LETHE_SKETCH_MAX_DEPTH];
        for (uint32_t row = 0; row < shape.depth; row++) {
            bool negative = is_count && (lethe_place_signs(hash) >> row & 1) == 0;
            values[row] = cells[row * shape.width + test_sketch_position(hash, row, shape.width)];
            if (negative) values[row] = -values[row];
        }
        qsort(values, shape.depth, sizeof *values, compare);
        int64_t high = values[shape.depth / 2], low = values[(shape.depth - 1) / 2];
        int64_t answer = is_count ? (int64_t)floor((double)(low + high) / 2) : values[0];
        answers[key] = answer > 0 ? (uint64_t)answer : 0;
    }
    free(cells);
}

static void judge(struct schedule *schedule, const struct subject *subject) {
    lethe_sketch_kind kind = schedule->options.kind;
    uint64_t counts[KEYS], answers[KEYS];
    uint8_t saturated[KEYS];
    lethe_hash hashes[KEYS];
    for (uint64_t key = 0; key < KEYS; key++)
        hashes[key] = hash_of(schedule, key);
    lethe_sketch_count_batch(subject->sketch, hashes, KEYS, counts, saturated);
    define(schedule, subject, kind == LETHE_SKETCH_COUNT, answers);
    uint64_t total = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        total += subject->exact[key];
        assert_false(saturated[key]);
        assert_int_equal(sketch_count(subject->sketch, &key, sizeof key).count, counts[key]);
        if (kind == LETHE_SKETCH_COUNT_MIN || kind == LETHE_SKETCH_COUNT) {
            assert_int_equal(counts[key], answers[key]);
        } else if (kind == LETHE_SKETCH_LOG) {
            /* A share of the truth to both sides, beside what collisions add. */
            double exact = (double)subject->exact[key];
            assert_true((double)counts[key] >= 0.8 * exact - 5);
            assert_true((double)counts[key] <= 1.2 * (double)answers[key] + 5);
        } else {
            assert_true(counts[key] >= subject->exact[key]);
            assert_true(counts[key] <= answers[key]);
        }
    }
    assert_int_equal(sketch_stats(subject->sketch).total, total);
}

static void add_some(struct schedule *schedule, struct subject *subject) {
    size_t count = below(schedule, MAX_BATCH);
    uint64_t keys[MAX_BATCH], weights[MAX_BATCH];
    lethe_hash hashes[MAX_BATCH];
    lethe_bytes bytes[MAX_BATCH];
    bool weighted = below(schedule, 2) == 0;
    for (size_t i = 0; i < count; i++) {
        keys[i] = choose_key(schedule);
        weights[i] = weighted ? 1 + below(schedule, MAX_WEIGHT) : 1;
        hashes[i] = hash_of(schedule, keys[i]);
        bytes[i] = (lethe_bytes){&keys[i], sizeof keys[i]};
        subject->exact[keys[i]] += weights[i];
    }
    switch (below(schedule, 3)) {
    case 0:
        assert_ok(lethe_sketch_add_batch(subject->sketch, hashes, count, weighted ? weights : NULL,
                                         NULL));
        break;
    case 1:
        assert_ok(lethe_sketch_add_key_batch(subject->sketch, bytes, count,
                                             weighted ? weights : NULL, NULL));
        break;
    default:
        for (size_t i = 0; i < count; i++)
            assert_ok(lethe_sketch_add(subject->sketch, &keys[i], sizeof keys[i], weights[i]));
    }
    schedule->operations += count;
}

static void remove_some(struct schedule *schedule, struct subject *subject) {
    size_t count = below(schedule, MAX_BATCH), used = 0;
    uint64_t weights[MAX_BATCH];
    lethe_hash hashes[MAX_BATCH];
    uint8_t removed[MAX_BATCH];
    for (size_t i = 0; i < count; i++) {
        uint64_t key = choose_key(schedule);
        if (subject->exact[key] == 0) continue;
        uint64_t most = subject->exact[key] < MAX_WEIGHT ? subject->exact[key] : MAX_WEIGHT;
        weights[used] = 1 + below(schedule, most);
        hashes[used] = hash_of(schedule, key);
        subject->exact[key] -= weights[used++];
    }
    if (below(schedule, 2) == 0) {
        assert_ok(lethe_sketch_remove_batch(subject->sketch, hashes, used, weights, removed));
        for (size_t i = 0; i < used; i++)
            assert_true(removed[i]);
    } else {
        for (size_t i = 0; i < used; i++)
            assert_ok(lethe_sketch_remove_hash(subject->sketch, hashes[i], weights[i]));
    }
    schedule->operations += used;
}

static void save_bytes(const lethe_sketch *sketch, lethe_memory_writer *writer) {
    *writer = (lethe_memory_writer){0};
    assert_ok(lethe_sketch_save(sketch, lethe_sink_to_memory(writer)));
}

/* More than the estimate can't be removed, and trying changes no byte. */
static void refuse_some(struct schedule *schedule, struct subject *subject) {
    lethe_memory_writer before, after;
    save_bytes(subject->sketch, &before);
    lethe_hash hash = hash_of(schedule, choose_key(schedule));
    uint64_t most = schedule->options.kind == LETHE_SKETCH_COUNT
                        ? sketch_stats(subject->sketch).total
                        : sketch_count_hash(subject->sketch, hash).count;
    lethe_status status = schedule->removes ? LETHE_ENOTFOUND : LETHE_EINVAL;
    assert_int_equal(lethe_sketch_remove_hash(subject->sketch, hash, most + 1), status);
    assert_int_equal(lethe_sketch_remove_hash(subject->sketch, hash, UINT64_MAX), status);
    assert_int_equal(lethe_sketch_remove_hash(subject->sketch, hash, 0), LETHE_EINVAL);
    assert_int_equal(lethe_sketch_add_hash(subject->sketch, hash, 0), LETHE_EINVAL);
    save_bytes(subject->sketch, &after);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, after.data, before.size);
    lethe_memory_writer_free(&before);
    lethe_memory_writer_free(&after);
}

/* The subject becomes what is loaded of what it saved, or a copy of itself. */
static void replace(struct schedule *schedule, struct subject *subject) {
    lethe_sketch *other;
    if (below(schedule, 2) == 0) {
        assert_ok(lethe_sketch_copy(subject->sketch, &other));
    } else {
        lethe_memory_writer writer;
        save_bytes(subject->sketch, &writer);
        lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
        assert_ok(lethe_sketch_load(lethe_source_from_memory(&reader), NULL, &other));
        lethe_memory_writer_free(&writer);
    }
    lethe_sketch_free(subject->sketch);
    subject->sketch = other;
}

static void merge(struct schedule *schedule) {
    struct subject *subject = &schedule->subjects[0], *other = &schedule->subjects[1];
    assert_ok(lethe_sketch_merge(subject->sketch, other->sketch));
    for (uint64_t key = 0; key < KEYS; key++)
        subject->exact[key] += other->exact[key];
    lethe_sketch_clear(other->sketch);
    memset(other->exact, 0, sizeof other->exact);
}

static void step(struct schedule *schedule) {
    struct subject *subject = &schedule->subjects[below(schedule, 4) == 0];
    uint64_t chance = below(schedule, 100);
    if (chance < 50) {
        add_some(schedule, subject);
    } else if (chance < 90) {
        if (schedule->removes) remove_some(schedule, subject);
    } else if (chance < 94) {
        replace(schedule, subject);
    } else if (chance < 97) {
        refuse_some(schedule, subject);
    } else if (schedule->options.kind != LETHE_SKETCH_LOG) {
        /* Rounding at every merge, and a minimum over rows, would drive a log sketch away. */
        merge(schedule);
    }
    if (below(schedule, 20) == 0) judge(schedule, subject);
}

static void run_schedule(const lethe_sketch_options *options, uint64_t operations,
                         uint64_t number) {
    struct schedule schedule = {.random = {number}, .options = *options};
    schedule.seed = schedule.options.seed = number + 1;
    bool with_ds = options->removal > LETHE_SKETCH_REMOVAL_NONE ||
                   (options->kind == LETHE_SKETCH_FID && options->removal == 0);
    schedule.removes =
        options->kind == LETHE_SKETCH_COUNT_MIN || options->kind == LETHE_SKETCH_COUNT || with_ds;
    for (int i = 0; i < 2; i++)
        assert_ok(lethe_sketch_new(&schedule.options, &schedule.subjects[i].sketch));
    while (schedule.operations < operations)
        step(&schedule);
    for (int i = 0; i < 2; i++) {
        judge(&schedule, &schedule.subjects[i]);
        lethe_sketch_free(schedule.subjects[i].sketch);
    }
}

/* Every kind and way to remove, in shapes where keys collide in most counters and in some. */
static void answers_are_as_defined(void **state) {
    (void)state;
    static const struct {
        lethe_sketch_kind kind;
        lethe_sketch_removal removal;
        uint32_t bits;
    } subjects[] = {
        {LETHE_SKETCH_COUNT_MIN, 0, 32},    {LETHE_SKETCH_COUNT_MIN, 0, 64},
        {LETHE_SKETCH_CONSERVATIVE, 0, 32}, {LETHE_SKETCH_CONSERVATIVE, 2, 32},
        {LETHE_SKETCH_CONSERVATIVE, 3, 64}, {LETHE_SKETCH_COUNT, 0, 32},
        {LETHE_SKETCH_COUNT, 0, 64},        {LETHE_SKETCH_LOG, 0, 16},
        {LETHE_SKETCH_FID, 0, 32},          {LETHE_SKETCH_FID, 1, 32},
        {LETHE_SKETCH_FID, 3, 32},          {LETHE_SKETCH_FID, 2, 64},
    };
    static const struct {
        uint32_t width, depth;
    } shapes[] = {{30, 4}, {300, 4}, {97, 1}, {150, 7}, {1000, 3}};
    enum { SHAPES = sizeof shapes / sizeof shapes[0] };
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        for (size_t j = 0; j < SHAPES; j++) {
            lethe_sketch_options options =
                LETHE_OPTIONS(lethe_sketch_options, .kind = subjects[i].kind,
                              .removal = subjects[i].removal, .counter_bits = subjects[i].bits,
                              .width = shapes[j].width, .depth = shapes[j].depth);
            run_schedule(&options, operations_wanted / SHAPES, 100 * i + j);
        }
    }
}

enum { SOME = 600, WEIGHT = 200, ROUNDS = 30 };

static lethe_hash hash_in_round(uint64_t round, uint64_t key) {
    return lethe_hash_u64(LETHE_DEFAULT_SEED, round * SOME + key);
}

/* Each round's keys take the place of those of the round before. */
static void replace_keys(lethe_sketch *sketch) {
    for (uint64_t round = 0; round <= ROUNDS; round++) {
        for (uint64_t key = 0; key < SOME; key++) {
            assert_ok(lethe_sketch_add_hash(sketch, hash_in_round(round, key), WEIGHT));
            if (round == 0) continue;
            assert_ok(lethe_sketch_remove_hash(sketch, hash_in_round(round - 1, key), WEIGHT));
        }
    }
}

/* The mean estimate of the last round's keys over their frequency. */
static double mean_of_last(const lethe_sketch *sketch) {
    double sum = 0;
    for (uint64_t key = 0; key < SOME; key++)
        sum += (double)lethe_sketch_count_hash(sketch, hash_in_round(ROUNDS, key), NULL);
    return sum / SOME / WEIGHT;
}

static void remove_last(lethe_sketch *sketch) {
    for (uint64_t key = 0; key < SOME; key++)
        assert_ok(lethe_sketch_remove_hash(sketch, hash_in_round(ROUNDS, key), WEIGHT));
}

/* Goal:   a log sketch with a DS part is right on average after removals: with few collisions its
 *         estimates are the truth, with many they stay below those of count-min; merged as well.
 * Method: 600 keys replaced by others 30 times, in rows of 200 to 20,000 counters. A level rounds
 *         by chance, by 1.1% of its value. */
static void log_removes_on_average(void **state) {
    (void)state;
    for (uint64_t width = 200; width <= 20000; width *= 10) {
        lethe_sketch *sketch, *linear, *copy;
        lethe_sketch_options options =
            LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_LOG, .width = width,
                          .removal = LETHE_SKETCH_REMOVAL_SUBTRACTION);
        assert_ok(lethe_sketch_new(&options, &sketch));
        options = LETHE_OPTIONS(lethe_sketch_options, .width = width);
        assert_ok(lethe_sketch_new(&options, &linear));
        replace_keys(sketch);
        replace_keys(linear);
        assert_int_equal(lethe_sketch_total(sketch), SOME * WEIGHT);
        double mean = mean_of_last(sketch), most = mean_of_last(linear);
        if (!(mean > 0.97 && mean < 1.03 * most)) fail_msg("width %d: %g", (int)width, mean);
        assert_ok(lethe_sketch_copy(sketch, &copy));
        assert_ok(lethe_sketch_merge(sketch, copy));
        if (fabs(mean_of_last(sketch) / mean - 2) > 0.03) fail_msg("merged, width %d", (int)width);
        remove_last(sketch);
        double again = mean_of_last(sketch);
        if (!(again > 0.95 && again < 1.05 * most)) fail_msg("width %d: %g", (int)width, again);
        remove_last(sketch);
        assert_int_equal(lethe_sketch_total(sketch), 0);
        assert_int_equal(lethe_sketch_remove_hash(sketch, hash_in_round(0, 0), 1), LETHE_ENOTFOUND);
        lethe_sketch_free(sketch);
        lethe_sketch_free(linear);
        lethe_sketch_free(copy);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) operations_wanted = strtoull(argv[1], NULL, 10) * 1000000;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_as_defined),
        cmocka_unit_test(log_removes_on_average),
    };
    return cmocka_run_group_tests_name("sketch_model", tests, NULL, NULL);
}
