// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   refused for its files -> [barred] -> every ten seconds: is there room, and are the places there
//   (agent-places.h)? -> [passed] -> the leader
//   hears of all that passed at once, and may place these units here again
//
// The leader has the unit elsewhere, or nowhere, by then: that it was refused here is what it remembers
// (Exclusion), until a request for the unit comes, this host attaches anew, or it hears of this. Neither a
// mount nor room in /run is an event that everybody can wait for, and a look costs some microseconds of the
// pool, so there is one as long as something is barred, and none else. Nothing is sent and nothing is logged
// before something has passed.
//
// Room is looked for as if none of the unit's files were there: one that is told to come and is refused
// again costs two log entries.
//
// A unit stays here until the leader was told, whatever has become of it: of one that the leader does not
// remember as refused here, it passes over the word. But one that is refused again, for something else,
// stays no longer: the leader remembers one reason, and would forget that. So nothing is to be done at an
// Attach. Of more than AGENT_BARRED_MAX those are forgotten that were refused first. Without memory a unit
// is not noted. Both wait for the next request.

#include "agent-barred.h"

#include "agent-carried.h"
#include "agent-places.h"
#include "agent-unit.h"
#include "carried-store.h"
#include "clock.h"
#include "message-of.h"

enum { LOOKS_PER_TURN = 64 }; // at the room in /run, about 5 us each

typedef struct AgentBarred {
        ListNode link; // in one of the lists of Agent.barred, while it is not looked at
        Agent *agent;
        char *name;
        AgentPlaces places;
        CarriedRoom room; // of its files
} AgentBarred;

static AgentBarred *barred_free(AgentBarred *b) {
        if (!b)
                return NULL;
        list_unlink(&b->link);
        if (b->agent->barred.looked_at == b)
                b->agent->barred.looked_at = NULL;
        agent_places_done(&b->places);
        free(b->name);
        free(b);
        return NULL;
}

static AgentBarred *barred_new(Agent *a, const char *name) {
        AgentBarred *b = calloc(1, sizeof(*b));

        if (!b)
                return NULL;
        b->agent = a;
        list_init(&b->link);
        b->name = strdup(name);
        if (!b->name || map_add_str(&a->barred.names, b->name, b) < 0)
                return barred_free(b);
        list_append(&a->barred.waiting, &b->link);
        return b;
}

static void forget(AgentBarred *b) {
        map_take_str(&b->agent->barred.names, b->name);
        barred_free(b);
}

// Nobody says here that a unit is gone, so those that are gone make room for others. What is looked at just
// now is in no list.
static void forget_oldest(Agent *a) {
        ListNode *const lists[] = {&a->barred.round, &a->barred.waiting, &a->barred.passed};

        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                if (!list_is_empty(lists[i])) {
                        forget(CONTAINER_OF(lists[i]->next, AgentBarred, link));
                        return;
                }
}

void agent_barred_note(const AgentUnit *u) {
        Agent *a = u->node->agent;
        const AgentCarried *c = u->work->spec->carried;
        AgentBarred *b = map_find_str(&a->barred.names, u->name);
        AgentPlaces places = {};

        if (u->node != a->system || a->user || // it never has room for files
            agent_places_of(&c->files, c->sources, c->n_sources, u->name, &places) < 0)
                return;
        if (!b && a->barred.names.count >= AGENT_BARRED_MAX)
                forget_oldest(a);
        b = b ?: barred_new(a, u->name);
        if (!b) {
                agent_places_done(&places);
                return;
        }
        agent_places_done(&b->places);
        b->places = places;
        b->room = carried_store_room_of(&c->files);
        if (a->barred.due_us == 0)
                a->barred.due_us = clock_boot_us() + AGENT_BARRED_LOOK_US;
        drain_mark(&a->drain);
}

void agent_barred_refuse(AgentUnit *u) {
        AgentBarred *b = u->node == u->node->agent->system
                                 ? map_find_str(&u->node->agent->barred.names, u->name)
                                 : NULL;

        u->refused = true;
        if (b)
                forget(b);
}

