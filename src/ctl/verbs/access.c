// SPDX-License-Identifier: LGPL-2.1-or-later
//
// access: who may do what. A right is given and taken back in the same words: RIGHT to user:NAME,
// user:NAME@HOST or group:NAME, and "on role ROLE" behind it if it is only about units of that role. What
// cannot be a right, or nobody's name, never reaches the daemon.

#include <errno.h>

#include "access.h"
#include "ctl-rows.h"
#include "ctl.h"
#include "message-of.h"
#include "row-json.h"
#include "str.h"
#include "table.h"
#include "verbs.h"

// ---- what is changed

// "on role ROLE", or nothing.
static bool read_role(char **words, size_t n, char **ret) {
        *ret = (char *) "";
        if (n == 0)
                return true;
        if (n != 3 || !streq(words[0], "on") || !streq(words[1], "role") || !*words[2])
                return false;
        *ret = words[2];
        return true;
}

// Either word is understood for both: "revoke view from" is what people say, too.
static bool is_between(const char *word) {
        return streq(word, "to") || streq(word, "from");
}

static int change(Ctl *ctl, char **words, size_t n, bool revoke) {
        Argosy__Request__AccessChange m = ARGOSY__REQUEST__ACCESS_CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(ACCESS_CHANGE, access_change, &m);
        _cleanup_free_ char *word = strdup(words[2]);
        AccessSubject subject;

        if (!word)
                return ctl_oom(ctl);
        if (!right_from_string(words[0], &m.right))
                return ctl_usage(ctl, "'%s' is no right: view, operate, deploy, admin", words[0]);
        if (!is_between(words[1]) || !read_role(words + 3, n - 3, &m.role))
                return ctl_usage(ctl,
                                 "it is: argosyctl access %s RIGHT %s user:NAME|user:NAME@HOST|group:NAME "
                                 "[on role ROLE]",
                                 revoke ? "revoke" : "grant", revoke ? "from" : "to");
        if (!access_subject_parse(word, &subject))
                return ctl_usage(ctl, "'%s' is none of user:NAME, user:NAME@HOST, group:NAME", words[2]);
        m.revoke = revoke;
        m.user = (char *) subject.user;
        m.group = (char *) subject.group;
        m.host = (char *) subject.host;
        return ctl_ask(ctl, &request, 0, NULL, NULL);
}

int verb_access_grant(Ctl *ctl, char **words, size_t n) {
        return change(ctl, words, n, false);
}

int verb_access_revoke(Ctl *ctl, char **words, size_t n) {
        return change(ctl, words, n, true);
}

// ---- what is shown

// As it is typed. NULL: out of memory.
static char *subject_of(const Argosy__Response__AccessRow *row) {
        const Argosy__GrantRecord *g = row->grant;

        if (*g->group)
                return str_printf("group:%s", g->group);
        if (g->host)
                return str_printf("user:%s@%s", g->user, row->host);
        return str_printf("user:%s%s", g->user, strchr(g->user, '@') ? "@" : "");
}

static int table_row(Table *t, const Argosy__Response__AccessRow *row) {
        _cleanup_free_ char *subject = subject_of(row);
        int r = subject ? table_add(t, right_to_string(row->grant->right), COLOUR_NONE) : -ENOMEM;

        r = r < 0 ? r : table_add(t, subject, COLOUR_NONE);
        return r < 0 ? r : table_add(t, row->grant->role, COLOUR_NONE);
}

static int on_rows(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        CtlRows *rows = userdata;
        int e = 0;

        for (size_t i = 0; r->what_case == ARGOSY__RESPONSE__WHAT_ACCESS && i < r->access->n_rows && e == 0;
             i++) {
                if (!r->access->rows[i]->grant)
                        continue;
                if (ctl->opt.json != JSON_OFF)
                        row_json(&grant_row, r->access->rows[i], &rows->json);
                else
                        e = table_row(&rows->table, r->access->rows[i]);
        }
        return e;
}

int verb_access_list(Ctl *ctl, char **words, size_t n) {
        static const char *const headers[] = {"RIGHT", "WHO", "ON ROLE"};
        Argosy__Request__AccessList list = ARGOSY__REQUEST__ACCESS_LIST__INIT;
        Argosy__Request request = REQUEST_OF(ACCESS_LIST, access_list, &list);

        return ctl_rows_print(ctl, &request, headers, ELEMENTSOF(headers), on_rows);
}
