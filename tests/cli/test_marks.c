/* Goal:   how far a file was read is known by what was read of it, under any name, in any format,
 * and for ever. Method: files are read, changed and read again with the marks of the readings
 * before (reading.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/exit_code.h"
#include "reading.h"

/* Decodes a mark, writes it again, and tries it with each number of bytes missing. */
static void check_mark(const unsigned char *golden, size_t size) {
    struct resume_mark mark;
    unsigned char again[RESUME_VALUE_BYTES];
    size_t used = 0;
    assert_int_equal(resume_decode((lethe_bytes){golden, size}, &mark, &used), RESUME_FINE);
    assert_int_equal(used, size);
    assert_int_equal(mark.offset, 123456789);
    assert_int_equal(mark.line, 123456);
    assert_int_equal(resume_encode(&mark, again), size);
    assert_memory_equal(again, golden, size);
    for (size_t less = 0; less < size; less++) {
        assert_int_equal(resume_decode((lethe_bytes){golden, less}, &mark, &used), RESUME_DAMAGED);
    }
    for (size_t i = 0; i < 2; i++) {
        struct resume_table table = {0};
        memcpy(again, golden, size);
        if (i == 1) again[0] = 3;
        assert_int_equal(resume_decode((lethe_bytes){again, size}, &mark, &used),
                         i == 0 ? RESUME_FINE : RESUME_NEWER);
        assert_true(resume_load(&table, (lethe_bytes){"file-x", 6}, (lethe_bytes){again, size}));
        assert_true(resume_load(&table, (lethe_bytes){"other", 5}, (lethe_bytes){again, size}));
        assert_int_equal(table.count, 1 - i);
        assert_int_equal(table.not_understood, i);
        resume_free(&table);
    }
}

/* Goal:   the bytes of a mark stay what they are for ever. */
static void mark_format(void **state) {
    (void)state;
    static const unsigned char first[] = {
        0x01, 0x00, 0x10, 0x00, 0x10, 0x15, 0xcd, 0x5b, 0x07, 0x00, 0x00, 0x00, 0x00, 0x40,
        0xe2, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0xd4, 0x3a, 0xfb, 0x71, 0xa7, 0x63, 0x84,
        0x43, 0xb2, 0xd0, 0x1b, 0xc1, 0xf4, 0x0b, 0x05, 0x89, 0x2d, 0xf2, 0x7d, 0xb8, 0x3b,
        0xe4, 0x08, 0xca, 0x7e, 0xb4, 0x85, 0x24, 0xf3, 0x4e, 0xf7, 0x95,
    };
    static const unsigned char second[] = {
        0x02, 0x03, 0x15, 0xcd, 0x5b, 0x07, 0x00, 0x00, 0x00, 0x00, 0x40, 0xe2, 0x01, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x05, 0x00, '-',  '-',  'c',  's',  'v',
    };
    check_mark(first, sizeof first);
    check_mark(second, sizeof second);
    struct resume_mark mark = {
        .offset = 123456789,
        .line = 123456,
        .head = {.low = 1, .high = 2},
        .tail = {.low = 3, .high = 4},
        .has_blocks = true,
        .flags = RESUME_UNTAKEN | RESUME_INSIDE,
        .blocks = {.low = 5, .high = 6},
        .file = {.identity = 7, .size = 8, .modified_ns = 9},
        .manner = "--csv",
    };
    unsigned char value[RESUME_VALUE_BYTES];
    assert_int_equal(resume_encode(&mark, value), sizeof second);
    assert_memory_equal(value, second, sizeof second);
}

/* Goal:   a place is described by what lies before it, however that was handed over, and going on
 * from a mark gives what
 *         reading from the start does; what is described in one way stays so for ever. */
