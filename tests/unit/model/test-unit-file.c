// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "buf.h"
#include "unit-file.h"

#define ID_A "0123456789abcdef0123456789abcdef"
#define ID_B "00000000000000000000000000000001"

static UnitFile *parse(const char *text) {
        _cleanup_free_ char *why = NULL;
        UnitFile *f = NULL;

        if (unit_file_parse("x.service", text, strlen(text), &f, &why) < 0)
                fail_msg("%s", why);
        return f;
}

static UnitOptions *expand(const UnitFile *f, const char *name) {
        _cleanup_free_ char *why = NULL;
        UnitOptions *o = NULL;

        if (unit_file_expand(f, name, name, &o, &why) < 0)
                fail_msg("%s", why);
        return o;
}

static void assert_key(const char *text, const char *name, const char *key) {
        _cleanup_(unit_file_freep) UnitFile *f = parse(text);
        _cleanup_(unit_options_unrefp) UnitOptions *o = expand(f, name);

        assert_string_equal(o->key, key);
}

static void assert_refused(const char *text, size_t len, const char *expected) {
        _cleanup_free_ char *why = NULL;
        UnitFile *f = NULL;

        assert_int_equal(unit_file_parse("/tmp/x.service", text, len, &f, &why), -EINVAL);
        assert_null(f);
        if (!strstr(why, expected))
                fail_msg("\"%s\" does not say \"%s\"", why, expected);
        assert_int_equal(unit_file_parse("/tmp/x.service", text, len, &f, NULL), -EINVAL);
}

static void a_file_without_options_runs_anywhere(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = parse("[Service]\nExecStart=/bin/true\n");
        _cleanup_(unit_options_unrefp) UnitOptions *o = expand(f, "x.service");

        assert_false(f->global || f->oneshot || f->remain || f->has_slice || f->has_weights ||
                     f->has_install);
        assert_string_equal(f->description, "");
        assert_null(o->machine_id);
        assert_int_equal(o->n_labels, 0);
        assert_string_equal(o->key, "");
}

static void managers_are_asked_for_by_name_or_pattern(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f =
                parse("[X-Argosy]\nManager=user@%i container@web\nManager=user@7\n");
        _cleanup_(unit_options_unrefp) UnitOptions *o = expand(f, "a@1000.service");

        assert_string_equal(o->managers[0], "container@web");
        assert_string_equal(o->managers[1], "user@1000");
        assert_string_equal(o->managers[2], "user@7");
        assert_null(o->managers[3]);
        assert_string_equal(o->key, "^container@web\n^user@1000\n^user@7\n");
        assert_key("[X-Argosy]\nManager=user@*\nManager=\n", "x.service", "");
        assert_refused("[X-Argosy]\nManager=a/b\n", strlen("[X-Argosy]\nManager=a/b\n"),
                       ":2: Manager=a/b is not");
}

static void a_host_is_the_same_in_letters_of_any_case(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = parse("[X-Argosy]\nHost=N2 n2 Web-1.Example\n");
        _cleanup_(unit_options_unrefp) UnitOptions *o = expand(f, "x.service");

        assert_string_equal(o->hosts[0], "n2");
        assert_string_equal(o->hosts[1], "web-1.example");
        assert_null(o->hosts[2]);
}

static void values_of_one_key_are_alternatives_and_keys_are_all_needed(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = parse("[X-Fleet]\n"
                                                       "MachineMetadata=\"region=us\" \"disk=ssd\"\n"
                                                       "MachineMetadata=region=eu\n"
                                                       "[X-Argosy]\n"
                                                       "MachineMetadata=region=us\n");
        _cleanup_(unit_options_unrefp) UnitOptions *o = expand(f, "x.service");

        assert_int_equal(o->n_labels, 2);
        assert_string_equal(o->labels[0].key, "disk");
        assert_string_equal(o->labels[0].values[0], "ssd");
        assert_null(o->labels[0].values[1]);
        assert_string_equal(o->labels[1].key, "region");
        assert_string_equal(o->labels[1].values[0], "eu");
        assert_string_equal(o->labels[1].values[1], "us");
        assert_null(o->labels[1].values[2]);
}

