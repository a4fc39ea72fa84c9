/* Goal:   claims are given to one holder at a time, never before a lease has ended; the first
 *         completion stays, and is known for W; the oldest replies go first; all of it over
 *         backups, restarts of the machine, and wall clocks that are set.
 * Method: random calls against a model of a few lines, with clocks that the test sets. The model
 *         knows the true time besides, and judges leases by it. In every kind of store. */
#include "support/test.h"

#include <string.h>

#include "lethe/claims.h"
#include "support/life.h"

enum { IDS = 12, TOKENS = 3, PRINTS = 2, WINDOW_MS = 8000, STEPS = 450, REPLY = 3000 };
static const uint64_t START_MS = UINT64_C(1700000000000);

struct model_claim {
    enum { NONE, OPEN, DONE } state;
    unsigned token, print;
    uint64_t moment_ms; /* the end of the lease, or when it was done, by the clock of claims */
    uint64_t true_ms;   /* the lease may not end before this, whatever the clocks say */
    uint64_t done_order;
    size_t reply_bytes;
    unsigned char reply_byte;
    bool gone;
};

struct model {
    struct test_life life;
    struct model_claim claims[IDS];
    uint64_t limit_bytes, next_order;
    unsigned given_again, kept, gone, mismatches;
};

static uint64_t below(struct model *model, uint64_t range) {
    return test_life_below(&model->life, range);
}

static void pass(struct model *model, uint64_t ms) {
    test_life_pass(&model->life, ms);
}

static struct model_claim *known(struct model *model, unsigned id) {
    struct model_claim *claim = &model->claims[id];
    if (claim->state != NONE && model->life.clock_ms > claim->moment_ms + WINDOW_MS)
        *claim = (struct model_claim){.state = NONE};
    return claim;
}

static bool has_reply(const struct model_claim *claim, lethe_bytes reply) {
    if (reply.size != claim->reply_bytes) return false;
    const unsigned char *bytes = reply.data;
    for (size_t i = 0; i < reply.size; i++) {
        if (bytes[i] != claim->reply_byte) return false;
    }
    return true;
}

static void compare(struct model *model, unsigned id, const lethe_claim *shown) {
    struct model_claim *claim = known(model, id);
    if (claim->state == NONE) {
        assert_int_equal(shown->state, LETHE_CLAIM_IS_NONE);
        return;
    }
    char print[20];
    lethe_bytes expected = test_name(print, "print", claim->print);
    assert_int_equal(shown->fingerprint.size, expected.size);
    assert_memory_equal(shown->fingerprint.data, print, expected.size);
    if (claim->state == OPEN) {
        bool runs = model->life.clock_ms <= claim->moment_ms;
        assert_int_equal(shown->state, runs ? LETHE_CLAIM_IS_RUNNING : LETHE_CLAIM_IS_LAPSED);
        assert_int_equal(shown->left_ms,
                         claim->moment_ms + (runs ? 0 : WINDOW_MS) + 1 - model->life.clock_ms);
        return;
    }
    assert_int_equal(shown->state, LETHE_CLAIM_IS_DONE);
    assert_int_equal(shown->reply_gone, claim->gone);
    assert_int_equal(shown->reply_bytes, claim->reply_bytes);
    model->gone += claim->gone;
}

static void do_begin(struct model *model, unsigned id) {
    char id_name[20], token_name[20], print_name[20];
    unsigned token = (unsigned)below(model, TOKENS), print = (unsigned)(below(model, 12) == 0);
    uint64_t lease_ms = 1 + below(model, below(model, 4) == 0 ? WINDOW_MS : 300);
    struct model_claim *claim = known(model, id);
    lethe_claim shown = LETHE_INIT(lethe_claim);
    lethe_claim_answer answer;
    assert_ok(lethe_claim_begin(model->life.store, test_name(id_name, "id", id),
                                test_name(token_name, "token", token),
                                test_name(print_name, "print", print), lease_ms, &answer, &shown));
    if (claim->state != NONE && claim->print != print) {
        assert_int_equal(answer, LETHE_CLAIM_MISMATCH);
        model->mismatches++;
        compare(model, id, &shown);
    } else if (claim->state == DONE) {
        assert_int_equal(answer, LETHE_CLAIM_DONE);
        compare(model, id, &shown);
        if (!claim->gone) assert_true(has_reply(claim, shown.reply));
        model->kept += !claim->gone;
    } else if (claim->state == OPEN && claim->token != token &&
               model->life.clock_ms <= claim->moment_ms) {
        assert_int_equal(answer, LETHE_CLAIM_RUNNING);
        compare(model, id, &shown);
    } else {
        assert_int_equal(answer, LETHE_CLAIM_NEW);
        bool is_own = claim->state == OPEN && claim->token == token;
        if (claim->state == OPEN && !is_own) {
            assert_true(model->life.true_ms > claim->true_ms); /* whatever was done to the clocks */
            model->given_again++;
        }
        uint64_t until_ms = model->life.clock_ms + lease_ms;
        if (!is_own) *claim = (struct model_claim){.state = OPEN, .token = token, .print = print};
        if (until_ms > claim->moment_ms) claim->moment_ms = until_ms;
        if (model->life.true_ms + lease_ms > claim->true_ms)
            claim->true_ms = model->life.true_ms + lease_ms;
    }
    lethe_claim_free(&shown);
    assert_null(shown.memory);
}

