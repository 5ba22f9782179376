// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   DUE_VOTER_SECRETS -> what the voters have said they have -> the records, in the next entry
//                            -> ToHost.VoterSecrets to those who lack some, this host among them
//
// It is due when a voter says what it has, which it does with each attach and when its disk has failed, when
// the log's records change, and when a secret is made. A message that got lost is sent again with what comes
// next; one that was answered by something else after a while.
//
// An acknowledgement is a raft id's, which is never given twice: a host that stops being a voter, and wipes
// its secrets, takes it along.
//
// A leader that lacks a secret which the log names cannot do what a leader does. It hands over to a voter
// that keeps up, has all that this host has, and has more; if there is none it leads on, says so, and tries
// again after a while, in which the voters may change. So each hand-over adds a secret, and two voters that
// lack different ones do not hand over to each other for ever: the leader hands out what it has first. Nor
// does a secret that is lost, which no voter has any more (voter_secrets_controller_is_lost()), keep a
// leader that lacks others from handing over.

#include "voter-secrets-controller.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "due.h"
#include "host-link.h"
#include "log.h"
#include "message-of.h"
#include "message.h"
#include "oom.h"
#include "registry.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "voters-view.h"
#include "voters.h"

enum {
        TELL_AGAIN_US = 1000000,
        HAND_OVER_AGAIN_US = 2000000, // longer than the voters pause after a step that failed
};

struct VoterSecretsController {
        VoterSecrets fresh;          // that the log does not name yet
        uint64_t hand_over_again_us; // by a leader that lacks some
};

typedef struct SecretsVoter {
        uint32_t raft_id;
        Host *host;
} SecretsVoter;

typedef struct SecretsVoters {
        SecretsVoter list[STORE_MEMBERS_MAX];
        size_t n;
} SecretsVoters;

// As an entry is to have them.
typedef struct SecretsNext {
        Argosy__VoterSecretRecord records[VOTER_SECRETS_MAX], *pointers[VOTER_SECRETS_MAX];
        uint32_t kept_by[VOTER_SECRETS_MAX][STORE_MEMBERS_MAX];
        size_t n;
        bool changed;
} SecretsNext;

VoterSecretsController *voter_secrets_controller_new(void) {
        return calloc(1, sizeof(VoterSecretsController));
}

VoterSecretsController *voter_secrets_controller_free(VoterSecretsController *c) {
        if (c)
                voter_secrets_done(&c->fresh);
        free(c);
        return NULL;
}

void voter_secrets_controller_retire(Leader *l) {
        voter_secrets_done(&l->voter_secrets->fresh);
        l->voter_secrets->hand_over_again_us = 0;
        l->lacks_voter_secrets = false;
}

static const VoterSecrets *own_secrets(const Leader *l) {
        return l->ops.secrets(l->userdata);
}

static const Argosy__VoterSecretRecord *find_record(const Leader *l, const char *name, uint32_t number) {
        const Argosy__ClusterRecord *c = cluster_state_cluster(l->state);

        for (size_t i = 0; c && i < c->n_voter_secrets; i++)
                if (c->voter_secrets[i]->number == number && streq(c->voter_secrets[i]->name, name))
                        return c->voter_secrets[i];
        return NULL;
}

static bool is_in(const uint32_t *ids, size_t n, uint32_t id) {
        for (size_t i = 0; i < n; i++)
                if (ids[i] == id)
                        return true;
        return false;
}

static SecretsVoters voters_of(const Leader *l) {
        SecretsVoters v = {};
        const HostEntry *hosts;
        size_t n;

        hosts = cluster_state_hosts(l->state, &n);
        for (size_t i = 0; i < n && v.n < STORE_MEMBERS_MAX; i++) {
                const Argosy__HostRecord *r = hosts[i].record;

                if (r->role == ARGOSY__HOST_ROLE__ROLE_VOTER && r->raft_id > 0)
                        v.list[v.n++] = (SecretsVoter){.raft_id = r->raft_id, .host = host_find(l, r->host)};
        }
        return v;
}

// ---- for those who use them

