// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See ca-controller.h; what is next is ca-policy.c's.
//
//   what hosts say, records, a walk over all hosts while a rotation is under way -> CaView -> step -> the
//   cluster's record
//
// Certificates are signed in the turn in which a host asks, so only a few are asked at a time. One that does
// not answer for ASKED_US makes room for the next, is named, and asked again, after twice as long each time;
// one whose session begins anew is asked at once. So is a host that has not said for that long which
// certificate it has. A host with a certificate of another CA than the one that signs is asked, rotation or
// not: a cluster that was recovered from an old log has another CA than its hosts think.

#include "ca-controller.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ca-policy.h"
#include "ca.h"
#include "clock.h"
#include "due.h"
#include "host-complaints.h"
#include "host-link.h"
#include "host-marks.h"
#include "log.h"
#include "message-of.h"
#include "pending-requests.h"
#include "registry.h"
#include "response.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "voter-secrets-controller.h"
#include "voters-view.h"

enum {
        ASKED_US = 10000000,     // for an answer
        ASKED_DOUBLED = 5,       // times: it is asked every 320 s at the least
        NAMED_MAX = 5,           // hosts that are named
};

struct CaController {
        Ca made;         // the next one, until the log names it
        uint32_t number; // of its key
};

CaController *ca_controller_new(void) {
        return calloc(1, sizeof(CaController));
}

CaController *ca_controller_free(CaController *c) {
        if (c)
                ca_done(&c->made);
        free(c);
        return NULL;
}

static void forget_made(Leader *l) {
        ca_done(&l->ca->made);
        l->ca->number = 0;
}

void ca_controller_retire(Leader *l) {
        forget_made(l);
}

static const Argosy__CaRecord *ca_of(const Leader *l) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(l->state);

        return cluster ? cluster->ca : NULL;
}

// ---- who has what

static Hash hash_of_ca(const Argosy__CaRecord *ca) {
        return hash_of(ca->cert.data, ca->cert.len);
}

static bool has_certificate(const Host *h, const Hash *ca_hash) {
        return h->membership.ca_known && hash_equal(&h->membership.ca_hash, ca_hash);
}

static bool has_key(const Leader *l, uint32_t raft_id) {
        const Argosy__ClusterRecord *c = cluster_state_cluster(l->state);

        for (size_t i = 0; i < c->n_voter_secrets; i++) {
                const Argosy__VoterSecretRecord *s = c->voter_secrets[i];

                if (s->number != c->ca->next_number || !streq(s->name, VOTER_SECRET_CA))
                        continue;
                for (size_t k = 0; k < s->n_kept_by; k++)
                        if (s->kept_by[k] == raft_id)
                                return true;
        }
        return false;
}

// Which hosts a phase waits for.
static bool is_waited_for(const Leader *l, const Argosy__HostRecord *record, const Hash *ca_hash) {
        const Host *h = host_find(l, record->host);
        bool votes = record->role == ARGOSY__HOST_ROLE__ROLE_VOTER && record->raft_id > 0;

        if (ca_of(l)->phase == ARGOSY__CA_PHASE__CA_HAND_OUT)
                return votes && host_is_there(h) && !has_key(l, record->raft_id);
        return host_is_there(h) && !has_certificate(h, ca_hash);
}

static void count(const Leader *l, const Argosy__HostRecord *record, const Hash *ca_hash, CaView *v) {
        bool votes = record->role == ARGOSY__HOST_ROLE__ROLE_VOTER && record->raft_id > 0;
        bool waited_for = is_waited_for(l, record, ca_hash);

        v->n_voters += votes;
        v->n_keepers += votes && has_key(l, record->raft_id);
        v->n_voters_without += votes && waited_for;
        v->n_without += waited_for;
}

static CaView look(const Leader *l) {
        const Argosy__CaRecord *ca = ca_of(l);
        const Hash hash = hash_of_ca(ca);
        CaView v = {
                .phase = ca->phase,
                .named = ca->next_number > 0,
                .making = l->ca->number > 0,
                .made = l->ca->number > 0 &&
                        voter_secrets_controller_value(l, VOTER_SECRET_CA, l->ca->number),
                .n_awaited = l->n_hosts.awaited,
        };
        size_t n;
        const HostEntry *hosts = cluster_state_hosts(l->state, &n);

        for (size_t i = 0; i < n; i++)
                count(l, hosts[i].record, &hash, &v);
        return v;
}

// ---- asking

// An answer may come in time.
static bool is_asked(const Leader *l, const Host *h) {
        return h->membership.ca_asked_us && leader_now(l) < h->membership.ca_asked_us + ASKED_US;
}

