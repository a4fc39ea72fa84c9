/* filter/cascade/job.c - one flush or merge, a step at a time.
 *
 * IDEA    The inputs are streams, merged by a tree; what comes out is written as a run, page by
 *         page. A step merges a few blocks and leaves the rest for the next step.
 * I1      Inputs are neighbours in age: no other run lies between two of them.
 * I2      At the bottom no tombstone stays: there is nothing left that it could cancel. */
#include <string.h>

#include "core/allocator.h"
#include "filter/cascade/state.h"

static unsigned number_bits(const lethe_cascade *cascade, unsigned age_bits) {
    return cascade->shape.fingerprint_bits - cascade->shape.range_bits + age_bits;
}

/* Joins the streams of the inputs, oldest last: neighbours are merged, the smallest first. */
static lethe_status join_inputs(struct lethe_cascade_job *job) {
    struct lethe_cascade_stream *streams[LETHE_CASCADE_MAX_RUNS] = {NULL};
    uint64_t sizes[LETHE_CASCADE_MAX_RUNS] = {0};
    unsigned count = 0;
    lethe_status status = LETHE_OK;
    for (; count < job->input_count && status == LETHE_OK; count++) {
        sizes[count] = job->inputs[count]->facts.entries;
        status = lethe_cascade_stream_of_run(&job->frame, job->inputs[count], &streams[count]);
    }
    while (status == LETHE_OK && count > 1) {
        unsigned best = 0;
        for (unsigned i = 1; i + 1 < count; i++) {
            if (sizes[i] + sizes[i + 1] < sizes[best] + sizes[best + 1]) best = i;
        }
        struct lethe_cascade_stream *newer = streams[best], *older = streams[best + 1];
        status = lethe_cascade_stream_merge(&job->frame, newer, older, &streams[best]);
        sizes[best] += sizes[best + 1];
        count--;
        for (unsigned i = best + 1; i < count; i++) {
            streams[i] = streams[i + 1];
            sizes[i] = sizes[i + 1];
        }
    }
    if (status == LETHE_OK && streams[0] != NULL) {
        job->stream = streams[0];
        return LETHE_OK;
    }
    for (unsigned i = 0; i < count; i++)
        lethe_cascade_stream_free(streams[i]);
    return status != LETHE_OK ? status : LETHE_EINVAL; /* a job has an input */
}

/* The periods of what comes out, as far as they are known before. */
static void plan_ages(const lethe_cascade *cascade, struct lethe_cascade_job *job,
                      struct lethe_cascade_run_facts *facts) {
    if (!lethe_cascade_has_ages(&cascade->words)) return;
    uint64_t first = UINT64_MAX, last = 0;
    if (job->table != NULL) {
        first = job->table->first_period;
        last = job->table->last_period;
    }
    for (unsigned i = 0; i < job->input_count; i++) {
        const struct lethe_cascade_run_facts *input = &job->inputs[i]->facts;
        if (input->first_period < first) first = input->first_period;
        if (input->last_period > last) last = input->last_period;
    }
    if (first < job->frame.oldest_period) first = job->frame.oldest_period;
    if (last < first) last = first; /* all of it has expired */
    job->frame.first_period = facts->first_period = first;
    facts->last_period = last;
    while ((last - first) >> facts->age_bits != 0)
        facts->age_bits++;
}

static lethe_status begin_filter(struct lethe_cascade_job *job, const lethe_allocator *allocator) {
    if (job->filter_bytes == 0) return LETHE_OK;
    job->filter = lethe_cascade_sieve_new(job->filter_bytes, allocator);
    return job->filter == NULL ? LETHE_ENOMEM : LETHE_OK;
}

static lethe_status begin(lethe_cascade *cascade, struct lethe_cascade_job *job) {
    struct lethe_cascade_run_facts facts = {.id = job->run_id, .level = job->level};
    plan_ages(cascade, job, &facts);
    lethe_status status = job->table != NULL
                              ? lethe_cascade_stream_of_table(&job->frame, job->table, &job->stream)
                              : join_inputs(job);
    if (status != LETHE_OK) return status;
    status = begin_filter(job, cascade->allocator);
    if (status != LETHE_OK) return status;
    if (job->is_scan) {
        job->has_begun = true;
        return LETHE_OK;
    }
    if (!lethe_cascade_is_in_place(cascade)) return LETHE_EIO;
    status = lethe_cascade_writer_begin(&job->writer, cascade->folder, cascade->shape.identity,
                                        facts, job->expected, number_bits(cascade, facts.age_bits),
                                        cascade->setting.direct, cascade->allocator);
    job->has_begun = status == LETHE_OK;
    return status;
}

