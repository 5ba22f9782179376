// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A node has one network of each name. A container that comes with another file of one makes it anew, and
// all that have it go down meanwhile:
//
//      PLAN_FETCH      podman says who has the network (agent-network-users.h)
//      PLAN_NETWORKS   1. podman says what is there: of which file it was made (network-look.h)
//                      2. systemd says whom it would stop with the unit that makes it: each comes back after
//                         this one (agent-returns.h), which the ledger says before
//                      3. that unit is stopped, and its users with it
//                      4. `podman rm` of what a power cut has left of these, and `podman network rm`
//      PLAN_WRITE      the unit, and what makes the network; others are written by their own plan
//      PLAN_PLACES     before each start (agent-network-made.h)
//
// One unit of the host does that at a time, from step 1 to the end of the write; the next ones find the
// network as they want it, and only write. Nothing of it is remembered: after a crash between any two of
// these the file that is there, or the label of the network, says that it is due still, and all steps may be
// done twice. podman takes no network from a container (no --force): what came to it since the look makes
// the step fail, and it is tried again.
//
// A network that the host has by itself has no unit of argosy's, and stays.

#include "agent-networks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent-network-look.h"
#include "agent-returns.h"
#include "agent-unit.h"
#include "str.h"
#include "unit-state.h"

// Before it, containers of units that do not run: whose they are was looked at.
#define REMOVE_SCRIPT                                                                                   \
        "for n; do podman network exists \"$$n\"; case $$? in 0) ;; 1) continue;; *) exit 1;; esac; "   \
        "left=$$(podman ps -aq --filter \"network=$$n\" --filter label=PODMAN_SYSTEMD_UNIT "            \
        "--filter status=created --filter status=exited) || exit 1; "                                   \
        "for c in $$left; do podman rm \"$$c\" || exit 1; done; podman network rm \"$$n\" || exit 1; done"

enum { REMOVE_SEC = 60 };

static NetworkLook *change_of(const AgentUnit *u) {
        NetworkLook *c = u->node->agent->networks.change;

        return c && streq(c->unit, u->name) && agent_unit_doing(u)->network_turn ? c : NULL;
}

static void end_change(Agent *a) {
        if (a->networks.change && a->networks.change->command)
                return; // podman's answer ends it
        if (a->networks.change)
                agent_network_look_free(TAKE_PTR(a->networks.change));
}

// Those that waited write their files: most find the network as they want it.
static void wake_others(Agent *a) {
        ListNode waiting = LIST_INIT(waiting);

        list_splice(&waiting, &a->networks.waiting);
        while (!list_is_empty(&waiting)) {
                AgentUnitWork *work = CONTAINER_OF(waiting.next, AgentUnitWork, network_wait);

                list_unlink(&work->network_wait);
                work->network_in_way = false;
                agent_step_prepared(work->unit);
        }
        drain_mark(&a->drain);
}

void agent_networks_release(AgentUnit *u) {
        Agent *a = u->node->agent;

        if (!u->work || !u->work->network_turn)
                return;
        if (change_of(u))
                end_change(a);
        u->work->network_turn = u->work->network_free = false;
        a->networks.n_made++;
        wake_others(a);
}

void agent_networks_in_way(AgentUnit *u) {
        u->work->network_in_way = true;
        u->work->network_then = u->node->agent->networks.n_made;
        agent_step_prepared(u);
}

static void go_on(AgentUnit *u, NetworkLook *c, NetworkPhase phase) {
        c->phase = phase;
        c->at = 0;
        agent_step_prepared(u);
}

// The first line, without podman's "Error: ".
static char *first_line(const Buf *said) {
        static const char prefix[] = "Error: ";
        const char *at = (const char *) said->data;
        size_t len = said->len;
        const char *lf = len > 0 ? memchr(at, '\n', len) : NULL;
        _cleanup_free_ char *line = NULL;

        len = lf ? (size_t) (lf - at) : len;
        line = strndup(len > 0 ? at : "", len);
        return line ? str_printable(line + (str_has_prefix(line, prefix) ? strlen(prefix) : 0), 300) : NULL;
}

