// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of lists of nodes: who is a member, what its owner lets it do, how many units it has, and whether it
// is heard, against the log and against what hosts have said.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "test.h"

enum { MEMBERS_MAX = 64, NODES_OF_HOST = 4 };

// As the log has put it, by the number of the host.
static struct {
        bool is_member;
        char name[64];
        size_t n_nodes;
        struct {
                uint32_t node;
                Argosy__NodeMode mode;
        } nodes[NODES_OF_HOST];
} members[MEMBERS_MAX + 1];

// Some unit has run on all nodes since all was calm: how many of these run on a node is counted by and by.
static bool had_global;

static void read_host(const Argosy__HostRecord *h) {
        if (h->host > MEMBERS_MAX)
                return;
        members[h->host].is_member = true;
        members[h->host].n_nodes = 0;
        snprintf(members[h->host].name, sizeof(members[h->host].name), "%s", h->name);
        for (size_t i = 0; i < h->n_nodes && i < NODES_OF_HOST; i++) {
                members[h->host].nodes[i].node = h->nodes[i]->node;
                members[h->host].nodes[i].mode = h->nodes[i]->mode;
                members[h->host].n_nodes++;
        }
}

void nodes_begin(void) {
        had_global = false;
        memset(members, 0, sizeof(members));
        for (const Argosy__HostRecord *h = cluster_state_next_host(world.rig.state, 0); h;
             h = cluster_state_next_host(world.rig.state, h->host))
                read_host(h);
}

// The applier gives a new host or node its number, which is read from the state.
void nodes_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < log_truth.n_touched; i++)
                had_global |= log_truth.touched[i].before.global;
        for (size_t i = 0; i < batch->n_ops; i++) {
                const Argosy__LogOp *op = batch->ops[i];

                if (op->op_case == ARGOSY__LOG_OP__OP_HOST_REMOVE && op->host_remove->host <= MEMBERS_MAX)
                        members[op->host_remove->host].is_member = false;
                else if (op->op_case == ARGOSY__LOG_OP__OP_HOST)
                        read_host(op->host);
        }
        for (size_t i = 0; i < batch->n_ops; i++)
                for (size_t k = 0;
                     batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_HOST && k < batch->ops[i]->host->n_nodes;
                     k++)
                        if (batch->ops[i]->host->nodes[k]->node == 0) {
                                nodes_begin();
                                return;
                        }
}

static uint32_t find_member(const char *name) {
        for (uint32_t i = 1; i <= MEMBERS_MAX; i++)
                if (members[i].is_member && strcmp(members[i].name, name) == 0)
                        return i;
        return 0;
}

static unsigned units_on(uint32_t node) {
        unsigned n = 0;

        for (unsigned i = 0; i < asks.n_units; i++)
                n += log_truth.units[i].exists && log_truth.units[i].node == node;
        return n;
}

// Those of the crowd are not followed: so many more may be there.
static bool are_as_many(unsigned listed, unsigned known) {
        return listed >= known && listed <= known + asks.swarm.crowd;
}

void nodes_on_calm(void) {
        had_global = false;
}

static bool any_global(void) {
        for (unsigned i = 0; i < asks.n_units; i++)
                if (log_truth.units[i].exists && log_truth.units[i].global)
                        return true;
        return had_global;
}

static const char *mode_word(Argosy__NodeMode mode) {
        static const char *const words[] = {"", "cordoned", "draining", "maintenance"};

        return words[mode];
}

// What a long list says of a node was so since it was asked for; `now`: nothing has come to the log since.
static void one_row(const Argosy__Response__NodeRow *row, unsigned *seen, bool now) {
        char name[64];
        uint32_t host;
        size_t i = 0;

        snprintf(name, sizeof(name), "%.*s", (int) strcspn(row->node, "/"), row->node);
        host = find_member(name);
        if (!host)
                check_fail("nodes-are-listed", "%s is listed, and the log has no such host", row->node);
        // The first node is that of the host itself, and named like it.
        while (i < members[host].n_nodes && (strchr(row->node, '/') != NULL) != (i > 0))
                i++;
        if (i == members[host].n_nodes)
                check_fail("nodes-are-listed", "%s is listed, and the log has no such node", row->node);
        seen[host]++;
        check_says("nodes-are-listed");
        if (now && i == 0 && strcmp(row->mode, mode_word(members[host].nodes[0].mode)) != 0)
                check_fail("nodes-are-listed", "%s is listed as '%s', and the log says '%s'", row->node,
                           row->mode, mode_word(members[host].nodes[0].mode));
        if (now && i == 0 && (any_global() ? row->units < units_on(members[host].nodes[0].node)
                                    : !are_as_many(row->units, units_on(members[host].nodes[0].node))))
                check_fail("nodes-are-listed", "%s is listed with %u units, and the log has %u there",
                           row->node, row->units, units_on(members[host].nodes[0].node));
        if (!world.rig.led || host > asks.swarm.hosts || world_host_lies(host))
                return;
        if ((strcmp(row->state, "lost") == 0 || strcmp(row->state, "down") == 0) && !heard_may_be_lost(host))
                check_fail("nodes-are-listed", "%s is listed as %s, and is heard", row->node, row->state);
        // The host of the leader itself is there, whatever its agent says.
        if (strcmp(row->state, "online") == 0 && host > 1 && heard_is_silent(host))
                check_fail("nodes-are-listed", "%s is listed as online, and was silent for two leases",
                           row->node);
}

void nodes_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        unsigned seen[MEMBERS_MAX + 1] = {}, n_leaders = 0;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_NODES || r->status != 0)
                return;
        for (size_t i = 0; i < r->nodes->n_rows; i++) {
                one_row(r->nodes->rows[i], seen, a->asked_at == log_truth.n_entries);
                n_leaders += r->nodes->rows[i]->leader && !strchr(r->nodes->rows[i]->node, '/');
        }
        if (n_leaders > 1)
                check_fail("nodes-are-listed", "%u hosts are listed as leaders", n_leaders);
        for (uint32_t i = 1; !a->request->list_nodes->filter && i <= MEMBERS_MAX; i++)
                if (members[i].is_member && seen[i] != members[i].n_nodes)
                        check_fail("nodes-are-listed", "%s has %zu nodes, and is listed %u times",
                                   members[i].name, members[i].n_nodes, seen[i]);
}
