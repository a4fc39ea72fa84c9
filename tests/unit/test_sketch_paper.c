/* Goal: the FID sketch is the paper's: the same counters after the same insertions and deletions,
 *       and the deletion problem that the paper prints is solved.
 * Method: the paper's algorithms in their plainest form, counter by counter. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "lethe/sketch.h"
#include "sketch/sketch.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/sketch_position.h"

/* The paper's algorithms, one insertion and deletion at a time, in the plainest form. */
struct plain {
    uint64_t fq[6][64], is[6][640], ds[6][64];
    uint32_t depth, is_depth;
    bool ds_is_count_min;
};

static void plain_insert(struct plain *plain, lethe_hash hash) {
    uint64_t threshold = UINT64_MAX, least = UINT64_MAX;
    for (uint32_t i = 0; i < plain->is_depth; i++) {
        uint64_t inserted = ++plain->is[i][test_sketch_position(hash, i, 640)];
        threshold = inserted < threshold ? inserted : threshold;
    }
    for (uint32_t i = 0; i < plain->depth; i++) {
        uint64_t counter = plain->fq[i][test_sketch_position(hash, i, 64)];
        least = counter < least ? counter : least;
    }
    for (uint32_t i = 0; i < plain->depth; i++) {
        uint64_t at = test_sketch_position(hash, i, 64);
        bool increments = plain->fq[i][at] == least && least < threshold;
        plain->fq[i][at] += increments;
        plain->ds[i][at] += plain->ds_is_count_min || !increments;
    }
}

static void plain_delete(struct plain *plain, lethe_hash hash) {
    for (uint32_t i = 0; i < plain->is_depth; i++)
        plain->is[i][test_sketch_position(hash, i, 640)]--;
    for (uint32_t i = 0; i < plain->depth; i++) {
        uint64_t at = test_sketch_position(hash, i, 64);
        if (plain->ds_is_count_min) {
            plain->ds[i][at]--;
            if (plain->fq[i][at] > plain->ds[i][at]) plain->fq[i][at]--;
        } else if (plain->ds[i][at] > 0) {
            plain->ds[i][at]--;
        } else {
            plain->fq[i][at]--;
        }
    }
}

/* Inserts and deletes the same in a sketch and in the plain form. */
static void work_alike(struct plain *plain, lethe_sketch *sketch) {
    struct test_random random = {5};
    uint64_t exact[200] = {0};
    for (int i = 0; i < 20000; i++) {
        uint64_t key = test_random_below(&random, 200), weight = 1 + test_random_below(&random, 5);
        lethe_hash hash = lethe_hash_u64(LETHE_DEFAULT_SEED, key);
        bool deletes = test_random_below(&random, 5) < 2 && exact[key] >= weight;
        for (uint64_t j = 0; j < weight; j++)
            (deletes ? plain_delete : plain_insert)(plain, hash);
        if (deletes) {
            assert_ok(lethe_sketch_remove_hash(sketch, hash, weight));
        } else if (i % 2 == 0) {
            assert_ok(lethe_sketch_add_batch(sketch, &hash, 1, &weight, NULL));
        } else {
            assert_ok(lethe_sketch_add_hash(sketch, hash, weight));
        }
        exact[key] += deletes ? -weight : weight;
    }
}

/* Goal: the FID sketch is the paper's, counter by counter, with both types of DS and whatever the
 *       rows of FQ and IS; and a weight is as many insertions. Both types give the same FQ part, as
 *       the paper says. */
