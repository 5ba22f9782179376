// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The next step for one unit of a node, decided from its order, the ledger's record and systemd's state
// (plan.h).
//
//      plan_unit(): judge the last run -> is a step under way? -> removal -> stop -> file -> reload
//          -> start, restart
//
// The first question that is answered "no" names the step; agent-steps.c carries it out and its end plans
// again. A pure function: it owns nothing and cannot fail. Failed steps come back with retry_us
// (plan_backoff_us()).

#include "plan.h"

#include "clock.h"
#include "down-cause.h"
#include "unit-state.h"

typedef enum Phase { PHASE_DOWN, PHASE_FAILED, PHASE_UP, PHASE_GOING_DOWN } Phase;

static Phase phase_of(const PlanInput *in) {
        if (!in->runtime)
                return PHASE_DOWN;
        switch (in->runtime->active) {
        case ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE:
        case ARGOSY__ACTIVE_STATE__ACTIVE_RELOADING:
        case ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING:
        case ARGOSY__ACTIVE_STATE__ACTIVE_REFRESHING:
                return PHASE_UP;
        case ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING:
        case ARGOSY__ACTIVE_STATE__ACTIVE_MAINTENANCE:
                return PHASE_GOING_DOWN;
        case ARGOSY__ACTIVE_STATE__ACTIVE_FAILED:
                return PHASE_FAILED;
        default:
                return PHASE_DOWN;
        }
}

static bool is_activating(const PlanInput *in) {
        return in->runtime && in->runtime->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING &&
               !streq(in->runtime->sub, "auto-restart");
}

static bool invocation_is_known(const uint8_t id[16]) {
        static const uint8_t none[16];

        return memcmp(id, none, 16) != 0;
}

// Whether the run that is up is the last one before the pending start.
static bool is_old_run(const PlanInput *in) {
        return invocation_is_known(in->held->invocation_id) &&
               memcmp(in->held->invocation_id, in->runtime->invocation_id, 16) == 0;
}

static bool is_new_run(const PlanInput *in) {
        return invocation_is_known(in->runtime->invocation_id) && !is_old_run(in);
}

// The last run failed, and somebody has reset that in systemd; our own resets are followed by a start.
static bool was_reset(const PlanInput *in) {
        return in->runtime && in->was_reset;
}

static bool was_launched(const PlanInput *in) {
        return in->held && in->held->target == ARGOSY__TARGET__TARGET_LAUNCHED;
}

static bool is_over(const PlanWanted *w) {
        return w->outcome != ARGOSY__OUTCOME__KIND__NONE;
}

// Whether a one-shot was about to be started when this daemon ended, so that it may have run unseen. Only
// one-shots are pinned, so a pinned unit is one even if its content is not known yet.
static bool may_have_run(const PlanInput *in) {
        return (in->oneshot || in->pinned) && in->held && in->held->pending && !in->held->owed &&
               in->unwatched;
}

// Whether the order asks for a run that the record does not know yet.
static bool asks_for_a_run(const PlanWanted *w, const LedgerRecord *h) {
        return w->start_rev > h->start_rev || w->restart_rev > h->restart_rev;
}

// Whether systemd still has another file of this name in memory, from before we took the name.
static bool is_unread(const PlanInput *in) {
        return in->held && in->held->taking && in->file_present && in->runtime;
}

// Why the unit is down. A unit that is over reports only that it was skipped.
static Argosy__DownCause cause_of(const PlanInput *in, bool over) {
        const DownFacts facts = {
                .found = in->down,
                .goes_along = in->goes_along,
                .conflicts = in->conflicts,
                .interrupted = in->held->interrupted,
                .skipped = in->skipped,
                .was_reset = in->was_reset,
                .signalled = in->signalled,
                .end = in->end,
                .stops_unneeded = in->stops_unneeded,
        };
        Argosy__DownCause cause = down_cause(&facts);

        return over && cause != ARGOSY__DOWN_CAUSE__DOWN_SKIPPED ? ARGOSY__DOWN_CAUSE__DOWN_NOT : cause;
}

