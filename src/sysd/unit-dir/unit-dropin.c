// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What argosy adds to a unit in a drop-in, by its type: the order behind argosy.target, its slice, and the
// guard of CutOff=stop. A type that is in no row of the table gets nothing. Only memory can lack.

#include <errno.h>

#include "failing-options.h"
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

// Stopped by systemd when the guard fails; and the stop ends when the leader takes it to have ended.
static int append_guard(const FailingOptions *f, Buf *ret) {
        int r = buf_printf(ret, "[Unit]\nBindsTo=argosy-guard@%u.target\nAfter=argosy-guard@%u.target\n",
                           f->cut_off_sec, f->cut_off_sec);

        if (r < 0 || f->stop_timeout_is_given)
                return r;
        return buf_printf(ret, "[Service]\nTimeoutStopSec=%d\n", STOP_TIMEOUT_DEFAULT_SEC);
}

int unit_dropin_text(const char *suffix, const char *slice, const FailingOptions *failing, Buf *ret) {
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
                return r;
        }
        return 0;
}
