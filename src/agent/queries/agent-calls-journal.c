// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Lines of journals: the reader that every call may have, and the journal calls.
//
// A journal call reads no further than its window allows (flow-window.h): its reader is held from the
// response that filled it until agent_taken() says that the lines have reached the client. Lines of a
// container's units are read inside, by a helper. Where no lines can be had, it is said why.

#include <errno.h>

#include "agent-calls-journal.h"
#include "agent-core.h"
#include "manager-name.h"
#include "message-of.h"
#include "str.h"

enum { JOURNAL_LINES_LIMIT = 100000 }; // asked for at once

// ---- the reader of a call

static void on_reader_closed(void *userdata) {
        agent_close_step(userdata);
}

void call_drop_reader(Call *c) {
        JournalReader *reader = TAKE_PTR(c->reader);

        if (reader)
                journal_reader_close(reader, on_reader_closed,
                                     c->agent); // n_open was raised when it was made
        c->reads = NULL;
        c->unread = 0;
}

// What only a user's argosyd can meet.
static const char no_journal[] = "this user may read no journal: journald keeps one for each user in "
                                 "persistent storage (/var/log/journal) "
                                 "only, and members of the group systemd-journal may read all";

// What a container's systemd and units say is in the container's own journal, among its own files; in ours
// the same name is somebody else's.
bool call_node_has_journal(const AgentNode *node) {
        return node == node->agent->system || agent_node_is_users(node);
}

static int read_inside(Call *c, const JournalQuestion *q, const JournalOps *ops) {
        const AgentNode *node = c->node;
        const HelperConfig config = {.loop = c->agent->loop,
                                     .command = (const char *const *) c->agent->helper,
                                     .manager = node->manager,
                                     .leader = node->leader,
                                     .born = node->leader_born,
                                     .mode = HELPER_JOURNAL};

        return journal_reader_new_foreign(&config, q, ops, c, &c->reader);
}

char *call_why_no_lines(const Call *c, int error) {
        const char *machine = manager_name_machine(c->node->manager);

        if (error == -EACCES && call_node_has_journal(c->node))
                return strdup(no_journal);
        if (call_node_has_journal(c->node))
                return strdup(strerror(-error));
        if (c->node->reason)
                return str_printf("the journal of container %s cannot be read: %s", machine,
                                  c->node->reason);
        return str_printf("the journal of container %s cannot be read from outside: %s; on this host try: "
                          "journalctl --machine=%s --unit=%s",
                          machine, strerror(-error), machine, c->names[c->at]);
}

static int reader_open(Call *c, const JournalQuestion *q, const JournalOps *ops) {
        int r = call_node_has_journal(c->node) ? journal_reader_new(c->agent->loop, q, ops, c, &c->reader)
                                               : read_inside(c, q, ops);

        if (r >= 0)
                c->agent->n_open++;
        return r;
}

int call_read_lines(Call *c, const char *unit, unsigned n_lines, bool follow, const JournalOps *ops) {
        const JournalQuestion question = {
                .manager = c->node->uid,
                .asker = c->asker,
                .unit = unit,
                .n_lines = n_lines,
                .follow = follow,
                .cause_within_us = c->cause_within_us,
                .batch_bytes = c->window.size ? MIN_OF(c->window.size, (size_t) JOURNAL_BATCH_BYTES) : 0,
        };

        if (c->reader && c->reads == c->node && journal_reader_again(c->reader, &question) == 0)
                return 0;
        call_drop_reader(c);
        return reader_open(c, &question, ops);
}

// ---- journal calls

static void on_journal_lines(char **lines, size_t n, void *userdata) {
        Call *c = userdata;
        Argosy__Response__Journal journal = ARGOSY__RESPONSE__JOURNAL__INIT;
        Argosy__Response response = RESPONSE_OF(JOURNAL, journal, &journal);
        uint64_t number = c->number;
        Agent *a = c->agent;
        size_t bytes = 0;

        for (size_t i = 0; i < n; i++)
                bytes += strlen(lines[i]) + 1;
        c->says_read = false;
        journal.lines = lines;
        journal.n_lines = n;
        journal.mark = flow_window_sent(&c->window, bytes);
        c->reply(&response, c->userdata);
        c = call_find(a, number); // the reply may have cancelled it
        if (c && !flow_window_is_open(&c->window))
                journal_reader_hold(c->reader, true);
}

// The reply may have cancelled the call.
static void on_journal_read(void *userdata) {
        Call *c = userdata;
        Argosy__Response__Journal journal = ARGOSY__RESPONSE__JOURNAL__INIT;
        Argosy__Response response = RESPONSE_OF(JOURNAL, journal, &journal);

        if (!c->says_read)
                return;
        c->says_read = false;
        c->reply(&response, c->userdata);
}

static void on_journal_end(int error, void *userdata) {
        _cleanup_free_ char *why = error < 0 ? call_why_no_lines(userdata, error) : NULL;

        call_end(userdata, error, why);
}

static const JournalOps journal_ops = {
        .lines = on_journal_lines, .read = on_journal_read, .ended = on_journal_end};

// What the journal has under that name may be about anything else.
static int refuse_unheld(const char *unit, AgentReply reply, void *userdata, uint64_t *ret) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;
        _cleanup_free_ char *why = str_printf("%s: this host does not hold it", unit);

        if (!why)
                return -ENOMEM;
        response.final = true;
        response.status = EHOSTUNREACH;
        response.message = why;
        *ret = 0;
        reply(&response, userdata);
        return 0;
}

int call_start_journal(Agent *a, uint64_t asker, AgentNode *node, const Argosy__Request__Journal *q,
                       AgentReply reply, void *userdata, uint64_t *ret) {
        Call *c;
        int r;

        node = node ?: call_find_holder(a, q->name);
        if (!node)
                return refuse_unheld(q->name, reply, userdata, ret);
        r = call_new(a, node, (char **) &q->name, 1, call_drop_reader, reply, userdata, &c);
        if (r < 0)
                return r;
        c->asker = asker;
        c->window.size = q->window;
        c->says_read = q->says_read;
        r = call_read_lines(c, q->name, MIN_OF(q->lines, (unsigned) JOURNAL_LINES_LIMIT), q->follow,
                       &journal_ops);
        if (r < 0) {
                call_free(c);
                return r;
        }
        *ret = c->number;
        return 0;
}

void agent_taken(Agent *a, uint64_t cancel, uint64_t mark) {
        Call *c = call_find(a, cancel);

        if (!c || !c->reader)
                return;
        flow_window_take(&c->window, mark);
        journal_reader_hold(c->reader, !flow_window_is_open(&c->window));
}

void agent_calls_count(const Agent *a, AgentStats *ret) {
        ret->journals_read = ret->journals_held = 0;
        list_foreach (i, &a->calls_list) {
                const Call *c = CONTAINER_OF(i, Call, link);

                ret->journals_read += c->reader != NULL;
                ret->journals_held += c->reader && !flow_window_is_open(&c->window);
        }
}
