// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Questions about this host's units that take a while: status (systemd's properties, resource use and the
// newest journal lines), journal, and the local stop. A call is known by its number; answers of systemd name
// the number, so a call that was cancelled meanwhile is simply not found.
//
// A status call goes through its names one by one: properties, resource use, lines, then one response. One helper
// reads the lines of all its units of a container, and if it fails, no other is tried for them. The leader's calls
// are the same with a reply that is wrapped in a CallReply.
//
// A journal call reads no further than its window allows (flow-window.h): its reader is held from the response
// that filled it until agent_taken() says that the lines have reached the client. Lines of a container's units are
// read inside, by a helper.

#include <errno.h>
#include <stdio.h>

#include "agent-calls.h"
#include "agent-cgroups.h"
#include "agent-core.h"
#include "agent-unit.h"
#include "agent-usage.h"
#include "feature-level.h"
#include "flow-window.h"
#include "journal.h"
#include "manager-name.h"
#include "str.h"
#include "unit-state.h"

enum {
        STATUS_LINES_MAX = 1000,
        JOURNAL_LINES_LIMIT = 100000, // asked for at once
};

typedef struct Call {
        ListNode link;   // in a->calls_list
        uint64_t number; // key in a->calls
        Agent *agent;
        AgentNode *node;
        bool anywhere; // asked of the host: `node` is the one that holds names[at]
        AgentReply reply;
        void *userdata;
        char **names;
        size_t n_names, at; // `at`: the name that is being worked on
        unsigned n_lines;

        JournalReader *reader;
        const AgentNode *reads; // a container: `reader`, or `unread`, is about it; NULL: neither is
        int unread;             // why no lines of it can be had; 0: they can
        FlowWindow window; // of a journal call
        Argosy__Response__Property **properties; // status: of names[at]
        size_t n_properties;
        char **lines;
        size_t n_log;
        uint64_t reading; // of resource use, under way; 0: none
        bool has_usage;
        UnitUsage usage;

        Argosy__Response__UnitResult *results; // local stop: one for each name
        size_t n_left;
} Call;

typedef struct CallRef { // userdata of what cannot be cancelled
        Agent *agent;
        uint64_t number;
        size_t at;
} CallRef;

static Call *call_find(Agent *a, uint64_t number) {
        return map_find(&a->calls, &number, sizeof(number));
}

static CallRef *call_ref(const Call *c, size_t at) {
        CallRef *ref = malloc(sizeof(*ref));

        if (ref)
                *ref = (CallRef){c->agent, c->number, at};
        return ref;
}

// ---- begin and end

static void on_reader_closed(void *userdata) {
        agent_close_step(userdata);
}

static void status_reset(Call *c) {
        for (size_t i = 0; i < c->n_properties; i++) {
                free(c->properties[i]->key);
                free(c->properties[i]->value);
                free(c->properties[i]);
        }
        free(c->properties);
        c->properties = NULL;
        c->n_properties = 0;
        for (size_t i = 0; i < c->n_log; i++)
                free(c->lines[i]);
        free(c->lines);
        c->lines = NULL;
        c->n_log = 0;
        c->has_usage = false;
}

static void reader_drop(Call *c) {
        JournalReader *reader = TAKE_PTR(c->reader);

        if (reader)
                journal_reader_close(reader, on_reader_closed,
                                     c->agent); // n_open was raised when it was made
        c->reads = NULL;
        c->unread = 0;
}

static void call_free(Call *c) {
        map_take(&c->agent->calls, &c->number, sizeof(c->number));
        list_unlink(&c->link);
        c->agent->n_calls--;
        if (c->reading && c->agent->usage)
                cgroup_usage_cancel(c->agent->usage, c->reading);
        reader_drop(c);
        status_reset(c);
        for (size_t i = 0; i < c->n_names; i++) {
                if (c->results) {
                        free(c->results[i].message == (char *) protobuf_c_empty_string
                                     ? NULL
                                     : c->results[i].message);
                }
                free(c->names[i]);
        }
        free(c->results);
        free(c->names);
        free(c);
}

