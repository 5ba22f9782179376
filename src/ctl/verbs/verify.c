// SPDX-License-Identifier: LGPL-2.1-or-later
//
// verify: what can be known of unit files before anything runs.
//
//      1. argosy's own options, and what argosy.set says, are read as `apply` and `start` read them
//      2. systemd is asked: that of each node through argosyd, or, where there is none or with --local, this
//      machine's
//      3. what was found is printed, once, with the nodes that say so if others do not
//
// Nothing of it reaches the log, and PID 1 hears of none of the names. That systemd could not be asked is
// never taken for "all is well": it has an exit status of its own.

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "carried-files.h"
#include "clock.h"
#include "ctl.h"
#include "file-analysis.h"
#include "file-warnings.h"
#include "json.h"
#include "message-of.h"
#include "quadlet.h"
#include "str.h"
#include "unit-analysis.h"
#include "unit-args.h"
#include "unit-file.h"
#include "unit-folder.h"
#include "unit-install.h"
#include "unit-name.h"
#include "unit-parts.h"
#include "verbs.h"

enum {
        LOCAL_MS = 20000,      // of one run of systemd-analyze
        FOLDERS_MAX = 64,
        ASK_FILES_MAX = 32,         // in one question to the nodes,
        ASK_BYTES_MAX = 768 * 1024, // which takes no more
};

typedef enum Severity { SEVERITY_WARNING, SEVERITY_ERROR } Severity;

typedef struct VerifyFile {
        const char *name; // that it is looked at as
        const char *path;
        const Buf *content;
} VerifyFile;

typedef struct Row {
        char *path; // NULL: about none
        unsigned line;
        Severity severity;
        bool systemd; // systemd says it, and not argosy
        char *text;
        Buf nodes; // that say so, separated by commas
        size_t n_nodes;
} Row;

typedef struct Verify {
        Ctl *ctl;
        UnitArgs args;
        UnitFolder folders[FOLDERS_MAX];
        size_t n_folders;
        VerifyFile *files;
        size_t n_files, files_allocated;
        Row *rows;
        size_t n_rows, rows_allocated;
        size_t n_nodes, n_missed; // that have answered about all files; that could not
        size_t at, n_asked; // of the question that is under way: its first file, and how many
        size_t n_replies;   // to it, good or not
        uint32_t n_nodes_there;
        bool refused; // the question
        bool failed;  // for want of memory
} Verify;

static void verify_done(Verify *v) {
        unit_args_done(&v->args);
        for (size_t i = 0; i < v->n_folders; i++)
                unit_folder_done(&v->folders[i]);
        for (size_t i = 0; i < v->n_rows; i++) {
                free(v->rows[i].path);
                free(v->rows[i].text);
                buf_done(&v->rows[i].nodes);
        }
        free(v->rows);
        free(v->files);
}

// ---- rows

static bool is_row(const Row *r, const char *path, unsigned line, const char *text) {
        return r->line == line && streq(r->text, text) && streq(r->path ?: "", path ?: "");
}

static Row *find_row(Verify *v, const char *path, unsigned line, const char *text) {
        for (size_t i = 0; i < v->n_rows; i++)
                if (is_row(&v->rows[i], path, line, text))
                        return &v->rows[i];
        return NULL;
}

static int add_row(Verify *v, const char *path, unsigned line, Severity severity, bool systemd,
                   const char *text, Row **ret) {
        Row *row = find_row(v, path, line, text);
        int r;

        if (!row) {
                r = ARRAY_GROW(v->rows, v->rows_allocated, v->n_rows + 1);
                if (r < 0)
                        return r;
                row = &v->rows[v->n_rows];
                *row = (Row){.path = path ? strdup(path) : NULL,
                             .line = line,
                             .severity = severity,
                             .systemd = systemd,
                             .text = strdup(text)};
                if (!row->text || (path && !row->path)) {
                        free(row->path);
                        free(row->text);
                        return -ENOMEM;
                }
                v->n_rows++;
        }
        row->severity = MAX_OF(row->severity, severity);
        if (ret)
                *ret = row;
        return 0;
}

