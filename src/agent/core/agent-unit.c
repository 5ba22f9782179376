// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units of this host: made, found, marked, and freed when nobody names them any more. What is under way
// about a unit is an object of its own; agent_unit_settle() frees it as soon as it says nothing that is not
// said by what is held.
//
// Without memory for a new unit or for what is under way nothing has happened, and the caller plans again or
// asks the leader again. What must not fail, marking a unit, needs none.

#include <errno.h>
#include <stdarg.h>

#include "agent-cgroups.h"
#include "agent-core.h"
#include "agent-loops.h"
#include "agent-spec.h"
#include "agent-unit.h"
#include "clock.h"
#include "load-state.h"
#include "str.h"
#include "unit-file.h"
#include "unit-state.h"

// ---- units

AgentUnit *agent_unit_find(AgentNode *node, const char *name) {
        SystemdUnit *w = systemd_manager_find(node->systemd, name);

        return w && !w->other ? CONTAINER_OF(w, AgentUnit, watch) : NULL;
}

AgentUnit *agent_unit_next(const AgentNode *node, size_t *iter) {
        SystemdUnit *w = node->systemd ? systemd_manager_next(node->systemd, iter) : NULL;

        while (w && w->other)
                w = systemd_manager_next(node->systemd, iter);
        return w ? CONTAINER_OF(w, AgentUnit, watch) : NULL;
}

int agent_unit_new(AgentNode *node, const char *name, AgentUnit **ret) {
        size_t len = strlen(name);
        AgentUnit *u = slab_alloc(&node->agent->slab, SIZE_WITH_NAME(AgentUnit, len));
        int r;

        if (!u)
                return -ENOMEM;
        u->node = node;
        list_init(&u->dirty);
        list_init(&u->report);
        memcpy(u->name, name, len + 1);
        agent_fleet_release(node, name);
        r = systemd_manager_watch(node->systemd, &u->watch, u->name);
        if (r < 0) {
                slab_free(&node->agent->slab, u, SIZE_WITH_NAME(AgentUnit, len));
                return r == -EEXIST ? -EINVAL : r;
        }
        node->n_units++;
        *ret = u;
        return 0;
}

AgentMade *agent_made_free(AgentMade *m) {
        if (m)
                buf_done(&m->text);
        free(m);
        return NULL;
}

bool agent_made_next(const AgentMade *m, const char *suffix, size_t *at, QuadletMade *ret) {
        if (!m)
                return false;
        if (*at == 0)
                *at = quadlet_made_len(m->text.data, m->text.len);
        while (quadlet_made_next(m->text.data, m->text.len, at, ret))
                if (str_has_suffix(ret->name, suffix))
                        return true;
        return false;
}

static void work_free(AgentUnit *u) {
        AgentUnitWork *w = TAKE_PTR(u->work);

        if (!w)
                return;
        list_unlink(&w->waiting);
        list_unlink(&w->call);
        list_unlink(&w->start_barrier);
        list_unlink(&w->probation);
        list_unlink(&w->files_wanted);
        list_unlink(&w->network_wait);
        agent_spec_unref(u->node->agent, w->spec);
        agent_spec_unref(u->node->agent, w->before);
        free(w->error);
        free(w->not_back);
        agent_made_free(w->made);
        free(w);
        u->node->agent->n_rested++;
}

void agent_unit_free(AgentUnit *u) {
        systemd_manager_unwatch(u->node->systemd, &u->watch);
        if (u->node->agent->fleet.units.count > 0)
                agent_fleet_search(u->node->agent);
        u->node->n_units--;
        u->node->n_hidden -= u->hidden != 0;
        agent_cgroup_forget(u);
        agent_loop_free(u);
        free(map_take_str(&u->node->down_by, u->name));
        list_unlink(&u->dirty);
        list_unlink(&u->report);
        work_free(u);
        agent_spec_unref(u->node->agent, u->held.spec);
        slab_free(&u->node->agent->slab, u, SIZE_WITH_NAME(AgentUnit, strlen(u->name)));
}