static int call_new(Agent *a, AgentNode *node, char **names, size_t n, AgentReply reply, void *userdata,
                    Call **ret) {
        Call *c;

        if (a->n_calls >= AGENT_CALLS_MAX)
                return -EBUSY;
        c = calloc(1, sizeof(*c));
        if (!c)
                return -ENOMEM;
        *c = (Call){
                .agent = a, .node = node, .reply = reply, .userdata = userdata, .number = ++a->last_call};
        list_init(&c->link);
        c->names = calloc(n ?: 1, sizeof(*c->names));
        if (!c->names || map_add(&a->calls, &c->number, sizeof(c->number), c) < 0) {
                free(c->names);
                free(c);
                return -ENOMEM;
        }
        a->n_calls++;
        list_append(&a->calls_list, &c->link);
        for (; c->n_names < n; c->n_names++) {
                c->names[c->n_names] = strdup(names[c->n_names]);
                if (!c->names[c->n_names]) {
                        call_free(c);
                        return -ENOMEM;
                }
        }
        *ret = c;
        return 0;
}

// The last word of a call without content.
static void call_end(Call *c, int error, const char *message) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;
        AgentReply reply = c->reply;
        void *userdata = c->userdata;
        char text[AGENT_ERROR_MAX];

        str_fit(text, sizeof(text), "%s", message ?: error < 0 ? strerror(-error) : "");
        response.final = true;
        response.status = -error;
        response.message = text;
        call_free(c);
        reply(&response, userdata);
}

// What only a user's argosyd can meet.
static const char no_journal[] = "this user may read no journal: journald keeps one for each user in "
                                 "persistent storage (/var/log/journal) "
                                 "only, and members of the group systemd-journal may read all";

// What a container's systemd and units say is in the container's own journal, among its own files; in ours
// the same name is somebody else's.
static bool has_journal_here(const AgentNode *node) {
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

// NULL: out of memory.
static char *why_no_lines(const Call *c, int error) {
        const char *machine = manager_name_machine(c->node->manager);

        if (error == -EACCES && has_journal_here(c->node))
                return strdup(no_journal);
        if (has_journal_here(c->node))
                return strdup(strerror(-error));
        if (c->node->reason)
                return str_printf("the journal of container %s cannot be read: %s", machine, c->node->reason);
        return str_printf("the journal of container %s cannot be read from outside: %s; on this host try: "
                          "journalctl --machine=%s --unit=%s",
                          machine, strerror(-error), machine, c->names[c->at]);
}

static int reader_open(Call *c, const JournalQuestion *q, const JournalOps *ops) {
        int r = has_journal_here(c->node) ? journal_reader_new(c->agent->loop, q, ops, c, &c->reader)
                                          : read_inside(c, q, ops);

        if (r >= 0)
                c->agent->n_open++;
        return r;
}

static int read_lines(Call *c, const char *unit, unsigned n_lines, bool follow, const JournalOps *ops) {
        const JournalQuestion question = {
                .manager = c->node->uid,
                .unit = unit,
                .n_lines = n_lines,
                .follow = follow,
                .batch_bytes = c->window.size ? MIN_OF(c->window.size, (size_t) JOURNAL_BATCH_BYTES) : 0,
        };

        if (c->reader && c->reads == c->node && journal_reader_again(c->reader, &question) == 0)
                return 0;
        reader_drop(c);
        return reader_open(c, &question, ops);
}

// ---- status

static AgentNode *holder_of(Agent *a, const char *name) {
        agent_foreach_node (node, a) {
                const AgentUnit *u = agent_unit_find(node, name);

                if (u && u->has_held)
                        return node;
        }
        return NULL;
}

static void status_next(Call *c);

// Why a unit does not do what is wanted, in one sentence; empty if it does.
static const char *why_not(const AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);

        if (work->error)
                return work->error;
        if (u->node->stopping)
                return !agent_node_is_users(u->node) ? "the machine is shutting down"
                                                      : "its user's systemd is shutting down";
        if (u->drift && u->held.interrupted)
                return "its start was cancelled on this node; `argosyctl start` runs it again";
        if (u->drift)
                return "it ended by itself or was stopped on this node; `argosyctl start` brings it back";
        if (u->went_along)
                return "it was stopped with a unit that it is bound to (Requires=, BindsTo= or PartOf=)";
        if (work->outcome == ARGOSY__OUTCOME__KIND__DONE)
                return "it has finished";
        if (work->outcome == ARGOSY__OUTCOME__KIND__FAILED)
                return "it has failed and is not run again by itself";
        if (work->outcome == ARGOSY__OUTCOME__KIND__UNKNOWN)
                return OUTCOME_UNKNOWN_TEXT "; `start` runs it again";
        return "";
}

