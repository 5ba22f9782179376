// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What becomes of a unit when a folder is the truth about its set, and when that goes too far, as tables.
#include "test.h"

#include "apply-policy.h"
#include "macro.h"

#define INACTIVE ARGOSY__TARGET__TARGET_INACTIVE
#define LOADED ARGOSY__TARGET__TARGET_LOADED
#define LAUNCHED ARGOSY__TARGET__TARGET_LAUNCHED

#define NAMED(content, what) .named = true, .spec.bytes[0] = content, .target = what
#define SEEN(content, what, whose, how) \
        .now = {.exists = true, .spec.bytes[0] = content, .target = what, .set = whose, .seen = how}
#define NOW(content, what, whose) \
        .now = {.exists = true, .spec.bytes[0] = content, .target = what, .set = whose}

static const ApplyOptions plain = {"shop"}, prune = {"shop", .prune = true}, adopt = {"shop", .adopt = true},
                          force = {"shop", .force = true};

static const struct {
        const char *story;
        ApplyUnit unit;
        const ApplyOptions *options;
        ApplyVerdict verdict;
} units[] = {
        {"it is so already", {NAMED('a', LAUNCHED), NOW('a', LAUNCHED, "shop")}, &prune, APPLY_SAME},
        {"nobody has it", {NAMED('a', LAUNCHED)}, &plain, APPLY_MAKE},
        {"another file", {NAMED('a', LAUNCHED), NOW('b', LAUNCHED, "shop")}, &plain, APPLY_CHANGE},
        {"somebody has stopped it", {NAMED('a', LAUNCHED), NOW('a', LOADED, "shop")}, &plain, APPLY_CHANGE},
        {"it is not to run any more",
         {NAMED('a', INACTIVE), NOW('a', LAUNCHED, "shop")},
         &plain,
         APPLY_CHANGE},

        {"it failed",
         {NAMED('a', LAUNCHED), SEEN('a', LAUNCHED, "shop", APPLY_SEEN_FAILED)},
         &plain,
         APPLY_START},
        {"somebody stopped it there",
         {NAMED('a', LAUNCHED), SEEN('a', LAUNCHED, "shop", APPLY_SEEN_STOPPED)},
         &plain,
         APPLY_START},
        {"it fails and fails",
         {NAMED('a', LAUNCHED), SEEN('a', LAUNCHED, "shop", APPLY_SEEN_LOOPING)},
         &plain,
         APPLY_SAME},
        {"it failed with another file",
         {NAMED('a', LAUNCHED), SEEN('b', LAUNCHED, "shop", APPLY_SEEN_FAILED)},
         &plain,
         APPLY_CHANGE},
        {"it failed, and is to be loaded",
         {NAMED('a', LOADED), SEEN('a', LOADED, "shop", APPLY_SEEN_FAILED)},
         &plain,
         APPLY_SAME},
        {"it failed, and is another's",
         {NAMED('a', LAUNCHED), SEEN('a', LAUNCHED, "", APPLY_SEEN_FAILED)},
         &plain,
         APPLY_OTHERS},
        {"it failed, and is adopted",
         {NAMED('a', LAUNCHED), SEEN('a', LAUNCHED, "", APPLY_SEEN_FAILED)},
         &adopt,
         APPLY_CHANGE},

        {"it is brought along", {NAMED('a', LOADED), .brought = true}, &plain, APPLY_MAKE},
        {"and is there",
         {NAMED('a', LOADED), .brought = true, NOW('a', LOADED, "shop")},
         &prune,
         APPLY_SAME},
        {"and is another set's",
         {NAMED('a', LOADED), .brought = true, NOW('a', INACTIVE, "mail")},
         &plain,
         APPLY_CHANGE},
        {"which has it loaded",
         {NAMED('a', LOADED), .brought = true, NOW('a', LOADED, "mail")},
         &adopt,
         APPLY_SAME},
        {"nobody has a file for it", {.brought = true}, &plain, APPLY_SAME},

        {"it is another set's", {NAMED('a', LAUNCHED), NOW('b', LAUNCHED, "mail")}, &force, APPLY_OTHERS},
        {"also if it is the same", {NAMED('a', LAUNCHED), NOW('a', LAUNCHED, "mail")}, &prune, APPLY_OTHERS},
        {"it is nobody's", {NAMED('a', LAUNCHED), NOW('a', LAUNCHED, "")}, &plain, APPLY_OTHERS},
        {"and is adopted", {NAMED('a', LAUNCHED), NOW('a', LAUNCHED, "")}, &adopt, APPLY_CHANGE},
        {"from another set", {NAMED('a', LAUNCHED), NOW('a', LAUNCHED, "mail")}, &adopt, APPLY_CHANGE},

        {"the folder has it no more", {NOW('a', LAUNCHED, "shop")}, &plain, APPLY_LEAVE},
        {"and it goes", {NOW('a', LAUNCHED, "shop")}, &prune, APPLY_REMOVE},
        {"it has gone", {}, &prune, APPLY_SAME},
        {"what is not of the set stays", {NOW('a', LAUNCHED, "mail")}, &prune, APPLY_SAME},
        {"and what is nobody's", {NOW('a', LAUNCHED, "")}, &prune, APPLY_SAME},
};

static void what_becomes_of_a_unit(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                ApplyUnit u = units[i].unit;

                u.now.set = u.now.set ?: "";
                if (apply_judge(&u, units[i].options) != units[i].verdict)
                        fail_msg("%s: %d", units[i].story, apply_judge(&u, units[i].options));
        }
}

static const struct {
        const char *story;
        ApplyCounts counts;
        const ApplyOptions *options;
        ApplyRefusal refusal;
} wholes[] = {
        {"a new set", {.named = 3}, &plain, APPLY_MAY},
        {"an empty folder", {.of_set = 3}, &plain, APPLY_IS_EMPTY},
        {"that takes all of it away", {.of_set = 3, .removed = 3}, &prune, APPLY_IS_EMPTY},
        {"by force", {.of_set = 3, .removed = 3}, &force, APPLY_MAY},
        {"half of it goes", {.named = 2, .of_set = 4, .removed = 2}, &prune, APPLY_MAY},
        {"more than half", {.named = 2, .of_set = 5, .removed = 3}, &prune, APPLY_PRUNES_MOST},
        {"the only one", {.named = 1, .of_set = 1, .removed = 1}, &prune, APPLY_PRUNES_MOST},
        {"force takes nothing from others", {.named = 1, .others = 1}, &force, APPLY_TAKES_OTHERS},
};

static void when_it_goes_too_far(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(wholes); i++)
                if (apply_refusal(&wholes[i].counts, wholes[i].options) != wholes[i].refusal)
                        fail_msg("%s: %d", wholes[i].story,
                                 apply_refusal(&wholes[i].counts, wholes[i].options));
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(what_becomes_of_a_unit),
                                           cmocka_unit_test(when_it_goes_too_far)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
