// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See older-secrets.h. Which versions units have follows from their records (SecretUsers), and whether these
// are old from the secrets'. What is told of a unit changes with its record, and with a new version: that
// one marks the rows of all units that have an older one, some in each turn.
//
// Those whose registry is to see that secret (RegistryAuth=) get an order with the new one in that walk, and
// nodes that have refused them are asked again: a registry may have denied what it was shown.
//
// Cost: nothing while no unit has any; else a look-up of the unit's name for each row.

#include "older-secrets.h"

#include "due.h"
#include "orders.h"
#include "pending.h"
#include "registry.h"
#include "secret-users.h"
#include "tables.h"
#include "turn.h"
#include "unit-marks.h"
#include "unit-on-node.h"

// at units and their rows in one turn, at about 0.5 us each; all of a unit's are one step
enum { LOOKS = 2048 };

typedef struct Search {
        const Leader *leader;
        const char *found;
} Search;

static bool look(const char *secret, uint64_t version, void *userdata) {
        Search *s = userdata;
        const Argosy__SecretRecord *record =
                version > 0 ? cluster_state_find_secret(s->leader->state, secret) : NULL;

        if (record && version < secret_record_newest(record)->version)
                s->found = record->name;
        return !s->found;
}

const char *unit_older_secret(const Leader *l, const char *unit) {
        Search s = {.leader = l};
        const UnitEntry *e =
                l->secret_users.units.count > 0 ? cluster_state_find_unit(l->state, unit) : NULL;

        if (e && e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED)
                secret_users_each_of_unit(&l->secret_users, unit, look, &s);
        return s.found;
}

static bool shows_registry(const Leader *l, const char *unit) {
        const UnitEntry *e = cluster_state_find_unit(l->state, unit);
        const UnitFile *file;

        return e && spec_entry_file(e->spec, &file) == 0 && file->registry_auth;
}

// How many rows that were.
static size_t mark(Leader *l, Unit *u) {
        bool is_sent = shows_registry(l, u->name);
        size_t n = 0;

        if (is_sent) {
                unit_forget_exclusions(l, u, 0);
                pending_mark(l, u);
                leader_set_due(l, DUE_PLACEMENT | DUE_ENQUEUED); // it may have a node now
        }
        for (ListNode *i = u->on_nodes.next; i != &u->on_nodes; i = i->next, n++) {
                UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                unit_touch_on_node(l, s);
                if (is_sent && unit_on_node_is_to_have(s))
                        orders_mark(l, u, s->node);
        }
        return n;
}

void older_secrets_begin(Leader *l) {
        l->secrets_followed = cluster_state_secrets_revision(l->state);
}

void older_secrets_follow(Leader *l) {
        uint64_t revision = cluster_state_secrets_revision(l->state);
        size_t n;
        Argosy__SecretRecord *const *secrets = cluster_state_secrets(l->state, &n);

        if (revision == l->secrets_followed)
                return;
        for (size_t i = 0; i < n; i++)
                if (secret_record_newest(secrets[i])->revision > l->secrets_followed)
                        secret_users_recall_before(&l->secret_users, secrets[i]->name,
                                                   secret_record_newest(secrets[i])->version);
        l->secrets_followed = revision;
}

void older_secrets_step(Leader *l) {
        const char *name = NULL;

        for (size_t n = 0; n < LOOKS && (name = secret_users_next_recalled(&l->secret_users)); n++) {
                Unit *u = unit_find(l, name);

                if (u)
                        n += mark(l, u);
        }
        if (name)
                leader_mark(l);
}
