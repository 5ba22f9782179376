// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   files in a directory of their own -> systemd-analyze verify ./NAME... -> what it prints -> findings
//
// One run looks at all files, since it costs most to start one. systemd finds the drop-ins of a unit where
// it always does, so the answer is about the unit as this machine would have it. A template is looked at as
// an instance that nobody has; what depends on the instance is not said of it then.

#include "unit-analysis.h"

#include <errno.h>
#include <string.h>

#include "sandboxed-command.h"
#include "str.h"
#include "unit-name.h"

enum { VERSION_MS = 500 };

// A unit that something must be said about: else nobody has looked, whatever the exit status is.
#define CANARY "argosy-canary.service"
static const char canary_content[] = "[Service]\nExecStart=/bin/true\nArgosyCanary=yes\n";

struct UnitAnalysis {
        SandboxedCommand *command;
        const UnitAnalysisFile *files;
        size_t n;
        char **units; // that are looked at, one for each file
        char **args;  // "./UNIT"
};

static void strings_free(char **list, size_t n) {
        for (size_t i = 0; list && i < n; i++)
                free(list[i]);
        free(list);
}

UnitAnalysis *unit_analysis_free(UnitAnalysis *a) {
        if (!a)
                return NULL;
        sandboxed_command_free(a->command);
        strings_free(a->units, a->n);
        strings_free(a->args, a->n);
        free(a);
        return NULL;
}

// web@.service -> web@argosy.service
static char *some_instance(const char *template) {
        const char *at = strchr(template, '@');

        return str_printf("%.*sargosy%s", (int) (at + 1 - template), template, at + 1);
}

static int note_file(UnitAnalysis *a, size_t i) {
        const char *name = a->files[i].name;
        UnitNameKind kind = unit_name_kind(name, NULL);

        if (kind == UNIT_NAME_INVALID || strchr(name, '/'))
                return -EINVAL;
        a->units[i] = kind == UNIT_NAME_TEMPLATE ? some_instance(name) : strdup(name);
        a->args[i] = a->units[i] ? str_printf("./%s", a->units[i]) : NULL;
        return a->args[i] ? 0 : -ENOMEM;
}

static int start(UnitAnalysis *a, bool user) {
        const char *const options[] = {"systemd-analyze", user ? "--user" : "--system",
                                       "--man=no",        "--recursive-errors=no",
                                       "verify",          "--"};
        enum { N_OPTIONS = ELEMENTSOF(options) };
        _cleanup_free_ const char **args = calloc(N_OPTIONS + a->n + 2, sizeof(*args));
        _cleanup_free_ SandboxedFile *files = calloc(a->n + 1, sizeof(*files));

        if (!args || !files)
                return -ENOMEM;
        memcpy(args, options, sizeof(options));
        for (size_t i = 0; i < a->n; i++) {
                args[N_OPTIONS + 1 + i] = a->args[i];
                files[i] = (SandboxedFile){a->files[i].name, a->files[i].content, a->files[i].len};
        }
        args[N_OPTIONS] = "./" CANARY; // the first: what comes behind may be too much
        files[a->n] = (SandboxedFile){CANARY, canary_content, strlen(canary_content)};
        return sandboxed_command_start(&(SandboxedConfig){args, files, a->n + 1, user}, &a->command);
}

int unit_analysis_start(const UnitAnalysisFile *files, size_t n, bool user, UnitAnalysis **ret) {
        _cleanup_(unit_analysis_freep) UnitAnalysis *a = NULL;
        int r = 0;

        if (n > UNIT_ANALYSIS_FILES_MAX)
                return -E2BIG;
        a = calloc(1, sizeof(*a));
        if (!a)
                return -ENOMEM;
        *a = (UnitAnalysis){.files = files,
                            .n = n,
                            .units = calloc(n + 1, sizeof(char *)),
                            .args = calloc(n + 1, sizeof(char *))};
        if (!a->units || !a->args)
                return -ENOMEM;
        for (size_t i = 0; i < n && r == 0; i++)
                r = note_file(a, i);
        if (r == 0)
                r = start(a, user);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(a);
        return 0;
}

// Findings about all files; the last ones are the canary's.
static int read_output(UnitAnalysis *a, const Buf *output, UnitFindings *all) {
        _cleanup_free_ UnitFindingsOf *units = calloc(a->n + 1, sizeof(*units));
        int r;

        if (!units)
                return -ENOMEM;
        for (size_t i = 0; i < a->n; i++)
                units[i] = (UnitFindingsOf){a->units[i], a->files[i].name};
        units[a->n] = (UnitFindingsOf){CANARY, CANARY};
        r = unit_findings_parse(sandboxed_command_dir(a->command), units, a->n + 1,
                                (const char *) output->data, output->len, all);
        return r < 0 ? r : all[a->n].n > 0 ? 0 : -EIO;
}

int unit_analysis_wait(UnitAnalysis *a, unsigned timeout_ms, UnitFindings *rets) {
        _cleanup_free_ UnitFindings *all = calloc(a->n + 1, sizeof(*all));
        _cleanup_buf_ Buf output = {};
        int r = all ? sandboxed_command_wait(a->command, timeout_ms, &output) : -ENOMEM;

        if (r == 0)
                r = read_output(a, &output, all);
        for (size_t i = 0; i < a->n && r == 0; i++) {
                if (unit_name_kind(a->files[i].name, NULL) == UNIT_NAME_TEMPLATE)
                        unit_findings_drop_instance(&all[i], a->files[i].content, a->files[i].len);
                rets[i] = all[i];
                all[i] = (UnitFindings){};
        }
        for (size_t i = 0; all && i <= a->n; i++)
                unit_findings_done(&all[i]);
        return r;
}

int unit_analysis_version(char **ret) {
        static const char *const args[] = {"systemd-analyze", "--version", NULL};
        _cleanup_(sandboxed_command_freep) SandboxedCommand *c = NULL;
        _cleanup_buf_ Buf output = {};
        _cleanup_free_ char *line = NULL;
        char *end;
        int r = sandboxed_command_start(&(SandboxedConfig){.args = args}, &c);

        if (r == 0)
                r = sandboxed_command_wait(c, VERSION_MS, &output);
        if (r < 0)
                return r;
        line = strndup((const char *) output.data, output.len);
        if (!line)
                return -ENOMEM;
        end = strchr(line, ' '); // "systemd 252 (252.39-1~deb12u2)"
        end = end ? end + 1 + strcspn(end + 1, " \n") : line;
        *end = 0;
        *ret = str_printable(line, 64);
        return *ret ? 0 : -ENOMEM;
}