/* Writes a block without ages, some of whose words have values. */
static lethe_status write_values(struct lethe_cascade_job *job) {
    struct lethe_cascade_stream *stream = job->stream;
    size_t next_value = 0;
    lethe_status status = LETHE_OK;
    for (size_t i = 0; i < stream->count && status == LETHE_OK; i++) {
        uint64_t word = stream->words[i], number = word >> 1;
        if ((word & 1) == 0) {
            status = lethe_cascade_writer_add(&job->writer, &number, 1);
            continue;
        }
        struct lethe_cascade_value value = stream->values[next_value++];
        if (job->is_bottom) {
            job->unmatched += value.removed;
            value.removed = 0;
            if (value.added == 0) continue;
        }
        status = lethe_cascade_value_is_one(value)
                     ? lethe_cascade_writer_add(&job->writer, &number, 1)
                     : lethe_cascade_writer_add_value(&job->writer, number, value);
    }
    return status;
}

/* Writes the block that the stream holds; its words become numbers. */
static lethe_status write_block(struct lethe_cascade_job *job) {
    struct lethe_cascade_stream *stream = job->stream;
    if (job->filter != NULL) {
        lethe_cascade_sieve_add(job->filter, stream->words, stream->count,
                                job->frame.words.tag_bits);
    }
    if (job->is_scan) return LETHE_OK;
    if (lethe_cascade_has_ages(&job->frame.words)) {
        unsigned age_bits = job->writer.run->facts.age_bits;
        for (size_t i = 0; i < stream->count; i++) {
            uint64_t word = stream->words[i];
            stream->words[i] = word >> LETHE_CASCADE_AGE_TAG_BITS << age_bits |
                               (word & ((1u << LETHE_CASCADE_AGE_TAG_BITS) - 1));
        }
    } else if (stream->value_count > 0) {
        return write_values(job);
    } else {
        for (size_t i = 0; i < stream->count; i++)
            stream->words[i] >>= 1;
    }
    return lethe_cascade_writer_add(&job->writer, stream->words, stream->count);
}

static lethe_status finish(lethe_cascade *cascade, struct lethe_cascade_job *job) {
    if (job->is_scan) return LETHE_OK;
    lethe_status status = lethe_cascade_writer_end(&job->writer, cascade->folder, &job->output);
    if (status != LETHE_OK) return status;
    if (job->output != NULL) {
        job->output->filter = job->filter;
    } else {
        lethe_cascade_sieve_free(job->filter);
    }
    job->filter = NULL;
    lethe_cascade_stream_free(job->stream);
    job->stream = NULL;
    job->has_begun = false;
    return LETHE_OK;
}

lethe_status lethe_cascade_job_step(lethe_cascade *cascade, struct lethe_cascade_job *job,
                                    uint64_t budget, bool *finished) {
    *finished = false;
    if (!job->has_begun) {
        lethe_status status = begin(cascade, job);
        if (status != LETHE_OK) return status;
    }
    for (uint64_t done = 0; done < budget;) {
        lethe_status status = lethe_cascade_stream_fill(job->stream);
        if (status != LETHE_OK) return status;
        if (job->stream->count == 0) {
            *finished = true;
            return finish(cascade, job);
        }
        done += job->stream->count;
        status = write_block(job);
        if (status != LETHE_OK) return status;
    }
    return LETHE_OK;
}

void lethe_cascade_job_drop(lethe_cascade *cascade, struct lethe_cascade_job *job) {
    lethe_cascade_stream_free(job->stream);
    job->stream = NULL;
    if (job->has_begun && !job->is_scan) {
        const char *folder = lethe_cascade_is_in_place(cascade) ? cascade->folder : NULL;
        lethe_cascade_writer_drop(&job->writer, folder);
    }
    job->has_begun = false;
    lethe_cascade_sieve_free(job->filter);
    job->filter = NULL;
}
