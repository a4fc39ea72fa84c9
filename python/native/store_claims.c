/* python/native/store_claims.c - lethe.Store: claims, work that happens once. */
#include <string.h>

#include "lethe/claims.h"
#include "store.h"

static PyTypeObject *claim_type;

/* The id, token and third argument (fingerprint or reply) of a call. */
struct parts {
    struct key id, token, third;
};

static void parts_free(struct parts *parts) {
    key_free(&parts->id);
    key_free(&parts->token);
    key_free(&parts->third);
}

static int parts_take(PyObject *id, PyObject *token, PyObject *third, struct parts *out) {
    memset(out, 0, sizeof *out);
    if (key_take(id, &out->id) != 0 || (token != NULL && key_take(token, &out->token) != 0))
        return -1;
    return third == NULL || third == Py_None ? 0 : key_take(third, &out->third);
}

static PyObject *word(lethe_claim_answer answer) {
    return PyUnicode_FromString(lethe_claim_answer_name(answer));
}

static PyObject *piece(lethe_bytes bytes) {
    return PyBytes_FromStringAndSize(bytes.size > 0 ? bytes.data : "", (Py_ssize_t)bytes.size);
}

static const char *state_word(lethe_claim_state state) {
    static const char *const words[] = {"none", "running", "lapsed", "done"};
    return words[state];
}

/* answer is NULL where a claim was looked at; its state is the answer then. */
static PyObject *make_claim(const char *answer, const lethe_claim *claim) {
    bool has_reply = claim->state == LETHE_CLAIM_IS_DONE && !claim->reply_gone;
    PyObject *items[] = {
        PyUnicode_FromString(answer != NULL ? answer : state_word(claim->state)),
        PyLong_FromUnsignedLongLong(claim->left_ms),
        has_reply ? piece(claim->reply) : Py_NewRef(Py_None),
        PyBool_FromLong(claim->reply_gone),
        piece(claim->fingerprint),
    };
    return store_tuple(claim_type, 5, items);
}

static PyObject *claim_begin(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"id", "token", "lease_ms", "fingerprint"};
    PyObject *given[4], *made = NULL;
    struct parts parts = {.id.owner = NULL};
    uint64_t lease_ms = 0;
    lethe_claim_answer answer = LETHE_CLAIM_UNKNOWN;
    lethe_claim claim = LETHE_INIT(lethe_claim);
    if (arguments_take("claim_begin", args, count, names, parameters, 4, 3, given) != 0 ||
        arguments_u64("lease_ms", given[2], &lease_ms) != 0)
        return NULL;
    lethe_store *store =
        parts_take(given[0], given[1], given[3], &parts) == 0 ? store_enter(self) : NULL;
    if (store != NULL) {
        PyThreadState *thread = PyEval_SaveThread();
        lethe_status status = lethe_claim_begin(store, parts.id.bytes, parts.token.bytes,
                                                parts.third.bytes, lease_ms, &answer, &claim);
        PyEval_RestoreThread(thread);
        if (store_done(self, status) == 0)
            made = make_claim(lethe_claim_answer_name(answer), &claim);
        lethe_claim_free(&claim);
    }
    parts_free(&parts);
    return made;
}

static PyObject *claim_renew(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"id", "token", "lease_ms"};
    PyObject *given[3], *made = NULL;
    struct parts parts = {.id.owner = NULL};
    uint64_t lease_ms = 0;
    lethe_claim_answer answer = LETHE_CLAIM_UNKNOWN;
    if (arguments_take("claim_renew", args, count, names, parameters, 3, 3, given) != 0 ||
        arguments_u64("lease_ms", given[2], &lease_ms) != 0)
        return NULL;
    lethe_store *store =
        parts_take(given[0], given[1], NULL, &parts) == 0 ? store_enter(self) : NULL;
    if (store != NULL) {
        PyThreadState *thread = PyEval_SaveThread();
        lethe_status status =
            lethe_claim_renew(store, parts.id.bytes, parts.token.bytes, lease_ms, &answer);
        PyEval_RestoreThread(thread);
        if (store_done(self, status) == 0) made = word(answer);
    }
    parts_free(&parts);
    return made;
}