// "PATH:LINE: TEXT", as all that read unit files say it; else a sentence.
static int add_sentence(Verify *v, Severity severity, const char *sentence) {
        for (const char *p = strchr(sentence, ':'); p; p = strchr(p + 1, ':')) {
                _cleanup_free_ char *path = NULL;
                unsigned long line;
                char *end;

                if (p[1] < '0' || p[1] > '9')
                        continue;
                line = strtoul(p + 1, &end, 10);
                if (strncmp(end, ": ", 2) != 0)
                        continue;
                path = strndup(sentence, (size_t) (p - sentence));
                return path ? add_row(v, path, (unsigned) line, severity, false, end + 2, NULL) : -ENOMEM;
        }
        return add_row(v, NULL, 0, severity, false, sentence, NULL);
}

// A line for each word of [Install] that argosy leaves out.
static int add_ignored(Verify *v, const char *path, const Buf *content, char *ignored) {
        int r = 0;

        for (char *line = ignored, *next; line && r == 0; line = next) {
                _cleanup_free_ char *sentence = NULL;

                next = strstr(line, ";\n");
                if (next) {
                        *next = 0;
                        next += 2;
                }
                sentence = strdup(line);
                r = sentence ? unit_parts_place(path, content->data, content->len, &sentence) : -ENOMEM;
                if (r == 0)
                        r = add_sentence(v, SEVERITY_WARNING, sentence);
        }
        return r;
}

static void on_problem(const char *sentence, void *userdata) {
        Verify *v = userdata;

        v->failed |= add_sentence(v, SEVERITY_ERROR, sentence) < 0;
}

// ---- files

static int add_file(Verify *v, const char *name, const char *path, const Buf *content) {
        int r = ARRAY_GROW(v->files, v->files_allocated, v->n_files + 1);

        if (r == 0)
                v->files[v->n_files++] = (VerifyFile){name, path, content};
        return r;
}

static int add_folder(Verify *v, const char *path) {
        UnitFolder *folder = &v->folders[v->n_folders];
        _cleanup_(map_done) Map noted = {};
        _cleanup_buf_ Buf why = {};
        int r;

        if (v->n_folders == FOLDERS_MAX)
                return ctl_usage(v->ctl, "more than %d folders; use several commands", FOLDERS_MAX);
        v->n_folders++;
        folder->problem = on_problem;
        folder->problem_data = v;
        r = unit_folder_read(path, folder, &why);
        if (r < 0)
                return why.len > 0 && r != -ENOMEM
                               ? ctl_fail(v->ctl, "%.*s", (int) why.len, (const char *) why.data)
                               : ctl_oom(v->ctl);
        ctl_warn_ignored(v->ctl, path, folder->ignored, folder->n_ignored);
        for (size_t i = 0; i < folder->n_units && r >= 0; i++) {
                const UnitFolderUnit *u = &folder->units[i];

                // what is empty, or could not be read, was said
                if (!u->brought && u->file->content.len > 0 &&
                    map_add_str(&noted, u->file->name, (void *) u) == 0)
                        r = add_file(v, u->name, u->file->path, &u->file->content);
        }
        return r < 0 ? ctl_oom(v->ctl) : EXIT_OK;
}

static int add_word(Verify *v, const char *word) {
        _cleanup_buf_ Buf why = {};
        struct stat st;
        int r;

        if (stat(word, &st) == 0 && S_ISDIR(st.st_mode))
                return add_folder(v, word);
        r = unit_args_add(&v->args, word, UNIT_ARGS_READ_FILES, AT_FDCWD, &why);
        return r < 0 ? ctl_bad_word(v->ctl, r, &why) : EXIT_OK;
}

