/* module/once/sections.c - what a once-table may have besides counters and a window.
 *
 * IDEA    Version 4 of a saved table is version 3, with resolutions that may be none, followed by
 *         sections: a tag, a length and a body each. A table that has nothing for any section is
 *         saved as versions 2 and 3 always were, so earlier versions of the module can still read
 *         it; they refuse version 4 as a whole. The steps of effects are the sections' own, and
 *         are sent only for tables that use them.
 * I1      Tags ascend, none comes twice, and each body has the length that is written before it. A
 *         tag that is not known is refused: what it stands for must not be lost unnoticed.
 * I2      A record is over at a time that it carries, by the table's clock. It is then neither
 *         found, nor listed, nor saved, on a master and on its replicas alike, since their clocks
 *         move together. When its memory is given back is no part of the table: each server does
 *         that by itself, some with each change and the rest by the timer, a bounded number at a
 *         time. Only ONCE.INFO shows it, which counts what takes memory on this server. */
#include "once/sections.h"

#include "once/once.h"

const struct once_section *const once_sections[] = {&claims_section, &holds_section, NULL};

typedef const struct once_section *const *place;

void sections_init(struct once *table) {
    for (place section = once_sections; *section != NULL; section++)
        (*section)->init(table);
}

void sections_drop(struct once *table) {
    for (place section = once_sections; *section != NULL; section++)
        (*section)->drop(table);
}

bool sections_are_used(const struct once *table) {
    for (place section = once_sections; *section != NULL; section++) {
        if ((*section)->saved_bytes(table) > 0) return true;
    }
    return false;
}

static lethe_status save_section(const struct once *table, const struct once_section *section,
                                 lethe_sink sink) {
    uint64_t bytes = section->saved_bytes(table);
    if (bytes == 0) return LETHE_OK;
    lethe_status status = sink.write(sink.context, &section->tag, sizeof section->tag);
    if (status == LETHE_OK) status = sink.write(sink.context, &bytes, sizeof bytes);
    return status == LETHE_OK ? section->save(table, sink) : status;
}

lethe_status sections_save(const struct once *table, lethe_sink sink) {
    uint8_t count = 0;
    for (place section = once_sections; *section != NULL; section++)
        count += (*section)->saved_bytes(table) > 0 ? 1 : 0;
    if (count == 0) return LETHE_OK;
    lethe_status status = sink.write(sink.context, &count, sizeof count);
    for (place section = once_sections; *section != NULL; section++) {
        if (status == LETHE_OK) status = save_section(table, *section, sink);
    }
    return status;
}

static const struct once_section *find(uint8_t tag) {
    for (place section = once_sections; *section != NULL; section++) {
        if ((*section)->tag == tag) return *section;
    }
    return NULL;
}

static lethe_status load_section(struct once *table, struct chunk_reader *reader, uint8_t *tag) {
    lethe_source source = chunk_reader_source(reader);
    uint8_t before = *tag;
    uint64_t bytes;
    lethe_status status = source.read(source.context, tag, sizeof *tag);
    if (status == LETHE_OK) status = source.read(source.context, &bytes, sizeof bytes);
    if (status != LETHE_OK) return status;
    const struct once_section *section = find(*tag);
    if (section == NULL || *tag <= before || bytes == 0 || bytes > reader->left)
        return LETHE_ECORRUPT;
    uint64_t left = reader->left - bytes;
    status = section->load(table, reader, bytes);
    return status == LETHE_OK && reader->left != left ? LETHE_ECORRUPT : status;
}

lethe_status sections_load(struct once *table, struct chunk_reader *reader) {
    lethe_source source = chunk_reader_source(reader);
    uint8_t count, tag = 0;
    lethe_status status = source.read(source.context, &count, sizeof count);
    if (status == LETHE_OK && count == 0) return LETHE_ECORRUPT;
    for (uint8_t i = 0; status == LETHE_OK && i < count; i++)
        status = load_section(table, reader, &tag);
    return status;
}

void sections_digest(const struct once *table, redis_digest *digest) {
    for (place section = once_sections; *section != NULL; section++)
        (*section)->digest(table, digest);
}

size_t sections_memory(const struct once *table) {
    size_t bytes = 0;
    for (place section = once_sections; *section != NULL; section++)
        bytes += (*section)->memory(table);
    return bytes;
}

size_t sections_allocations(const struct once *table) {
    size_t count = 0;
    for (place section = once_sections; *section != NULL; section++)
        count += (*section)->allocations(table);
    return count;
}

bool sections_repeat(struct once *table, uint8_t code, struct effect_reader *reader, bool apply) {
    for (place section = once_sections; *section != NULL; section++) {
        bool is_known = false;
        bool is_valid = (*section)->repeat(table, code, reader, apply, &is_known);
        if (is_known) return is_valid;
    }
    return false;
}

bool sections_are_due(const struct once *table, uint64_t now_ms) {
    for (place section = once_sections; *section != NULL; section++) {
        if (records_due(records_of(table, (*section)->kind), now_ms) != NULL) return true;
    }
    return false;
}

void sections_end_due(struct once *table, struct effect *effect) {
    for (place section = once_sections; *section != NULL; section++) {
        if ((*section)->end_due != NULL) (*section)->end_due(table, effect);
    }
}

void sections_give_back(struct once *table, unsigned budget) {
    for (place section = once_sections; *section != NULL; section++)
        records_give_back(table, (*section)->kind, budget);
}
