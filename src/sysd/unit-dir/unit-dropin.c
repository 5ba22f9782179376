// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The text of argosy's drop-in of a unit, by the unit's type: order behind argosy.target, slice,
// CutOff=stop, secrets.
//
//      unit_dropin_secrets() -> LoadCredential= lines -> unit_dropin_text() -> unit-dir-files.c writes it
//
// A type that is in no row of type_rules gets an empty text, and no drop-in. Failure: -ENOMEM.

#include <errno.h>

#include "failing-options.h"
#include "secret-files.h"
#include "unit-file.h"
#include "unit-dropin.h"

typedef struct TypeRule {
        const char *suffix;
        const char *section; // where Slice= belongs; NULL: the type runs no processes
        bool after;          // ordered behind argosy.target, so that it stops before the daemon at shutdown
} TypeRule;

// Sockets, paths, mounts and automounts are by default ordered before sockets.target, paths.target or
// local-fs.target, hence before basic.target and the daemon: ordering them behind argosy.target would close
// a cycle, which systemd breaks at shutdown by dropping jobs.
static const TypeRule type_rules[] = {
        {".service", "Service", true}, {".socket", "Socket", false}, {".mount", "Mount", false},
        {".swap", "Swap", false},      {".timer", NULL, true},       {".target", NULL, true},
};

// systemd stops the unit when its guard target stops, and the stop takes at most as long as the leader
// allows for.
static int append_guard(const FailingOptions *f, Buf *ret) {
        int r = buf_printf(ret, "[Unit]\nBindsTo=argosy-guard@%u.target\nAfter=argosy-guard@%u.target\n",
                           f->cut_off_sec, f->cut_off_sec);

        if (r < 0 || f->stop_timeout_is_given)
                return r;
        return buf_printf(ret, "[Service]\nTimeoutStopSec=%d\n", STOP_TIMEOUT_DEFAULT_SEC);
}

int unit_dropin_secrets(const UnitFile *f, const char *name, char **ret) {
        _cleanup_(unit_options_unrefp) UnitOptions *options = NULL;
        _cleanup_buf_ Buf text = {};
        int r;

        *ret = NULL;
        if (!unit_file_has_secrets(f) || f->made) // a container has them by its own mount (quadlet_binds())
                return 0;
        r = unit_file_expand(f, name, name, &options, NULL);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        for (size_t i = 0; r == 0 && i < options->n_secrets; i++)
                r = buf_printf(&text, "LoadCredential=%s:" SECRET_FILES_DIR "/units/%s/%s\n",
                               options->secrets[i].id, name, options->secrets[i].id);
        if (r == 0 && text.len > 0)
                *ret = buf_take_string(&text);
        return r < 0 || (options->n_secrets > 0 && !*ret) ? -ENOMEM : 0;
}

int unit_dropin_text(const char *suffix, const char *slice, const FailingOptions *failing,
                     const char *secrets, Buf *ret) {
        for (size_t i = 0; i < ELEMENTSOF(type_rules); i++) {
                const TypeRule *t = &type_rules[i];
                int r = 0;

                if (!streq(suffix, t->suffix))
                        continue;
                if (t->after)
                        r = buf_printf(ret, "[Unit]\nAfter=argosy.target\n");
                if (r == 0 && slice && t->section)
                        r = buf_printf(ret, "[%s]\nSlice=%s\n", t->section, slice);
                if (r == 0 && failing && failing->cut_off_stop)
                        r = append_guard(failing, ret);
                if (r == 0 && secrets)
                        r = buf_printf(ret, "[Service]\n%s", secrets);
                return r;
        }
        return 0;
}