// For this verb a unit's name means its file.
static int add_files_of_words(Verify *v) {
        _cleanup_free_ UnitArgsPair *pairs = NULL;
        size_t n;
        int r = unit_args_with_files(&v->args, &pairs, &n);

        ctl_warn_ignored(v->ctl, "", v->args.shared, v->args.n_shared);
        for (size_t i = 0; i < v->args.n_names && r >= 0; i++)
                if (!map_find_str(&v->args.files_by_unit, v->args.names[i]))
                        return ctl_fail(v->ctl,
                                        access(v->args.names[i], F_OK) == 0 ? "%s is not a regular file"
                                                                            : "there is no file of %s here",
                                        v->args.names[i]);
        for (size_t i = 0; i < n && r >= 0; i++)
                r = add_file(v, pairs[i].name, pairs[i].file->path, &pairs[i].file->content);
        return r < 0 ? ctl_oom(v->ctl) : EXIT_OK;
}

static int read_files(Verify *v, char **words, size_t n) {
        int code = EXIT_OK;

        for (size_t i = 0; i < n && code == EXIT_OK; i++)
                code = add_word(v, words[i]);
        if (code == EXIT_OK)
                code = add_files_of_words(v);
        if (code == EXIT_OK && v->n_files == 0 && v->n_rows == 0)
                return ctl_fail(v->ctl, "there is no unit file");
        return v->failed ? ctl_oom(v->ctl) : code;
}

// ---- what argosy says

// As the leader reads them, one after the other: the first that is wrong is said.
static int judge_options(const VerifyFile *f, const Buf *content, char **ret_ignored, char **ret_why) {
        _cleanup_(unit_options_unrefp) UnitOptions *options = NULL;
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        UnitInstall install;
        int r = unit_file_parse(f->path, content->data, content->len, &file, ret_why);

        if (r == 0)
                r = unit_file_check_sections(f->path, content->data, content->len, ret_why);
        if (r == 0)
                r = carried_files_check(f->path, f->name, content->data, content->len, file, ret_why);
        if (r == 0)
                r = unit_file_expand(file, f->path, f->name, &options, ret_why);
        if (r < 0)
                return r;
        r = unit_install_expand(file, f->path, f->name, &install, ret_why);
        if (r < 0)
                return r;
        *ret_ignored = TAKE_PTR(install.ignored);
        unit_install_done(&install);
        return 0;
}

static int read_options(const VerifyFile *f, const Buf *content, char **ret_ignored, char **ret_why) {
        int r = judge_options(f, content, ret_ignored, ret_why);

        return r == -EINVAL && unit_parts_place(f->path, content->data, content->len, ret_why) < 0 ? -ENOMEM
                                                                                                   : r;
}

// Makes a line a comment, with those that continue it. False: there is no such line, or it is one already.
static bool take_out(Buf *content, unsigned number) {
        char *at = (char *) content->data, *end = at + content->len;
        bool goes_on = false;

        for (unsigned line = 1; at < end && line < number; line++) {
                char *next = memchr(at, '\n', (size_t) (end - at));

                at = next ? next + 1 : end;
        }
        if (at == end || *at == '#' || *at == '\n')
                return false;
        do {
                char *next = memchr(at, '\n', (size_t) (end - at)) ?: end;

                goes_on = next > at && next[-1] == '\\';
                if (next > at)
                        *at = '#';
                if (goes_on)
                        next[-1] = ' ';
                at = next < end ? next + 1 : end;
        } while (goes_on && at < end);
        return true;
}

enum { ERRORS_MAX = 100 }; // of one file

// What stands behind a line that is wrong is looked at without that line.
static int ask_argosy_about(Verify *v, const VerifyFile *f) {
        _cleanup_buf_ Buf content = {};
        int r = buf_append(&content, f->content->data, f->content->len);

        for (unsigned n = 0; r == 0 && n < ERRORS_MAX; n++) {
                _cleanup_free_ char *why = NULL, *ignored = NULL;

                r = read_options(f, &content, &ignored, &why);
                if (r != -EINVAL || !why)
                        return r == 0 && ignored ? add_ignored(v, f->path, &content, ignored) : r;
                r = add_sentence(v, SEVERITY_ERROR, why);
                if (!take_out(&content, unit_parts_line_of(f->path, content.data, content.len, why)))
                        break;
        }
        return r;
}

