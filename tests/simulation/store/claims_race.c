/* simulation/store/claims_race.c - several who ask for a claim at once.
 *
 * I1      One of them is told that it is new; and whoever was told anything finds the claim held,
 *         whatever is killed. */
#include "simulation/store/verdict.h"
#include "simulation/store/world.h"

static struct racer {
    lethe_store *store;
    uint64_t race;
    unsigned token, thread;
    bool is_told;
    lethe_claim_answer answer;
    lethe_status status;
} racers[CLAIM_TOKENS];

static void *race_one(void *context) {
    struct racer *racer = context;
    char id_text[32], token_text[32];
    racer->status = lethe_claim_begin(racer->store, claims_name(id_text, "race", racer->race),
                                      claims_name(token_text, "token", racer->token),
                                      (lethe_bytes){0}, LETHE_LEASE_LIMIT_MS, &racer->answer, NULL);
    racer->is_told = racer->status == LETHE_OK;
    return NULL;
}

static void race_all(void *context) {
    (void)context;
    for (size_t i = 1; i < CLAIM_TOKENS; i++)
        racers[i].thread = machine_thread_start(race_one, &racers[i]);
    (void)race_one(&racers[0]);
    for (size_t i = 1; i < CLAIM_TOKENS; i++)
        machine_thread_join(racers[i].thread);
}

struct finding {
    lethe_store *store;
    uint64_t race;
    lethe_claim_state state;
    lethe_status status;
};

static void find(void *context) {
    struct finding *finding = context;
    char id_text[32];
    lethe_claim claim = LETHE_INIT(lethe_claim);
    finding->status =
        lethe_claim_get(finding->store, claims_name(id_text, "race", finding->race), &claim);
    finding->state = claim.state;
    lethe_claim_free(&claim);
}

/* The lease is longer than any run. */
static void expect_held(struct world *world, uint64_t race) {
    world_open(world);
    struct finding finding = {.store = world->store, .race = race};
    if (!world_call(world, find, &finding)) return;
    if (finding.status != LETHE_OK)
        world_excuse(world, "a look at a claim", finding.status);
    else if (finding.state != LETHE_CLAIM_IS_RUNNING)
        verdict_fail("claims", "race-%llu was begun, and its state is %d", (unsigned long long)race,
                     (int)finding.state);
}

void claims_race(struct world *world) {
    world_open(world);
    uint64_t number = ++world->claims.races;
    for (unsigned i = 0; i < CLAIM_TOKENS; i++)
        racers[i] = (struct racer){.store = world->store, .race = number, .token = i + 1};
    bool returned = world_call(world, race_all, NULL);
    unsigned winners = 0, told = 0;
    lethe_status status = LETHE_OK;
    for (unsigned i = 0; i < CLAIM_TOKENS; i++) {
        told += racers[i].is_told;
        winners += racers[i].is_told && racers[i].answer == LETHE_CLAIM_NEW;
        if (racers[i].status != LETHE_OK) status = racers[i].status;
    }
    verdict_tell("        claims: race-%llu, %u told, %u of them that it is new",
                 (unsigned long long)number, told, winners);
    if (winners > 1 || (told == CLAIM_TOKENS && winners == 0))
        verdict_fail("claims", "race-%llu was new to %u", (unsigned long long)number, winners);
    if (returned && status != LETHE_OK) world_excuse(world, "a claim", status);
    if (told > 0) expect_held(world, number);
}
