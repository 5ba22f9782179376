// SPDX-License-Identifier: LGPL-2.1-or-later
//
// watch: what the cluster comes to be, as lines for people, as JSON for programs, or handed to a program one
// by one.
//
// Each request asks for what is newer than the cursor and is answered once; the next one has the cursor of
// the answer. So a lost daemon or leader costs a repeated question, and whatever was missed is told, marked,
// by the next leader. That nobody leads is told by the host that is asked, and stands nowhere in the stream:
// the cursor stays where it is. The cursor is kept in a file, if one is named, behind everything that was
// printed, or was done by the program: what is cut off in between is told again, and nothing is left out. A
// program that fails ends it for that reason, and so does a file that cannot be written, before the first
// event.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event-json.h"
#include "fileio.h"
#include "json.h"
#include "message-of.h"
#include "message.h"
#include "str.h"
#include "verbs.h"
#include "wait-loop.h"

enum {
        NAME_MAX_ENV = 64, // "ARGOSY_EVENT_" and a field
        EXEC_FAILED = 127, // as in a shell
};

typedef struct Watch {
        Ctl *ctl;
        Argosy__Request__Events request;
        Argosy__EventKind kinds[EVENT_KINDS];
        char cursor[EVENT_CURSOR_SIZE]; // where to go on; empty: it has none yet
        bool from_now;                  // then only what is new
        uint64_t since_job;             // or from there on; 0: all there is
        bool answered, over;
        int code; // of a failure in the middle, which has been printed; EXIT_OK: none
} Watch;

// One event, and the cursor behind it.
typedef struct Shown {
        const Argosy__Event *event;
        const EventKindInfo *info;
        char cursor[EVENT_CURSOR_SIZE];
} Shown;

// ---- for people

static int append_word(Buf *line, const Argosy__Event *e) {
        const char *kinds = event_value(e, EVENT_STREAM_KINDS);

        if (!streq(event_value(e, EVENT_STREAM_WORD), EVENT_STREAM_BEGINS))
                return buf_printf(line, "that is all; what follows is new");
        if (!*kinds)
                return buf_printf(line, "the whole state follows");
        if (buf_printf(line, "all that there is follows, of: ") < 0)
                return -ENOMEM;
        return text_append_clean(line, kinds, false);
}

static int append_names(Buf *line, const Shown *s) {
        for (size_t i = 0; i < s->info->n_names; i++) {
                if (buf_printf(line, i > 0 ? " on " : " ") < 0 ||
                    text_append_clean(line, event_value(s->event, i), false) < 0)
                        return -ENOMEM;
        }
        return 0;
}

// Those that have changed, or if that is not known, all that there are.
static int append_fields(Buf *line, const Shown *s) {
        size_t n = event_kind_n_fields(s->info);
        const Argosy__Event *e = s->event;

        for (size_t i = s->info->n_names; i < n; i++) {
                if (e->n_changed > 0 ? !event_has_changed(e, i) : !*event_value(e, i))
                        continue;
                if (buf_printf(line, " %s=", s->info->fields[i].name) < 0)
                        return -ENOMEM;
                if (s->info->fields[i].type == EVENT_TIME) {
                        uint64_t us;

                        if (parse_u64(event_value(e, i), UINT64_MAX, &us) && us > 0 &&
                            text_append_time(line, us) < 0)
                                return -ENOMEM;
                } else if (text_append_clean(line, event_value(e, i), false) < 0)
                        return -ENOMEM;
        }
        return 0;
}

// What this host alone says.
static int append_lead(Buf *line, const Argosy__Event *e) {
        const char *leader = event_value(e, EVENT_LEADER_NAME);

        if (!*leader && buf_printf(line, " nobody leads: ") < 0)
                return -ENOMEM;
        if (!*leader)
                return text_append_clean(line, event_value(e, EVENT_LEADER_REASON), false);
        return buf_printf(line, " ") < 0 || text_append_clean(line, leader, false) < 0
                       ? -ENOMEM
                       : buf_printf(line, " leads");
}

static int print_text(Ctl *ctl, const Shown *s) {
        const Argosy__Event *e = s->event;
        _cleanup_buf_ Buf line = {};
        int r;

        if (text_append_time(&line, e->at_us) < 0 || buf_printf(&line, " %s", s->info->name) < 0 ||
            append_names(&line, s) < 0)
                return -ENOMEM;
        if (e->mark == ARGOSY__EVENT_MARK__EVENT_HERE)
                r = append_lead(&line, e);
        else if (e->kind == ARGOSY__EVENT_KIND__EVENT_STREAM) {
                line.len = 0;
                r = append_word(&line, e);
        } else
                r = e->gone ? buf_printf(&line, " is gone") : append_fields(&line, s);
        if (r == 0 && e->kind != ARGOSY__EVENT_KIND__EVENT_STREAM &&
            e->mark != ARGOSY__EVENT_MARK__EVENT_NEW && e->mark != ARGOSY__EVENT_MARK__EVENT_HERE)
                r = buf_printf(&line, " (%s)", event_mark_word(e));
        if (r < 0)
                return r;
        fprintf(ctl->term.out, "%.*s\n", (int) line.len, (const char *) line.data);
        return 0;
}

