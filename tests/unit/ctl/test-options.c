// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "help-text.h"
#include "options.h"
#include "str.h"
#include "verb-table.h"

enum { WORDS_MAX = 16 };

static char *argv[WORDS_MAX];
static char line_copy[256];

// Parses a command line given as one string; *why is empty if it is good.
static int parse(const char *line, CtlOptions *o, char *why, size_t size) {
        _cleanup_buf_ Buf text = {};
        char *save = NULL;
        int argc = 0, r;

        argv[argc++] = (char *) "argosyctl";
        snprintf(line_copy, sizeof(line_copy), "%s", line);
        for (char *w = strtok_r(line_copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
                argv[argc++] = w;
        argv[argc] = NULL;
        r = options_parse(&verb_table, argc, argv, o, &text);
        snprintf(why, size, "%.*s", (int) text.len, (const char *) text.data);
        return r;
}

static void options_may_stand_anywhere(void **state) {
        CtlOptions o;
        char why[256];

        assert_int_equal(parse("start --no-block web --timeout 5min db", &o, why, sizeof(why)), 0);
        assert_string_equal(o.verb->name, "start");
        assert_int_equal(o.n_args, 2);
        assert_string_equal(o.args[0], "web");
        assert_string_equal(o.args[1], "db");
        assert_true(o.given[OPT_NO_BLOCK]);
        assert_int_equal(o.timeout_us, 300000000);
        assert_int_equal(parse("-n5 -f journal web", &o, why, sizeof(why)), 0);
        assert_int_equal(o.lines, 5);
        assert_true(o.given[OPT_FOLLOW]);
        assert_int_equal(parse("start -- --odd", &o, why, sizeof(why)), 0);
        assert_string_equal(o.args[0], "--odd");
}

static void a_letter_means_what_the_verb_takes(void **state) {
        CtlOptions o;
        char why[256];

        assert_int_equal(parse("-n5 top -d 2s -b we* --order io", &o, why, sizeof(why)), 0);
        assert_int_equal(o.iterations, 5);
        assert_int_equal(o.lines, LINES_DEFAULT);
        assert_int_equal(o.delay_ms, 2000);
        assert_int_equal(o.order, TOP_BY_IO);
        assert_true(o.given[OPT_BATCH]);
        assert_string_equal(o.args[0], "we*");
        assert_int_equal(parse("top", &o, why, sizeof(why)), 0);
        assert_int_equal(o.delay_ms, 1000);
        assert_int_equal(o.order, TOP_BY_CPU);
        assert_int_equal(o.iterations, 0);
        assert_int_equal(parse("status -n 3 web", &o, why, sizeof(why)), 0);
        assert_int_equal(o.lines, 3);
        assert_int_equal(parse("top -n 0", &o, why, sizeof(why)), -EINVAL);
        assert_string_equal(why, "--iterations: '0' is not a number from 1 on");
        assert_int_equal(parse("top -d 10ms", &o, why, sizeof(why)), -EINVAL);
        assert_int_equal(parse("top --order name", &o, why, sizeof(why)), -EINVAL);
        assert_int_equal(parse("top --lines 3", &o, why, sizeof(why)), -EINVAL);
        assert_string_equal(why, "top does not take --lines");
}

static void cluster_verbs_have_two_words(void **state) {
        CtlOptions o;
        char why[256];

        assert_int_equal(parse("cluster join 10.0.0.1 token --discard", &o, why, sizeof(why)), 0);
        assert_string_equal(o.verb->name, "cluster join");
        assert_int_equal(o.n_args, 2);
        assert_int_equal(parse("list-machines", &o, why, sizeof(why)), 0);
        assert_string_equal(o.verb->name, "list-nodes");
}

static void bad_lines_say_what_is_wrong(void **state) {
        static const struct {
                const char *line, *why;
        } cases[] = {
                {"", "no verb was given"},
                {"sta web", "unknown verb 'sta'"},
                {"cluster", "cluster needs a second word, e.g. cluster status"},
                {"cluster explode", "unknown verb 'cluster explode'"},
                {"start", "start takes UNIT..."},
                {"journal a b", "journal takes UNIT"},
                {"list-nodes x", "list-nodes takes no arguments"},
                {"start web --follow", "start does not take --follow"},
                {"list-units --replace", "list-units does not take --replace"},
                {"start --wrong web", "unknown option '--wrong'"},
                {"start -x web", "unknown option '-x'"},
                {"start web --timeout", "--timeout needs a value: SPAN"},
                {"journal web -n", "--lines needs a value: N"},
                {"start web --timeout soon", "--timeout: 'soon' is not a time span like 30s or 5min"},
                {"start web --timeout 0", "--timeout: '0' is not a time span like 30s or 5min"},
                {"list-units --json=xml", "--json: 'xml' is not one of short, pretty and off"},
                {"journal web -n -3", "--lines: '-3' is not a number of lines"},
                {"cluster token --ttl=2000h0",
                 "--ttl: '2000h0' is not a time span between 1s and 5 years, like 12h or 30d"},
                {"start web --no-block=yes", "--no-block takes no value"},
        };
        CtlOptions o;
        char why[256];

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                assert_int_equal(parse(cases[i].line, &o, why, sizeof(why)), -EINVAL);
                assert_string_equal(why, cases[i].why);
        }
}

static void help_and_version_need_nothing_else(void **state) {
        CtlOptions o;
        char why[256];

        assert_int_equal(parse("--help", &o, why, sizeof(why)), 0);
        assert_null(o.verb);
        assert_int_equal(parse("start --help", &o, why, sizeof(why)), 0);
        assert_string_equal(o.verb->name, "start");
        assert_int_equal(parse("--version", &o, why, sizeof(why)), 0);
}

static void the_tables_fit_together(void **state) {
        bool known[_OPT_MAX] = {};

        for (size_t i = 0; i < n_options; i++) {
                assert_false(known[option_table[i].option]);
                known[option_table[i].option] = true;
        }
        for (Option option = OPT_NONE + 1; option < _OPT_MAX; option++)
                assert_true(known[option]);
        for (size_t i = 0; i < verb_table.n_verbs; i++) {
                size_t taken;
                char *words[2] = {(char *) verb_table.verbs[i].name, NULL};

                for (const Option *o = verb_table.verbs[i].options; o && *o; o++)
                        assert_true(*o < _OPT_MAX && !option_is_global(*o));
                assert_true(verb_table.verbs[i].min_args <= verb_table.verbs[i].max_args);
                assert_non_null(verb_table.verbs[i].run);
                if (str_has_prefix(verb_table.verbs[i].name, "cluster ")) {
                        words[0] = (char *) "cluster";
                        words[1] = (char *) verb_table.verbs[i].name + strlen("cluster ");
                } else if (streq(verb_table.verbs[i].name, "history forget")) { // beside `history`
                        words[0] = (char *) "history";
                        words[1] = (char *) "forget";
                }
                assert_ptr_equal(verb_list_find(&verb_table, words, words[1] ? 2 : 1, &taken),
                                 &verb_table.verbs[i]);
        }
}

static char *helped(void (*write)(FILE *f)) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        write(f);
        fclose(f);
        return text;
}