// The outcome of the recorded run; it does not depend on the leader.
static void judge_run(const PlanInput *in, Phase phase, PlanResult *res) {
        const LedgerRecord *h = in->held;
        const PlanWanted *w = in->wanted;

        if (!was_launched(in) || in->stopping || h->pending || in->busy != PLAN_NOTHING)
                return;
        if (w && (w->remove || w->target != ARGOSY__TARGET__TARGET_LAUNCHED || asks_for_a_run(w, h)))
                return;
        if ((in->cut_off || in->was_cut_off) && phase != PHASE_UP &&
            in->down == ARGOSY__DOWN_CAUSE__DOWN_NOT && !h->done && !h->failed && !(w && is_over(w))) {
                res->cut_short = true;
                return;
        }
        res->judged = true;
        if (in->comes_back && phase != PHASE_UP && !h->done && !h->failed && !h->unknown) {
                res->down = ARGOSY__DOWN_CAUSE__DOWN_BOUND;
                return;
        }
        if (h->done)
                res->outcome = ARGOSY__OUTCOME__KIND__DONE;
        else if (h->failed)
                res->outcome = ARGOSY__OUTCOME__KIND__FAILED;
        else if (h->unknown)
                res->outcome = ARGOSY__OUTCOME__KIND__UNKNOWN;
        else if (phase == PHASE_FAILED && in->oneshot)
                res->outcome = ARGOSY__OUTCOME__KIND__FAILED;
        else if (phase == PHASE_DOWN && in->oneshot && in->unwatched && was_reset(in) && !h->interrupted &&
                 !(w && is_over(w)))
                res->outcome = ARGOSY__OUTCOME__KIND__FAILED;
        else if (phase == PHASE_DOWN && in->oneshot && !h->interrupted && !(w && is_over(w)))
                res->outcome = ARGOSY__OUTCOME__KIND__DONE;
        else if (phase == PHASE_DOWN)
                res->down = cause_of(in, w && is_over(w));
        else if (phase == PHASE_GOING_DOWN && in->goes_along)
                res->down = ARGOSY__DOWN_CAUSE__DOWN_BOUND;
        if (res->outcome == ARGOSY__OUTCOME__KIND__DONE && phase == PHASE_DOWN &&
            (in->skipped || in->down == ARGOSY__DOWN_CAUSE__DOWN_SKIPPED))
                res->down = ARGOSY__DOWN_CAUSE__DOWN_SKIPPED;
}

// The file or link has changed on the disk, and systemd has the former one in memory: wait until it unloads
// the unit, and reload after PLAN_UNLOAD_GRACE_US.
static void plan_reload(const PlanInput *in, uint64_t since_us, PlanResult *res) {
        uint64_t pinned_us = since_us + PLAN_UNLOAD_GRACE_US;

        if (in->now_us < pinned_us) {
                res->step = PLAN_WAIT;
                res->wait_until_us = pinned_us;
        } else {
                res->step = PLAN_RELOAD;
        }
}

// Unpins the unit, so that systemd can unload it. Returns true if the unit was pinned.
static bool let_go(const PlanInput *in, PlanResult *res) {
        if (in->pinned)
                res->step = PLAN_UNPIN;
        return in->pinned;
}

static void plan_removal(const PlanInput *in, Phase phase, PlanResult *res) {
        if (!in->held)
                res->step = PLAN_FORGET;
        else if (phase == PHASE_UP || phase == PHASE_GOING_DOWN)
                res->step = PLAN_STOP;
        else if (phase == PHASE_FAILED)
                res->step = PLAN_RESET_FAILED;
        else if (let_go(in, res))
                return;
        else if (!in->files_removed)
                res->step = PLAN_REMOVE;
        else if (in->stale)
                plan_reload(in, in->stale_since_us, res);
        else
                res->step = PLAN_FORGET;
}