static void print_json(FILE *f, bool pretty, const Shown *s) {
        Json j = {.f = f, .pretty = pretty};

        event_json(s->event, s->info, s->cursor, &j);
}

// ---- a program for each

static void set_variable(const char *field, const char *value) {
        char name[NAME_MAX_ENV];

        snprintf(name, sizeof(name), "ARGOSY_EVENT_%s", field);
        for (char *p = name; *p; p++)
                if (*p >= 'a' && *p <= 'z')
                        *p = (char) (*p - 'a' + 'A');
        (void) setenv(name, value, true);
}

static void set_variables(const Shown *s) {
        const Argosy__Event *e = s->event;
        _cleanup_buf_ Buf changed = {}, time = {};
        size_t n = event_kind_n_fields(s->info);

        for (size_t i = 0; i < n; i++) {
                set_variable(s->info->fields[i].name, event_value(e, i));
                if (event_has_changed(e, i))
                        (void) buf_printf(&changed, "%s%s", changed.len > 0 ? " " : "",
                                          s->info->fields[i].name);
        }
        (void) buf_append(&changed, "", 1);
        (void) buf_printf(&time, "%" PRIu64, e->at_us);
        (void) buf_append(&time, "", 1);
        set_variable("kind", s->info->name);
        set_variable("time", time.data ? (const char *) time.data : "");
        set_variable("cursor", s->cursor);
        set_variable("mark", event_mark_word(e));
        set_variable("gone", e->gone ? "1" : "");
        set_variable("changed", changed.data ? (const char *) changed.data : "");
}

// A file in memory with the event as JSON, at its beginning: nobody waits for a program that reads none of
// it.
static int open_input(const Shown *s) {
        int fd = memfd_create("event", MFD_CLOEXEC);
        FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
        int copy = -1;

        if (!f) {
                if (fd >= 0)
                        close(fd);
                return -1;
        }
        print_json(f, false, s);
        if (fflush(f) == 0 && lseek(fd, 0, SEEK_SET) == 0)
                copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        fclose(f);
        return copy;
}

static void become_program(const char *program, const Shown *s, int input) {
        char *const argv[] = {(char *) program, NULL};

        signal(SIGINT, SIG_DFL);
        set_variables(s);
        if (dup2(input, STDIN_FILENO) >= 0)
                execvp(program, argv);
        _exit(EXEC_FAILED);
}

// EXIT_OK, or the code after a complaint.
static int run_program(Ctl *ctl, const Shown *s) {
        const char *program = ctl->opt.exec;
        int input = open_input(s), status = 0;
        pid_t pid;

        if (input < 0)
                return ctl_fail(ctl, "%s: %s", program, strerror(errno));
        fflush(ctl->term.out);
        fflush(ctl->term.err);
        pid = fork();
        if (pid == 0)
                become_program(program, s, input);
        close(input);
        if (pid < 0)
                return ctl_fail(ctl, "%s: %s", program, strerror(errno));
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return ctl_fail(ctl, "%s: %s", program, strerror(errno));
        if (WIFSIGNALED(status))
                return ctl_fail(ctl, "%s was ended by signal %d", program, WTERMSIG(status));
        if (WEXITSTATUS(status) == EXEC_FAILED)
                return ctl_fail(ctl, "%s cannot be executed, or says so", program);
        if (WEXITSTATUS(status) != 0)
                return ctl_fail(ctl, "%s failed with status %d", program, WEXITSTATUS(status));
        return EXIT_OK;
}

// ---- cursors

static int keep_cursor(Watch *w, const char *cursor) {
        const char *path = w->ctl->opt.cursor_file;
        char line[EVENT_CURSOR_SIZE + 1];
        int len, r;

        if (!path)
                return EXIT_OK;
        len = snprintf(line, sizeof(line), "%s\n", cursor);
        r = file_replace(AT_FDCWD, path, line, (size_t) len, 0644, FILE_SYNC);
        return r < 0 ? ctl_fail(w->ctl, "%s: %s", path, strerror(-r)) : EXIT_OK;
}