static void fid_is_the_papers(void **state) {
    (void)state;
    static const uint32_t depths[][2] = {{4, 4}, {4, 2}, {4, 6}, {2, 4}, {6, 4}, {1, 5}, {5, 1}};
    static struct plain plain;
    for (size_t i = 0; i < 2 * sizeof depths / sizeof depths[0]; i++) {
        memset(&plain, 0, sizeof plain);
        plain.depth = depths[i / 2][0];
        plain.is_depth = depths[i / 2][1];
        plain.ds_is_count_min = i % 2 == 1;
        lethe_sketch *sketch;
        lethe_sketch_options options = LETHE_OPTIONS(
            lethe_sketch_options, .kind = LETHE_SKETCH_FID, .width = 64, .is_width = 640,
            .depth = plain.depth, .is_depth = plain.is_depth,
            .removal = i % 2 == 1 ? LETHE_SKETCH_REMOVAL_COUNT_MIN : LETHE_SKETCH_REMOVAL_DEFAULT);
        assert_ok(lethe_sketch_new(&options, &sketch));
        work_alike(&plain, sketch);
        const uint32_t *fq = sketch->core.cells, *ds = sketch->core.ds, *is = sketch->core.is;
        for (uint32_t j = 0; j < plain.depth * 64; j++) {
            assert_int_equal(fq[j], plain.fq[j / 64][j % 64]);
            assert_int_equal(ds[j], plain.ds[j / 64][j % 64]);
        }
        for (uint32_t j = 0; j < plain.is_depth * 640; j++)
            assert_int_equal(is[j], plain.is[j / 640][j % 640]);
        lethe_sketch_free(sketch);
    }
}

/* The paper's Figure 2: two arrays of two counters, and keys e1, e2, e3 with the counters 0 and 0,
 * 0 and 1, 1 and 1. Finds three such keys. */
static void find_keys(lethe_hash keys[3]) {
    static const uint64_t wanted[3][2] = {{0, 0}, {0, 1}, {1, 1}};
    for (int i = 0; i < 3; i++) {
        uint64_t number = 0;
        do {
            keys[i] = lethe_hash_u64(LETHE_DEFAULT_SEED, number++);
        } while (test_sketch_position(keys[i], 0, 2) != wanted[i][0] ||
                 test_sketch_position(keys[i], 1, 2) != wanted[i][1]);
    }
}

/* Goal:   the deletion problem of the paper is there, and the DS part solves it.
 * Method: insert e1, e2, e3; check the counters that the paper prints. Decrementing what e2
 *         incremented would lose e3; deleting e2 through the DS part loses nobody. */
static void the_deletion_problem_is_solved(void **state) {
    (void)state;
    lethe_hash keys[3];
    find_keys(keys);
    for (int type = 0; type < 2; type++) {
        lethe_sketch *sketch;
        lethe_sketch_options options =
            LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID, .width = 2, .depth = 2,
                          .removal = type == 1 ? LETHE_SKETCH_REMOVAL_COUNT_MIN
                                               : LETHE_SKETCH_REMOVAL_SUBTRACTION);
        assert_ok(lethe_sketch_new(&options, &sketch));
        const uint32_t *fq = sketch->core.cells;
        static const uint32_t after[3][4] = {{1, 0, 1, 0}, {1, 0, 1, 1}, {1, 1, 1, 1}};
        for (int i = 0; i < 3; i++) {
            assert_ok(lethe_sketch_add_hash(sketch, keys[i], 1));
            assert_memory_equal(fq, after[i], sizeof after[i]);
        }
        assert_ok(lethe_sketch_remove_hash(sketch, keys[1], 1));
        assert_memory_equal(fq, after[2], sizeof after[2]); /* F1[1] stays: e3 needs it */
        assert_int_equal(lethe_sketch_count_hash(sketch, keys[0], NULL), 1);
        assert_int_equal(lethe_sketch_count_hash(sketch, keys[2], NULL), 1);
        assert_ok(lethe_sketch_remove_hash(sketch, keys[0], 1));
        assert_ok(lethe_sketch_remove_hash(sketch, keys[2], 1));
        assert_int_equal(sketch_stats(sketch).counters_used, 0); /* and nothing stays for ever */
        lethe_sketch_free(sketch);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fid_is_the_papers),
        cmocka_unit_test(the_deletion_problem_is_solved),
    };
    return cmocka_run_group_tests_name("sketch_paper", tests, NULL, NULL);
}