/* Records the completion, and in the same commit the operation, if there is one. */
static PyObject *record(PyObject *self, const struct parts *parts,
                        const lethe_operation *operation) {
    lethe_claim_answer answer = LETHE_CLAIM_UNKNOWN;
    uint8_t outcome = LETHE_OUTCOME_INVALID;
    lethe_store *store = store_enter(self);
    if (store == NULL) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status =
        operation == NULL
            ? lethe_claim_done(store, parts->id.bytes, parts->token.bytes, parts->third.bytes,
                               &answer)
            : lethe_claim_done_with(store, parts->id.bytes, parts->token.bytes, parts->third.bytes,
                                    operation, 1, &outcome, NULL, &answer);
    PyEval_RestoreThread(thread);
    if (store_done(self, status) != 0) return NULL;
    if (operation == NULL) return word(answer);
    PyObject *second = answer == LETHE_CLAIM_RECORDED ? store_outcome(outcome) : Py_NewRef(Py_None);
    return Py_BuildValue("NN", word(answer), second);
}

static PyObject *claim_done(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"id",      "token",        "reply",
                                             "changes", "operation_id", "time_ms"};
    PyObject *given[6], *made = NULL;
    struct parts parts = {.id.owner = NULL};
    struct key operation_id = {.owner = NULL};
    struct store_changes changes = {.count = 0};
    lethe_operation operation = {0};
    if (arguments_take("claim_done", args, count, names, parameters, 6, 2, given) != 0 ||
        arguments_u64("time_ms", given[5], &operation.time_ms) != 0)
        return NULL;
    bool has_changes = given[3] != NULL && given[3] != Py_None;
    PyObject *own_id = given[4] != NULL && given[4] != Py_None ? given[4] : given[0];
    bool is_taken = parts_take(given[0], given[1], given[2], &parts) == 0 &&
                    key_take(own_id, &operation_id) == 0 &&
                    (!has_changes || store_changes_take(given[3], &changes) == 0);
    if (is_taken) {
        operation.id = operation_id.bytes;
        operation.changes = changes.changes;
        operation.change_count = changes.count;
        made = record(self, &parts, has_changes ? &operation : NULL);
    }
    store_changes_free(&changes);
    key_free(&operation_id);
    parts_free(&parts);
    return made;
}

static PyObject *claim_abort(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"id", "token"};
    PyObject *given[2], *made = NULL;
    struct parts parts = {.id.owner = NULL};
    lethe_claim_answer answer = LETHE_CLAIM_UNKNOWN;
    if (arguments_take("claim_abort", args, count, names, parameters, 2, 2, given) != 0)
        return NULL;
    lethe_store *store =
        parts_take(given[0], given[1], NULL, &parts) == 0 ? store_enter(self) : NULL;
    if (store != NULL) {
        PyThreadState *thread = PyEval_SaveThread();
        lethe_status status = lethe_claim_abort(store, parts.id.bytes, parts.token.bytes, &answer);
        PyEval_RestoreThread(thread);
        if (store_done(self, status) == 0) made = word(answer);
    }
    parts_free(&parts);
    return made;
}

static PyObject *claim_get(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"id"};
    PyObject *given[1], *made = NULL;
    struct parts parts = {.id.owner = NULL};
    lethe_claim claim = LETHE_INIT(lethe_claim);
    if (arguments_take("claim_get", args, count, names, parameters, 1, 1, given) != 0) return NULL;
    lethe_store *store = parts_take(given[0], NULL, NULL, &parts) == 0 ? store_enter(self) : NULL;
    if (store != NULL) {
        PyThreadState *thread = PyEval_SaveThread();
        lethe_status status = lethe_claim_get(store, parts.id.bytes, &claim);
        PyEval_RestoreThread(thread);
        if (store_done(self, status) == 0) made = make_claim(NULL, &claim);
        lethe_claim_free(&claim);
    }
    parts_free(&parts);
    return made;
}

static bool keep_claim(void *context, const lethe_claim *claim) {
    struct rows *rows = context;
    struct row *row = rows_add(rows, claim->id);
    if (row == NULL) return false;
    row->numbers[0] = claim->state;
    row->numbers[1] = (int64_t)claim->left_ms;
    return rows->most == 0 || rows->count < rows->most;
}

static PyObject *make_listed(const struct rows *rows, const struct row *row) {
    PyObject *id = rows_object(rows, row, 0);
    if (id == NULL) return NULL;
    return Py_BuildValue("NsL", id, state_word((lethe_claim_state)row->numbers[0]),
                         (long long)row->numbers[1]);
}

