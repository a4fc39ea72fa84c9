/* arguments.c - parses the words of a command line by the description of the command.
 *
 * Each kind of number has one row that says how it is read and what a message says of it, so that
 * all options refuse a wrong number in the same way. */
#include "frame/arguments.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "frame/suggest.h"
#include "frame/units.h"
#include "say/human.h"
#include "say/message.h"

static bool has_value(const struct option *option) {
    return option->value != NULL;
}

static size_t option_count(const struct command *command) {
    size_t count = 0;
    while (command->options != NULL && command->options[count].name != NULL) {
        count++;
    }
    assert(count <= OPTIONS_LIMIT);
    return count;
}

/* The place of the option whose name is the first length bytes of name; the count if none is. */
static size_t find_option(const struct command *command, const char *name, size_t length) {
    size_t count = option_count(command);
    for (size_t i = 0; i < count; i++) {
        const char *candidate = command->options[i].name;
        if (strlen(candidate) == length && strncmp(candidate, name, length) == 0) return i;
    }
    return count;
}

static size_t find_letter(const struct command *command, char letter) {
    size_t count = option_count(command);
    for (size_t i = 0; i < count; i++) {
        if (command->options[i].letter == letter) return i;
    }
    return count;
}

/* "lethe filter build", or "lethe". */
static const char *full_name(const struct command *command, char *text, size_t size) {
    snprintf(text, size, "lethe%s%s", command->path[0] != '\0' ? " " : "", command->path);
    return text;
}

enum { NAME_BYTES = 64 };

int arguments_fail(const struct arguments *arguments, const char *format, ...) {
    char problem[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(problem, sizeof problem, format, list);
    va_end(list);
    char name[NAME_BYTES];
    return message_fail(EXIT_USAGE, "%s; see '%s --help'", problem,
                        full_name(arguments->command, name, sizeof name));
}

static int fail_unknown_option(const struct arguments *arguments, const char *word) {
    char name[NAME_BYTES];
    full_name(arguments->command, name, sizeof name);
    const struct command *command = arguments->command;
    if (strncmp(word, "--", 2) == 0) {
        char typed[NAME_BYTES];
        snprintf(typed, sizeof typed, "%.*s", (int)strcspn(word + 2, "="), word + 2);
        struct suggestion suggestion = suggestion_for(typed);
        for (size_t i = 0; i < option_count(command); i++) {
            if (!command->options[i].hidden)
                suggestion_offer(&suggestion, command->options[i].name);
        }
        suggestion_offer(&suggestion, option_help.name);
        if (suggestion.best != NULL) {
            return message_fail(EXIT_USAGE, "unknown option '--%s' of '%s'; did you mean '--%s'?",
                                typed, name, suggestion.best);
        }
    }
    return message_fail(EXIT_USAGE,
                        "unknown option '%s' of '%s'; see '%s --help' (a file name that begins "
                        "with '-' goes after '--')",
                        word, name, name);
}

/* Stores the value of the option at place: what follows before in its own word ('=', or the
 * option's letter), or else the following word, which is then taken. */
static int take_option(struct arguments *arguments, size_t place, const char *before,
                       const char *following, bool *took_following) {
    const struct option *option = &arguments->command->options[place];
    if (!has_value(option)) {
        if (before != NULL) {
            return arguments_fail(arguments, "option --%s takes no value", option->name);
        }
        arguments->values[place] = "";
        return EXIT_DONE;
    }
    if (before == NULL) {
        if (following == NULL) {
            return arguments_fail(arguments, "option --%s needs a value, %s, after it",
                                  option->name, option->value);
        }
        /* More likely a forgotten value than a file of that name. */
        if (strncmp(following, "--", 2) == 0) {
            return message_fail(EXIT_USAGE,
                                "option --%s needs a value, %s, before %s; write --%s=%s if that "
                                "is the value",
                                option->name, option->value, following, option->name, following);
        }
        *took_following = true;
    }
    const char *value = before != NULL ? before + 1 : following;
    if (value[0] == '\0' && !option->may_be_empty) {
        return arguments_fail(arguments, "option --%s has an empty value", option->name);
    }
    if (option->is_list && arguments->values[place] != NULL &&
        strcmp(arguments->values[place], value) != 0) {
        return arguments_fail(arguments, "option --%s is given twice; give all of it at once",
                              option->name);
    }
    if (option->repeats && arguments->values[place] != NULL) {
        if (arguments->earlier_count == EARLIER_LIMIT)
            return arguments_fail(arguments, "option --%s is given too often", option->name);
        size_t last = arguments->earlier_count++;
        arguments->earlier[last].place = place;
        arguments->earlier[last].value = arguments->values[place];
    }
    arguments->values[place] = value;
    return EXIT_DONE;
}

/* Stores the options of a word such as -q, -n2 or -qn 2: flags, and at the end one that may have a
 * value. */
static int parse_letters(struct arguments *arguments, const char *word, const char *following,
                         bool *took_following) {
    const struct command *command = arguments->command;
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        size_t place = find_letter(command, *letter);
        if (place == option_count(command)) return fail_unknown_option(arguments, word);
        if (has_value(&command->options[place])) {
            const char *rest = letter[1] != '\0' ? letter : NULL;
            return take_option(arguments, place, rest, following, took_following);
        }
        arguments->values[place] = "";
    }
    return EXIT_DONE;
}

