// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A unit gets another file of a network, or its container another name: all others that name it get that
// file in the same entry, whatever the request says of them, since a node has one network of each name
// (messages/network-change.h).
//
//      the unit's record is in the batch -> which networks differ? -> who has them (ChangeOps.each_sharer)
//          -> their contents with that file, and their records -> a word in the unit's result
//
// A unit that is new, or has not named the network so far, comes to the file that others have: with another
// one it is refused, unless the request is to replace theirs. While an update changes a network nobody comes
// to it.
//
// A unit that has had its turn in the same request has the file that it came with, which is the same one. A
// unit that comes with one later in it gets this one until then, as it may be refused, also in an apply; the
// batch has a claim for its name, so it has its turn nevertheless (request_has_only_shared()). Those that
// share are not started: what runs is stopped and started by its node, once. Should one not start, the job
// brings the former content back to all (jobs/reverts.c).
//
// Failures: UNIT_REFUSED: one of them cannot have it now, then the unit cannot either; -EBUSY, -ENOMEM.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "network-change.h"
#include "planner.h"
#include "quadlet.h"
#include "request-ties.h"
#include "response.h"
#include "str.h"
#include "unit-file.h"
#include "unit-name.h"

typedef struct Sharing {
        Planner *p;
        const char *name; // who brings it
        NetworkChange *change; // NULL: it keeps what it has
        char *names; // of the networks
        Argosy__Response__UnitResult *result;
        char *first;
        size_t n;
        const SpecEntry *seen; // the content of the last sharer, as thousands may have it: whether it
        bool concerns;         // has another file of a network, and
        Hash next;             // what it becomes; zero: not known
        int r;
} Sharing;

static int refuse(Sharing *s, int status, const char *name, const char *why) {
        int r;

        s->result->status = status;
        r = field_printf(&s->result->message, "%s is shared with %s, %s", s->names, name, why);
        return r < 0 ? r : UNIT_REFUSED;
}

// Whether it gets a content of its own by this request; named without one, it would start with the old one.
static int has_own(Sharing *s, const char *name) {
        int r = request_names(s->p, name), file;

        if (r <= 0 || s->p->ops->aim)
                return r;
        file = request_find_file_of(s->p, name);
        if (file != -ENOENT)
                return file < 0 ? file : 1;
        return refuse(s, EINVAL, name, "which is named without a file: name that, too, or only that");
}

static bool is_to_go(const Planner *p, const char *name) {
        return p->ops->aim && p->ops->aim(name, p->userdata)->remove;
}

// A rollout knows one content before and one after.
static int refuse_during_rollout(Sharing *s, const UnitEntry *e) {
        _cleanup_free_ char *of = NULL;
        int r = request_is_rolled_out(s->p, e, &of);

        return r <= 0 ? r
                      : refuse(s, EEXIST, e->record->name,
                               "and an update or restart of that is under way; wait for its end, or end it "
                               "with `argosyctl update --abort`");
}

static int put_record(Sharing *s, const UnitEntry *e, const Hash *spec) {
        Argosy__UnitRecord next = *e->record;
        Argosy__Trial trial = ARGOSY__TRIAL__INIT;
        const ChangeOps *ops = s->p->ops;
        Argosy__UnitExtra extra;
        bool tried = next.target == ARGOSY__TARGET__TARGET_LAUNCHED && ops->is_up &&
                     ops->is_up(next.name, s->p->userdata);

        next.spec = (ProtobufCBinaryData){.data = (uint8_t *) spec->bytes, .len = HASH_SIZE};
        next.extra = unit_extra_with_trial(&extra, e->record, tried ? &trial : NULL);
        return batch_builder_put_unit(s->p->batch, &next, 0, 0);
}