static void tracks(void **state) {
    (void)state;
    static struct resume_track whole, pieces, on;
    struct text text = many_lines(3000);
    uint64_t chance = 7;
    resume_track_start(&pieces);
    for (size_t at = 0, more; at < text.size; at += more) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        more = (size_t)(chance >> 33) % (chance >> 63 ? 20000 : 50) + 1;
        if (more > text.size - at) more = text.size - at;
        resume_track_feed(&pieces, text.data + at, more);
        resume_track_start(&whole);
        resume_track_feed(&whole, text.data, at + more);
        struct resume_mark a = resume_track_mark(&whole, 1), b = resume_track_mark(&pieces, 1);
        assert_memory_equal(&a, &b, sizeof a);
        assert_int_equal(resume_track_last(&pieces), text.data[at + more - 1]);
        size_t sample = a.offset < RESUME_SAMPLE_BYTES ? (size_t)a.offset : RESUME_SAMPLE_BYTES;
        resume_track_go_on(&on, &a, text.data + a.offset - sample);
        resume_track_feed(&on, text.data + a.offset, text.size - (size_t)a.offset);
        resume_track_feed(&whole, text.data + a.offset, text.size - (size_t)a.offset);
        a = resume_track_mark(&whole, 1);
        b = resume_track_mark(&on, 1);
        assert_memory_equal(&a, &b, sizeof a);
    }
    free(text.data);
    char block[10000];
    memset(block, 'x', sizeof block);
    resume_track_start(&whole);
    resume_track_feed(&whole, block, sizeof block);
    struct resume_mark mark = resume_track_mark(&whole, 0);
    assert_int_equal(mark.blocks.low, UINT64_C(0xfd52fcb7a72cd9e2));
    assert_int_equal(mark.blocks.high, UINT64_C(0x890d0866af77ac9));
}

/* One reading after another with the marks of those before. */
static struct reading reread(const struct text *text, struct resume_table *table,
                             const struct event_options *options) {
    write_file(text->data, text->size);
    return read_path(file_path, options, table);
}

/* Goal:   a file that has grown is read on; the same content under any name is recognised; what is
 *         replaced or cut is read from the start with a warning; small files and large ones, packed
 *         or not. */
static void resuming(void **state) {
    (void)state;
    static const packer packs[] = {NULL, pack_gzip, pack_zstd, pack_bzip2, pack_xz};
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    for (size_t round = 0; round < 2 * sizeof packs / sizeof packs[0]; round++) {
        size_t lines = round % 2 == 0 ? 3 : 30000;
        packer pack = packs[round / 2];
        struct resume_table table = {0};
        struct text text = many_lines(lines), longer = many_lines(lines + 5);
        struct text packed = {.data = malloc(longer.size + 1000)}, *content = &text;
        uint64_t size = text.size;
#define PACK(from)                                                                         \
    do {                                                                                   \
        content = &(from);                                                                 \
        if (pack != NULL) {                                                                \
            packed.size = pack((from).data, (from).size, packed.data, (from).size + 1000); \
            content = &packed;                                                             \
        }                                                                                  \
    } while (0)
        PACK(text);
        struct reading reading = reread(content, &table, &options);
        assert_int_equal(reading.events, lines);
        assert_int_equal(reading.resumed_at, 0);
        assert_int_equal(table.count, 1);
        free(reading.text.data);

        reading = reread(content, &table, &options); /* again */
        assert_int_equal(reading.events, 0);
        assert_int_equal(reading.resumed_at, size);
        assert_int_equal(reading.marks, 0);
        free(reading.text.data);

        PACK(longer);
        reading = reread(content, &table, &options); /* grown */
        assert_int_equal(reading.events, 5);
        assert_int_equal(reading.resumed_at, size);
        assert_int_equal(reading.line, lines + 5);
        char first[32];
        snprintf(first, sizeof first, "%zu|", lines + 1);
        assert_memory_equal(reading.text.data, first, strlen(first));
        assert_int_equal(table.count, 1);
        assert_string_equal(reading.warning, "");
        free(reading.text.data);

        options.from_start = true;
        reading = reread(content, &table, &options);
        assert_int_equal(reading.events, lines + 5);
        assert_int_equal(table.count, 1);
        free(reading.text.data);
        options.from_start = false;

        if (lines > 1000) {
            longer.data[longer.size / 2] ^= 1; /* replaced, far from both ends */
            PACK(longer);
            reading = reread(content, &table, &options);
            assert_int_equal(reading.events, lines + 5);
            assert_non_null(strstr(reading.warning, "replaced"));
            assert_int_equal(table.count, 2);
            PACK(text);
            free(reading.text.data);
            reading = reread(content, &table, &options); /* cut short */
            assert_int_equal(reading.events, lines);
            assert_non_null(strstr(reading.warning, "cut short"));
            assert_int_equal(table.count, 3);
            free(reading.text.data);
        }
        resume_free(&table);
        free(text.data);
        free(longer.data);
        free(packed.data);
    }
}