/* Stores the option that word is, with its value. */
static int parse_option(struct arguments *arguments, const char *word, const char *following,
                        bool *took_following) {
    const struct command *command = arguments->command;
    if (word[1] != '-') return parse_letters(arguments, word, following, took_following);
    const char *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    size_t place = find_option(command, word + 2, length - 2);
    if (place == option_count(command)) return fail_unknown_option(arguments, word);
    return take_option(arguments, place, equals, following, took_following);
}

/* No option has a digit for its letter. */
static bool is_operand(const char *word) {
    return word[0] != '-' || word[1] == '\0' || (word[1] >= '0' && word[1] <= '9');
}

static bool asks_for_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int arguments_parse(const struct command *command, int count, char **words, struct arguments *out) {
    *out = (struct arguments){
        .command = command, .operands = words, .words = words, .word_count = (size_t)count};
    assert(option_count(command) <= OPTIONS_LIMIT);
    if (command->forwards) {
        out->wants_help = count > 0 && asks_for_help(words[0]);
        out->operand_count = (size_t)count;
        return EXIT_DONE;
    }
    bool options_ended = false;
    for (int i = 0; i < count; i++) {
        char *word = words[i];
        if (options_ended || is_operand(word)) {
            out->operands[out->operand_count++] = word; /* never ahead of what is being read */
        } else if (strcmp(word, "--") == 0) {
            options_ended = true;
        } else if (asks_for_help(word)) {
            out->wants_help = true;
            return EXIT_DONE;
        } else {
            bool took_following = false;
            const char *following = i + 1 < count ? words[i + 1] : NULL;
            int code = parse_option(out, word, following, &took_following);
            if (code != EXIT_DONE) return code;
            i += took_following;
        }
    }
    return EXIT_DONE;
}

int arguments_check_operands(const struct arguments *arguments) {
    const struct command *command = arguments->command;
    size_t count = arguments->operand_count;
    if (count >= command->operands_least && count <= command->operands_most) return EXIT_DONE;
    char name[NAME_BYTES];
    full_name(command, name, sizeof name);
    if (count > command->operands_most) {
        return message_fail(EXIT_USAGE, "'%s' does not take '%s'; see '%s --help'", name,
                            arguments->operands[command->operands_most], name);
    }
    return message_fail(EXIT_USAGE, "'%s' needs more arguments: %s %s", name, name,
                        command->synopses[0]);
}

const char *arguments_text(const struct arguments *arguments, const char *name) {
    size_t place = find_option(arguments->command, name, strlen(name));
    assert(place < option_count(arguments->command));
    return arguments->values[place];
}

size_t arguments_all(const struct arguments *arguments, const char *name,
                     const char *out[EARLIER_LIMIT + 1]) {
    size_t place = find_option(arguments->command, name, strlen(name)), count = 0;
    for (size_t i = 0; i < arguments->earlier_count; i++) {
        if (arguments->earlier[i].place == place) out[count++] = arguments->earlier[i].value;
    }
    const char *last = arguments_text(arguments, name);
    if (last != NULL) out[count++] = last;
    return count;
}

bool arguments_has(const struct arguments *arguments, const char *name) {
    return arguments_text(arguments, name) != NULL;
}

/* A kind of number that an option takes: how it is read, and how it is spoken of in a message. */
struct number_kind {
    enum unit_problem (*parse)(const char *text, uint64_t *out);
    const char *(*show)(uint64_t value, struct human_text *out);
    const char *name, *unit, *advice;
};

static const char *show_plain(uint64_t value, struct human_text *out) {
    snprintf(out->text, sizeof out->text, "%" PRIu64, value);
    return out->text;
}

static int fail_number(const char *option, const char *text, enum unit_problem problem,
                       const struct number_kind *kind, const char *least, const char *most) {
    return message_fail(EXIT_USAGE, "--%s %s %s; give a %s from %s to %s%s, %s", option, text,
                        units_problem_phrase(problem), kind->name, least, most, kind->unit,
                        kind->advice);
}