static void the_same_demand_has_the_same_key_however_it_is_written(void **state) {
        static const char *const texts[] = {
                "[X-Fleet]\nMachineMetadata=a=1\nMachineMetadata=b=2\nMachineMetadata=a=3\n",
                "[X-Argosy]\nMachineMetadata= b=2  'a=3'\ta=1 a=1\n",
                "[X-Fleet]\nX-ConditionMachineMetadata='a=3' 'b=2'\n[X-Argosy]\nMachineMetadata=a=\"1\"\n",
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                assert_key(texts[i], "x.service", "a=1|3\nb=2\n");
        assert_key("[X-Fleet]\nMachineID=" ID_A "\nMachineMetadata=a=1\n", "x.service", "=" ID_A "\na=1\n");
}

static void an_empty_assignment_undoes_those_before_it(void **state) {
        assert_key("[X-Argosy]\nMachineMetadata=a=1\nMachineID=" ID_A
                   "\nMachineMetadata=\nMachineMetadata=b=2\n",
                   "x.service", "=" ID_A "\nb=2\n");
        assert_key("[X-Argosy]\nMachineID=" ID_A "\nMachineID=\nMachineID=" ID_B "\n", "x.service",
                   "=" ID_B "\n");
        {
                _cleanup_(unit_file_freep) UnitFile *f = parse("[X-Argosy]\nGlobal=yes\nGlobal=\n");

                assert_false(f->global);
        }
}

static void how_many_may_be_down_is_a_number_or_a_percentage(void **state) {
        _cleanup_(unit_file_freep) UnitFile *number = parse("[X-Argosy]\nMaxUnavailable=3\n"),
                                            *share = parse("[X-Argosy]\nMaxUnavailable=25%\n"),
                                            *none = parse("[X-Argosy]\nMaxUnavailable=3\nMaxUnavailable=\n");

        assert_int_equal(unit_share_of(number->max_unavailable, 100), 3);
        assert_int_equal(unit_share_of(share->max_unavailable, 100), 25);
        assert_int_equal(unit_share_of(share->max_unavailable, 7), 1);
        assert_int_equal(unit_share_of(share->max_unavailable, 3), 1); // never none
        assert_true(unit_share_of(none->max_unavailable, 100) == SIZE_MAX);
}

static void who_gives_way_agrees_to_it_or_has_a_negative_priority(void **state) {
        static const struct {
                const char *text;
                int priority;
                bool preemptible;
        } cases[] = {{"[X-Argosy]\n", 0, false},
                     {"[X-Argosy]\nPriority=7\n", 7, false},
                     {"[X-Argosy]\nPriority=-1\n", -1, true},
                     {"[X-Argosy]\nPriority=-1000\nPreemptible=no\n", -1000, false},
                     {"[X-Argosy]\nPreemptible=yes\nPriority=1000\n", 1000, true},
                     {"[X-Argosy]\nPriority=-5\nPriority=\n", 0, false}};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_(unit_file_freep) UnitFile *f = parse(cases[i].text);
                _cleanup_(unit_options_unrefp) UnitOptions *o = expand(f, "x.service");

                assert_int_equal(o->priority, cases[i].priority);
                assert_int_equal(o->preemptible, cases[i].preemptible);
                assert_null(o->role);
        }
}

static void a_role_may_depend_on_the_name(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = parse("[X-Argosy]\nRole=team-%i\n");
        _cleanup_(unit_options_unrefp) UnitOptions *o = expand(f, "x@blue.service");

        assert_string_equal(o->role, "team-blue");
        assert_int_equal(o->role_line, 2);
}

static void the_first_machine_counts_in_fleets_section(void **state) {
        static const char two[] = "[X-Argosy]\nMachineID=" ID_A "\nMachineID=" ID_B "\n";

        assert_key("[X-Fleet]\nMachineID=" ID_A "\nMachineID=" ID_B "\n", "x.service", "=" ID_A "\n");
        assert_key("[X-Argosy]\nMachineID=" ID_A "\nMachineID=0123456789ABCDEF0123456789ABCDEF\n",
                   "x.service", "=" ID_A "\n");
        assert_refused(two, strlen(two), "/tmp/x.service:3: MachineID= names a second machine");
}

static void global_is_a_boolean_as_systemd_writes_it(void **state) {
        static const char *const yes[] = {"yes", "true", "1", "on", "t", "Y"}, *const no[] = {"no", "False",
                                                                                              "0", "off"};
        char text[64];

        for (size_t i = 0; i < ELEMENTSOF(yes); i++) {
                snprintf(text, sizeof text, "[X-Fleet]\nGlobal=%s\n", yes[i]);
                _cleanup_(unit_file_freep) UnitFile *f = parse(text);
                _cleanup_(unit_options_unrefp) UnitOptions *o = expand(f, "x.service");

                assert_true(f->global && o->global);
        }
        for (size_t i = 0; i < ELEMENTSOF(no); i++) {
                snprintf(text, sizeof text, "[X-Fleet]\nGlobal=%s\n", no[i]);
                _cleanup_(unit_file_freep) UnitFile *f = parse(text);

                assert_false(f->global);
        }
}