/* What the answer to a caller is, who may not hold the claim; NEW: it does. */
static lethe_claim_answer judge(const struct model_claim *claim, unsigned token) {
    if (claim->state == NONE) return LETHE_CLAIM_UNKNOWN;
    if (claim->state == DONE) return LETHE_CLAIM_DONE;
    return claim->token == token ? LETHE_CLAIM_NEW : LETHE_CLAIM_LOST;
}

static void do_renew(struct model *model, unsigned id) {
    char id_name[20], token_name[20];
    unsigned token = (unsigned)below(model, TOKENS);
    uint64_t lease_ms = 1 + below(model, 500);
    struct model_claim *claim = known(model, id);
    lethe_claim_answer answer, expected = judge(claim, token);
    assert_ok(lethe_claim_renew(model->life.store, test_name(id_name, "id", id),
                                test_name(token_name, "token", token), lease_ms, &answer));
    assert_int_equal(answer, expected == LETHE_CLAIM_NEW ? LETHE_CLAIM_RENEWED : expected);
    if (expected != LETHE_CLAIM_NEW) return;
    if (model->life.clock_ms + lease_ms > claim->moment_ms)
        claim->moment_ms = model->life.clock_ms + lease_ms;
    if (model->life.true_ms + lease_ms > claim->true_ms)
        claim->true_ms = model->life.true_ms + lease_ms;
}

/* A reply stays while it and all later ones are within the cap. */
static void drop_replies(struct model *model) {
    bool goes[IDS] = {false};
    for (unsigned i = 0; i < IDS; i++) {
        const struct model_claim *claim = known(model, i);
        uint64_t bytes = 0;
        for (unsigned j = 0; j < IDS && claim->state == DONE; j++) {
            const struct model_claim *other = known(model, j);
            bool counts = other->state == DONE && other->done_order >= claim->done_order &&
                          other->reply_bytes > 0 && !other->gone;
            if (!counts) continue;
            bytes += other->reply_bytes < LETHE_REPLY_LEAST_BYTES ? LETHE_REPLY_LEAST_BYTES
                                                                  : other->reply_bytes;
        }
        goes[i] = claim->reply_bytes > 0 && bytes > model->limit_bytes;
    }
    for (unsigned i = 0; i < IDS; i++) {
        if (goes[i]) model->claims[i].gone = true;
    }
}

static void do_done(struct model *model, unsigned id) {
    static unsigned char reply[REPLY];
    char id_name[20], token_name[20];
    unsigned token = (unsigned)below(model, TOKENS);
    size_t size = below(model, 4) == 0 ? 0 : below(model, REPLY);
    memset(reply, 'a' + (int)below(model, 26), sizeof reply);
    struct model_claim *claim = known(model, id);
    lethe_claim_answer answer, expected = judge(claim, token);
    if (expected == LETHE_CLAIM_DONE)
        expected = claim->token == token ? LETHE_CLAIM_DUPLICATE : LETHE_CLAIM_LOST;
    assert_ok(lethe_claim_done(model->life.store, test_name(id_name, "id", id),
                               test_name(token_name, "token", token), (lethe_bytes){reply, size},
                               &answer));
    assert_int_equal(answer, expected == LETHE_CLAIM_NEW ? LETHE_CLAIM_RECORDED : expected);
    if (expected != LETHE_CLAIM_NEW) return;
    claim->state = DONE;
    claim->moment_ms = model->life.clock_ms;
    claim->reply_bytes = size;
    claim->reply_byte = reply[0];
    claim->done_order = ++model->next_order;
    claim->gone = false;
    drop_replies(model);
}

static void do_abort(struct model *model, unsigned id) {
    char id_name[20], token_name[20];
    unsigned token = (unsigned)below(model, TOKENS);
    struct model_claim *claim = known(model, id);
    lethe_claim_answer answer, expected = judge(claim, token);
    assert_ok(lethe_claim_abort(model->life.store, test_name(id_name, "id", id),
                                test_name(token_name, "token", token), &answer));
    assert_int_equal(answer, expected == LETHE_CLAIM_NEW ? LETHE_CLAIM_ABORTED : expected);
    if (expected == LETHE_CLAIM_NEW) *claim = (struct model_claim){.state = NONE};
}

