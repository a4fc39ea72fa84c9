/* tables.c - finds the once-tables of a server, and looks at them; see tables.h.
 *
 * IDEA  A search finds keys. A key NAME:{digits} may be a partition of the table NAME: it is one if
 *       NAME holds a description. Every other key is a table of its own. What is found becomes a
 *       candidate, for which at most one GET is asked.
 * I1    A key is shown once: as a table, or as a partition of one.
 * I2    A description may be written anew, with other partitions, between two looks. So it is read
 *       in each look, and a table whose description has changed is a candidate again.
 * I3    What a server answers is kept by partition and added up afterwards, because an answer may
 *       come twice.
 * LIMIT A name with a zero byte, or of more than REDIS_NAME_LIMIT_BYTES, is passed over. */
#include "redis/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/description.h"
#include "redis/map.h"
#include "say/message.h"

enum { RETRY_MS = 2000, ANY_PARTITION = -1 };

/* Errors that say something of one table, and nothing of the server. */
static const char *const of_table[] = {"ERR no such table", "WRONGTYPE", "NOPERM", "PARTIAL", NULL};

/* A name that may be a table's. */
struct candidate {
    char name[REDIS_NAME_LIMIT_BYTES + 1];
    /* The key that it was found by; the same as the name, unless that may be a partition. */
    char key[REDIS_NAME_LIMIT_BYTES + 1];
    enum {
        CANDIDATE_CERTAIN, /* it was found by its type */
        CANDIDATE_ASKED,   /* what it is depends on its description */
        CANDIDATE_NAMED    /* the same; without one it may be a table all the same */
    } kind;
    struct redis_description found;
};

/* A question to one partition, or, with ANY_PARTITION, for the description of a table. */
struct question {
    struct redis_request request;
    struct redis_text text;
    struct redis_seen *seen;
    struct candidate *candidate;
    ptrdiff_t partition;
};

static struct redis_seen *find_seen(struct redis_tables *tables, const char *name) {
    for (size_t i = 0; i < tables->count; i++) {
        if (strcmp(tables->seen[i].table->name, name) == 0) return &tables->seen[i];
    }
    return NULL;
}

static void release(struct redis_seen *seen) {
    redis_table_close(seen->table);
    free(seen->parts);
    free(seen->counted);
}

static void forget(struct redis_tables *tables, struct redis_seen *seen) {
    tables->parts -= seen->table->partition_count;
    release(seen);
    size_t place = (size_t)(seen - tables->seen);
    tables->count--;
    memmove(seen, seen + 1, (tables->count - place) * sizeof *seen);
}

static struct redis_named *find_named(struct redis_tables *tables, const char *name) {
    for (size_t i = 0; i < tables->named_count; i++) {
        if (strcmp(tables->named[i].name, name) == 0) return &tables->named[i];
    }
    return NULL;
}

/* --- Candidates */

static void add_candidate(struct redis_tables *tables, const char *name, const char *key,
                          unsigned kind) {
    for (size_t i = 0; i < tables->candidate_count; i++) {
        if (strcmp(tables->candidates[i].key, key) == 0) return;
    }
    if (tables->candidate_count >= REDIS_TABLES_LIMIT) return; /* it is found again */
    if (tables->candidate_count == tables->candidate_room) {
        size_t room = 2 * tables->candidate_room + 16;
        struct candidate *larger = realloc(tables->candidates, room * sizeof *larger);
        tables->is_short_of_memory = larger == NULL;
        if (larger == NULL) return;
        tables->candidates = larger;
        tables->candidate_room = room;
    }
    struct candidate *candidate = &tables->candidates[tables->candidate_count++];
    *candidate = (struct candidate){.kind = kind, .found.kind = TABLE_NOTHING};
    memcpy(candidate->name, name, strlen(name) + 1);
    memcpy(candidate->key, key, strlen(key) + 1);
}

/* Whether a key is NAME:{digits}; writes the name then. */
static bool read_base(const char *key, char name[REDIS_NAME_LIMIT_BYTES + 1]) {
    const char *open = strrchr(key, '{');
    if (open == NULL || open - key < 2 || open[-1] != ':') return false;
    size_t digits = strspn(open + 1, "0123456789"), size = (size_t)(open - key) - 1;
    if (digits == 0 || strcmp(open + 1 + digits, "}") != 0) return false;
    if (strcspn(key, "{}") < size) return false;
    memcpy(name, key, size);
    name[size] = '\0';
    return true;
}