static void fill_row(const AgentUnit *u, Argosy__Response__UnitRow *row) {
        const UnitRuntime *rt = &u->watch.runtime;
        bool loaded = rt->loaded;

        row->unit = (char *) u->name;
        row->node = u->node->name;
        row->load = (char *) (loaded             ? load_state_to_string(rt->load)
                              : !u->file_present ? "not-found"
                              : u->hidden        ? load_state_to_string(u->hidden)
                                                 : "loaded");
        row->active = (char *) (loaded ? active_state_to_string(rt->active) : "inactive");
        row->sub = (char *) (loaded ? rt->sub : "dead");
        row->drift = u->drift;
        row->file_stale = u->file_stale;
        if (agent_unit_doing(u)->error)
                row->error = u->work->error;
}

static void status_respond(Call *c) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Status status = ARGOSY__RESPONSE__STATUS__INIT;
        Argosy__Response__UnitRow row = ARGOSY__RESPONSE__UNIT_ROW__INIT;
        Argosy__Response__UsageRow usage = ARGOSY__RESPONSE__USAGE_ROW__INIT;
        const AgentUnit *u = agent_unit_find(c->node, c->names[c->at]);
        PlanWanted buffer;
        const PlanWanted *wanted = u ? agent_unit_wanted(u, &buffer) : NULL;
        LedgerRecord held;
        char spec[HASH_HEX_SIZE];

        if (u) {
                fill_row(u, &row);
                agent_unit_fill_record(u, &held);
                hash_hex(&held.spec, HASH_SIZE, spec);
                row.spec = spec;
                status.desired =
                        (char *) target_to_string(wanted ? wanted->target : (Argosy__Target) held.target);
                status.revision = agent_unit_answered(u);
                status.why = (char *) why_not(u);
                status.outcome = (char *) outcome_to_string(agent_unit_doing(u)->outcome);
        } else {
                row.unit = c->names[c->at];
                status.why = (char *) "this node does not hold it";
        }
        status.row = &row;
        if (c->has_usage) {
                agent_fill_usage(&c->usage, c->names[c->at], &usage);
                status.usage = &usage;
        }
        status.properties = c->properties;
        status.n_properties = c->n_properties;
        status.log = c->lines;
        status.n_log = c->n_log;
        response.what_case = ARGOSY__RESPONSE__WHAT_STATUS_REPLY;
        response.status_reply = &status;
        response.final = c->at + 1 == c->n_names;
        c->reply(&response, c->userdata);
}

static void status_finish_one(Call *c) {
        uint64_t number = c->number;
        Agent *a = c->agent;

        if (has_journal_here(c->node))
                reader_drop(c);
        status_respond(c);
        c = call_find(a, number); // the reply may have cancelled it
        if (!c)
                return;
        status_reset(c);
        c->at++;
        if (c->at == c->n_names)
                call_free(c);
        else
                status_next(c);
}

static void on_status_lines(char **lines, size_t n, void *userdata) {
        Call *c = userdata;
        char **all = realloc(c->lines, (c->n_log + n) * sizeof(*all));

        if (!all)
                return;
        c->lines = all;
        for (size_t i = 0; i < n && c->n_log < STATUS_LINES_MAX; i++) {
                char *copy = strdup(lines[i]);

                if (copy)
                        c->lines[c->n_log++] = copy;
        }
}

static void on_status_lines_end(int error, void *userdata) {
        Call *c = userdata;
        _cleanup_free_ char *note =
                error == -EACCES || (error < 0 && !has_journal_here(c->node)) ? why_no_lines(c, error) : NULL;

        c->reads = has_journal_here(c->node) ? NULL : c->node;
        c->unread = MIN_OF(error, 0);
        if (note)
                on_status_lines(&note, 1, c);
        status_finish_one(c); // without a journal the rest is still worth showing
}