static void write_all(FILE *f) {
        help_all(f, &verb_table);
}

static void write_verbs(FILE *f) {
        assert_true(help_words(f, &verb_table, "verbs", NULL, 0));
}

static void whoever_takes_a_reason_can_be_bound_to_a_revision(void **state) {
        for (size_t i = 0; i < verb_table.n_verbs; i++) {
                const Verb *verb = &verb_table.verbs[i];

                if (verb_takes(verb, OPT_REASON) && !verb_takes(verb, OPT_IF_REVISION))
                        fail_msg("%s changes something, and does not take --if-revision", verb->name);
        }
}

static void write_journal_options(FILE *f) {
        char *words[] = {(char *) "journal"};

        assert_true(help_words(f, &verb_table, "options", words, 1));
}

static void help_names_every_verb_and_option(void **state) {
        _cleanup_free_ char *text = helped(write_all), *words = helped(write_verbs),
                            *opts = helped(write_journal_options);

        for (size_t i = 0; i < verb_table.n_verbs; i++)
                assert_true(verb_table.verbs[i].group == GROUP_HIDDEN ||
                            strstr(text, verb_table.verbs[i].name));
        for (size_t i = 0; i < n_options; i++)
                assert_non_null(strstr(text, option_table[i].name));
        assert_non_null(strstr(words, "list-units\n"));
        assert_non_null(strstr(words, "cluster\n"));
        assert_null(strstr(words, "cluster join"));
        assert_null(strstr(words, "complete"));
        assert_non_null(strstr(opts, "--follow\n"));
        assert_non_null(strstr(opts, "--lines=\n"));
        assert_null(strstr(opts, "--replace"));
        assert_false(help_words(stderr, &verb_table, "nonsense", NULL, 0));
}

RUN_TESTS(
        cmocka_unit_test(options_may_stand_anywhere),
        cmocka_unit_test(a_letter_means_what_the_verb_takes),
        cmocka_unit_test(cluster_verbs_have_two_words),
        cmocka_unit_test(bad_lines_say_what_is_wrong),
        cmocka_unit_test(help_and_version_need_nothing_else),
        cmocka_unit_test(the_tables_fit_together),
        cmocka_unit_test(whoever_takes_a_reason_can_be_bound_to_a_revision),
        cmocka_unit_test(help_names_every_verb_and_option)
)
