// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether the nodes on which a plan puts units would take them: a name may be somebody else's there, which
// its host alone knows, and a start would hear of when the host refuses the unit.
//
// Happy path: when a plan is made, each of its units that would come to a node is looked up there. What the
// node has not said is asked, limits.call_names names in one call, by the check that its agent makes before
// it takes a unit. If a node refuses one, the plan is made anew, and goes on where a start would hear of
// that (preview.c): the node is excluded for the unit as a start would exclude it (Unit.exclusions, for
// no longer than the plan's part of a turn). The unit's other nodes are asked all at once then. That goes on
// until nothing new is refused.
//
// Of a unit that runs on all nodes these are asked, and those that refuse it are named. A manager that
// cannot be used, such as that of a user who is not logged in, gets no unit, and says nothing; of one that
// is there already it is said why.
//
// Limits: limits.call_pairs names on nodes are asked about at a time, and PAIRS_MAX for one plan; what is
// beyond that has a note, as has what a node does not answer (plan_names_give_up()). Hosts whose build does
// not know the question are taken to refuse nothing. Of a plan in which more than REFUSED_BY_TURNS are
// refused, all nodes that refuse one of the others do so at once, and not one after the other, as the unit
// comes there.
//
// Failures: -ENOMEM.
#include "carried-files.h"
#include "preview-names.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "host-marks.h"
#include "message-of.h"
#include "node-calls.h"
#include "node-loss-controller.h"
#include "nodes.h"
#include "oom.h"
#include "quadlet.h"
#include "registry.h"
#include "scheduler.h"
#include "str.h"
#include "tables.h"
#include "unit-file.h"
#include "unit-marks.h"
#include "unit-on-node.h"
#include "unit-work.h"

enum {
        CONTENT_BYTES_PER_CALL = 1 << 20,
        PAIRS_MAX = 16384,
        REFUSED_BY_TURNS = 1024, // at some 10 us each
        NAMED_MAX = 3, // nodes that refuse a unit that runs on all
};

typedef enum NameVerdict {
        NAME_ASKED,
        NAME_FREE,
        NAME_REFUSED,
        NAME_UNKNOWN, // the node does not say
} NameVerdict;

typedef struct PlanName {
        NameVerdict verdict;
        ProtobufCBinaryData content; // borrowed until it is asked about; NULL: its name says it all
        Exclusion *exclusion;        // NAME_REFUSED
        bool applied, made;          // the unit has it; there was no such unit before
        uint32_t node; // from here on it is its key in by_pair, as a PairKey
        char name[];
} PlanName;

typedef struct Asked {
        uint64_t number; // of the call
        size_t first, n; // in PlanNames.list
} Asked;

struct PlanNames {
        Leader *leader;
        PendingRequest *pending;
        void (*settled)(PendingRequest *t);
        Map by_pair;     // PlanName by its node and name
        Map refused;     // PlanName by its name: one of those that are refused
        PlanName **list; // those of a call one behind the other
        size_t n, allocated, n_known; // n_known: before those that are to be asked now
        Asked *asked;
        size_t n_asked, asked_allocated;
        size_t n_awaited; // calls
        size_t n_applied; // exclusions
        bool news;        // a unit was refused
        bool beyond;      // the limits
};

PlanNames *plan_names_new(Leader *l, PendingRequest *t, void (*settled)(PendingRequest *t)) {
        PlanNames *p = calloc(1, sizeof(*p));

        if (p)
                *p = (PlanNames){.leader = l, .pending = t, .settled = settled};
        return p;
}

PlanNames *plan_names_free(PlanNames *p) {
        if (!p)
                return NULL;
        for (size_t i = 0; i < p->n; i++) {
                free(p->list[i]->exclusion);
                free(p->list[i]);
        }
        free(p->list);
        free(p->asked);
        map_done(&p->by_pair);
        map_done(&p->refused);
        free(p);
        return NULL;
}

bool plan_names_is_news(PlanNames *p) {
        bool news = p->news;

        p->news = false;
        return news;
}