// It was asked, and has let the time for an answer pass.
static bool is_silent(const Leader *l, const Host *h) {
        return h->membership.n_ca_asked > 1 || (h->membership.n_ca_asked == 1 && !is_asked(l, h));
}

// 0: at once.
static uint64_t ask_at(const Host *h) {
        unsigned doubled = MIN_OF(MAX_OF(h->membership.n_ca_asked, 1U) - 1, (unsigned) ASKED_DOUBLED);

        return h->membership.ca_asked_us ? h->membership.ca_asked_us + ((uint64_t) ASKED_US << doubled) : 0;
}

static void ask(Leader *l, Host *h) {
        Argosy__ToHost__RenewAsked asked = ARGOSY__TO_HOST__RENEW_ASKED__INIT;
        Argosy__ToHost m = TO_HOST_OF(RENEW_ASKED, renew_asked, &asked);

        h->membership.ca_asked_us = leader_now(l);
        h->membership.n_ca_asked++;
        (void) leader_to_host(l, h, &m);
        if (is_silent(l, h))
                log_host(LOG_WARNING, host_name(l, h),
                         "Host %s has not answered that it is to ask for a new certificate; asking again.",
                         host_name(l, h));
}

// It says with its session which one it has: the time for that begins.
static void await_word(const Leader *l, Host *h) {
        if (!h->membership.ca_known && !h->membership.ca_asked_us)
                h->membership.ca_asked_us = leader_now(l);
}

static bool is_to_be_asked(const Host *h, const Hash *ca_hash) {
        return host_is_there(h) && h->welcomed && !has_certificate(h, ca_hash);
}

static void note_due(Leader *l, uint64_t due_us) {
        if (!l->ca_due_us || due_us < l->ca_due_us)
                l->ca_due_us = due_us;
}

static void ask_some(Leader *l) {
        const Hash hash = hash_of_ca(ca_of(l));
        uint64_t now_us = leader_now(l);
        size_t n = 0;

        l->ca_due_us = 0;
        map_foreach (slot, &l->hosts) {
                Host *h = slot->value;

                if (!is_to_be_asked(h, &hash))
                        continue;
                await_word(l, h);
                n += h->membership.n_ca_asked > 0 && is_asked(l, h);
        }
        map_foreach (slot, &l->hosts) {
                Host *h = slot->value;

                if (!is_to_be_asked(h, &hash))
                        continue;
                if (n < l->limits.ca_asked && ask_at(h) <= now_us) {
                        ask(l, h);
                        n++;
                }
                if (h->membership
                            // others go on when one of these has answered, or the time for that is over
                            .ca_asked_us)
                        note_due(l, is_asked(l, h) ? h->membership.ca_asked_us + ASKED_US
                                                   : MAX_OF(ask_at(h), now_us + USEC_PER_SEC));
        }
}

void ca_controller_on_certified(Leader *l, Host *h, const Argosy__ToVoter__Certified *certified) {
        const Argosy__CaRecord *ca = ca_of(l);
        Hash today;

        if (!ca || !hash_from_bytes(certified->ca_hash.data, certified->ca_hash.len, &h->membership.ca_hash))
                return;
        today = hash_of_ca(ca);
        if (!h->membership.ca_known ||
            hash_equal(&h->membership.ca_hash,
                       &today)) // one that says the same again is asked at the pace of before
                h->membership.ca_asked_us = h->membership.n_ca_asked = 0;
        h->membership.ca_known = true;
        leader_set_due(l, DUE_CA);
        leader_mark(l);
}

// ---- steps

static int make(Leader *l) {
        CaController *c = l->ca;
        int r;

        r = ca_create(&c->made);
        if (r == 0)
                r = voter_secrets_controller_make(l, VOTER_SECRET_CA, c->made.key.data, c->made.key.len,
                                                  &c->number);
        buf_wipe(&c->made.key); // the secret is that
        if (r < 0)
                forget_made(l);
        if (r < 0 && r != -ENOMEM)
                log_error("Cannot make another CA: %s", strerror(-r));
        return r == -ENOMEM ? r : 0;
}

