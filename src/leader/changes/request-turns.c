// SPDX-License-Identifier: LGPL-2.1-or-later
//
// In which order the units of a Change are planned, and so placed: as they would have their turns in a round
// of their own (placement.h), so neither a large one nor an important one comes too late because it was
// named last. The role that has the least goes first, which is asked anew after each unit; of one role the
// unit with the highest priority, then with the largest demand, then the one named first. Units that are to
// be where others are (MachineOf=) come when these have their nodes, and units that activate others come
// last; of both, the one named first. A unit that is activated by one which is to be where others are comes
// when these have their nodes, too (request-mates.c).
//
// What a unit demands is read from the content that it is about to get. A unit without a valid content is
// refused at any turn, and has the turn of a unit that demands nothing. A verb that places no unit, and a
// Change of one unit, look at nothing: the order is that of the names.
#include "request-turns.h"

#include <errno.h>
#include <stdlib.h>

#include "planner.h"
#include "response.h"
#include "unit-name.h"

// Units of one content come one after the other, and mean the same.
typedef struct Ranking {
        UnitOptions *options; // that were ranked last, with a reference; NULL: none yet
        ChangeRank rank;
} Ranking;

static bool gives_nodes(const Planner *p) {
        Argosy__Verb verb = p->change->verb;

        return p->ops->aim || verb == ARGOSY__VERB__VERB_START || verb == ARGOSY__VERB__VERB_LOAD;
}

// 0 and *ret, which is NULL for one that gets no node whatever it demands; or -ENOMEM. Notes who activates
// others.
static int find_options(Planner *p, const char *name, Argosy__Response__UnitResult *scratch,
                        UnitOptions **ret) {
        UnitEntry *u = cluster_state_find_unit(p->state, name);
        const ChangeAim *aim = p->ops->aim ? p->ops->aim(name, p->userdata) : NULL;
        Source source;
        int r;

        *ret = NULL;
        if (unit_name_kind(name, NULL) == UNIT_NAME_INVALID ||
            unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE || (aim && aim->remove))
                return 0;
        r = aim ? request_find_aimed(p, u, aim, &source, scratch)
                : request_find_source(p, name, u, &source, scratch);
        if (r == 0)
                r = unit_file_expand(source.file, name, name, ret, NULL);
        if (r == 0)
                r = request_note_mate(p, name, source.file, *ret);
        return r == -ENOMEM ? r : 0;
}

static int rank(Planner *p, Argosy__Response__UnitResult *scratch, Ranking *last, RequestTurn *turn) {
        const char *name = p->change->names[turn->name];
        const UnitOptions *mate = request_mate(p, name);
        UnitOptions *options;
        int r;

        r = find_options(p, name, scratch, &options);
        if (r < 0 || !options)
                return r;
        if (options != last->options) {
                p->ops->rank(options, &last->rank, p->userdata);
                unit_options_unref(last->options);
                last->options = unit_options_ref(options);
        }
        if ((options->same_node && *options->same_node) || (mate && mate->same_node && *mate->same_node))
                turn->phase = TURN_COLOCATED;
        else {
                turn->role = last->rank.role;
                turn->share = last->rank.share;
                turn->priority = options->priority;
        }
        unit_options_unref(options);
        return 0;
}

// An activator has no rank, and what it asks for counts for who it activates.
static int note_activator(Planner *p, Argosy__Response__UnitResult *scratch, const char *name) {
        UnitOptions *options = NULL;
        int r = find_options(p, name, scratch, &options);

        unit_options_unref(options);
        return r;
}

static int rank_all(Planner *p, RequestTurns *t) {
        // what is wrong is said when it is planned
        Argosy__Response__UnitResult *scratch = unit_result_new("");
        Ranking last = {};
        int r = scratch ? 0 : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < t->n; i++)
                if (t->turns[i].phase == TURN_ACTIVATOR)
                        r = note_activator(p, scratch, p->change->names[t->turns[i].name]);
        for (size_t i = 0; r >= 0 && i < t->n; i++)
                if (t->turns[i].phase != TURN_ACTIVATOR)
                        r = rank(p, scratch, &last, &t->turns[i]);
        unit_options_unref(last.options);
        message_free(scratch);
        return r;
}

static int compare(const void *a, const void *b) {
        const RequestTurn *x = a, *y = b;

        if (x->phase != y->phase)
                return x->phase < y->phase ? -1 : 1;
        if (x->role != y->role)
                return x->role < y->role ? -1 : 1;
        if (x->priority != y->priority)
                return x->priority > y->priority ? -1 : 1;
        if (x->share != y->share)
                return x->share > y->share ? -1 : 1;
        return x->name < y->name ? -1 : x->name > y->name;
}

static bool begins_queue(const RequestTurns *t, size_t i) {
        return i == 0 || t->turns[i - 1].phase != t->turns[i].phase ||
               t->turns[i - 1].role != t->turns[i].role;
}

static int make_queues(RequestTurns *t) {
        t->queues = calloc(t->n + 1, sizeof(*t->queues));
        if (!t->queues)
                return -ENOMEM;
        for (size_t i = 0; i < t->n; i++) {
                if (begins_queue(t, i))
                        t->queues[t->n_queues++] =
                                (TurnQueue){.next = i, .phase = t->turns[i].phase, .role = t->turns[i].role};
                t->queues[t->n_queues - 1].end = i + 1;
        }
        return 0;
}

int request_turns_begin(Planner *p, RequestTurns *t) {
        int r = 0;

        *t = (RequestTurns){.n = p->change->n_names};
        t->turns = calloc(t->n + 1, sizeof(*t->turns));
        if (!t->turns)
                return -ENOMEM;
        for (size_t i = 0; i < t->n; i++)
                t->turns[i] = (RequestTurn){
                        .name = i,
                        .phase = unit_name_activated_type(p->change->names[i]) ? TURN_ACTIVATOR
                                                                               : TURN_PLACED,
                };
        if (t->n > 1 && p->ops->rank && gives_nodes(p))
                r = rank_all(p, t);
        if (r < 0)
                return r;
        if (t->n > 1)
                qsort(t->turns, t->n, sizeof(*t->turns), compare);
        return make_queues(t);
}

// Finds a queue its place among those of its phase behind it, which are in order.
static void settle(const Planner *p, RequestTurns *t, size_t i) {
        for (; i + 1 < t->n_queues && t->queues[i + 1].phase == t->queues[i].phase &&
               p->ops->role_before(t->queues[i + 1].role, t->queues[i].role, p->userdata);
             i++) {
                TurnQueue behind = t->queues[i + 1];

                t->queues[i + 1] = t->queues[i];
                t->queues[i] = behind;
        }
}

static void begin_phase(const Planner *p, RequestTurns *t) {
        size_t i = t->first_queue;

        while (i < t->n_queues && t->queues[i].phase == t->queues[t->first_queue].phase)
                i++;
        while (i-- > t->first_queue)
                settle(p, t, i);
}

bool request_turns_next(const Planner *p, RequestTurns *t, size_t *ret_name) {
        TurnQueue *q;

        if (t->first_queue == t->n_queues)
                return false;
        if (t->begun)
                settle(p, t, t->first_queue); // its role may have more by now
        else
                begin_phase(p, t);
        q = &t->queues[t->first_queue];
        *ret_name = t->turns[q->next++].name;
        t->begun = true;
        if (q->next == q->end)
                t->begun = ++t->first_queue < t->n_queues && q[1].phase == q->phase;
        return true;
}

void request_turns_done(RequestTurns *t) {
        free(t->turns);
        free(t->queues);
        *t = (RequestTurns){};
}