// -------------------------------------------------------------------------------------------- what is known

typedef struct PairKey {
        uint32_t node;
        char name[UNIT_NAME_MAX + 1];
} PairKey;

static_assert(offsetof(PlanName, name) - offsetof(PlanName, node) == offsetof(PairKey, name),
              "one behind the other");

// Its length; 0: no unit has such a name.
static size_t pair_key(PairKey *key, uint32_t node, const char *name) {
        size_t len = strlen(name);

        if (len >= sizeof(key->name))
                return 0;
        key->node = node;
        memcpy(key->name, name, len);
        return offsetof(PairKey, name) + len;
}

static PlanName *find(const PlanNames *p, uint32_t node, const char *name) {
        PairKey key;
        size_t len = pair_key(&key, node, name);

        return len ? map_find(&p->by_pair, &key, len) : NULL;
}

// Not where it was refused, and is still to let go of it.
static bool is_there(const Leader *l, const char *name, const Node *n) {
        const Unit *u = unit_find(l, name);
        const UnitOnNode *s = u ? unit_on_node_find(u, n) : NULL;

        return s && unit_on_node_is_reported(s) && !hash_is_zero(unit_on_node_seen(s));
}

static int add(PlanNames *p, const char *name, const ProtobufCBinaryData *content, const Node *n) {
        PlanName *new;
        PairKey key;
        size_t len = pair_key(&key, n->number, name);
        int r;

        if (len == 0)
                return 0;
        r = ARRAY_GROW(p->list, p->allocated, p->n + 1);
        new = r < 0 ? NULL : NEW_WITH_TEXT(PlanName, name, name);
        if (!new)
                return -ENOMEM;
        new->node = n->number;
        new->content = content ? *content : (ProtobufCBinaryData){};
        r = map_add(&p->by_pair, &new->node, len, new);
        if (r < 0) {
                free(new);
                return r;
        }
        p->list[p->n++] = new;
        return 0;
}

// The unit comes to this node: what is not known of that will be asked.
static int want(PlanNames *p, const char *name, const ProtobufCBinaryData *content, const Node *n) {
        if (is_there(p->leader, name, n) || find(p, n->number, name))
                return 0;
        if (p->n >= PAIRS_MAX || p->n - p->n_known >= p->leader->limits.call_pairs) {
                p->beyond = true;
                return 0;
        }
        return add(p, name, content, n);
}

// ------------------------------------------------------------------------------------------------ questions

static void note_refusal(PlanNames *p, PlanName *name, const char *why) {
        size_t len = str_cut(why, REASON_MAX);
        Exclusion *x = malloc(sizeof(*x) + len + 1);

        name->verdict = NAME_UNKNOWN;
        if (!x || map_add_str(&p->refused, name->name, name) == -ENOMEM) { // or it is there already
                free(x);
                return;
        }
        x->next = NULL;
        x->node = name->node;
        memcpy(x->reason, why, len);
        x->reason[len] = 0;
        name->verdict = NAME_REFUSED;
        name->exclusion = x;
        p->news = true;
}

static void on_answered(PendingRequest *t, Node *n, const Argosy__ToVoter__NameAnswer *answer,
                        uint64_t number, void *userdata) {
        PlanNames *p = userdata;

        for (size_t i = 0; i < p->n_asked; i++) {
                const Asked a = p->asked[i];

                if (a.number != number)
                        continue;
                for (size_t k = 0; k < a.n; k++) {
                        PlanName *name = p->list[a.first + k];

                        name->verdict = answer && k < answer->n_refusals ? NAME_FREE : NAME_UNKNOWN;
                        if (name->verdict == NAME_FREE && *answer->refusals[k])
                                note_refusal(p, name, answer->refusals[k]);
                }
                p->asked[i] = p->asked[--p->n_asked];
                break;
        }
        if (--p->n_awaited == 0)
                p->settled(t);
}

