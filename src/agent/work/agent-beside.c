// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Ends what has made a container's volumes and networks, when the last unit that needs it has left the node.
//
//      a batch has taken its file away -> who would be stopped with it? -> nobody who is up -> stop
//
// Failures: none that anybody waits for. Without an answer, or beside a unit that is up, it stays active,
// and the next one of that name is taken for made until the host boots.

#include "agent-beside.h"
#include "agent-network-made.h"

#include <errno.h>
#include <string.h>

#include "log.h"
#include "unit-state.h"

typedef struct Gone {
        SystemdManager *manager;
        char name[];
} Gone;

static void on_stopped(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                       void *userdata) {
        if (result != SYSTEMD_JOB_DONE && result != SYSTEMD_JOB_LOST)
                log_unit(LOG_DEBUG, name, "%s, which nobody needs any more, was not stopped: %s", name,
                         error);
}

// -ECANCELED: the manager closes.
static void on_dependents(int error, const SystemdDependent *list, size_t n, void *userdata) {
        _cleanup_free_ Gone *gone = userdata;

        for (size_t i = 0; i < n; i++)
                if (!active_state_is_down(list[i].active))
                        return;
        if (error == 0)
                (void) systemd_manager_job(gone->manager, SYSTEMD_STOP, gone->name, on_stopped, NULL);
}

static void ask(AgentNode *node, const char *name) {
        size_t size = strlen(name) + 1;
        Gone *gone = malloc(sizeof(*gone) + size);

        if (!gone)
                return;
        gone->manager = node->systemd;
        memcpy(gone->name, name, size);
        if (systemd_manager_stopped_with(node->systemd, name, on_dependents, gone) < 0)
                free(gone);
}

void agent_beside_gone(AgentNode *node, const Buf *names) {
        const char *at = (const char *) names->data, *end = at + names->len;

        for (; at < end; at += strlen(at) + 1) {
                agent_network_made_gone(node, at);
                ask(node, at);
        }
}
