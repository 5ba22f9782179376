// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever is typed for somebody who is given a right: it is refused, or names one account, and put together
// again it is what was typed.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "author.h"
#include "macro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *typed, const AccessSubject *s) {
        const char *name = *s->user ? s->user : s->group;
        _cleanup_free_ char *again = malloc(strlen(typed) + 16);

        if (!again || !*s->user == !*s->group || !author_name_is_valid(name) || (*s->group && *s->host))
                abort();
        sprintf(again, "%s:%s%s%s", *s->user ? "user" : "group", name, *s->host ? "@" : "", s->host);
        if (!streq(again, typed)) {
                strcat(again, "@"); // of a user at any host
                if (!streq(again, typed))
                        abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *typed = strndup((const char *) data, size),
                            *word = strndup((const char *) data, size);
        AccessSubject s;

        if (typed && word && access_subject_parse(word, &s))
                check(typed, &s);
        return 0;
}