static void specifiers_are_filled_in_per_name(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f =
                parse("[X-Argosy]\nMachineMetadata=rack=%i role=%p file=%p.%%\nMachineMetadata=\n"
                      "MachineMetadata=rack=%i role=%p\n");
        _cleanup_(unit_options_unrefp) UnitOptions *one = expand(f, "web@r1.service"),
                                                   *two = expand(f, "web@r2.service");

        assert_string_equal(one->key, "rack=r1\nrole=web\n");
        assert_string_equal(two->key, "rack=r2\nrole=web\n");
        assert_key("[X-Argosy]\nMachineMetadata=name=%N all=%n\n", "web.service",
                   "all=web.service\nname=web\n");
}

static void names_share_options_that_do_not_depend_on_them(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = parse("[X-Argosy]\nMachineMetadata=rack=r1\n");
        _cleanup_(unit_options_unrefp) UnitOptions *one = expand(f, "web@1.service"),
                                                   *two = expand(f, "web@2.service");

        assert_ptr_equal(one, two);
}

static void what_an_instance_makes_of_an_option_is_checked_for_that_instance(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = parse("[Unit]\n[X-Argosy]\nMachineMetadata=rack=%i\n");
        _cleanup_(unit_options_unrefp) UnitOptions *good = expand(f, "web@a/b.service");
        _cleanup_free_ char *why = NULL;
        UnitOptions *bad = NULL;

        assert_string_equal(good->key, "rack=a/b\n");
        assert_int_equal(unit_file_expand(f, "web.service", "web.service", &bad, &why), -EINVAL);
        assert_null(bad);
        assert_non_null(strstr(why, "web.service:3: MachineMetadata=rack= is not KEY=VALUE"));
}