static PyObject *claims(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"start", "n"};
    PyObject *given[2], *list = NULL;
    struct key from = {.owner = NULL};
    struct rows rows = {.most = 0};
    if (arguments_take("claims", args, count, names, parameters, 2, 0, given) != 0 ||
        arguments_size("n", given[1], &rows.most) != 0)
        return NULL;
    bool is_taken = given[0] == NULL || key_take(given[0], &from) == 0;
    lethe_store *store = is_taken ? store_enter(self) : NULL;
    if (store != NULL) {
        PyThreadState *thread = PyEval_SaveThread();
        lethe_status status = lethe_claims_each(store, from.bytes, keep_claim, &rows);
        PyEval_RestoreThread(thread);
        if (status == LETHE_OK && rows.lacks_memory) status = LETHE_ENOMEM;
        if (store_done(self, status) == 0) list = rows_list(&rows, make_listed);
    }
    rows_free(&rows);
    key_free(&from);
    return list;
}

static PyObject *claims_limit(OBJECT_ARGUMENTS) {
    static const char *const parameters[] = {"replies_bytes"};
    PyObject *given[1];
    uint64_t bytes = 0;
    if (arguments_take("claims_limit", args, count, names, parameters, 1, 1, given) != 0 ||
        arguments_u64("replies_bytes", given[0], &bytes) != 0)
        return NULL;
    lethe_store *store = store_enter(self);
    if (store == NULL) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_claims_limit(store, bytes);
    PyEval_RestoreThread(thread);
    return store_done(self, status) == 0 ? Py_NewRef(Py_None) : NULL;
}

static PyObject *claims_info(PyObject *self, PyObject *unused) {
    (void)unused;
    lethe_claims_stats stats = LETHE_INIT(lethe_claims_stats);
    lethe_store *store = store_enter(self);
    if (store == NULL) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    lethe_status status = lethe_claims_info(store, &stats);
    PyEval_RestoreThread(thread);
    if (store_done(self, status) != 0) return NULL;
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K}", "open", (unsigned long long)stats.open, "done",
        (unsigned long long)stats.done, "reply_bytes", (unsigned long long)stats.reply_bytes,
        "reply_limit_bytes", (unsigned long long)stats.reply_limit_bytes, "disk_bytes",
        (unsigned long long)stats.disk_bytes, "clock_ms", (unsigned long long)stats.clock_ms);
}

PyMethodDef store_claims_methods[] = {
    METHOD(
        "claim_begin", claim_begin,
        "claim_begin(id, token, lease_ms, fingerprint=b'')\n--\n\n"
        "Begins work that must happen once. Returns a lethe.Claim, whose answer is 'new' (do the "
        "work), 'running' (somebody else is at it), 'done' (here is the reply) or 'mismatch'."),
    METHOD("claim_renew", claim_renew,
           "claim_renew(id, token, lease_ms)\n--\n\n'renewed', 'done', 'lost' or 'unknown'."),
    METHOD("claim_done", claim_done,
           "claim_done(id, token, reply=b'', changes=None, operation_id=None, time_ms=None)\n--\n\n"
           "Records that the work is done: 'recorded', 'duplicate', 'lost' or 'unknown'. With "
           "changes, an operation is applied in the same commit, under operation_id or else the "
           "claim's id, and the result is (answer, outcome)."),
    METHOD("claim_abort", claim_abort,
           "claim_abort(id, token)\n--\n\nGives the claim up: 'aborted', 'done', 'lost' or "
           "'unknown'."),
    METHOD("claim_get", claim_get,
           "claim_get(id)\n--\n\nLooks at a claim: a lethe.Claim, whose answer is 'none', "
           "'running', 'lapsed' or 'done'."),
    METHOD("claims", claims,
           "claims(start=b'', n=0)\n--\n\nClaims in the order of their ids, n at most (0: all): a "
           "list of (id, state, left_ms)."),
    METHOD("claims_limit", claims_limit,
           "claims_limit(replies_bytes)\n--\n\nSets the cap of all replies together."),
    SIMPLE_METHOD("claims_info", claims_info, "claims_info()\n--\n\nThe claims in numbers."),
    END_OF_METHODS,
};

static PyStructSequence_Field claim_fields[] = {
    {"answer", "What the call says, as a word."},
    {"left_ms", "Of the lease; once done, until the claim may be forgotten."},
    {"reply", "Of a claim that is done; None without one."},
    {"reply_gone", "The reply made room for later ones."},
    {"fingerprint", "What the work is."},
    {NULL, NULL},
};
static PyStructSequence_Desc claim_description = {
    .name = "lethe.Claim",
    .doc = "What Store.claim_begin and Store.claim_get return.",
    .fields = claim_fields,
    .n_in_sequence = 5,
};

int store_claims_start(PyObject *module) {
    claim_type = store_tuple_type(module, &claim_description);
    return claim_type != NULL ? 0 : -1;
}