uint32_t voter_secrets_controller_newest(const Leader *l, const char *name) {
        const Argosy__ClusterRecord *c = cluster_state_cluster(l->state);
        uint32_t newest = 0;

        for (size_t i = 0; c && i < c->n_voter_secrets; i++)
                if (streq(c->voter_secrets[i]->name, name))
                        newest = MAX_OF(newest, c->voter_secrets[i]->number);
        return newest;
}

// No number that a value has, also one that was made and came into no log.
static uint32_t next_number(const Leader *l, const char *name) {
        const VoterSecrets *own = own_secrets(l);
        uint32_t last = voter_secrets_controller_newest(l, name);

        for (size_t i = 0; own && i < own->n; i++)
                if (streq(own->list[i].name, name))
                        last = MAX_OF(last, own->list[i].number);
        return last + 1;
}

static size_t n_recorded(const Leader *l) {
        const Argosy__ClusterRecord *c = cluster_state_cluster(l->state);

        return c ? c->n_voter_secrets : 0;
}

bool voter_secrets_controller_is_making(const Leader *l, const char *name) {
        const VoterSecrets *fresh = &l->voter_secrets->fresh;

        for (size_t i = 0; i < fresh->n; i++)
                if (streq(fresh->list[i].name, name))
                        return true;
        return false;
}

int voter_secrets_controller_make(Leader *l, const char *name, const void *value, size_t len,
                                  uint32_t *ret_number) {
        VoterSecrets *fresh = &l->voter_secrets->fresh;
        uint32_t number = next_number(l, name);
        int r;

        if (voter_secrets_controller_is_making(l, name))
                return -EBUSY;
        if (n_recorded(l) + fresh->n >= VOTER_SECRETS_MAX)
                return -ENOSPC;
        r = voter_secrets_put(fresh, name, number, value, len);
        if (r < 0)
                return r;
        *ret_number = number;
        leader_set_due(l, DUE_VOTER_SECRETS);
        leader_mark(l);
        return 0;
}

void voter_secrets_controller_forget(Leader *l, const char *name) {
        VoterSecrets *fresh = &l->voter_secrets->fresh;

        for (size_t i = fresh->n; i-- > 0;)
                if (streq(fresh->list[i].name, name))
                        voter_secrets_drop(fresh, name, fresh->list[i].number);
}

const SecretBytes *voter_secrets_controller_value(const Leader *l, const char *name, uint32_t number) {
        const Argosy__VoterSecretRecord *record = find_record(l, name, number);
        const VoterSecrets *own = own_secrets(l);

        return record && own && voter_secrets_has(own, record) ? voter_secrets_find(own, name, number)
                                                               : NULL;
}

bool voter_secrets_controller_all_have(const Leader *l, const char *name, uint32_t number, char *ret_missing,
                                       size_t size) {
        const Argosy__VoterSecretRecord *record = find_record(l, name, number);
        const SecretsVoters voters = voters_of(l);
        const char *missing[STORE_MEMBERS_MAX];
        size_t n = 0;

        *ret_missing = '\0';
        for (size_t i = 0; record && i < voters.n; i++)
                if (!is_in(record->kept_by, record->n_kept_by, voters.list[i].raft_id))
                        missing[n++] =
                                voters_name_of(l, voters.list[i].host ? voters.list[i].host->number : 0);
        for (size_t i = 0; i < n; i++)
                voters_add_name(ret_missing, size, missing[i], i, n);
        return record && n == 0;
}

size_t voter_secrets_controller_without(const Argosy__ClusterRecord *cluster, const char *name,
                                        uint32_t number, Argosy__VoterSecretRecord *ret[VOTER_SECRETS_MAX]) {
        size_t n = 0;

        for (size_t i = 0; i < cluster->n_voter_secrets && n < VOTER_SECRETS_MAX; i++)
                if (cluster->voter_secrets[i]->number != number ||
                    !streq(cluster->voter_secrets[i]->name, name))
                        ret[n++] = cluster->voter_secrets[i];
        return n;
}

// ---- what voters say