static const JournalOps status_journal_ops = {.lines = on_status_lines, .ended = on_status_lines_end};

static int copy_properties(Call *c, Argosy__Response__Property *const *properties, size_t n) {
        c->properties = calloc(n ?: 1, sizeof(*c->properties));
        if (!c->properties)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                Argosy__Response__Property *p = malloc(sizeof(*p));

                if (!p)
                        return -ENOMEM;
                argosy__response__property__init(p);
                c->properties[c->n_properties++] = p;
                p->key = strdup(properties[i]->key);
                p->value = strdup(properties[i]->value);
                if (!p->key || !p->value)
                        return -ENOMEM;
        }
        return 0;
}

static void status_read_lines(Call *c) {
        int r;

        if (c->n_lines == 0 && !has_journal_here(c->node)) {
                status_finish_one(c); // a process for nothing
                return;
        }
        if (c->reads == c->node && c->unread < 0) {
                on_status_lines_end(c->unread, c);
                return;
        }
        r = read_lines(c, c->names[c->at], c->n_lines, false, &status_journal_ops);
        if (r < 0)
                call_end(c, r, NULL);
}

static void on_status_usage(const UnitUsage *samples, size_t n, void *userdata) {
        Call *c = userdata;

        c->reading = 0;
        c->has_usage = samples[0].exists;
        c->usage = samples[0];
        status_read_lines(c);
}

static void status_read_usage(Call *c) {
        const char *control_group = "";
        _cleanup_free_ char *path = NULL;

        for (size_t i = 0; i < c->n_properties; i++)
                if (streq(c->properties[i]->key, "ControlGroup"))
                        control_group = c->properties[i]->value;
        path = agent_told_cgroup(c->node, control_group);
        if (!path || cgroup_usage_read(c->agent->usage, (const char *const[]){path}, 1, on_status_usage, c,
                                       &c->reading) < 0)
                status_read_lines(c); // without it the rest is still worth showing
}

static void on_inspected(int error, Argosy__Response__Property *const *properties, size_t n,
                         void *userdata) {
        _cleanup_free_ CallRef *ref = userdata;
        Call *c = call_find(ref->agent, ref->number);

        if (!c || c->at != ref->at)
                return;
        if (error >= 0)
                error = copy_properties(c, properties, n);
        if (error < 0)
                call_end(c, error, NULL);
        else
                status_read_usage(c);
}

static void status_next(Call *c) {
        CallRef *ref = call_ref(c, c->at);
        int r;

        if (c->anywhere)
                c->node = holder_of(c->agent, c->names[c->at]) ?: c->agent->system;
        if (c->reads != c->node)
                reader_drop(c);
        r = ref ? systemd_manager_inspect(c->node->systemd, c->names[c->at], on_inspected, ref) : -ENOMEM;
        if (r < 0) {
                free(ref);
                call_end(c, r, NULL);
        }
}

static int status_start(Agent *a, AgentNode *node, const Argosy__Request__Status *q, AgentReply reply,
                        void *userdata, uint64_t *ret) {
        Call *c;
        int r;

        if (q->n_names == 0)
                return -EINVAL;
        r = call_new(a, node, q->names, q->n_names, reply, userdata, &c);
        if (r < 0)
                return r;
        c->n_lines = MIN_OF(q->lines, (unsigned) STATUS_LINES_MAX);
        c->anywhere = !node;
        *ret = c->number;
        status_next(c);
        if (!call_find(a, *ret))
                *ret = 0;
        return 0;
}

// ---- journal

static void on_journal_lines(char **lines, size_t n, void *userdata) {
        Call *c = userdata;
        Argosy__Response response = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Journal journal = ARGOSY__RESPONSE__JOURNAL__INIT;
        uint64_t number = c->number;
        Agent *a = c->agent;
        size_t bytes = 0;

        for (size_t i = 0; i < n; i++)
                bytes += strlen(lines[i]) + 1;
        journal.lines = lines;
        journal.n_lines = n;
        journal.mark = flow_window_sent(&c->window, bytes);
        response.what_case = ARGOSY__RESPONSE__WHAT_JOURNAL;
        response.journal = &journal;
        c->reply(&response, c->userdata);
        c = call_find(a, number); // the reply may have cancelled it
        if (c && !flow_window_is_open(&c->window))
                journal_reader_hold(c->reader, true);
}

