// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Who asks for something: a user of one host with its groups, by their names (message Author). Only the
// daemon of that host can attest it (api/author-names.c): what a host says of its users is believed as
// `user@that host`, whatever else stands in the message. Or a program that shows a token (access-token.h),
// of which the host says no more than the proof; which token that is, the leader finds out. Pure.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "hash.h"

// The group of the local socket, among the system's accounts (data/argosy.sysusers): in a new cluster its
// members have all rights.
#define ACCESS_GROUP "argosy"

enum {
        AUTHOR_NAME_MAX = 255,     // bytes of the name of a user or a group
        AUTHOR_GROUPS_MAX = 1024,  // that one user is in
        AUTHOR_GROUPS_BYTES = 32 * 1024, // of all their names: each request that is forwarded carries them
        AUTHOR_PROOF_SIZE = HASH_SIZE,   // of a token: SHA-256 of its text
};

// Before the name of a token, where users have theirs: "token:ci". No user of a host is called so.
#define AUTHOR_TOKEN_PREFIX "token:"

// A name that an account may have, and that can be shown: 1 to AUTHOR_NAME_MAX bytes, plain
// (str_is_plain()).
bool author_name_is_valid(const char *name);
// What a host said of its own user, or of a token that it was shown, from now on the word of that host:
// `host` is put in. -EINVAL: it has names that no account has, or more than there may be; or a proof that is
// none, or besides a user; nobody is to go by it then.
int author_admit(Argosy__Author *author, uint32_t host) __attribute__((warn_unused_result));
// The daemon of `host` itself, and root there.
Argosy__Author author_of_host(uint32_t host);
// The daemon of `host` itself, where a user may run it: `user`, which is borrowed; one that is no name does
// not count, NULL is root.
Argosy__Author author_of_daemon(uint32_t host, uint32_t uid, const char *user);
// Somebody of a host that does not say who: root, or a member of the group of its socket (ACCESS_GROUP).
Argosy__Author author_unattested(uint32_t host);
// An author that has shown a token with this proof, which is borrowed.
Argosy__Author author_of_token(const Hash *proof);
// The same for all requests of one user of a host, or of one token, while this process lives; never 0. As a
// value 0 stands for no author.
uint64_t author_key(const Argosy__Author *author);
// For people: "alice", "token:ci", or "uid 1234"; in `buf` if need be.
enum { AUTHOR_TEXT_SIZE = AUTHOR_NAME_MAX + 1 };
const char *author_text(const Argosy__Author *author, char buf[AUTHOR_TEXT_SIZE]);