// A verb that starts nothing stops nothing either.
static bool would_stop(const Planner *p, const UnitEntry *e) {
        Argosy__Verb verb = p->change->verb;
        Argosy__Target most = verb == ARGOSY__VERB__VERB_SUBMIT ? ARGOSY__TARGET__TARGET_INACTIVE
                              : verb == ARGOSY__VERB__VERB_LOAD ? ARGOSY__TARGET__TARGET_LOADED
                                                                : ARGOSY__TARGET__TARGET_LAUNCHED;

        return !p->ops->aim && e->record->target > most;
}

static bool concerns(Sharing *s, const SpecEntry *spec) {
        if (s->seen != spec) {
                s->seen = spec;
                s->concerns = network_change_concerns(s->change, spec);
                s->next = (Hash){};
        }
        return s->concerns;
}

// Of the content that was seen last.
static int put_content(Sharing *s, char **ret_why) {
        return hash_is_zero(&s->next) ? network_change_put(s->change, s->p->batch, s->p->state, s->seen,
                                                           &s->next, ret_why)
                                      : 0;
}

typedef struct SharerClaim {
        size_t len;
        char word[sizeof("shares ") + UNIT_NAME_MAX];
} SharerClaim;

static SharerClaim sharer_claim(const char *name) {
        SharerClaim c;

        snprintf(c.word, sizeof(c.word), "shares %s", name);
        c.len = strlen(c.word);
        return c;
}

bool request_has_only_shared(const Planner *p, const char *name) {
        SharerClaim c = sharer_claim(name);

        return batch_builder_has_claim(p->batch, c.word, c.len);
}

// Its own turn comes later.
static int claim_turn(Sharing *s, const char *name) {
        SharerClaim c = sharer_claim(name);

        return batch_builder_claim(s->p->batch, c.word, c.len);
}

// One unit, with all networks that change.
static int share(Sharing *s, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(s->p->state, name);
        char refusal[CLUSTER_REFUSAL_SIZE];
        _cleanup_free_ char *why = NULL;
        bool own;
        int r;

        if (!e || streq(name, s->name) || !concerns(s, e->spec) ||
            batch_builder_has_unit_since(s->p->batch, name, s->p->start))
                return 0;
        r = has_own(s, name);
        if (r < 0 || s->result->status != 0)
                return r;
        own = r == 1;
        if (own && is_to_go(s->p, name))
                return 0;
        if (batch_builder_has_unit(s->p->batch, name))
                return -EBUSY;
        if (would_stop(s->p, e))
                return refuse(s, EEXIST, name,
                              "which would have to stop for it: `start --replace` or `update` does that");
        r = refuse_during_rollout(s, e);
        if (r != 0)
                return r;
        if (++s->p->n_along > REQUEST_TIED_MAX)
                return refuse(s, E2BIG, name,
                              "and with more units than one request may change with it: `update` does that "
                              "node by node");
        r = put_content(s, &why);
        r = r < 0 ? r : put_record(s, e, &s->next);
        if (r == 0 && own)
                r = claim_turn(s, name);
        if (r == -EDQUOT)
                return refuse(s, ENOSPC, name,
                              cluster_refusal_words(s->p->batch->state, s->p->batch->refusal, refusal));
        if (r == -EINVAL)
                return refuse(s, EINVAL, name, why ?: "whose files cannot be");
        if (r < 0)
                return r;
        if (unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE)
                return 0;
        s->first = s->first ?: strdup(name);
        s->n++;
        return s->first ? 0 : -ENOMEM;
}

static void on_sharer(const char *name, void *userdata) {
        Sharing *s = userdata;

        if (s->r == 0)
                s->r = share(s, name);
}

static int tell(Sharing *s) {
        Argosy__Response__UnitResult *result = s->result;
        char more[48] = "";

        if (s->n == 0)
                return 0;
        if (s->n > 1)
                snprintf(more, sizeof(more), " and %zu more", s->n - 1);
        return field_printf(&result->message, "%s%s%s is another one for %s%s, too, which %s it",
                            result->message, *result->message ? "; " : "", s->names, s->first, more,
                            s->n > 1 ? "share" : "shares");
}