/* Reads a whole number of one kind, if the option is given. */
static int read_number(const struct arguments *arguments, const char *name,
                       const struct number_kind *kind, uint64_t least, uint64_t most,
                       uint64_t *out) {
    const char *text = arguments_text(arguments, name);
    if (text == NULL) return EXIT_DONE;
    uint64_t value = 0;
    enum unit_problem problem = kind->parse(text, &value);
    if (problem == UNIT_ZERO && least == 0) problem = UNIT_FINE;
    if (problem == UNIT_FINE && value > most) problem = UNIT_TOO_LARGE;
    if (problem == UNIT_FINE && value < least) problem = UNIT_TOO_SMALL;
    if (problem != UNIT_FINE) {
        struct human_text lowest, highest;
        return fail_number(name, text, problem, kind, kind->show(least, &lowest),
                           kind->show(most, &highest));
    }
    *out = value;
    return EXIT_DONE;
}

int arguments_count(const struct arguments *arguments, const char *name, uint64_t least,
                    uint64_t most, uint64_t *out) {
    struct number_kind kind = {units_parse_count, show_plain, "count", "",
                               "such as 500, 10M or 1e6"};
    /* Examples that would be refused help nobody. */
    if (least > 500 || most < 10000000) kind.advice = "a whole number";
    return read_number(arguments, name, &kind, least, most, out);
}

int arguments_size(const struct arguments *arguments, const char *name, uint64_t least,
                   uint64_t most, uint64_t *out_bytes) {
    static const struct number_kind kind = {units_parse_size, show_plain, "size", " bytes",
                                            "such as 64MiB or 1GB"};
    return read_number(arguments, name, &kind, least, most, out_bytes);
}

int arguments_duration(const struct arguments *arguments, const char *name, uint64_t least_ms,
                       uint64_t most_ms, uint64_t *out_ms) {
    static const struct number_kind kind = {units_parse_duration, human_duration, "duration", "",
                                            "such as 250ms, 90s, 10m, 24h or 7d"};
    return read_number(arguments, name, &kind, least_ms, most_ms, out_ms);
}

int arguments_seed(const struct arguments *arguments, const char *name, uint64_t *out) {
    static const struct number_kind kind = {units_parse_seed, show_plain, "number", "",
                                            "decimal or hexadecimal (0x...)"};
    return read_number(arguments, name, &kind, 1, UINT64_MAX, out);
}

int arguments_probability(const struct arguments *arguments, const char *name, double least,
                          double most, double *out) {
    static const struct number_kind kind = {
        .name = "probability", .unit = "", .advice = "such as 0.01, 1% or 1e-6"};
    const char *text = arguments_text(arguments, name);
    if (text == NULL) return EXIT_DONE;
    double value = 0;
    enum unit_problem problem = units_parse_probability(text, &value);
    if (problem == UNIT_FINE && value > most) problem = UNIT_TOO_LARGE;
    if (problem == UNIT_FINE && value < least) problem = UNIT_TOO_SMALL;
    if (problem != UNIT_FINE) {
        struct human_text lowest, highest;
        snprintf(lowest.text, sizeof lowest.text, "%g", least);
        snprintf(highest.text, sizeof highest.text, "%g", most);
        return fail_number(name, text, problem, &kind, lowest.text, highest.text);
    }
    *out = value;
    return EXIT_DONE;
}

int arguments_choice(const struct arguments *arguments, const char *name, size_t *out) {
    const char *text = arguments_text(arguments, name);
    if (text == NULL) return EXIT_DONE;
    size_t place = find_option(arguments->command, name, strlen(name));
    const char *choices = arguments->command->options[place].choices;
    struct suggestion suggestion = suggestion_for(text);
    char names[OPTIONS_LIMIT][NAME_BYTES];
    size_t index = 0;
    for (const char *at = choices; *at != '\0'; index++) {
        assert(index < OPTIONS_LIMIT);
        size_t length = strcspn(at, "|");
        if (strlen(text) == length && strncmp(text, at, length) == 0) {
            *out = index;
            return EXIT_DONE;
        }
        snprintf(names[index], NAME_BYTES, "%.*s", (int)length, at);
        suggestion_offer(&suggestion, names[index]);
        at += length;
        at += strspn(at, "|");
    }
    if (suggestion.best != NULL) {
        return message_fail(EXIT_USAGE, "--%s %s is not one of %s; did you mean %s?", name, text,
                            choices, suggestion.best);
    }
    return message_fail(EXIT_USAGE, "--%s %s is not one of %s; give one of these", name, text,
                        choices);
}
