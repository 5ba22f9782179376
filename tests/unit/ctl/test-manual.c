// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The manual page names whatever can be typed, and nothing else.

#include <fcntl.h>
#include <unistd.h>

#include "test.h"

#include "event-kind.h"
#include "fields.h"
#include "fileio.h"
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
        char text[128];

        snprintf(text, sizeof(text), format, word);
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

static void every_kind_of_event_is_there_with_its_fields(void **state) {
        for (unsigned k = 1; event_kind_info((Argosy__EventKind) k); k++) {
                const EventKindInfo *info = event_kind_info((Argosy__EventKind) k);

                expect("\t*%s*\n", info->name);
                for (size_t i = 0; i < event_kind_n_fields(info); i++)
                        expect("*%s*", info->fields[i].name);
        }
}

static void every_option_is_there(void **state) {
        for (size_t i = 0; i < n_options; i++)
                expect(option_table[i].arg ? "*--%s*=_" : "*--%s*\n", option_table[i].name);
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
                cmocka_unit_test(every_option_is_there),
                cmocka_unit_test(every_option_in_the_manual_exists),
                cmocka_unit_test(every_field_is_there),
        };

        return cmocka_run_group_tests(tests, read_manual, free_manual);
}