static int put(Leader *l, BatchBuilder *b, Argosy__CaRecord *ca) {
        const Argosy__ClusterRecord *now = cluster_state_cluster(l->state);
        Argosy__ClusterRecord cluster = *now;
        Argosy__VoterSecretRecord *secrets[VOTER_SECRETS_MAX];
        size_t n = 0;
        int r;

        for (size_t i = 0; i < now->n_voter_secrets && n < VOTER_SECRETS_MAX; i++)
                if (ca->phase != ARGOSY__CA_PHASE__CA_SETTLED ||
                    now->voter_secrets[i]->number == ca->number ||
                    !streq(now->voter_secrets[i]->name, VOTER_SECRET_CA))
                        secrets[n++] = now->voter_secrets[i];
        cluster.ca = ca;
        cluster.voter_secrets = secrets;
        cluster.n_voter_secrets = n;
        r = batch_builder_put_cluster(b, &cluster);
        return r == -EBUSY ? 0 : r; // with the next batch
}

static int name(Leader *l, BatchBuilder *b) {
        Argosy__CaRecord ca = *ca_of(l);

        ca.next_cert = (ProtobufCBinaryData){l->ca->made.cert.len, l->ca->made.cert.data};
        ca.next_number = l->ca->number;
        return put(l, b, &ca);
}

static int sign(Leader *l, BatchBuilder *b) {
        const Argosy__CaRecord *now = ca_of(l);
        Argosy__CaRecord ca =
                MESSAGE_OF(ca_record, .phase = ARGOSY__CA_PHASE__CA_RENEW, .cert = now->next_cert,
                           .number = now->next_number, .former_cert = now->cert);

        log_notice("The next CA signs from now on: all hosts get new certificates.");
        return put(l, b, &ca);
}

static int settle(Leader *l, BatchBuilder *b) {
        Argosy__CaRecord ca = ARGOSY__CA_RECORD__INIT;

        ca.cert = ca_of(l)->cert;
        ca.number = ca_of(l)->number;
        log_notice("The former CA is trusted no more.");
        return put(l, b, &ca);
}

static int take_step(Leader *l, BatchBuilder *b, CaStep step) {
        switch (step) {
        case CA_MAKE:
                return make(l);
        case CA_NAME:
                return name(l, b);
        case CA_SIGN:
                return sign(l, b);
        case CA_SETTLE:
                return settle(l, b);
        default:
                return 0;
        }
}

int ca_controller_decide(Leader *l, BatchBuilder *b) {
        const Argosy__CaRecord *ca = ca_of(l);
        bool under_way = ca && ca->phase != ARGOSY__CA_PHASE__CA_SETTLED;
        CaView v;

        if (!leader_take_due(l, DUE_CA) || !ca)
                return 0;
        if (under_way) // each decision looks
                leader_set_due(l, DUE_CA);
        if (ca->phase != ARGOSY__CA_PHASE__CA_HAND_OUT || ca->next_number > 0)
                forget_made(l);
        ask_some(l);
        if (!under_way || batch_builder_has_cluster(b))
                return 0;
        v = look(l);
        if (v.phase == ARGOSY__CA_PHASE__CA_HAND_OUT) // a disk may take it now
                leader_set_due(l, DUE_VOTER_SECRETS);
        return take_step(l, b, ca_policy_step(&v));
}

// ---- for people

typedef enum Waited {
        WAITED_SOON = 1,   // they are there, and may answer in a moment
        WAITED_SILENT = 2, // they are there, and have not answered
        WAITED_ABSENT = 4, // they are not there
} Waited;

static Waited waited_of(const Leader *l, const Argosy__HostRecord *record, const Hash *ca_hash) {
        const Host *h = host_find(l, record->host);

        if (is_waited_for(l, record, ca_hash))
                return ca_of(l)->phase == ARGOSY__CA_PHASE__CA_RENEW && is_silent(l, h) ? WAITED_SILENT
                                                                                        : WAITED_SOON;
        return !host_is_there(h) && !(h && has_certificate(h, ca_hash)) ? WAITED_ABSENT : 0;
}

// "n2, n4 and 3 more"; empty: nobody. `which`: of Waited.
static void name_waited_for(const Leader *l, unsigned which, char *ret, size_t size) {
        const Hash hash = hash_of_ca(ca_of(l));
        const HostEntry *hosts;
        size_t n, found = 0, len = 0;

        *ret = '\0';
        hosts = cluster_state_hosts(l->state, &n);
        for (size_t i = 0; i < n; i++) {
                if (!(waited_of(l, hosts[i].record, &hash) & which))
                        continue;
                if (found++ < NAMED_MAX)
                        len += str_fit(ret + len, size - len, "%s%s", found > 1 ? ", " : "",
                                       hosts[i].record->name);
        }
        if (found > NAMED_MAX)
                str_fit(ret + len, size - len, " and %zu more", found - NAMED_MAX);
}