void voter_secrets_controller_on_kept(Leader *l, Host *h, const Argosy__ToVoter__VoterSecretsKept *kept) {
        const Argosy__HostRecord *record = cluster_state_find_host(l->state, h->number);

        if (!record || record->raft_id == 0 || kept->raft_id != record->raft_id ||
            kept->n_secrets > VOTER_SECRETS_MAX)
                return;
        message_free(h->membership.secrets_kept);
        h->membership.secrets_kept = oom_checked(message_copy(kept));
        leader_set_due(l, DUE_VOTER_SECRETS);
        leader_mark(l);
}

static bool is_kept(const Argosy__ToVoter__VoterSecretsKept *kept, const char *name, uint32_t number,
                    const uint8_t *fingerprint) {
        for (size_t i = 0; i < kept->n_secrets; i++) {
                const Argosy__ToVoter__VoterSecretsKept__Kept *k = kept->secrets[i];

                if (k->number == number && streq(k->name, name) && k->fingerprint.len == HASH_SIZE &&
                    memcmp(k->fingerprint.data, fingerprint, HASH_SIZE) == 0)
                        return true;
        }
        return false;
}

static const Argosy__ToVoter__VoterSecretsKept *report_of(const SecretsVoter *v) {
        const Argosy__ToVoter__VoterSecretsKept *kept = v->host ? v->host->membership.secrets_kept : NULL;

        return kept && kept->raft_id == v->raft_id ? kept : NULL;
}

// As it has said last, or as the log says.
static bool has_recorded(const SecretsVoter *v, const Argosy__VoterSecretRecord *r) {
        const Argosy__ToVoter__VoterSecretsKept *kept = report_of(v);

        return kept && r->fingerprint.len == HASH_SIZE
                       ? is_kept(kept, r->name, r->number, r->fingerprint.data)
                       : is_in(r->kept_by, r->n_kept_by, v->raft_id);
}

static bool has_fresh(const SecretsVoter *v, const VoterSecret *s) {
        const Argosy__ToVoter__VoterSecretsKept *kept = report_of(v);

        return kept && is_kept(kept, s->name, s->number, s->fingerprint.bytes);
}

bool voter_secrets_controller_is_kept(const Leader *l, const char *name, uint32_t number) {
        const Argosy__VoterSecretRecord *record = find_record(l, name, number);
        const SecretsVoters voters = voters_of(l);

        for (size_t i = 0; record && i < voters.n; i++)
                if (has_recorded(&voters.list[i], record))
                        return true;
        return false;
}

bool voter_secrets_controller_is_lost(const Leader *l, const char *name, uint32_t number) {
        const Argosy__VoterSecretRecord *record = find_record(l, name, number);
        const SecretsVoters voters = voters_of(l);

        for (size_t i = 0; record && i < voters.n; i++)
                if (!report_of(&voters.list[i]) || has_recorded(&voters.list[i], record))
                        return false;
        return record && voters.n > 0;
}

// ---- the records

static Argosy__VoterSecretRecord *add_next(SecretsNext *next) {
        Argosy__VoterSecretRecord *r = &next->records[next->n];

        argosy__voter_secret_record__init(r);
        next->pointers[next->n] = r;
        r->kept_by = next->kept_by[next->n++];
        return r;
}

static void add_recorded(SecretsNext *next, const SecretsVoters *voters,
                         const Argosy__VoterSecretRecord *before) {
        Argosy__VoterSecretRecord *r = add_next(next);

        r->name = before->name;
        r->number = before->number;
        r->fingerprint = before->fingerprint;
        for (size_t i = 0; i < voters->n; i++)
                if (has_recorded(&voters->list[i], before))
                        r->kept_by[r->n_kept_by++] = voters->list[i].raft_id;
        next->changed |= r->n_kept_by != before->n_kept_by ||
                         memcmp(r->kept_by, before->kept_by, r->n_kept_by * sizeof(*r->kept_by)) != 0;
}

static void add_fresh(SecretsNext *next, const SecretsVoters *voters, VoterSecret *s) {
        Argosy__VoterSecretRecord *r = add_next(next);

        r->name = s->name;
        r->number = s->number;
        r->fingerprint = (ProtobufCBinaryData){HASH_SIZE, s->fingerprint.bytes};
        for (size_t i = 0; i < voters->n; i++)
                if (has_fresh(&voters->list[i], s))
                        r->kept_by[r->n_kept_by++] = voters->list[i].raft_id;
        next->changed = true;
}

