// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A plan in words: what each record would become is compared with what it is. Nothing is decided here, so
// the words are as good as the plan. A unit that has an error keeps it. -ENOMEM leaves the response half
// described; the caller answers with an error then.

#include "preview-units.h"

#include <errno.h>

#include "buf.h"
#include "carried-files.h"
#include "map.h"
#include "response.h"
#include "str.h"
#include "unit-record.h"

typedef const char *(*NodeName)(uint32_t node, void *userdata);

// NULL: it has not ended for good.
static const char *action_of_ended(const Argosy__UnitRecord *r) {
        if (r->n_outcomes == 0 || r->outcomes[0]->start_rev != r->start_rev)
                return NULL;
        switch (r->outcomes[0]->kind) {
        case ARGOSY__OUTCOME__KIND__DONE:
                return "has finished and would run again";
        case ARGOSY__OUTCOME__KIND__FAILED:
                return "has failed and would run again";
        default:
                return "would run again, whatever became of its last run";
        }
}

static const char *action_of_new(const Argosy__UnitRecord *next) {
        switch (next->target) {
        case ARGOSY__TARGET__TARGET_LAUNCHED:
                return "would start";
        case ARGOSY__TARGET__TARGET_LOADED:
                return "would be loaded";
        default:
                return "would become known";
        }
}

