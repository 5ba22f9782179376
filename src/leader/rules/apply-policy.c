// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The happy path: a unit of the set is what the folder says, and nothing is done; one that the folder names and nobody has is
// made; one that the folder does not name any more goes, if that is asked for.
//
// Two units are the same if their contents are, by their hash, and what they are to be; whether the content came from the
// template's file or from their own is no difference. What belongs to somebody else is taken only if that is said: a folder
// with a wrong name would otherwise take over what it has never seen. And what looks like a folder that was mounted empty, or
// a wrong one, is done only by force.

#include "apply-policy.h"

#include "macro.h"

static ApplyVerdict judge_named(const ApplyUnit *u, const ApplyOptions *o) {
        bool same = hash_equal(&u->spec, &u->now.spec) && u->target == u->now.target;

        if (!u->now.exists)
                return APPLY_MAKE;
        if (streq(u->now.set, o->set))
                return same ? APPLY_SAME : APPLY_CHANGE;
        return o->adopt ? APPLY_CHANGE : APPLY_OTHERS;
}

ApplyVerdict apply_judge(const ApplyUnit *u, const ApplyOptions *o) {
        if (u->named)
                return judge_named(u, o);
        if (!u->now.exists || !streq(u->now.set, o->set))
                return APPLY_SAME;
        return o->prune ? APPLY_REMOVE : APPLY_LEAVE;
}

ApplyRefusal apply_refusal(const ApplyCounts *c, const ApplyOptions *o) {
        if (c->others > 0)
                return APPLY_TAKES_OTHERS;
        if (o->force)
                return APPLY_MAY;
        if (c->named == 0)
                return APPLY_IS_EMPTY;
        return c->removed > c->of_set / 2 ? APPLY_PRUNES_MOST : APPLY_MAY;
}
