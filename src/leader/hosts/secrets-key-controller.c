// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See secrets-key-controller.h; what is next is secrets-key-policy.c's.
//
//   the cluster's record, what voters report, a look at all versions while some are sealed anew ->
//   SecretsKeyView -> step -> the entry
//
// Versions are sealed anew some at a time, in passes over all of them: a turn opens limits.reseal_bytes of
// them or one, which takes the leader less than a millisecond, and what can be opened goes into the entry
// beside what requests bring. A version that cannot be opened is left as it is, and keeps the former keys.
// When a whole pass has met nothing else, those are named in the journal and in `cluster status`, and
// nothing is tried again until some secret is another one.
//
// A rotation begins only while every voter is there. One that goes away afterwards is waited for; before its
// disk is needed no more than for that, the rotation can be ended (--abort), and the former key goes on.

#include "secrets-key-controller.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "due.h"
#include "host-link.h"
#include "host-marks.h"
#include "log.h"
#include "message-of.h"
#include "pending-requests.h"
#include "random.h"
#include "registry.h"
#include "response.h"
#include "secret-box.h"
#include "secret-name.h"
#include "secrets-key-policy.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "voter-secrets-controller.h"
#include "voters-view.h"

enum {
        NAMED_MAX = 8,             // that no key opens
};

typedef struct Unreadable { // versions that no key opens
        size_t n;
        uint64_t version;  // if it is one
        char names[640]; // of one the secret's; of several the first ones, with their numbers
} Unreadable;

// Over all versions in the order of names; what it stands at is the last that it has looked at.
typedef struct Pass {
        bool under_way, has_sealed;
        uint64_t revision; // of the secrets, when it began
        Hash keys;         // that there were then
        char name[SECRET_NAME_MAX + 1];
        uint64_t version;
        Unreadable unreadable;
} Pass;

struct SecretsKeyController {
        uint32_t made; // the next key, until the log names it; 0: none
        Pass pass;
        Unreadable stuck; // n > 0: nothing else is left, as of that revision of the secrets
        uint64_t stuck_revision;
        Hash stuck_keys; // and of those keys
        bool reported; // the journal has it
};

SecretsKeyController *secrets_key_controller_new(void) {
        return calloc(1, sizeof(SecretsKeyController));
}

SecretsKeyController *secrets_key_controller_free(SecretsKeyController *c) {
        free(c);
        return NULL;
}

void secrets_key_controller_retire(Leader *l) {
        *l->secrets_key = (SecretsKeyController){};
}

static const Argosy__SecretsKeyRecord *record_of(const Leader *l) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(l->state);

        return cluster ? cluster->secrets_key : NULL;
}

static Argosy__SecretsKeyPhase phase_of(const Leader *l) {
        const Argosy__SecretsKeyRecord *record = record_of(l);

        return record ? record->phase : ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SETTLED;
}

// Before the first rotation there is one at most.
uint32_t secrets_key_in_use(const Leader *l) {
        const Argosy__SecretsKeyRecord *record = record_of(l);

        return record ? record->number : voter_secrets_controller_newest(l, VOTER_SECRET_SECRETS);
}

bool secrets_key_is_kept(const Leader *l) {
        uint32_t key = secrets_key_in_use(l);

        return key == 0 || voter_secrets_controller_is_kept(l, VOTER_SECRET_SECRETS, key);
}

bool secrets_key_is_lost(const Leader *l) {
        return voter_secrets_controller_is_lost(l, VOTER_SECRET_SECRETS, secrets_key_in_use(l));
}

// A waiting request asks for a key in each turn, any number of times, so a key is drawn only once.
static int make_key(Leader *l, uint32_t *ret_number) {
        _cleanup_(secret_bytes_done) SecretBytes key = {};
        int r;

        if (voter_secrets_controller_is_making(l, VOTER_SECRET_SECRETS))
                return -EBUSY;
        r = secret_bytes_new(SECRET_KEY_SIZE, &key);
        if (r < 0)
                return r;
        random_bytes(key.data, key.len);
        return voter_secrets_controller_make(l, VOTER_SECRET_SECRETS, key.data, key.len, ret_number);
}

int secrets_key_make_first(Leader *l) {
        uint32_t number;
        int r = make_key(l, &number);

        return r == 0 ? -EBUSY : r;
}

// ---- what there is