void agent_unit_mark(AgentUnit *u) {
        if (!list_is_linked(&u->dirty))
                list_append(&u->node->dirty, &u->dirty);
        drain_mark(&u->node->agent->drain);
}

void agent_unit_report(AgentUnit *u) {
        Agent *a = u->node->agent;

        if (u->paced) {
                u->paced = false;
                list_unlink(&u->report);
        }
        if (!list_is_linked(&u->report))
                list_append(&a->report, &u->report);
        drain_mark(&a->drain);
}

static void report_later(AgentUnit *u) {
        u->paced = true;
        list_append(&u->node->agent->paced, &u->report);
        drain_mark(&u->node->agent->drain); // arms the timer
}

void agent_unit_report_step(AgentUnit *u) {
        if (list_is_linked(&u->report)) // is told soon, with the state that it has then
                return;
        if (u->work)
                u->work->report_from_us = clock_boot_us() + REPORT_INTERVAL_US;
        report_later(u);
}

static bool is_under_way(const AgentUnit *u) {
        const AgentUnitWork *work = u->work;

        return work && u->has_wanted &&
               (work->busy != PLAN_NOTHING || work->answered != work->wanted.revision);
}

void agent_unit_report_state(AgentUnit *u) {
        if (is_under_way(u) && u->watch.runtime.active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE) {
                agent_unit_report_step(u); // not begun yet, or the end that is told next
                return;
        }
        if (u->work)
                u->work->report_from_us = 0;
        if (list_is_linked(&u->report))
                return;
        if (!is_under_way(u) && report_pace(&u->pace, clock_boot_us()) == 0)
                agent_unit_report(u);
        else
                report_later(u);
}

void agent_unit_set_error(AgentUnit *u, const char *format, ...) {
        AgentUnitWork *w = agent_unit_work(u);
        char text[AGENT_ERROR_MAX];
        va_list ap;

        va_start(ap, format);
        str_vfit(text, sizeof(text), format, ap);
        va_end(ap);
        if (!w || (w->error && streq(w->error, text)))
                return;
        free(w->error);
        w->error = strdup(text); // NULL: then the failure is reported without its reason
        agent_unit_report(u);
}

void agent_unit_clear_error(AgentUnit *u) {
        if (!agent_unit_doing(u)->error)
                return;
        free(u->work->error);
        u->work->error = NULL;
        agent_unit_report(u);
}

const UnitRuntime *agent_unit_runtime(const AgentUnit *u) {
        const UnitRuntime *rt = &u->watch.runtime;

        return rt->loaded ? rt : NULL;
}

bool agent_unit_is_down(const AgentUnit *u) {
        const UnitRuntime *rt = agent_unit_runtime(u);

        return !rt || active_state_is_down(rt->active);
}

// ---- the load state

Argosy__LoadState agent_unit_load(const AgentUnit *u) {
        LoadStateInput in = {.runtime = &u->watch.runtime,
                             .file_present = u->has_held && u->file_present,
                             .failed = u->has_held && agent_unit_doing(u)->error,
                             .hidden = u->hidden,
                             .of_file = u->load};

        return load_state_shown(&in);
}

static bool is_bad(Argosy__LoadState load) {
        return load == ARGOSY__LOAD_STATE__LOAD_BAD_SETTING || load == ARGOSY__LOAD_STATE__LOAD_ERROR;
}

// What systemd cannot use is recorded, since it is not asked again after a restart of argosyd.
void agent_unit_note_load(AgentUnit *u, Argosy__LoadState load) {
        bool was_bad = is_bad(u->load), is_of_older = u->stale || u->held.taking || !u->file_present;

        u->load = (uint8_t) load_state_of_file(u->load, load, u->watch.runtime.active, is_of_older);
        if (u->has_held && is_bad(u->load) != was_bad)
                agent_unit_record(u);
}

bool agent_unit_is_bad(const AgentUnit *u) {
        return is_bad(u->load);
}