/* Goal:   a mark of a compressed file that an earlier version made, without the file's identity, is
 *         still that file's; only once is another made beside it. */
static void marks_without_identity(void **state) {
    (void)state;
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    struct resume_table table = {0};
    for (size_t lines = 1000; lines < 1004; lines++) {
        struct text text = many_lines(lines), packed = {.data = malloc(60000)};
        packed.size = pack_gzip(text.data, text.size, packed.data, 60000);
        struct reading reading = reread(&packed, &table, &options);
        assert_int_equal(reading.events, lines == 1000 ? 1000 : 1);
        assert_string_equal(reading.warning, "");
        free(reading.text.data);
        if (lines == 1000) {
            assert_true(table.entries[0].mark.file.identity != 0);
            table.entries[0].mark.file = (struct resume_file){0};
        }
        reading = reread(&packed, &table, &options);
        assert_int_equal(reading.events, 0);
        assert_int_equal(table.count, lines == 1000 ? 1 : 2);
        free(reading.text.data);
        free(packed.data);
        free(text.data);
    }
    resume_free(&table);
}

/* Goal:   a header is read each time, and a line that was not whole is told of. */
static void resuming_lines(void **state) {
    (void)state;
    struct event_options options = options_for(EVENTS_CSV, "id=i,key=k");
    struct resume_table table = {0};
    struct text text = {0};
    add_format(&text, "k,i\nx,1\n");
    free(reread(&text, &table, &options).text.data);
    add_format(&text, "x,2\nx,3");
    struct reading reading = reread(&text, &table, &options);
    assert_string_equal(reading.text.data, "3|2|x=1\n4|3|x=1\n");
    free(reading.text.data);
    add_format(&text, "\r\nx,4\nx,5");
    reading = reread(&text, &table, &options);
    assert_string_equal(reading.text.data, "5|4|x=1\n6|5|x=1\n");
    free(reading.text.data);
    add_format(&text, "5\nx,6\n");
    reading = reread(&text, &table, &options);
    assert_string_equal(reading.text.data, "6!\n7|6|x=1\n");
    assert_int_equal(reading.line, 7);
    free(reading.text.data);
    free(text.data);
    resume_free(&table);
}

/* Goal:   the beginning of a last line, or of a header, in a file that may grow is left; a pipe and
 * a compressed file are
 *         whole. Each file here grows by a byte at a time, and is read each time. */