void plan_names_give_up(PlanNames *p) {
        node_calls_end(p->pending);
        for (size_t i = 0; i < p->n; i++)
                if (p->list[i]->verdict == NAME_ASKED)
                        p->list[i]->verdict = NAME_UNKNOWN;
        p->n_asked = p->n_awaited = 0;
}

// The names on one node, as many as one call takes.
static int ask_some(PlanNames *p, Node *n, size_t first, size_t most, size_t *ret) {
        Argosy__ToHost__NameCheck__Unit units[LEADER_LIMIT_call_names], *pointers[LEADER_LIMIT_call_names];
        ProtobufCBinaryData contents[LEADER_LIMIT_call_names];
        size_t bytes = 0;
        int r = ARRAY_GROW(p->asked, p->asked_allocated, p->n_asked + 1);

        Argosy__ToHost__NameCheck m =
                MESSAGE_OF(to_host__name_check, .units = pointers, .contents = contents);
        most = MIN_OF(most, (size_t) p->leader->limits.call_names);
        for (*ret = 0; *ret < most && bytes < CONTENT_BYTES_PER_CALL; (*ret)++) {
                PlanName *name = p->list[first + *ret];
                size_t i = 0;

                pointers[*ret] = &units[*ret];
                units[*ret] = (Argosy__ToHost__NameCheck__Unit) MESSAGE_OF(to_host__name_check__unit,
                                                                           .name = name->name);
                if (!name->content.data)
                        continue;
                while (i < m.n_contents && contents[i].data != name->content.data)
                        i++;
                if (i == m.n_contents) {
                        contents[m.n_contents++] = name->content;
                        bytes += name->content.len;
                }
                units[*ret].content = (uint32_t) i + 1;
        }
        m.n_units = *ret;
        if (r < 0)
                return r;
        p->n_awaited++;
        p->asked[p->n_asked] = (Asked){.first = first, .n = *ret};
        r = node_calls_ask_names(p->leader, p->pending, n, &m, on_answered, p, &p->asked[p->n_asked].number);
        if (r < 0)
                p->n_awaited--;
        else
                p->n_asked++;
        return r;
}

static void take_verdict(PlanNames *p, size_t first, size_t n, NameVerdict verdict) {
        for (size_t i = first; i < first + n; i++)
                p->list[i]->verdict = verdict;
}

static int by_node(const void *a, const void *b) {
        const PlanName *x = *(PlanName *const *) a, *y = *(PlanName *const *) b;

        return x->node != y->node ? (x->node > y->node) - (x->node < y->node) : strcmp(x->name, y->name);
}

static int ask_new(PlanNames *p) {
        int r = 0;

        if (p->n_known < p->n)
                qsort(p->list + p->n_known, p->n - p->n_known, sizeof(*p->list), by_node);
        p->n_awaited++; // until all are asked: who cannot answer any more says so at once
        while (r >= 0 && p->n_known < p->n) {
                Node *n = node_find(p->leader, p->list[p->n_known]->node);
                size_t same = 1, asked;

                while (p->n_known + same < p->n &&
                       p->list[p->n_known + same]->node == p->list[p->n_known]->node)
                        same++;
                asked = same;
                if (n && node_calls_knows_names(n))
                        r = ask_some(p, n, p->n_known, same, &asked);
                else // nobody: a start would not hear a refusal now either
                        take_verdict(p, p->n_known, same, n && n->host->attached ? NAME_FREE : NAME_UNKNOWN);
                p->n_known += asked;
        }
        p->n_awaited--;
        return r;
}

// ------------------------------------------------------------------------------------------- a plan's units

static UnitOptions *options_of(const PreviewUnit *u, const ProtobufCBinaryData *content) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        const char *name = u->record->name;
        UnitOptions *options;

        if (!content || unit_file_parse(name, content->data, content->len, &file, NULL) < 0 ||
            unit_file_expand(file, name, name, &options, NULL) < 0)
                return NULL;
        return options;
}