static const char *action_of_content(const Argosy__UnitRecord *now, const Argosy__UnitRecord *next,
                                     Argosy__FileChange change) {
        if (now->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return action_of_new(next);
        switch (change) {
        case ARGOSY__FILE_CHANGE__FILE_CHANGE_RELOAD:
                return "would get its new files as it runs and be reloaded";
        case ARGOSY__FILE_CHANGE__FILE_CHANGE_NONE:
                return "would get its new files as it runs, without a restart or a reload";
        default:
                return "would stop and start again with the new file";
        }
}

// `goes`: somebody makes it leave its node, even if it comes back.
static const char *action_of_known(const Argosy__UnitRecord *now, const Argosy__UnitRecord *next,
                                   uint32_t node, bool goes, Argosy__FileChange change) {
        bool placed = now->node || now->global;

        if (now->target == ARGOSY__TARGET__TARGET_INACTIVE || !placed)
                return action_of_new(next);
        if (node != now->node || next->global != now->global)
                return "would stop where it is and start";
        if (!record_has_spec_of(now, next))
                return action_of_content(now, next, change);
        if (next->target != now->target)
                return action_of_new(next);
        if (goes)
                return "would stop and start again";
        return action_of_ended(now) ?: "is started already";
}

typedef struct Words {
        const ClusterState *state;
        NodeName node_name;
        void *userdata;
} Words;

static int say_reason(const PreviewUnit *u, Buf *text) {
        static const char *const formats[] = {
                [PREVIEW_REPLACED] = ": %s replaces it there",
                [PREVIEW_PREEMPTED] = ": %s, which has a higher priority, takes its place",
                [PREVIEW_FOLLOWS] = ", where %s is",
        };
        int r;

        if (u->reason >= ELEMENTSOF(formats) || !formats[u->reason] || !u->by)
                return 0;
        r = buf_printf(text, formats[u->reason], u->by);
        return r == 0 && u->by_refused ? buf_printf(text, ", and is then refused") : r;
}

// Says that the unit waits; how long a replacing unit has to wait is not known.
static int say_wait(const PreviewUnit *u, Buf *text) {
        return u->waits_for ? buf_printf(text, "; it waits there until %s has left (MaxUnavailable=)",
                                         u->waits_for)
                            : 0;
}

static int say_note(const PreviewUnit *u, Buf *text) {
        return u->note ? buf_printf(text, "; %s", u->note) : 0;
}

// On its node the network is made anew, which takes down all that have it.
static int say_networks(const PreviewUnit *u, Buf *text) {
        if (!u->networks)
                return 0;
        if (u->along)
                return buf_printf(text, ": it shares %s, which changes", u->networks);
        return u->node ? buf_printf(text, "; %s is made anew there", u->networks) : 0;
}

static int set_message(Argosy__Response__UnitResult *result, const Buf *text) {
        return field_printf(&result->message, "%.*s", (int) text->len, (const char *) text->data);
}

static int describe_held(const Words *w, Argosy__Response__UnitResult *result, const PreviewUnit *u) {
        const char *node = w->node_name(u->node, w->userdata);
        _cleanup_buf_ Buf text = {};
        int r = buf_printf(&text, "would stay on %s until more of its group are up (MaxUnavailable=)",
                           node ?: "its node");

        r = r ?: say_reason(u, &text);
        r = r ?: set_message(result, &text);
        return r < 0 || !u->by ? r : field_set(&result->because_of, u->by);
}

// A unit that somebody else's start moves.
static int describe_brought(const Words *w, Argosy__Response__UnitResult *result, const PreviewUnit *u) {
        const UnitEntry *e = cluster_state_find_unit(w->state, result->name);
        bool runs = u->record->target == ARGOSY__TARGET__TARGET_LAUNCHED && e &&
                    !record_final_outcome(e->record, e->record->node);
        const char *from = e && e->record->node ? w->node_name(e->record->node, w->userdata) : NULL;
        const char *node = u->node ? w->node_name(u->node, w->userdata) : NULL;
        _cleanup_buf_ Buf text = {};
        int r = from ? buf_printf(&text, "would %s %s and ", runs ? "stop on" : "leave", from)
                     : buf_printf(&text, "would ");

        if (r == 0 && node && from && streq(node, from))
                r = buf_printf(&text, "%s there again", runs ? "start" : "go");
        else if (r == 0)
                r = node ? buf_printf(&text, "%s %s", runs ? "start on" : "go to", node)
                         : buf_printf(&text, "wait for a node");
        r = r ?: say_wait(u, &text);
        r = r ?: say_reason(u, &text);
        r = r ?: say_note(u, &text);
        r = r ?: set_message(result, &text);
        r = r < 0 || !from ? r : field_set(&result->from, from);
        return r < 0 || !u->by ? r : field_set(&result->because_of, u->by);
}

// What the first look said of a unit that had no node yet, or had one, is not so any more.
static void take_refusals(Argosy__Response__UnitResult *result, PreviewUnit *u) {
        for (size_t i = 0; i < result->n_refusals; i++)
                message_free(result->refusals[i]);
        free(result->refusals);
        result->refusals = TAKE_PTR(u->refusals);
        result->n_refusals = u->n_refusals;
        u->n_refusals = 0;
}

static int describe_asked(const Words *w, Argosy__Response__UnitResult *result, PreviewUnit *u) {
        const UnitEntry *e = cluster_state_find_unit(w->state, result->name);
        const Argosy__UnitRecord *next = u->record;
        bool wanted = next->target != ARGOSY__TARGET__TARGET_INACTIVE;
        bool moves = e && e->record->node && e->record->node != u->node && wanted;
        Argosy__FileChange change =
                moves || u->by ? ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART : u->file_change;
        const char *node = next->global ? "all nodes that fit" : w->node_name(u->node, w->userdata);
        const char *warning = u->reason == PREVIEW_TURN ? "" : result->message;
        _cleanup_buf_ Buf text = {};
        int r;

        if (u->node || u->refused)
                take_refusals(result, u);
        if (wanted && !u->node && !next->global)
                r = buf_printf(&text, moves ? "would stop where it is and wait for a node"
                                            : "would wait for a node");
        else if (u->along && u->networks && !wanted)
                r = buf_printf(&text, "would get the new file");
        else
                r = buf_printf(&text, "%s%s%s%s%s",
                               e ? action_of_known(e->record, next, u->node, u->by, change)
                                 : action_of_new(next),
                               node && wanted ? " on " : "", node && wanted ? node : "",
                               *warning ? "; " : "", warning);
        r = r ?: say_networks(u, &text);
        r = r ?: say_wait(u, &text);
        r = r ?: say_reason(u, &text);
        r = r ?: say_note(u, &text);
        r = r ?: set_message(result, &text);
        if (r >= 0 && change != ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART)
                r = field_set(&result->file_change, file_change_to_string(change));
        if (r >= 0 && moves)
                r = field_set(&result->from, w->node_name(e->record->node, w->userdata));
        if (r >= 0 && u->by)
                r = field_set(&result->because_of, u->by);
        return r;
}

static int describe(const Words *w, Argosy__Response__UnitResult *result, PreviewUnit *u) {
        int r = u->held      ? describe_held(w, result, u)
                : u->brought ? describe_brought(w, result, u)
                             : describe_asked(w, result, u);

        return r < 0 || u->record->global ? r : field_set(&result->node, w->node_name(u->node, w->userdata));
}

static int add_results(Argosy__Response__Change *change, Map *by_name, PreviewUnit *const *units, size_t n) {
        int r = 0;

        for (size_t i = 0; i < change->n_units && r >= 0; i++)
                if (!map_find_str(by_name, change->units[i]->name))
                        r = map_add_str(by_name, change->units[i]->name, change->units[i]);
        for (size_t i = 0; i < n && r >= 0; i++) {
                const char *name = units[i]->record->name;

                if (map_find_str(by_name, name))
                        continue;
                units[i]->along = units[i]->networks;
                r = FIELD_APPEND(change->units, change->n_units, unit_result_new(name));
                if (r >= 0)
                        r = map_add_str(by_name, change->units[change->n_units - 1]->name,
                                        change->units[change->n_units - 1]);
        }
        return r;
}

int preview_units_describe(const ClusterState *state, PreviewUnit *const *units, size_t n,
                     Argosy__Response *planned, NodeName node_name, void *userdata) {
        const Words w = {state, node_name, userdata};
        Argosy__Response__Change *change = planned->change;
        Map by_name = {};
        int r = add_results(change, &by_name, units, n);

        for (size_t i = 0; i < n && r >= 0; i++) {
                Argosy__Response__UnitResult *result = map_find_str(&by_name, units[i]->record->name);

                if (result && !result->status)
                        r = describe(&w, result, units[i]);
        }
        for (size_t i = 0; i < change->n_units && r >= 0; i++)
                if (!change->units[i]->status && !*change->units[i]->message)
                        r = field_set(&change->units[i]->message, "nothing would change");
        map_done(&by_name);
        return r;
}
