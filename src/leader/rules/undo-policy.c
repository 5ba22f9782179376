// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The happy path: what the job left is still there, and what it found before is put back. Content and what
// the unit is to be are judged apart: a unit whose file was changed by the job, and which somebody has
// stopped since, gets the file of before and stays stopped. A unit that the job made or removed is judged
// whole.
//
// How it is now is compared with what the job left, not when it was changed last: a stop and start in
// between, or a move by the leader, has touched nothing that undoing takes away. If it is already as it was
// before the job, nothing is to be done, so a repeated request after half of it finds the rest.

#include "undo-policy.h"

static bool same_spec(const UndoState *a, const UndoState *b) {
        return hash_equal(&a->spec, &b->spec);
}

static bool same_set(const UndoState *a, const UndoState *b) {
        return streq(a->set ?: "", b->set ?: "");
}

static bool same(const UndoState *a, const UndoState *b) {
        return a->exists == b->exists &&
               (!a->exists || (same_spec(a, b) && a->target == b->target && same_set(a, b)));
}

// There was one and is none, or the other way round.
static UndoVerdict judge_whole(const UndoUnit *u, bool force, UndoState *ret_wanted) {
        if (same(&u->now, &u->before))
                return UNDO_DONE;
        if (!same(&u->now, &u->after) && !force)
                return UNDO_TOUCHED;
        *ret_wanted = u->before;
        return u->before.exists ? UNDO_PUT : UNDO_REMOVE;
}

UndoVerdict undo_judge(const UndoUnit *u, bool force, UndoState *ret_wanted) {
        const UndoState *before = &u->before, *after = &u->after, *now = &u->now;
        bool content = !same_spec(before, after), target = before->target != after->target,
             set = !same_set(before, after);
        bool content_is_back = !content || same_spec(now, before),
             target_is_back = !target || now->target == before->target,
             set_is_back = !set || same_set(now, before);
        bool touched = (!content_is_back && !same_spec(now, after)) ||
                       (!target_is_back && now->target != after->target) ||
                       (!set_is_back && !same_set(now, after));

        *ret_wanted = *before;
        if (!before->exists && !after->exists)
                return UNDO_RAN;
        if (before->exists != after->exists)
                return judge_whole(u, force, ret_wanted);
        if (!content && !target && !set)
                return UNDO_RAN;
        if (!now->exists)
                return force ? UNDO_PUT : UNDO_TOUCHED;
        if (content_is_back && target_is_back && set_is_back)
                return UNDO_DONE;
        if (touched && !force)
                return UNDO_TOUCHED;
        *ret_wanted = *now;
        if (content) {
                ret_wanted->spec = before->spec;
                ret_wanted->from_template = before->from_template;
        }
        if (target)
                ret_wanted->target = before->target;
        if (set)
                ret_wanted->set = before->set;
        return UNDO_PUT;
}

UndoVerdict undo_judge_setting(bool is_before, bool is_after, bool force) {
        if (is_before)
                return UNDO_DONE;
        return is_after || force ? UNDO_PUT : UNDO_TOUCHED;
}