static const Argosy__SecretVersion *find_differing(const Argosy__SecretRecord *record, uint32_t key,
                                                   size_t *i) {
        for (; *i < record->n_versions; (*i)++)
                if (record->versions[*i]->key != key)
                        return record->versions[(*i)++];
        return NULL;
}

static size_t count_differing(const Leader *l, uint32_t key) {
        size_t n, count = 0;
        Argosy__SecretRecord *const *secrets = cluster_state_secrets(l->state, &n);

        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; find_differing(secrets[i], key, &k);)
                        count++;
        return count;
}

// Which keys of secrets this leader has.
static Hash keys_of(const Leader *l) {
        const VoterSecrets *secrets = l->ops.secrets(l->userdata);
        Hash keys = {};

        for (size_t i = 0; i < secrets->n; i++)
                for (size_t k = 0; k < HASH_SIZE && streq(secrets->list[i].name, VOTER_SECRET_SECRETS); k++)
                        keys.bytes[k] ^= secrets->list[i].fingerprint.bytes[k];
        return keys;
}

// No version and no key has come or gone since a whole pass has met nothing but what no key opens.
static bool is_stuck(const Leader *l) {
        const SecretsKeyController *c = l->secrets_key;
        Hash keys;

        if (c->stuck.n == 0)
                return false;
        keys = keys_of(l);
        return hash_equal(&c->stuck_keys, &keys) &&
               c->stuck_revision == cluster_state_secrets_revision(l->state) &&
               c->stuck.n == count_differing(l, secrets_key_in_use(l));
}

// As the voter that it is today: what it said as a former one is of another log.
static bool has_compacted(const Host *h, uint32_t raft_id, uint32_t key) {
        return h && h->membership.secrets_kept && h->membership.secrets_kept->raft_id == raft_id &&
               h->membership.secrets_kept->compacted == key;
}

// The voters that are not there, or have no such snapshot yet; how many they are.
static size_t name_voters(const Leader *l, bool absent, char *ret, size_t size) {
        const char *names[STORE_MEMBERS_MAX];
        size_t n_hosts, n = 0;
        const HostEntry *hosts = cluster_state_hosts(l->state, &n_hosts);

        *ret = '\0';
        for (size_t i = 0; i < n_hosts && n < ELEMENTSOF(names); i++) {
                const Argosy__HostRecord *record = hosts[i].record;
                const Host *h = host_find(l, record->host);

                if (record->role != ARGOSY__HOST_ROLE__ROLE_VOTER || record->raft_id == 0)
                        continue;
                if (absent ? !host_is_there(h) : !has_compacted(h, record->raft_id, secrets_key_in_use(l)))
                        names[n++] = record->name;
        }
        for (size_t i = 0; i < n; i++)
                voters_add_name(ret, size, names[i], i, n);
        return n;
}

static SecretsKeyView look(const Leader *l) {
        uint32_t key = secrets_key_in_use(l),
                 newest = voter_secrets_controller_newest(l, VOTER_SECRET_SECRETS);
        SecretsKeyView v = {.phase = phase_of(l),
                            .making = l->secrets_key->made > 0,
                            .named = newest > key &&
                                     !voter_secrets_controller_is_lost(l, VOTER_SECRET_SECRETS, newest)};
        char names[512];

        v.all_have = v.named && voter_secrets_controller_all_have(l, VOTER_SECRET_SECRETS, newest, names,
                                                                  sizeof(names));
        if (v.phase == ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SEAL)
                v.some_differ = count_differing(l, key) > 0;
        if (v.phase == ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_COMPACT)
                v.all_compacted = name_voters(l, false, names, sizeof(names)) == 0;
        return v;
}

// ---- sealing anew

typedef struct Resealed {
        Argosy__SecretVersion versions[LEADER_LIMIT_reseal_versions],
                *pointers[LEADER_LIMIT_reseal_versions];
        Buf sealed[LEADER_LIMIT_reseal_versions];
        size_t n, first; // first: of the secret that is looked at
        size_t n_looked, bytes;
} Resealed;

static void resealed_done(Resealed *done) {
        for (size_t i = 0; i < done->n; i++)
                buf_done(&done->sealed[i]);
}

static const SecretBytes *key_of(const Leader *l, uint32_t number) {
        const SecretBytes *key =
                voter_secrets_find(l->ops.secrets(l->userdata), VOTER_SECRET_SECRETS, number);

        return key && key->len == SECRET_KEY_SIZE ? key : NULL;
}