static int ask_argosy(Verify *v) {
        for (size_t i = 0; i < v->n_files; i++) {
                const VerifyFile *f = &v->files[i];
                const char *why = unit_name_reserved(f->name);
                int r = ask_argosy_about(v, f);

                if (r == 0 && why)
                        r = add_row(v, f->path, 0, SEVERITY_ERROR, false, why, NULL);
                if (r < 0)
                        return ctl_oom(v->ctl);
        }
        return EXIT_OK;
}

// ---- what systemd says

static int add_finding(Verify *v, const VerifyFile *f, unsigned line, UnitFindingKind kind, const char *text,
                       const char *node) {
        _cleanup_free_ char *path = NULL;
        UnitPart part = {};
        Row *row;
        int r;

        if (line > 0)
                unit_parts_locate(f->content->data, f->content->len, line, &part, &line);
        path = unit_part_path(&part, f->path);
        r = path ? 0 : -ENOMEM;
        if (r == 0)
                r = add_row(v, path, line, kind == UNIT_FINDING_REFUSED ? SEVERITY_ERROR : SEVERITY_WARNING,
                            true, text, &row);
        if (r == 0 && node) {
                row->n_nodes++;
                r = buf_printf(&row->nodes, "%s%s", row->nodes.len > 0 ? ", " : "", node);
        }
        return r;
}

static int take_local(Verify *v, const UnitAnalysisFile *files, const UnitFindings *findings, size_t at,
                      size_t n) {
        int r = 0;

        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < findings[i].n && r == 0; k++) {
                        const UnitFinding *f = &findings[i].list[k];

                        // a program may be on nodes
                        if (f->kind != UNIT_FINDING_MISSING || quadlet_is(files[i].content, files[i].len))
                                r = add_finding(v, &v->files[at + i], f->line, f->kind, f->text, NULL);
                }
        return r;
}

static int ask_local_about(Verify *v, size_t at, size_t n) {
        _cleanup_free_ UnitAnalysisFile *files = calloc(n, sizeof(*files));
        _cleanup_free_ UnitFindings *findings = calloc(n, sizeof(*findings));
        _cleanup_free_ Buf *made = calloc(n, sizeof(*made));
        int r = files && findings && made ? 0 : -ENOMEM;

        for (size_t i = 0; i < n && r == 0; i++)
                files[i] = (UnitAnalysisFile){v->files[at + i].name, v->files[at + i].content->data,
                                              v->files[at + i].content->len};
        if (r == 0)
                r = file_analysis(files, n, v->ctl->opt.given[OPT_USER], LOCAL_MS, findings, made);
        if (r == 0)
                r = take_local(v, files, findings, at, n);
        for (size_t i = 0; findings && i < n; i++)
                unit_findings_done(&findings[i]);
        for (size_t i = 0; made && i < n; i++)
                buf_done(&made[i]);
        return r;
}

// EXIT_UNKNOWN: it could not be asked.
static int ask_local(Verify *v) {
        int r = 0;

        for (size_t at = 0; at < v->n_files && r == 0; at += UNIT_ANALYSIS_FILES_MAX)
                r = ask_local_about(v, at, MIN_OF(v->n_files - at, (size_t) UNIT_ANALYSIS_FILES_MAX));
        if (r == 0)
                return EXIT_OK;
        if (r == -ENOMEM)
                return ctl_oom(v->ctl);
        if (r == -ENOENT)
                ctl_fail(v->ctl,
                         "there is no systemd-analyze here: only argosy's own options were looked at");
        else
                ctl_fail(v->ctl, "systemd-analyze %s: only argosy's own options were looked at",
                         r == -ETIMEDOUT ? "did not end in time" : r == -EIO ? "failed" : strerror(-r));
        return EXIT_UNKNOWN;
}

