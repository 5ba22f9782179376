// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cordon, uncordon, drain, maintenance, label.
//
// The mode of all nodes goes into the log by one request, so that what has to leave one of them moves to
// none of the others; then drain and maintenance ask to wait until each node is empty. Both requests may be
// repeated, so a lost daemon or leader costs time and nothing else. What cannot leave a node is told, and
// the other nodes are waited for all the same.

#include <errno.h>
#include <inttypes.h>

#include "ctl.h"
#include "message-of.h"
#include "str.h"
#include "terminal.h"
#include "verbs.h"
#include "wait-loop.h"

// ---- modes

static int on_mode(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        int *status = userdata;

        *status = r->status;
        if (r->status != 0)
                ctl_fail(ctl, "%s", status_text(r->status, r->message));
        return 0;
}

static int ask(Ctl *ctl, Argosy__Request *request) {
        int status = 0, code = ctl_ask(ctl, request, CALL_STATUS, on_mode, &status);

        return code == EXIT_OK && status != 0 ? EXIT_FAILED : code;
}

static int set_modes(Ctl *ctl, char **nodes, size_t n, Argosy__NodeMode mode) {
        Argosy__Request__NodeChange change = MESSAGE_OF(request__node_change, .nodes = nodes, .n_nodes = n,
                                                        .mode = mode, .deadline_sec = ctl->opt.deadline_sec,
                                                        .reason = (char *) (ctl->opt.reason ?: ""));
        Argosy__Request request = REQUEST_OF(NODE_CHANGE, node_change, &change);

        return ask(ctl, &request);
}

// ---- waiting for a drain

typedef struct Drain {
        Argosy__Request__DrainWait wait;
        uint32_t most, left; // units that are to leave: the most seen, and now
        bool stuck;          // those that are left can go nowhere
        bool over;           // the cluster has said how it stands with this node
        char **nodes;        // this one and those that are waited for after it
        size_t n_nodes;
} Drain;

static void print_stuck(Ctl *ctl, const Argosy__Response__Progress *p) {
        progress_clear(&ctl->term);
        for (size_t i = 0; i < p->n_done; i++) {
                fprintf(ctl->term.err, "%s:\n", p->done[i]->name);
                ctl_refusals(ctl, ctl->term.err, p->done[i]->refusals, p->done[i]->n_refusals);
        }
        if (p->remaining > p->n_done)
                fprintf(ctl->term.err, "and %" PRIu32 " more units\n", p->remaining - (uint32_t) p->n_done);
}

static int drain_take(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Drain *d = userdata;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_PROGRESS)
                return 0;
        d->left = r->progress->remaining;
        d->most = MAX_OF(d->most, d->left);
        d->stuck = r->status != 0;
        if (d->stuck)
                print_stuck(ctl, r->progress);
        return WAIT_NEWS;
}

static void drain_count(const void *userdata, ProgressState *ret) {
        const Drain *d = userdata;

        *ret = (ProgressState){.verb = "drain", .done = d->most - d->left, .total = d->most};
}

static WaitStep drain_judge(Ctl *ctl, const WaitEnd *end, void *userdata) {
        const Drain *d = userdata;

        return end->error == 0 && end->status == 0 && d->left == 0 ? WAIT_FINISHED : wait_end_step(end);
}

// The cluster has said that it does, as the last thing of it.
static const char *goes_on(const WaitEnd *end) {
        return wait_end_is_open(end) ? "goes on" : "may go on, or have ended";
}

static int drain_detach(const WaitEnd *end, const void *userdata, Buf *text) {
        const Drain *d = userdata;
        int r = buf_printf(text, "the drain of %s", d->wait.node);

        for (size_t i = 1; i < d->n_nodes && r >= 0; i++)
                r = buf_printf(text, "%s%s", i + 1 < d->n_nodes ? ", " : " and ", d->nodes[i]);
        return r < 0 ? r : buf_printf(text, " %s (see argosyctl list-nodes)", goes_on(end));
}

