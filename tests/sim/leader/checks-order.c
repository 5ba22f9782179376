// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of the order of units: what contents in the log say of After= and Before= goes in no cycle, whoever
// has brought them, one by one or several at once.
#include "checks-private.h"
#include "test.h"

// Who replaces whom goes in no cycle either: none of them would ever have a node.
static void replaces_has_no_cycle(void) {
        uint32_t replaces[WORLD_UNITS_MAX] = {};

        for (unsigned i = 0; i < asks.n_units; i++) {
                const WorldContent *c = log_content(&log_truth.units[i]);

                for (unsigned k = 0; c && k < asks.n_units; k++)
                        if (c->replaces & 1u << k && log_truth.units[k].exists)
                                replaces[i] |= 1u << k;
        }
        for (unsigned k = 0; k < asks.n_units; k++)
                for (unsigned i = 0; i < asks.n_units; i++)
                        if (replaces[i] & 1u << k)
                                replaces[i] |= replaces[k];
        for (unsigned i = 0; i < asks.n_units; i++)
                if (replaces[i] & 1u << i)
                        check_fail("order-has-no-cycle", "%s replaces itself", asks.units[i].name);
}

void order_on_entry(const Argosy__LogBatch *batch) {
        uint32_t after[WORLD_UNITS_MAX] = {}, exist = 0; // bit of each unit
        bool any = false;

        if (log_truth.n_touched == 0)
                return;
        replaces_has_no_cycle();
        for (unsigned i = 0; i < asks.n_units; i++)
                exist |= (uint32_t) log_truth.units[i].exists << i;
        for (unsigned i = 0; i < asks.n_units; i++) {
                const LogUnit *u = &log_truth.units[i];
                const WorldContent *c = log_content(u);

                if (!c)
                        continue;
                after[i] |= c->after & exist;
                for (unsigned k = 0; k < asks.n_units; k++)
                        if (c->before & exist & 1u << k)
                                after[k] |= 1u << i;
        }
        for (unsigned k = 0; k < asks.n_units; k++)
                for (unsigned i = 0; i < asks.n_units; i++)
                        if (after[i] & 1u << k)
                                after[i] |= after[k];
        for (unsigned i = 0; i < asks.n_units; i++) {
                any |= after[i] != 0;
                if (after[i] & 1u << i)
                        check_fail("order-has-no-cycle", "%s comes after itself", asks.units[i].name);
        }
        if (any)
                check_says("order-has-no-cycle");
}
