// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What systemd stops with a unit that gets new content, and what brings it back.
//
//   PLAN_SURVEY      systemd names what it would stop with the unit -> an AgentReturn for each that is up,
//                    in the
//                    ledger before the stop leaves
//   the unit stops, gets its content, starts
//   PLAN_BRING_BACK  for each: what argosy runs is owed a run and starts by its own plan, with its own new
//                    content if it
//                    has any; anything else gets a start job -> the end of each is awaited -> forgotten
//
// A unit that is to run and already on its way (it gets new content itself, or has just been ordered) has an
// AgentReturn too, so that its start does not pull up the unit between its stop and its start. Two units
// that each take the other along do not wait for each other: the unit that was asked about first comes back
// first.
//
// What somebody stops meanwhile by argosy does not come back, nor does anything once the unit itself is to
// stop. If the unit does not start, what needs it waits for that, for days if need be, and across restarts
// of argosyd; a reboot forgets it.

#include <errno.h>

#include "agent-returns.h"
#include "agent-step.h"
#include "agent-unit.h"
#include "log.h"
#include "str.h"
#include "unit-state.h"

typedef struct AgentReturn {
        AgentNode *node;
        char *with;     // the unit that it was stopped with
        char *through;  // and by whose stop: that one, or one that went with it
        bool needs;     // it cannot start while that is down
        bool launched;  // it is argosy's and was to run: its own plan starts it
        bool under_way; // the end of its start is awaited
        bool owed;      // by us, it was not on its way
        char name[];
} AgentReturn;