// -EBADMSG, -ENOKEY: it cannot be opened.
static int seal_anew(const Leader *l, const char *name, const Argosy__SecretVersion *v, uint32_t number,
                     const SecretBytes *to, Buf *ret) {
        const SecretBytes *from = key_of(l, v->key);
        const SecretLabel before = {.name = name, .version = v->version, .key = v->key},
                          after = {.name = name, .version = v->version, .key = number};
        _cleanup_(secret_bytes_done) SecretBytes value = {};
        int r;

        if (!from)
                return -ENOKEY;
        r = secret_box_open(from->data, &before, v->sealed.data, v->sealed.len, &value);
        return r < 0 ? r : secret_box_seal(to->data, &after, value.data, value.len, ret);
}

static void note_unreadable(Unreadable *u, const char *name, uint64_t version) {
        size_t len = strlen(u->names);

        if (u->n++ < NAMED_MAX)
                str_fit(u->names + len, sizeof(u->names) - len, "%s%.64s %" PRIu64, len > 0 ? ", " : "",
                        name, version);
        u->version = version;
}

static void unreadable_words(const Unreadable *u, char *ret, size_t size) {
        if (u->n == 1) {
                int len = (int) (strrchr(u->names, ' ') - u->names);

                str_fit(ret, size, "version %" PRIu64 " of the secret %.*s cannot be opened", u->version,
                        len, u->names);
        } else if (u->n > NAMED_MAX)
                str_fit(ret, size, "%zu versions of secrets cannot be opened (%s and %zu more)", u->n,
                        u->names, u->n - NAMED_MAX);
        else
                str_fit(ret, size, "%zu versions of secrets cannot be opened (%s)", u->n, u->names);
}

static int reseal_version(Leader *l, Resealed *done, const char *name, const Argosy__SecretVersion *v,
                          uint32_t number, const SecretBytes *to) {
        Argosy__SecretVersion *next = &done->versions[done->n];
        Buf *sealed = &done->sealed[done->n];
        int r = seal_anew(l, name, v, number, to, sealed);

        done->n_looked++;
        done->bytes += v->sealed.len;
        if (r == -EBADMSG || r == -ENOKEY) {
                note_unreadable(&l->secrets_key->pass.unreadable, name, v->version);
                return 0;
        }
        if (r < 0)
                return r;
        argosy__secret_version__init(next);
        next->version = v->version;
        next->key = number;
        next->sealed = (ProtobufCBinaryData){sealed->len, sealed->data};
        done->pointers[done->n++] = next;
        return 0;
}

static bool is_full(const Leader *l, const Resealed *done) {
        return done->n_looked == l->limits.reseal_versions || done->bytes >= l->limits.reseal_bytes;
}

// Whether the pass has looked at it.
static bool is_passed(const Pass *p, const char *name, uint64_t version) {
        int order = strcmp(name, p->name);

        return order < 0 || (order == 0 && version <= p->version);
}

static int reseal_secret(Leader *l, BatchBuilder *b, Resealed *done, const Argosy__SecretRecord *record,
                         uint32_t number, const SecretBytes *to) {
        Pass *p = &l->secrets_key->pass;
        const Argosy__SecretVersion *v;
        size_t i = 0;
        int r = 0;

        done->first = done->n;
        while (r == 0 && !is_full(l, done) && (v = find_differing(record, number, &i))) {
                if (is_passed(p, record->name, v->version))
                        continue;
                r = reseal_version(l, done, record->name, v, number, to);
                str_fit(p->name, sizeof(p->name), "%s", record->name);
                p->version = v->version;
        }
        if (r < 0 || done->n == done->first)
                return r;
        return batch_builder_reseal_secret(b, record->name, &done->pointers[done->first],
                                           done->n - done->first);
}

// What could be opened may not have come into the log: another pass sees that.
static void end_pass(Leader *l) {
        SecretsKeyController *c = l->secrets_key;
        char words[768];

        if (!c->pass.has_sealed && c->pass.unreadable.n > 0) {
                c->stuck = c->pass.unreadable;
                c->stuck_revision = c->pass.revision;
                c->stuck_keys = c->pass.keys;
                unreadable_words(&c->stuck, words, sizeof(words));
                if (!c->reported)
                        log_error("The secrets' former keys stay: %s.", words);
                c->reported = true;
        }
        c->pass = (Pass){};
}

