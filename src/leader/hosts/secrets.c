// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A secret is set as one record of the log: the leader seals the value with a key of the voters
// (secrets-key-controller.h) and gives it the next number. Nothing of the value is anywhere else: not in an
// answer, not in an error, not in the job.
//
// What is used is not deleted. An older version goes as soon as no unit has it
// (leader/rules/secret-users.h), by an entry that the leader writes along with others; one that is lost with
// a leader is said again when something changes.

#include "secrets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "authorization.h"
#include "due.h"
#include "message.h"
#include "registry.h"
#include "response.h"
#include "secret-box.h"
#include "secret-name.h"
#include "secrets-key-controller.h"
#include "str.h"
#include "tables.h"
#include "pending-requests.h"
#include "turn.h"
#include "unit-on-node.h"
#include "voter-secrets-controller.h"

enum {
        USES_MAX = 100,         // units that are named of one secret in a list of several
        USES_OF_ONE_MAX = 1000, // and of one that is asked for alone
        USE_NODES_MAX = 100,    // nodes of one of these
        PASSED_MAX = 10000,     // units that are looked at in vain: some 2 ms
        NAMED_USERS_MAX = 3,    // in an error
};

// ------------------------------------------------------------------------------------------------ rows

typedef struct Row {
        Leader *leader;
        Argosy__Response__SecretRow *row;
        size_t max;
        bool stale; // only units that are to run
        size_t n_passed; // units that are not to run, and were passed over
        int error;
} Row;

static int add_nodes(Leader *l, const char *unit, Argosy__Response__SecretUse *use) {
        const Unit *u = unit_find(l, unit);

        if (!u)
                return 0;
        list_foreach (i, &u->on_nodes) {
                const UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);
                char *name;

                if (!unit_on_node_is_to_have(s) || use->n_nodes == USE_NODES_MAX)
                        continue;
                name = strdup(s->node->name);
                if (!name || ARRAY_RESERVE(use->nodes, use->n_nodes + 1) < 0) {
                        free(name);
                        return -ENOMEM;
                }
                use->nodes[use->n_nodes++] = name;
        }
        return 0;
}

static bool is_launched(const Leader *l, const char *unit) {
        const UnitEntry *e = cluster_state_find_unit(l->state, unit);

        return e && e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED;
}

static bool add_use(const char *unit, uint64_t version, void *userdata) {
        Row *r = userdata;
        Argosy__Response__SecretUse *use;
        bool launched;

        launched = is_launched(r->leader, unit);
        if (r->stale && !launched)
                return ++r->n_passed < PASSED_MAX;
        if (r->row->n_uses == r->max)
                return false;
        use = calloc(1, sizeof(*use));
        if (use)
                argosy__response__secret_use__init(use);
        r->error = FIELD_APPEND(r->row->uses, r->row->n_uses, use);
        if (r->error == 0)
                r->error = field_set(&use->unit, unit);
        if (r->error == 0)
                r->error = add_nodes(r->leader, unit, use);
        if (r->error == 0)
                use->version = version;
        if (r->error == 0)
                use->launched = launched;
        return r->error == 0;
}

static int by_unit(const void *a, const void *b) {
        const Argosy__Response__SecretUse *x = *(Argosy__Response__SecretUse *const *) a,
                                          *y = *(Argosy__Response__SecretUse *const *) b;

        return strcmp(x->unit, y->unit);
}

static int fill_row(Leader *l, const char *name, const Argosy__SecretVersion *v, size_t max, bool stale,
                    Argosy__Response__SecretRow *row) {
        Row r = {.leader = l, .row = row, .max = max, .stale = stale};

        row->version = v->version;
        row->at_us = v->at_us;
        row->bytes = (uint32_t) (v->sealed.len - SECRET_BOX_EXTRA);
        row->units = (uint32_t) secret_users_count(&l->secret_users, name);
        row->stale = row->units - (uint32_t) secret_users_count_of(&l->secret_users, name, v->version) -
                     (uint32_t) secret_users_count_of(&l->secret_users, name, 0);
        if (field_set(&row->name, name) < 0 || field_set(&row->by, v->by) < 0)
                return -ENOMEM;
        if (stale)
                secret_users_each_before(&l->secret_users, name, v->version, add_use, &r);
        else
                secret_users_each(&l->secret_users, name, add_use, &r);
        if (row->n_uses > 0)
                qsort(row->uses, row->n_uses, sizeof(*row->uses), by_unit);
        return r.error;
}

static int add_row(Leader *l, Argosy__Response *answer, const char *name, const Argosy__SecretVersion *v,
                   size_t max, bool stale) {
        Argosy__Response__Secrets *secrets = answer->secrets;
        Argosy__Response__SecretRow *row = calloc(1, sizeof(*row));

        if (row)
                argosy__response__secret_row__init(row);
        if (FIELD_APPEND(secrets->rows, secrets->n_rows, row) < 0)
                return -ENOMEM;
        return fill_row(l, name, v, max, stale, row);
}