static void pending_lines(void **state) {
    (void)state;
    static const struct {
        enum event_kind kind;
        const char *fields, *text, *expected;
    } cases[] = {
        {EVENTS_PLAIN, NULL, "a\tuser-42\t12\nb\tk\n", "1|a|user-42=12\n2|b|k=1\n"},
        {EVENTS_CSV, NULL, "a,\"k\nl\",5\r\nb,k\r\n", "1|a|k\\nl=5\n3|b|k=1\n"},
        {EVENTS_CSV, "id=i,key=k", "k,i\r\nx,\"1\"\ny,22\n", "2|1|x=1\n3|22|y=1\n"},
        {EVENTS_JSONL, NULL,
         "{\"id\":\"a\",\"key\":\"k\",\"delta\":12}\n{\"id\":2,\"key\":\"l\"}\n",
         "1|a|k=12\n2|2|l=1\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct event_options options = options_for(cases[i].kind, cases[i].fields);
        options.last_line = false;
        struct resume_table table = {0};
        struct text all = {0};
        add(&all, "", 0);
        size_t size = strlen(cases[i].text);
        for (size_t some = 1; some <= size; some++) {
            write_file(cases[i].text, some);
            struct reading reading = read_path(file_path, &options, &table);
            add(&all, reading.text.data, reading.text.size);
            assert_int_equal(reading.code, EXIT_DONE);
            assert_int_equal(reading.unreadable, 0);
            assert_int_equal(reading.offset + reading.pending, some);
            free(reading.text.data);
        }
        assert_string_equal(all.data, cases[i].expected);
        free(all.data);
        resume_free(&table);
        write_file(cases[i].text, size - 1);
        struct reading pending = read_path(file_path, &options, NULL);
        assert_true(pending.pending > 0);
        free(pending.text.data);
        char packed[1000];
        size_t packed_size = pack_gzip(cases[i].text, size - 1, packed, sizeof packed);
        write_file(packed, packed_size);
        struct reading reading = read_path(file_path, &options, NULL);
        assert_int_equal(reading.pending, 0);
        assert_string_equal(reading.text.data, cases[i].expected);
        free(reading.text.data);
    }
}

/* Goal:   any number of files that begin alike, and are as long, and end alike, are told apart. */
static void alike(void **state) {
    (void)state;
    enum { FILES = 40 };
    static const packer packs[] = {NULL, pack_gzip};
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    for (size_t way = 0; way < 2; way++) {
        struct resume_table table = {0};
        for (size_t round = 0; round < 2; round++) {
            for (size_t file = 0; file < FILES; file++) {
                struct text text = many_lines(1000), packed = {.data = malloc(60000)};
                text.data[text.size / 2] = (char)('A' + file);
                struct text *content = &text;
                if (packs[way] != NULL) {
                    packed.size = packs[way](text.data, text.size, packed.data, 60000);
                    content = &packed;
                }
                unlink(file_path);
                struct reading reading = reread(content, &table, &options);
                assert_int_equal(reading.events + reading.unreadable, round == 0 ? 1000 : 0);
                free(reading.text.data);
                free(packed.data);
                free(text.data);
            }
            assert_int_equal(table.count, FILES);
        }
        resume_free(&table);
    }
}

/* Goal:   what was read belongs to the format it was read with. */
static void manners(void **state) {
    (void)state;
    struct resume_table table = {0};
    struct event_options plain = options_for(EVENTS_PLAIN, NULL),
                         swapped = options_for(EVENTS_PLAIN, "id=2,key=1"),
                         same = options_for(EVENTS_PLAIN, "key=1,id=2");
    struct text text = many_lines(3);
    free(reread(&text, &table, &plain).text.data);
    struct reading reading = reread(&text, &table, &swapped);
    assert_int_equal(reading.code, EXIT_USAGE);
    assert_non_null(strstr(reading.failure, "neither --csv nor --jsonl nor --fields"));
    assert_non_null(strstr(reading.failure, "--fields id=2,key=1"));
    free(reading.text.data);
    table.entries[0].mark.flags |= RESUME_UNTAKEN;
    reading = reread(&text, &table, &plain); /* as before: it is read */
    assert_int_equal(reading.resumed_at, text.size);
    free(reading.text.data);
    reading = reread(&text, &table, &swapped); /* none was counted: all of it */
    assert_int_equal(reading.code, EXIT_DONE);
    assert_int_equal(reading.events, 3);
    assert_int_equal(table.count, 1);
    free(reading.text.data);
    reading = reread(&text, &table, &same);
    assert_int_equal(reading.resumed_at, text.size);
    free(reading.text.data);
    plain.from_start = true;
    reading = reread(&text, &table, &plain);
    assert_int_equal(reading.events, 3);
    free(reading.text.data);
    free(text.data);
    resume_free(&table);
}

/* Goal:   marks of the version before are honoured by their own rule, and become new ones. */
static void earlier_marks(void **state) {
    (void)state;
    struct event_options options = options_for(EVENTS_PLAIN, NULL);
    for (size_t lines = 3; lines < 10000; lines += 5000) {
        struct resume_table table = {0};
        struct text text = many_lines(lines), longer = many_lines(lines + 2);
        free(reread(&text, &table, &options).text.data);
        struct resume_mark mark = table.entries[0].mark;
        table.entries[0].mark = (struct resume_mark){
            .offset = mark.offset, .line = mark.line, .head = mark.head, .tail = mark.tail};
        struct reading reading = reread(&longer, &table, &options);
        assert_int_equal(reading.events, 2);
        assert_int_equal(reading.resumed_at, text.size);
        assert_true(table.entries[0].mark.has_blocks);
        free(reading.text.data);
        reading = reread(&longer, &table, &options);
        assert_int_equal(reading.events, 0);
        free(reading.text.data);
        free(text.data);
        free(longer.data);
        resume_free(&table);
    }
}

int main(void) {
    if (!make_file_path()) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mark_format),
        cmocka_unit_test(resuming),
        cmocka_unit_test(marks_without_identity),
        cmocka_unit_test(resuming_lines),
        cmocka_unit_test(tracks),
        cmocka_unit_test(pending_lines),
        cmocka_unit_test(alike),
        cmocka_unit_test(manners),
        cmocka_unit_test(earlier_marks),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_file_path();
    return failed;
}