static int take_node(Verify *v, const Argosy__Response__Verify *m) {
        int r = 0;

        v->n_nodes += v->at == 0;
        v->n_nodes_there = MAX_OF(v->n_nodes_there, m->nodes);
        for (size_t i = 0; i < m->n_files && i < v->n_asked; i++)
                for (size_t k = 0; k < m->files[i]->n_findings && r == 0; k++) {
                        const Argosy__Response__Finding *f = m->files[i]->findings[k];

                        r = add_finding(v, &v->files[v->at + i], f->line, (UnitFindingKind) f->kind, f->text,
                                        m->node);
                }
        return r;
}

static int on_verify(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Verify *v = userdata;

        if (r->what_case == ARGOSY__RESPONSE__WHAT_VERIFY) {
                v->n_replies++;
                return take_node(v, r->verify);
        }
        if (r->status == 0)
                return 0;
        v->n_replies++;
        if (r->status == ENOENT || r->status == EACCES || r->status == EINVAL) { // the question itself
                ctl_fail(ctl, "%s", status_text(r->status, r->message));
                v->refused = true;
                return 0;
        }
        if (v->at == 0)
                ctl_warn(ctl, "not all is checked: %s", status_text(r->status, r->message));
        v->n_missed++;
        return 0;
}

// As many files as one question takes, from `at` on.
static size_t n_of_question(const Verify *v, size_t at) {
        size_t n = 0, bytes = 0;

        while (at + n < v->n_files && n < ASK_FILES_MAX &&
               bytes + v->files[at + n].content->len <= ASK_BYTES_MAX)
                bytes += v->files[at + n++].content->len;
        return n;
}

static int ask_nodes_about(Verify *v, size_t at, size_t n) {
        Argosy__Request__Verify m = ARGOSY__REQUEST__VERIFY__INIT;
        Argosy__Request request = REQUEST_OF(VERIFY, verify, &m);
        Argosy__NamedFile files[ASK_FILES_MAX], *pointers[ASK_FILES_MAX];

        for (size_t i = 0; i < n; i++) {
                const VerifyFile *f = &v->files[at + i];

                pointers[i] = &files[i];
                argosy__named_file__init(&files[i]);
                files[i].name = (char *) f->name;
                files[i].content = (ProtobufCBinaryData){.data = f->content->data, .len = f->content->len};
        }
        m.files = pointers;
        m.n_files = n;
        m.node = (char *) (v->ctl->opt.node ?: "");
        v->at = at;
        v->n_asked = n;
        v->n_replies = 0;
        return ctl_call(v->ctl, &request, 0, on_verify, v);
}

// EXIT_UNKNOWN: not all of them could be asked. *ret_absent: there is no argosyd.
static int ask_nodes(Verify *v, bool *ret_absent) {
        int r = 0;

        for (size_t at = 0, n; at < v->n_files && r == 0 && !v->refused; at += n) {
                n = n_of_question(v, at);
                r = ask_nodes_about(v, at, n);
        }
        if (r == -ENOMEM)
                return ctl_oom(v->ctl);
        if (v->refused)
                return EXIT_FAILED;
        *ret_absent = r < 0 && v->at == 0 && v->n_replies == 0;
        if (r < 0 && !*ret_absent)
                ctl_warn(v->ctl, "%s", v->ctl->client.why);
        if (v->n_nodes_there > v->n_nodes + v->n_missed && v->n_missed == 0)
                ctl_warn(v->ctl, "%zu of %u nodes were asked; --node asks another one", v->n_nodes,
                         v->n_nodes_there);
        return r < 0 || v->n_missed > 0 || v->n_nodes == 0 ? EXIT_UNKNOWN : EXIT_OK;
}

// ---- what the cluster has of secrets

typedef struct KnownSecrets {
        char **names; // and NULL
        size_t n;
        bool reported; // by a user that may see them
} KnownSecrets;

