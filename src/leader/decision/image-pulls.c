// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   what runs is to get another image -> the nodes where that is -> each is asked to have the image
//   (ToHost.Call.pull), PULLS_MAX at a time -> the request is decided
//
// So nothing is stopped before all hosts have what they need: in an update, in an undo and an apply, at once
// or a few units at a time, in a `start --replace`, and in a rolling restart, for somebody may have removed
// an image. The units of those that cannot have it are not touched (RolloutRecord.without, or an error of
// the unit), and whoever asked is told; if that is all of them, nothing is changed. Of this the log has only
// who is left out: a leader that goes takes its questions with it, and the request comes again to the next
// one, for which hosts have most of it already. A request of several entries asks for those of each.
//
// A host that cannot be asked is not waited for: what is there has its turn when it is back, and pulls then.
// If it is back while others are still asked, it is asked, too, also if it went with its answer.

#include "image-pulls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cluster-state.h"
#include "content-image.h"
#include "disruption-budget.h"
#include "image-auth.h"
#include "map.h"
#include "node-calls.h"
#include "nodes.h"
#include "quadlet.h"
#include "registry.h"
#include "request-repeats.h"
#include "response.h"
#include "rollout-survey.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-name.h"

enum {
        PULLS_MAX = 5,     // hosts that pull for a request at a time
        ASKED_MAX = 3,     // times that a host is asked which goes with its answer
        LOOKS_AGAIN = 256, // units of a group that may be listed again in a turn, at about 1 us each
};

// One image on one host.
typedef struct Puller {
        uint32_t node;
        uint64_t call;    // 0: it is not asked at present
        unsigned n_asked; // times
        bool answered;
        char *why;    // it does not have it; NULL: it does, if it has answered
        char *auth;   // RegistryAuth= of the file; NULL: none
        size_t image; // where its name begins in `key`
        char key[];
} Puller;

typedef struct ImagePulls {
        RequestWork work;
        Puller **list;
        size_t n, allocated;
        size_t n_asked;    // the first so many of the list
        size_t n_open;     // of these: calls
        size_t n_answered; // of these: they have said whether they have it
        Map by_key;        // Puller
        bool listed;       // these are all of a rollout
        uint64_t revision; // of the cluster, as of which they are
        uint32_t *without; // PendingRequest.without.nodes
} ImagePulls;

static void pulls_free(PendingRequest *t, RequestWork *work) {
        ImagePulls *p = CONTAINER_OF(work, ImagePulls, work);

        for (size_t i = 0; i < p->n; i++) {
                free(p->list[i]->why);
                free(p->list[i]->auth);
                free(p->list[i]);
        }
        map_done(&p->by_key);
        free(p->list);
        free(p->without);
        free(p);
}

static const RequestWorkKind pulls_kind = {pulls_free};

// NULL: no host is asked.
static ImagePulls *pulls_of(const PendingRequest *t) {
        RequestWork *work = request_work(t, &pulls_kind);

        return work ? CONTAINER_OF(work, ImagePulls, work) : NULL;
}

bool image_pulls_wait(const PendingRequest *t) {
        const ImagePulls *p = pulls_of(t);

        return p && (p->n_open >= PULLS_MAX || (p->n_open > 0 && p->n_asked == p->n));
}

// 0 or -ENOMEM.
static int begin(PendingRequest *t) {
        ImagePulls *p = pulls_of(t) ? NULL : calloc(1, sizeof(*p));

        if (p)
                request_add_work(t, &pulls_kind, &p->work);
        return pulls_of(t) ? 0 : -ENOMEM;
}

// -------------------------------------------------------------------------------------------- whom to ask

static int add_puller(ImagePulls *p, uint32_t node, const ImageWish *wish, Puller **ret) {
        _cleanup_free_ char *key = str_printf("%" PRIu32 " %s", node, wish->image);
        Puller *puller;
        int r;

        if (!key)
                return -ENOMEM;
        *ret = map_find_str(&p->by_key, key);
        if (*ret)
                return 0;
        r = ARRAY_GROW(p->list, p->allocated, p->n + 1);
        puller = r == 0 ? calloc(1, sizeof(*puller) + strlen(key) + 1) : NULL;
        if (!puller)
                return -ENOMEM;
        puller->node = node;
        puller->image = strlen(key) - strlen(wish->image);
        strcpy(puller->key, key);
        puller->auth = wish->registry_auth ? strdup(wish->registry_auth) : NULL;
        r = wish->registry_auth && !puller->auth ? -ENOMEM : map_add_str(&p->by_key, puller->key, puller);
        if (r < 0) {
                free(puller->auth);
                free(puller);
                return r;
        }
        p->list[p->n++] = *ret = puller;
        return 0;
}

int image_pulls_want(PendingRequest *t, uint32_t node, const ImageWish *wish, const char **ret_why) {
        Puller *p = NULL;
        int r = begin(t);

        if (r == 0)
                r = add_puller(pulls_of(t), node, wish, &p);
        *ret_why = p ? p->why : NULL;
        return r;
}