static void do_get(struct model *model, lethe_store *store, unsigned id) {
    char id_name[20];
    lethe_claim shown = LETHE_INIT(lethe_claim);
    assert_ok(lethe_claim_get(store, test_name(id_name, "id", id), &shown));
    compare(model, id, &shown);
    const struct model_claim *claim = known(model, id);
    if (claim->state == DONE && !claim->gone) assert_true(has_reply(claim, shown.reply));
    lethe_claim_free(&shown);
}

struct listing {
    struct model *model;
    bool seen[IDS];
};

static bool list_one(void *context, const lethe_claim *claim) {
    struct listing *listing = context;
    unsigned id = test_number_of(claim->id, "id");
    compare(listing->model, id, claim);
    listing->seen[id] = true;
    return true;
}

static void compare_all(struct model *model, lethe_store *store) {
    struct listing listing = {.model = model};
    unsigned open = 0, done = 0;
    assert_ok(lethe_claims_each(store, (lethe_bytes){0}, list_one, &listing));
    for (unsigned i = 0; i < IDS; i++) {
        const struct model_claim *claim = known(model, i);
        assert_int_equal(listing.seen[i], claim->state != NONE);
        open += claim->state == OPEN;
        done += claim->state == DONE;
        do_get(model, store, i);
    }
    lethe_claims_stats stats = LETHE_INIT(lethe_claims_stats);
    assert_ok(lethe_claims_info(store, &stats));
    /* Those that are too old may still be there. */
    assert_true(stats.open >= open && stats.done >= done && stats.open + stats.done <= IDS);
    assert_int_equal(stats.reply_limit_bytes, model->limit_bytes);
    assert_true(stats.reply_bytes <= model->limit_bytes);
}

/* Beside a restart of the machine: somebody may set its clock. */
static void step_wall(struct test_life *life) {
    if (test_life_below(life, 2) == 0)
        test_machine.wall_ms += test_life_below(life, 100 * WINDOW_MS);
    if (test_life_below(life, 3) == 0)
        test_machine.wall_ms -= test_life_below(life, 100 * WINDOW_MS);
}

static void look_as_reader(struct model *model) {
    lethe_store *reader = test_store_open_reader(model->life.folder.path);
    compare_all(model, reader);
    test_store_close(reader);
}

static void disturb(struct model *model) {
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    switch (below(model, 8)) {
    case 0:
        test_life_reboot(&model->life, step_wall);
        return;
    case 1:
        test_life_go_on_from_backup(&model->life);
        return;
    case 2:
        test_machine.wall_ms +=
            below(model, 2) == 0 ? 50 * WINDOW_MS : (uint64_t)0 - 50 * WINDOW_MS;
        return;
    case 3:
        look_as_reader(model);
        return;
    case 4:
        assert_ok(lethe_store_check(model->life.folder.path, &health, NULL));
        assert_true(health.claims <= IDS);
        return;
    case 5:
        model->limit_bytes = below(model, 4 * REPLY);
        assert_ok(lethe_claims_limit(model->life.store, model->limit_bytes));
        drop_replies(model);
        return;
    case 6:
        pass(model, below(model, 2 * WINDOW_MS));
        return;
    default:
        test_life_reopen(&model->life, WINDOW_MS / 2);
        return;
    }
}

/* To the last moment of a lease or of what is remembered, or to the moment after it. */
static void pass_to_the_edge(struct model *model, unsigned id) {
    const struct model_claim *claim = known(model, id);
    uint64_t at_ms = claim->moment_ms + below(model, 2);
    if (claim->state == DONE && below(model, 4) > 0) return;
    if (claim->state == DONE || at_ms < model->life.clock_ms) at_ms += WINDOW_MS;
    if (claim->state != NONE && at_ms >= model->life.clock_ms)
        pass(model, at_ms - model->life.clock_ms);
}

static void step(struct model *model) {
    unsigned id = (unsigned)below(model, IDS);
    if (below(model, 20) == 0)
        pass_to_the_edge(model, id);
    else
        pass(model, below(model, 60));
    switch (below(model, 30)) {
    case 0:
        compare_all(model, model->life.store);
        return;
    case 1:
        disturb(model);
        return;
    case 2:
    case 3:
        do_abort(model, id);
        return;
    case 4:
    case 5:
    case 6:
    case 7:
        do_renew(model, id);
        return;
    default:
        if (below(model, 2) == 0)
            do_begin(model, id);
        else
            do_done(model, id);
        return;
    }
}

