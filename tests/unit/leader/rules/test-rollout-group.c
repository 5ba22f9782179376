// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which units one rollout can bring their files.
#include "test.h"

#include <errno.h>

#include "macro.h"
#include "rollout-group.h"

typedef struct Member {
        const char *unit;
        bool from_template;
        uint8_t content;
        bool global;
} Member;

static const struct {
        Member members[3];
        const char *name; // of the rollout; NULL: there is none, for the last one
} groups[] = {
        {{{"a.service", false, 1}}, "a.service"},
        {{{"w@.service", false, 1}}, "w@.service"},
        {{{"w@.service", false, 1}, {"w@1.service", true, 1}, {"w@2.service", true, 1}}, "w@.service"},
        {{{"w@1.service", true, 1}, {"w@.service", false, 1}}, "w@.service"},
        {{{"w@1.service", false, 1}}, "w@1.service"}, // it has a file of its own
        {{{"w@1.service", false, 1}, {"w@2.service", true, 1}}, NULL},
        {{{"w@1.service", true, 1}, {"w@2.service", true, 2}}, NULL},
        {{{"w@1.service", true, 1}, {"v@1.service", true, 1}}, NULL},
        {{{"a.service", false, 1}, {"b.service", false, 1}}, NULL},
        {{{"a.service", false, 1, true}}, "a.service"},
        {{{"w@1.service", false, 1, true}}, "w@1.service"},
        {{{"w@1.service", true, 1, true}}, NULL},
        {{{"w@1.service", true, 1}, {"w@2.service", true, 1, true}}, NULL},
};

static void one_rollout_is_of_one_file(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(groups); i++) {
                RolloutGroup g = {};
                const char *why = NULL;
                int r = 0;

                for (size_t k = 0; r == 0 && k < 3 && groups[i].members[k].unit; k++) {
                        const Member *m = &groups[i].members[k];

                        r = rollout_group_add(&g, m->unit, m->from_template, m->global,
                                              &(Hash){.bytes[0] = m->content}, &why);
                }
                if (r != (groups[i].name ? 0 : -EINVAL) || (r < 0 && !why))
                        fail_msg("group %zu: %d", i, r);
                if (groups[i].name)
                        assert_string_equal(g.name, groups[i].name);
                rollout_group_done(&g);
                assert_null(g.name);
        }
}

RUN_TESTS(cmocka_unit_test(one_rollout_is_of_one_file))
