/* paper/qf_1.c - Figure 1: an example of a quotient filter, slot by slot. */
#include "frame/exit_code.h"
#include "paper/paper.h"
#include "paper/published_quotient.h"
#include "say/message.h"

enum { ELEMENTS = 8, SHOWN = 10, BITS = 4 };

static const struct column columns[] = {
    {"slot", "slot", COLUMN_WHOLE},
    {"element", "element", COLUMN_WHOLE},
    {"is_occupied", "occupied", COLUMN_WHOLE},
    {"is_continuation", "contin.", COLUMN_WHOLE},
    {"is_shifted", "shifted", COLUMN_WHOLE},
};

/* Of A to H. The remainder of the first is 1, of the second 2, and so on. */
static const uint64_t quotients[ELEMENTS] = {1, 1, 3, 3, 3, 4, 6, 6};
enum { C = 3, F = 6, H = 8 }; /* remainders, and by chance of the example the slots too */

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    struct published_shape shape = {.quotient_bits = BITS, .remainder_bits = BITS};
    struct published_quotient *filter = published_quotient_new(&shape);
    if (filter == NULL) return message_fail(EXIT_ENVIRONMENT, "out of memory");
    bool fine = true;
    for (uint64_t i = ELEMENTS; i-- > 0 && fine;) /* the last first, so that they have to move */
        fine = published_quotient_insert(filter, quotients[i] << BITS | (i + 1));
    uint64_t slot_of[ELEMENTS + 1] = {0}, in_place = 0, clusters = 0;
    for (uint64_t i = 0; i < SHOWN; i++) {
        struct published_slot slot = published_quotient_slot(filter, i);
        uint64_t element = slot.is_empty ? 0 : slot.remainder;
        slot_of[element] = i;
        in_place += !slot.is_empty && !slot.is_shifted;
        clusters += !slot.is_empty && !slot.is_shifted && !slot.is_continuation;
        REPORT_ROW(report, (double)i, (double)element, slot.is_occupied, slot.is_continuation,
                   slot.is_shifted);
    }
    published_quotient_free(filter);
    if (!fine) return message_fail(EXIT_ENVIRONMENT, "the example does not fit");
    report_claim(report,
                 "C, D and E have the same quotient and form a run. C is in its canonical "
                 "slot, so it begins a cluster. F belongs in slot 4 and is pushed to slot 6 "
                 "by D and E. C to H form a cluster.");
    report_result(report,
                  "C is in slot %u, F in slot %u and H in slot %u; %u elements are in their own "
                  "slots, A and C, and begin %u clusters.",
                  (unsigned)slot_of[C], (unsigned)slot_of[F], (unsigned)slot_of[H],
                  (unsigned)in_place, (unsigned)clusters);
    report_value(report, "slot-of-f", (double)slot_of[F]);
    report_value(report, "slot-of-h", (double)slot_of[H]);
    report_value(report, "clusters", (double)clusters);
    return EXIT_DONE;
}

const struct figure figure_qf_1 = {
    .name = "qf-1",
    .title = "an example of a quotient filter, slot by slot",
    .columns = "The elements A to H (1 to 8; 0 is none) with the quotients 1, 1, 3, 3, 3, 4, 6 and "
               "6, in a quotient filter as published: the three bits of each slot.",
    .plot = "set title 'Figure 1: eight elements in a quotient filter; the arrows lead to where "
            "each one is'\n"
            "unset key\n"
            "set border 0\n"
            "set grid noxtics noytics\n"
            "unset ytics\n"
            "set xtics 0,1,9 scale 0\n"
            "set xlabel 'slot'\n"
            "set xrange [-2.2:9.7]\n"
            "set yrange [-0.4:4.6]\n"
            "set style fill solid 0.25 border lc rgb '#0072b2'\n"
            "set label 'quotient' at -2.1,4.0\n"
            "set label 'element' at -2.1,2.0\n"
            "set label 'is occupied' at -2.1,1.2\n"
            "set label 'is continuation' at -2.1,0.7\n"
            "set label 'is shifted' at -2.1,0.2\n"
            "home(e) = e < 3 ? 1 : e < 6 ? 3 : e < 7 ? 4 : 6\n"
            "letter(e) = e > 0 ? substr('ABCDEFGH', e, e) : ''\n"
            "bit(b, e) = e > 0 ? sprintf('%d', b) : '0'\n"
            "plot data using 'slot':(2.0):(0.5):(0.35) with boxxyerror lc rgb '#0072b2', \\\n"
            "     data using (column('element') > 0 ? home(column('element')) : 1/0):(3.8):"
            "(column('slot') - home(column('element'))):(-1.35) with vectors lc rgb '#888888', \\\n"
            "     data using (column('element') > 0 ? home(column('element')) : 1/0):(4.0):"
            "(sprintf('%d', home(column('element')))) with labels, \\\n"
            "     data using 'slot':(2.0):(letter(column('element'))) with labels font ',18', \\\n"
            "     data using 'slot':(1.2):(bit(column('is_occupied'), column('element'))) with "
            "labels, \\\n"
            "     data using 'slot':(0.7):(bit(column('is_continuation'), column('element'))) with "
            "labels, \\\n"
            "     data using 'slot':(0.2):(bit(column('is_shifted'), column('element'))) with "
            "labels\n",
    .run = run,
};
