// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a pull or a question begins -> /run/argosy/secrets/registry/SERVICE, 0600 in a folder of root's ->
//   REGISTRY_AUTH_FILE= of that service -> it ends -> the file goes
//
// No command line, no log and no unit has the value: podman and skopeo read it from the file, which is on
// the ramfs of all secrets and so never on a disk. What an argosyd that has crashed left there goes before
// the first file is written; a service of that one has read its file when it began.
//
// Failures: without the ramfs, without memory or room nothing is asked, and whoever waits hears why.

#include "agent-registry-auth.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent-secrets.h"
#include "fileio.h"
#include "registry-auth.h"
#include "str.h"

#define VARIABLE "REGISTRY_AUTH_FILE="

static int make_folder(Agent *a, char **ret) {
        _cleanup_free_ char *folder = str_printf("%s/registry", a->secrets_dir);

        if (!folder)
                return -ENOMEM;
        if (mkdir(folder, 0700) < 0 && errno != EEXIST)
                return -errno;
        if (!a->images.auth_swept)
                (void) dir_empty(AT_FDCWD, folder);
        a->images.auth_swept = true;
        *ret = TAKE_PTR(folder);
        return 0;
}

static int write_file(Agent *a, const char *unit, const SecretBytes *content, char **ret) {
        _cleanup_free_ char *folder = NULL, *path = NULL;
        int r = make_folder(a, &folder);

        if (r < 0)
                return r;
        path = str_printf("%s/%s", folder, unit);
        *ret = path ? str_printf(VARIABLE "%s", path) : NULL;
        if (!*ret)
                return -ENOMEM;
        r = file_replace(AT_FDCWD, path, content->data, content->len, 0600, 0);
        if (r < 0)
                *ret = agent_registry_auth_drop(*ret);
        return r;
}

int agent_registry_auth_write(Agent *a, const char *unit, const char *image, const SecretBytes *value,
                              char **ret, char why[AGENT_ERROR_MAX]) {
        _cleanup_(secret_bytes_done) SecretBytes content = {};
        int r = agent_secrets_ready(a, why);

        if (r < 0)
                return r;
        r = registry_auth_compose(image, value, &content);
        if (r == 0)
                r = write_file(a, unit, &content, ret);
        if (r == -EINVAL)
                str_fit(why, AGENT_ERROR_MAX, "%s", REGISTRY_AUTH_BAD_TEXT);
        else if (r < 0)
                str_fit(why, AGENT_ERROR_MAX, "its RegistryAuth= cannot be shown to podman: %s",
                        strerror(-r));
        return r;
}

int agent_registry_auth_of_call(const Argosy__ToHost__Call *call, SecretBytes *ret) {
        const Argosy__SecretValue *v = call->registry_auth;
        int r = v && v->value.len > 0 ? secret_bytes_new(v->value.len, ret) : 0;

        if (r == 0 && ret->len > 0)
                memcpy(ret->data, v->value.data, ret->len);
        return r;
}

char *agent_registry_auth_drop(char *environment) {
        if (environment)
                (void) unlink(environment + strlen(VARIABLE));
        free(environment);
        return NULL;
}
