// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Names, HELPER_NAMES_PER_REQUEST at a time -> load states -> the last one: the helper is ended -> its
// process is gone: done(). So one that does not go, as its user's file system holds it, is the only one.
//
// The helper keeps no watch (inotify): that would be a process for each manager all the time, and a watch
// that it hands over could be made to block its reader. What it answers is believed about its own
// user's units. If it does not answer in time, or about another number of units, nothing is known.
#include <errno.h>

#include "foreign-search.h"
#include "macro.h"
#include "message-of.h"

struct ForeignSearch {
        HelperLink *link;
        char *const *names;
        Argosy__LoadState *loads;
        size_t n, n_asked, n_answered;
        bool ended;
        int error;
        void (*done)(int error, void *userdata);
        void *userdata;
};

static void end(ForeignSearch *l, int error) {
        if (l->ended)
                return;
        l->ended = true;
        l->error = error;
        helper_link_close(l->link);
}

void foreign_search_close(ForeignSearch *l) {
        end(l, -ECANCELED);
}

static int ask(ForeignSearch *l) {
        Argosy__HelperRequest q = MESSAGE_OF(helper_request, .look = (char **) l->names + l->n_asked);

        q.n_look = MIN_OF(l->n - l->n_asked, (size_t) HELPER_NAMES_PER_REQUEST);
        l->n_asked += q.n_look;
        return helper_link_send(l->link, &q);
}

static int take_reply(ForeignSearch *l, const Argosy__HelperReply *reply) {
        size_t n = l->n_asked - l->n_answered;

        if (reply->error < 0)
                return reply->error;
        if (reply->n_loads != n)
                return -EBADMSG;
        memcpy(l->loads + l->n_answered, reply->loads, n * sizeof(*l->loads));
        l->n_answered += n;
        return l->n_answered < l->n ? ask(l) : 0;
}

static void on_reply(const Argosy__HelperReply *reply, int fd, void *userdata) {
        ForeignSearch *l = userdata;
        int r = take_reply(l, reply);

        if (r < 0 || l->n_answered == l->n)
                end(l, r);
}

static void on_ended(int error, void *userdata) {
        end(userdata, error ?: -EPIPE);
}

static void on_closed(void *userdata) {
        ForeignSearch *l = userdata;

        l->done(l->error, l->userdata);
        free(l);
}

int foreign_search_new(const HelperConfig *config, char *const *names, size_t n, Argosy__LoadState *loads,
                       void (*done)(int error, void *userdata), void *userdata, ForeignSearch **ret) {
        static const HelperOps ops = {.reply = on_reply, .ended = on_ended, .closed = on_closed};
        ForeignSearch *l = calloc(1, sizeof(*l));
        int r;

        if (!l)
                return -ENOMEM;
        *l = (ForeignSearch){.names = names, .loads = loads, .n = n, .done = done, .userdata = userdata};
        r = helper_link_new(config, &ops, l, &l->link);
        if (r < 0) {
                free(l);
                return r;
        }
        r = ask(l);
        if (r < 0)
                end(l, r);
        *ret = l;
        return 0;
}