#define foreach_return(r, node)             \
        map_foreach (r##_slot, &(node)->returns) \
        for (AgentReturn *r = r##_slot->value; r; r = NULL)

static AgentReturn *find(const AgentNode *node, const char *name) {
        return map_find_str(&node->returns, name);
}

static AgentReturn *free_return(AgentReturn *r) {
        free(r->with);
        free(r->through);
        free(r);
        return NULL;
}

// ---- the marks at the units

// Mostly the first one that is looked at says so: hundreds may come back after one unit, and end in one
// turn.
static bool brings_any_back(const AgentNode *node, const char *name) {
        foreach_return (r, node)
                if (streq(r->with, name))
                        return true;
        return false;
}

static void note_brings_back(AgentNode *node, const char *name) {
        AgentUnit *u = agent_unit_find(node, name);

        if (u)
                u->brings_back = brings_any_back(node, name);
}

static void note_comes_back(AgentNode *node, const char *name, bool comes_back) {
        AgentUnit *u = agent_unit_find(node, name);

        if (!u || u->comes_back == comes_back)
                return;
        u->comes_back = comes_back;
        if (comes_back)
                agent_unit_report_state(u);
        else
                agent_unit_report(u); // before the end of what others wait for
        agent_unit_mark(u);
}

// ---- made and forgotten

static int make(AgentNode *node, const LedgerReturn *back) {
        size_t size = strlen(back->name) + 1;
        AgentReturn *r = calloc(1, sizeof(*r) + size), *before;

        if (!r)
                return -ENOMEM;
        *r = (AgentReturn){.node = node,
                           .with = strdup(back->with),
                           .through = strdup(back->through),
                           .needs = back->needs,
                           .launched = back->launched};
        memcpy(r->name, back->name, size);
        before = map_take_str(&node->returns, back->name);
        if (!r->with || !r->through || map_add_str(&node->returns, r->name, r) < 0) {
                free_return(r);
                r = NULL;
        }
        if (before) {
                note_brings_back(node, before->with);
                free_return(before);
        }
        return r ? 0 : -ENOMEM;
}

static void forget(AgentReturn *r) {
        AgentNode *node = r->node;

        map_take_str(&node->returns, r->name);
        if (ledger_forget_return(node->ledger, r->name) < 0)
                log_notice("%s: out of memory: after a restart of argosyd it is started once more.",
                           r->name);
        note_comes_back(node, r->name, false);
        note_brings_back(node, r->with);
        drain_mark(&node->agent->drain); // writes the ledger
        free_return(r);
}

// ---- the survey

static bool is_up(Argosy__ActiveState active) {
        return active_state_is_up(active) || active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING;
}

static bool is_launched(const AgentUnit *u) {
        PlanWanted buffer;
        const PlanWanted *w = agent_unit_wanted(u, &buffer);

        return u->has_held && u->held.target == ARGOSY__TARGET__TARGET_LAUNCHED &&
               !(w && (w->remove || w->target != ARGOSY__TARGET__TARGET_LAUNCHED));
}

// Scopes and devices are made by others.
static bool can_be_started(const char *name) {
        return !str_has_suffix(name, ".scope") && !str_has_suffix(name, ".device");
}

// Whether `unit` comes back after `name`, or after one that does, or is it.
static bool waits_for(const AgentNode *node, const char *unit, const char *name) {
        const AgentReturn *r;

        for (size_t i = 0; i <= node->returns.count && !streq(unit, name); i++) {
                r = find(node, unit);
                if (!r)
                        return false;
                unit = r->with;
        }
        return true;
}

static bool is_to_come_back(const AgentUnit *u, const SystemdDependent *d) {
        const AgentUnit *own = agent_unit_find(u->node, d->name);
        bool on_its_way = own && is_launched(own) &&
                          (own->held.pending || agent_unit_doing(own)->busy != PLAN_NOTHING);

        return (is_up(d->active) || on_its_way) && can_be_started(d->name) &&
               !waits_for(u->node, u->name, d->name) &&
               !(own && own->comes_back && agent_returns_held_back(own));
}

static void take(AgentUnit *u, const SystemdDependent *d) {
        const AgentUnit *own = agent_unit_find(u->node, d->name);
        LedgerReturn back = {.name = d->name,
                             .with = u->name,
                             .through = d->through,
                             .needs = d->needs,
                             .launched = own && is_launched(own)};

        if (!is_to_come_back(u, d))
                return;
        if (make(u->node, &back) < 0 || ledger_put_return(u->node->ledger, &back) < 0) {
                log_warning("%s: out of memory: it is not started again after %s.", d->name, u->name);
                return;
        }
        u->brings_back = true;
        note_comes_back(u->node, d->name, true);
}

void agent_on_surveyed(int error, const SystemdDependent *list, size_t n, void *userdata) {
        _cleanup_free_ AgentStepCall *call = userdata;
        AgentUnit *u = agent_step_find(call->node, call->name, call->number);

        if (!u)
                return;
        u->work->busy = PLAN_NOTHING;
        agent_unit_mark(u);
        if (error == -ECONNRESET || error == -ECANCELED)
                return; // asked again
        if (error < 0)
                log_unit(LOG_WARNING, u->name, "What systemd stops with %s does not come back: %s", u->name,
                         strerror(-error));
        u->work->surveyed = true;
        for (size_t i = 0; i < n; i++)
                take(u, &list[i]);
}

void agent_returns_take(AgentUnit *u, const SystemdDependent *list, size_t n) {
        for (size_t i = 0; i < n; i++) {
                SystemdDependent d = list[i];

                d.needs = false;
                take(u, &d);
        }
}

// ---- bringing back

static bool any_under_way(const AgentUnit *u) {
        foreach_return (r, u->node)
                if (r->under_way && streq(r->with, u->name))
                        return true;
        return false;
}

// A start of the unit itself that had failed before has still failed.
static void end_step_if_done(AgentUnit *u) {
        AgentUnitWork *work = u->work;
        _cleanup_free_ char *not_back = NULL;

        if (!work || work->busy != PLAN_BRING_BACK || any_under_way(u))
                return;
        not_back = TAKE_PTR(work->not_back);
        if (not_back && !work->error) {
                agent_step_given_up(u, not_back);
        } else if (!work->error) {
                agent_step_done(u, NULL);
        } else {
                work->busy = PLAN_NOTHING;
                agent_unit_mark(u);
        }
}

// The start of what came back has ended; `error` may be NULL.
static void ended(AgentReturn *r, const char *error) {
        AgentUnit *u = agent_unit_find(r->node, r->with);

        if (error) {
                log_unit(LOG_NOTICE, r->name,
                         "%s, which systemd had stopped with %s, did not start again: %s", r->name, r->with,
                         error);
                if (u && u->work && u->work->busy == PLAN_BRING_BACK && !u->work->not_back)
                        u->work->not_back = str_printf("it is up, but %s, which systemd had stopped with "
                                                       "it, did not start again: %s",
                                                       r->name, error);
        }
        forget(r);
        if (u)
                end_step_if_done(u);
}

static void on_started(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                       void *userdata) {
        static const char *const texts[] = {
                [SYSTEMD_JOB_CANCELED] = "its start was cancelled",
                [SYSTEMD_JOB_TIMEOUT] = "its start timed out",
                [SYSTEMD_JOB_FAILED] = "its start failed",
                [SYSTEMD_JOB_DEPENDENCY] = "its start failed because of a dependency",
                [SYSTEMD_JOB_REFUSED] = "systemd refused its start",
                [SYSTEMD_JOB_NO_UNIT] = "systemd finds no file of it",
        };
        AgentNode *node = userdata;
        AgentReturn *r = find(node, name);
        AgentUnit *u = r ? agent_unit_find(node, r->with) : NULL;

        node->n_jobs--;
        if (!r || !r->under_way)
                return;
        if (result != SYSTEMD_JOB_LOST) {
                ended(r, (size_t) result < ELEMENTSOF(texts) ? texts[result] : NULL);
                return;
        }
        r->under_way = false; // and is started once more when the unit is planned again
        if (u)
                end_step_if_done(u);
}

// Owes a run to one of argosy's units, unless it is up, or has ended.
static bool owe_run(AgentReturn *r, AgentUnit *u) {
        const AgentHeld *h = &u->held;
        const UnitRuntime *rt = agent_unit_runtime(u);

        if (!h->pending && ((rt && is_up(rt->active)) || h->done || h->failed || h->unknown))
                return false;
        r->owed = !h->pending;
        agent_unit_owe_run(u);
        agent_unit_mark(u);
        return true;
}

static bool start(AgentReturn *r) {
        AgentNode *node = r->node;
        AgentUnit *own = agent_unit_find(node, r->name);

        if (r->launched)
                return own && is_launched(own) && owe_run(r, own);
        if (systemd_manager_job_of(node->systemd, 0, SYSTEMD_START, r->name, on_started, node) < 0)
                return false;
        node->n_jobs++;
        return true;
}

// One that was stopped by another's stop comes after that one, which it might pull up before its file is in
// place.
static bool is_due(const AgentReturn *r, const AgentUnit *u, bool up) {
        const AgentReturn *through;

        if (!streq(r->with, u->name) || (r->needs && !up))
                return false;
        through = find(r->node, r->through);
        return !through || !streq(through->with, r->with);
}

// The names first: what ends at once is forgotten, and others move in the map.
static size_t list_due(const AgentUnit *u, char **names, size_t max) {
        const UnitRuntime *rt = agent_unit_runtime(u);
        bool up = rt && active_state_is_up(rt->active);
        size_t n = 0;

        foreach_return (r, u->node)
                if (n < max && !r->under_way && is_due(r, u, up))
                        names[n++] = r->name;
        return n;
}

void agent_returns_begin(AgentUnit *u) {
        size_t max = u->node->returns.count, n;
        _cleanup_free_ char **names = calloc(max + 1, sizeof(*names));

        if (!names) {
                agent_step_done(u, strerror(ENOMEM));
                return;
        }
        n = list_due(u, names, max);
        for (size_t i = 0; i < n; i++) {
                AgentReturn *r = find(u->node, names[i]);

                r->under_way = start(r);
                if (!r->under_way)
                        forget(r);
        }
        end_step_if_done(u);
}

void agent_returns_leave_off(AgentUnit *u) {
        foreach_return (r, u->node)
                if (streq(r->with, u->name))
                        r->under_way = false;
        free(TAKE_PTR(u->work->not_back));
        u->work->busy = PLAN_NOTHING;
        agent_unit_mark(u);
}

bool agent_returns_anyway(const AgentUnit *u) {
        foreach_return (r, u->node)
                if (is_due(r, u, false))
                        return true;
        return false;
}

void agent_returns_given_up(const AgentUnit *u, char text[static AGENT_ERROR_MAX]) {
        const char *first = NULL;
        size_t n = 0, len = strlen(text);

        foreach_return (r, u->node) {
                AgentUnit *own = agent_unit_find(u->node, r->name);

                if (!r->needs || !streq(r->with, u->name))
                        continue;
                if (own)
                        agent_unit_report(own);
                if (!first || strcmp(r->name, first) < 0)
                        first = r->name;
                n++;
        }
        if (n == 1)
                str_fit(text + len, AGENT_ERROR_MAX - len,
                        "; %s, which needs it, was stopped with it and is down until it starts", first);
        else if (n > 1)
                str_fit(text + len, AGENT_ERROR_MAX - len,
                        "; %s and %zu more, which need it, were stopped with it and are down until it "
                        "starts",
                        first, n - 1);
}

// ---- those that come back

const char *agent_returns_with(const AgentUnit *u) {
        const AgentReturn *r = u->comes_back ? find(u->node, u->name) : NULL;

        return r ? r->with : NULL;
}

bool agent_returns_held_back(const AgentUnit *u) {
        const AgentReturn *r = find(u->node, u->name);
        const AgentUnit *with = r ? agent_unit_find(u->node, r->with) : NULL;

        return with && !r->under_way && (with->held.pending || agent_unit_doing(with)->surveyed);
}

static void call_off(AgentReturn *r) {
        AgentUnit *own = agent_unit_find(r->node, r->name);

        if (r->owed && own && own->held.owed && agent_unit_doing(own)->busy == PLAN_NOTHING) {
                own->held.pending = own->held.owed = false;
                agent_unit_record(own);
        }
        forget(r);
}

static AgentReturn *any_of(const AgentUnit *u) {
        foreach_return (r, u->node)
                if (streq(r->with, u->name))
                        return r;
        return NULL;
}

static void stay_down(AgentUnit *u) {
        AgentReturn *r;

        while ((r = any_of(u)))
                call_off(r);
}

static AgentReturn *any_through(const AgentNode *node, const char *with, const char *name) {
        foreach_return (r, node)
                if (streq(r->with, with) && streq(r->through, name))
                        return r;
        return NULL;
}

// It is to stop, and with it what its own stop would have taken down.
static void stays_down(AgentNode *node, AgentReturn *r) {
        _cleanup_free_ char *with = strdup(r->with), *name = strdup(r->name);
        AgentReturn *next;
        AgentUnit *u;

        call_off(r);
        while (with && name && (next = any_through(node, with, name)))
                stays_down(node, next);
        u = with ? agent_unit_find(node, with) : NULL;
        if (u)
                end_step_if_done(u);
}

// ---- before and after a plan

void agent_returns_ordered(AgentUnit *u, const PlanWanted *wanted) {
        AgentReturn *r = u->comes_back ? find(u->node, u->name) : NULL;
        bool launched = wanted && !wanted->remove && wanted->target == ARGOSY__TARGET__TARGET_LAUNCHED;

        if (!wanted || launched)
                return;
        if (u->brings_back)
                stay_down(u);
        if (!r || (!r->launched && !wanted->remove && wanted->stop_rev <= u->held.stop_rev))
                return;
        stays_down(u->node, r);
}

void agent_returns_planned(AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);
        const UnitRuntime *rt = agent_unit_runtime(u);
        AgentReturn *r = u->comes_back ? find(u->node, u->name) : NULL;

        if (!r || !r->launched || !r->under_way || work->busy != PLAN_NOTHING ||
            (u->held.pending && !work->error))
                return;
        ended(r, rt && is_up(rt->active) ? NULL : work->error);
}

// ---- the record

int agent_returns_adopt(AgentNode *node, const LedgerReturn *back) {
        return make(node, back);
}

static AgentReturn *any_without_unit(const AgentNode *node) {
        foreach_return (r, node) {
                const AgentUnit *with = agent_unit_find((AgentNode *) node, r->with);

                if (!with || !with->has_held || node->units_were_stopped)
                        return r;
        }
        return NULL;
}

void agent_returns_adopted(AgentNode *node) {
        AgentReturn *gone;

        while ((gone = any_without_unit(node)))
                forget(gone);
        foreach_return (r, node) {
                note_brings_back(node, r->with);
                note_comes_back(node, r->name, true);
        }
}

int agent_returns_put_all(Ledger *l, AgentNode *node) {
        int r = 0;

        foreach_return (back, node)
                if (r >= 0)
                        r = ledger_put_return(l, &(LedgerReturn){.name = back->name,
                                                                 .with = back->with,
                                                                 .through = back->through,
                                                                 .needs = back->needs,
                                                                 .launched = back->launched});
        return r;
}

static void free_value(void *value) {
        (void) free_return(value);
}

void agent_returns_done(AgentNode *node) {
        map_done_with(&node->returns, free_value);
}
