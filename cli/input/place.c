/* place.c - finds the mark of an input among those of a table; see place.h.
 *
 * WHY     A plain file is searched by offset, and mostly costs one block. Of a compressed file the
 *         bytes before a mark are only known once they are decompressed: that is done once, for all
 *         candidates, and the hash of all of them decides. */
#include "input/place.h"

#include "frame/exit_code.h"
#include "input/inputs.h"
#include "input/resume_find.h"

/* Decompresses the input once, and compares all before each candidate. */
static enum source_result search_packed(struct stream *stream, const struct resume_search *search,
                                        const struct resume_entry **out,
                                        struct input_failure *failure) {
    for (size_t i = 0; i < search->count; i++) {
        const struct resume_entry *entry = search->candidates[i];
        enum source_result result = stream_skip(stream, entry->mark.offset, failure);
        if (result == SOURCE_END) break;
        if (result != SOURCE_MORE) return result;
        struct resume_mark here = stream_mark(stream, 0);
        if (resume_same_place(&entry->mark, &here)) *out = entry;
    }
    return SOURCE_MORE;
}

enum source_result place_find(struct stream *stream, const struct resume_table *table,
                              uint64_t least, struct place *out, struct input_failure *failure) {
    enum source_result result = SOURCE_MORE;
    int file = source_plain_file(stream->source);
    struct resume_search search =
        resume_search_begin(table, stream->head, stream->head_size, least);
    *out = (struct place){0};
    if (search.count > 0) {
        out->furthest = search.candidates[search.count - 1]->mark.offset;
        if (file < 0) {
            result = search_packed(stream, &search, &out->entry, failure);
        } else if (resume_search_file(&search, file, &out->entry) == RESUME_STOPPED) {
            result = SOURCE_STOPPED;
        }
    }
    if (search.is_short_of_memory) {
        input_failure_set(failure, EXIT_ENVIRONMENT,
                          "not enough memory to find out how far %s was read; free some",
                          inputs_name(source_path(stream->source)));
        result = SOURCE_FAILED;
    }
    resume_search_end(&search);
    return result;
}

/* The file of a stream, as the system knows it; zeroed if it is not a file. */
static struct resume_file look(const struct stream *stream) {
    struct resume_file file = {0};
    int descriptor = source_descriptor(stream->source);
    if (descriptor < 0 || !resume_look(descriptor, &file)) return file;
    if (source_plain_file(stream->source) < 0)
        file.identity = resume_identify_packed(file.identity);
    return file;
}

uint64_t place_identity(const struct stream *stream) {
    return look(stream).identity;
}

/* Brings the track to a mark, without reading what came before it if the mark can do without. */
static enum resume_answer follow(struct stream *stream, const struct resume_mark *mark, int file) {
    char tail[RESUME_SAMPLE_BYTES];
    size_t size = resume_sample_size(mark->offset);
    if (!mark->has_blocks) return resume_follow(file, mark->offset, &stream->track);
    if (!resume_read_at(file, mark->offset - size, tail, size)) return RESUME_NONE;
    resume_track_go_on(&stream->track, mark, tail);
    return RESUME_FOUND;
}

enum source_result place_go(struct stream *stream, const struct resume_mark *mark,
                            struct input_failure *failure) {
    int file = source_plain_file(stream->source);
    if (file < 0) return stream_restart(stream, mark->offset, failure);
    enum source_result result = stream_seek(stream, mark->offset, failure);
    if (result != SOURCE_MORE) return result;
    enum resume_answer answer = follow(stream, mark, file);
    if (answer == RESUME_STOPPED) return SOURCE_STOPPED;
    return answer == RESUME_FOUND ? SOURCE_MORE : SOURCE_END;
}

struct resume_mark place_mark(struct stream *stream, uint64_t line) {
    struct resume_mark mark = stream_mark(stream, line);
    mark.file = look(stream);
    return mark;
}
