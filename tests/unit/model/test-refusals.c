// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Every option of [X-Argosy] and [X-Fleet] against garbage: refused, with the line that is wrong.
#include "printed.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>

#include "option-garbage.h"
#include "str.h"
#include "unit-file.h"

// What reading the file and asking for a name says: NULL if both are content.
static char *refusal(const char *text, const char *name) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        UnitOptions *options = NULL;
        char *why = NULL;
        int r = unit_file_parse("/x/a.service", text, strlen(text), &file, &why);

        if (r == 0) {
                r = unit_file_expand(file, "/x/a.service", name, &options, &why);
                unit_options_unref(options);
        }
        assert_true(r == 0 || r == -EINVAL);
        assert_true((r == 0) == !why);
        return why;
}

static void assert_refused(const char *text, const char *expected) {
        _cleanup_free_ char *why = refusal(text, "a@1.service");

        if (!why || !strstr(why, expected))
                fail_msg("%s is %s%s, not \"%s\"", text, why ? "refused: " : "accepted", why ?: "",
                         expected);
}

static void assert_accepted(const char *text) {
        _cleanup_free_ char *why = refusal(text, "a@1.service");

        if (why)
                fail_msg("%s is refused: %s", text, why);
}

// ------------------------------------------------------------------------------------------------ values

static void one_is_refused(const OptionGarbage *g, const char *bad) {
        _cleanup_free_ char *text =
                str_printf("[Service]\n\n[X-Argosy]\n# this one\n%s=%s\n", g->option, bad);
        _cleanup_free_ char *where = str_printf("/x/a.service:5: ");
        _cleanup_free_ char *why = refusal(text, "a@1.service");

        if (!why || strncmp(why, where, strlen(where)) != 0 || !strstr(why, g->why))
                fail_msg("%s=%s is %s%s", g->option, bad, why ? "refused: " : "accepted", why ?: "");
}

static void garbage_is_refused_with_its_line(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(option_garbage); i++)
                for (size_t k = 0; k < ELEMENTSOF(option_garbage[i].bad) && option_garbage[i].bad[k]; k++)
                        one_is_refused(&option_garbage[i], option_garbage[i].bad[k]);
}

// Whoever adds an option adds garbage for it.
static void every_option_has_its_garbage(void **state) {
        static const char *const without[] = {"Replaces"}; // of [X-Fleet]
        size_t n = 0;

        for (const char *key; (key = unit_file_option(n)); n++) {
                bool found = strncmp(key, "X-", 2) == 0; // old names

                for (size_t i = 0; i < ELEMENTSOF(option_garbage); i++)
                        found |= streq(option_garbage[i].option, key);
                for (size_t i = 0; i < ELEMENTSOF(without); i++)
                        found |= streq(without[i], key);
                if (!found)
                        fail_msg("%s= has no garbage here", key);
        }
        assert_true(n >= 20);
}

static void good_values_are_accepted(void **state) {
        static const char *const good[] = {
                "MachineID=" ID,
                "MachineMetadata=a=b c=d",
                "MachineOf=b.service",
                "Conflicts=b*",
                "Conflicts=b[12].service",
                "Conflicts=b?.service c-[!a-z]*",
                "ReserveCPU=1.5",
                "ReserveCPU=150%",
                "ReserveCPU=0.001",
                "ReserveCPU=100000",
                "ReserveMemory=1",
                "ReserveMemory=5000000000",
                "ReserveMemory=512M",
                "ReserveMemory=4000G",
                "ReserveMemory=2047T",
                "ReserveResource=g:1",
                "ReserveResource=a b:2 c:3",
                "PreferLabel=a=b|c:7 !d",
                "SpreadOver=rack:1000",
                "NodeLostDelaySec=1.5min",
                "MaxUnavailable=100%",
                "Host=n1 " ID,
                "RequireLabel=a!=b|c d !e",
                "Pool=a b",
                "Rebalance=off",
                "Pool=x\nRequireLabel=pool=y",
                "RequireLabel=a=b|c a=c|d",
                "MachineMetadata=a=b a=c",
                "RequireLabel=a a=b",
                "RequireLabel=a=b|c a!=b",
                "RequireLabel=!a a!=b",
                "ReserveCPU=1\nReserveCPU=",
                "Global=yes\nConflicts=b*",
                "Conflicts=a\\\\x2db.service",
        };

        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                assert_accepted(printed("[X-Argosy]\n%s\n", good[i]));
        }
}

// ------------------------------------------------------------------------------------------- contradictions

