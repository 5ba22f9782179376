// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The manual page names whatever can be typed, and nothing else.

#include <fcntl.h>
#include <unistd.h>

#include "test.h"

#include "event-kind.h"
#include "fields.h"
#include "fileio.h"
#include "help-text.h"
#include "option-table.h"
#include "str.h"
#include "verb-table.h"

enum { MANUAL_MAX = 256 * 1024 };

static char *manual;

static int read_manual(void **state) {
        Buf text = {};

        assert_int_equal(file_read(AT_FDCWD, MANUAL, MANUAL_MAX, &text), 0);
        manual = buf_take_string(&text);
        return manual ? 0 : -1;
}

static int free_manual(void **state) {
        free(manual);
        return 0;
}

static void expect(const char *format, const char *word) {
        _cleanup_free_ char *text = str_printf(format, word);

        if (!strstr(manual, text))
                fail_msg("argosyctl(1) does not mention %s", text);
}

static void every_verb_is_there(void **state) {
        for (size_t i = 0; i < verb_table.n_verbs; i++) {
                if (verb_table.verbs[i].group == GROUP_HIDDEN)
                        continue;
                expect("*%s", verb_table.verbs[i].name);
                if (verb_table.verbs[i].alias)
                        expect("*%s*", verb_table.verbs[i].alias);
        }
}

// What stands there of that kind: until the next one, or the end of the list.
static char *paragraph_of(const char *kind) {
        _cleanup_free_ char *title = str_printf("\n\t*%s*\n\t\t", kind);
        const char *at = strstr(manual, title), *end;

        if (!at)
                fail_msg("argosyctl(1) does not mention the kind %s", kind);
        at += strlen(title);
        end = strstr(at, "\n\n");
        return end ? strndup(at, (size_t) (end - at)) : strdup(at);
}

static void every_kind_of_event_is_there_with_its_fields(void **state) {
        for (unsigned k = 0; k < EVENT_KINDS; k++) {
                const EventKindInfo *info = event_kind_info((Argosy__EventKind) k);
                _cleanup_free_ char *text = info ? paragraph_of(info->name) : NULL;

                for (size_t i = 0; info && i < event_kind_n_fields(info); i++) {
                        _cleanup_free_ char *field = str_printf("*%s*", info->fields[i].name);

                        if (!strstr(text, field))
                                fail_msg("argosyctl(1) does not mention %s of %s", field, info->name);
                }
        }
}

// And the help has them by the same table.
static void the_help_of_watch_has_every_kind_with_its_fields(void **state) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        for (size_t i = 0; i < verb_table.n_verbs; i++)
                if (streq(verb_table.verbs[i].name, "watch"))
                        help_verb(f, &verb_table.verbs[i]);
        fclose(f);
        for (unsigned k = 0; k < EVENT_KINDS; k++) {
                const EventKindInfo *info = event_kind_info((Argosy__EventKind) k);
                _cleanup_free_ char *title = info ? str_printf("  %s ", info->name) : NULL;
                const char *at = info ? strstr(text, title) : NULL;

                if (info && !at)
                        fail_msg("watch --help does not mention the kind %s", info->name);
                for (size_t i = 0; info && i < event_kind_n_fields(info); i++)
                        if (!(at = strstr(at, info->fields[i].name)))
                                fail_msg("watch --help does not mention %s of %s", info->fields[i].name,
                                         info->name);
        }
}

static void every_option_is_there(void **state) {
        for (size_t i = 0; i < n_options; i++)
                expect(option_needs_value(&option_table[i]) ? "*--%s*=_"
                       : option_table[i].arg                ? "*--%s*["
                                                            : "*--%s*\n",
                       option_table[i].name);
}

static void every_option_in_the_manual_exists(void **state) {
        for (const char *p = manual; (p = strstr(p, "*--")); p += 3) {
                size_t len = strspn(p + 3, "abcdefghijklmnopqrstuvwxyz-");
                bool known = false;

                for (size_t i = 0; i < n_options; i++)
                        known |= strlen(option_table[i].name) == len &&
                                 strncmp(option_table[i].name, p + 3, len) == 0;
                if (!known)
                        fail_msg("argosyctl has no option --%.*s", (int) len, p + 3);
        }
}

static void every_field_is_there(void **state) {
        static const FieldList *const lists[] = {&unit_fields, &unit_file_fields, &node_fields,
                                                 &manager_fields, &job_fields};

        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                for (size_t k = 0; k < lists[i]->n_fields; k++) {
                        expect("*%s*", lists[i]->fields[k].name);
                        if (lists[i]->fields[k].alias)
                                expect("(also *%s*)", lists[i]->fields[k].alias);
                }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_verb_is_there),
                cmocka_unit_test(every_kind_of_event_is_there_with_its_fields),
                cmocka_unit_test(the_help_of_watch_has_every_kind_with_its_fields),
                cmocka_unit_test(every_option_is_there),
                cmocka_unit_test(every_option_in_the_manual_exists),
                cmocka_unit_test(every_field_is_there),
        };

        return cmocka_run_group_tests(tests, read_manual, free_manual);
}
