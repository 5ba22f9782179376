// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who asks: the author of a request, as a host reports it, checked and made (author.h).
//
//      author_admit() on what a host sent -> author_text(), author_key() for logs and accounts
//
// The message is a peer's bytes: a name that is not valid, too many groups or a token with a name give
// -EINVAL and make all of it void. Leaving out the odd name would leave out a group by which the author is
// refused. Authors that are made here borrow their strings and cannot fail.

#include "author.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "access-token.h"
#include "macro.h"
#include "map.h"
#include "str.h"

bool author_name_is_valid(const char *name) {
        return *name && strnlen(name, AUTHOR_NAME_MAX + 1) <= AUTHOR_NAME_MAX && str_is_plain(name);
}

// A proof beside a user's name would leave open whose rights count; a proof of another length could be
// another token's prefix.
static int admit_token(Argosy__Author *author) {
        if (author->token_proof.len != AUTHOR_PROOF_SIZE)
                return -EINVAL;
        if (*author->user || author->n_groups > 0 || author->owner)
                return -EINVAL;
        author->uid = UINT32_MAX;
        return 0;
}

static int admit_user(const Argosy__Author *author) {
        size_t bytes = 0;

        if ((*author->user && !author_name_is_valid(author->user)) || author->n_groups > AUTHOR_GROUPS_MAX ||
            str_has_prefix(author->user, AUTHOR_TOKEN_PREFIX))
                return -EINVAL;
        for (size_t i = 0; i < author->n_groups; i++) {
                if (!author_name_is_valid(author->groups[i]))
                        return -EINVAL;
                bytes += strlen(author->groups[i]) + 1;
        }
        if (bytes > AUTHOR_GROUPS_BYTES)
                return -EINVAL;
        return 0;
}

int author_admit(Argosy__Author *author, uint32_t host) {
        int r;

        if (*author->token) // only the leader sets it
                return -EINVAL;
        r = author->token_proof.len > 0 ? admit_token(author) : admit_user(author);
        if (r < 0)
                return r;
        author->host = host;
        return 0;
}

Argosy__Author author_of_host(uint32_t host) {
        Argosy__Author author = ARGOSY__AUTHOR__INIT;

        author.host = host;
        author.user = (char *) "root";
        author.owner = true;
        return author;
}

Argosy__Author author_of_daemon(uint32_t host, uint32_t uid, const char *user) {
        Argosy__Author author = author_of_host(host);

        if (!user)
                return author;
        author.uid = uid;
        author.user = (char *) (author_name_is_valid(user) ? user : "");
        return author;
}

Argosy__Author author_unattested(uint32_t host) {
        static char group[] = ACCESS_GROUP, *groups[] = {group};
        Argosy__Author author = ARGOSY__AUTHOR__INIT;

        author.host = host;
        author.uid = UINT32_MAX; // no user's
        author.groups = groups;
        author.n_groups = ELEMENTSOF(groups);
        return author;
}

Argosy__Author author_of_token(const Hash *proof) {
        Argosy__Author author = ARGOSY__AUTHOR__INIT;

        author.uid = UINT32_MAX;
        author.token_proof = (ProtobufCBinaryData){HASH_SIZE, (uint8_t *) proof->bytes};
        return author;
}

const char *author_text(const Argosy__Author *author, char buf[AUTHOR_TEXT_SIZE]) {
        if (*author->user)
                return author->user;
        if (author->token_proof.len > 0 || *author->token)
                return "the bearer of a token";
        if (author->uid == UINT32_MAX)
                return "somebody";
        snprintf(buf, AUTHOR_TEXT_SIZE, "uid %u", author->uid);
        return buf;
}

uint64_t author_key(const Argosy__Author *author) {
        char text[sizeof("4294967295:4294967295:") + ACCESS_TOKEN_ID_LEN];

        str_fit(text, sizeof(text), "%" PRIu32 ":%" PRIu32 ":%s", author->host, author->uid, author->token);
        return map_hash(text, strlen(text)) ?: 1;
}
