// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Secret=NAME[:ID]: what a unit gets of the cluster's secrets, and by which name its program finds it.
// Without an id it is called as the secret is. Two of one id would be one file, so they are refused; one
// secret may have two ids.
//
// Only services have them, on a machine's own systemd: credentials of users' managers and of containers are
// readable where root of the machine is not in charge.
#include <errno.h>
#include <string.h>

#include "array.h"
#include "secret-name.h"
#include "str.h"
#include "unit-options-private.h"

static int refuse_name(const RawOption *raw, const char *path, const char *word, char **ret_why) {
        return option_refuse(ret_why, path, raw->line,
                             "Secret=%s is not NAME[:ID], each " SECRET_NAME_RULE, word,
                             SECRET_NAME_MAX);
}

// In the order of the ids, so that files which say the same in another order mean the same.
static int insert(UnitOptions *o, UnitSecret secret) {
        size_t at = 0;

        if (ARRAY_RESERVE(o->secrets, o->n_secrets + 1) < 0)
                return -ENOMEM;
        while (at < o->n_secrets && strcmp(o->secrets[at].id, secret.id) < 0)
                at++;
        memmove(&o->secrets[at + 1], &o->secrets[at], (o->n_secrets++ - at) * sizeof *o->secrets);
        o->secrets[at] = secret;
        return 0;
}

int secrets_add(UnitOptions *o, const RawOption *raw, const char *path, const char *word, char **ret_why) {
        const char *colon = strchr(word, ':');
        _cleanup_free_ char *name = colon ? strndup(word, (size_t) (colon - word)) : strdup(word);
        _cleanup_free_ char *id = strdup(colon ? colon + 1 : word);
        int r;

        if (!name || !id)
                return -ENOMEM;
        if (!secret_name_is_valid(name) || !secret_name_is_valid(id))
                return refuse_name(raw, path, word, ret_why);
        for (size_t i = 0; i < o->n_secrets; i++)
                if (streq(o->secrets[i].id, id))
                        return option_refuse(ret_why, path, raw->line, "two secrets would be called %s", id);
        if (o->n_secrets == SECRETS_PER_UNIT)
                return option_refuse(ret_why, path, raw->line, "a unit may have %d secrets at most",
                                     SECRETS_PER_UNIT);
        r = insert(o, (UnitSecret){.name = name, .id = id, .line = raw->line});
        if (r == 0)
                name = id = NULL;
        return r;
}

int secrets_check(const UnitOptions *o, const char *path, const char *name, char **ret_why) {
        if (o->n_secrets == 0)
                return 0;
        if (!str_has_suffix(name, ".service"))
                return option_refuse(ret_why, path, o->secrets->line, "only services have secrets");
        for (char **m = o->managers; m && *m; m++)
                if (!streq(*m, "system"))
                        return option_refuse(
                                ret_why, path, o->secrets->line,
                                "a unit with secrets runs on machines' own managers only: no Manager=%s",
                                *m);
        return 0;
}

void secrets_done(UnitOptions *o) {
        for (size_t i = 0; i < o->n_secrets; i++) {
                free(o->secrets[i].name);
                free(o->secrets[i].id);
        }
        free(o->secrets);
}