// ------------------------------------------------------------------------------------ a look at all of them

// A report that says that it is refused goes out first.
static bool is_to_be_reported(const Agent *a, const AgentBarred *b) {
        const AgentUnit *u = agent_unit_find(a->system, b->name);

        return u && list_is_linked(&u->report);
}

static void looked(AgentBarred *b, bool passed) {
        Agent *a = b->agent;

        list_unlink(&b->link);
        list_append(passed && !is_to_be_reported(a, b) ? &a->barred.passed : &a->barred.waiting, &b->link);
}

static void on_look(const char *why, void *userdata) {
        Agent *a = userdata;
        AgentBarred *b = TAKE_PTR(a->barred.looked_at);

        a->barred.looking = false;
        if (a->closing)
                return;
        if (b) // else it was forgotten meanwhile
                looked(b, !why);
        drain_mark(&a->drain);
}

// The look has its own. Without memory it is the next one's turn, and this one's in the next round.
static void look(AgentBarred *b) {
        Agent *a = b->agent;
        AgentPlaces places = {};

        if (!carried_store_has_room_for(a->runtime_dir, &b->room)) {
                looked(b, false);
                return;
        }
        if (b->places.n == 0) {
                looked(b, true);
                return;
        }
        if (agent_places_copy(&b->places, &places) < 0 || agent_places_look(a, &places, on_look, a) < 0) {
                agent_places_done(&places);
                looked(b, false);
                return;
        }
        list_unlink(&b->link);
        a->barred.looking = true;
        a->barred.looked_at = b;
}

// What the link does not take is looked for again.
static void tell(Agent *a) {
        _cleanup_free_ char **names = calloc(a->barred.names.count + 1, sizeof(*names));
        Argosy__ToVoter__Admits admits = ARGOSY__TO_VOTER__ADMITS__INIT;
        Argosy__ToVoter message = TO_VOTER_OF(ADMITS, admits, &admits);

        admits.node = a->system->number;
        admits.units = names;
        list_foreach (i, &a->barred.passed)
                if (names)
                        names[admits.n_units++] = CONTAINER_OF(i, AgentBarred, link)->name;
        if (!names || !a->attached || a->ops.send(&message, a->userdata) < 0) {
                list_splice(&a->barred.waiting, &a->barred.passed);
                return;
        }
        while (!list_is_empty(&a->barred.passed))
                forget(CONTAINER_OF(a->barred.passed.next, AgentBarred, link));
}

static bool is_due(const Agent *a) {
        return a->barred.due_us != 0 && !a->barred.in_round && a->attached && a->system &&
               a->system->number != 0;
}

static void end_round(Agent *a) {
        a->barred.in_round = false;
        if (!list_is_empty(&a->barred.passed))
                tell(a);
        a->barred.due_us = a->barred.names.count > 0 ? clock_boot_us() + AGENT_BARRED_LOOK_US : 0;
}

void agent_barred_turn(Agent *a) {
        if (is_due(a) && a->barred.due_us <= clock_boot_us()) {
                a->barred.in_round = true;
                list_splice(&a->barred.round, &a->barred.waiting);
        }
        if (!a->barred.in_round)
                return;
        for (unsigned n = 0; n < LOOKS_PER_TURN && !a->barred.looking && !list_is_empty(&a->barred.round);
             n++)
                look(CONTAINER_OF(a->barred.round.next, AgentBarred, link));
        if (a->barred.looking)
                return;
        if (list_is_empty(&a->barred.round))
                end_round(a);
        else
                drain_mark(&a->drain);
}

uint64_t agent_barred_next_wake(const Agent *a) {
        return is_due(a) ? a->barred.due_us : 0;
}

static void free_value(void *value) {
        barred_free(value);
}

void agent_barred_drop(Agent *a) {
        map_done_with(&a->barred.names, free_value);
        a->barred.due_us = 0;
}