// All nodes that the unit's options admit: it runs on all of them, or one refuses it and it may come to the
// others.
static int want_all(PlanNames *p, const PreviewUnit *u, const ProtobufCBinaryData *content,
                    const ProtobufCBinaryData *asked) {
        UnitOptions *options = p->beyond ? NULL : options_of(u, content);
        int r = 0;

        if (!options)
                return 0;
        map_foreach (slot, &p->leader->nodes) {
                const Node *n = slot->value;

                if (r >= 0 && !p->beyond && n->mode != ARGOSY__NODE_MODE__MODE_MAINTENANCE &&
                    node_calls_knows_names(n) && node_admits(p->leader, n, options))
                        r = want(p, u->record->name, asked, n);
        }
        unit_options_unref(options);
        return r;
}

// Aliases, files that are bound over what is there, and the name of a container.
static bool may_ask_more(const ProtobufCBinaryData *content) {
        return content && (memmem(content->data, content->len, "Alias", 5) ||
                           quadlet_is(content->data, content->len) ||
                           carried_files_text_len(content->data, content->len) < content->len);
}

static int want_unit(PreviewUnit *u, const ProtobufCBinaryData *content, void *userdata) {
        PlanNames *p = userdata;
        const ProtobufCBinaryData *asked = may_ask_more(content) ? content : NULL;
        const Node *n = u->node ? node_find(p->leader, u->node) : NULL;
        int r = 0;

        if (u->record->target == ARGOSY__TARGET__TARGET_INACTIVE)
                return 0;
        if (n)
                r = want(p, u->record->name, asked, n);
        if (r >= 0 && (u->record->global || map_find_str(&p->refused, u->record->name)))
                r = want_all(p, u, content, asked);
        return r;
}

static int add_note(PreviewUnit *u, const char *text) {
        char *note = str_printf("%s%s%s", u->note ?: "", u->note ? "; " : "", text);

        if (!note)
                return -ENOMEM;
        free(u->note);
        u->note = note;
        return 0;
}

static int note_unknown(PreviewUnit *u, const Node *n) {
        _cleanup_free_ char *text = str_printf("%s has not said whether the name is free there", n->name);

        return text ? add_note(u, text) : -ENOMEM;
}

static int note_refused(PreviewUnit *u, const Node *n, const char *why) {
        _cleanup_free_ char *text = str_printf("%s would refuse it then: %s", n->name, why);

        return text ? add_note(u, text) : -ENOMEM;
}

// What is placed there stays, and starts when the manager is there again; a start fails with the same words.
static int note_unusable(PreviewUnit *u, const Node *n) {
        _cleanup_free_ char *text = str_printf("%s cannot be used at present: %s", n->name, n->reason);

        return text ? add_note(u, text) : -ENOMEM;
}

static int note_global(const PlanNames *p, PreviewUnit *u) {
        unsigned n_named = 0, n_more = 0;
        int r = 0;

        for (size_t i = 0; i < p->n && r >= 0; i++) {
                const PlanName *name = p->list[i];
                const Node *n = streq(name->name, u->record->name) ? node_find(p->leader, name->node) : NULL;
                _cleanup_free_ char *text = NULL;

                if (!n || name->verdict == NAME_FREE)
                        continue;
                if (n_named++ >= NAMED_MAX) {
                        n_more++;
                        continue;
                }
                if (name->verdict == NAME_UNKNOWN) {
                        r = note_unknown(u, n);
                        continue;
                }
                text = str_printf("not on %s: %s", n->name, name->exclusion->reason);
                r = text ? add_note(u, text) : -ENOMEM;
        }
        if (r >= 0 && n_more > 0) {
                char text[64];

                str_fit(text, sizeof(text), "%u more nodes are like these", n_more);
                r = add_note(u, text);
        }
        return r;
}

