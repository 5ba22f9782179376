// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Help for people, in two columns, wrapped at HELP_WIDTH; words for the shells' completion, one per line.
//
//      help_all(), help_family(), help_verb() -> the tables of verbs, options and kinds of events -> FILE
//      help_words(): what a completion script asks for, so that it needs no knowledge of its own
//
// Without memory a line is left out; help_words() returns false for a question that it does not know.

#include <string.h>

#include "buf.h"
#include "event-kind.h"
#include "help-text.h"
#include "option-table.h"
#include "str.h"

// columns: all, and where the explanations begin
enum { HELP_WIDTH = 80, HELP_VERBS = 39, HELP_OPTIONS = 25, HELP_KINDS = 12 };

// Prints `left` and, from `column` on, its explanation; in a new line if `left` is too long.
static void help_line(FILE *f, const char *left, size_t column, const char *text) {
        _cleanup_buf_ Buf lines = {};
        bool fits = strlen(left) + 3 <= column;

        if (buf_append_wrapped(&lines, text, column, column, HELP_WIDTH) < 0)
                return;
        fprintf(f, "  %-*s%s%*s%.*s\n", fits ? (int) column - 2 : 0, left, fits ? "" : "\n",
                fits ? 0 : (int) column, "", (int) lines.len, (const char *) lines.data);
}

static void help_option(FILE *f, const OptionInfo *o) {
        char left[40];

        snprintf(left, sizeof(left), "%c%c%s--%s%s%s", o->letter ? '-' : ' ', o->letter ?: ' ',
                 o->letter ? ", " : "  ", o->name, option_needs_value(o) ? "=" : "", o->arg ?: "");
        help_line(f, left, HELP_OPTIONS, o->help);
}

static void help_one(FILE *f, const Verb *v) {
        char left[64];

        snprintf(left, sizeof(left), "%s %s", v->name, v->args);
        help_line(f, left, HELP_VERBS, v->help);
}

void help_all(FILE *f, const VerbList *l) {
        static const char *const titles[] = {
                "Changing units (UNIT: a name, a range like web@{1..100}, or a file)",
                "Looking",
                "Nodes",
                "Roles, pools and rights",
                "The cluster",
                "Other"};

        fputs("argosyctl [OPTION...] VERB [ARGUMENT...]\n\nOne systemd out of many machines.\n", f);
        for (Group g = 0; g < GROUP_HIDDEN; g++) {
                fprintf(f, "\n%s:\n", titles[g]);
                for (size_t i = 0; i < l->n_verbs; i++)
                        if (l->verbs[i].group == g)
                                help_one(f, &l->verbs[i]);
        }
        fputs("\nOptions:\n", f);
        for (size_t i = 0; i < n_options; i++)
                help_option(f, &option_table[i]);
        fputs("\nSee argosyctl(1); argosyctl VERB --help shows which options a verb takes.\n", f);
}

// Prints a kind of events, what it is about, and its fields.
static void help_kind(FILE *f, const EventKindInfo *info) {
        _cleanup_buf_ Buf text = {};

        if (buf_printf(&text, "%s:", info->what) < 0)
                return;
        for (size_t i = 0; i < event_kind_n_fields(info); i++)
                if (buf_printf(&text, "%s %s", i > 0 ? "," : "", info->fields[i].name) < 0)
                        return;
        if (buf_append(&text, "", 1) == 0)
                help_line(f, info->name, HELP_KINDS, (const char *) text.data);
}

static void help_kinds(FILE *f) {
        fputs("\nKinds of events, and their fields:\n", f);
        for (unsigned k = 0; k < EVENT_KINDS; k++) {
                const EventKindInfo *info = event_kind_info((Argosy__EventKind) k);

                if (info)
                        help_kind(f, info);
        }
}

void help_verb(FILE *f, const Verb *v) {
        fprintf(f, "argosyctl %s%s%s%s\n\n%s.\n", v->name, v->options ? " [OPTION...]" : "",
                *v->args ? " " : "", v->args, v->help);
        if (v->alias)
                fprintf(f, "Also: argosyctl %s\n", v->alias);
        fputs("\nOptions:\n", f);
        for (size_t i = 0; i < n_options; i++)
                if (verb_takes(v, option_table[i].option))
                        help_option(f, &option_table[i]);
        if (verb_takes(v, OPT_KINDS))
                help_kinds(f);
}

