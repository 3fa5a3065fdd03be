/* completion.c - inmo completion: what the Tab key knows in bash, zsh and fish, made from the option tables.
 *
 * The three scripts name every command, its options and the values of those that have a list of them. An option
 * whose placeholder is that of a file completes file names, any other value nothing. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

static const char shells[] = "bash zsh fish";

/* What may follow an option. */
enum value_kind { NO_VALUE, ANY_VALUE, A_FILE, ONE_OF };

static enum value_kind kind_of(const struct inmo_setting *row)
{
    static const char *const files[] = {"FILE", "LOG", "MODEL", "DATA", "DIR"};
    enum value_kind kind = row->type == 'b' ? NO_VALUE : row->choices ? ONE_OF : ANY_VALUE;

    for (size_t n = 0; kind == ANY_VALUE && row->value && n < sizeof files / sizeof *files; n++)
        if (!strcmp(row->value, files[n]))
            kind = A_FILE;
    return kind;
}

/* "a|b|c" as "a b c". */
static void put_choices(const char *choices)
{
    for (; *choices; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

/* The first clause of a sentence, inside single quotes; the characters of `special` get a backslash. */
static void put_clause(const char *text, const char *special, const char *quote)
{
    size_t length = strcspn(text, ";(");
    while (length && (text[length - 1] == ' ' || text[length - 1] == '.'))
        length--;
    for (size_t n = 0; n < length; n++) {
        if (text[n] == '\'')
            fputs(quote, stdout);
        else if (strchr(special, text[n]))
            printf("\\%c", text[n]);
        else
            putchar(text[n]);
    }
}

static int is_on(const struct inmo_setting *row, const void *structure)
{
    return row->type == 'b' && *(const int *)((const char *)structure + row->offset);
}

/* ---- One walk over commands and rows, with what each shell prints of them ------------------------------------ */

struct shell {
    void (*begin)(const struct cli_command *command);
    /* prefix: "no-" for the negative form of a flag that is on by default, else "". */
    void (*row)(const struct cli_command *command, const struct inmo_setting *row, const char *prefix);
    void (*end)(const struct cli_command *command);
};

static void walk(const struct shell *shell)
{
    for (size_t c = 0; cli_commands[c]; c++) {
        struct cli_options options;
        struct cli_strings headings = {0};
        cli_options_start(&options, cli_commands[c]);
        cli_headings(&options, &headings);
        if (shell->begin)
            shell->begin(cli_commands[c]);
        for (size_t h = 0; h < headings.count; h++) {
            const struct inmo_setting *row;
            const void *structure;
            size_t position = 0;
            while (cli_next_row(&options, headings.value[h], &position, &row, &structure)) {
                shell->row(cli_commands[c], row, "");
                if (is_on(row, structure))
                    shell->row(cli_commands[c], row, "no-");
            }
        }
        if (shell->end)
            shell->end(cli_commands[c]);
        cli_strings_free(&headings, 0);
        cli_options_free(&options);
    }
}

static void put_commands(const char *separator)
{
    for (size_t c = 0; cli_commands[c]; c++)
        printf("%s%s", cli_commands[c]->name, separator);
}

/* ---- bash ---------------------------------------------------------------------------------------------------- */

static void bash_value(const struct cli_command *command, const struct inmo_setting *row, const char *prefix)
{
    char letter = cli_short_name(row->name);
    enum value_kind kind = kind_of(row);

    if (kind == NO_VALUE || *prefix)
        return;
    printf("        %s:--%s", command->name, row->name);
    if (letter)
        printf(" | %s:-%c", command->name, letter);
    fputs(") ", stdout);
    if (kind == ONE_OF) {
        fputs("words='", stdout);
        put_choices(row->choices);
        puts("' ;;");
    } else {
        puts(kind == A_FILE ? "files=yes ;;" : "return ;;");
    }
}

static void bash_options(const struct cli_command *command)
{
    printf("            %s) words='--help", command->name);
}

static void bash_option(const struct cli_command *command, const struct inmo_setting *row, const char *prefix)
{
    (void)command;
    printf(" --%s%s", prefix, row->name);
}

static void bash_options_end(const struct cli_command *command)
{
    (void)command;
    puts("' ;;");
}

static void put_bash(void)
{
    puts("# bash completion for inmo, made by `inmo completion bash`\n"
         "_inmo() {\n"
         "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} "
         "command=${COMP_WORDS[1]}\n"
         "    local words= files=\n"
         "    COMPREPLY=()\n"
         "    # --model=e: bash makes three words of it\n"
         "    if [[ $current == = ]]; then\n"
         "        current=\n"
         "    elif [[ $previous == = ]]; then\n"
         "        previous=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "    fi");
    fputs("    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W '", stdout);
    put_commands(" ");
    puts("help --help --version' -- \"$current\"))\n        return\n    fi");
    puts("    case $command:$previous in");
    walk(&(struct shell){.row = bash_value});
    puts("    esac");
    puts("    if [[ -z $words$files && $current == -* ]]; then\n"
         "        case $command in");
    walk(&(struct shell){bash_options, bash_option, bash_options_end});
    fputs("        esac\n    elif [[ -z $words$files ]]; then\n        case $command in\n            help) words='",
          stdout);
    put_commands(" ");
    printf("' ;;\n            completion) words='%s' ;;\n", shells);
    puts("        esac\n"
         "    fi\n"
         "    if [[ $words ]]; then\n"
         "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "    else\n"
         "        compopt -o filenames 2>/dev/null\n"
         "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
         "    fi\n"
         "}\n"
         "complete -F _inmo inmo");
}

/* ---- zsh ----------------------------------------------------------------------------------------------------- */

static void zsh_begin(const struct cli_command *command)
{
    printf("        %s)\n            _arguments \\\n", command->name);
}

static void zsh_row(const struct cli_command *command, const struct inmo_setting *row, const char *prefix)
{
    char letter = *prefix ? 0 : cli_short_name(row->name);
    enum value_kind kind = kind_of(row);

    (void)command;
    /* -o and --output are two specifications with the same description: zsh shows them on one line. */
    for (int pass = letter ? 0 : 1; pass < 2; pass++) {
        fputs("                '", stdout);
        if (row->type == 'l')
            putchar('*');
        if (pass)
            printf("--%s%s%s[", prefix, row->name, kind == NO_VALUE ? "" : "=");
        else
            printf("-%c%s[", letter, kind == NO_VALUE ? "" : "+");
        put_clause(row->help, "[]:\\", "'\\''");
        putchar(']');
        if (kind != NO_VALUE)
            printf(":%s:", row->value ? row->value : "VALUE");
        if (kind == ONE_OF) {
            putchar('(');
            put_choices(row->choices);
            putchar(')');
        } else if (kind == A_FILE) {
            fputs("_files", stdout);
        } else if (kind == ANY_VALUE) {
            putchar(' ');
        }
        puts("' \\");
    }
}

static void zsh_end(const struct cli_command *command)
{
    fputs("                '(- *)'{-h,--help}'[This text]' \\\n                ", stdout);
    if (!strcmp(command->name, "completion"))
        printf("'1:SHELL:(%s)' ;;\n", shells);
    else
        puts("'*:file:_files' ;;");
}

static void put_zsh(void)
{
    puts("#compdef inmo\n"
         "# zsh completion for inmo, made by `inmo completion zsh`\n"
         "_inmo() {\n"
         "    local context state state_descr line\n"
         "    typeset -A opt_args\n"
         "    local -a commands=(");
    for (size_t c = 0; cli_commands[c]; c++) {
        printf("        '%s:", cli_commands[c]->name);
        put_clause(cli_commands[c]->summary, ":\\", "'\\''");
        puts("'");
    }
    puts("        'help:all options of a command'\n"
         "    )\n"
         "    _arguments -C '(- *)'{-h,--help}'[This text]' '(- *)--version[the version]' '1:command:->command' "
         "'*::argument:->argument'\n"
         "    case $state in\n"
         "    command) _describe -t commands command commands ;;\n"
         "    argument)\n"
         "        case $words[1] in");
    walk(&(struct shell){zsh_begin, zsh_row, zsh_end});
    puts("        help) _describe -t commands command commands ;;\n"
         "        esac ;;\n"
         "    esac\n"
         "}\n"
         "if [[ $funcstack[1] == _inmo ]]; then\n"
         "    _inmo \"$@\"\n"
         "else\n"
         "    compdef _inmo inmo\n"
         "fi");
}

/* ---- fish ---------------------------------------------------------------------------------------------------- */

static void fish_begin(const struct cli_command *command)
{
    printf("complete -c inmo -n __fish_use_subcommand -f -a %s -d '", command->name);
    put_clause(command->summary, "\\", "\\'");
    puts("'");
}

static void fish_row(const struct cli_command *command, const struct inmo_setting *row, const char *prefix)
{
    char letter = *prefix ? 0 : cli_short_name(row->name);
    enum value_kind kind = kind_of(row);

    printf("complete -c inmo -n '__fish_seen_subcommand_from %s' -l %s%s", command->name, prefix, row->name);
    if (letter)
        printf(" -s %c", letter);
    if (kind == A_FILE)
        fputs(" -r -F", stdout);
    else if (kind != NO_VALUE)
        fputs(" -x", stdout);
    if (kind == ONE_OF) {
        fputs(" -a '", stdout);
        put_choices(row->choices);
        putchar('\'');
    }
    fputs(" -d '", stdout);
    put_clause(row->help, "\\", "\\'");
    puts("'");
}

static void put_fish(void)
{
    puts("# fish completion for inmo, made by `inmo completion fish`\n"
         "complete -c inmo -n __fish_use_subcommand -f -a help -d 'all options of a command'\n"
         "complete -c inmo -n __fish_use_subcommand -l version -d 'the version'\n"
         "complete -c inmo -s h -l help -d 'This text'");
    walk(&(struct shell){.begin = fish_begin, .row = fish_row});
    fputs("complete -c inmo -n '__fish_seen_subcommand_from help' -f -a '", stdout);
    put_commands(" ");
    printf("'\ncomplete -c inmo -n '__fish_seen_subcommand_from completion' -f -a '%s'\n", shells);
}

/* ---- The command --------------------------------------------------------------------------------------------- */

struct completion_settings {
    struct cli_common common; /* not used; every command has it */
};

static void declare(struct cli_options *options, void *structure)
{
    (void)options;
    (void)structure;
}

static enum inmo_status run(const struct cli_options *options, void *structure, struct inmo_error *error)
{
    const char *shell = options->argument.value[0];
    enum inmo_status status = INMO_OK;

    (void)structure;
    if (!strcmp(shell, "bash"))
        put_bash();
    else if (!strcmp(shell, "zsh"))
        put_zsh();
    else if (!strcmp(shell, "fish"))
        put_fish();
    else
        status =
            cli_fail(error, INMO_USAGE, "%s is not a shell that inmo knows; expected bash, zsh or fish", shell);
    return status;
}

const struct cli_command cli_completion = {
    .name = "completion",
    .arguments = "SHELL",
    .summary = "print what the Tab key needs in bash, zsh or fish",
    .description =
        "Prints a script with every command, its options and their values for SHELL: bash, zsh or fish. `make "
        "install` puts the three where the shells look for them; by hand, source the output in the shell's "
        "startup file.",
    .examples = "  source <(inmo completion bash)\n"
                "  inmo completion zsh > ~/.zfunc/_inmo\n"
                "  inmo completion fish > ~/.config/fish/completions/inmo.fish\n",
    .least_arguments = 1,
    .most_arguments = 1,
    .settings_size = sizeof(struct completion_settings),
    .declare = declare,
    .run = run,
};