static int go_on_with_pass(Leader *l, BatchBuilder *b, const SecretBytes *to, Resealed *done) {
        uint32_t number = secrets_key_in_use(l);
        size_t n;
        Argosy__SecretRecord *const *secrets = cluster_state_secrets(l->state, &n);
        int r = 0;

        for (size_t i = 0; r == 0 && i < n && !is_full(l, done); i++)
                if (strcmp(secrets[i]->name, l->secrets_key->pass.name) >= 0)
                        r = reseal_secret(l, b, done, secrets[i], number, to);
        if (r < 0)
                return r;
        l->secrets_key->pass.has_sealed |= done->n > 0;
        // no entry brings the next turn
        if (done->n == 0 && (is_full(l, done) || l->secrets_key->pass.has_sealed))
                leader_mark(l);
        if (!is_full(l, done))
                end_pass(l);
        return 0;
}

static int reseal(Leader *l, BatchBuilder *b) {
        SecretsKeyController *c = l->secrets_key;
        const SecretBytes *to;
        Resealed *done;
        int r;

        if (is_stuck(l) || !batch_builder_takes_more(b))
                return 0;
        to = key_of(l, secrets_key_in_use(l));
        if (!to) // this leader hands over
                return 0;
        c->stuck = (Unreadable){};
        if (!c->pass.under_way)
                c->pass = (Pass){.under_way = true,
                                 .revision = cluster_state_secrets_revision(l->state),
                                 .keys = keys_of(l)};
        done = calloc(1, sizeof(*done));
        if (!done)
                return -ENOMEM;
        r = go_on_with_pass(l, b, to, done);
        resealed_done(done);
        free(done);
        return r;
}

// ---- steps

// When it is settled the log names no other key but this.
static int put(Leader *l, BatchBuilder *b, uint32_t number, Argosy__SecretsKeyPhase phase) {
        const Argosy__ClusterRecord *now = cluster_state_cluster(l->state);
        Argosy__VoterSecretRecord *secrets[VOTER_SECRETS_MAX];
        Argosy__ClusterRecord cluster = *now;
        size_t n = 0;

        for (size_t i = 0; i < now->n_voter_secrets && n < VOTER_SECRETS_MAX; i++)
                if (phase != ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SETTLED ||
                    now->voter_secrets[i]->number == number ||
                    !streq(now->voter_secrets[i]->name, VOTER_SECRET_SECRETS))
                        secrets[n++] = now->voter_secrets[i];
        Argosy__SecretsKeyRecord key = MESSAGE_OF(secrets_key_record, .number = number, .phase = phase);
        cluster.secrets_key = &key;
        cluster.voter_secrets = secrets;
        cluster.n_voter_secrets = n;
        return batch_builder_put_cluster(b, &cluster);
}

static int take_step(Leader *l, BatchBuilder *b, SecretsKeyStep step) {
        int r;

        switch (step) {
        case SECRETS_KEY_MAKE:
                r = make_key(l, &l->secrets_key->made);
                if (r < 0 && r != -ENOMEM && r != -EBUSY)
                        log_error("Cannot make another key for secrets: %s", strerror(-r));
                return r == -ENOMEM ? r : 0;
        case SECRETS_KEY_USE:
                log_notice("Another key seals secrets from now on.");
                return put(l, b, voter_secrets_controller_newest(l, VOTER_SECRET_SECRETS),
                           ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SEAL);
        case SECRETS_KEY_RESEAL:
                return reseal(l, b);
        case SECRETS_KEY_COMPACTS:
                return put(l, b, secrets_key_in_use(l), ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_COMPACT);
        case SECRETS_KEY_SETTLE:
                log_notice("Nothing is sealed with former keys of secrets any more: they go.");
                return put(l, b, secrets_key_in_use(l), ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SETTLED);
        default:
                return 0;
        }
}

int secrets_key_controller_decide(Leader *l, BatchBuilder *b) {
        SecretsKeyView v;

        if (phase_of(l) != ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SEAL)
                l->secrets_key->reported = false;
        (void) leader_take_due(l, DUE_SECRETS_KEY);
        if (phase_of(l) == ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SETTLED)
                return 0;
        leader_set_due(l, DUE_SECRETS_KEY); // each decision looks
        if (batch_builder_has_cluster(b))
                return 0;
        v = look(l);
        if (v.named)
                l->secrets_key->made = 0;
        if (v.phase == ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_HAND_OUT && !v.all_have)
                leader_set_due(l, DUE_VOTER_SECRETS); // a disk may take it now
        return take_step(l, b, secrets_key_policy_step(&v));
}