static bool self_has(const Leader *l, const SecretsVoters *voters, const VoterSecret *s) {
        for (size_t i = 0; i < voters->n; i++)
                if (voters->list[i].host && voters->list[i].host->number == l->config.self)
                        return has_fresh(&voters->list[i], s);
        return false;
}

// What the log names is made no more.
static void drop_recorded(Leader *l) {
        VoterSecrets *fresh = &l->voter_secrets->fresh;

        for (size_t i = fresh->n; i-- > 0;)
                if (find_record(l, fresh->list[i].name, fresh->list[i].number))
                        voter_secrets_drop(fresh, fresh->list[i].name, fresh->list[i].number);
}

static void make_next(Leader *l, const SecretsVoters *voters, SecretsNext *next) {
        const Argosy__ClusterRecord *c = cluster_state_cluster(l->state);
        VoterSecrets *fresh = &l->voter_secrets->fresh;

        for (size_t i = 0; i < c->n_voter_secrets && next->n < VOTER_SECRETS_MAX; i++)
                add_recorded(next, voters, c->voter_secrets[i]);
        for (size_t i = 0; i < fresh->n && next->n < VOTER_SECRETS_MAX; i++)
                if (self_has(l, voters, &fresh->list[i]))
                        add_fresh(next, voters, &fresh->list[i]);
}

// ---- what others are to have, and this host

typedef struct SecretsHandover {
        Argosy__VoterSecret secrets[2 * VOTER_SECRETS_MAX], *pointers[2 * VOTER_SECRETS_MAX];
        size_t n;
} SecretsHandover;

static void add_to(SecretsHandover *to, const VoterSecret *s) {
        Argosy__VoterSecret *m = &to->secrets[to->n];

        *m = (Argosy__VoterSecret) MESSAGE_OF(voter_secret, .name = (char *) s->name, .number = s->number,
                                              .value = (ProtobufCBinaryData){s->value.len, s->value.data});
        to->pointers[to->n++] = m;
}

static uint32_t hash_of_handover(const SecretsHandover *to) {
        uint32_t hash = 0;

        for (size_t i = 0; i < to->n; i++) {
                hash = crc32c(hash, to->secrets[i].name, strlen(to->secrets[i].name));
                hash = crc32c(hash, &to->secrets[i].number, sizeof(to->secrets[i].number));
        }
        return hash ?: 1;
}

static void look_again_at(Leader *l, uint64_t at_us) {
        l->voter_secrets_due_us = l->voter_secrets_due_us ? MIN_OF(l->voter_secrets_due_us, at_us) : at_us;
}

// A voter that says over and over that it has them not would keep both of us busy. It is told when the time
// has come.
static bool may_tell(Leader *l, Host *h, uint32_t hash) {
        uint64_t again_us = h->membership.secrets_reported_us + TELL_AGAIN_US;

        if (h->membership.secrets_reported == hash && leader_now(l) < again_us) {
                look_again_at(l, again_us);
                return false;
        }
        h->membership.secrets_reported = hash;
        h->membership.secrets_reported_us = leader_now(l);
        return true;
}

static void hand_out(Leader *l, const SecretsVoter *v) {
        const VoterSecrets *own = own_secrets(l), *fresh = &l->voter_secrets->fresh;
        Argosy__ToHost__VoterSecrets secrets = ARGOSY__TO_HOST__VOTER_SECRETS__INIT;
        Argosy__ToHost m = TO_HOST_OF(VOTER_SECRETS, voter_secrets, &secrets);
        SecretsHandover to = {};

        for (size_t i = 0; own && i < own->n; i++) {
                const VoterSecret *s = &own->list[i];
                const Argosy__VoterSecretRecord *r = find_record(l, s->name, s->number);

                if (r && voter_secrets_has(own, r) && !has_recorded(v, r))
                        add_to(&to, s);
        }
        for (size_t i = 0; i < fresh->n; i++)
                if (!has_fresh(v, &fresh->list[i]))
                        add_to(&to, &fresh->list[i]);
        if (to.n == 0 || !may_tell(l, v->host, hash_of_handover(&to)))
                return;
        secrets.secrets = to.pointers;
        secrets.n_secrets = to.n;
        (void) leader_to_host(l, v->host, &m); // one that is not here says what it has when it attaches
}

