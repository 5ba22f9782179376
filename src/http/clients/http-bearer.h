// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A client over TCP identifies itself by a token: text that is shown to its owner once and that argosy does
// not keep. What goes on from here is its proof, the SHA-256 of the text, and the log has the SHA-256 of the
// proof. Pure; a client's bytes.

#include <stdbool.h>

#include "access-token.h"

#define HTTP_COOKIE \
        "__Host-argosy" // RFC 6265bis: over TLS alone, from this host alone, for all of its paths

enum {
        HTTP_SECRET_CHARS = ACCESS_TOKEN_SECRET_LEN, // the id of a session is made as the secret of a token
        HTTP_SECRET_SIZE = HTTP_SECRET_CHARS + 1,
};

// The proof of the token in a header Authorization: "Bearer argosy_...". False: there is none.
bool http_bearer_proof(const char *authorization, Hash *ret);
// The id of a session in a header Cookie. False: there is none, or more than one.
bool http_cookie_find(const char *cookie, char ret[HTTP_SECRET_SIZE]);
// Whether somebody has put a token into the query of a target, where logs and histories of others find it.
bool http_target_has_token(const char *text);