// ---- for people

static bool is_handed_out(const Leader *l) {
        return phase_of(l) == ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_HAND_OUT;
}

static int add_waiting(char **notice, const char *what, const char *names) {
        return field_printf(notice, "%s%s%s", what, *names ? "; waiting for " : "", names);
}

int secrets_key_controller_notice(const Leader *l, char **notice) {
        char names[512], words[768];
        size_t n;

        if (l->leading && secrets_key_is_lost(l) && !is_handed_out(l))
                return field_printf(notice, "%s", SECRETS_KEY_LOST);
        if (phase_of(l) == ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SETTLED)
                return 0;
        if (!l->leading)
                return field_printf(notice, "another key is on its way; its leader knows how far that is");
        switch (phase_of(l)) {
        case ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_HAND_OUT:
                (void) voter_secrets_controller_all_have(
                        l, VOTER_SECRET_SECRETS, voter_secrets_controller_newest(l, VOTER_SECRET_SECRETS),
                        names, sizeof(names));
                if (!*names)
                        name_voters(l, true, names, sizeof(names));
                return add_waiting(notice, "the next key comes to the voters", names);
        case ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SEAL:
                if (is_stuck(l)) {
                        unreadable_words(&l->secrets_key->stuck, words, sizeof(words));
                        return field_printf(notice, "the former keys stay: %s", words);
                }
                n = count_differing(l, secrets_key_in_use(l));
                return field_printf(notice, "%zu version%s still to be sealed with the new key", n,
                                    n == 1 ? " is" : "s are");
        default:
                name_voters(l, false, names, sizeof(names));
                return add_waiting(notice,
                                   "all are sealed with the new key, and the former one goes when every "
                                   "voter has a snapshot of that",
                                   names);
        }
}

// ---- requests

static int answer(PendingRequest *t, const char *text) {
        if (request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET)) < 0 ||
            field_set(&t->response->message, text) < 0)
                return -ENOMEM;
        return PLAN_IN_BATCH;
}

static int plan_begin(Leader *l, PendingRequest *t, BatchBuilder *b) {
        uint32_t key = secrets_key_in_use(l);
        char names[512];
        size_t n_absent = name_voters(l, true, names, sizeof(names));
        int r;

        if (key == 0)
                return request_refuse(t, ENOENT,
                                     "there is no key: the first secret makes one; nothing was changed");
        if (n_absent > 0)
                return request_refuse(
                        t, EHOSTUNREACH,
                        "every voter has to take the new key, and %s %s not there; nothing was changed",
                        names, n_absent == 1 ? "is" : "are");
        r = put(l, b, key, ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_HAND_OUT);
        if (r < 0)
                return r;
        log_notice("Secrets get another key.");
        return answer(t, "all versions of all secrets are sealed with another key, `argosyctl cluster "
                         "status` says how far that is");
}

static int plan_abort(Leader *l, PendingRequest *t, BatchBuilder *b) {
        int r;

        if (phase_of(l) == ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SETTLED)
                return request_refuse(t, ENOENT, "no other key is on its way; nothing was changed");
        if (phase_of(l) != ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_HAND_OUT)
                return request_refuse(t, EBUSY, "the new key seals already; nothing was changed");
        r = put(l, b, secrets_key_in_use(l), ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SETTLED);
        if (r < 0)
                return r;
        voter_secrets_controller_forget(l, VOTER_SECRET_SECRETS);
        l->secrets_key->made = 0;
        return answer(t, "the key goes on that there was");
}

int secrets_key_controller_plan(Leader *l, PendingRequest *t, BatchBuilder *b) {
        _cleanup_free_ char *notice = strdup("");

        if (!notice || secrets_key_controller_notice(l, &notice) < 0)
                return -ENOMEM;
        if (batch_builder_has_cluster(b))
                return -EBUSY;
        if (t->request->secret_rotate_key->abort)
                return plan_abort(l, t, b);
        if (phase_of(l) == ARGOSY__SECRETS_KEY_PHASE__SECRETS_KEY_SETTLED ||
            (secrets_key_is_lost(l) && !is_handed_out(l)))
                return plan_begin(l, t, b);
        return request_refuse(t, EEXIST, "another key is on its way: %s; nothing was changed", notice);
}