/* A key of the search. */
static void take_key(void *context, lethe_bytes key) {
    struct redis_tables *tables = context;
    char text[REDIS_NAME_LIMIT_BYTES + 1], name[REDIS_NAME_LIMIT_BYTES + 1];
    if (key.size == 0 || key.size > REDIS_NAME_LIMIT_BYTES ||
        memchr(key.data, '\0', key.size) != NULL) {
        tables->skipping++;
        return;
    }
    memcpy(text, key.data, key.size);
    text[key.size] = '\0';
    if (read_base(text, name)) {
        const struct redis_seen *seen = find_seen(tables, name);
        if (seen == NULL || seen->table->partition_count == 1)
            add_candidate(tables, name, text, CANDIDATE_ASKED);
        return;
    }
    if (find_seen(tables, text) != NULL) return;
    add_candidate(tables, text, text, CANDIDATE_CERTAIN);
}

/* --- Questions */

static void take_info(struct question *question, const redisReply *reply) {
    struct redis_seen *seen = question->seen;
    struct redis_table_stats *part = &seen->parts[question->partition];
    if (reply->type == REDIS_REPLY_ERROR) {
        bool is_partial = strncmp(reply->str, "PARTIAL", 7) == 0;
        bool is_gone = strncmp(reply->str, "ERR", 3) == 0;
        if (!is_partial) *part = (struct redis_table_stats){0};
        if (!is_gone && !is_partial && seen->named != NULL)
            snprintf(seen->named->why, sizeof seen->named->why, "%s", reply->str);
        return;
    }
    *part = (struct redis_table_stats){0};
    redis_stats_add(part, reply);
}

static void take_description(struct question *question, const redisReply *reply) {
    if (question->candidate != NULL) {
        struct redis_description *found = &question->candidate->found;
        redis_description_parse(reply, found);
        /* Another type than a string: what was found by its type is a table. */
        if (reply->type == REDIS_REPLY_ERROR) found->kind = TABLE_PLAIN;
        return;
    }
    const char *description = question->seen->table->description;
    bool is_same = reply->type == REDIS_REPLY_STRING && strcmp(reply->str, description) == 0;
    question->seen->is_changed = !is_same;
}

static void take_answer(struct redis_request *request, size_t command, const redisReply *reply) {
    struct question *question = request->context;
    (void)command;
    if (question->partition == ANY_PARTITION)
        take_description(question, reply);
    else
        take_info(question, reply);
}

static bool ask(struct redis_client *client, struct question *question, const char *command,
                const char *key) {
    redis_text_begin(&question->text, 2);
    redis_text_string(&question->text, command);
    redis_text_string(&question->text, key);
    question->request = (struct redis_request){.slot = redis_slot((lethe_bytes){key, strlen(key)}),
                                               .text = question->text.data,
                                               .size = question->text.size,
                                               .commands = 1,
                                               .tolerated = of_table,
                                               .on_reply = take_answer,
                                               .context = question};
    if (question->text.is_short_of_memory) return false;
    redis_client_submit(client, &question->request);
    return true;
}

/* Waits for all answers, and frees the questions. */
static int finish(struct redis_tables *tables, struct question *questions, size_t count,
                  bool fits) {
    int code = redis_client_finish(tables->client, NULL);
    if (code == EXIT_DONE && !fits) code = redis_client_fail_memory(tables->client);
    for (size_t i = 0; i < count; i++)
        redis_text_free(&questions[i].text);
    free(questions);
    tables->questions += count;
    return code;
}

/* Asks what the candidates are that are not certain. */
static int ask_candidates(struct redis_tables *tables) {
    size_t count = 0;
    bool fits = true;
    struct question *questions = calloc(tables->candidate_count + 1, sizeof *questions);
    if (questions == NULL) return message_fail_memory();
    for (size_t i = 0; i < tables->candidate_count && fits; i++) {
        struct candidate *candidate = &tables->candidates[i];
        if (candidate->kind == CANDIDATE_CERTAIN) continue;
        struct question *question = &questions[count++];
        question->candidate = candidate;
        question->partition = ANY_PARTITION;
        fits = ask(tables->client, question, "GET", candidate->name);
    }
    return finish(tables, questions, count, fits);
}

