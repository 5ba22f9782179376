// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What was ordered together is there together: the start of a timer, a socket, a path or a target waits
// until the files of all units that were ordered before it came to its start are written. systemd (252)
// refuses to start a timer whose service it does not find, and a target never sees links that come after it
// was loaded.
//
// Each order has a number. A unit is fresh from its order until it is planned for the first time: that may
// take some turns, since systemd is asked first whether it knows the name. Held back is a unit while
// something older is fresh, and then until the files that are queued by then are written. Both numbers are
// fixed when it begins to wait, so that what comes later holds up nobody. A file that cannot be written is
// not waited for: it is tried again later, and the start fails or not as systemd likes.
//
// What comes with a unit may take long before its file is written: a container's image, files of File=. A
// unit that names such a one in [Unit], or that activates it, waits for that file as long as it is on its
// way: systemd would not find it, or start the two out of order. One that cannot come, or has failed to, is
// not waited for.
//
// systemd refuses to start a socket whose service runs: a service waits until the start of the socket of its
// name, if that was ordered with it, has been handed to systemd, which then orders the two.

#include "agent-start-barrier.h"
#include "agent-core.h"
#include "agent-unit.h"
#include "str.h"
#include "unit-file.h"
#include "unit-name.h"

static bool pulls_others(const char *name) {
        static const char *const types[] = {".timer", ".socket", ".path", ".target", ".automount"};

        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                if (str_has_suffix(name, types[i]))
                        return true;
        return false;
}

static void set_free(AgentUnitWork *work) {
        list_unlink(&work->start_barrier);
        work->barrier_phase = AGENT_BARRIER_FREE;
}

void agent_start_barrier_ordered(AgentUnit *u) {
        AgentUnitWork *work = u->work;

        set_free(work);
        work->barrier_phase = AGENT_BARRIER_FRESH;
        work->barrier_number = ++u->node->n_orders;
        list_append(&u->node->fresh, &work->start_barrier);
}

void agent_start_barrier_planned(AgentUnit *u) {
        if (u->work && u->work->barrier_phase == AGENT_BARRIER_FRESH)
                set_free(u->work);
}

static bool is_fresh_up_to(const AgentNode *node, uint64_t number) {
        if (list_is_empty(&node->fresh))
                return false;
        return CONTAINER_OF(node->fresh.next, AgentUnitWork, start_barrier)->barrier_number <= number;
}

// It is to start, and that is still to come: its file may not even be written. One that has failed to get
// there is not waited for.
static bool has_waiting_socket(const AgentUnit *u) {
        size_t len = strlen(u->name);
        char name[UNIT_NAME_MAX + 1];
        const AgentUnit *other;
        const AgentUnitWork *work;

        if (len > UNIT_NAME_MAX || !str_has_suffix(u->name, ".service"))
                return false;
        memcpy(name, u->name, len - strlen(".service"));
        strcpy(name + len - strlen(".service"), ".socket"); // shorter by a byte
        other = agent_unit_find(u->node, name);
        work = other ? other->work : NULL;
        if (!work || !other->has_wanted || other->gone || other->refused || work->error ||
            work->failures > 0)
                return false;
        return !work->wanted.remove && work->wanted.target == ARGOSY__TARGET__TARGET_LAUNCHED &&
               (work->wanted.start_rev > other->held.start_rev ||
                work->wanted.restart_rev > other->held.restart_rev);
}

// Its file is to be written here for the first time, and nothing keeps it from that so far.
static bool is_coming(const AgentUnit *u) {
        const AgentUnitWork *work = u ? u->work : NULL;

        if (!work || !u->has_wanted || u->gone || u->refused || u->file_present || work->error ||
            work->failures > 0)
                return false;
        return !work->wanted.remove && work->wanted.target != ARGOSY__TARGET__TARGET_INACTIVE;
}

static bool names_coming(const AgentUnit *u) {
        const AgentSpec *content = agent_unit_content(u);
        _cleanup_free_ char *names = content && content->needs ? unit_file_fill_in(content->needs, u->name)
                                                               : NULL;
        char *save = NULL;

        for (char *name = names ? strtok_r(names, " \t", &save) : NULL; name;
             name = strtok_r(NULL, " \t", &save)) {
                const AgentUnit *other = agent_unit_find(u->node, name);

                if (other != u && is_coming(other))
                        return true;
        }
        return false;
}

static bool may_go(AgentUnitWork *work) {
        AgentNode *node = work->unit->node;

        if (work->barrier_phase == AGENT_BARRIER_FOR_NAMED)
                return !names_coming(work->unit);
        if (work->barrier_phase == AGENT_BARRIER_FOR_SOCKET)
                return !has_waiting_socket(work->unit);
        if (work->barrier_phase == AGENT_BARRIER_FOR_ORDERS) {
                if (is_fresh_up_to(node, work->barrier_number))
                        return false;
                work->barrier_phase = AGENT_BARRIER_FOR_FILES;
                work->barrier_number = node->files_queued;
        }
        return node->files_done >= work->barrier_number;
}

bool agent_start_barrier_hold_back(AgentUnit *u) {
        AgentUnitWork *work = u->work;

        if (work->barrier_phase == AGENT_BARRIER_FOR_NAMED && may_go(work))
                set_free(work); // there may be something else to wait for
        if (work->barrier_phase == AGENT_BARRIER_FREE) {
                bool pulls = pulls_others(u->name), named = names_coming(u);

                if (!named && !pulls && !has_waiting_socket(u))
                        return false;
                work->barrier_phase = named   ? AGENT_BARRIER_FOR_NAMED
                                      : pulls ? AGENT_BARRIER_FOR_ORDERS
                                              : AGENT_BARRIER_FOR_SOCKET;
                work->barrier_number = u->node->n_orders;
        }
        if (may_go(work)) {
                set_free(work);
                return false;
        }
        if (!list_is_linked(&work->start_barrier))
                list_append(&u->node->held_back, &work->start_barrier);
        return true;
}

// They stay in their phase, and may go when they are planned again.
void agent_start_barrier_release(AgentNode *node) {
        list_foreach_safe (n, &node->held_back) {
                AgentUnitWork *work = CONTAINER_OF(n, AgentUnitWork, start_barrier);

                if (!may_go(work))
                        continue;
                list_unlink(&work->start_barrier);
                agent_unit_mark(work->unit);
        }
}
