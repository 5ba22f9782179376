// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   what runs is to get another image -> the nodes where that is (image_pulls_want()) -> each is asked to
//   have the image (ToHost.Call.pull), PULLS_MAX at a time -> the request is decided
//
// So nothing is stopped before all hosts have what they need: in an update and a rolling restart
// (rollout-images.c), in an undo and an apply, at once or a few units at a time, and in a `start --replace`.
// The units of those that cannot have it are not touched, and whoever asked is told. Nothing of this is in
// the log: a leader that goes takes its questions with it, and the request comes again to the next one, for
// which hosts have most of it already. A request of several entries asks for those of each.
//
// A host that cannot be asked is not waited for: what is there has its turn when it is back, and pulls then.
// If it is back while others are still asked, it is asked, too, also if it went with its answer.

#include "image-pulls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "image-auth.h"
#include "map.h"
#include "node-calls.h"
#include "nodes.h"
#include "registry.h"
#include "str.h"
#include "tables.h"
#include "turn.h"

enum {
        DIGEST_SHOWN = 8 + 12, // of "@sha256:" and 64 digits
        PULLS_MAX = 5, // hosts that pull for a request at a time
        ASKED_MAX = 3, // times that a host is asked which goes with its answer
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
        free(p);
}

// The first of those that are asked. Its image is shortened to what people compare by eye.
static void say(const Leader *l, const ImagePulls *p, Buf *what) {
        size_t i = 0;

        while (!p->list[i]->call)
                i++;
        const char *image = p->list[i]->key + p->list[i]->image, *digest = strstr(image, "@sha256:");
        const Node *n = node_find(l, p->list[i]->node);
        size_t most = digest ? (size_t) (digest - image) + DIGEST_SHOWN : SIZE_MAX;
        int shown = (int) MIN_OF(strlen(image), most);

        (void) buf_printf(what, "%s", n ? n->name : "a host");
        if (p->n_open > 1)
                (void) buf_printf(what, " and %zu more", p->n_open - 1);
        (void) buf_printf(what, " to pull %.*s", shown, image);
        if (p->n > 1)
                (void) buf_printf(what, " (%zu of %zu pulls are over)", p->n_answered, p->n);
}

static bool pulls_ask(const PendingRequest *t, const RequestWork *work, Buf *what) {
        const ImagePulls *p = CONTAINER_OF(work, const ImagePulls, work);
        bool asks = p->n_open >= PULLS_MAX || (p->n_open > 0 && p->n_asked == p->n);

        if (asks && what)
                say(t->leader, p, what);
        return asks;
}

static const RequestWorkKind pulls_kind = {pulls_free, pulls_ask};

// NULL: no host is asked.
static ImagePulls *pulls_of(const PendingRequest *t) {
        RequestWork *work = request_work(t, &pulls_kind);

        return work ? CONTAINER_OF(work, ImagePulls, work) : NULL;
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

// ----------------------------------------------------------------------------------------------- who failed

size_t image_pulls_count(const PendingRequest *t) {
        return pulls_of(t) ? pulls_of(t)->n : 0;
}

const char *image_pulls_next_failed(const PendingRequest *t, size_t *at, uint32_t *ret_node) {
        const ImagePulls *p = pulls_of(t);

        while (p && *at < p->n) {
                const Puller *puller = p->list[(*at)++];

                *ret_node = puller->node;
                if (puller->why)
                        return puller->why;
        }
        return NULL;
}
