// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a container has by File= and Secret= of [X-Argosy], as lines of [Container].
//
//      content -> its options -> Volume= of /run/argosy/units/NAME and /run/argosy/secrets/units/NAME
//
// The mounts are podman's, inside: a mount namespace around podman would keep it from cleaning up. Users of
// a container are not root, so files are 0444, and secrets, too, in a folder that others can look into only
// from inside, since those above are root's alone. "z" gives SELinux' label for contents of containers,
// where there is SELinux. Specifiers stay: systemd fills them in. Failures: -ENOMEM; a content that cannot
// be parsed has none.

#include <errno.h>
#include <string.h>

#include "file-sources.h"
#include "quadlet.h"
#include "secret-name.h"
#include "unit-file.h"

#define FOLDER CARRIED_FILES_UNITS "/%n"
#define SECRETS SECRET_FILES_UNITS "/%n"
#define INSIDE "/run/credentials/%n"
#define OPTIONS "ro,z"

static int append_files(const UnitFile *file, Buf *ret) {
        int r = buf_printf(ret, "%s",
                           "Volume=" FOLDER ":" FOLDER ":" OPTIONS "\nEnvironment=ARGOSY_FILES=" FOLDER
                           "\n");

        for (size_t i = 0; r == 0 && i < file->n_file_sources; i++) {
                const FileSource *s = &file->file_sources[i];
                size_t len = file_source_bound_len(s);

                if (s->destination)
                        r = buf_printf(ret, "Volume=%s%s%.*s:%s:" OPTIONS "\n", FOLDER, len > 0 ? "/" : "",
                                       (int) len, s->source, s->destination);
        }
        return r;
}

static int append_secrets(Buf *ret) {
        return buf_printf(ret, "%s",
                          "Volume=" SECRETS ":" INSIDE ":" OPTIONS
                          "\nEnvironment=CREDENTIALS_DIRECTORY=" INSIDE "\n");
}

int quadlet_binds(const void *content, size_t len, Buf *ret) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        int r = unit_file_parse("container", content, len, &file, NULL);
        bool secrets = r == 0 && unit_file_has_secrets(file);

        if (r < 0)
                return r == -EINVAL ? 0 : r;
        if (file->n_file_sources == 0 && !secrets)
                return 0;
        r = buf_printf(ret, "%s", "\n\n[Container]\n");
        if (r == 0 && file->n_file_sources > 0)
                r = append_files(file, ret);
        return r == 0 && secrets ? append_secrets(ret) : r;
}