static void on_journal_end(int error, void *userdata) {
        _cleanup_free_ char *why = error < 0 ? why_no_lines(userdata, error) : NULL;

        call_end(userdata, error, why);
}

static const JournalOps journal_ops = {.lines = on_journal_lines, .ended = on_journal_end};

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

static int journal_start(Agent *a, AgentNode *node, const Argosy__Request__Journal *q, AgentReply reply,
                         void *userdata, uint64_t *ret) {
        Call *c;
        int r;

        node = node ?: holder_of(a, q->name);
        if (!node)
                return refuse_unheld(q->name, reply, userdata, ret);
        r = call_new(a, node, (char **) &q->name, 1, reply, userdata, &c);
        if (r < 0)
                return r;
        if (FEATURE_LEVEL >= FEATURE_JOURNAL_WINDOW)
                c->window.size = q->window;
        r = read_lines(c, q->name, MIN_OF(q->lines, (unsigned) JOURNAL_LINES_LIMIT), q->follow,
                       &journal_ops);
        if (r < 0) {
                call_free(c);
                return r;
        }
        *ret = c->number;
        return 0;
}

// ---- local stop

static void local_stop_end(Call *c) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Change change = ARGOSY__RESPONSE__CHANGE__INIT;
        _cleanup_free_ Argosy__Response__UnitResult **list = calloc(c->n_names, sizeof(*list));

        if (!list) {
                call_end(c, -ENOMEM, NULL);
                return;
        }
        for (size_t i = 0; i < c->n_names; i++)
                list[i] = &c->results[i];
        change.units = list;
        change.n_units = c->n_names;
        response.what_case = ARGOSY__RESPONSE__WHAT_CHANGE;
        response.change = &change;
        response.final = true;
        c->reply(&response, c->userdata);
        call_free(c);
}

static void local_stop_result(Call *c, size_t i, int status, const char *message) {
        char *copy = message && *message ? strdup(message) : NULL;

        c->results[i].status = status;
        if (copy)
                c->results[i].message = copy;
        c->n_left--;
}

static void on_local_stopped(const char *name, SystemdJobKind kind, SystemdJobResult result,
                             const char *error, void *userdata) {
        _cleanup_free_ CallRef *ref = userdata;
        Call *c = call_find(ref->agent, ref->number);

        if (!c)
                return;
        local_stop_result(c, ref->at, result == SYSTEMD_JOB_DONE ? 0 : EIO,
                          result == SYSTEMD_JOB_DONE ? NULL
                          : error && *error          ? error
                                                     : "the stop job did not end well");
        if (c->n_left == 0)
                local_stop_end(c);
}

static void local_stop_one(Call *c, size_t i) {
        AgentUnit *u = agent_unit_find(c->node, c->names[i]);
        CallRef *ref;
        int r;

        if (!u || !u->has_held) {
                local_stop_result(c, i, ENOENT, "this node does not hold it");
                return;
        }
        ref = call_ref(c, i);
        r = ref ? systemd_manager_job(c->node->systemd, SYSTEMD_STOP, u->name, on_local_stopped, ref)
                : -ENOMEM;
        if (r < 0) {
                free(ref);
                local_stop_result(c, i, -r, strerror(-r));
        }
}

static int local_stop_start(Agent *a, AgentNode *node, const Argosy__Request__LocalStop *q, AgentReply reply,
                            void *userdata, uint64_t *ret) {
        Call *c;
        int r;

        if (q->n_names == 0)
                return -EINVAL;
        r = call_new(a, node, q->names, q->n_names, reply, userdata, &c);
        if (r < 0)
                return r;
        c->results = calloc(c->n_names, sizeof(*c->results));
        if (!c->results) {
                call_free(c);
                return -ENOMEM;
        }
        for (size_t i = 0; i < c->n_names; i++) {
                argosy__response__unit_result__init(&c->results[i]);
                c->results[i].name = c->names[i];
                c->results[i].node = node->name;
        }
        *ret = c->number;
        c->n_left = c->n_names;
        for (size_t i = 0; i < c->n_names; i++)
                local_stop_one(c, i);
        if (c->n_left == 0) {
                *ret = 0;
                local_stop_end(c);
        }
        return 0;
}