/* What is left alone is forgotten, a few with each call. */
static void forgets_all(struct model *model) {
    lethe_claim_answer answer;
    pass(model, 3 * WINDOW_MS);
    for (unsigned i = 0; i < 40; i++) {
        assert_ok(
            lethe_claim_renew(model->life.store, test_text("none"), test_text("t"), 1, &answer));
        assert_int_equal(answer, LETHE_CLAIM_UNKNOWN);
    }
    lethe_claims_stats stats = LETHE_INIT(lethe_claims_stats);
    assert_ok(lethe_claims_info(model->life.store, &stats));
    assert_int_equal(stats.open, 0);
    assert_int_equal(stats.done, 0);
    assert_int_equal(stats.reply_bytes, 0);
}

/* Of all runs. */
static struct model total;

static void run(lethe_store_options options, uint64_t seed) {
    struct model model = {.limit_bytes = UINT64_C(256) << 20};
    options.window_ms = WINDOW_MS;
    test_life_begin(&model.life, options, seed, START_MS);
    for (unsigned i = 0; i < STEPS; i++)
        step(&model);
    compare_all(&model, model.life.store);
    forgets_all(&model);
    test_life_end(&model.life);
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    assert_ok(lethe_store_check(model.life.folder.path, &health, NULL));
    assert_int_equal(health.claims, 0);
    total.given_again += model.given_again;
    total.kept += model.kept;
    total.mismatches += model.mismatches;
    total.gone += model.gone;
    test_folder_remove(&model.life.folder);
}

static void by_wall_clock(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++)
        run((lethe_store_options){0}, seed);
}

static void by_event_time(void **state) {
    (void)state;
    for (uint64_t seed = 4; seed <= 5; seed++)
        run((lethe_store_options){.event_time = LETHE_SWITCH_ON}, seed);
}

static void in_other_kinds_of_stores(void **state) {
    (void)state;
    run((lethe_store_options){.exact = LETHE_SWITCH_ON}, 7);
    run((lethe_store_options){.forever = LETHE_SWITCH_ON}, 8);
    run((lethe_store_options){.sketch_bytes = 4096}, 9);
    run((lethe_store_options){.forgetful = LETHE_SWITCH_ON}, 10);
    run((lethe_store_options){.per = "1h", .scale = 2}, 11);
}

/* What a reader and a writer say of the lease of 10 seconds, in the present boot. */
static void both_say_left(const char *path, uint64_t left_ms) {
    lethe_claim shown = LETHE_INIT(lethe_claim);
    lethe_claim_answer answer;
    lethe_store *store = test_store_open_reader(path);
    assert_ok(lethe_claim_get(store, test_text("id"), &shown));
    assert_int_equal(shown.state, LETHE_CLAIM_IS_RUNNING);
    assert_int_equal(shown.left_ms, left_ms);
    lethe_claim_free(&shown);
    test_store_close(store);
    store = test_store_open(path, (lethe_store_options){0});
    assert_ok(lethe_claim_begin(store, test_text("id"), test_text("other"), (lethe_bytes){0}, 1,
                                &answer, &shown));
    assert_int_equal(answer, LETHE_CLAIM_RUNNING);
    assert_int_equal(shown.left_ms, left_ms);
    lethe_claim_free(&shown);
    test_store_close(store);
}

/* Goal:   a reader goes by the same clock as a writer, also after a restart of the machine, on
 *         another one, and if it does not know which. */
static void readers_and_writers_agree(void **state) {
    (void)state;
    struct test_folder folder;
    lethe_claim_answer answer;
    test_folder_make(&folder);
    test_machine = (struct test_machine){.boot_ms = 1000000, .wall_ms = START_MS, .boots = 1};
    lethe_store *store =
        test_store_open(folder.path, (lethe_store_options){.create = true, .window_ms = WINDOW_MS});
    assert_ok(lethe_claim_begin(store, test_text("id"), test_text("t"), (lethe_bytes){0}, 10000,
                                &answer, NULL));
    test_store_close(store);
    both_say_left(folder.path, 10001);
    /* Another machine, which has been up for long: the wall clock says less. */
    test_machine.boots = 2;
    test_machine.boot_ms += 60000;
    test_machine.wall_ms += 3000;
    both_say_left(folder.path, 7001);
    /* A restart: what the machine has been up for, and no more. */
    test_machine.boots = 3;
    test_machine.boot_ms = 500;
    test_machine.wall_ms += 3600000;
    both_say_left(folder.path, 6501);
    test_folder_remove(&folder);
}

static void the_runs_came_to_all_of_it(void **state) {
    (void)state;
    assert_true(total.given_again > 20 && total.kept > 100);
    assert_true(total.mismatches > 20 && total.gone > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_wall_clock),
        cmocka_unit_test(by_event_time),
        cmocka_unit_test(in_other_kinds_of_stores),
        cmocka_unit_test(readers_and_writers_agree),
        cmocka_unit_test(the_runs_came_to_all_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
