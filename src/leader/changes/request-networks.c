// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A unit gets another file of a network, or its container another name: all others that have the former file
// get that one in the same entry, whatever the request says of them, since a node has one network of each
// name (messages/network-change.h). Who has a third file of that name has another network, elsewhere.
//
//      what the unit is to have -> which networks differ? -> who has them (ChangeOps.each_sharer)
//          -> their contents with that file, and their records -> a word in the unit's result
//          -> they count with that on their nodes -> then the unit is placed (request.c)
//
// A unit that comes to a network goes where nobody has another file of it: if it is on a node where somebody
// has, it gets another one. While an update changes a network nobody comes to its two files.
//
// Two of one request that have two files of a network on one node cannot both be: the later one is refused.
// If it is another request's, the later one has its turn in the next entry, and finds what there is. Who has
// come along with another unit is put once, so it does not get the file of a second network.
//
// A unit that comes with a file of its own later in the request gets this one until then, as it may be
// refused, also in an apply; the batch has a claim for its name, so it has its turn nevertheless
// (request_has_only_shared()). Those that share are not started: what runs is stopped and started by its
// node, once. Should one not start, the job brings the former content back to all (jobs/reverts.c).
//
// Failures: UNIT_REFUSED: one of them cannot have it now, then the unit cannot either; -EBUSY, -ENOMEM.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
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
        NetworkChange *change;
        char *names; // of the networks
        Argosy__Response__UnitResult *result;
        char *first;
        size_t n;
        const SpecEntry *seen; // the content of the last sharer, as thousands may have it: whether it
        bool concerns;         // has the former file of a network, and
        Hash next;             // what it becomes; zero: not known
        UnitFile *file;        // what that means; NULL: nothing
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
        const ChangeAim *aim = p->ops->aim ? p->ops->aim(name, p->userdata) : NULL; // NULL: not named

        return aim && aim->remove;
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

// A word of the batch: this unit has that file by it.
static int file_claim(const char *name, const ChangedNetwork *w, Hash *ret) {
        char of[HASH_HEX_SIZE];
        _cleanup_free_ char *word = NULL;

        hash_hex(&w->of, HASH_SIZE, of);
        word = str_printf("%s has %s as %s", name, w->file, of);
        if (!word)
                return -ENOMEM;
        *ret = hash_of(word, strlen(word));
        return 0;
}

static int claim_files(Sharing *s, const char *name) {
        int r = 0;

        for (size_t i = 0; i < s->change->n && r == 0; i++) {
                Hash claim;

                r = file_claim(name, &s->change->list[i], &claim);
                r = r < 0 || batch_builder_has_claim(s->p->batch, claim.bytes, HASH_SIZE)
                            ? r
                            : batch_builder_claim(s->p->batch, claim.bytes, HASH_SIZE);
        }
        return r;
}

// A unit is put once into an entry. What is named has, or gets, what it came with (request_meet_others());
// what is not has come along, with the files that whoever brought it has.
static int meet_along(Sharing *s, const UnitEntry *e) {
        int r = request_names(s->p, e->record->name);

        if (r != 0)
                return r < 0 ? r : 0;
        for (size_t i = 0; i < s->change->n && r == 0; i++) {
                NetworkChange one = {.list = &s->change->list[i], .n = 1};
                Hash claim;

                r = file_claim(e->record->name, one.list, &claim);
                if (r == 0 && network_change_concerns(&one, e->spec) &&
                    !batch_builder_has_claim(s->p->batch, claim.bytes, HASH_SIZE))
                        return refuse(s, EEXIST, e->record->name,
                                      "which the same request changes for another one: one after the other");
        }
        return r;
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
        return batch_builder_put_unit(s->p->batch, &next, 0, 0) ?: claim_files(s, next.name);
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
                s->file = unit_file_free(s->file);
        }
        return s->concerns;
}