// ------------------------------------------------------------------------------------------------- asking

static void on_pulled(PendingRequest *t, Node *n, const Argosy__ToVoter__ImageAnswer *answer,
                      uint64_t number, void *userdata) {
        leader_mark(t->leader);
        for (size_t i = 0; pulls_of(t) && i < pulls_of(t)->n_asked; i++) {
                Puller *p = pulls_of(t)->list[i];

                if (p->call != number)
                        continue;
                p->call = 0;
                p->answered = answer != NULL;
                pulls_of(t)->n_open--;
                pulls_of(t)->n_answered += p->answered;
                if (answer && *answer->error)
                        p->why = strdup(answer->error);
                break;
        }
}

// With what the registry is to see by the file: if that cannot be had, the host cannot have the image.
static int ask_node(PendingRequest *t, Puller *p, Node *n) {
        _cleanup_(image_auth_done) ImageAuth auth = {};
        int r = image_auth_open(t->leader, p->auth, &auth, &p->why);
        const NodeImageQuestion question = {
                .image = p->key + p->image, .pull = true, .registry_auth = auth.value};

        if (r == 0)
                r = node_calls_ask_image(t->leader, t, n, &question, on_pulled, t, &p->call);
        pulls_of(t)->n_open += r == 0;
        return r == -EINVAL ? 0 : r;
}

// Who cannot be asked has its turn when it is back, and pulls then.
static int ask(PendingRequest *t, Puller *p) {
        Node *n = node_find(t->leader, p->node);

        if (!n || !node_calls_knows_names(n))
                return 0;
        p->n_asked++;
        return ask_node(t, p, n);
}

// Those that could not be asked, or went with their answer: they may be back.
static int ask_again(PendingRequest *t, ImagePulls *all) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < all->n && all->n_open < PULLS_MAX; i++) {
                Puller *p = all->list[i];

                if (!p->call && !p->answered && !p->why && p->n_asked < ASKED_MAX)
                        r = ask(t, p);
        }
        return r;
}

int image_pulls_ask(PendingRequest *t) {
        ImagePulls *all = pulls_of(t);
        int r = 0;

        if (!all)
                return 0;
        while (r == 0 && all->n_asked < all->n && all->n_open < PULLS_MAX)
                r = ask(t, all->list[all->n_asked++]);
        if (r == 0 && all->n_asked == all->n && all->n_open == 0 && all->n_answered < all->n)
                r = ask_again(t, all);
        return r < 0 ? r : all->n_open > 0 || all->n_asked < all->n;
}

// ------------------------------------------------------------------------------------------- of a rollout

typedef struct Listing {
        PendingRequest *pending;
        const Argosy__Request__Rollout *rollout;
        UnitFile *file;        // that it brings; NULL: units keep what they have
        char *image;           // of that; NULL: it has none that a registry has
        const SpecEntry *last; // the content of a unit that was looked at last
        char *last_image;      // its image, likewise
} Listing;

static void listing_done(Listing *l) {
        free(l->image);
        free(l->last_image);
        unit_file_free(l->file);
}

// The image that the unit is to have. *ret->image NULL: none that a registry has.
static int wish_of_unit(Listing *l, const UnitEntry *e, ImageWish *ret) {
        const UnitFile *file;
        int r = 0;

        if (l->file) {
                *ret = (ImageWish){l->image, l->file->registry_auth};
                return 0;
        }
        if (l->last != e->spec) {
                free(TAKE_PTR(l->last_image));
                r = content_image_of(e->record->name, e->spec->content, e->spec->len, &l->last_image);
                l->last = r == 0 ? e->spec : NULL;
        }
        *ret = (ImageWish){.image = l->last_image};
        if (r == 0 && l->last_image && spec_entry_file(e->spec, &file) == 0)
                ret->registry_auth = file->registry_auth;
        return r;
}

