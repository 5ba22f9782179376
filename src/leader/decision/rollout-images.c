// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   an update, a rolling restart -> what runs of its units, and where -> the image that each is to have
//   -> its host is asked (image-pulls.h) -> hosts that cannot have it leave, and the request is decided
//
// A rolling restart asks as well, for somebody may have removed an image. The units of hosts that cannot
// have it are not touched (RolloutRecord.without), and whoever asked is told; if that is all of them,
// nothing is changed. Of this the log has only who is left out. What is listed is listed again when the
// cluster has changed since.
//
// A file that cannot be read is refused by the plan; one without an image that a registry has asks nobody.

#include "rollout-images.h"

#include <errno.h>
#include <stdlib.h>

#include "cluster-state.h"
#include "content-image.h"
#include "disruption-budget.h"
#include "image-pulls.h"
#include "message-of.h"
#include "quadlet.h"
#include "refusal-words.h"
#include "registry.h"
#include "rollout-survey.h"
#include "tables.h"
#include "unit-file.h"
#include "unit-name.h"

enum { LOOKS_AGAIN = 256 }; // units of a group that may be listed again in a turn, at about 1 us each

typedef struct RolloutImages {
        RequestWork work;
        bool listed;       // whoever needs an image is known to image-pulls.c
        uint64_t revision; // of the cluster, as of which that is so
        uint32_t *without; // PendingRequest.without.nodes
        char *why;         // PendingRequest.without.why
} RolloutImages;

static void images_free(PendingRequest *t, RequestWork *work) {
        RolloutImages *i = CONTAINER_OF(work, RolloutImages, work);

        free(i->without);
        free(i->why);
        free(i);
}

static const RequestWorkKind images_kind = {images_free};

// NULL: out of memory.
static RolloutImages *images_of(PendingRequest *t) {
        RequestWork *work = request_work(t, &images_kind);
        RolloutImages *i = work ? CONTAINER_OF(work, RolloutImages, work) : calloc(1, sizeof(*i));

        if (i && !work)
                request_add_work(t, &images_kind, &i->work);
        return i;
}

// ------------------------------------------------------------------------------------------ whom to ask

typedef struct Listing {
        PendingRequest *pending;
        RolloutImages *images;
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
        const char *ignored;
        ImageWish wish;
        int r;

        if (!e || e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return 0;
        r = wish_of_unit(l, e, &wish);
        if (r < 0 || !wish.image)
                return r;
        if (!e->record->global)
                return u->node ? image_pulls_want(l->pending, u->node->number, &wish, &ignored) : 0;
        list_foreach (i, &u->on_nodes)
                if (r == 0)
                        r = image_pulls_want(l->pending,
                                             CONTAINER_OF(i, UnitOnNode, by_unit)->node->number, &wish,
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
        else if (l->images->listed)
                return list_again(l, g);
        else
                r = g ? rollout_survey(leader, g, m->id.data, look_at, l, &all)
                      : add_nodes_of(l, unit_find(leader, m->name));

        l->images->listed = r == 0;
        return r;
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
        _cleanup_(listing_done) Listing l = {.pending = t, .images = images_of(t), .rollout = m};
        bool updates = m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        uint64_t revision = cluster_state_revision(t->leader->state);
        int r = 0;

        if (!l.images)
                return -ENOMEM;
        if (l.images->listed && l.images->revision == revision)
                return 0;
        l.images->revision = revision;
        if (updates && m->file)
                r = read_file(m->name, m->file, &l);
        if (r == 0 && updates && !l.image) {
                l.images->listed = true;
                return 0;
        }
        return r < 0 ? r : list_pullers(&l);
}

// ------------------------------------------------------------------------------------------ who leaves

// What the hosts that cannot have it say. NULL: out of memory.
static char *words_of_failed(const PendingRequest *t) {
        size_t n = image_pulls_count(t), n_failed = 0, at = 0;
        _cleanup_free_ Argosy__Refusal *list = calloc(n + 1, sizeof(*list));
        _cleanup_free_ Argosy__Refusal **pointers = calloc(n + 1, sizeof(*pointers));
        const char *why;
        uint32_t node;

        while (list && pointers && (why = image_pulls_next_failed(t, &at, &node))) {
                const Node *of = node_find(t->leader, node);

                list[n_failed] = (Argosy__Refusal) MESSAGE_OF(
                        refusal, .node = of ? of->name : (char *) "a node that went",
                        .reason = (char *) why);
                pointers[n_failed] = &list[n_failed];
                n_failed++;
        }
        return list && pointers ? refusal_words(pointers, n_failed) : NULL;
}

// Those whose hosts cannot have it. Returns how many, or -ENOMEM.
static int note_failed(PendingRequest *t) {
        RolloutImages *i = images_of(t);
        size_t n = image_pulls_count(t), at = 0;
        uint32_t node;

        if (!i)
                return -ENOMEM;
        free(i->without);
        i->without = calloc(n ?: 1, sizeof(*i->without));
        if (!i->without)
                return -ENOMEM;
        t->without.nodes = i->without;
        t->without.n = 0;
        while (image_pulls_next_failed(t, &at, &node))
                t->without.nodes[t->without.n++] = node;
        free(i->why);
        t->without.why = i->why = words_of_failed(t);
        return i->why ? (int) t->without.n : -ENOMEM;
}

static bool has_any_failed(const PendingRequest *t) {
        size_t at = 0;
        uint32_t node;

        return image_pulls_next_failed(t, &at, &node);
}

int rollout_images_admit(PendingRequest *t, const Argosy__Request__Rollout *m) {
        int r;

        // The plan refuses an id of another length. What was done before is planned for the answer alone.
        if (m->abort || t->lent || m->id.len != ROLLOUT_ID_SIZE || request_was_carried_out(t))
                return STEP_PASSED;
        r = list(t, m);
        if (r == 0)
                r = image_pulls_ask(t);
        if (r != 0)
                return r < 0 ? r : PLAN_SETTLED;
        if (!has_any_failed(t))
                return STEP_PASSED;
        r = note_failed(t);
        if (r < 0 || (size_t) r < image_pulls_count(t))
                return MIN_OF(r, STEP_PASSED);
        return request_refuse(t, EREMOTEIO, "%s: no host can have %s image, so nothing was changed: %s",
                              m->name, m->kind == ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE ? "its new" : "its",
                              t->without.why);
}
