// SPDX-License-Identifier: LGPL-2.1-or-later
//
// undo: one request, which the leader plans from what the job's record says; what each unit is to come to is
// waited for (mixed-change.c).
//
// What has been changed since refuses all of it, in one sentence, unless an option says what is to become of
// that.

#include "ctl.h"
#include "message-of.h"
#include "mixed-change.h"
#include "rollouts.h"
#include "str.h"
#include "verbs.h"

static const MixedVerb undo_verb = {"undo", "put back"};

int verb_undo(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__Undo undo = ARGOSY__REQUEST__UNDO__INIT;
        Argosy__Request request = REQUEST_OF(UNDO, undo, &undo);

        if (!parse_u64(args[0], INT64_MAX, &undo.job) || undo.job == 0)
                return ctl_usage(ctl, "'%s' is not the number of a job", args[0]);
        if (ctl->opt.given[OPT_ONLY_UNTOUCHED] && ctl->opt.given[OPT_FORCE])
                return ctl_usage(ctl, "--only-untouched and --force exclude each other");
        undo.preview = ctl->opt.given[OPT_PLAN];
        undo.only_untouched = ctl->opt.given[OPT_ONLY_UNTOUCHED];
        undo.force = ctl->opt.given[OPT_FORCE];
        undo.rolling = rollouts_wanted(ctl);
        if (undo.rolling) {
                undo.max_unavailable = ctl->opt.max_unavailable.value;
                undo.percent = ctl->opt.max_unavailable.percent;
                undo.health_us = rollouts_health_us(ctl);
        }
        if (undo.rolling && !undo.preview)
                return rollouts_ask(ctl, &request, undo_verb.name, undo_verb.past);
        return mixed_change_run(ctl, &undo_verb, &request, NULL, NULL);
}
