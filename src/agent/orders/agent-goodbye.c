// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a host takes its leave of the leader.
//
//   systemd is stopping -> Goodbye {stopping}: nothing new is to come here; said again to each next leader
//   SIGTERM of argosyd  -> systemd is asked whether it is stopping, if it has not said so, and what has
//                       ended
//                          -> Goodbye {running}: the host counts as lost at once, and what is not named
//                          begins
//                          elsewhere without waiting for its lease
//
// Our units are ordered after argosy.target, so by the time of SIGTERM systemd has stopped them, but for
// those without DefaultDependencies=, and those of managers of users and containers, which end when they do.
// These are named, and wait as for a host of which nothing is heard. A signal may be late in telling of an
// end, hence the question; without an answer in time, what has not been seen to end is named.

#include "agent-goodbye.h"
#include "agent-core.h"
#include "agent-report.h"
#include "agent-session.h"
#include "agent-unit.h"
#include "message-of.h"

enum { GOODBYE_UNITS_MAX = 1000 }; // named one by one, per node

static void send_to_leader(Agent *a, Argosy__ToVoter__Goodbye *goodbye) {
        if (a->leader == 0)
                return;
        agent_report_all(a); // what is known goes first
        Argosy__ToVoter message =
                MESSAGE_OF(to_voter, .msg_case = ARGOSY__TO_VOTER__MSG_GOODBYE, .goodbye = goodbye);
        (void) a->ops.send(&message, a->userdata);
}

static void send_stopping(Agent *a) {
        Argosy__ToVoter__Goodbye goodbye = MESSAGE_OF(
                to_voter__goodbye, .why = ARGOSY__TO_VOTER__GOODBYE__WHY__SHUTDOWN, .stopping = true);

        send_to_leader(a, &goodbye);
}

// A shutdown that was cancelled before anybody heard of it was none.
void agent_stopping_drain(Agent *a) {
        bool is_stopping = agent_is_stopping(a);

        if (a->stopping_unsent && is_stopping)
                send_stopping(a);
        a->stopping_unsent = false;
        if (a->stopping_notified == is_stopping)
                return;
        a->stopping_notified = is_stopping;
        if (is_stopping && a->ops.stopping)
                a->ops.stopping(a->userdata);
        else if (!is_stopping && a->ops.resumed)
                a->ops.resumed(a->userdata);
}

// ---- what may still run

// A manager that was never reached is not known: units held there may run.
static bool may_run(const AgentUnit *u) {
        const UnitRuntime *rt = &u->watch.runtime;

        if (!u->node->synced)
                return u->has_held;
        return u->has_held && rt->loaded && rt->active != ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE &&
               rt->active != ARGOSY__ACTIVE_STATE__ACTIVE_FAILED;
}

// False: nothing does. The names are borrowed; `units` is to be freed.
static bool fill_running(AgentNode *node, Argosy__ToVoter__Goodbye__Running *ret) {
        size_t n = 0;

        *ret = (Argosy__ToVoter__Goodbye__Running) MESSAGE_OF(to_voter__goodbye__running,
                                                              .node = node->number);
        agent_foreach_unit(u, node) n += may_run(u);
        ret->units = n <= GOODBYE_UNITS_MAX ? calloc(n + 1, sizeof(*ret->units)) : NULL;
        ret->all = !ret->units;
        if (!ret->all)
                agent_foreach_unit(u, node) if (may_run(u)) ret->units[ret->n_units++] = (char *) u->name;
        return n > 0;
}

static void send_goodbye(Agent *a) {
        Argosy__ToVoter__Goodbye goodbye =
                MESSAGE_OF(to_voter__goodbye, .why = ARGOSY__TO_VOTER__GOODBYE__WHY__SHUTDOWN);
        Argosy__ToVoter__Goodbye__Running *rows = calloc(a->n_nodes + 1, sizeof(*rows));
        Argosy__ToVoter__Goodbye__Running **list = calloc(a->n_nodes + 1, sizeof(*list));
        size_t n = 0;

        goodbye.running = list;
        if (rows && list)
                agent_foreach_node (node, a) {
                        list[goodbye.n_running] = &rows[n];
                        goodbye.n_running += fill_running(node, &rows[n]);
                        n++;
                }
        if (!rows || !list)
                agent_attach(a); // takes the first Goodbye back: from now on only the lease counts
        else
                send_to_leader(a, &goodbye);
        for (size_t i = 0; rows && i < n; i++)
                free(rows[i].units);
        free(rows);
        free(list);
}

void agent_goodbye(Agent *a, bool shutdown) {
        Argosy__ToVoter__Goodbye goodbye =
                MESSAGE_OF(to_voter__goodbye, .why = ARGOSY__TO_VOTER__GOODBYE__WHY__RESTART);

        if (shutdown)
                send_goodbye(a);
        else
                send_to_leader(a, &goodbye);
}

// ---- what is asked before

static void ask_before(Agent *a, void (*done)(void *userdata), void *userdata) {
        a->asked = done;
        a->asked_data = userdata;
        drain_mark(&a->drain);
}

void agent_ask_stopping(Agent *a, void (*done)(void *userdata), void *userdata) {
        a->asking_state = a->system && systemd_manager_ask_stopping(a->system->systemd);
        ask_before(a, done, userdata);
}

// If systemd was connected only just now its first answer is waited for: without it all held units would
// count as possibly running.
void agent_refresh_before_goodbye(Agent *a, void (*done)(void *userdata), void *userdata) {
        a->asking_units = a->system && systemd_manager_refresh(a->system->systemd);
        ask_before(a, done, userdata);
}

// After what the answer has changed was reported.
void agent_goodbye_drain(Agent *a) {
        void (*asked)(void *userdata) = a->asked;

        if (!asked || a->asking_state || a->asking_units)
                return;
        a->asked = NULL;
        asked(a->asked_data);
}
