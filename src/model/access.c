// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Access control: whether an author has a right, and the words of rights and subjects (access.h).
//
//      author -> token: its record, if it is active -> right and role cover what is asked
//             -> no token: the grants to its user or groups, from the first to the last
//
// A list has at most CLUSTER_GRANTS_MAX grants, so each question walks it; root (`owner`) is answered before
// that. Nothing allocates or fails: a name that nobody knows matches no grant, and an unknown word is
// "unknown" or false.

#include "access.h"

#include <string.h>

#include "access-token.h"
#include "author.h"
#include "macro.h"
#include "str.h"

// ------------------------------------------------------------------------------------------------ judging

static bool is_member(const Argosy__Author *author, const char *group) {
        for (size_t i = 0; i < author->n_groups; i++)
                if (streq(author->groups[i], group))
                        return true;
        return false;
}

bool access_shows_token(const Argosy__Author *author) {
        return *author->token || author->token_proof.len > 0;
}

// The record of the author's token if it is active. For an author with a token neither user nor groups
// count.
static const Argosy__AccessTokenRecord *active_token(AccessList list, const Argosy__Author *author) {
        const Argosy__AccessTokenRecord *token = access_token_of(list, author);

        return token && access_token_state(token, list.now) == ACCESS_TOKEN_ACTIVE ? token : NULL;
}

bool grant_is_of(const Argosy__GrantRecord *grant, const Argosy__Author *author) {
        if (access_shows_token(author))
                return false;
        if (*grant->group)
                return is_member(author, grant->group);
        return *grant->user && streq(grant->user, author->user) &&
               (grant->host == 0 || grant->host == author->host);
}

static bool covers(const char *of, const char *role) {
        return !*of || (role && streq(of, role));
}

bool access_has(AccessList list, const Argosy__Author *author, Argosy__Right right, const char *role) {
        if (author->owner || right == ARGOSY__RIGHT__RIGHT_NONE)
                return true;
        if (access_shows_token(author)) {
                const Argosy__AccessTokenRecord *token = active_token(list, author);

                return token && token->right >= right && covers(token->role, role);
        }
        for (size_t i = 0; i < list.n; i++) {
                const Argosy__GrantRecord *g = list.grants[i];

                if (g->right >= right && covers(g->role, role) && grant_is_of(g, author))
                        return true;
        }
        return false;
}

bool access_has_some(AccessList list, const Argosy__Author *author, Argosy__Right right) {
        if (author->owner || right == ARGOSY__RIGHT__RIGHT_NONE)
                return true;
        if (access_shows_token(author)) {
                const Argosy__AccessTokenRecord *token = active_token(list, author);

                return token && token->right >= right;
        }
        for (size_t i = 0; i < list.n; i++)
                if (list.grants[i]->right >= right && grant_is_of(list.grants[i], author))
                        return true;
        return false;
}

// Grants to the same group stand together (grant_compare()).
size_t access_groups(AccessList list, const Argosy__Author *author, const char **ret, size_t max) {
        size_t n = 0;

        if (author->owner || access_shows_token(author))
                return 0;
        for (size_t i = 0; i < list.n && n < max; i++) {
                const char *group = list.grants[i]->group;

                if (*group && (n == 0 || !streq(ret[n - 1], group)) && is_member(author, group))
                        ret[n++] = group;
        }
        return n;
}

bool access_is_open(AccessList list) {
        for (size_t i = 0; i < list.n; i++)
                if (!streq(list.grants[i]->group, ACCESS_GROUP))
                        return true;
        return false;
}

AccessList access_of_new_cluster(void) {
        static Argosy__GrantRecord grant = {
                .base = PROTOBUF_C_MESSAGE_INIT(&argosy__grant_record__descriptor),
                .right = ARGOSY__RIGHT__RIGHT_ADMIN,
                .user = (char *) "",
                .group = (char *) ACCESS_GROUP,
                .role = (char *) "",
        };
        static Argosy__GrantRecord *const grants[] = {&grant};

        return (AccessList){.grants = grants, .n = ELEMENTSOF(grants)};
}

// ------------------------------------------------------------------------------------------------ records

int grant_compare(const Argosy__GrantRecord *a, const Argosy__GrantRecord *b) {
        int r = strcmp(a->group, b->group);

        if (r == 0)
                r = strcmp(a->user, b->user);
        if (r == 0)
                r = (a->host > b->host) - (a->host < b->host);
        if (r == 0)
                r = strcmp(a->role, b->role);
        return r ? r : (a->right > b->right) - (a->right < b->right);
}

// ------------------------------------------------------------------------------------------------ words

static const char *const rights[] = {
        [ARGOSY__RIGHT__RIGHT_VIEW] = "view",
        [ARGOSY__RIGHT__RIGHT_OPERATE] = "operate",
        [ARGOSY__RIGHT__RIGHT_DEPLOY] = "deploy",
        [ARGOSY__RIGHT__RIGHT_ADMIN] = "admin",
};

const char *right_to_string(Argosy__Right right) {
        size_t i = (size_t) right;

        return i < ELEMENTSOF(rights) && rights[i] ? rights[i] : "unknown";
}

bool right_from_string(const char *word, Argosy__Right *ret) {
        for (size_t i = 0; i < ELEMENTSOF(rights); i++)
                if (rights[i] && streq(word, rights[i])) {
                        *ret = (Argosy__Right) i;
                        return true;
                }
        return false;
}

bool access_subject_parse(char *word, AccessSubject *ret) {
        char *at;

        *ret = (AccessSubject){.user = "", .group = "", .host = ""};
        if (str_has_prefix(word, "group:")) {
                ret->group = word + strlen("group:");
                return author_name_is_valid(ret->group);
        }
        if (!str_has_prefix(word, "user:"))
                return false;
        ret->user = word + strlen("user:");
        at = strrchr(ret->user, '@');
        if (at) {
                *at = 0;
                ret->host = at + 1;
        }
        return author_name_is_valid(ret->user);
}