static int share_with_each(Sharing *s) {
        const NetworkChange *c = s->change;

        if (c->n == 0)
                return 0;
        s->names = network_change_names(c, ", ");
        s->r = s->names ? 0 : -ENOMEM;
        for (size_t i = 0; i < c->n && s->r == 0; i++)
                s->p->ops->each_sharer(c->list[i].file, on_sharer, s, s->p->userdata);
        return s->r ?: tell(s);
}

static const char wait_for_it[] = "wait for its end, or end it with `argosyctl update --abort`";

// Of the batch: two that come at once. UNIT_REFUSED; -EBUSY: the other one is another request's, which the
// cluster has by the next entry.
static int meet_planned(Sharing *s, const char *file, const Hash *of) {
        const ChangeOps *ops = s->p->ops;
        const char *other = NULL;
        int r = ops->note_network ? ops->note_network(file, of, s->name, &other, s->p->userdata) : 0;

        if (r != 1)
                return r;
        if (!batch_builder_has_unit_since(s->p->batch, other, s->p->start))
                return -EBUSY;
        s->result->status = EINVAL;
        r = field_printf(&s->result->message, "%s is another one for %s in the same request", file, other);
        return r < 0 ? r : UNIT_REFUSED;
}

static int meet_update(Sharing *s, const char *file) {
        const ChangeOps *ops = s->p->ops;
        const char *update =
                ops->find_network_update ? ops->find_network_update(file, s->p->userdata) : NULL;
        int r;

        if (!update)
                return 0;
        s->result->status = EEXIST;
        r = field_printf(&s->result->message, "%s is being changed by an update of %s; %s", file, update,
                         wait_for_it);
        return r < 0 ? r : UNIT_REFUSED;
}

// One network that the unit has not named so far.
static int meet(Sharing *s, const NamedNetwork *network, const Hash *of) {
        const Planner *p = s->p;
        const char *file = network->file;
        const char *other =
                p->ops->find_sharer ? p->ops->find_sharer(file, s->name, p->userdata) : NULL;
        const UnitEntry *e = other ? cluster_state_find_unit(p->state, other) : NULL;
        int r = meet_update(s, file);

        if (r != 0 || !e || !quadlet_beside_is_other(e->spec->content, e->spec->len, file, of))
                return r;
        if (p->change->replace || p->ops->aim)
                return network_change_add(s->change, file, &network->part);
        s->result->status = EEXIST;
        r = field_printf(&s->result->message,
                         "%s is another one for %s, and a node has one network of a name: call it "
                         "otherwise, or change it for all that have it (`start --replace`)",
                         file, other);
        return r < 0 ? r : UNIT_REFUSED;
}

static int meet_one(const NamedNetwork *network, void *userdata) {
        Hash of = quadlet_beside_hash(&network->part);
        Sharing *s = userdata;
        int r = meet_planned(s, network->file, &of);

        return r != 0 || !s->change || !network->is_new ? r : meet(s, network, &of);
}

int request_keep_networks(Planner *p, const char *name, const ChangeContent *content,
                          Argosy__Response__UnitResult *result) {
        Sharing s = {.p = p, .name = name, .result = result};

        return p->ops->each_sharer ? network_change_each_named(content->file->networks, content->text,
                                                               content->len, NULL, meet_one, &s)
                                   : 0;
}

int request_share_networks(Planner *p, const char *name, const UnitEntry *u, const ChangeContent *next,
                           Argosy__Response__UnitResult *result) {
        NetworkChange change = {};
        Sharing s = {.p = p, .name = name, .change = &change, .result = result};
        int r = 0;

        if (!p->ops->each_sharer)
                return 0;
        if (u)
                r = network_change_of(name, u->spec->content, u->spec->len, next->text, next->len, &change);
        r = r ?: network_change_each_named(next->file->networks, next->text, next->len, u ? u->spec : NULL,
                                           meet_one, &s);
        r = r ?: share_with_each(&s);
        free(s.names);
        free(s.first);
        network_change_done(&change);
        return r;
}
