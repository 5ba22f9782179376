// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   an update with a new image -> the nodes on which its units are to run -> each is asked to have the image
//   (ToHost.Call.pull), PULLS_MAX at a time -> those that cannot leave the update -> it begins
//
// So nothing is stopped before all hosts have what they need. The units of those that cannot have it are not
// touched (RolloutRecord.without), and whoever asked is told; if that is all of them, nothing is changed. Of
// this the log has only who is left out: a leader that goes takes its questions with it, and the request
// comes again to the next one, for which hosts have most of it already.
//
// A host that cannot be asked is not waited for: what is there has its turn when it is back, and pulls then.
// So does a unit that another node is found for meanwhile.

#include "image-pulls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cluster-state.h"
#include "content-image.h"
#include "disruption-budget.h"
#include "image-auth.h"
#include "node-calls.h"
#include "nodes.h"
#include "registry.h"
#include "response.h"
#include "rollout-survey.h"
#include "tables.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-name.h"

enum { PULLS_MAX = 5 }; // hosts that pull for an update at a time

typedef struct Puller {
        uint32_t node;
        uint64_t call; // 0: it is not asked at present
        bool asked;
        char *why; // it does not have it; NULL: it does, if it was asked
} Puller;

typedef struct ImagePulls {
        TicketWork work;
        Puller *list;
        size_t n, allocated;
        bool listed;       // these are all
        uint32_t *without; // Ticket.without.nodes
} ImagePulls;

static void pulls_free(Ticket *t, TicketWork *work) {
        ImagePulls *p = CONTAINER_OF(work, ImagePulls, work);

        for (size_t i = 0; i < p->n; i++)
                free(p->list[i].why);
        free(p->list);
        free(p->without);
        free(p);
}

static const TicketWorkKind pulls_kind = {pulls_free};

// NULL: no host is asked.
static ImagePulls *pulls_of(const Ticket *t) {
        TicketWork *work = ticket_work(t, &pulls_kind);

        return work ? CONTAINER_OF(work, ImagePulls, work) : NULL;
}

static size_t count_open(const ImagePulls *p) {
        size_t n = 0;

        for (size_t i = 0; i < p->n; i++)
                n += p->list[i].call != 0;
        return n;
}

bool image_pulls_wait(const Ticket *t) {
        const ImagePulls *p = pulls_of(t);
        size_t n = p ? count_open(p) : 0;

        return n >= PULLS_MAX || (n > 0 && p->list[p->n - 1].asked);
}

// 0 or -ENOMEM.
static int begin(Ticket *t) {
        ImagePulls *p = calloc(1, sizeof(*p));

        if (!p)
                return -ENOMEM;
        ticket_add_work(t, &pulls_kind, &p->work);
        return 0;
}

// ---------------------------------------------------------------------------------------------- whom to ask

static int add_puller(ImagePulls *p, const Node *n) {
        int r;

        for (size_t i = 0; i < p->n; i++)
                if (p->list[i].node == n->number)
                        return 0;
        r = ARRAY_GROW(p->list, p->allocated, p->n + 1);
        if (r == 0)
                p->list[p->n++] = (Puller){.node = n->number};
        return r;
}

