// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A node has one network of each name. A container that comes with another file of one makes it anew, and
// all that have it go down meanwhile:
//
//      PLAN_FETCH      podman says who has the network: with others than argosy's the unit is refused,
//                      before anything stops
//      PLAN_NETWORKS   1. podman says what is there: of which file it was made (network-look.h)
//                      2. systemd says whom it would stop with the unit that makes it: each comes back after
//                         this one (agent-returns.h), which the ledger says before
//                      3. that unit is stopped, and its users with it   4. `podman network rm`
//      PLAN_WRITE      the unit, and what makes the network; others are written by their own plan
//      PLAN_PLACES     before each start: has systemd read what makes the network now?
//
// One unit of the host does that at a time, from step 1 to the end of the write; the next ones find the
// network as they want it, and only write. Nothing of it is remembered: after a crash between any two of
// these the file that is there, or the label of the network, says that it is due still, and all steps may be
// done twice. podman takes no network from a container (no --force): what came to it since the look makes
// the step fail, and it is tried again.
//
// A unit may have, or get back, the file that it had while the network is another one's: an order was taken
// back before its turn. So before each start it is looked of which file the network was written last
// (MadeNetwork). Of two files that of the later order counts; who has the other one runs with that network,
// so that no two go on making it anew.
//
// A network that the host has by itself has no unit of argosy's, and stays.

#include "agent-networks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent-barred.h"
#include "agent-command.h"
#include "agent-returns.h"
#include "agent-step.h"
#include "agent-unit.h"
#include "network-look.h"
#include "quadlet.h"
#include "str.h"
#include "unit-dir.h"
#include "unit-parts.h"
#include "unit-state.h"

#define REMOVE_SCRIPT                               \
        "for n; do podman network exists \"$$n\"; " \
        "case $$? in 0) podman network rm \"$$n\" || exit 1;; 1) ;; *) exit 1;; esac; done"

enum {
        NETWORKS_MAX = 16, // of one container
        LOOK_SEC = 60,
        REMOVE_SEC = 60,
        OUTPUT_MAX = 1 << 16,
};

typedef struct Network {
        char *unit;   // "front-network.service"
        char *file;   // "front.network"
        char *podman; // "systemd-front"
        Hash of;      // of which file it is to be
        bool due;     // it is made anew
} Network;

// What was written last.
typedef struct MadeNetwork {
        Hash of;
        uint64_t revision; // of the order that brought it
        char unit[];
} MadeNetwork;

typedef enum Phase { PHASE_LOOK, PHASE_SURVEY, PHASE_STOP, PHASE_REMOVE, PHASE_GONE } Phase;

// One look, or the change that is under way on this host.
struct NetworkLook {
        ListNode link; // in Agent.networks.looks; unlinked: it is the change
        Agent *agent;
        AgentStepCall *call;
        TransientCommand *command;
        Network list[NETWORKS_MAX];
        size_t n, at;
        Phase phase;
        char unit[];
};
typedef struct NetworkLook NetworkLook;

static void look_free(NetworkLook *look) {
        list_unlink(&look->link);
        for (size_t i = 0; i < look->n; i++) {
                free(look->list[i].unit);
                free(look->list[i].file);
                free(look->list[i].podman);
        }
        free(look->call);
        free(look);
}

// -------------------------------------------------------------------------------------------- what it needs

static int add_network(NetworkLook *look, const QuadletMade *made) {
        Network *w = &look->list[look->n];
        int stem = (int) (strlen(made->name) - strlen(QUADLET_NETWORK_UNIT)), r;

        if (stem <= 0 || !str_has_suffix(made->name, QUADLET_NETWORK_UNIT) || look->n == NETWORKS_MAX ||
            !quadlet_made_of(made->unit, made->len, &w->of))
                return 0;
        r = network_look_name(made->unit, made->len, &w->podman);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        look->n++;
        w->unit = strdup(made->name);
        w->file = str_printf("%.*s" QUADLET_NETWORK, stem, made->name);
        return w->unit && w->file ? 0 : -ENOMEM;
}