// One that waits for its node, which is lost, and why it does not go elsewhere.
static int note_away(const PlanNames *p, PreviewUnit *u, const Node *n) {
        const Unit *unit = unit_find(p->leader, u->record->name);
        const UnitEntry *e = cluster_state_find_unit(p->leader->state, u->record->name);
        char why[512];

        return unit && e && unit->node == n && node_loss_why(p->leader, unit, e, why, sizeof(why))
                       ? add_note(u, why)
                       : 0;
}

static int note_unit(PreviewUnit *u, const ProtobufCBinaryData *content, void *userdata) {
        PlanNames *p = userdata;
        const Node *n = u->node ? node_find(p->leader, u->node) : NULL;
        const PlanName *name = n ? find(p, u->node, u->record->name) : NULL;

        if (u->record->target == ARGOSY__TARGET__TARGET_INACTIVE)
                return 0;
        if (u->record->global)
                return note_global(p, u);
        if (n && host_is_lost(n->host))
                return note_away(p, u, n);
        if (n && n->reason)
                return note_unusable(u, n);
        if (n && !is_there(p->leader, u->record->name, n) && (!name || name->verdict == NAME_UNKNOWN))
                return note_unknown(u, n);
        if (name && name->verdict == NAME_REFUSED) // later than anybody can tell
                return note_refused(u, n, name->exclusion->reason);
        return 0;
}

int plan_names_ask(PlanNames *p, Preview *plan, bool *ret) {
        int r;

        do {
                p->beyond = false;
                r = preview_each(plan, want_unit, p);
                r = r < 0 ? r : ask_new(p);
                *ret = p->n_awaited > 0;
        } while (r >= 0 && !*ret && p->beyond && p->n < PAIRS_MAX);
        if (r < 0 || *ret)
                return r;
        return preview_each(plan, note_unit, p);
}

// ----------------------------------------------------------------------------------------------- exclusions

// Whether that is new.
static bool exclude(PlanNames *p, PlanName *name) {
        Unit *u = unit_find(p->leader, name->name);
        UnitWork *w;

        if (name->verdict != NAME_REFUSED || name->applied || (u && unit_exclusion(u, name->node)))
                return false;
        name->made = !u;
        name->applied = true;
        u = u ?: oom_checked(unit_get(p->leader, name->name));
        w = unit_work(p->leader, u);
        name->exclusion->next = w->exclusions;
        w->exclusions = name->exclusion;
        scheduler_on_exclusion(p->leader, u, name->node, true);
        p->n_applied++;
        return true;
}

static bool exclude_everywhere(PlanNames *p, const char *name) {
        bool new = false;

        map_foreach (slot, &p->leader->nodes) {
                const Node *n = slot->value;
                PlanName *there = find(p, n->number, name);

                new |= there && exclude(p, there);
        }
        return new;
}

static bool refuses(const char *name, uint32_t node, void *userdata) {
        PlanNames *p = userdata;
        PlanName *there = node ? find(p, node, name) : NULL;
        bool new;

        // by nobody: a look at all nodes for each unit that runs everywhere, each time, is too much
        if (!map_find_str(&p->refused, name))
                return false;
        new = there && exclude(p, there);
        if (!node || (new && p->n_applied >= REFUSED_BY_TURNS))
                new |= exclude_everywhere(p, name);
        return new;
}

PreviewRefuses plan_names_refuse(const PlanNames *p) {
        return p->refused.count ? refuses : NULL;
}

void plan_names_take_back(PlanNames *p) {
        for (size_t i = 0; i < p->n && p->n_applied > 0; i++) {
                PlanName *name = p->list[i];
                Unit *u = name->applied ? unit_find(p->leader, name->name) : NULL;
                Exclusion **x = u ? &unit_work(p->leader, u)->exclusions : NULL;

                p->n_applied -= name->applied;
                name->applied = false;
                if (!u)
                        continue;
                while (*x != name->exclusion)
                        x = &(*x)->next;
                *x = name->exclusion->next;
                name->exclusion->next = NULL;
                scheduler_on_exclusion(p->leader, u, name->node, false);
                if (name->made)
                        unit_mark_unused(p->leader, u);
        }
}