static const Argosy__VoterSecretRecord *find_lacking(const Leader *l) {
        const Argosy__ClusterRecord *c = cluster_state_cluster(l->state);
        const VoterSecrets *own = own_secrets(l);

        for (size_t i = 0; own && i < c->n_voter_secrets; i++)
                if (!voter_secrets_has(own, c->voter_secrets[i]))
                        return c->voter_secrets[i];
        return NULL;
}

// It has all that this host has, and something more.
static bool has_more(const Leader *l, uint32_t raft_id) {
        const Argosy__ClusterRecord *c = cluster_state_cluster(l->state);
        const VoterSecrets *own = own_secrets(l);
        bool more = false;

        for (size_t i = 0; i < c->n_voter_secrets; i++) {
                const Argosy__VoterSecretRecord *r = c->voter_secrets[i];
                bool has = is_in(r->kept_by, r->n_kept_by, raft_id), own_has = voter_secrets_has(own, r);

                if (own_has && !has)
                        return false;
                more |= has && !own_has;
        }
        return more;
}

// 0: nobody who has more of them can take it.
static uint32_t successor_of(const Leader *l, const SecretsVoters *voters) {
        StoreStats stats = {};

        l->ops.stats(&stats, l->userdata);
        for (size_t i = 0; i < voters->n; i++) {
                const SecretsVoter *v = &voters->list[i];

                if (!v->host || v->host->number == l->config.self || !has_more(l, v->raft_id))
                        continue;
                for (size_t k = 0; k < stats.n_members; k++)
                        if (stats.members[k].raft_id == v->raft_id && stats.members[k].voter &&
                            stats.members[k].answers && stats.members[k].caught_up)
                                return v->raft_id;
        }
        return 0;
}

// Between two attempts the voters may change: that may bring the one that can take it.
static void hand_over(Leader *l, uint32_t raft_id) {
        uint64_t *again_us = &l->voter_secrets->hand_over_again_us;

        if (!voters_may_hand_over(l))
                return;
        if (*again_us <= leader_now(l)) {
                *again_us = leader_now(l) + HAND_OVER_AGAIN_US;
                if (raft_id > 0)
                        voters_hand_over(l, raft_id);
        }
        look_again_at(l, *again_us);
}

static void hand_over_if_lacking(Leader *l, const SecretsVoters *voters) {
        const Argosy__VoterSecretRecord *lacking = find_lacking(l);
        bool said = l->lacks_voter_secrets;

        l->lacks_voter_secrets = lacking;
        if (!lacking)
                return;
        if (!said)
                log_warning("This leader lacks the voters' secret '%s' %u: it hands leadership to a voter "
                            "that has it, when one can take "
                            "it.",
                            lacking->name, lacking->number);
        hand_over(l, successor_of(l, voters));
}

int voter_secrets_controller_decide(Leader *l, BatchBuilder *b) {
        SecretsNext next = {};
        SecretsVoters voters;
        int r = 0;

        if (!cluster_state_cluster(l->state) ||
            (!leader_is_due(l, DUE_VOTER_SECRETS) && !l->lacks_voter_secrets))
                return 0;
        voters = voters_of(l);
        drop_recorded(l);
        make_next(l, &voters, &next);
        if (next.changed) {
                Argosy__ClusterRecord cluster = *cluster_state_cluster(l->state);

                cluster.voter_secrets = next.pointers;
                cluster.n_voter_secrets = next.n;
                r = batch_builder_put_cluster(b, &cluster);
                // with the next batch; and it is looked at once more when the log has it
                return r == -EBUSY ? 0 : r;
        }
        for (size_t i = 0; leader_is_due(l, DUE_VOTER_SECRETS) && i < voters.n; i++)
                if (voters.list[i].host && voters.list[i].host->attached)
                        hand_out(l, &voters.list[i]);
        (void) leader_take_due(l, DUE_VOTER_SECRETS);
        hand_over_if_lacking(l, &voters);
        return 0;
}