static int look_new(const AgentUnit *u, NetworkLook **ret) {
        const Buf *made = u->work->made ? &u->work->made->text : NULL;
        size_t at = made ? quadlet_made_len(made->data, made->len) : 0, size = strlen(u->name) + 1;
        NetworkLook *look = calloc(1, sizeof(*look) + size);
        QuadletMade m;
        int r = look ? 0 : -ENOMEM;

        if (r < 0)
                return r;
        memcpy(look->unit, u->name, size);
        list_init(&look->link);
        look->agent = u->node->agent;
        look->call = agent_step_call_new(u);
        r = look->call ? 0 : -ENOMEM;
        while (r == 0 && made && quadlet_made_next(made->data, made->len, &at, &m))
                r = add_network(look, &m);
        if (r < 0)
                look_free(look);
        else
                *ret = look;
        return r;
}

static bool has_networks(const AgentUnitWork *work) {
        const Buf *made = work->made ? &work->made->text : NULL;
        size_t at = made ? quadlet_made_len(made->data, made->len) : 0;
        QuadletMade m;

        while (made && quadlet_made_next(made->data, made->len, &at, &m))
                if (str_has_suffix(m.name, QUADLET_NETWORK_UNIT))
                        return true;
        return false;
}

static bool is_up(const AgentUnit *u) {
        const UnitRuntime *rt = agent_unit_runtime(u);

        return rt && !active_state_is_down(rt->active);
}

static int ask_podman(NetworkLook *look, const char *script, unsigned limit_sec, bool all,
                      TransientDone *done) {
        const char *args[4 + NETWORKS_MAX + 1] = {"/bin/sh", "-c", script, "networks"};
        const AgentCommand command = {.description = "Networks of containers",
                                      .args = args,
                                      .limit_sec = limit_sec,
                                      .output_max = OUTPUT_MAX};
        size_t n = 4;

        for (size_t i = 0; i < look->n; i++)
                if (all || look->list[i].due)
                        args[n++] = look->list[i].podman;
        return agent_command_start(look->agent, &command, done, look, &look->command);
}

// ----------------------------------------------------------------------------------------------- who has it

// It was made of another file than the one that is wanted, as far as that is known.
static bool is_other(const Network *w, const NetworkSeen *seen) {
        return seen->there && seen->said && !hash_equal(&seen->of, &w->of);
}

// The unit in place came with another file of it.
static bool had_other(const AgentUnit *u, const Network *w) {
        const AgentSpec *before = agent_unit_content(u);

        return before && before->content &&
               quadlet_beside_is_other(before->content, before->len, w->file, &w->of);
}

// A container that comes down, and comes back, with the unit that makes the network. Of a unit that an
// earlier argosyd has written the content is not known, but what stands beside it.
static bool is_ours(const AgentUnit *u, const Network *w, const NetworkUser *user) {
        _cleanup_free_ char *name = strndup(user->owner, (size_t) user->owner_len);
        const AgentUnit *owner = name ? agent_unit_find(u->node, name) : NULL;
        const AgentSpec *content = owner ? agent_unit_content(owner) : NULL;
        UnitPart part;

        if (owner && owner->has_held && !content)
                return !u->node->dir || unit_dir_has_beside(u->node->dir, name, w->unit);
        return content && content->content &&
               quadlet_beside_find(content->content, content->len, w->file, &part);
}

// 0, and of the first one that somebody else has *ret_why; -ENOMEM.
static int find_others(const AgentUnit *u, const Network *w, const NetworkSeen *seen, char **ret_why) {
        const char *at = seen->users;
        NetworkUser user;

        while (network_look_next(seen, &at, &user))
                if (!is_ours(u, w, &user)) {
                        *ret_why = str_printf("the network %s would have to be made anew for %s, and the "
                                              "container %.*s on this host, which has it, %s",
                                              w->podman, w->file, user.container_len, user.container,
                                              user.owner_len > 0 ? "is of a unit without that file"
                                                                 : "is not argosy's");
                        return *ret_why ? 0 : -ENOMEM;
                }
        return 0;
}

#define RUNS_ON_TEXT "so the unit runs on with the file that it has: "

// As in agent-verify.c: what runs goes on, what is not ours does not become ours.
static void refuse(AgentUnit *u, const char *why) {
        if (u->has_held && is_up(u)) {
                u->work->judged = u->work->wanted.spec;
                u->work->verdict = PLAN_VERDICT_REFUSED;
                agent_step_done(u, NULL);
                agent_unit_set_error(u, "its network is not changed, " RUNS_ON_TEXT "%s", why);
                return;
        }
        if (!u->has_held)
                agent_barred_refuse(u);
        agent_unit_report(u);
        agent_step_done(u, why);
}