// ---- calls of this host

static AgentNode *node_of_call(Agent *a, uint32_t number) {
        return number == 0 ? a->system : agent_node_find(a, number);
}

int agent_call(Agent *a, uint32_t node_number, const Argosy__Request *q, AgentReply reply, void *userdata,
               uint64_t *ret_cancel) {
        AgentNode *node = node_of_call(a, node_number);

        *ret_cancel = 0;
        if (!node)
                return -ENXIO;
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_STATUS:
                return status_start(a, node_number ? node : NULL, q->status, reply, userdata, ret_cancel);
        case ARGOSY__REQUEST__WHAT_JOURNAL:
                return journal_start(a, node_number ? node : NULL, q->journal, reply, userdata, ret_cancel);
        case ARGOSY__REQUEST__WHAT_TOP:
                return agent_look_start(a, node, q->top, reply, userdata, ret_cancel);
        case ARGOSY__REQUEST__WHAT_LOCAL_STOP:
                return local_stop_start(a, node, q->local_stop, reply, userdata, ret_cancel);
        default:
                return -EOPNOTSUPP;
        }
}

void agent_cancel(Agent *a, uint64_t cancel) {
        Call *c;

        if (agent_look_cancel(a, cancel))
                return;
        c = call_find(a, cancel);
        if (c)
                call_free(c);
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

void agent_calls_drop(Agent *a) {
        agent_looks_drop(a);
        while (!list_is_empty(&a->calls_list))
                call_free(CONTAINER_OF(a->calls_list.next, Call, link));
        map_done(&a->calls);
}

static Call *call_on_node(const AgentNode *node) {
        list_foreach (n, &node->agent->calls_list) {
                Call *c = CONTAINER_OF(n, Call, link);

                if (c->node == node)
                        return c;
        }
        return NULL;
}

void agent_calls_drop_node(AgentNode *node) {
        Call *c;

        agent_looks_drop_node(node);
        while ((c = call_on_node(node))) // whoever is told may cancel others
                call_end(c, -ECONNRESET, "the manager was detached");
}

static void local_units_free(Agent *a) {
        for (size_t i = 0; i < a->local.n_rows; i++)
                free(a->local.rows[i].spec == (char *) protobuf_c_empty_string ? NULL
                                                                               : a->local.rows[i].spec);
        free(a->local.rows);
        free(a->local.pointers);
        a->local.rows = NULL;
        a->local.pointers = NULL;
        a->local.n_rows = 0;
}

void agent_local_units(Agent *a, Argosy__Response *ret) {
        size_t max = agent_n_units(a), n = 0;

        local_units_free(a);
        argosy__response__units__init(&a->local.units);
        ret->what_case = ARGOSY__RESPONSE__WHAT_UNITS;
        ret->units = &a->local.units;
        a->local.rows = calloc(max ?: 1, sizeof(*a->local.rows));
        a->local.pointers = calloc(max ?: 1, sizeof(*a->local.pointers));
        if (!a->local.rows || !a->local.pointers) {
                ret->status = ENOMEM;
                return;
        }
        agent_foreach_node (node, a)
                agent_foreach_unit(u, node) {
                        Argosy__Response__UnitRow *row = &a->local.rows[n];
                        char *hex = malloc(HASH_HEX_SIZE);

                        if (!u->has_held || !hex) {
                                free(hex);
                                continue;
                        }
                        argosy__response__unit_row__init(row);
                        fill_row(u, row);
                        hash_hex(&u->held.spec->hash, HASH_SIZE, hex);
                        row->spec = hex;
                        a->local.pointers[n++] = row;
                }
        a->local.n_rows = n;
        a->local.units.rows = a->local.pointers;
        a->local.units.n_rows = n;
}

void agent_local_units_drop(Agent *a) {
        local_units_free(a);
}