// What an earlier run has kept; owned by the caller. NULL: nothing yet.
static int read_cursor_file(Ctl *ctl, char **ret) {
        const char *path = ctl->opt.cursor_file;
        _cleanup_buf_ Buf file = {};
        int r = file_read(AT_FDCWD, path, EVENT_CURSOR_SIZE + 1, &file);

        if (r == -ENOENT)
                return EXIT_OK;
        if (r < 0)
                return ctl_fail(ctl, "%s: %s", path, strerror(-r));
        *ret = buf_take_string(&file);
        if (!*ret)
                return ctl_oom(ctl);
        (*ret)[strcspn(*ret, "\n")] = '\0';
        return EXIT_OK;
}

// ---- events

static int handle(Watch *w, const Shown *s) {
        Ctl *ctl = w->ctl;
        int code = EXIT_OK;

        if (ctl->opt.exec) {
                code = run_program(ctl, s);
                return code == EXIT_OK ? keep_cursor(w, s->cursor) : code;
        }
        if (ctl->opt.json != JSON_OFF)
                print_json(ctl->term.out, ctl->opt.json == JSON_PRETTY, s);
        else if (print_text(ctl, s) < 0)
                code = ctl_oom(ctl);
        return code;
}

// A program that asked for other kinds knows nothing of this one; people and readers of JSON are told in any
// case.
static bool is_for_program(const Watch *w) {
        for (size_t i = 0; i < w->request.n_kinds; i++)
                if (w->kinds[i] == ARGOSY__EVENT_KIND__EVENT_LEADER)
                        return true;
        return w->request.n_kinds == 0;
}

static int handle_here(Watch *w, const ProtobufCBinaryData *packed) {
        int code = EXIT_OK, r;
        Argosy__Event *e;
        Shown s;

        r = message_unpack(&argosy__event__descriptor, packed->data, packed->len, (void **) &e);
        if (r < 0)
                return r == -ENOMEM ? ctl_oom(w->ctl)
                                    : ctl_fail(w->ctl, "argosyd sent an event that is none");
        s = (Shown){.event = e, .info = event_kind_info(e->kind)};
        memcpy(s.cursor, w->cursor, sizeof(s.cursor));
        w->request.lead = *event_value(e, EVENT_LEADER_NAME) ? ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY
                                                             : ARGOSY__REQUEST__EVENTS__LEAD__NOBODY;
        if (s.info && w->ctl->opt.exec)
                code = is_for_program(w) ? run_program(w->ctl, &s) : EXIT_OK;
        else if (s.info)
                code = handle(w, &s);
        message_free(e);
        if (code == EXIT_OK && fflush(w->ctl->term.out) != 0)
                code = ctl_fail(w->ctl, "standard output: %s", strerror(errno));
        return code;
}

static int handle_packed(Watch *w, const EventCursor *all, const ProtobufCBinaryData *packed, bool last) {
        Argosy__Event *e;
        int r = message_unpack(&argosy__event__descriptor, packed->data, packed->len, (void **) &e);
        Shown s;

        if (r == -ENOMEM)
                return ctl_oom(w->ctl);
        if (r < 0)
                return ctl_fail(w->ctl, "argosyd sent an event that is none");
        s = (Shown){.event = e, .info = event_kind_info(e->kind)};
        event_cursor_of(all, e, last, s.cursor);
        r = s.info ? handle(w, &s) : EXIT_OK; // a newer version has kinds that we do not know
        message_free(e);
        return r;
}

static int handle_all(Watch *w, const Argosy__Response__Events *events) {
        EventCursor all;
        int code = EXIT_OK;

        if (events->here.len > 0)
                return handle_here(w, &events->here);
        if (!event_cursor_parse(events->cursor, &all))
                return ctl_fail(w->ctl, "argosyd sent a cursor that is none");
        for (size_t i = 0; i < events->n_events && code == EXIT_OK; i++)
                code = handle_packed(w, &all, &events->events[i], i + 1 == events->n_events);
        if (code != EXIT_OK)
                return code;
        if (fflush(w->ctl->term.out) != 0)
                return ctl_fail(w->ctl, "standard output: %s", strerror(errno));
        (void) str_copy(w->cursor, sizeof(w->cursor), events->cursor);
        return keep_cursor(w, w->cursor);
}

// ---- the waiting

static int watch_ask(Ctl *ctl, Argosy__Request *request, void *userdata) {
        Watch *w = userdata;

        w->answered = false;
        w->request.cursor = w->cursor;
        w->request.from_now = !*w->cursor && w->from_now;
        w->request.since_job = *w->cursor ? 0 : w->since_job;
        return 0;
}

static int watch_take(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Watch *w = userdata;

        if (r->status != 0 || r->what_case != ARGOSY__RESPONSE__WHAT_EVENTS)
                return 0;
        w->answered = true;
        w->code = handle_all(w, r->events);
        return w->code == EXIT_OK ? WAIT_NEWS : -ECANCELED;
}

