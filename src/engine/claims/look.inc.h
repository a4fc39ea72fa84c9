/* engine/claims/look.inc.h - looking at the records of one kind: one of them, and all.
 *
 * The file that includes this one defines NOUN and RECORDS: for claim and claims, what follows is
 * lethe_claim_free, lethe_claim_get and lethe_claims_each, by lethe_claims_read and the others of
 * that kind. BY_ID is the kind of its keys. The file has also defined
 *     describe   what there is to say of a record that is not old; its bytes are borrowed
 *     keep       copies the bytes that are borrowed */
#define JOIN_2(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_2(a, b, c)
#define TEXT_2(word) #word
#define TEXT(word) TEXT_2(word)
#define OBJECT JOIN(lethe_, NOUN, )
#define OF_ONE(word) JOIN(lethe_, NOUN, _##word)
#define OF_ALL(word) JOIN(lethe_, RECORDS, _##word)

void OF_ONE(free)(OBJECT *object) {
    if (object == NULL || lethe_sized_check(object, LETHE_SIZE_WITH(object, allocator)) != LETHE_OK)
        return;
    lethe_release(object->allocator, object->memory, object->memory_bytes);
    OBJECT empty = {.size = sizeof empty};
    lethe_status given = LETHE_GIVE(&empty, object, allocator);
    (void)given; /* it was checked */
}

/* What is asked for. */
struct asked {
    lethe_store *store;
    lethe_bytes id;
    OBJECT found;
};

/* With the lock. */
static lethe_status look(void *context, uint64_t *commit, lethe_detail *detail) {
    struct asked *asked = context;
    lethe_store *store = asked->store;
    OF_ONE(known) known;
    lethe_status status = OF_ALL(read)(store, asked->id, &known, detail);
    lethe_claims_moment moment = {.window_ms = store->options.window_ms,
                                  .replies_from = store->claims.record.replies.first,
                                  .now_ms = lethe_claims_time_of(store)};
    *commit = known.copy.commit;
    if (status != LETHE_OK || !known.copy.exists ||
        OF_ONE(is_old)(moment.window_ms, &known.NOUN, moment.now_ms))
        return status;
    asked->found = describe(&moment, asked->id, &known.NOUN);
    status = keep(store, &known.NOUN, &asked->found, detail);
    if (status != LETHE_OK) asked->found = (OBJECT){.size = sizeof asked->found};
    return status;
}

lethe_status OF_ONE(get)(lethe_store *store, lethe_bytes id, OBJECT *out) {
    struct asked asked = {.store = store, .id = id, .found = {.size = sizeof asked.found}};
    if (out == NULL || LETHE_GIVE(&asked.found, out, allocator) != LETHE_OK)
        return lethe_engine_refuse(store, "what is filled in is NULL, or has no size");
    if (store == NULL || !lethe_is_key(id))
        return lethe_engine_refuse(store, "an id has 1 to 1024 bytes");
    lethe_status status = lethe_claims_look(store, look, &asked);
    if (status == LETHE_OK) return LETHE_GIVE(&asked.found, out, allocator);
    OF_ONE(free)(&asked.found);
    return status;
}

/* Who is shown what. */
struct shown {
    OF_ONE(visit) visit;
    void *context;
};

static lethe_status show(void *context, const lethe_claims_moment *moment, lethe_bytes id,
                         lethe_bytes bytes, bool *goes_on) {
    const struct shown *shown = context;
    OF_ONE(record) record;
    lethe_status status = OF_ONE(load)(bytes, &record);
    if (status != LETHE_OK || OF_ONE(is_old)(moment->window_ms, &record, moment->now_ms))
        return status;
    OBJECT described = describe(moment, id, &record);
    *goes_on = shown->visit(shown->context, &described);
    return LETHE_OK;
}

lethe_status OF_ALL(each)(lethe_store *store, lethe_bytes from, OF_ONE(visit) visit,
                          void *context) {
    struct shown shown = {.visit = visit, .context = context};
    if (visit == NULL) return lethe_engine_refuse(store, "what visits is NULL");
    return lethe_claims_walk(store, BY_ID, "a " TEXT(NOUN), from, show, &shown);
}