// podman has answered. NULL: for a unit that does not change networks any more; then this ends, too.
static AgentUnit *find_asker(NetworkLook *c) {
        AgentUnit *u = agent_step_find(c->call->node, c->call->name, c->call->number);
        Agent *a = c->agent;

        c->command = NULL;
        drain_mark(&a->drain);
        if (u && change_of(u) == c)
                return u;
        end_change(a);
        wake_others(a);
        return NULL;
}

static void on_removed(int result, const Buf *output, const Buf *said, void *userdata) {
        NetworkLook *c = userdata;
        AgentUnit *u = find_asker(c);
        _cleanup_free_ char *line = result == 0 ? NULL : first_line(said);

        if (!u)
                return;
        if (result != 0) {
                agent_network_fail(u, "its network is not removed, to be made anew", "",
                                   result == -ETIMEDOUT ? "podman does not answer" : line ?: "");
                return;
        }
        u->work->network_in_way = u->work->network_stale = false;
        u->work->network_free = true;
        go_on(u, c, NETWORK_GONE);
}

static void remove_all(AgentUnit *u, NetworkLook *c) {
        int r = agent_network_look_ask(c, REMOVE_SCRIPT, REMOVE_SEC, false, on_removed);

        if (r < 0)
                agent_network_fail(u, "its network is not removed, to be made anew", "", strerror(-r));
}

static void skip_to_due(NetworkLook *c) {
        while (c->at < c->n && !c->list[c->at].due)
                c->at++;
}

static void stop_next(AgentUnit *u, NetworkLook *c);

static void on_stopped(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                       void *userdata) {
        _cleanup_free_ AgentStepCall *call = userdata;
        AgentUnit *u = agent_step_find(call->node, call->name, call->number);
        NetworkLook *c = u ? change_of(u) : NULL;

        call->node->n_jobs--;
        if (!c)
                return;
        if (result == SYSTEMD_JOB_LOST) {
                go_on(u, c, NETWORK_STOP);
        } else if (result == SYSTEMD_JOB_DONE || result == SYSTEMD_JOB_NO_UNIT) {
                c->at++;
                stop_next(u, c);
        } else {
                agent_network_fail(u, "cannot stop ", name, error ?: "");
        }
}

static void stop_next(AgentUnit *u, NetworkLook *c) {
        AgentStepCall *call;
        int r;

        skip_to_due(c);
        if (c->at == c->n) {
                c->phase = NETWORK_REMOVE;
                remove_all(u, c);
                return;
        }
        call = agent_step_call_new(u);
        r = call ? systemd_manager_job_of(u->node->systemd, u->work->request, SYSTEMD_STOP,
                                          c->list[c->at].unit, on_stopped, call)
                 : -ENOMEM;
        if (r >= 0) {
                u->node->n_jobs++;
                return;
        }
        free(call);
        agent_network_fail(u, "cannot stop ", c->list[c->at].unit, strerror(-r));
}

static void survey_next(AgentUnit *u, NetworkLook *c);

static bool any_up(const AgentUnit *u, const SystemdDependent *list, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!streq(list[i].name, u->name) && !active_state_is_down(list[i].active))
                        return true;
        return false;
}

static void on_surveyed(int error, const SystemdDependent *list, size_t n, void *userdata) {
        _cleanup_free_ AgentStepCall *call = userdata;
        AgentUnit *u = agent_step_find(call->node, call->name, call->number);
        NetworkLook *c = u ? change_of(u) : NULL;

        if (!c)
                return;
        if (error == -ECONNRESET || error == -ECANCELED) {
                go_on(u, c, NETWORK_SURVEY);
                return;
        }
        if (error == 0 && u->work->wanted.target != ARGOSY__TARGET__TARGET_LAUNCHED && any_up(u, list, n)) {
                agent_network_fail(u, "others have the network of before, and run: ", c->list[c->at].file,
                                   "it is made anew with these");
                return;
        }
        if (error == 0)
                agent_returns_take(u, list, n);
        c->at++;
        survey_next(u, c);
}

static void survey_next(AgentUnit *u, NetworkLook *c) {
        AgentStepCall *call;
        int r;

        skip_to_due(c);
        if (c->at == c->n) {
                go_on(u, c, NETWORK_STOP); // what comes back is in the ledger then
                return;
        }
        call = agent_step_call_new(u);
        r = call ? systemd_manager_stopped_with(u->node->systemd, c->list[c->at].unit, on_surveyed, call)
                 : -ENOMEM;
        if (r >= 0)
                return;
        free(call);
        agent_network_fail(u, "cannot ask what systemd stops with ", c->list[c->at].unit, strerror(-r));
}

