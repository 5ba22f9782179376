// SPDX-License-Identifier: LGPL-2.1-or-later
//
// version, help, and the hidden verb that gives words to the shells' completion.
// verb_version() asks argosyd, too; without a daemon it prints argosyctl's version only, and does not fail.
// verb_help() -> all, a family or a verb. Failure: EXIT_USAGE for a verb that does not exist.

#include "ctl.h"
#include "fields.h"
#include "help-text.h"
#include "json.h"
#include "message-of.h"
#include "verbs.h"

typedef struct Daemon {
        char version[64];
        uint32_t feature_level;
} Daemon;

static int on_version(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Daemon *d = userdata;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_VERSION)
                return 0;
        snprintf(d->version, sizeof(d->version), "%s", r->version->version);
        d->feature_level = r->version->feature_level;
        return 0;
}

// Prints argosyctl's version also without a daemon, which is no failure.
int verb_version(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__Version version = ARGOSY__REQUEST__VERSION__INIT;
        Argosy__Request request = REQUEST_OF(VERSION, version, &version);
        Daemon d = {};

        ctl->warned_stale = true; // versions do not age
        (void) ctl_ask(ctl, &request, 0, on_version, &d);
        if (ctl->opt.json != JSON_OFF) {
                Json j = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY};

                json_begin(&j, '{');
                json_member_string(&j, "argosyctl", ARGOSY_VERSION);
                json_member_string(&j, "argosyd", d.version);
                json_member_u64(&j, "feature_level", d.feature_level);
                json_end(&j, '}');
                json_finish(&j);
                return EXIT_OK;
        }
        fprintf(ctl->term.out, "argosyctl %s\n", ARGOSY_VERSION);
        if (*d.version)
                fprintf(ctl->term.out, "argosyd %s (feature level %u)\n", d.version, d.feature_level);
        return EXIT_OK;
}

int verb_help(Ctl *ctl, char **args, size_t n) {
        const Verb *v;
        size_t taken;

        if (n == 0) {
                help_all(ctl->term.out, ctl->verbs);
                return EXIT_OK;
        }
        v = verb_list_find(ctl->verbs, args, n, &taken);
        if (!v && n == 1 && verb_list_family(ctl->verbs, args[0])) {
                help_family(ctl->term.out, ctl->verbs, args[0]);
                return EXIT_OK;
        }
        if (!v || taken != n) {
                return ctl_usage(ctl, "unknown verb '%s%s%s'", args[0], n > 1 ? " " : "",
                                 n > 1 ? args[1] : "");
        }
        help_verb(ctl->term.out, v);
        return EXIT_OK;
}

int verb_complete(Ctl *ctl, char **args, size_t n) {
        static const FieldList *const lists[] = {&unit_fields, &unit_file_fields, &node_fields,
                                                 &manager_fields, &job_fields, &top_fields};
        size_t taken;

        if (help_words(ctl->term.out, ctl->verbs, args[0], args + 1, n - 1))
                return EXIT_OK;
        if (n == 2 && streq(args[0], "fields")) {
                const Verb *v = verb_list_find(ctl->verbs, args + 1, 1, &taken);

                for (size_t i = 0; v && i < ELEMENTSOF(lists); i++)
                        if (streq(v->name, lists[i]->verb))
                                fields_words(ctl->term.out, lists[i]);
                return EXIT_OK;
        }
        return EXIT_USAGE;
}
