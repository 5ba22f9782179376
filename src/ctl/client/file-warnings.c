// SPDX-License-Identifier: LGPL-2.1-or-later
//
// begin: systemd-analyze runs beside us -> the verb's own work -> end: its findings, one warning each. Of a
// container's file (quadlet.h) systemd knows nothing: what is worth a warning in it is said at once.
//
// Programs that are missing are not among them: they may be there where the unit comes to run. Where there
// is no systemd-analyze, or it fails, nothing is said. Beside a start, which takes longer, it has mostly
// ended; on a machine under load it is waited for behind the verb's own work, WAIT_MS at most, and that it
// has not answered then is said: else who sees no warning takes the files for clean.

#include "file-warnings.h"

#include <errno.h>

#include "array.h"
#include "ctl.h"
#include "quadlet.h"
#include "str.h"
#include "terminal.h"
#include "unit-analysis.h"
#include "unit-args.h"
#include "unit-file.h"
#include "unit-parts.h"

enum {
        WAIT_MS = 2000,
        WARNINGS_SHOWN = 20,
};

struct FileWarnings {
        UnitAnalysis *analysis;
        UnitAnalysisFile *files;
        char **paths;
        size_t n;
};

static FileWarnings *warnings_free(FileWarnings *w) {
        unit_analysis_free(w->analysis);
        for (size_t i = 0; w->paths && i < w->n; i++)
                free(w->paths[i]);
        free(w->paths);
        free(w->files);
        free(w);
        return NULL;
}

static void print(Ctl *ctl, const char *path, const UnitAnalysisFile *file, const UnitFinding *f) {
        _cleanup_free_ char *place = NULL;
        unsigned line = 0;
        UnitPart part = {};

        if (f->line > 0) {
                unit_parts_locate(file->content, file->len, f->line, &part, &line);
                place = unit_part_path(&part, path);
        }
        if (place)
                ctl_warn(ctl, "%s:%u: %s", place, line, f->text);
        else
                ctl_warn(ctl, "%s: %s", path, f->text);
}

typedef struct ContainerWarnings {
        Ctl *ctl;
        const HandedFile *file;
} ContainerWarnings;

static int on_container_warning(unsigned line, const char *text, void *userdata) {
        const ContainerWarnings *w = userdata;
        const UnitAnalysisFile file = {w->file->name, w->file->content, w->file->len};

        print(w->ctl, w->file->path, &file, &(UnitFinding){.line = line, .text = (char *) text});
        return 0;
}

// False: out of memory.
static bool warn_of_container(Ctl *ctl, const HandedFile *file) {
        ContainerWarnings w = {ctl, file};

        return quadlet_warnings(file->content, file->len, on_container_warning, &w) >= 0;
}

// ------------------------------------------------------------------------------------------------ networks

typedef struct NetworkUser {
        const HandedFile *file;
        char *network;
} NetworkUser;

typedef struct NetworkUsers { // that may be on different nodes
        NetworkUser *list;
        size_t n, allocated;
        const HandedFile *file; // that is looked at
} NetworkUsers;

static void network_users_done(NetworkUsers *u) {
        for (size_t i = 0; i < u->n; i++)
                free(u->list[i].network);
        free(u->list);
}

static int note_network(const char *file, void *userdata) {
        NetworkUsers *u = userdata;
        char *network = str_has_suffix(file, QUADLET_NETWORK) ? strdup(file) : NULL;

        if (!str_has_suffix(file, QUADLET_NETWORK))
                return 0;
        if (!network || ARRAY_GROW(u->list, u->allocated, u->n + 1) < 0) {
                free(network);
                return -ENOMEM;
        }
        u->list[u->n++] = (NetworkUser){u->file, network};
        return 0;
}

// Whether it is where another unit is.
static bool follows(const HandedFile *f) {
        _cleanup_(unit_options_unrefp) UnitOptions *options = NULL;
        _cleanup_(unit_file_freep) UnitFile *file = NULL;

        return unit_file_parse(f->path, f->content, f->len, &file, NULL) < 0 ||
               unit_file_expand(file, f->path, f->name, &options, NULL) < 0 || options->same_node;
}