// What is to be made anew: another file than that of the network, or, if one stands in the way, of the unit
// that makes it, which is told of no single one.
static size_t mark_due(NetworkLook *c, const Buf *output, bool in_way) {
        size_t n = 0;

        for (size_t i = 0; i < c->n; i++) {
                NetworkSeen seen = network_look_find(output, c->list[i].podman);
                bool same = seen.there && seen.said && hash_equal(&seen.of, &c->list[i].of);

                c->list[i].due = in_way ? !same : agent_network_is_other(&c->list[i], &seen);
                n += c->list[i].due;
        }
        for (size_t i = 0; in_way && n == 0 && i < c->n; i++)
                c->list[i].due = true;
        return in_way ? c->n : n;
}

static void on_looked(int result, const Buf *output, const Buf *said, void *userdata) {
        NetworkLook *c = userdata;
        AgentUnit *u = find_asker(c);
        _cleanup_free_ char *why = NULL, *line = result == 0 ? NULL : first_line(said);
        int r = 0;

        if (!u)
                return;
        if (result != 0) {
                agent_network_fail(u, "podman does not say which networks there are", "", line ?: "");
                return;
        }
        if (mark_due(c, output, u->work->network_in_way) == 0) {
                u->work->network_stale = false;
                agent_step_prepared(u);
                return;
        }
        for (size_t i = 0; i < c->n && r == 0 && !why; i++) {
                NetworkSeen seen = network_look_find(output, c->list[i].podman);

                if (c->list[i].due)
                        r = agent_network_find_others(u, &c->list[i], &seen, &why);
        }
        if (r < 0 || why)
                agent_network_fail(u, r < 0 ? strerror(-r) : why, "", "");
        else
                go_on(u, c, NETWORK_SURVEY);
}

// A holder that is gone, or has turned to something else, holds nothing.
static bool is_taken(const AgentUnit *u) {
        const NetworkLook *c = u->node->agent->networks.change;
        const AgentUnit *holder = c && !streq(c->unit, u->name) ? agent_unit_find(u->node, c->unit) : NULL;

        return c && (c->command || (holder && agent_unit_doing(holder)->network_turn));
}

static int take_turn(AgentUnit *u) {
        Agent *a = u->node->agent;
        int r = 0;

        if (!change_of(u)) {
                end_change(a);
                r = agent_network_look_new(u, &a->networks.change);
        } else {
                free(a->networks.change->call);
                a->networks.change->call = agent_step_call_new(u);
                r = a->networks.change->call ? 0 : -ENOMEM;
        }
        u->work->network_turn = r == 0;
        return r;
}

void agent_networks_begin(AgentUnit *u) {
        Agent *a = u->node->agent;
        NetworkLook *c;
        int r;

        if (is_taken(u)) {
                list_append(&a->networks.waiting, &u->work->network_wait);
                return;
        }
        if (u->work->network_in_way && u->work->network_then != a->networks.n_made) {
                u->work->network_in_way = false; // it may be another one by now: the write tells
                agent_step_prepared(u);
                return;
        }
        r = take_turn(u);
        c = a->networks.change;
        if (r < 0)
                agent_step_done(u, strerror(-r));
        else if (c->phase == NETWORK_SURVEY)
                survey_next(u, c);
        else if (c->phase == NETWORK_STOP)
                stop_next(u, c);
        else {
                c->phase = NETWORK_LOOK;
                r = agent_network_look_ask(c, NETWORK_LOOK_SCRIPT, NETWORK_LOOK_SEC, true, on_looked);
                if (r < 0)
                        agent_network_fail(u, "podman does not say which networks there are", "",
                                           strerror(-r));
        }
}

// ------------------------------------------------------------------------------------------------ the end

static void drop(Agent *a, NetworkLook *look) {
        if (look->command)
                agent_command_cancel(a, &look->command);
        agent_network_look_free(look);
}

void agent_networks_drop(Agent *a) {
        list_foreach_safe (i, &a->networks.looks)
                drop(a, CONTAINER_OF(i, NetworkLook, link));
        if (a->networks.change)
                drop(a, TAKE_PTR(a->networks.change));
}