static int renewal_notice(const Leader *l, char **notice) {
        char names[512], silent[512];

        name_waited_for(l, WAITED_SOON, names, sizeof(names));
        name_waited_for(l, WAITED_SILENT, silent, sizeof(silent));
        if (*silent)
                return field_printf(notice,
                                    "hosts get new certificates%s%s; asked again and again, without an "
                                    "answer: %s (`argosyctl cluster rotate-ca "
                                    "--finish` ends it without them)",
                                    *names ? "; waiting for " : "", names, silent);
        if (!*names && l->n_hosts.awaited > 0)
                return field_printf(
                        notice,
                        "hosts get new certificates; waiting for hosts that may come back in a moment");
        return field_printf(notice, "hosts get new certificates%s%s", *names ? "; waiting for " : "", names);
}

int ca_controller_notice(const Leader *l, char **notice) {
        const Argosy__CaRecord *ca = ca_of(l);
        char names[512];

        if (!ca || ca->phase == ARGOSY__CA_PHASE__CA_SETTLED)
                return 0;
        if (!l->leading)
                return field_printf(notice, "a rotation is under way; its leader knows how far it is");
        if (ca->phase == ARGOSY__CA_PHASE__CA_RENEW)
                return renewal_notice(l, notice);
        name_waited_for(l, WAITED_SOON, names, sizeof(names));
        return field_printf(notice, "the key of the next CA comes to the voters%s%s",
                            *names ? "; waiting for " : "", names);
}

static int answer(PendingRequest *t, const char *format, ...) _printf_(2, 3);
static int answer(PendingRequest *t, const char *format, ...) {
        char text[768];
        va_list ap;

        va_start(ap, format);
        str_vfit(text, sizeof(text), format, ap);
        va_end(ap);
        if (request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET)) < 0 ||
            field_set(&t->response->message, text) < 0)
                return -ENOMEM;
        return PLAN_IN_BATCH;
}

static int plan_begin(Leader *l, PendingRequest *t, BatchBuilder *b) {
        Argosy__CaRecord ca = *ca_of(l);
        size_t n = cluster_state_n_tokens_open(
                l->state, (AccessTime){.wall_us = leader_wall(l), .counted_us = leader_counted(l)});
        int r;

        ca.phase = ARGOSY__CA_PHASE__CA_HAND_OUT;
        r = put(l, b, &ca);
        if (r < 0)
                return r;
        log_notice("The cluster gets another CA.");
        return answer(t, "all hosts get new certificates, `argosyctl cluster status` says how far that is%s",
                      n > 0 ? "; join tokens of today are worth nothing then" : "");
}

// Those that are there and have no new certificate come back for that alone.
static void on_finished(Leader *l, PendingRequest *t) {
        const Hash hash = hash_of_ca(ca_of(l));

        map_foreach (slot, &l->hosts) {
                Host *h = slot->value;

                if (h->number != l->config.self && host_is_there(h) && !has_certificate(h, &hash))
                        l->ops.drop_host(h->number, l->userdata);
        }
}

static int plan_finish(Leader *l, PendingRequest *t, BatchBuilder *b) {
        char names[512];
        int r;

        name_waited_for(l, WAITED_SOON | WAITED_SILENT | WAITED_ABSENT, names, sizeof(names));
        r = settle(l, b);
        if (r < 0)
                return r;
        request_when_committed(t, on_finished, false);
        return *names ? answer(t,
                               "the former CA is trusted no more; %s had no new certificate yet, and can do "
                               "nothing but ask for one",
                               names)
                      : answer(t, "the former CA is trusted no more");
}

int ca_controller_plan(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__CaRecord *ca = ca_of(l);
        _cleanup_free_ char *notice = strdup("");
        bool finish = t->request->cluster_rotate_ca->finish;

        if (!notice || ca_controller_notice(l, &notice) < 0)
                return -ENOMEM;
        if (batch_builder_has_cluster(b))
                return -EBUSY;
        if (!ca)
                return request_refuse(t, ENOKEY, "the log names no CA; nothing was changed");
        if (!finish)
                return ca->phase == ARGOSY__CA_PHASE__CA_SETTLED
                               ? plan_begin(l, t, b)
                               : request_refuse(t, EEXIST,
                                               "a rotation of the CA is under way: %s; nothing was changed",
                                               notice);
        if (ca->phase == ARGOSY__CA_PHASE__CA_SETTLED)
                return request_refuse(t, ENOENT, "no rotation of the CA is under way; nothing was changed");
        if (ca->phase == ARGOSY__CA_PHASE__CA_HAND_OUT)
                return request_refuse(t, EAGAIN,
                                     "no host can have a new certificate yet: %s; nothing was changed",
                                     notice);
        return plan_finish(l, t, b);
}
