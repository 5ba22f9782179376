// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of lists: what somebody is told against the hosts of that moment.
#include <inttypes.h>
#include <string.h>

#include "checks-private.h"
#include "macro.h"
#include "str.h"
#include "test.h"
#include "unit-state.h"

static const VirtualUnit *unit_of_row(const Argosy__Response__UnitRow *row, uint32_t *ret_host) {
        bool ambiguous;
        uint32_t node = 0;
        const Argosy__HostRecord *h =
                *row->node ? cluster_state_resolve_node(world.rig.state, row->node, &node, &ambiguous)
                           : NULL;
        const VirtualUnit *v =
                h && h->host <= asks.swarm.hosts
                        ? virtual_host_find(&rig_host(&world.rig, h->host)->virtual, row->unit)
                        : NULL;

        *ret_host = h ? h->host : 0;
        return v && v->ordered && v->order.node == node ? v : NULL;
}

// What a host has said of a unit shows, and nothing of a run before.
static void facts_of_row(const Argosy__Response__UnitRow *row, const VirtualUnit *v, uint32_t host) {
        bool up = v->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;

        if (!up || v->gone || v->refused)
                return;
        if (v->n_restarts > 0)
                check_says("facts-are-listed");
        if (row->restarts != v->n_restarts || row->looping != v->looping)
                check_fail("facts-are-listed",
                           "list-units says of %s on n%u %u restarts%s, and it has had %u%s", row->unit,
                           host, row->restarts, row->looping ? " and more to come" : "", v->n_restarts,
                           v->looping ? " and more to come" : "");
        if (row->drift || !streq(row->sub, "running"))
                check_fail("facts-are-listed", "list-units says that %s on n%u is %s%s, and it runs",
                           row->unit, host, row->sub, row->drift ? " and stopped" : "");
        // else the leader says it by its own clock of now
        if (!world.clock_was_set && row->since != v->since_us)
                check_fail("facts-are-listed",
                           "list-units says that %s on n%u is so since %" PRIu64
                           ", and it is since %" PRIu64,
                           row->unit, host, row->since, v->since_us);
}

static void one_row(const Argosy__Response__UnitRow *row) {
        uint32_t host;
        const VirtualUnit *v = unit_of_row(row, &host);

        if (!v || v->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING ||
            v->active == ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING)
                return;
        check_says("lists-are-true");
        if (strcmp(row->active, active_state_to_string(v->active)) != 0)
                check_fail("lists-are-true", "list-units says that %s is %s on n%u, and it is %s", row->unit,
                           row->active, host, active_state_to_string(v->active));
        facts_of_row(row, v, host);
}

static bool has_row(const Argosy__Response__Units *units, const char *name, uint32_t host) {
        for (size_t i = 0; i < units->n_rows; i++) {
                uint32_t of;

                if (strcmp(units->rows[i]->unit, name) == 0 && unit_of_row(units->rows[i], &of) &&
                    of == host)
                        return true;
        }
        return false;
}

// What the log wants there and runs there is told.
static void all_are_reported(const Argosy__Response__Units *units) {
        for (unsigned i = 0; i < asks.n_units; i++) {
                const LogUnit *u = &log_truth.units[i];
                uint32_t host = u->exists ? places_host_of(u->node) : 0;
                const VirtualUnit *v =
                        host && host <= asks.swarm.hosts
                                ? virtual_host_find(&rig_host(&world.rig, host)->virtual, asks.units[i].name)
                                : NULL;

                if (v && v->ordered && v->order.node == u->node &&
                    v->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE &&
                    !has_row(units, asks.units[i].name, host))
                        check_fail("lists-are-true", "list-units does not tell of %s on n%u",
                                   asks.units[i].name, host);
        }
}

// ------------------------------------------------------------------------------------------------ sentences

// A word is missing. What contents say may be anything, and may be quoted at the end.
static bool is_whole(const char *text) {
        return !strstr(text, "(null)") && !strstr(text, ": : ") && !strchr(" :,;", *text);
}

static void one_sentence(const char *what, const char *text) {
        if (!*text)
                return;
        check_says("words-are-whole");
        if (!is_whole(text))
                check_fail("words-are-whole", "%s is '%s': a word is missing", what, text);
}

void words_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        enum { ROWS = 16 };

        one_sentence("an answer", r->message);
        if (r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE)
                for (size_t i = 0; i < r->change->n_units && i < ROWS; i++) {
                        const Argosy__Response__UnitResult *u = r->change->units[i];

                        one_sentence("what is said of a unit", u->message);
                        if (u->status != 0 && !*u->message)
                                check_fail("words-are-whole", "%s is refused, and nothing says why",
                                           u->name);
                }
        if (r->what_case == ARGOSY__RESPONSE__WHAT_PROGRESS)
                for (size_t i = 0; i < r->progress->n_done && i < ROWS; i++)
                        one_sentence("the end of a wait", r->progress->done[i]->message);
        if (r->what_case == ARGOSY__RESPONSE__WHAT_JOBS)
                for (size_t i = 0; i < r->jobs->n_rows && i < ROWS; i++) {
                        one_sentence("the end of a job", r->jobs->rows[i]->message);
                        one_sentence("what holds a job", r->jobs->rows[i]->held_by);
                }
        if (r->what_case == ARGOSY__RESPONSE__WHAT_STATUS_REPLY) {
                one_sentence("a reason", r->status_reply->why);
                one_sentence("a note", r->status_reply->note);
        }
        if (r->what_case == ARGOSY__RESPONSE__WHAT_UNITS)
                for (size_t i = 0; i < r->units->n_rows && i < ROWS; i++)
                        one_sentence("a note", r->units->rows[i]->note);
}

void lists_on_calm(void) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        const RigAnswer *a;

        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNITS;
        request.list_units = &list;
        a = rig_ask(&world.rig, &request);
        rig_settle(&world.rig);
        if (a->error || a->n != 1 || a->responses[0]->status != 0)
                check_fail("lists-are-true", "nobody tells root of the units");
        for (size_t i = 0; i < a->responses[0]->units->n_rows; i++)
                one_row(a->responses[0]->units->rows[i]);
        all_are_reported(a->responses[0]->units);
}