static WaitStep watch_judge(Ctl *ctl, const WaitEnd *end, void *userdata) {
        const Watch *w = userdata;

        if (w->answered)
                return w->code == EXIT_OK ? WAIT_FINISHED : WAIT_GIVE_UP;
        if (end->error < 0)
                return end->lost ? WAIT_REDIAL : WAIT_GIVE_UP;
        if (end->no_leader || end->status == ETIMEDOUT || end->status == EAGAIN ||
            end->status == EHOSTUNREACH)
                return WAIT_ASK_AGAIN;
        return WAIT_GIVE_UP;
}

static int watch_leave(Ctl *ctl, const WaitEnd *end, void *userdata) {
        Watch *w = userdata;

        w->over = true;
        if (w->code != EXIT_OK)
                return w->code;
        if (end->error == -ETIMEDOUT)
                return EXIT_OK;
        return ctl_fail(ctl, "%s", end->error == 0 && end->status == 0 ? "argosyd gave no answer"
                                                                      : wait_loop_reason(ctl, end));
}

static const WaitKind watch_wait = {
        .ask = watch_ask,
        .take = watch_take,
        .judge = watch_judge,
        .leave = watch_leave,
};

static int watch(Watch *w) {
        Argosy__Request request = MESSAGE_OF(request, .what_case = ARGOSY__REQUEST__WHAT_EVENTS);
        int code = EXIT_OK;

        request.events = &w->request;
        ctl_catch_interrupt(w->ctl);
        while (code == EXIT_OK && !w->over)
                code = wait_loop_run(w->ctl, &watch_wait, &request, w);
        return code;
}

// ---- the verb

static int take_kinds(Watch *w) {
        _cleanup_free_ char *words = w->ctl->opt.kinds ? strdup(w->ctl->opt.kinds) : NULL;
        char *save = NULL;

        if (!w->ctl->opt.kinds)
                return EXIT_OK;
        if (!words)
                return ctl_oom(w->ctl);
        for (char *word = strtok_r(words, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
                Argosy__EventKind kind = event_kind_from_string(word);

                if (kind == ARGOSY__EVENT_KIND__EVENT_NONE)
                        return ctl_usage(w->ctl,
                                         "--kinds: '%s' is no kind of event: see argosyctl watch --help",
                                         word);
                if (w->request.n_kinds < EVENT_KINDS)
                        w->kinds[w->request.n_kinds++] = kind;
        }
        w->request.kinds = w->kinds;
        return w->request.n_kinds > 0 ? EXIT_OK : ctl_usage(w->ctl, "--kinds: no kind is named");
}

// A cursor, or @JOB, or 0 for all there is. False: none of these.
static bool take_place(Watch *w, const char *place) {
        EventCursor cursor;

        w->from_now = false;
        w->since_job = 0;
        *w->cursor = '\0';
        if (strlen(place) >= EVENT_CURSOR_SIZE)
                return false;
        if (streq(place, "0"))
                return true;
        if (*place == '@')
                return parse_u64(place + 1, INT64_MAX, &w->since_job) && w->since_job > 0;
        return event_cursor_parse(place, &cursor) && str_copy(w->cursor, sizeof(w->cursor), place);
}

// What cannot be kept is known before anything is told: else a program would be run for the same event again
// each time that somebody starts us. (From now on: the first answer has a cursor, and no event.)
static int take_since(Watch *w) {
        const char *since = w->ctl->opt.since, *path = w->ctl->opt.cursor_file;
        _cleanup_free_ char *kept = NULL;
        int code = EXIT_OK;

        w->from_now = true;
        if (since && !take_place(w, since))
                return ctl_usage(w->ctl, "--since: '%s' is neither a cursor, nor @JOB, nor 0", since);
        if (path)
                code = read_cursor_file(w->ctl, &kept);
        if (code == EXIT_OK && kept && !take_place(w, kept))
                return ctl_fail(w->ctl, "%s: that is no cursor", path);
        return code == EXIT_OK && !w->from_now ? keep_cursor(w, kept ?: since) : code;
}

int verb_watch(Ctl *ctl, char **args, size_t n) {
        Watch w = {.ctl = ctl, .request = ARGOSY__REQUEST__EVENTS__INIT};
        _cleanup_strv_ char **patterns = NULL;
        int code = n > 0 ? ctl_patterns(ctl, args, n, &patterns, &w.request.n_patterns) : EXIT_OK;

        w.request.lead = ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY;
        w.request.patterns = patterns;
        if (code == EXIT_OK)
                code = take_kinds(&w);
        if (code == EXIT_OK)
                code = take_since(&w);
        return code == EXIT_OK ? watch(&w) : code;
}