static PlanStep step_of_write(const PlanInput *in) {
        return in->networks_due ? PLAN_NETWORKS : PLAN_WRITE;
}

// A unit that the ledger does not have yet.
static void plan_to_hold(const PlanInput *in, Phase phase, PlanResult *res) {
        if (phase == PHASE_DOWN || phase == PHASE_FAILED)
                res->step = step_of_write(in);
        else if (phase == PHASE_UP && in->may_take)
                res->step = in->left_behind ? PLAN_WRITE : PLAN_LOOK;
        else
                res->refused = res->answered = true;
}

// Whether the unit has to leave the state `launched`; once per order.
static bool must_stop(const PlanInput *in) {
        const PlanWanted *w = in->wanted;

        return w->target != ARGOSY__TARGET__TARGET_LAUNCHED && in->held &&
               (was_launched(in) || w->stop_rev > in->held->stop_rev);
}

static bool must_start(const PlanInput *in) {
        const PlanWanted *w = in->wanted;

        if (w->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return false;
        if (in->held && in->held->pending)
                return true;
        if (was_launched(in))
                return asks_for_a_run(w, in->held);
        return !is_over(w);
}

static bool must_restart(const PlanInput *in) {
        if (!was_launched(in))
                return false;
        return in->wanted->restart_rev > in->held->restart_rev || (in->held->pending && is_old_run(in));
}

// Whether the current run is not the one that is asked for: a stop in between was missed, or it had begun
// before.
static bool asks_for_a_run_of_its_own(const PlanInput *in) {
        const PlanWanted *w = in->wanted;

        return w->start_rev > in->held->start_rev &&
               (w->stop_rev > in->held->stop_rev || is_activating(in) || in->superseded);
}

// Whether it runs with other secrets than those of the wanted start.
static bool runs_with_others(const PlanInput *in) {
        return in->secrets_differ && !in->held->pending &&
               (!was_launched(in) || asks_for_a_run_of_its_own(in));
}

// A running unit is not stopped for content that systemd would refuse, and then counts as up to date.
static bool may_stop_for_content(const PlanInput *in, PlanResult *res) {
        if (in->verdict == PLAN_VERDICT_NONE)
                res->step = PLAN_VERIFY;
        else if (in->verdict == PLAN_VERDICT_REFUSED) {
                res->file_stale = false;
                res->answered = true;
                res->turned_down = in->wanted->restart_rev > in->held->restart_rev;
        }
        return in->verdict == PLAN_VERDICT_TAKEN;
}

// New content for a unit that is ours: make it leave systemd's memory, then write.
static void plan_replacement(const PlanInput *in, Phase phase, PlanResult *res) {
        bool launched = in->wanted->target == ARGOSY__TARGET__TARGET_LAUNCHED;

        switch (phase) {
        case PHASE_GOING_DOWN:
                return;
        case PHASE_UP:
                if (in->oneshot && in->wanted->restart_rev <= in->held->restart_rev)
                        return;
                if (may_stop_for_content(in, res)) {
                        res->step = in->surveyed ? PLAN_STOP : PLAN_SURVEY;
                        res->owe_run = in->surveyed;
                }
                return;
        case PHASE_FAILED:
                res->step = PLAN_RESET_FAILED;
                res->owe_run = launched && was_launched(in) && !in->oneshot;
                return;
        case PHASE_DOWN:
                if (!let_go(in, res))
                        res->step = step_of_write(in);
                return;
        }
}

// The unit runs and only its carried files change. Returns true if that decides the step.
static bool plan_in_place(const PlanInput *in, Phase phase, PlanResult *res) {
        bool reloads = in->file_change == ARGOSY__FILE_CHANGE__FILE_CHANGE_RELOAD;

        if (in->file_change == ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART || phase != PHASE_UP || in->stale ||
            is_unread(in) || (runs_with_others(in) && !must_restart(in)))
                return false;
        if (reloads && is_activating(in) && !must_restart(in)) // reloaded once it is up
                return true;
        res->step = PLAN_WRITE;
        res->in_place = true;
        res->owe_reload = reloads && !must_restart(in);
        return true;
}

// The carried files are in place, and the running unit has read the former ones. Returns true if its reload
// comes first.
static bool plan_reload_unit(const PlanInput *in, Phase phase, PlanResult *res) {
        LedgerReload reload = in->held->reload;

        if (reload == LEDGER_RELOAD_NONE || phase != PHASE_UP || must_restart(in))
                return false;
        if (reload == LEDGER_RELOAD_FAILED && !in->held->pending && is_new_run(in)) { // by others
                res->reread = res->again = true;
                return true;
        }
        if (reload == LEDGER_RELOAD_FAILED && !asks_for_a_run(in->wanted, in->held))
                return false;
        if (is_activating(in))
                return true;
        if (in->runtime->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING) // between two runs
                res->reread = res->again = true;
        else
                res->step = PLAN_RELOAD_UNIT;
        return true;
}

// The wanted content is not what is installed, or not what is loaded. Returns true if that decides the step.
static bool plan_file(const PlanInput *in, Phase phase, PlanResult *res) {
        const PlanWanted *w = in->wanted;
        bool same = in->held && hash_equal(&in->held->spec, &w->spec), installed = same && in->file_present;

        if (!in->held) {
                plan_to_hold(in, phase, res);
                return true;
        }
        if (installed && phase == PHASE_UP && is_unread(in) && !in->stale) {
                res->step = PLAN_RELOAD;
                return true;
        }
        if (installed && !in->stale && !is_unread(in))
                return false;
        if (same && !installed) { // the file was removed, or a crash came before it was written
                res->step = step_of_write(in);
                return true;
        }
        if (!same && plan_in_place(in, phase, res))
                return true;
        res->file_stale = in->runtime && in->runtime->loaded;
        if (phase == PHASE_UP && w->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return false; // started by something else: replaced once it is down
        if (installed && phase == PHASE_DOWN && let_go(in, res))
                return true;
        if (installed && phase == PHASE_DOWN)
                plan_reload(in, in->stale_since_us, res);
        else
                plan_replacement(in, phase, res);
        return true;
}

static bool plan_fetch(const PlanInput *in, PlanResult *res) {
        if (!in->lacks_files)
                return false;
        res->step = PLAN_FETCH;
        res->file_stale = in->held && in->runtime && in->runtime->loaded &&
                          in->file_change == ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART;
        return true;
}

bool plan_enables(const PlanWanted *wanted, const LedgerRecord *held) {
        return wanted->target == ARGOSY__TARGET__TARGET_LAUNCHED && !is_over(wanted) &&
               !(held && (held->done || held->failed || held->unknown) &&
                 wanted->start_rev <= held->start_rev);
}

// Returns true if the links are to change first.
static bool plan_links(const PlanInput *in, PlanResult *res) {
        bool over = res->outcome != ARGOSY__OUTCOME__KIND__NONE;

        if (!in->links || in->enabled == (plan_enables(in->wanted, in->held) && !over))
                return false;
        res->step = PLAN_LINK;
        return true;
}

// Whether the unit is up although systemd did not find its file or could not use it. systemd does not
// restart such a unit, and LoadUnit is an error for it while it runs.
static bool runs_without_its_file(const PlanInput *in) {
        return in->runtime && !active_state_is_down(in->runtime->active) &&
               (in->runtime->load == ARGOSY__LOAD_STATE__LOAD_NOT_FOUND ||
                in->runtime->load == ARGOSY__LOAD_STATE__LOAD_BAD_SETTING ||
                in->runtime->load == ARGOSY__LOAD_STATE__LOAD_ERROR);
}

static void settle(const PlanInput *in, PlanResult *res) {
        if (plan_links(in, res))
                return;
        if (!in->parsed && !res->file_stale) {
                res->step = runs_without_its_file(in) ? PLAN_RELOAD : PLAN_LOAD;
                return;
        }
        res->settled = res->answered = true;
        if (!in->oneshot || in->wanted->target != ARGOSY__TARGET__TARGET_LAUNCHED || is_over(in->wanted) ||
            in->held->interrupted)
                (void) let_go(in, res); // its outcome is known
}

static void plan_start(const PlanInput *in, PlanStep step, PlanResult *res) {
        if (in->places_unseen)
                res->step = PLAN_PLACES;
        else
                res->step = in->oneshot && !in->pinned && !in->pin_failed ? PLAN_PIN : step;
}

// Returns true if units that were stopped with this one can be started again now.
static bool plan_returns(const PlanInput *in, Phase phase, PlanResult *res) {
        bool up = in->runtime && active_state_is_up(in->runtime->active),
             down = phase == PHASE_DOWN || phase == PHASE_FAILED;

        if (!(up && in->brings_back) && !(down && in->brings_back_anyway))
                return false;
        res->step = PLAN_BRING_BACK;
        return true;
}

static void plan_launched(const PlanInput *in, Phase phase, PlanResult *res) {
        if ((in->cut_off || in->held_back) && phase != PHASE_UP && must_start(in))
                return;
        if (!must_start(in)) {
                if (phase != PHASE_GOING_DOWN && !(is_activating(in) && !in->oneshot) &&
                    !plan_returns(in, phase, res))
                        settle(in, res);
                return;
        }
        switch (phase) {
        case PHASE_GOING_DOWN:
                return;
        case PHASE_FAILED:
                if (in->held->pending && in->unwatched && is_new_run(in))
                        res->fulfilled = res->settled = res->answered = true;
                else
                        res->step = PLAN_RESET_FAILED; // also clears the start limit
                return;
        case PHASE_DOWN:
                if (may_have_run(in) && !in->rerun_unknown)
                        res->unknown = res->again = true;
                else if (in->links_stale && !let_go(in, res))
                        plan_reload(in, in->links_stale_since_us, res);
                else if (!in->links_stale)
                        plan_start(in, PLAN_START, res);
                return;
        case PHASE_UP:
                break;
        }
        if (runs_with_others(in) && in->oneshot)
                return;
        if (must_restart(in) || runs_with_others(in)) {
                if (in->links_stale)
                        res->step = PLAN_RELOAD;
                else
                        plan_start(in, PLAN_RESTART, res);
        } else if (in->held->pending) {
                res->fulfilled = true;
                if (in->brings_back)
                        res->again = true;
                else if (!plan_links(in, res))
                        res->settled = res->answered = !is_activating(in);
        } else if (is_activating(in)) {
                plan_start(in, PLAN_START, res); // joins the job that is under way, to know its end
        } else if (!plan_links(in, res)) {
                res->settled = res->answered = true;
        }
}

static void plan_loaded(const PlanInput *in, Phase phase, PlanResult *res) {
        if (must_stop(in) && phase == PHASE_UP)
                res->step = PLAN_STOP;
        else if (must_stop(in) && phase == PHASE_GOING_DOWN)
                res->step = PLAN_STOP; // joins the job that is under way
        else if (phase != PHASE_GOING_DOWN)
                settle(in, res);
}

// Bringing back the units that were stopped with this one has no limit, so new work for the unit itself ends
// it.
static bool has_more_to_do(const PlanInput *in) {
        const PlanWanted *w = in->wanted;

        return in->busy == PLAN_BRING_BACK && w->target == ARGOSY__TARGET__TARGET_LAUNCHED &&
               (!hash_equal(&w->spec, &in->held->spec) || asks_for_a_run(w, in->held));
}

// A step under way is waited for, but a stop overtakes a start (systemd cancels the start) and a question.
// Another start of the same content joins the first, as with systemctl: a one-shot that is started twice
// while it runs, runs once.
static void plan_while_busy(const PlanInput *in, PlanResult *res) {
        const PlanWanted *w = in->wanted;
        bool starting = in->busy == PLAN_START || in->busy == PLAN_RESTART,
             asking = in->busy == PLAN_VERIFY || in->busy == PLAN_PLACES;

        if ((starting || asking || in->busy == PLAN_BRING_BACK || in->busy == PLAN_RELOAD_UNIT) &&
            (w->remove || must_stop(in)))
                res->step = PLAN_STOP;
        else if (starting && w->start_rev > in->held->start_rev && w->restart_rev <= in->held->restart_rev &&
                 hash_equal(&w->spec, &in->held->spec) && !in->secrets_differ)
                res->joined = true;
        else if (starting && w->start_rev > in->held->start_rev)
                res->superseded = true;
        else
                res->leaves_off = has_more_to_do(in);
        res->file_stale = starting && !w->remove && !hash_equal(&w->spec, &in->held->spec);
}

// What systemd knows of a start whose end this daemon did not see. Returns true if it knows the outcome.
static bool judge_unseen(const PlanInput *in, Phase phase, PlanResult *res) {
        if (!may_have_run(in) || (phase != PHASE_DOWN && phase != PHASE_FAILED))
                return false;
        res->fulfilled = in->runtime && is_new_run(in);
        res->failed = res->fulfilled && was_reset(in);
        res->not_begun = !res->fulfilled && in->pinned;
        return res->again = res->fulfilled || res->not_begun;
}

PlanResult plan_unit(const PlanInput *in) {
        PlanResult res = {.step = PLAN_NOTHING};
        Phase phase = phase_of(in);

        judge_run(in, phase, &res);
        if (res.cut_short)
                return res;
        if (!in->wanted || in->stopping)
                return res;
        if (in->busy != PLAN_NOTHING) {
                plan_while_busy(in, &res);
                return res;
        }
        if (in->retry_us > in->now_us) {
                res.step = PLAN_WAIT;
                res.wait_until_us = in->retry_us;
                res.answered = true;
                return res;
        }
        if (in->wanted->remove) {
                plan_removal(in, phase, &res);
                return res;
        }
        // A stop comes before new content: a unit that is to be down is replaced when it is down.
        if (must_stop(in) && (phase == PHASE_UP || phase == PHASE_GOING_DOWN)) {
                res.step = PLAN_STOP;
                return res;
        }
        if (judge_unseen(in, phase, &res) || plan_fetch(in, &res) || plan_file(in, phase, &res) ||
            plan_reload_unit(in, phase, &res))
                return res;
        if (in->wanted->target == ARGOSY__TARGET__TARGET_LAUNCHED)
                plan_launched(in, phase, &res);
        else
                plan_loaded(in, phase, &res);
        return res;
}

uint64_t plan_backoff_us(unsigned failures) {
        unsigned doublings = MIN_OF(failures ? failures - 1 : 0, 6U);

        return MIN_OF(USEC_PER_SEC << doublings, 60 * USEC_PER_SEC);
}

const char *plan_step_to_string(PlanStep step) {
        static const char *const names[] = {
                [PLAN_NOTHING] = "nothing",     [PLAN_WAIT] = "wait",
                [PLAN_WRITE] = "write",         [PLAN_LINK] = "link",
                [PLAN_LOAD] = "load",           [PLAN_RESET_FAILED] = "reset-failed",
                [PLAN_RELOAD] = "reload",       [PLAN_START] = "start",
                [PLAN_RESTART] = "restart",     [PLAN_STOP] = "stop",
                [PLAN_SURVEY] = "survey",       [PLAN_BRING_BACK] = "bring-back",
                [PLAN_PIN] = "pin",             [PLAN_UNPIN] = "unpin",
                [PLAN_LOOK] = "look",           [PLAN_VERIFY] = "verify",
                [PLAN_REMOVE] = "remove",       [PLAN_FORGET] = "forget",
                [PLAN_FETCH] = "fetch",         [PLAN_RELOAD_UNIT] = "reload-unit",
                [PLAN_PLACES] = "places",       [PLAN_NETWORKS] = "networks",
        };

        assert((size_t) step < ELEMENTSOF(names));
        return names[step];
}
