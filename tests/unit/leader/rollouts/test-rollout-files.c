// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Updates that bring other files, and otherwise the content of before.
#include <errno.h>

#include "carried-files.h"
#include "rollout-words.h"

#define RELOADS "[Service]\nExecStart=/bin/web\nExecReload=/bin/kill $MAINPID\n[X-Argosy]\nFile=a\n"
static uint8_t one[] = "1", two[] = "2";
static ProtobufCBinaryData both_files[] = {{1, one}, {1, two}};

// The content of that unit, which comes with the file.
static char *with_file(const char *name, const char *text, const uint8_t *file) {
        _cleanup_carried_files_ CarriedFiles c = {};
        _cleanup_buf_ Buf content = {};
        Hash hash = hash_of(file, 1);
        UnitFile *parsed = NULL;
        char *why = NULL;

        g.sent = both_files;
        g.n_sent = ELEMENTSOF(both_files);
        assert_int_equal(unit_file_parse(name, text, strlen(text), &parsed, NULL), 0);
        assert_int_equal(carried_files_add(&c, "a", false, 1, &hash), 0);
        assert_int_equal(buf_append(&content, text, strlen(text)), 0);
        assert_int_equal(carried_files_compose(name, parsed, &c, &content, &why), 0);
        unit_file_free(parsed);
        return buf_take_string(&content);
}

static unsigned count_asked_to_restart(void) {
        unsigned n = 0;

        for (uint32_t h = 1; h <= 3; h++)
                map_foreach (slot, &rig_host(&g, h)->virtual.units)
                        n += ((VirtualUnit *) slot->value)->order.restart_rev > 0;
        return n;
}

static void an_update_of_files_alone_asks_for_no_restart(void **state) {
        _cleanup_free_ char *old = with_file("web@.service", RELOADS "FileChange=reload\n", one),
                            *new = with_file("web@.service", RELOADS "FileChange=reload\n", two),
                            *other = with_file("web@.service", RELOADS "FileChange=reload\nPriority=7\n",
                                               two);

        start_instances(N_UNITS, old);
        RigAnswer *a = begin((RigRollout){UPDATE, "web@.service", new});
        assert_int_equal(watch(a), 1); // and yet goes from one to the next
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(count_running(new), N_UNITS);
        assert_int_equal(count_asked_to_restart(), 0);
        a = begin((RigRollout){UPDATE, "web@.service", other});
        watch(a);
        assert_int_equal(count_running(other), N_UNITS);
        assert_int_equal(count_asked_to_restart(), N_UNITS);
}

static void an_update_of_files_that_fails_goes_back_without_a_restart(void **state) {
        _cleanup_free_ char *old = with_file("web@.service", RELOADS "FileChange=reload\n", one),
                            *bad = with_file("web@.service", RELOADS "FileChange=reload\n", two);

        start_instances(N_UNITS, old);
        g.bad = hash_of(bad, strlen(bad));
        RigAnswer *a = begin((RigRollout){UPDATE, "web@.service", bad});
        watch(a);
        assert_int_equal(rig_last(a)->status, EIO);
        assert_int_equal(count_running(old), N_UNITS);
        assert_true(count_asked_to_restart() <= 1); // the one that is down is not up to be reloaded
}

static void a_global_unit_gets_files_without_a_restart_too(void **state) {
        _cleanup_free_ char *old = with_file("all.service", RELOADS "FileChange=none\nGlobal=yes\n", one),
                            *new = with_file("all.service", RELOADS "FileChange=none\nGlobal=yes\n", two);

        assert_int_equal(rig_change(&g, START, "all.service", old)->status, 0);
        g.start_ms = START_MS;
        RigAnswer *a = begin((RigRollout){UPDATE, "all.service", new});
        watch(a);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(count_running(new), 3);
        assert_int_equal(count_asked_to_restart(), 0);
}

static void a_global_unit_that_is_down_on_a_node_starts_with_the_new_files(void **state) {
        _cleanup_free_ char *old = with_file("all.service", RELOADS "FileChange=reload\nGlobal=yes\n", one),
                            *new = with_file("all.service", RELOADS "FileChange=reload\nGlobal=yes\n", two);

        assert_int_equal(rig_change(&g, START, "all.service", old)->status, 0);
        g.start_ms = START_MS;
        rig_host_report_and_settle(&g, rig_host(&g, 2), rig_unit_on(&g, 2, "all.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, ARGOSY__OUTCOME__KIND__NONE);
        RigAnswer *a = begin((RigRollout){UPDATE, "all.service", new});
        watch(a);
        assert_int_equal(rig_last(a)->status, 0);
        assert_int_equal(count_running(new), 3);
}

// One asks a registry and the other one none: neither is left out in silence.
static void an_update_is_not_both_pulled_and_unpinned(void **state) {
        static const char file[] = "[Service]\nExecStart=/bin/true\n";
        RigRollout w = {UPDATE, "web.service", .pull = true, .unpinned = true};

        assert_int_equal(rig_change(&g, START, "web.service", file)->status, 0);
        assert_replies(rig_last(rig_rollout(&g, w)), EINVAL, "--unpinned asks none");
        w.content = file;
        assert_replies(rig_last(rig_rollout(&g, w)), EINVAL, "--unpinned asks none");
}

RUN_TESTS(
        RIG_TEST(an_update_of_files_alone_asks_for_no_restart),
        RIG_TEST(an_update_of_files_that_fails_goes_back_without_a_restart),
        RIG_TEST(a_global_unit_gets_files_without_a_restart_too),
        RIG_TEST(a_global_unit_that_is_down_on_a_node_starts_with_the_new_files),
        RIG_TEST(an_update_is_not_both_pulled_and_unpinned)
)