static int ask_tables(struct redis_tables *tables) {
    size_t count = 0;
    bool fits = true;
    struct question *questions = calloc(tables->parts + tables->count + 1, sizeof *questions);
    if (questions == NULL) return message_fail_memory();
    for (size_t i = 0; i < tables->count; i++) {
        struct redis_seen *seen = &tables->seen[i];
        seen->is_changed = false;
        for (size_t p = 0; p < seen->table->partition_count && fits; p++) {
            struct question *question = &questions[count++];
            question->seen = seen;
            question->partition = (ptrdiff_t)p;
            fits = ask(tables->client, question, "ONCE.INFO", seen->table->partitions[p].key);
        }
        if (seen->table->partition_count == 1 || !fits) continue; /* I2 */
        struct question *question = &questions[count++];
        question->seen = seen;
        question->partition = ANY_PARTITION;
        fits = ask(tables->client, question, "GET", seen->table->name);
    }
    return finish(tables, questions, count, fits);
}

/* --- Tables */

/* I1: partitions that were taken for tables are none. */
static void forget_partitions(struct redis_tables *tables, const struct redis_table *table) {
    for (size_t i = 0; i < table->partition_count && table->partition_count > 1; i++) {
        struct redis_seen *other = find_seen(tables, table->partitions[i].key);
        if (other != NULL) forget(tables, other);
    }
}

static int add_table(struct redis_tables *tables, const char *name,
                     const struct redis_description *found) {
    struct redis_table *table;
    if (find_seen(tables, name) != NULL) return EXIT_DONE;
    if (tables->count >= REDIS_TABLES_LIMIT ||
        tables->parts + found->partitions > REDIS_TABLE_PARTS_LIMIT) {
        tables->skipping++;
        return EXIT_DONE;
    }
    int code = redis_table_outline(name, found, &table);
    if (code != EXIT_DONE) return code;
    forget_partitions(tables, table);
    if (tables->count == tables->room) {
        size_t room = 2 * tables->room + 16;
        struct redis_seen *larger = realloc(tables->seen, room * sizeof *larger);
        if (larger != NULL) {
            tables->seen = larger;
            tables->room = room;
        }
    }
    struct redis_seen made = {.table = table, .named = find_named(tables, name), .is_new = true};
    made.parts = calloc(table->partition_count, sizeof *made.parts);
    made.counted = calloc(table->partition_count, sizeof *made.counted);
    if (tables->count == tables->room || made.parts == NULL || made.counted == NULL) {
        release(&made);
        return message_fail_memory();
    }
    tables->parts += table->partition_count;
    tables->seen[tables->count++] = made;
    return EXIT_DONE;
}

/* Says of a table that is named what is there in its place. */
static void explain(struct redis_tables *tables, const struct candidate *candidate) {
    struct redis_named *named = find_named(tables, candidate->name);
    if (named == NULL || candidate->found.kind == TABLE_NOTHING) return;
    snprintf(named->why, sizeof named->why, "%s",
             candidate->found.kind == TABLE_NEWER ? "it was made by a newer lethe; upgrade lethe"
                                                  : "it is not a table of counters");
}

static int take_candidates(struct redis_tables *tables) {
    static const struct redis_description plain = {.kind = TABLE_PLAIN, .partitions = 1};
    int code = ask_candidates(tables);
    for (size_t i = 0; i < tables->candidate_count && code == EXIT_DONE; i++) {
        const struct candidate *candidate = &tables->candidates[i];
        bool has_description =
            candidate->found.kind == TABLE_PARTITIONED && strpbrk(candidate->name, "{}") == NULL;
        bool is_plain =
            candidate->kind == CANDIDATE_CERTAIN ||
            (candidate->kind == CANDIDATE_NAMED && candidate->found.kind == TABLE_PLAIN);
        /* What may be a partition and is none was found by its type. */
        is_plain = is_plain || strcmp(candidate->name, candidate->key) != 0;
        if (has_description)
            code = add_table(tables, candidate->name, &candidate->found);
        else if (is_plain)
            code = add_table(tables, candidate->key, &plain);
        else
            explain(tables, candidate);
    }
    tables->candidate_count = 0;
    return code;
}