// What is to run there needs the image. Of a unit that is down another node may be chosen, which pulls it
// then.
static int add_nodes_of(Listing *l, const Unit *u) {
        const UnitEntry *e = u ? cluster_state_find_unit(l->pending->leader->state, u->name) : NULL;
        ImagePulls *pulls = pulls_of(l->pending);
        ImageWish wish;
        Puller *ignored;
        int r;

        if (!e || e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return 0;
        r = wish_of_unit(l, e, &wish);
        if (r < 0 || !wish.image)
                return r;
        if (!e->record->global)
                return u->node ? add_puller(pulls, u->node->number, &wish, &ignored) : 0;
        list_foreach (i, &u->on_nodes)
                if (r == 0)
                        r = add_puller(pulls, CONTAINER_OF(i, UnitOnNode, by_unit)->node->number, &wish,
                                       &ignored);
        return r;
}

static int look_at(const Unit *u, SurveyedUnit *ret, void *userdata) {
        return add_nodes_of(userdata, u);
}

// Of a template's instances all are containers, or none is.
static bool is_of_containers(const DisruptionBudget *g, const Leader *l) {
        const Unit *u = g && !list_is_empty(&g->units) ? CONTAINER_OF(g->units.next, Unit, of_budget) : NULL;
        const UnitEntry *e = u ? cluster_state_find_unit(l->state, u->name) : NULL;

        return e && quadlet_is(e->spec->content, e->spec->len);
}

// A unit may have been started, or have got another node, while the request waited: also those hosts are
// asked. Those of a larger group pull when they have their turn.
static int list_again(Listing *l, DisruptionBudget *g) {
        size_t n = 0;
        int r = 0;

        if (!g)
                return add_nodes_of(l, unit_find(l->pending->leader, l->rollout->name));
        list_foreach (i, &g->units)
                if (r == 0 && n++ < LOOKS_AGAIN)
                        r = add_nodes_of(l, CONTAINER_OF(i, Unit, of_budget));
        return r;
}

// -EBUSY: the group has more units than one turn looks at, and it is to be called again in the next one.
static int list_pullers(Listing *l) {
        Leader *leader = l->pending->leader;
        const Argosy__Request__Rollout *m = l->rollout;
        DisruptionBudget *g = unit_name_kind(m->name, NULL) == UNIT_NAME_TEMPLATE
                                      ? disruption_budget_find(leader, m->name)
                                      : NULL;
        Surveyed all;
        int r;

        if (g && !l->file && !is_of_containers(g, leader))
                r = 0;
        else if (pulls_of(l->pending)->listed)
                return list_again(l, g);
        else
                r = g ? rollout_survey(leader, g, m->id.data, look_at, l, &all)
                      : add_nodes_of(l, unit_find(leader, m->name));

        pulls_of(l->pending)->listed = r == 0;
        return r;
}

static const Puller *first_failed(const ImagePulls *p, size_t *ret_n) {
        const Puller *first = NULL;

        *ret_n = 0;
        for (size_t i = 0; i < p->n; i++)
                if (p->list[i]->why) {
                        first = first ?: p->list[i];
                        (*ret_n)++;
                }
        return first;
}

// Those that leave.
static int note_failed(PendingRequest *t) {
        ImagePulls *p = pulls_of(t);

        free(p->without);
        p->without = calloc(p->n ?: 1, sizeof(*p->without));
        if (!p->without)
                return -ENOMEM;
        t->without.nodes = p->without;
        t->without.n = 0;
        for (size_t i = 0; i < p->n; i++)
                if (p->list[i]->why) {
                        t->without.nodes[t->without.n++] = p->list[i]->node;
                        t->without.why = p->list[i]->why;
                }
        return 0;
}

// One that cannot be read is refused by the plan.
static int read_file(const char *unit, const Argosy__NamedFile *f, Listing *l) {
        int r = content_image_of(unit, f->content.data, f->content.len, &l->image);

        if (r < 0 || !l->image)
                return r;
        r = unit_file_parse(f->name, f->content.data, f->content.len, &l->file, NULL);
        if (r < 0)
                free(TAKE_PTR(l->image));
        return r == -ENOMEM ? r : 0;
}

// Hosts that are to be asked, and again if the cluster has changed since. 0; -EBUSY; -ENOMEM.
static int list(PendingRequest *t, const Argosy__Request__Rollout *m) {
        _cleanup_(listing_done) Listing l = {.pending = t, .rollout = m};
        bool updates = m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        uint64_t revision = cluster_state_revision(t->leader->state);
        int r = begin(t);

        if (r < 0 || (pulls_of(t)->listed && pulls_of(t)->revision == revision))
                return r;
        pulls_of(t)->revision = revision;
        if (updates && m->file)
                r = read_file(m->name, m->file, &l);
        if (r == 0 && updates && !l.image) {
                pulls_of(t)->listed = true;
                return 0;
        }
        return r < 0 ? r : list_pullers(&l);
}

int image_pulls_admit(PendingRequest *t, const Argosy__Request__Rollout *m) {
        const Puller *failed;
        size_t n_failed;
        int r;

        // The plan refuses an id of another length. What was done before is planned for the answer alone.
        if (m->abort || t->lent || m->id.len != ROLLOUT_ID_SIZE || request_was_carried_out(t))
                return STEP_PASSED;
        r = list(t, m);
        if (r == 0)
                r = image_pulls_ask(t);
        if (r != 0)
                return r < 0 ? r : PLAN_SETTLED;
        failed = first_failed(pulls_of(t), &n_failed);
        if (!failed || n_failed < pulls_of(t)->n)
                return failed && note_failed(t) < 0 ? -ENOMEM : STEP_PASSED;
        return request_repeats_refuse(
                t, response_error(EIO, "%s: no host can have %s image, so nothing was changed: %s", m->name,
                                  m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE ? "its new" : "its",
                                  failed->why));
}