static int drain_leave(Ctl *ctl, const WaitEnd *end, void *userdata) {
        Drain *d = userdata;

        d->over = end->error == 0 && wait_end_step(end) == WAIT_GIVE_UP;
        if (d->over && !d->stuck) // it is not being drained any more, or is gone
                return ctl_fail(ctl, "%s", wait_loop_reason(ctl, end));
        return ctl_fail(ctl, "%s: %s; the drain %s (see argosyctl list-nodes)", d->wait.node,
                        wait_loop_reason(ctl, end), goes_on(end));
}

static const WaitKind drain_wait = {
        .take = drain_take,
        .count = drain_count,
        .judge = drain_judge,
        .detach = drain_detach,
        .leave = drain_leave,
};

// For the first of the nodes. *ret_over: the next one can be waited for.
static int wait_for_drain(Ctl *ctl, char **nodes, size_t n, bool *ret_over) {
        Drain d = {.wait = ARGOSY__REQUEST__DRAIN_WAIT__INIT, .nodes = nodes, .n_nodes = n};
        int code;

        d.wait.node = nodes[0];
        Argosy__Request request = REQUEST_OF(DRAIN_WAIT, drain_wait, &d.wait);
        code = wait_loop_run(ctl, &drain_wait, &request, &d);
        *ret_over = code == EXIT_OK || d.over;
        return code;
}

static int wait_for_drains(Ctl *ctl, char **nodes, size_t n) {
        int code = EXIT_OK;
        bool over = true;

        for (size_t i = 0; i < n && over; i++) {
                int one = wait_for_drain(ctl, nodes + i, n - i, &over);

                code = MAX_OF(code, one);
        }
        return code;
}

static int empty_nodes(Ctl *ctl, char **nodes, size_t n, Argosy__NodeMode mode) {
        int code;

        ctl_catch_interrupt(ctl);
        code = set_modes(ctl, nodes, n, mode);
        if (code != EXIT_OK || ctl->opt.given[OPT_NO_BLOCK])
                return code;
        return wait_for_drains(ctl, nodes, n);
}

// ---- the verbs

int verb_cordon(Ctl *ctl, char **args, size_t n) {
        return set_modes(ctl, args, n, ARGOSY__NODE_MODE__MODE_CORDONED);
}

int verb_uncordon(Ctl *ctl, char **args, size_t n) {
        return set_modes(ctl, args, n, ARGOSY__NODE_MODE__MODE_OPEN);
}

int verb_drain(Ctl *ctl, char **args, size_t n) {
        return empty_nodes(ctl, args, n, ARGOSY__NODE_MODE__MODE_DRAINING);
}

int verb_maintenance(Ctl *ctl, char **args, size_t n) {
        return empty_nodes(ctl, args, n, ARGOSY__NODE_MODE__MODE_MAINTENANCE);
}

// "k=v" sets, "k-" takes back. Cuts the word.
static int read_label(Ctl *ctl, char *word, Argosy__Label *set, char **unset) {
        char *equals = strchr(word, '=');
        size_t len = strlen(word);

        if (equals) {
                *equals = 0;
                *set = (Argosy__Label) MESSAGE_OF(label, .key = word, .value = equals + 1);
                return 1;
        }
        if (len < 2 || word[len - 1] != '-') {
                ctl_fail(ctl, "'%s' is neither KEY=VALUE nor KEY- (which takes a label back)", word);
                return -EINVAL;
        }
        word[len - 1] = 0;
        *unset = word;
        return 0;
}

int verb_label(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__LabelChange change = ARGOSY__REQUEST__LABEL_CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(LABEL_CHANGE, label_change, &change);
        _cleanup_free_ Argosy__Label *labels = calloc(n, sizeof(*labels));
        _cleanup_free_ Argosy__Label **set = calloc(n, sizeof(*set));
        _cleanup_free_ char **unset = calloc(n, sizeof(*unset));

        if (!labels || !set || !unset)
                return ctl_oom(ctl);
        for (size_t i = 1; i < n; i++) {
                int r = read_label(ctl, args[i], &labels[change.n_set], &unset[change.n_unset]);

                if (r < 0)
                        return EXIT_USAGE;
                if (r == 0)
                        change.n_unset++;
                else {
                        set[change.n_set] = &labels[change.n_set];
                        change.n_set++;
                }
        }
        change.node = args[0];
        change.set = set;
        change.unset = unset;
        return ctl_ask(ctl, &request, 0, NULL, NULL);
}