void help_family(FILE *f, const VerbList *l, const char *family) {
        fprintf(f, "argosyctl %s VERB [ARGUMENT...]\n\n", family);
        for (size_t i = 0; i < l->n_verbs; i++)
                if (verb_second_word(&l->verbs[i], family))
                        help_one(f, &l->verbs[i]);
        fprintf(f, "\nargosyctl %s VERB --help shows which options a verb takes.\n", family);
}

static void help_options(FILE *f, const VerbList *l, char *const *words, size_t n) {
        const Verb *v;
        size_t taken;

        v = verb_list_find(l, words, n, &taken);
        for (size_t i = 0; i < n_options; i++)
                if (v ? verb_takes(v, option_table[i].option) : option_is_global(option_table[i].option))
                        fprintf(f, "--%s%s\n", option_table[i].name,
                                option_needs_value(&option_table[i]) ? "=" : "");
}

// Verbs of one family stand together in the table.
static void help_first_words(FILE *f, const VerbList *l, bool only_families) {
        size_t len = 0, before;

        for (size_t i = 0; i < l->n_verbs; i++) {
                const char *name = l->verbs[i].name;

                before = len;
                len = strcspn(name, " ");
                if (l->verbs[i].group == GROUP_HIDDEN || (only_families && !name[len]) ||
                    (i > 0 && len == before && strncmp(name, l->verbs[i - 1].name, len) == 0))
                        continue;
                fprintf(f, "%.*s\n", (int) len, name);
        }
}

static void help_valued(FILE *f) {
        for (size_t i = 0; i < n_options; i++) {
                const OptionInfo *o = &option_table[i];

                if (!option_needs_value(o))
                        continue;
                fprintf(f, "--%s\n", o->name);
                if (o->letter)
                        fprintf(f, "-%c\n", o->letter);
        }
}

static void help_arguments(FILE *f, const VerbList *l, char *const *words, size_t n) {
        size_t taken;
        const Verb *v = verb_list_find(l, words, n, &taken);

        if (!v)
                return;
        if (strstr(v->args, "UNIT") || strstr(v->args, "PATTERN"))
                fputs("unit\n", f);
        if (strstr(v->args, "FILE") || strstr(v->args, "DIR") || verb_takes(v, OPT_REPLACE))
                fputs("file\n", f);
        if (strstr(v->args, "NODE"))
                fputs("node\n", f);
        if (strstr(v->args, "ROLE"))
                fputs("role\n", f);
        if (strstr(v->args, "SECRET"))
                fputs("secret\n", f);
        if (strstr(v->args, "SETTING"))
                fputs("Weight=\nGuaranteeCPU=\nGuaranteeMemory=\nGuaranteeResource=\nLimitCPU=\n"
                      "LimitMemory=\nLimitResource=\n",
                      f);
        if (strstr(v->args, "RIGHT"))
                fputs("view\noperate\ndeploy\nadmin\nto\nfrom\nuser:\ngroup:\non\n", f);
        if (strstr(v->args, "POOL"))
                fputs("pool\n", f);
        if (strstr(v->args, "1|3|5"))
                fputs("1\n3\n5\n", f);
        if (strstr(v->args, "VERB"))
                help_first_words(f, l, false);
}

static void help_kind_words(FILE *f) {
        for (unsigned k = 0; k < EVENT_KINDS; k++) {
                const EventKindInfo *info = event_kind_info((Argosy__EventKind) k);

                if (info)
                        fprintf(f, "%s\n", info->name);
        }
}

bool help_words(FILE *f, const VerbList *l, const char *what, char *const *words, size_t n) {
        if (streq(what, "options"))
                help_options(f, l, words, n);
        else if (streq(what, "valued"))
                help_valued(f);
        else if (streq(what, "arguments"))
                help_arguments(f, l, words, n);
        else if (streq(what, "kinds"))
                help_kind_words(f);
        else if (streq(what, "verbs") || streq(what, "families"))
                help_first_words(f, l, streq(what, "families"));
        else if (verb_list_family(l, what)) {
                for (size_t i = 0; i < l->n_verbs; i++)
                        if (verb_second_word(&l->verbs[i], what))
                                fprintf(f, "%s\n", verb_second_word(&l->verbs[i], what));
        } else
                return false;
        return true;
}
