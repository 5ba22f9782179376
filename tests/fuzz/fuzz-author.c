// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever a host says of who asks: it is refused, or it is somebody of that host, with names that can be
// shown.

#include <stdlib.h>

#include "author.h"
#include "macro.h"
#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *name) {
        if (!*name || strlen(name) > AUTHOR_NAME_MAX || !str_is_plain(name))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Argosy__Author *author = argosy__author__unpack(NULL, size, data);
        char buf[AUTHOR_TEXT_SIZE];

        if (!author)
                return 0;
        if (author_admit(author, 7) == 0) {
                if (author->host != 7 || author->n_groups > AUTHOR_GROUPS_MAX)
                        abort();
                if (*author->token || (author->token_proof.len > 0 &&
                                       (author->token_proof.len != AUTHOR_PROOF_SIZE || *author->user ||
                                        author->owner || author->n_groups > 0 || author->uid != UINT32_MAX)))
                        abort();
                if (*author->user)
                        check_name(author->user);
                for (size_t i = 0; i < author->n_groups; i++)
                        check_name(author->groups[i]);
                check_name(author_text(author, buf));
        }
        argosy__author__free_unpacked(author, NULL);
        return 0;
}