bool agent_networks_is_due(const AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);

        if (!work->spec || !work->spec->container || work->networks_seen || !has_networks(work) ||
            (u->has_held && u->held.spec == work->spec && u->file_present))
                return false;
        return !(work->verdict == PLAN_VERDICT_REFUSED && hash_equal(&work->judged, &work->wanted.spec) &&
                 is_up(u));
}

static void judge(AgentUnit *u, const NetworkLook *look, const Buf *output) {
        _cleanup_free_ char *why = NULL;
        bool stale = false;
        int r = 0;

        for (size_t i = 0; i < look->n && r == 0 && !why; i++) {
                NetworkSeen seen = network_look_find(output, look->list[i].podman);
                bool other = is_other(&look->list[i], &seen);

                stale |= other;
                if (other || (seen.there && had_other(u, &look->list[i])))
                        r = find_others(u, &look->list[i], &seen, &why);
        }
        if (r < 0 || why) {
                refuse(u, r < 0 ? strerror(-r) : why);
                return;
        }
        u->work->networks_seen = true;
        u->work->network_stale = stale;
        agent_step_prepared(u);
}

// A podman that says nothing of networks stops nobody: the start will tell.
static void on_seen(int result, const Buf *output, const Buf *said, void *userdata) {
        static const Buf nothing;
        NetworkLook *look = userdata;
        AgentUnit *u = agent_step_find(look->call->node, look->call->name, look->call->number);

        if (u)
                judge(u, look, result == 0 ? output : &nothing);
        drain_mark(&look->agent->drain);
        look_free(look);
}

void agent_networks_see(AgentUnit *u) {
        NetworkLook *look = NULL;
        int r = look_new(u, &look);

        if (r == 0 && look->n > 0)
                r = ask_podman(look, NETWORK_LOOK_SCRIPT, LOOK_SEC, true, on_seen);
        if (r == 0 && look->n > 0) {
                list_append(&u->node->agent->networks.looks, &look->link);
                return;
        }
        if (look)
                look_free(look);
        u->work->networks_seen = r != -ENOMEM;
        if (r == -ENOMEM)
                agent_step_done(u, strerror(ENOMEM));
        else
                agent_step_prepared(u);
}

// ------------------------------------------------------------------------------------------------ made anew

static NetworkLook *change_of(const AgentUnit *u) {
        NetworkLook *c = u->node->agent->networks.change;

        return c && streq(c->unit, u->name) && agent_unit_doing(u)->network_turn ? c : NULL;
}

