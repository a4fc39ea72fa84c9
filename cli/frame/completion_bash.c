/* completion_bash.c - writes the completion of lethe for bash.
 *
 * The script is one function with two tables written as case statements: what may follow an
 * option, and what a command offers. "$path" is the command as far as its words are complete.
 * Where the function offers nothing, bash completes file names (complete -o default), unless
 * it was told not to. */
#include <stdio.h>
#include <string.h>

#include "frame/help.h"

static const char opening[] =
    "# bash completion for lethe(1), written by 'lethe help --format bash'.\n"
    "\n"
    "_lethe() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local first=1 path='' index offers=''\n"
    "    COMPREPLY=()\n"
    "\n"
    "    # Bash breaks words at '=': --kind=bloom arrives as three.\n"
    "    if [[ $current == '=' ]]; then\n"
    "        current=''\n"
    "    elif [[ $previous == '=' && $COMP_CWORD -gt 2 ]]; then\n"
    "        previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "\n"
    "    # After 'help' the words name a command, but take none of its options.\n"
    "    [[ $COMP_CWORD -gt 1 && ${COMP_WORDS[1]} == help ]] && first=2\n"
    "    for ((index = first; index < COMP_CWORD; index++)); do\n"
    "        case \"$path ${COMP_WORDS[index]}\" in\n";

static const char closing[] =
    "    esac\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$offers\" -- \"$current\")\n"
    "}\n"
    "\n"
    "complete -o default -o bashdefault -F _lethe lethe\n";

/* compopt works only while bash completes; elsewhere, in a test, it would complain. */
#define NO_FILES "compopt +o default +o bashdefault 2>/dev/null"

static void print_paths(FILE *stream) {
    for (const struct command *const *row = commands; *row != NULL; row++) {
        if ((*row)->path[0] != '\0') fprintf(stream, "        ' %s') ;;\n", (*row)->path);
    }
    fputs("        *) break ;;\n"
          "        esac\n"
          "        path+=\" ${COMP_WORDS[index]}\"\n"
          "    done\n",
          stream);
}

static const char *space_before(const char *path) {
    return path[0] == '\0' ? "" : " ";
}

/* What may follow an option. Flags have no row: after them comes anything. */
static void print_values(const struct command *command, FILE *stream) {
    for (const struct option *option = command->options; option != NULL && option->name != NULL;
         option++) {
        if (option->value == NULL || option->hidden) continue;
        fprintf(stream, "    '%s%s --%s')\n", space_before(command->path), command->path,
                option->name);
        if (option->choices != NULL) {
            fputs("        offers='", stream);
            for (const char *at = option->choices; *at != '\0'; at++) {
                putc(*at == '|' ? ' ' : *at, stream);
            }
            fputs("'\n        " NO_FILES "\n", stream);
        } else if (option->completion != COMPLETE_FILES) {
            fputs("        " NO_FILES "\n", stream);
        }
        fputs("        ;;\n", stream);
    }
}

static void print_option_names(const struct command *command, FILE *stream) {
    fputs("offers='", stream);
    for (const struct option *option = command->options; option != NULL && option->name != NULL;
         option++) {
        if (!option->hidden) fprintf(stream, "--%s ", option->name);
    }
    fprintf(stream, "--%s'", option_help.name);
}

/* What a command offers where no option's value is due: its options, or its parts. */
static void print_offers(const struct command *command, FILE *stream) {
    fprintf(stream, "        '%s%s')\n", space_before(command->path), command->path);
    if (command->operands != COMPLETE_FILES) fputs("            " NO_FILES "\n", stream);
    fputs("            if [[ $current == -* && $first == 1 ]]; then ", stream);
    print_option_names(command, stream);
    fputs("; fi\n", stream);
    const struct command *child = command_child(command, NULL);
    if (child != NULL) {
        fputs("            [[ $current == -* ]] || offers='", stream);
        for (const char *space = ""; child != NULL; child = command_child(command, child)) {
            fprintf(stream, "%s%s", space, command_name(child));
            space = " ";
        }
        fputs("'\n", stream);
    }
    if (command->operands == COMPLETE_NAMES) {
        fprintf(stream,
                "            [[ $current == -* ]] || "
                "offers=$(\"${COMP_WORDS[0]}\" %s 2>/dev/null | cut -d ' ' -f 1)\n",
                command->names);
    }
    fputs("            ;;\n", stream);
}

void completion_print_bash(FILE *stream) {
    fputs(opening, stream);
    print_paths(stream);
    fputs("\n    case \"$path $previous\" in\n", stream);
    for (const struct command *const *row = commands; *row != NULL; row++) {
        print_values(*row, stream);
    }
    fputs("    *)\n        case $path in\n", stream);
    for (const struct command *const *row = commands; *row != NULL; row++) {
        print_offers(*row, stream);
    }
    fputs("        esac\n        ;;\n", stream);
    fputs(closing, stream);
}