/* --- Looking */

/* What is gone is forgotten; what is another table now is asked for its description. */
static void sort_out(struct redis_tables *tables) {
    for (size_t i = 0; i < tables->count;) {
        struct redis_seen *seen = &tables->seen[i];
        redis_seen_add_up(seen);
        if (seen->is_there && !seen->is_changed) {
            i++;
            continue;
        }
        if (seen->is_changed)
            add_candidate(tables, seen->table->name, seen->table->name, CANDIDATE_ASKED);
        forget(tables, seen);
    }
}

static int search(struct redis_tables *tables) {
    for (size_t i = 0; i < tables->named_count; i++) {
        struct redis_named *named = &tables->named[i];
        named->why[0] = '\0';
        if (find_seen(tables, named->name) == NULL)
            add_candidate(tables, named->name, named->name, CANDIDATE_NAMED);
    }
    int code = EXIT_DONE;
    if (tables->named_count == 0) {
        uint64_t turns = tables->finder.turns;
        code = redis_find(tables->client, &tables->finder, REDIS_FIND_QUESTIONS, REDIS_FIND_REST_MS,
                          take_key, tables);
        tables->questions += REDIS_FIND_QUESTIONS;
        if (tables->finder.turns > turns) {
            tables->skipped = tables->skipping;
            tables->skipping = 0;
        }
    }
    if (code == EXIT_DONE && tables->is_short_of_memory) code = message_fail_memory();
    tables->is_short_of_memory = false;
    return code == EXIT_DONE ? take_candidates(tables) : code;
}

/* Connects, and sees whether the module is there. */
static int connect(struct redis_tables *tables) {
    static const struct redis_client_options options = {.retry_ms = RETRY_MS};
    if (tables->client != NULL) return EXIT_DONE;
    redis_finder_reset(&tables->finder);
    tables->skipping = 0;
    int code = redis_client_open(tables->access, &options, &tables->client);
    if (code != EXIT_DONE) return code;
    struct redis_table nothing = {.client = tables->client};
    struct redis_text text = {0};
    redis_text_begin(&text, 2);
    redis_text_string(&text, "ONCE.INFO");
    redis_text_string(&text, "lethe");
    code = redis_table_ask(&nothing, "lethe", &text, &(struct redis_survey){.tolerated = of_table});
    redis_text_free(&text);
    return code;
}

int redis_tables_look(struct redis_tables *tables) {
    tables->questions = 0;
    int code = connect(tables);
    if (code == EXIT_DONE) code = search(tables);
    if (code == EXIT_DONE) code = ask_tables(tables);
    if (code == EXIT_DONE) {
        sort_out(tables);
    } else {
        tables->candidate_count = 0;
        redis_client_close(tables->client);
        tables->client = NULL;
    }
    return code;
}

int redis_tables_new(const struct redis_access *access, const char *const *names, size_t count,
                     struct redis_tables **out) {
    struct redis_tables *tables = calloc(1, sizeof *tables);
    *out = NULL;
    if (tables == NULL) return message_fail_memory();
    tables->access = access;
    tables->named = calloc(count + 1, sizeof *tables->named);
    if (tables->named == NULL) {
        redis_tables_free(tables);
        return message_fail_memory();
    }
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(names[i]);
        if (size == 0 || size > REDIS_NAME_LIMIT_BYTES) {
            redis_tables_free(tables);
            return message_fail(EXIT_USAGE,
                                "the name of --table has %zu bytes; give one of 1 to %d", size,
                                REDIS_NAME_LIMIT_BYTES);
        }
        if (find_named(tables, names[i]) == NULL)
            tables->named[tables->named_count++].name = names[i];
    }
    *out = tables;
    return EXIT_DONE;
}

void redis_tables_free(struct redis_tables *tables) {
    if (tables == NULL) return;
    for (size_t i = 0; i < tables->count; i++)
        release(&tables->seen[i]);
    redis_client_close(tables->client);
    redis_finder_free(&tables->finder);
    free(tables->seen);
    free(tables->candidates);
    free(tables->named);
    free(tables);
}