static void end_change(Agent *a) {
        if (a->networks.change && a->networks.change->command)
                return; // podman's answer ends it
        if (a->networks.change)
                look_free(TAKE_PTR(a->networks.change));
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

static void fail(AgentUnit *u, const char *what, const char *name, const char *why) {
        char text[AGENT_ERROR_MAX];

        str_fit(text, sizeof(text), "%s%s%s%s", what, name, *why ? ": " : "", why);
        agent_step_done(u, text); // the lock goes when it is planned next
}

static void go_on(AgentUnit *u, NetworkLook *c, Phase phase) {
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

static void on_removed(int result, const Buf *output, const Buf *said, void *userdata) {
        NetworkLook *c = userdata;
        AgentUnit *u = agent_step_find(c->call->node, c->call->name, c->call->number);
        _cleanup_free_ char *line = result == 0 ? NULL : first_line(said);

        c->command = NULL;
        drain_mark(&c->agent->drain);
        if (!u || change_of(u) != c) {
                Agent *a = c->agent;

                end_change(a);
                wake_others(a);
                return;
        }
        if (result != 0) {
                fail(u, "its network is not removed, to be made anew", "",
                     result == -ETIMEDOUT ? "podman does not answer" : line ?: "");
                return;
        }
        u->work->network_in_way = u->work->network_stale = false;
        u->work->network_free = true;
        go_on(u, c, PHASE_GONE);
}

static void remove_all(AgentUnit *u, NetworkLook *c) {
        int r = ask_podman(c, REMOVE_SCRIPT, REMOVE_SEC, false, on_removed);

        if (r < 0)
                fail(u, "its network is not removed, to be made anew", "", strerror(-r));
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
                go_on(u, c, PHASE_STOP);
        } else if (result == SYSTEMD_JOB_DONE || result == SYSTEMD_JOB_NO_UNIT) {
                c->at++;
                stop_next(u, c);
        } else {
                fail(u, "cannot stop ", name, error ?: "");
        }
}

static void stop_next(AgentUnit *u, NetworkLook *c) {
        AgentStepCall *call;
        int r;

        skip_to_due(c);
        if (c->at == c->n) {
                c->phase = PHASE_REMOVE;
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
        fail(u, "cannot stop ", c->list[c->at].unit, strerror(-r));
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
                go_on(u, c, PHASE_SURVEY);
                return;
        }
        if (error == 0 && u->work->wanted.target != ARGOSY__TARGET__TARGET_LAUNCHED && any_up(u, list, n)) {
                fail(u, "others have the network of before, and run: ", c->list[c->at].file,
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
                go_on(u, c, PHASE_STOP); // what comes back is in the ledger then
                return;
        }
        call = agent_step_call_new(u);
        r = call ? systemd_manager_stopped_with(u->node->systemd, c->list[c->at].unit, on_surveyed, call)
                 : -ENOMEM;
        if (r >= 0)
                return;
        free(call);
        fail(u, "cannot ask what systemd stops with ", c->list[c->at].unit, strerror(-r));
}

// What is to be made anew: another file than that of the network, or, if one stands in the way, of the unit
// that makes it, which is told of no single one.
static size_t mark_due(NetworkLook *c, const Buf *output, bool in_way) {
        size_t n = 0;

        for (size_t i = 0; i < c->n; i++) {
                NetworkSeen seen = network_look_find(output, c->list[i].podman);
                bool same = seen.there && seen.said && hash_equal(&seen.of, &c->list[i].of);

                c->list[i].due = in_way ? !same : is_other(&c->list[i], &seen);
                n += c->list[i].due;
        }
        for (size_t i = 0; in_way && n == 0 && i < c->n; i++)
                c->list[i].due = true;
        return in_way ? c->n : n;
}

static void on_looked(int result, const Buf *output, const Buf *said, void *userdata) {
        NetworkLook *c = userdata;
        AgentUnit *u = agent_step_find(c->call->node, c->call->name, c->call->number);
        _cleanup_free_ char *why = NULL, *line = result == 0 ? NULL : first_line(said);
        int r = 0;

        c->command = NULL;
        drain_mark(&c->agent->drain);
        if (!u || change_of(u) != c) {
                Agent *a = c->agent;

                end_change(a);
                wake_others(a);
                return;
        }
        if (result != 0) {
                fail(u, "podman does not say which networks there are", "", line ?: "");
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
                        r = find_others(u, &c->list[i], &seen, &why);
        }
        if (r < 0 || why)
                fail(u, r < 0 ? strerror(-r) : why, "", "");
        else
                go_on(u, c, PHASE_SURVEY);
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
                r = look_new(u, &a->networks.change);
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
        else if (c->phase == PHASE_SURVEY)
                survey_next(u, c);
        else if (c->phase == PHASE_STOP)
                stop_next(u, c);
        else {
                c->phase = PHASE_LOOK;
                r = ask_podman(c, NETWORK_LOOK_SCRIPT, LOOK_SEC, true, on_looked);
                if (r < 0)
                        fail(u, "podman does not say which networks there are", "", strerror(-r));
        }
}

// ------------------------------------------------------------------------------------------- before a start

bool agent_networks_is_unread(const AgentUnit *u) {
        const AgentSpec *content = agent_unit_content(u);

        return content && content->networks && !agent_unit_doing(u)->networks_read && !is_up(u);
}

// What makes its networks, one name behind the other. NULL: no more, or out of memory.
static char *nth_unit(const AgentSpec *content, size_t n) {
        const char *at = content->networks, *file;
        size_t len;

        while (quadlet_beside_names_next(&at, &file, &len)) {
                char *unit = quadlet_beside_unit(file, len); // NULL: of a container, whose file is its own

                if (unit && n-- == 0)
                        return unit;
                free(unit);
        }
        return NULL;
}

static void note_made(AgentNode *node, const QuadletMade *made, uint64_t revision) {
        MadeNetwork *m = map_find_str(&node->networks, made->name);
        size_t size = strlen(made->name) + 1;
        Hash of;

        if (!quadlet_made_of(made->unit, made->len, &of))
                return;
        if (!m) {
                m = calloc(1, sizeof(*m) + size);
                if (!m)
                        return; // nobody is told then, and starts with what is there
                memcpy(m->unit, made->name, size);
                if (map_add_str(&node->networks, m->unit, m) < 0) {
                        free(m);
                        return;
                }
        }
        m->revision = hash_equal(&m->of, &of) ? MAX_OF(m->revision, revision) : revision;
        m->of = of;
}

void agent_networks_written(const AgentUnit *u, const Buf *made) {
        size_t at = made ? quadlet_made_len(made->data, made->len) : 0;
        QuadletMade m;

        while (made && quadlet_made_next(made->data, made->len, &at, &m))
                if (str_has_suffix(m.name, QUADLET_NETWORK_UNIT))
                        note_made(u->node, &m, u->work->wanted.revision);
}

void agent_networks_gone(AgentNode *node, const char *unit) {
        free(map_take_str(&node->networks, unit));
}

// An older order than that of this unit has had one of its networks made of another file.
static bool has_other_made(const AgentUnit *u) {
        const AgentSpec *content = agent_unit_content(u);
        const char *at = content ? content->networks : NULL, *name;
        size_t len;

        while (quadlet_beside_names_next(&at, &name, &len)) {
                _cleanup_free_ char *unit = quadlet_beside_unit(name, len), *file = strndup(name, len);
                const MadeNetwork *m = unit && file ? map_find_str(&u->node->networks, unit) : NULL;

                if (m && m->revision < u->work->wanted.revision &&
                    quadlet_beside_is_other(content->content, content->len, file, &m->of))
                        return true;
        }
        return false;
}

static void ask_next(AgentUnit *u, size_t n);

static void on_reloaded(int error, void *userdata) {
        _cleanup_free_ AgentStepCall *call = userdata;
        AgentUnit *u = agent_step_find(call->node, call->name, call->number);

        if (!u)
                return;
        if (error < 0) {
                fail(u, "daemon-reload failed", "", strerror(-error));
                return;
        }
        u->work->networks_read = true; // of all
        agent_step_prepared(u);
}

typedef struct ReadCall {
        AgentStepCall *call;
        size_t n;
} ReadCall;

static void on_outdated(int outdated, void *userdata) {
        _cleanup_free_ ReadCall *read = userdata;
        AgentStepCall *call = read->call;
        AgentUnit *u = agent_step_find(call->node, call->name, call->number);
        int r;

        if (u && outdated > 0) {
                r = systemd_manager_reload(u->node->systemd, on_reloaded, call);
                if (r >= 0)
                        return;
                fail(u, "daemon-reload failed", "", strerror(-r));
        } else if (u && outdated == -ECONNRESET) {
                agent_step_prepared(u);
        } else if (u) {
                ask_next(u, read->n + 1);
        }
        free(call);
}

static void ask_next(AgentUnit *u, size_t n) {
        const AgentSpec *content = agent_unit_content(u);
        _cleanup_free_ char *unit = content && content->networks ? nth_unit(content, n) : NULL;
        ReadCall *read;

        if (!unit) {
                u->work->networks_read = true;
                agent_step_prepared(u);
                return;
        }
        read = calloc(1, sizeof(*read));
        if (read) {
                read->n = n;
                read->call = agent_step_call_new(u);
        }
        if (read && read->call && systemd_manager_outdated(u->node->systemd, unit, on_outdated, read) >= 0)
                return;
        if (read)
                free(read->call);
        free(read);
        u->work->networks_read = true; // who cannot be asked says nothing
        agent_step_prepared(u);
}

void agent_networks_read(AgentUnit *u) {
        if (!has_other_made(u)) {
                ask_next(u, 0);
                return;
        }
        agent_unit_doubt_file(u); // it is written again, with what makes them
        agent_step_prepared(u);
}

// ------------------------------------------------------------------------------------------------ the end

static void drop(Agent *a, NetworkLook *look) {
        if (look->command)
                agent_command_cancel(a, &look->command);
        look_free(look);
}

void agent_networks_forget(AgentNode *node) {
        map_done_with(&node->networks, free);
}

void agent_networks_drop(Agent *a) {
        list_foreach_safe (i, &a->networks.looks)
                drop(a, CONTAINER_OF(i, NetworkLook, link));
        if (a->networks.change)
                drop(a, TAKE_PTR(a->networks.change));
}