// ---- why it is down

Argosy__DownCause agent_unit_down(const AgentUnit *u) {
        return agent_unit_doing(u)->error ? ARGOSY__DOWN_CAUSE__DOWN_NOT : (Argosy__DownCause) u->held.down;
}

// ---- at rest, and not

const PlanWanted *agent_unit_wanted(const AgentUnit *u, PlanWanted *buffer) {
        const AgentHeld *h = &u->held;

        if (!u->has_wanted)
                return NULL;
        if (u->work)
                return &u->work->wanted;
        *buffer = (PlanWanted){.target = h->target,
                               .spec = h->spec->hash,
                               .revision = h->revision,
                               .start_rev = h->start_rev,
                               .restart_rev = h->restart_rev,
                               .stop_rev = h->stop_rev,
                               .outcome = u->wanted_outcome};
        return buffer;
}

uint64_t agent_unit_answered(const AgentUnit *u) {
        return u->work ? u->work->answered : u->held.revision;
}

// While such a step is under way what runs goes on.
static bool is_preparation(PlanStep step) {
        return step == PLAN_VERIFY || step == PLAN_FETCH || step == PLAN_PLACES;
}

// A step under way counts too: new content begins with a stop.
static bool is_not_to_run(const AgentUnit *u) {
        PlanWanted buffer;
        const PlanWanted *w = agent_unit_wanted(u, &buffer);

        PlanStep busy = agent_unit_doing(u)->busy;

        if (u->gone || (busy != PLAN_NOTHING && !is_preparation(busy)))
                return true;
        return w && (w->remove || w->target != ARGOSY__TARGET__TARGET_LAUNCHED) &&
               u->watch.runtime.active != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE; // not started as it is needed
}

enum { BINDINGS_MAX = 64 }; // that are looked at: they may lead in a circle, or fan out

// With what it is bound to goes what is bound to that, and is stopped before it. NULL: it does not.
static const AgentUnit *goes_along(const AgentUnit *u, unsigned *left) {
        const AgentSpec *content = agent_unit_content(u);
        _cleanup_free_ char *names = NULL;
        char *save = NULL;

        if (!content || !content->bound_to)
                return NULL;
        names = unit_file_fill_in(content->bound_to, u->name);
        if (!names)
                return NULL;
        for (char *name = strtok_r(names, " \t", &save); name && *left > 0;
             name = strtok_r(NULL, " \t", &save)) {
                const AgentUnit *other = agent_unit_find(u->node, name);

                (*left)--;
                if (other && other != u && (is_not_to_run(other) || goes_along(other, left)))
                        return other;
        }
        return NULL;
}

const AgentUnit *agent_unit_goes_along(const AgentUnit *u) {
        unsigned left = BINDINGS_MAX;

        return goes_along(u, &left);
}

typedef bool (*OfConflict)(AgentUnit *other, const void *data);

// The first one of which that is so; NULL: of none.
static AgentUnit *each_conflict(const AgentUnit *u, OfConflict is, const void *data) {
        const AgentSpec *content = agent_unit_content(u);
        _cleanup_free_ char *names = NULL;
        char *save = NULL;

        if (!content || !content->conflicts)
                return NULL;
        names = unit_file_fill_in(content->conflicts, u->name);
        if (!names)
                return NULL;
        for (char *name = strtok_r(names, " \t", &save); name; name = strtok_r(NULL, " \t", &save)) {
                AgentUnit *other = agent_unit_find(u->node, name);

                if (other && other != u && is(other, data))
                        return other;
        }
        return NULL;
}

// Up, or about to be.
static bool is_displacing(AgentUnit *other, const void *data) {
        PlanStep busy = agent_unit_doing(other)->busy;

        return busy == PLAN_START || busy == PLAN_RESTART || active_state_is_up(other->watch.runtime.active);
}

static bool is_that(AgentUnit *other, const void *data) {
        return other == data;
}

static bool note_displaced(AgentUnit *other, const void *data) {
        other->displaced = *(const bool *) data;
        return false; // all of them
}

