// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Files that nobody has any more, of units whose content this run of argosyd does not know: of what the
// ledger names only the hash is known until a leader sends the content, and if the unit goes or gets another
// one before that, nobody can say which files were its own.
//
//      the folder of such a unit has gone -> the pool lists the files that no folder has -> those that no
//      known content names go, some in each turn
//
// A file without a folder may have come a moment ago, for a unit that is about to get its folder: its
// content is known, so it stays. What is missed (no memory, a file system that does not answer) goes with
// the next such unit or the next start.

#include "agent-carried.h"

#include "carried-names.h"
#include "carried-store.h"
#include "pool.h"

enum { DROPS_PER_TURN = 64 }; // about 10 us each

struct AgentCarriedLeft {
        PoolWork work;
        Agent *agent;
        CarriedFiles found; // names are those of the store
        size_t next;        // to be judged
        bool listing;       // the pool has it
};

static void left_free(struct AgentCarriedLeft *left) {
        left->agent->carried_left = NULL;
        carried_files_done(&left->found);
        free(left);
}

static void run_list(PoolWork *w) {
        struct AgentCarriedLeft *left = CONTAINER_OF(w, struct AgentCarriedLeft, work);

        carried_store_list_unused(left->agent->runtime_dir, &left->found);
}

static void on_listed(PoolWork *w) {
        struct AgentCarriedLeft *left = CONTAINER_OF(w, struct AgentCarriedLeft, work);
        Agent *a = left->agent;

        left->listing = false;
        if (a->closing)
                left_free(left);
        else
                drain_mark(&a->drain);
        agent_close_step(a);
}

static void list(Agent *a) {
        struct AgentCarriedLeft *left = calloc(1, sizeof(*left));

        a->carried_is_left = false;
        if (!left)
                return;
        left->agent = a;
        left->listing = true;
        a->carried_left = left;
        a->n_open++;
        pool_add(a->loop, &left->work, POOL_LATER, run_list, on_listed);
}

void agent_carried_left_turn(Agent *a) {
        struct AgentCarriedLeft *left = a->carried_left;

        if (!left && a->carried_is_left)
                list(a);
        if (!left || left->listing)
                return;
        for (unsigned n = 0; n < DROPS_PER_TURN && left->next < left->found.n; n++) {
                const CarriedFile *f = &left->found.list[left->next++];

                if (!carried_is_named(a, &f->hash, f->executable))
                        carried_store_drop(a->runtime_dir, &f->hash, f->executable);
        }
        if (left->next == left->found.n)
                left_free(left);
        if (a->carried_left || a->carried_is_left)
                drain_mark(&a->drain);
}

void agent_carried_left_drop(Agent *a) {
        if (a->carried_left && !a->carried_left->listing)
                left_free(a->carried_left);
}