static int on_secrets(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        KnownSecrets *known = userdata;

        known->reported |= r->status == 0 && r->final;
        for (size_t i = 0; r->what_case == ARGOSY__RESPONSE__WHAT_SECRETS && i < r->secrets->n_rows; i++) {
                if (ARRAY_RESERVE(known->names, known->n + 2) < 0)
                        return -ENOMEM;
                known->names[known->n] = strdup(r->secrets->rows[i]->name);
                if (!known->names[known->n])
                        return -ENOMEM;
                known->names[++known->n] = NULL;
        }
        return 0;
}

static bool knows_secret(const KnownSecrets *known, const char *name) {
        for (size_t i = 0; i < known->n; i++)
                if (streq(known->names[i], name))
                        return true;
        return false;
}

// Whether the finding is about a file that an instance names.
static bool is_of_instance(const VerifyFile *f, unsigned number) {
        const char *at = (const char *) f->content->data, *end = at + f->content->len;

        if (unit_name_kind(f->name, NULL) != UNIT_NAME_TEMPLATE)
                return false;
        for (unsigned line = 1; at < end && line < number; line++) {
                const char *next = memchr(at, '\n', (size_t) (end - at));

                at = next ? next + 1 : end;
        }
        return at < end && memchr(at, '%', strcspn(at, "\n"));
}

static UnitOptions *options_of(const VerifyFile *f) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        _cleanup_free_ char *why = NULL, *more = NULL;
        UnitOptions *options = NULL;

        if (unit_file_parse(f->path, f->content->data, f->content->len, &file, &why) < 0 ||
            !unit_file_has_secrets(file) || unit_file_expand(file, f->path, f->name, &options, &more) < 0)
                return NULL; // it names none, or that was said
        return options;
}

static int warn_of_missing(Verify *v, const VerifyFile *f, const UnitOptions *options,
                           const KnownSecrets *known) {
        int r = 0;

        for (size_t i = 0; i < options->n_secrets && r == 0; i++) {
                const UnitSecret *secret = &options->secrets[i];
                _cleanup_free_ char *text = NULL;

                if (knows_secret(known, secret->name) || is_of_instance(f, secret->line))
                        continue;
                text = str_printf(
                        "%s:%u: Secret=%s: there is no such secret; `argosyctl secret set %s` makes it",
                        f->path, secret->line, secret->name, secret->name);
                r = text ? unit_parts_place(f->path, f->content->data, f->content->len, &text) : -ENOMEM;
                if (r == 0)
                        r = add_sentence(v, SEVERITY_WARNING, text);
        }
        return r;
}

// What a unit starts with may be made after its file; so it is no error. Nobody is told who may not list
// secrets.
static int ask_secrets(Verify *v) {
        Argosy__Request__SecretList list = ARGOSY__REQUEST__SECRET_LIST__INIT;
        Argosy__Request request = REQUEST_OF(SECRET_LIST, secret_list, &list);
        KnownSecrets known = {};
        bool asked = false;
        int r = 0;

        for (size_t i = 0; i < v->n_files && r == 0; i++) {
                _cleanup_(unit_options_unrefp) UnitOptions *options = options_of(&v->files[i]);

                if (!options)
                        continue;
                if (!asked)
                        r = ctl_call(v->ctl, &request, 0, on_secrets, &known);
                asked = true;
                if (r == 0 && known.reported)
                        r = warn_of_missing(v, &v->files[i], options, &known);
        }
        strv_free(known.names);
        return r == -ENOMEM ? ctl_oom(v->ctl) : EXIT_OK;
}

static int ask_systemd(Verify *v) {
        const bool *given = v->ctl->opt.given;
        bool absent = false;
        int code;

        if (given[OPT_LOCAL])
                return ask_local(v);
        code = ask_nodes(v, &absent);
        if (!absent && code != EXIT_FAILED && ask_secrets(v) != EXIT_OK)
                return EXIT_FAILED;
        if (!absent || code == EXIT_FAILED)
                return code;
        if (given[OPT_NODE])
                return ctl_fail(v->ctl, "%s", v->ctl->client.why);
        ctl_warn(v->ctl, "%s: this machine's systemd is asked instead of the nodes'", v->ctl->client.why);
        return ask_local(v);
}