bool agent_unit_has_conflict(const AgentUnit *u) {
        return u->displaced || each_conflict(u, is_displacing, NULL);
}

// One whose own file names it is looked for among all: that is asked once, when such a unit has gone down.
const char *agent_unit_conflict(const AgentUnit *u) {
        const AgentUnit *other = each_conflict(u, is_displacing, NULL);

        if (other || !u->displaced)
                return other ? other->name : NULL;
        agent_foreach_unit(one, u->node)
                if (one != u && is_displacing(one, NULL) && each_conflict(one, is_that, u))
                        return one->name;
        return NULL;
}

void agent_unit_displace(AgentUnit *u, bool displaced) {
        (void) each_conflict(u, note_displaced, &displaced);
}

bool agent_is_cut_off(const AgentUnit *u, uint64_t now_us) {
        const AgentSpec *s = agent_unit_doing(u)->spec ?: agent_unit_content(u);

        return s && s->cut_off_stop &&
               now_us >= atomic_load(&u->node->agent->lease->until_us) + s->cut_off_sec * USEC_PER_SEC;
}

const AgentSpec *agent_unit_content(const AgentUnit *u) {
        if (u->work && u->work->replacing)
                return u->work->before;
        return u->content_known ? u->held.spec : NULL;
}

bool agent_unit_is_written(const AgentUnit *u) {
        return u->has_held && u->file_present && u->held.spec == agent_unit_doing(u)->spec;
}

AgentUnitWork *agent_unit_work(AgentUnit *u) {
        AgentUnitWork *w;

        if (u->work)
                return u->work;
        w = calloc(1, sizeof(*w));
        if (!w)
                return NULL;
        w->unit = u;
        list_init(&w->waiting);
        list_init(&w->call);
        list_init(&w->start_barrier);
        list_init(&w->probation);
        list_init(&w->files_wanted);
        list_init(&w->network_wait);
        w->answered = u->held.revision;
        if (u->has_wanted) {
                (void) agent_unit_wanted(u, &w->wanted);
                w->spec = agent_spec_ref(u->held.spec);
                w->from_template = u->held.from_template;
        }
        u->work = w;
        return w;
}

void agent_unit_keep_order(AgentUnit *u) {
        if (!u->has_wanted || agent_unit_work(u))
                return;
        u->has_wanted = false;
        u->node->agent->attach_wanted = true;
}

// Whether the order is what is held, and nothing is still to be done for it. While a run is owed or files
// are to be written, steps that prepare this end one by one, and what each has found out is in the work.
static bool is_carried_out(const AgentUnit *u) {
        const PlanWanted *w = &u->work->wanted;
        const AgentHeld *h = &u->held;

        if (h->pending || !u->file_present)
                return false;
        return u->has_held && !w->remove && w->target == (Argosy__Target) h->target &&
               hash_equal(&w->spec, &h->spec->hash) && w->revision == h->revision &&
               w->start_rev == h->start_rev && w->restart_rev == h->restart_rev &&
               w->stop_rev == h->stop_rev && u->work->from_template == h->from_template;
}

static bool is_linked(const AgentUnitWork *w) {
        return list_is_linked(&w->waiting) || list_is_linked(&w->call) || list_is_linked(&w->start_barrier);
}

static bool is_at_rest(const AgentUnit *u) {
        const AgentUnitWork *w = u->work;

        if (w->busy != PLAN_NOTHING || w->verify_number != 0 || w->barrier_phase != AGENT_BARRIER_FREE ||
            is_linked(w))
                return false;
        if (u->probation == ARGOSY__PROBATION__PROBATION_ON)
                return false;
        if (w->error || w->failures > 0 || w->retry_us != 0 || w->replacing || u->stale || u->links_stale)
                return false;
        if (w->outcome != ARGOSY__OUTCOME__KIND__NONE || w->answered != u->held.revision ||
            (w->cut_off_until_us != 0 && w->cut_off_until_us > clock_boot_us()))
                return false;
        return !u->has_wanted || is_carried_out(u);
}