// What is to run there needs the image. Of a unit that is down another node may be chosen, which pulls it
// then.
static int add_nodes_of(Ticket *t, const Unit *u) {
        const UnitEntry *e = u ? cluster_state_find_unit(t->leader->state, u->name) : NULL;
        int r = 0;

        if (!e || e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return 0;
        if (!e->record->global)
                return u->node ? add_puller(pulls_of(t), u->node) : 0;
        list_foreach (i, &u->on_nodes)
                if (r == 0)
                        r = add_puller(pulls_of(t), CONTAINER_OF(i, UnitOnNode, by_unit)->node);
        return r;
}

static int look_at(const Unit *u, SurveyedUnit *ret, void *userdata) {
        return add_nodes_of(userdata, u);
}

// -EBUSY: the group has more units than one turn looks at, and it is to be called again in the next one.
static int list_pullers(Ticket *t) {
        const Argosy__Request__Rollout *m = t->request->rollout;
        DisruptionBudget *g = unit_name_kind(m->name, NULL) == UNIT_NAME_TEMPLATE
                                      ? disruption_budget_find(t->leader, m->name)
                                      : NULL;
        Surveyed all;
        int r = g ? rollout_survey(t->leader, g, m->id.data, look_at, t, &all)
                  : add_nodes_of(t, unit_find(t->leader, m->name));

        pulls_of(t)->listed = r == 0;
        return r;
}

static void on_pulled(Ticket *t, Node *n, const Argosy__ToVoter__ImageAnswer *answer, uint64_t number,
                      void *userdata) {
        leader_mark(t->leader);
        for (size_t i = 0; pulls_of(t) && i < pulls_of(t)->n; i++) {
                Puller *p = &pulls_of(t)->list[i];

                if (p->call != number)
                        continue;
                p->call = 0;
                if (answer && *answer->error)
                        p->why = strdup(answer->error);
        }
}

// Who cannot be asked has its turn when it is back, and pulls then.
static int ask_pullers(Ticket *t, const NodeImageQuestion *question) {
        size_t n = count_open(pulls_of(t));
        int r = 0;

        for (size_t i = 0; i < pulls_of(t)->n && n < PULLS_MAX && r == 0; i++) {
                Puller *p = &pulls_of(t)->list[i];
                Node *node = p->asked ? NULL : node_find(t->leader, p->node);

                p->asked = true;
                if (!node || !node_calls_knows_names(node))
                        continue;
                r = node_calls_ask_image(t->leader, t, node, question, on_pulled, t, &p->call);
                n++;
        }
        return r;
}

static const Puller *first_failed(const ImagePulls *p, size_t *ret_n) {
        const Puller *first = NULL;

        *ret_n = 0;
        for (size_t i = 0; i < p->n; i++)
                if (p->list[i].why) {
                        first = first ?: &p->list[i];
                        (*ret_n)++;
                }
        return first;
}

// What the file of the update runs, as podman is told: NULL: nothing that a registry has, or out of memory.
static char *pulled_image(const Ticket *t) {
        const Argosy__Request__Rollout *m = t->request->rollout;
        _cleanup_content_image_ ContentImage image = {};

        if (!m->file ||
            content_image_read(m->name, m->file->content.data, m->file->content.len, &image) < 0 ||
            !*image.digest || image.kind != CONTENT_IMAGE_TAG)
                return NULL;
        return content_image_pulled(image.name, image.digest);
}

// With what the registry is to see by that file. -EINVAL and *ret_why: that cannot be had.
static int ask_all(Ticket *t, const char *image, char **ret_why) {
        const Argosy__NamedFile *f = t->request->rollout->file;
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        _cleanup_(image_auth_done) ImageAuth auth = {};
        int r = unit_file_parse(f->name, f->content.data, f->content.len, &file, NULL);

        if (r == 0)
                r = image_auth_open(t->leader, file->registry_auth, &auth, ret_why);
        return r < 0 ? r
                     : ask_pullers(t, &(NodeImageQuestion){
                                              .image = image, .pull = true, .registry_auth = auth.value});
}

// Those that leave.
static int note_failed(Ticket *t) {
        ImagePulls *p = pulls_of(t);

        free(p->without);
        p->without = calloc(p->n ?: 1, sizeof(*p->without));
        if (!p->without)
                return -ENOMEM;
        t->without.nodes = p->without;
        t->without.n = 0;
        for (size_t i = 0; i < p->n; i++)
                if (p->list[i].why) {
                        t->without.nodes[t->without.n++] = p->list[i].node;
                        t->without.why = p->list[i].why;
                }
        return 0;
}

int image_pulls_admit(Ticket *t) {
        const Argosy__Request__Rollout *m = t->request->rollout;
        bool updates = t->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT && !m->abort && !t->lent &&
                       m->id.len == ROLLOUT_ID_SIZE; // the plan refuses any other one
        _cleanup_free_ char *image = updates ? pulled_image(t) : NULL, *why = NULL;
        const Puller *failed;
        size_t n_failed;
        int r = 0;

        if (!image)
                return STEP_PASSED;
        if (!pulls_of(t) && begin(t) < 0)
                return -ENOMEM;
        if (!pulls_of(t)->listed)
                r = list_pullers(t);
        if (r == 0)
                r = ask_all(t, image, &why);
        if (r == -EINVAL)
                return ticket_settle(t, response_error(EINVAL, "%s: %s; nothing was changed", m->name,
                                                       why ?: "its file cannot be read"));
        if (r < 0)
                return r;
        if (image_pulls_wait(t))
                return PLAN_SETTLED;
        failed = first_failed(pulls_of(t), &n_failed);
        if (!failed || n_failed < pulls_of(t)->n)
                return failed && note_failed(t) < 0 ? -ENOMEM : STEP_PASSED;
        return ticket_settle(
                t, response_error(EIO, "%s: no host can have its new image, so nothing was changed: %s",
                                  m->name, failed->why));
}
