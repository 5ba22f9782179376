// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The happy path: a unit of the set is what the folder says and is up, and nothing is done; one that the
// folder names and nobody has is made; one that the folder does not name any more goes, if that is asked
// for.
//
// Two units are the same if their contents are, by their hash, and what they are to be; whether the content
// came from the template's file or from their own is no difference. One that is the same and has failed, or
// that somebody has stopped on its node, is started again; why that is all is said in apply-seen.h. What
// belongs to somebody else is taken only if that is said: a folder with a wrong name would otherwise take
// over what it has never seen. And what looks like a folder that was mounted empty, or a wrong one, is done
// only by force.

#include "apply-policy.h"

#include "macro.h"

static bool is_same(const ApplyUnit *u) {
        return hash_equal(&u->spec, &u->now.spec) && u->target == u->now.target;
}

bool apply_starts(const ApplyUnit *u) {
        return u->now.exists && is_same(u) && u->target == ARGOSY__TARGET__TARGET_LAUNCHED &&
               apply_seen_starts(u->now.seen);
}

static ApplyVerdict judge_named(const ApplyUnit *u, const ApplyOptions *o) {
        bool ours = streq(u->now.set, o->set);

        if (!u->now.exists)
                return APPLY_MAKE;
        if (!ours && !u->brought)
                return o->adopt ? APPLY_CHANGE : APPLY_OTHERS;
        if (!is_same(u))
                return APPLY_CHANGE;
        return ours && apply_starts(u) ? APPLY_START : APPLY_SAME;
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
