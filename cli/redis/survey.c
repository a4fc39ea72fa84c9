/* survey.c - asks all partitions of a table something, or the server of one key. */
#include <stdlib.h>
#include <string.h>

#include "redis/table.h"
#include "say/message.h"

struct question {
    struct redis_request request;
    struct redis_text text;
    struct redis_ends ends;
    const struct redis_survey *survey;
    size_t partition;
};

void redis_ends_add(struct redis_ends *ends, const struct redis_text *text, uint32_t subject) {
    if (ends->count == ends->room) {
        size_t room = 2 * ends->room + 64;
        size_t *larger = realloc(ends->ends, room * sizeof *larger);
        if (larger != NULL) ends->ends = larger;
        uint32_t *more = realloc(ends->subjects, room * sizeof *more);
        if (more != NULL) ends->subjects = more;
        ends->is_short_of_memory = larger == NULL || more == NULL;
        if (ends->is_short_of_memory) return;
        ends->room = room;
    }
    ends->subjects[ends->count] = subject;
    ends->ends[ends->count++] = text->size;
}

static void take_answer(struct redis_request *request, size_t command, const redisReply *reply) {
    struct question *question = request->context;
    const struct redis_survey *survey = question->survey;
    if (survey->on_each != NULL) {
        survey->on_each(survey->context, question->partition, question->ends.subjects[command],
                        reply);
        return;
    }
    if (survey->on_reply != NULL) survey->on_reply(survey->context, question->partition, reply);
}

static void submit(struct redis_table *table, struct question *question,
                   const struct redis_survey *survey, unsigned slot) {
    question->survey = survey;
    question->request =
        (struct redis_request){.slot = slot,
                               .is_write = survey->is_write,
                               .text = question->text.data,
                               .size = question->text.size,
                               .ends = question->ends.ends,
                               .commands = question->ends.count > 0 ? question->ends.count : 1,
                               .tolerated = survey->tolerated,
                               .on_reply = take_answer,
                               .context = question};
    redis_client_submit(table->client, &question->request);
}

int redis_table_survey(struct redis_table *table, const struct redis_survey *survey) {
    struct question *questions = calloc(table->partition_count, sizeof *questions);
    if (questions == NULL) return message_fail_memory();
    int code = EXIT_DONE;
    for (size_t i = 0; i < table->partition_count && code == EXIT_DONE; i++) {
        struct question *question = &questions[i];
        question->partition = i;
        bool is_asked =
            survey->write_many != NULL
                ? survey->write_many(survey->context, i, &question->text, &question->ends)
                : survey->write(survey->context, i, &question->text);
        if (!is_asked) continue;
        if (question->text.is_short_of_memory || question->ends.is_short_of_memory) {
            code = message_fail_memory();
        } else {
            submit(table, question, survey, table->partitions[i].slot);
        }
    }
    int finished = redis_client_finish(table->client, NULL);
    if (code == EXIT_DONE) code = finished;
    for (size_t i = 0; i < table->partition_count; i++) {
        redis_text_free(&questions[i].text);
        free(questions[i].ends.ends);
        free(questions[i].ends.subjects);
    }
    free(questions);
    return code;
}

int redis_table_ask(struct redis_table *table, const char *key, struct redis_text *text,
                    const struct redis_survey *how) {
    struct question question = {.text = *text};
    if (text->is_short_of_memory) return message_fail_memory();
    submit(table, &question, how, redis_slot((lethe_bytes){key, strlen(key)}));
    return redis_client_finish(table->client, &question.request);
}