void agent_unit_settle(AgentUnit *u) {
        if (!u->work || !is_at_rest(u))
                return;
        u->wanted_outcome = u->has_wanted ? (uint8_t) u->work->wanted.outcome : 0;
        work_free(u);
}

// ---- the record

void agent_unit_fill_record(const AgentUnit *u, LedgerRecord *ret) {
        const AgentHeld *h = &u->held;

        *ret = (LedgerRecord){.name = u->name,
                              .spec = h->spec ? h->spec->hash : (Hash){},
                              .from_template = h->from_template,
                              .revision = h->revision,
                              .start_rev = h->start_rev,
                              .restart_rev = h->restart_rev,
                              .stop_rev = h->stop_rev,
                              .target = h->target,
                              .down = h->down,
                              .done = h->done,
                              .failed = h->failed,
                              .pending = h->pending,
                              .owed = h->owed,
                              .interrupted = h->interrupted,
                              .unknown = h->unknown,
                              .taking = h->taking,
                              .unread = h->unread,
                              .reload = h->reload,
                              .load = is_bad(u->load) ? u->load : ARGOSY__LOAD_STATE__LOAD_UNKNOWN};
        memcpy(ret->invocation_id, h->invocation_id, sizeof(ret->invocation_id));
        slice_name(h->slice, ret->slice);
}

void agent_unit_hold(AgentUnit *u, const LedgerRecord *record, AgentSpec *spec) {
        u->has_held = true;
        u->held = (AgentHeld){.spec = spec,
                              .revision = record->revision,
                              .start_rev = record->start_rev,
                              .restart_rev = record->restart_rev,
                              .stop_rev = record->stop_rev,
                              .slice = slice_of_name(record->slice),
                              .target = record->target & 15,
                              .down = record->down & 15,
                              .from_template = record->from_template,
                              .done = record->done,
                              .failed = record->failed,
                              .pending = record->pending,
                              .owed = record->owed,
                              .interrupted = record->interrupted,
                              .unknown = record->unknown,
                              .taking = record->taking,
                              .unread = record->unread,
                              .reload = record->reload & 3};
        memcpy(u->held.invocation_id, record->invocation_id, sizeof(u->held.invocation_id));
        u->load = (uint8_t) record->load;
}

void agent_unit_drop_held(AgentUnit *u) {
        char slice[LEDGER_SLICE_SIZE];

        slice_name(u->held.slice, slice);
        slices_remove(&u->node->slices, slice);
        agent_spec_unref(u->node->agent, u->held.spec);
        u->held = (AgentHeld){};
        u->has_held = u->content_known = false;
        if (u->work) {
                agent_spec_unref(u->node->agent, TAKE_PTR(u->work->before));
                u->work->replacing = false;
        }
}

void agent_unit_give_back(AgentUnit *u) {
        // Out of memory: the next start reads the record and finds that nothing came of it.
        (void) ledger_forget(u->node->ledger, u->name);
        agent_unit_drop_held(u);
}

bool agent_unit_note_read(AgentUnit *u) {
        if (!(u->held.taking || u->held.unread) || !u->file_present)
                return false;
        u->held.taking = u->held.unread = false;
        return true;
}

void agent_unit_owe_run(AgentUnit *u) {
        const UnitRuntime *rt = agent_unit_runtime(u);

        if (u->held.pending)
                return;
        u->held.pending = u->held.owed = true;
        if (rt)
                memcpy(u->held.invocation_id, rt->invocation_id, sizeof(rt->invocation_id));
        agent_unit_record(u);
}

void agent_unit_record(AgentUnit *u) {
        LedgerRecord record;
        int r;

        agent_unit_fill_record(u, &record);
        r = ledger_put(u->node->ledger, &record);

        if (r < 0)
                agent_unit_set_error(u, "cannot note %s in the ledger: %s", u->name, strerror(-r));
}