static void what_contradicts_itself_is_refused_with_the_later_line(void **state) {
        static const struct {
                const char *lines, *why;
        } cases[] = {
                {"Global=yes\nMachineID=" ID, ":3: Global= and MachineID= exclude each other"},
                {"MachineOf=b.service\nGlobal=yes", ":3: Global= and MachineOf= exclude each other"},
                {"SameNodeAs=b.service\nGlobal=yes", ":3: Global= and MachineOf= exclude each other"},
                {"Global=yes\nSpreadOver=rack", ":3: Global= and SpreadOver= exclude each other"},
                {"Global=yes\nPreferSpreadOver=rack",
                 ":3: Global= and PreferSpreadOver= exclude each other"},
                {"Global=yes\nPacking=yes", ":3: Global= and Packing= exclude each other"},
                {"Global=yes\nPreferLabel=a", ":3: Global= and PreferLabel= exclude each other"},
                {"Global=yes\nReserveCPU=1", ":3: Global= and ReserveCPU= exclude each other"},
                {"Global=yes\nReserveMemory=1G", ":3: Global= and ReserveMemory= exclude each other"},
                {"Global=yes\nReserveResource=gpu", ":3: Global= and ReserveResource= exclude each other"},
                {"Global=yes\nRebalance=no", ":3: Global= and Rebalance= exclude each other"},
                {"Rebalance=yes\nGlobal=yes", ":3: Global= and Rebalance= exclude each other"},
                {"Global=yes\nNodeLost=keep", ":3: NodeLost= and Global= exclude each other"},
                {"MachineID=" ID "\nMachineOf=b.service",
                 ":3: MachineID= and MachineOf= exclude each other"},
                {"MachineID=" ID "\nConflicts=b*", ":3: MachineID= and Conflicts= exclude each other"},
                {"MachineID=" ID "\nMachineID=" ID "\nMachineID=1123456789abcdef0123456789abcdef",
                 ":4: MachineID= names a second machine"},
                {"RequireLabel=a=b\nRequireLabel=!a", ":3: label a is both required and forbidden"},
                {"RequireLabel=!a\nRequireLabel=a", ":3: label a is both required and forbidden"},
                {"RequireLabel=!pool\nPool=a", ":3: label pool is both required and forbidden"},
                {"Pool=a\nRequireLabel=!pool", ":3: label pool is both required and forbidden"},
                {"RequireLabel=!a\nMachineMetadata=a=b", ":3: label a is both required and forbidden"},
                {"MachineMetadata=a=b\nRequireLabel=!a", ":3: label a is both required and forbidden"},
                {"RequireLabel=a=b\nRequireLabel=a=c",
                 ":3: label a cannot have all the values that are required"},
                {"RequireLabel=a=b\nRequireLabel=a!=b",
                 ":3: label a cannot have all the values that are required"},
                {"RequireLabel=a!=b|c\nRequireLabel=a=c|b",
                 ":3: label a cannot have all the values that are required"},
                {"MachineMetadata=a=b\nRequireLabel=a=c",
                 ":3: label a cannot have all the values that are required"},
                {"Pool=x\nRequireLabel=pool!=x",
                 ":3: label pool cannot have all the values that are required"},
                {"SpreadOver=rack\nPreferSpreadOver=zone", ":3: units are spread over one label only"},
                {"NodeLost=keep\nNodeLostDelaySec=1s",
                 ":3: NodeLostDelaySec= means nothing unless NodeLost=move"},
                {"CutOffSec=1s", ":2: CutOffSec= means nothing without CutOff=stop"},
                {"Conflicts=b*\nConflicts=a@?.service",
                 ":3: Conflicts=a@?.service matches a@1.service itself"},
                {"MachineOf=b.service\nConflicts=b*",
                 ":3: Conflicts=b* matches b.service, which it is to be with"},
                {"\nMachineOf=a@1.service",
                 ":3: the unit is to be where it is itself (MachineOf=a@1.service)"},
                {"\nSameNodeAs=%n", ":3: the unit is to be where it is itself (MachineOf=a@1.service)"},
                {"Colour=blue", ":2: unknown option Colour= in [X-Argosy]"},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                assert_refused(printed("[X-Argosy]\n%s\n", cases[i].lines), cases[i].why);
        }
}

static void what_only_instances_fill_in_is_refused_only_for_them(void **state) {
        static const char *const lines[] = {"MachineOf=db@%i.service", "RequireLabel=rack=%i",   "Host=%i",
                                            "Manager=user@%i",         "MachineID=%i",           "Pool=%i",
                                            "SpreadOver=%i",           "MachineMetadata=rack=%i"};

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_free_ char *text = str_printf("[X-Argosy]\n\n%s\n", lines[i]);
                _cleanup_free_ char *template = refusal(text, "a@.service"),
                                    *bad = refusal(text, "a@\\x21.service"),
                                    *good = refusal(text, "a@7.service");

                if (template)
                        fail_msg("%s is refused for the template: %s", lines[i], template);
                if (good && !streq(lines[i], "MachineID=%i"))
                        fail_msg("%s is refused for the instance: %s", lines[i], good);
                if (!streq(lines[i], "MachineOf=db@%i.service") &&
                    (!bad || !strstr(bad, "/x/a.service:3: ")))
                        fail_msg("%s is accepted for an instance of nonsense", lines[i]);
        }
}

RUN_TESTS(
        cmocka_unit_test(garbage_is_refused_with_its_line),
        cmocka_unit_test(every_option_has_its_garbage),
        cmocka_unit_test(good_values_are_accepted),
        cmocka_unit_test(what_only_instances_fill_in_is_refused_only_for_them),
        cmocka_unit_test(what_contradicts_itself_is_refused_with_the_later_line)
)