static bool is_asked(const Argosy__Request__SecretList *m, const char *name) {
        for (size_t i = 0; i < m->n_names; i++)
                if (streq(m->names[i], name))
                        return true;
        return m->n_names == 0;
}

Argosy__Response *secrets_answer_list(Leader *l, const Argosy__Request *request) {
        const Argosy__Request__SecretList *m = request->secret_list;
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_SECRETS);
        size_t n;
        Argosy__SecretRecord *const *secrets = cluster_state_secrets(l->state, &n);

        for (size_t i = 0; i < m->n_names; i++)
                if (!cluster_state_find_secret(l->state, m->names[i]))
                        return response_error(ENOENT, "there is no secret '%.64s'", m->names[i]);
        for (size_t i = 0; r && i < n; i++)
                if (is_asked(m, secrets[i]->name) &&
                    add_row(l, r, secrets[i]->name, secret_record_newest(secrets[i]),
                            m->n_names == 1 ? USES_OF_ONE_MAX : USES_MAX, m->stale) < 0)
                        return NULL;
        return TAKE_PTR(r);
}

// ---------------------------------------------------------------------------------------------- setting one

Argosy__Response *secrets_refuse_set(const Argosy__Request *request) {
        const Argosy__Request__SecretSet *m = request->secret_set;

        if (!secret_name_is_valid(m->name))
                return response_error(EINVAL, "that is no name of a secret: " SECRET_NAME_RULE,
                                      SECRET_NAME_MAX);
        if (m->value.len == 0)
                return response_error(EINVAL, "the value of the secret %s is empty", m->name);
        if (m->value.len > SECRET_VALUE_MAX)
                return response_error(E2BIG, "the value of the secret %s has %zu bytes, more than %d",
                                      m->name, m->value.len, SECRET_VALUE_MAX);
        return NULL;
}

static int no_key(PendingRequest *t, bool lost) {
        return request_refuse(t, ENOKEY, "%s: nothing was changed",
                             lost ? SECRETS_KEY_LOST : "the leader has no key to seal secrets with");
}

static bool is_kept_by(const Argosy__VoterSecretRecord *key, uint32_t raft_id) {
        for (size_t i = 0; i < key->n_kept_by; i++)
                if (key->kept_by[i] == raft_id)
                        return true;
        return false;
}

// As for entries of the log: the next leader is one of them, or can get it from one.
static bool most_voters_have(const Leader *l, uint32_t number) {
        const Argosy__ClusterRecord *c = cluster_state_cluster(l->state);
        const Argosy__VoterSecretRecord *key = NULL;
        size_t n, n_voters = 0, n_have = 0;
        const HostEntry *hosts = cluster_state_hosts(l->state, &n);

        for (size_t i = 0; i < c->n_voter_secrets; i++)
                if (c->voter_secrets[i]->number == number &&
                    streq(c->voter_secrets[i]->name, VOTER_SECRET_SECRETS))
                        key = c->voter_secrets[i];
        for (size_t i = 0; key && i < n; i++)
                if (hosts[i].record->role == ARGOSY__HOST_ROLE__ROLE_VOTER) {
                        n_voters++;
                        n_have += is_kept_by(key, hosts[i].record->raft_id);
                }
        return n_have > n_voters / 2;
}

// -EBUSY: the first key is made, or most voters have not got it yet; -ENOKEY: they have, and this host has
// not; -ENODATA: no voter has it any more.
static int need_key(Leader *l, uint32_t *ret_number, const SecretBytes **ret) {
        *ret_number = secrets_key_in_use(l);
        if (*ret_number == 0) {
                int r = secrets_key_make_first(l);

                return r == -ENOMEM || r == -EIO || r == -ENOSPC ? r : -EBUSY;
        }
        if (!most_voters_have(l, *ret_number))
                return secrets_key_is_lost(l) ? -ENODATA : -EBUSY;
        *ret = voter_secrets_controller_value(l, VOTER_SECRET_SECRETS, *ret_number);
        return *ret && (*ret)->len == SECRET_KEY_SIZE ? 0 : -ENOKEY;
}

static int put(Leader *l, PendingRequest *t, BatchBuilder *b, const char *name,
               Argosy__SecretVersion *version) {
        _cleanup_response_ Argosy__Response *answer = response_new(ARGOSY__RESPONSE__WHAT_SECRETS);
        int r = batch_builder_put_secret(b, name, version);

        if (r < 0)
                return r;
        if (!answer || add_row(l, answer, name, version, USES_MAX, false) < 0)
                return -ENOMEM;
        return request_prepare(t, TAKE_PTR(answer));
}