// Of the content that was seen last.
static int put_content(Sharing *s, const char *name, char **ret_why) {
        _cleanup_buf_ Buf text = {};
        int r;

        if (!hash_is_zero(&s->next))
                return 0;
        r = network_change_text(s->change, s->seen, &text);
        if (r == 0)
                r = unit_file_parse(name, text.data, text.len, &s->file, NULL);
        if (r == 0 || r == -EINVAL)
                r = network_change_put(s->change, s->p->batch, s->p->state, s->seen, &s->next, ret_why);
        return r;
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

// On its node it counts with that by now.
static int tell_node(Sharing *s, const UnitEntry *e) {
        Planner *p = s->p;
        const Argosy__UnitRecord *u = e->record;
        ToldSharer t = {.node = u->node};
        int r;

        if (!p->ops->stays || !s->file || u->node == 0 || u->global)
                return 0;
        r = unit_file_expand(s->file, u->name, u->name, &t.options, NULL);
        if (r < 0)
                return r == -EINVAL ? 0 : r; // it demands nothing then
        t.name = strdup(u->name);
        if (!t.name || ARRAY_GROW(p->told, p->told_allocated, p->n_told + 1) < 0) {
                free(t.name);
                unit_options_unref(t.options);
                return -ENOMEM;
        }
        p->ops->stays(t.name, t.options, t.node, p->userdata);
        p->told[p->n_told++] = t;
        return 0;
}

static void told_sharer_done(ToldSharer *t) {
        free(t->name);
        unit_options_unref(t->options);
}

void request_sharers_take_back(Planner *p, const char *name) {
        size_t n = 0;

        for (size_t i = 0; i < p->n_told; i++) {
                ToldSharer *t = &p->told[i];

                if (!batch_builder_has_unit(p->batch, t->name)) {
                        if (p->ops->unplace)
                                p->ops->unplace(t->name, p->userdata);
                        told_sharer_done(t);
                        continue;
                }
                if (name && streq(t->name, name))
                        p->ops->stays(t->name, t->options, t->node, p->userdata);
                p->told[n++] = *t;
        }
        p->n_told = n;
}

void request_sharers_done(Planner *p) {
        for (size_t i = 0; i < p->n_told; i++)
                told_sharer_done(&p->told[i]);
        free(p->told);
}

// One unit, with all networks that change.
static int share(Sharing *s, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(s->p->state, name);
        char refusal[CLUSTER_REFUSAL_SIZE];
        _cleanup_free_ char *why = NULL;
        bool own;
        int r;

        if (!e || streq(name, s->name) || !concerns(s, e->spec))
                return 0;
        if (batch_builder_has_unit_since(s->p->batch, name, s->p->start))
                return meet_along(s, e);
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
        r = put_content(s, name, &why);
        r = r < 0 ? r : put_record(s, e, &s->next);
        if (r == 0 && own)
                r = claim_turn(s, name);
        if (r == 0)
                r = tell_node(s, e);
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

// ------------------------------------------------------------------------------------------- two on a node

static bool is_planned(const char *name, void *userdata) {
        const Planner *p = userdata;

        return batch_builder_has_unit(p->batch, name) && !is_to_go(p, name);
}

static bool stays_there(const char *name, void *userdata) {
        return !is_to_go(userdata, name);
}

// Somebody of the entry has another one there. UNIT_REFUSED, -EBUSY.
static int refuse_beside_planned(const Planner *p, const char *name, Argosy__Response__UnitResult *result) {
        const char *claim, *other = p->ops->find_other(name, is_planned, (void *) p, &claim, p->userdata);
        int r;

        if (!other)
                return 0;
        if (!batch_builder_has_unit_since(p->batch, other, p->start))
                return -EBUSY;
        result->status = EINVAL;
        r = field_printf(&result->message, "%s has another %.*s by the same request, and %s on its node",
                         other, (int) strcspn(claim, "="), claim,
                         streq(name, result->name) ? "is" : name);
        return r < 0 ? r : UNIT_REFUSED;
}

int request_meet_others(Planner *p, const char *name, bool stays, char ret_met[static REQUEST_MET_SIZE],
                        Argosy__Response__UnitResult *result) {
        const char *claim, *other = NULL;
        int r = p->ops->find_other ? refuse_beside_planned(p, name, result) : 0;

        if (r == 0 && !stays && p->ops->find_other)
                other = p->ops->find_other(name, stays_there, p, &claim, p->userdata);
        if (other)
                str_fit(ret_met, REQUEST_MET_SIZE, "%s there has another %.*s", other,
                        (int) strcspn(claim, "="), claim);
        return r;
}

static int share_with_each(Sharing *s) {
        const NetworkChange *c = s->change;
        size_t first = s->p->n_told;

        if (c->n == 0)
                return 0;
        s->names = network_change_names(c, ", ");
        s->r = s->names ? 0 : -ENOMEM;
        for (size_t i = 0; i < c->n && s->r == 0; i++)
                s->p->ops->each_sharer(c->list[i].file, on_sharer, s, s->p->userdata);
        for (size_t i = first; i < s->p->n_told && s->r == 0 && s->p->ops->find_other; i++)
                s->r = refuse_beside_planned(s->p, s->p->told[i].name, s->result);
        return s->r ?: tell(s);
}

// ------------------------------------------------------------------------------------------ who comes to it

static const char wait_for_it[] = "wait for its end, or end it with `argosyctl update --abort`";

typedef struct Coming {
        Sharing *s;
        const UnitEntry *u; // NULL: it is new
} Coming;

static int meet_update(const NamedNetwork *network, void *userdata) {
        const Coming *c = userdata;
        const Planner *p = c->s->p;
        Argosy__Response__UnitResult *result = c->s->result;
        Hash of = quadlet_beside_hash(&network->part);
        bool has = c->u && !network->is_new &&
                   !quadlet_beside_is_other(c->u->spec->content, c->u->spec->len, network->file, &of);
        const char *update = has || !p->ops->find_network_update
                                     ? NULL
                                     : p->ops->find_network_update(network->file, &of, p->userdata);
        int r;

        if (!update)
                return 0;
        result->status = EEXIST;
        r = field_printf(&result->message, "%s is being changed by an update of %s; %s", network->file,
                         update, wait_for_it);
        return r < 0 ? r : UNIT_REFUSED;
}

static int share_all(Planner *p, const UnitEntry *u, const ChangeContent *next,
                     Argosy__Response__UnitResult *result) {
        NetworkChange change = {};
        Sharing s = {.p = p, .name = result->name, .change = &change, .result = result};
        int r = 0;

        if (u)
                r = network_change_of(s.name, u->spec->content, u->spec->len, next->text, next->len,
                                      &change);
        r = r ?: network_change_each_named(next->file->networks, next->text, next->len, u ? u->spec : NULL,
                                           meet_update, &(Coming){&s, u});
        r = r ?: share_with_each(&s);
        free(s.names);
        free(s.first);
        unit_file_free(s.file);
        network_change_done(&change);
        return r;
}

// --------------------------------------------------------------------------------------------- of instances

static bool is_same_step(const ContentStep *a, const ContentStep *b) {
        return hash_equal(&a->before, &b->before) && hash_equal(&a->next, &b->next);
}

// As another instance was, of the same content and from the same one. What went along with others since may
// only have become more. UNIT_REFUSED.
static int refuse_unshared(const Planner *p, const ContentStep *step, Argosy__Response__UnitResult *result) {
        const Unshared *other = &p->unshared;
        int r;

        if (other->status == 0 || p->n_along < other->n_along || !is_same_step(&other->step, step))
                return 0;
        r = unit_result_fail(result, other->status, other->message);
        return r < 0 ? r : UNIT_REFUSED;
}

static int note_unshared(Planner *p, const ContentStep *step, const Argosy__Response__UnitResult *result) {
        free(p->unshared.message);
        p->unshared = (Unshared){.status = result->status,
                                 .message = strdup(result->message),
                                 .step = *step,
                                 .n_along = p->n_along_before};
        return p->unshared.message ? UNIT_REFUSED : -ENOMEM;
}

int request_share_networks(Planner *p, const UnitEntry *u, const Source *source, const UnitOptions *options,
                           Argosy__Response__UnitResult *result) {
        bool instance = unit_name_kind(result->name, NULL) == UNIT_NAME_INSTANCE;
        const ContentStep step = {.before = u ? u->spec->hash : (Hash){}, .next = source->hash};
        ChangeContent next = {.file = source->file};
        int r;

        if (!p->ops->each_sharer || !source->file->container || !request_find_text(p, source, &next) ||
            (u && hash_equal(&u->spec->hash, &source->hash)))
                return 0;
        r = instance ? refuse_unshared(p, &step, result) : 0;
        if (r != 0 || (instance && is_same_step(&p->shared, &step)))
                return r; // with another instance
        if (u && u->record->node > 0 && !options->global && p->ops->stays)
                p->ops->stays(result->name, options, u->record->node, p->userdata);
        r = share_all(p, u, &next, result);
        if (r == 0 && instance)
                p->shared = step;
        return r == UNIT_REFUSED && instance ? note_unshared(p, &step, result) : r;
}
