// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Those who wait for something, most often for what they have asked for before; and those who watch, and ask
// again from where they were.
#include <inttypes.h>

#include "asks-private.h"
#include "str.h"

static bool is_change(const WorldAsked *a) {
        return !a->request->change->preview && asks_last_response(a)->change;
}

static Argosy__Request__Wait__Item *make_item(const char *name, uint64_t revision) {
        Argosy__Request__Wait__Item *item =
                ASKS_NEW(Argosy__Request__Wait__Item, argosy__request__wait__item__init);

        item->name = (char *) name;
        item->revision = revision;
        return item;
}

static void wait_for_change(Argosy__Request__Wait *m, const WorldAsked *asked) {
        const Argosy__Response__Change *change = asks_last_response(asked)->change;

        m->verb = asked->request->change->verb;
        m->items = asks_alloc((change->n_units + 1) * sizeof(*m->items));
        for (size_t i = 0; i < change->n_units; i++)
                if (change->units[i]->status == 0)
                        m->items[m->n_items++] =
                                make_item(change->units[i]->name, change->units[i]->revision);
}

// Whoever asked for that; or somebody who wants to see units in some state, whoever wanted it.
bool ask_wait(Draw *d, void *message) {
        const WorldAsked *change =
                draw_below(d, 3) > 0 ? asks_go_on(ARGOSY__REQUEST__WHAT_CHANGE, is_change) : NULL;
        Argosy__Request__Wait *m = message;
        size_t n = 1 + draw_below(d, 3);

        if (change) {
                wait_for_change(m, change);
                return m->n_items > 0;
        }
        m->goal = (Argosy__UnitGoal) (1 + draw_below(d, ARGOSY__UNIT_GOAL__GOAL_GONE));
        m->items = asks_alloc(n * sizeof(*m->items));
        while (m->n_items < n)
                m->items[m->n_items++] = make_item(asks_unit(d), 0);
        return true;
}

bool ask_drain_wait(Draw *d, void *message) {
        Argosy__Request__DrainWait *m = message;

        m->node = (char *) asks_node(d);
        return true;
}

static bool is_rollout(const WorldAsked *a) {
        const Argosy__Response *r = asks_last_response(a);

        return !a->request->rollout->abort && r->change && r->change->n_units > 0;
}

bool ask_rollout_wait(Draw *d, void *message) {
        const WorldAsked *rollout =
                draw_below(d, 4) > 0 ? asks_go_on(ARGOSY__REQUEST__WHAT_ROLLOUT, is_rollout) : NULL;
        Argosy__Request__RolloutWait *m = message;

        m->name = (char *) (rollout ? rollout->request->rollout->name : world_unit_draw(d)->file);
        m->revision = rollout ? asks_last_response(rollout)->change->units[0]->revision
                              : cluster_state_revision(asks.port->state());
        return true;
}

bool ask_manager_wait(Draw *d, void *message) {
        static const char *const managers[] = {"system", "user@1000"};
        const Argosy__HostRecord *record =
                cluster_state_find_host(asks.port->state(), 1 + draw_below(d, asks.swarm.hosts));
        Argosy__Request__ManagerWait *m = message;
        char hex[HASH_HEX_SIZE];

        if (!record)
                return false;
        hex_encode(record->host_id.data, record->host_id.len, hex);
        m->host = asks_printf("%s", hex);
        m->manager = (char *) DRAW_PICK(d, managers);
        m->detached = draw_one_in(d, 2);
        return true;
}

bool ask_job_wait(Draw *d, void *message) {
        Argosy__Request__JobWait *m = message;

        m->number = asks_job(d);
        return true;
}

// ------------------------------------------------------------------------------------------------ events

static bool is_events(const WorldAsked *a) {
        return asks_last_response(a)->events != NULL;
}

static void begin_watch(Draw *d, Argosy__Request__Events *m) {
        m->patterns = asks_words(d, &m->n_patterns, 2, asks_pattern);
        if (draw_one_in(d, 3)) {
                m->kinds = asks_alloc(2 * sizeof(*m->kinds));
                for (unsigned n = 1 + draw_below(d, 2); m->n_kinds < n;)
                        m->kinds[m->n_kinds++] =
                                (Argosy__EventKind) (1 + draw_below(d, ARGOSY__EVENT_KIND__EVENT_QUEUE));
        }
        m->from_now = draw_one_in(d, 4);
        if (!m->from_now && draw_one_in(d, 4))
                m->since_job = asks_job(d);
}

// Somebody asks again from where he was, for what he has asked before; now and then from a place that there
// never was.
bool ask_events(Draw *d, void *message) {
        const WorldAsked *before =
                draw_below(d, 5) > 0 ? asks_go_on(ARGOSY__REQUEST__WHAT_EVENTS, is_events) : NULL;
        Argosy__Request__Events *m = message;

        if (before) {
                *m = *before->request->events;
                m->from_now = false;
                m->since_job = 0;
                m->cursor = asks_last_response(before)->events->cursor;
        } else
                begin_watch(d, m);
        if (draw_one_in(d, 64))
                m->cursor = asks_printf("%" PRIx64, draw_word(d));
        m->max_bytes = draw_one_in(d, 3) ? (uint32_t) draw_log(d, 64, 65536) : 0;
        m->no_wait = draw_one_in(d, 3);
        return true;
}