bool secrets_may_set(Leader *l, const PendingRequest *t) {
        const SecretBytes *key;
        uint32_t number;

        return need_key(l, &number, &key) != -EBUSY;
}

int secrets_plan_set(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__Request__SecretSet *m = t->request->secret_set;
        const Argosy__SecretRecord *there = cluster_state_find_secret(l->state, m->name);
        Argosy__SecretVersion version = ARGOSY__SECRET_VERSION__INIT;
        SecretLabel label = {.name = m->name,
                             .version = (there ? secret_record_newest(there)->version : 0) + 1};
        const SecretBytes *key;
        char by[CLUSTER_SECRET_BY_MAX];
        _cleanup_buf_ Buf sealed = {};
        int r;

        if (batch_builder_has_secret(b, m->name))
                return -EBUSY;
        r = need_key(l, &label.key, &key);
        if (r == -ENOKEY || r == -ENODATA)
                return no_key(t, r == -ENODATA);
        if (r == 0)
                r = secret_box_seal(key->data, &label, m->value.data, m->value.len, &sealed);
        if (r < 0)
                return r;
        authorization_author_at(l, t->author, by, sizeof(by));
        version.version = label.version;
        version.key = label.key;
        version.sealed = (ProtobufCBinaryData){sealed.len, sealed.data};
        version.at_us = leader_wall(l);
        version.by = by;
        leader_set_due(l, DUE_OLD_SECRETS); // the version before it may be unused
        return put(l, t, b, m->name, &version);
}

// ------------------------------------------------------------------------------------------------ deleting

typedef struct Named {
        char text[256];
        size_t n;
} Named;

static bool name_user(const char *unit, uint64_t version, void *userdata) {
        Named *named = userdata;
        size_t len = strlen(named->text);

        if (named->n++ == NAMED_USERS_MAX)
                return false;
        str_fit(named->text + len, sizeof(named->text) - len, "%s%.64s", len > 0 ? ", " : "", unit);
        return true;
}

static int refuse_used(Leader *l, PendingRequest *t, const char *name) {
        size_t n = secret_users_count(&l->secret_users, name);
        Named named = {};

        secret_users_each(&l->secret_users, name, name_user, &named);
        return request_refuse(t, EBUSY, "%zu unit%s the secret %s (%s%s): nothing was changed", n,
                             n == 1 ? " has" : "s have", name, named.text,
                             n > NAMED_USERS_MAX ? ", ..." : "");
}

int secrets_plan_delete(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__Request__SecretDelete *m = t->request->secret_delete;

        if (m->n_names == 0 || m->n_names > CLUSTER_SECRETS_MAX)
                return request_refuse(t, EINVAL, "this names %zu secrets", m->n_names);
        for (size_t i = 0; i < m->n_names; i++) {
                if (!cluster_state_find_secret(l->state, m->names[i]))
                        return request_refuse(t, ENOENT, "there is no secret '%.64s': nothing was changed",
                                             m->names[i]);
                if (secret_users_count(&l->secret_users, m->names[i]) > 0)
                        return refuse_used(l, t, m->names[i]);
                if (batch_builder_has_secret(b, m->names[i]) || batch_builder_uses_secret(b, m->names[i]))
                        return -EBUSY;
        }
        for (size_t i = 0; i < m->n_names; i++) {
                int r = batch_builder_has_secret(b, m->names[i])
                                ? 0
                                : batch_builder_remove_secret(b, m->names[i]);

                if (r < 0)
                        return r;
        }
        return request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
}

// ------------------------------------------------------------------------------------------- older versions

static int prune(Leader *l, BatchBuilder *b, const Argosy__SecretRecord *record) {
        uint64_t versions[CLUSTER_SECRET_VERSIONS_MAX];
        size_t n = 0;

        for (size_t i = 0; i + 1 < record->n_versions && n < ELEMENTSOF(versions); i++)
                if (secret_users_count_of(&l->secret_users, record->name, record->versions[i]->version) == 0)
                        versions[n++] = record->versions[i]->version;
        return n > 0 ? batch_builder_prune_secret(b, record->name, versions, n) : 0;
}

// A unit that is put in this entry keeps the version that it has, and that is counted, or gets the newest.
int secrets_decide(Leader *l, BatchBuilder *b) {
        size_t n;
        Argosy__SecretRecord *const *secrets = cluster_state_secrets(l->state, &n);
        bool again = false;
        int r = 0;

        if (!leader_take_due(l, DUE_OLD_SECRETS))
                return 0;
        for (size_t i = 0; r == 0 && i < n; i++) {
                if (batch_builder_has_secret(b, secrets[i]->name))
                        again = true;
                else
                        r = prune(l, b, secrets[i]);
        }
        if (again || r < 0) // what this entry brings, when it is there
                leader_set_due(l, DUE_OLD_SECRETS);
        return r;
}
