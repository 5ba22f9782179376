// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of lists of what people have said: units' files, rights, tokens and pools are listed as the log has
// them, each once. When all is at rest root asks for them.
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "macro.h"
#include "str.h"
#include "test.h"
#include "trials.h"

static const Argosy__Response *ask(Argosy__Request__WhatCase what, void *message) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        const RigAnswer *a;

        request.what_case = what;
        request.change = message; // a union: all of them are pointers
        a = rig_ask(&world.rig, &request);
        rig_settle(&world.rig);
        if (a->error || a->n == 0 || !a->final || a->responses[a->n - 1]->status != 0)
                check_fail("listed-as-recorded", "root is not told what there is");
        check_says("listed-as-recorded");
        return a->responses[a->n - 1];
}

// ----------------------------------------------------------------------------------------------- unit files

static const char *word_of(Argosy__Target target) {
        switch (target) {
        case ARGOSY__TARGET__TARGET_INACTIVE:
                return "inactive";
        case ARGOSY__TARGET__TARGET_LOADED:
                return "loaded";
        default:
                return "launched";
        }
}

static void one_file(const Argosy__Response__UnitFileRow *row, const LogUnit *u) {
        char hex[HASH_HEX_SIZE];

        hash_hex(&u->spec, HASH_SIZE, hex);
        if (!u->exists)
                check_fail("listed-as-recorded", "%s is listed, and there is none", row->unit);
        if (!*row->rev || !str_has_prefix(hex, row->rev))
                check_fail("listed-as-recorded", "%s is listed with the content %s, and has %.12s",
                           row->unit, row->rev, hex);
        if (!streq(row->desired, word_of(u->target)))
                check_fail("listed-as-recorded", "%s is to be %s, and is listed as %s", row->unit,
                           word_of(u->target), row->desired);
        if (row->global != u->global)
                check_fail("listed-as-recorded", "%s is listed as one that runs on %s", row->unit,
                           row->global ? "all nodes" : "one node");
}

static void unit_files(void) {
        Argosy__Request__ListUnitFiles m = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;
        const Argosy__Response__UnitFiles *files =
                ask(ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES, &m)->unit_files;
        unsigned listed = 0, there = 0;

        for (size_t i = 0; i < files->n_rows; i++) {
                int k = world_unit_index(files->rows[i]->unit);

                if (k < 0)
                        continue;
                listed++;
                one_file(files->rows[i], &log_truth.units[k]);
        }
        for (unsigned i = 0; i < asks.n_units; i++)
                there += log_truth.units[i].exists;
        if (listed != there)
                check_fail("listed-as-recorded", "%u units are listed, and %u are there", listed, there);
}

// ---------------------------------------------------------------------------------------- rights and tokens

static bool is_grant(const Argosy__GrantRecord *r, const LogGrant *g) {
        return r->right == g->right && streq(r->user, g->user) && streq(r->group, g->group) &&
               streq(r->role, g->role) && r->host == g->host;
}

static void rights(void) {
        Argosy__Request__AccessList m = ARGOSY__REQUEST__ACCESS_LIST__INIT;
        const Argosy__Response__Access *access = ask(ARGOSY__REQUEST__WHAT_ACCESS_LIST, &m)->access;

        if (access->n_rows != log_truth.n_grants)
                check_fail("listed-as-recorded", "%zu rights are listed, and there are %zu", access->n_rows,
                           log_truth.n_grants);
        for (size_t i = 0; i < access->n_rows; i++) {
                const Argosy__GrantRecord *r = access->rows[i]->grant;
                char host[16];
                size_t k = 0;

                while (k < log_truth.n_grants && !is_grant(r, &log_truth.grants[k]))
                        k++;
                if (k == log_truth.n_grants)
                        check_fail("listed-as-recorded", "a right of '%s%s' is listed that nobody has",
                                   r->user, r->group);
                snprintf(host, sizeof(host), "n%u", r->host);
                if (!streq(access->rows[i]->host, r->host > 0 ? host : ""))
                        check_fail("listed-as-recorded", "the right of '%s%s' at n%u is listed for '%s'",
                                   r->user, r->group, r->host, access->rows[i]->host);
        }
}

static void tokens(void) {
        Argosy__Request__TokenList m = ARGOSY__REQUEST__TOKEN_LIST__INIT;
        const Argosy__Response__Tokens *tokens = ask(ARGOSY__REQUEST__WHAT_TOKEN_LIST, &m)->tokens;

        for (size_t i = 0; i < tokens->n_rows; i++) {
                const Argosy__AccessTokenRecord *t = tokens->rows[i]->token;
                const char *state = tokens->rows[i]->state;
                bool over = t->expires_us <= world.rig.wall_us;

                if (t->hash.len > 0)
                        check_fail("listed-as-recorded", "the token %s is listed with its hash", t->name);
                if (streq(state, "revoked") != (t->revoked_us > 0) || (over && streq(state, "active")))
                        check_fail("listed-as-recorded", "the token %s is listed as %s, and is %s", t->name,
                                   state,
                                   t->revoked_us > 0 ? "revoked"
                                   : over            ? "over"
                                                     : "not revoked");
        }
}

// ---------------------------------------------------------------------------------------------------- pools

static bool is_in_pool(const Argosy__Response__PoolRow *pool, const Argosy__HostRecord *h) {
        for (size_t i = 0; i < pool->n_hosts; i++)
                if (streq(pool->hosts[i], h->name))
                        return true;
        for (size_t i = 0; i < pool->n_labels; i++)
                for (size_t k = 0; k < h->n_labels; k++)
                        if (streq(pool->labels[i]->key, h->labels[k]->key) &&
                            streq(pool->labels[i]->value, h->labels[k]->value))
                                return true;
        return false;
}

// By the names of hosts: a node of a user's manager has that of its host behind it.
static bool has_node_of(const Argosy__Response__PoolRow *pool, const Argosy__HostRecord *h) {
        for (size_t i = 0; i < pool->n_nodes; i++) {
                const char *at = strrchr(pool->nodes[i], '@');

                if (streq(at ? at + 1 : pool->nodes[i], h->name))
                        return true;
        }
        return false;
}

static void one_pool(const Argosy__Response__PoolRow *pool, const Argosy__HostRecord *h) {
        bool listed = has_node_of(pool, h);

        if (h->n_nodes > 0 && is_in_pool(pool, h) != listed)
                check_fail("listed-as-recorded", "%s is %s the pool %s, by its list", h->name,
                           listed ? "in" : "not in", pool->name);
}

static void pools(void) {
        Argosy__Request__PoolList m = ARGOSY__REQUEST__POOL_LIST__INIT;
        const Argosy__Response__Pools *pools = ask(ARGOSY__REQUEST__WHAT_POOL_LIST, &m)->pools;

        for (size_t i = 0; i < pools->n_rows; i++)
                for (const Argosy__HostRecord *h = cluster_state_next_host(world.rig.state, 0); h;
                     h = cluster_state_next_host(world.rig.state, h->host))
                        one_pool(pools->rows[i], h);
}

void listed_on_finish(void) {
        unit_files();
        rights();
        tokens();
        pools();
}