static void warn_of_network(Ctl *ctl, const NetworkUser *user, const NetworkUser *first) {
        ctl_warn(ctl,
                 "%s: %s is a network of each node: beside %s, which has it too, it is sure to be only with "
                 "MachineOf= in [X-Argosy]",
                 user->file->path, user->network, first->file->path);
}

void file_warnings_networks(Ctl *ctl, const HandedFile *files, size_t n) {
        _cleanup_(network_users_done) NetworkUsers u = {};

        for (size_t i = 0; i < n; i++) {
                u.file = &files[i];
                if (!quadlet_may_have_beside(files[i].content, files[i].len) || follows(&files[i]))
                        continue;
                if (quadlet_beside_each(files[i].content, files[i].len, note_network, &u) < 0)
                        return;
        }
        for (size_t i = 0; i < u.n; i++)
                for (size_t k = 0; k < i; k++)
                        if (streq(u.list[i].network, u.list[k].network)) {
                                warn_of_network(ctl, &u.list[i], &u.list[k]);
                                break;
                        }
}

FileWarnings *file_warnings_begin(Ctl *ctl, const HandedFile *files, size_t n) {
        FileWarnings *w;
        bool complete;

        if (n == 0 || ctl->opt.given[OPT_QUIET])
                return NULL;
        file_warnings_networks(ctl, files, n);
        w = calloc(1, sizeof(*w));
        if (!w)
                return NULL;
        w->files = calloc(n, sizeof(*w->files));
        w->paths = calloc(n, sizeof(*w->paths));
        complete = w->files && w->paths;
        for (size_t i = 0; i < n && complete && w->n < UNIT_ANALYSIS_FILES_MAX; i++) {
                if (quadlet_is(files[i].content, files[i].len)) {
                        complete = warn_of_container(ctl, &files[i]);
                        continue;
                }
                w->files[w->n] = (UnitAnalysisFile){files[i].name, files[i].content, files[i].len};
                w->paths[w->n] = strdup(files[i].path);
                complete = w->paths[w->n++];
        }
        if (complete && w->n > 0 &&
            unit_analysis_start(w->files, w->n, ctl->opt.given[OPT_USER], &w->analysis) == 0)
                return w;
        return warnings_free(w);
}

FileWarnings *file_warnings_begin_args(Ctl *ctl, const UnitArgs *a) {
        _cleanup_free_ UnitArgsPair *pairs = NULL;
        _cleanup_free_ HandedFile *files = NULL;
        size_t n;

        if (unit_args_with_files(a, &pairs, &n) < 0)
                return NULL;
        files = calloc(n + 1, sizeof(*files));
        for (size_t i = 0; files && i < n; i++)
                files[i] = (HandedFile){pairs[i].name, pairs[i].file->path, pairs[i].file->content.data,
                                        pairs[i].file->content.len};
        return files ? file_warnings_begin(ctl, files, n) : NULL;
}

static void print_all(Ctl *ctl, const FileWarnings *w, const UnitFindings *findings) {
        size_t n = 0;

        progress_clear(&ctl->term);
        for (size_t i = 0; i < w->n; i++)
                for (size_t k = 0; k < findings[i].n; k++) {
                        if (findings[i].list[k].kind == UNIT_FINDING_MISSING)
                                continue;
                        if (n++ < WARNINGS_SHOWN)
                                print(ctl, w->paths[i], &w->files[i], &findings[i].list[k]);
                }
        if (n > WARNINGS_SHOWN)
                ctl_warn(ctl, "there are %zu more; argosyctl verify prints all of them", n - WARNINGS_SHOWN);
}

void file_warnings_end(Ctl *ctl, FileWarnings *w) {
        UnitFindings *findings;
        int r;

        if (!w)
                return;
        findings = calloc(w->n, sizeof(*findings));
        r = findings ? unit_analysis_wait(w->analysis, WAIT_MS, findings) : -ENOMEM;
        if (r == 0)
                print_all(ctl, w, findings);
        else if (r == -ETIMEDOUT)
                ctl_warn(ctl, "which lines systemd ignores is not known: systemd-analyze has not answered "
                              "in time; "
                              "`argosyctl verify` asks again");
        for (size_t i = 0; findings && i < w->n; i++)
                unit_findings_done(&findings[i]);
        free(findings);
        warnings_free(w);
}
