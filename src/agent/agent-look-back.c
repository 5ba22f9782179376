// SPDX-License-Identifier: LGPL-2.1-or-later
//
// After a crash in the middle of the start of a one-shot: did it run? If it is not in systemd's memory any
// more, only the journal knows (see journal-starts.c), and reading it is work for the pool.

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "agent-private.h"
#include "clock.h"
#include "journal.h"
#include "unit-name.h"

typedef struct LookBack {
        uv_work_t work;
        AgentNode *node;
        uint64_t number;
        uid_t manager;
        uint8_t before[16];
        char *file, *template; // the run cannot be older than the file that it ran
        int found;
        char name[];
} LookBack;

static uint64_t written_us(const LookBack *l) {
        struct stat st;

        if (stat(l->file, &st) < 0 && (!l->template || stat(l->template, &st) < 0))
                return 0;
        return (uint64_t) st.st_mtim.tv_sec * USEC_PER_SEC + (uint64_t) st.st_mtim.tv_nsec / 1000;
}

static void run_look_back(uv_work_t *work) {
        LookBack *l = CONTAINER_OF(work, LookBack, work);

        l->found = journal_find_start(l->manager, l->name, written_us(l), l->before);
}

static void look_back_free(LookBack *l) {
        free(l->file);
        free(l->template);
        free(l);
}

static void looked_back(AgentUnit *u, int found) {
        char text[AGENT_ERROR_MAX];

        u->unwatched = false;
        if (found == 0) { // it did not run: plan_unit() starts it
                agent_step_done(u, NULL);
                return;
        }
        // It ran and has left systemd's memory, so it did not fail. If nobody can tell, it must not run
        // twice.
        u->held.pending = false;
        u->held.interrupted = found < 0;
        u->parsed = true; // or what is said below would be followed by a parse that went well
        agent_unit_record(u);
        agent_step_done(u, NULL);
        if (found < 0) {
                snprintf(text, sizeof(text), "cannot tell whether it ran while argosyd was restarting: %s",
                         strerror(-found));
                agent_unit_set_error(u, "%s", text);
        }
}

static void on_looked_back(uv_work_t *work, int status) {
        LookBack *l = CONTAINER_OF(work, LookBack, work);
        AgentNode *node = l->node;
        AgentUnit *u = node->closing ? NULL : agent_step_find(node, l->name, l->number);

        if (u)
                looked_back(u, l->found);
        look_back_free(l);
        agent_node_close_step(node);
}

int agent_look_back(AgentUnit *u) {
        LookBack *l = calloc(1, sizeof(*l) + strlen(u->name) + 1);
        _cleanup_free_ char *template = NULL;

        if (!u->node->dir) { // its files are in the hands of others, and so are their times
                free(l);
                looked_back(u, -EOPNOTSUPP);
                return 0;
        }
        if (!l)
                return -ENOMEM;
        l->node = u->node;
        l->number = u->work->step_number;
        l->manager = u->node->uid;
        memcpy(l->before, u->held.invocation_id, sizeof(l->before));
        strcpy(l->name, u->name);
        l->file = str_printf("%s/%s", u->node->dir_path, u->name);
        if (u->held.from_template) {
                template = unit_name_template(u->name);
                l->template = template ? str_printf("%s/%s", u->node->dir_path, template) : NULL;
        }
        if (!l->file || (u->held.from_template && !l->template)) {
                look_back_free(l);
                return -ENOMEM;
        }
        if (uv_queue_work(u->node->agent->loop, &l->work, run_look_back, on_looked_back) < 0)
                abort(); // only for a NULL callback
        u->node->n_open++;
        return 0;
}