// ---- the end

static void print_row(const Verify *v, const Row *row) {
        const char *severity = row->severity == SEVERITY_ERROR ? "error" : "warning";
        _cleanup_free_ char *nodes =
                row->n_nodes > 0 && row->n_nodes < v->n_nodes
                        ? str_printf(" (%.*s)", (int) row->nodes.len, (const char *) row->nodes.data)
                        : NULL;

        if (!row->path)
                ctl_say(v->ctl, "%s: %s", severity, row->text);
        else if (row->line > 0)
                ctl_say(v->ctl, "%s:%u: %s: %s%s", row->path, row->line, severity, row->text, nodes ?: "");
        else
                ctl_say(v->ctl, "%s: %s: %s%s", row->path, severity, row->text, nodes ?: "");
}

static void print_json_row(Json *j, const Row *row) {
        json_begin(j, '{');
        json_member_string(j, "file", row->path ?: "");
        json_member_u64(j, "line", row->line);
        json_member_string(j, "severity", row->severity == SEVERITY_ERROR ? "error" : "warning");
        json_member_string(j, "by", row->systemd ? "systemd" : "argosy");
        json_member_string(j, "message", row->text);
        json_member_begin(j, "nodes", '[');
        for (size_t at = 0; at < row->nodes.len;) {
                const char *p = (const char *) row->nodes.data + at,
                           *end = memchr(p, ',', row->nodes.len - at);
                _cleanup_free_ char *name = strndup(p, end ? (size_t) (end - p) : row->nodes.len - at);

                json_string(j, name ?: "");
                at = end ? (size_t) (end + 2 - (const char *) row->nodes.data) : row->nodes.len;
        }
        json_end(j, ']');
        json_end(j, '}');
}

static int compare_rows(const void *a, const void *b) {
        const Row *x = a, *y = b;
        int order = strcmp(x->path ?: "", y->path ?: "");

        return order != 0 ? order : x->line < y->line ? -1 : x->line > y->line;
}

static int print(Verify *v) {
        Json j = {.f = v->ctl->term.out, .pretty = v->ctl->opt.json == JSON_PRETTY};
        bool is_json = v->ctl->opt.json != JSON_OFF;
        int code = EXIT_OK;

        if (v->n_rows > 0)
                qsort(v->rows, v->n_rows, sizeof(*v->rows), compare_rows);
        if (is_json)
                json_begin(&j, '[');
        for (size_t i = 0; i < v->n_rows; i++) {
                if (is_json)
                        print_json_row(&j, &v->rows[i]);
                else
                        print_row(v, &v->rows[i]);
                if (v->rows[i].severity == SEVERITY_ERROR)
                        code = EXIT_FAILED;
                else if (code == EXIT_OK)
                        code = EXIT_WARNINGS;
        }
        if (is_json) {
                json_end(&j, ']');
                json_finish(&j);
        }
        return code;
}

static void warn_of_networks(const Verify *v) {
        _cleanup_free_ HandedFile *files = calloc(v->n_files + 1, sizeof(*files));

        for (size_t i = 0; files && i < v->n_files; i++)
                files[i] = (HandedFile){v->files[i].name, v->files[i].path, v->files[i].content->data,
                                        v->files[i].content->len};
        if (files)
                file_warnings_networks(v->ctl, files, v->n_files);
}

int verb_verify(Ctl *ctl, char **args, size_t n) {
        Verify v = {.ctl = ctl};
        int code = read_files(&v, args, n), asked = EXIT_OK, found;

        if (code == EXIT_OK)
                code = ask_argosy(&v);
        if (code == EXIT_OK)
                warn_of_networks(&v);
        if (code == EXIT_OK && v.n_files > 0) {
                asked = ask_systemd(&v);
                code = asked == EXIT_FAILED ? asked : EXIT_OK;
        }
        if (code == EXIT_OK) {
                found = print(&v);
                code = found == EXIT_FAILED || asked == EXIT_OK ? found : asked;
        }
        verify_done(&v);
        return code;
}