static void what_is_wrong_in_our_sections_is_refused_with_its_line(void **state) {
        static const struct {
                const char *text, *why;
        } cases[] = {
                {"[X-Argosy]\nColour=blue\n", ":2: unknown option Colour= in [X-Argosy]"},
                {"[X-Fleet]\n\n# c\nmachineid=1\n", ":4: unknown option machineid= in [X-Fleet]"},
                {"[X-Argosy]\nX-ConditionMachineID=" ID_A "\n", ":2: unknown option"},
                {"[X-Fleet]\nMachineOf=a@.service\n",
                 ":2: \"a@.service\" is no unit that another one can be with"},
                {"[X-Fleet]\nMachineOf=a.service\nGlobal=yes\n", ":3: Global= and MachineOf= exclude"},
                {"[X-Fleet]\nMachineID=0123456789abcdef0123456789abcdef\nConflicts=a*\n",
                 ":3: MachineID= and Conflicts= exclude"},
                {"[X-Fleet]\nRequireLabel=a=b\n", ":2: unknown option RequireLabel= in [X-Fleet]"},
                {"[X-Argosy]\nRequireLabel=a=\n", ":2: \"a=\" is not KEY=VALUE"},
                {"[X-Argosy]\nRequireLabel=a=b|c$\n", ":2: \"a=b|c$\" is not KEY=VALUE"},
                {"[X-Argosy]\nRequireLabel=disk=ssd\nRequireLabel=!disk\n",
                 ":3: label disk is both required and forbidden"},
                {"[X-Argosy]\nPreferLabel=disk=ssd:0\n",
                 ":2: the weight of PreferLabel=disk=ssd:0 is not 1 to 1000"},
                {"[X-Argosy]\nPreferLabel=a b c d\n", ":2: more than 3 PreferLabel="},
                {"[X-Argosy]\nSpreadOver=rack\nPreferSpreadOver=zone\n",
                 ":3: units are spread over one label only, and it is rack"},
                {"[X-Argosy]\nSpreadOver=rack:0\n", ":2: SpreadOver=rack:0 is not KEY or KEY:SKEW"},
                {"[X-Argosy]\nReserveCPU=0\n", ":2: ReserveCPU=0 is not a number of cores"},
                {"[X-Argosy]\nReserveCPU=-1\n", ":2: ReserveCPU=-1 is not a number of cores"},
                {"[X-Argosy]\nReserveCPU=1e9\n", ":2: ReserveCPU=1e9 is not a number of cores"},
                {"[X-Argosy]\nReserveMemory=1X\n", ":2: ReserveMemory=1X is not a number of bytes"},
                {"[X-Argosy]\nReserveMemory=99999999T\n",
                 ":2: ReserveMemory=99999999T is not a number of bytes"},
                {"[X-Argosy]\nReserveResource=gpu:none\n",
                 ":2: ReserveResource=gpu:none is not NAME or NAME:NUMBER"},
                {"[X-Argosy]\nPacking=perhaps\n", ":2: Packing=perhaps is neither yes nor no"},
                {"[X-Argosy]\nRole=a b\n", ":2: Role= names a second role"},
                {"[X-Argosy]\nRole=a%%b\n", ":2: Role=a%b is no name of a role"},
                {"[X-Argosy]\nPriority=1001\n", ":2: Priority=1001 is not a number from -1000 to 1000"},
                {"[X-Argosy]\nPriority=1x\n", ":2: Priority=1x is not a number"},
                {"[X-Argosy]\nPreemptible=perhaps\n", ":2: Preemptible=perhaps is neither yes nor no"},
                {"[X-Argosy]\nGlobal=yes\nPriority=1\n", ":3: Global= and Priority= exclude each other"},
                {"[X-Fleet]\nRole=a\n", ":2: unknown option Role= in [X-Fleet]"},
                {"[X-Fleet]\nReplaces=a\nGlobal=yes\n", ":3: Global= and Replaces= exclude"},
                {"[X-Fleet]\nReplaces=a\nConflicts=b\n", ":3: Conflicts= and Replaces= exclude"},
                {"[X-Argosy]\nConflicts=b\nReplaces=a\n", ":3: Conflicts= and Replaces= exclude"},
                {"[X-Fleet]\nReplaces=a\nMachineID=0123456789abcdef0123456789abcdef\n",
                 ":3: MachineID= and Replaces= exclude"},
                {"[X-Fleet]\nX-ConditionMachineBootID=a\n", "use MachineID="},
                {"[X-Argosy]\nAfter=a\n", ":2: After=a is no unit"},
                {"[X-Argosy]\nRequires=a@.service\n", ":2: Requires=a@.service is a template"},
                {"[X-Argosy]\nAfter=a.service\nBefore=b.service a.service\n",
                 ":3: Before=a.service and After=a.service exclude each other"},
                {"[X-Argosy]\nBefore=a.service\nBindsTo=a.service\n",
                 ":3: Before=a.service and BindsTo=a.service exclude"},
                {"[X-Fleet]\nAfter=a.service\n", ":2: unknown option After= in [X-Fleet]"},
                {"[X-Argosy]\nMaxUnavailable=0\n", ":2: MaxUnavailable=0 is neither"},
                {"[X-Argosy]\nMaxUnavailable=101%\n", ":2: MaxUnavailable=101%"},
                {"[X-Argosy]\nMaxUnavailable=1 2\n", ":2: MaxUnavailable=1 2"},
                {"[X-Argosy]\nMaxUnavailable=-1\n", ":2: MaxUnavailable=-1"},
                {"[X-Argosy]\nGlobal=maybe\n", ":2: Global=maybe"},
                {"[X-Argosy]\nGlobal\n", ":2: this line in [X-Argosy] is not KEY=VALUE"},
                {"[X-Argosy]\n=yes\n", ":2: this line"},
                {"[X-Argosy]\nMachineID=abc\n", ":2: MachineID=abc is not a machine id"},
                {"[X-Argosy]\nMachineMetadata=a\n", ":2: MachineMetadata=a is not"},
                {"[X-Argosy]\nMachineMetadata=\"a=b c\"\n", ":2: MachineMetadata=a=b c is not"},
                {"[X-Argosy]\nMachineMetadata=\"\"\n", ":2: MachineMetadata= is not"},
                {"[X-Argosy]\nMachineMetadata=\"a=b\n", ":2: a quotation"},
                {"[X-Argosy]\nMachineMetadata=a=%q\n", ":2: \"%q\" in MachineMetadata= is not a specifier"},
                {"[X-Argosy]\nMachineMetadata=a=%\n", ":2: \"%\" in"},
                {"[X-Argosy]\nMachineMetadata=a=%%\n", ":2: MachineMetadata=a=% is not"},
                {"[X-Fleet]\nMachineID=" ID_A "\n[Unit]\n[X-Argosy]\nGlobal=1\n",
                 ":5: Global= and MachineID= exclude"},
                {"[X-Fleet]\nGlobal=1\nMachineID=%i\n", ":3: Global= and MachineID= exclude"},
                {"[X-Argosy]\nGlobal=yes \\\n  or no\n", ":2: Global=yes"},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_refused(cases[i].text, strlen(cases[i].text), cases[i].why);
}

static void assert_depends(const UnitOptions *o, size_t i, const char *name, unsigned kinds, unsigned line) {
        assert_in_range(i, 0, o->n_dependencies - 1);
        assert_string_equal(o->dependencies[i].name, name);
        assert_int_equal(o->dependencies[i].kinds, kinds);
        assert_int_equal(o->dependencies[i].line, line);
}

static void units_on_other_nodes_are_depended_on_by_name(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f =
                parse("[Unit]\nAfter=x.service\n[X-Argosy]\nAfter=c.service b.service\nRequires=c.service\n"
                      "BindsTo=a.service\nWants=%p.socket\nPartOf=p.target\nBefore=d.service\nRequires=d."
                      "service\n");
        _cleanup_(unit_options_unrefp) UnitOptions *o = expand(f, "web@1.service");

        assert_int_equal(o->n_dependencies, 6);
        assert_depends(o, 0, "a.service", UNIT_AFTER | UNIT_REQUIRES | UNIT_BINDS_TO, 6);
        assert_depends(o, 1, "b.service", UNIT_AFTER, 4);
        assert_depends(o, 2, "c.service", UNIT_AFTER | UNIT_REQUIRES, 4);
        assert_depends(o, 3, "d.service", UNIT_BEFORE | UNIT_REQUIRES, 9); // not after it as well
        assert_depends(o, 4, "p.target", UNIT_PART_OF, 8);
        assert_depends(o, 5, "web.socket", UNIT_WANTS, 7);
        assert_string_equal(o->key, ""); // where it may run is another matter
}

static void templates_depend_on_templates(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f =
                parse("[X-Argosy]\nRequires=db@%i.service\nAfter=%i.service\nAfter=old.service\nAfter=\n");
        _cleanup_(unit_options_unrefp) UnitOptions *t = expand(f, "web@.service"),
                                                   *o = expand(f, "web@7.service");

        assert_int_equal(t->n_dependencies, 1);
        assert_depends(t, 0, "db@.service", UNIT_REQUIRES | UNIT_AFTER, 2);
        assert_int_equal(o->n_dependencies, 1); // After= is undone
        assert_depends(o, 0, "db@7.service", UNIT_REQUIRES | UNIT_AFTER, 2);
}

static void no_unit_depends_on_itself(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = parse("[X-Argosy]\n\nRequires=web@1.service\n");
        _cleanup_(unit_options_unrefp) UnitOptions *o = NULL;
        _cleanup_free_ char *why = NULL;

        assert_int_equal(unit_file_expand(f, "web@.service", "web@1.service", &o, &why), -EINVAL);
        assert_string_equal(why, "web@.service:3: the unit depends on itself (web@1.service)");
}

static void what_happens_when_things_go_wrong_is_read(void **state) {
        _cleanup_(unit_file_freep) UnitFile *plain = parse("[Service]\nExecStart=/bin/true\n");
        _cleanup_(unit_file_freep) UnitFile *f =
                parse("[Service]\nExecStart=/x\nExecStop=/a ; /b\nExecStopPost=/c\nTimeoutSec=2min\n"
                      "TimeoutStopSec=10\n[X-Argosy]\nNodeLost=move\nNodeLostDelaySec=1.5min\n"
                      "CutOff=stop\nCutOffSec=5\n");
        _cleanup_(unit_file_freep) UnitFile *undone = parse(
                "[X-Argosy]\nNodeLost=keep\nNodeLost=\nCutOff=stop\nCutOff=\nCutOffSec=3\nCutOffSec=\n");

        assert_int_equal(plain->failing.node_lost, NODE_LOST_MOVE);
        assert_int_equal(plain->failing.node_lost_delay_us, 0);
        assert_false(plain->failing.cut_off_stop);

        assert_int_equal(f->failing.node_lost_delay_us, 90000000);
        assert_true(f->failing.cut_off_stop);
        assert_int_equal(f->failing.cut_off_sec, 5);
        assert_true(f->failing.stop_timeout_is_given);
        assert_int_equal(f->failing.stop_us, 5 * 10000000); // /a, /b, SIGTERM, /c, what is left of it

        assert_int_equal(undone->failing.node_lost, NODE_LOST_MOVE);
        assert_false(undone->failing.cut_off_stop);
        assert_int_equal(undone->failing.cut_off_sec, CUT_OFF_DEFAULT_SEC);
}

static void who_fails_is_started_elsewhere_if_the_file_says_so(void **state) {
        _cleanup_(unit_file_freep) UnitFile *plain = parse("[Service]\nExecStart=/bin/true\n");
        _cleanup_(unit_file_freep) UnitFile *f =
                parse("[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/x\n[X-Argosy]\n"
                      "RestartElsewhere=3\nRestartElsewhereDecaySec=1h\nNodeLost=keep\n");
        _cleanup_(unit_file_freep) UnitFile *undone =
                parse("[X-Argosy]\nRestartElsewhere=3\nRestartElsewhereDecaySec=1h\nRestartElsewhere=\n"
                      "RestartElsewhereDecaySec=\nGlobal=yes\n");

        assert_int_equal(plain->failing.restart_elsewhere, 0);
        assert_int_equal(f->failing.restart_elsewhere, 3);
        assert_true(f->failing.restart_decay_us == 3600000000ULL);
        assert_int_equal(undone->failing.restart_elsewhere, 0);
        assert_int_equal(undone->failing.restart_decay_us, 600000000);
}

static void a_unit_without_a_stop_timeout_has_systemds(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = parse(
                "[Service]\nExecStart=/x\nKillMode=process\nKillMode=mixed\n[X-Argosy]\nCutOff=stop\n");

        assert_false(f->failing.stop_timeout_is_given);
        assert_int_equal(f->failing.stop_us, 90000000);
}

static void contradictions_about_what_goes_wrong_are_refused_with_their_line(void **state) {
        static const struct {
                const char *text, *why;
        } cases[] = {
                {"[X-Argosy]\nNodeLost=maybe\n", ":2: NodeLost=maybe is none of move, keep, never"},
                {"[X-Fleet]\nNodeLost=keep\n", ":2: unknown option NodeLost="},
                {"[X-Argosy]\nNodeLostDelaySec=soon\n", ":2: NodeLostDelaySec=soon is not a time span"},
                {"[X-Argosy]\nNodeLostDelaySec=721h\n", ":2: NodeLostDelaySec=721h is not a time span"},
                {"[X-Argosy]\nNodeLost=keep\nNodeLostDelaySec=5\n", ":3: NodeLostDelaySec= means nothing"},
                {"[X-Argosy]\nNodeLostDelaySec=5\nGlobal=yes\n", ":2: NodeLostDelaySec= and Global="},
                {"[X-Argosy]\nNodeLost=keep\nGlobal=yes\n", ":2: NodeLost= and Global="},
                {"[X-Argosy]\nRestartElsewhere=0\n", ":2: RestartElsewhere=0 is not a number of failures"},
                {"[X-Argosy]\nRestartElsewhere=101\n", ":2: RestartElsewhere=101 is not a number"},
                {"[X-Argosy]\nRestartElsewhere=yes\n", ":2: RestartElsewhere=yes is not a number"},
                {"[X-Fleet]\nRestartElsewhere=3\n", ":2: unknown option RestartElsewhere="},
                {"[X-Argosy]\nRestartElsewhere=3\nRestartElsewhereDecaySec=0.5\n",
                 ":3: RestartElsewhereDecaySec=0.5 is not a time span"},
                {"[X-Argosy]\nRestartElsewhereDecaySec=5min\n",
                 ":2: RestartElsewhereDecaySec= means nothing without RestartElsewhere="},
                {"[X-Argosy]\nRestartElsewhere=3\nGlobal=yes\n", ":2: RestartElsewhere= and Global="},
                {"[X-Argosy]\nRestartElsewhere=3\nNodeLost=never\n",
                 ":3: RestartElsewhere= and NodeLost=never exclude"},
                {"[Service]\nType=oneshot\nExecStart=/x\n[X-Argosy]\nRestartElsewhere=3\n",
                 ":5: RestartElsewhere= is not for Type=oneshot"},
                {"[X-Argosy]\nOutcomeUnknown=rerun\n", ":2: OutcomeUnknown= is for Type=oneshot"},
                {"[X-Argosy]\nCutOff=perhaps\n", ":2: CutOff=perhaps is neither"},
                {"[X-Argosy]\nCutOffSec=5\n", ":2: CutOffSec= means nothing without CutOff=stop"},
                {"[X-Argosy]\nCutOff=keep\nCutOffSec=5\n", ":3: CutOffSec= means nothing"},
                {"[Service]\nExecStart=/x\n[X-Argosy]\nCutOff=stop\nCutOffSec=0.5\n",
                 ":5: CutOffSec=0.5 is not"},
                {"[Timer]\nOnBootSec=1\n[X-Argosy]\nCutOff=stop\n", ":4: CutOff=stop is for services"},
                {"[Service]\nExecStart=/x\n[X-Argosy]\nCutOff=stop\nManager=user@7\n",
                 ":4: CutOff=stop and Manager="},
                {"[Service]\nExecStart=/x\nKillMode=none\n[X-Argosy]\nCutOff=stop\n",
                 ":3: with this KillMode="},
                {"[Service]\nSendSIGKILL=no\nExecStart=/x\n[X-Argosy]\nCutOff=stop\n",
                 ":2: with SendSIGKILL=no"},
                {"[Service]\nExecStart=/x\nTimeoutStopSec=infinity\n[X-Argosy]\nCutOff=stop\n",
                 ":3: CutOff=stop needs a stop timeout that ends"},
                {"[Service]\nExecStart=/x\nTimeoutStopSec=0\n[X-Argosy]\nCutOff=stop\n",
                 ":3: CutOff=stop needs a stop timeout that ends"},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_refused(cases[i].text, strlen(cases[i].text), cases[i].why);
}

static void what_systemd_never_stops_when_asked_is_refused(void **state) {
        static const char refused[] =
                "[Unit]\nRefuseManualStop=no\nRefuseManualStop=yes\n[Service]\nExecStart=/x\n",
                          taken[] = "[Unit]\nRefuseManualStop=yes\nRefuseManualStop=no\nRefuseManualStart="
                                    "yes\n[Service]\nExecStart=/x\n";
        _cleanup_(unit_file_freep) UnitFile *f = NULL;

        assert_refused(refused, strlen(refused), "/tmp/x.service:3: with RefuseManualStop=");
        assert_int_equal(unit_file_parse("/tmp/x.service", taken, strlen(taken), &f, NULL), 0);
        assert_true(f->refuses_start);
}

static void label_words_use_a_small_alphabet(void **state) {
        char longest[LABEL_MAX + 2];

        memset(longest, 'x', sizeof longest);
        longest[LABEL_MAX + 1] = 0;
        assert_false(label_is_valid(longest));
        longest[LABEL_MAX] = 0;
        assert_true(label_is_valid(longest));
        assert_true(label_is_valid("kernel.org/Zone-1_a"));
        assert_false(label_is_valid(""));
        assert_false(label_is_valid("a b"));
        assert_false(label_is_valid("a=b"));
        assert_false(label_is_valid("\xc3\xa9"));
}

static void the_number_of_values_is_limited(void **state) {
        _cleanup_buf_ Buf text = {0};

        assert_int_equal(buf_printf(&text, "[X-Argosy]\nMachineMetadata="), 0);
        for (int i = 0; i <= UNIT_FILE_VALUES_MAX; i++)
                assert_int_equal(buf_printf(&text, "a=%d ", i), 0);
        assert_refused((const char *) text.data, text.len, ":2: more than 256 values");
}

static void what_is_no_unit_file_is_refused(void **state) {
        static const char binary[] = "[Unit]\nDescription=a\0b\n";
        _cleanup_free_ char *large = malloc(UNIT_FILE_MAX + 1);

        assert_refused("", 0, "/tmp/x.service:1: the file is empty");
        assert_refused(binary, sizeof binary - 1, "/tmp/x.service:2: a NUL byte");
        memset(large, '\n', UNIT_FILE_MAX + 1);
        assert_refused(large, UNIT_FILE_MAX + 1, "larger than 256 KiB");
        {
                UnitFile *f = NULL;

                assert_int_equal(unit_file_parse("x", large, UNIT_FILE_MAX, &f, NULL), 0);
                unit_file_free(f);
        }
        assert_refused("\n[Unit\n", 7, "/tmp/x.service:2: this section header");
}

static void what_systemd_only_warns_about_passes(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f =
                parse("outside=1\ngarbage\n[Unit]\nno equals sign\n=x\n[X-Other]\nMachineOf=y\n"
                      "[Sevrice]\nType=oneshot\n\xff\xfe\n");

        assert_false(f->oneshot);
}

static void lines_continue_as_in_systemd(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = parse(
                "[Unit]\nDescription=one \\\n; no\n# comment \\\n  two \\\nthree\\\\\n"
                "[X-Argosy]\nMachineMetadata=a=1 \\\n\n[Service]\r\nExecStart=/x\r\nType=one\\\r\nshot\r\n");
        _cleanup_(unit_options_unrefp) UnitOptions *o = expand(f, "x.service");

        assert_string_equal(f->description, "one    two  three\\\\");
        assert_string_equal(o->key, "a=1\n");
        assert_false(f->oneshot); // "one shot"
}

static void a_continued_last_line_counts(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = parse("\xef\xbb\xbf[Unit]\nDescription=last \\\n#");

        assert_string_equal(f->description, "last");
}

static bool oneshot(const char *text) {
        _cleanup_(unit_file_freep) UnitFile *f = parse(text);

        return f->oneshot;
}

static void one_shots_are_recognised_as_systemd_does(void **state) {
        assert_true(oneshot("[Service]\nType=oneshot\nExecStart=/bin/true\n"));
        assert_true(oneshot("[Service]\nExecStop=/bin/true\n"));
        assert_true(oneshot("[Service]\nExecStart=/bin/true\nExecStart=\n"));
        assert_true(oneshot("[Service]\nType=simple\nType=oneshot\nType=nonsense\n"));
        assert_false(oneshot("[Service]\nExecStart=/bin/true\n"));
        assert_false(oneshot("[Service]\nType=oneshot\nType=\nExecStart=/bin/true\n"));
        assert_false(oneshot("[Service]\nBusName=org.example\n"));
        assert_false(oneshot("[Timer]\nOnCalendar=daily\n"));
}

static void settings_that_matter_to_the_agent_are_seen(void **state) {
        _cleanup_(unit_file_freep) UnitFile *all =
                parse("[Service]\nRemainAfterExit=yes\nSlice=a.slice\nCPUWeight=50\n[Install]\n");
        _cleanup_(unit_file_freep) UnitFile *undone =
                parse("[Service]\nRemainAfterExit=no\nSlice=a.slice\nSlice=\nIOWeight=5\nIOWeight=\n[Unit]"
                      "\nCPUWeight=5\n");

        assert_true(all->remain && all->has_slice && all->has_weights && all->has_install);
        assert_false(undone->remain || undone->has_slice || undone->has_weights || undone->has_install);
}

static void descriptions_are_shown_with_their_specifiers(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = parse("[Unit]\nDescription=Worker %i of %p, 100%% %H %\n");
        _cleanup_free_ char *text = unit_file_describe(f, "w@7.service");

        assert_string_equal(text, "Worker 7 of w, 100% %H %");
}

static void what_systemd_stops_the_unit_with_is_remembered(void **state) {
        _cleanup_(unit_file_freep) UnitFile
                *f = parse("[Unit]\nRequires=a.service\nBindsTo=\n"
                           "PartOf=b@%i.service c.target\nWants=d.service\n"
                           "StopPropagatedFrom=e.service\nRequisite=f.service\n"),
                *none = parse("[Service]\nPartOf=a.service\n");
        _cleanup_free_ char *names = unit_file_fill_in(f->bound_to, "w@7.service");

        assert_string_equal(names, "a.service b@7.service c.target e.service f.service");
        assert_null(none->bound_to);
}

RUN_TESTS(
        cmocka_unit_test(a_file_without_options_runs_anywhere),
        cmocka_unit_test(what_systemd_stops_the_unit_with_is_remembered),
        cmocka_unit_test(managers_are_asked_for_by_name_or_pattern),
        cmocka_unit_test(a_host_is_the_same_in_letters_of_any_case),
        cmocka_unit_test(values_of_one_key_are_alternatives_and_keys_are_all_needed),
        cmocka_unit_test(the_same_demand_has_the_same_key_however_it_is_written),
        cmocka_unit_test(an_empty_assignment_undoes_those_before_it),
        cmocka_unit_test(who_gives_way_agrees_to_it_or_has_a_negative_priority),
        cmocka_unit_test(a_role_may_depend_on_the_name),
        cmocka_unit_test(the_first_machine_counts_in_fleets_section),
        cmocka_unit_test(how_many_may_be_down_is_a_number_or_a_percentage),
        cmocka_unit_test(global_is_a_boolean_as_systemd_writes_it),
        cmocka_unit_test(specifiers_are_filled_in_per_name),
        cmocka_unit_test(names_share_options_that_do_not_depend_on_them),
        cmocka_unit_test(what_an_instance_makes_of_an_option_is_checked_for_that_instance),
        cmocka_unit_test(what_is_wrong_in_our_sections_is_refused_with_its_line),
        cmocka_unit_test(label_words_use_a_small_alphabet),
        cmocka_unit_test(what_systemd_never_stops_when_asked_is_refused),
        cmocka_unit_test(the_number_of_values_is_limited),
        cmocka_unit_test(what_is_no_unit_file_is_refused),
        cmocka_unit_test(units_on_other_nodes_are_depended_on_by_name),
        cmocka_unit_test(templates_depend_on_templates),
        cmocka_unit_test(no_unit_depends_on_itself),
        cmocka_unit_test(what_happens_when_things_go_wrong_is_read),
        cmocka_unit_test(who_fails_is_started_elsewhere_if_the_file_says_so),
        cmocka_unit_test(a_unit_without_a_stop_timeout_has_systemds),
        cmocka_unit_test(contradictions_about_what_goes_wrong_are_refused_with_their_line),
        cmocka_unit_test(what_systemd_only_warns_about_passes),
        cmocka_unit_test(lines_continue_as_in_systemd),
        cmocka_unit_test(a_continued_last_line_counts),
        cmocka_unit_test(one_shots_are_recognised_as_systemd_does),
        cmocka_unit_test(settings_that_matter_to_the_agent_are_seen),
        cmocka_unit_test(descriptions_are_shown_with_their_specifiers)
)
