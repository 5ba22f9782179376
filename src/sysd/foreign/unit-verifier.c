// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      ask -> remembered? -> (a question that is alike? -> the same answer) -> queue -> helper -> answer ->
//      remembered -> done
//
// One question is with the helper at a time, and the next is the one whose asker gives up first: a
// deployment, which waits for seconds, does not stand behind all that somebody verifies. Those that wait
// without a limit are asked in the order in which they came, every second one if others wait, too. The
// helper is started with the first and ends when it idles. One that hangs is ended by its link after
// HELPER_MS; a question waits no longer than its limit, and the next has a new helper.
//
// Instances of a template that have its content ask the same question, unless the answer is about lines that
// depend on the instance: then each is asked for by itself.

#include "unit-verifier.h"

#include <errno.h>
#include <sys/stat.h>

#include "clock.h"
#include "deadline-heap.h"
#include "helper-link.h"
#include "list.h"
#include "map.h"
#include "message-of.h"
#include "quadlet-generator.h"
#include "str.h"
#include "time-limit.h"
#include "unit-file.h"
#include "unit-name.h"
#include "uvx.h"

enum {
        HELPER_MS = 6000,         // for an answer; the helper itself gives up before
        REMEMBERED_MAX = 512,     // contents
        REMEMBERED_FINDINGS_MAX = 4096, // of all of them
};

typedef struct Remembered {
        Hash key;
        ListNode link; // in the order of their last use
        UnitFindings findings;
} Remembered;

typedef struct Question {
        ListNode link;
        ListNode waiters;
        uint64_t due_us; // of the first of these; 0: none of them has a limit
        size_t n;
        bool user, answered;
        bool shared; // in UnitVerifier.shared
        int error;
        UnitAnalysisFile *files; // copies
        Hash *keys;              // of the files
        UnitFindings *findings;
        Buf *made;
} Question;

typedef struct Waiter {
        ListNode link; // in Question.waiters
        ListNode all;  // in UnitVerifier.waiters
        uint64_t number;
        Deadline limit; // not waiting: none
        char *name; // of the only file: perhaps another instance than the question's
        Question *question;
        UnitVerified *done;
        void *userdata;
} Waiter;

struct UnitVerifier {
        uv_loop_t *loop;
        const char *const *command;
        Drain drain;
        TimeLimit limit;
        HelperLink *link; // NULL: no helper
        Question *asked;  // that is with it
        ListNode queue, answered, waiters;
        ListNode patient;    // questions that wait without a limit
        bool patient_next;   // the next one is one of these
        Map shared;          // questions about one file without an answer, by its key
        DeadlineHeap limits; // Waiter.limit
        uint64_t last_number, armed_us; // armed_us: boot time of `limit`; 0: it is not set
        Map remembered; // Remembered by key
        ListNode used;
        size_t n_findings;
        struct timespec systemd_at; // when systemd-analyze was made that the answers are of
        ino_t systemd_inode;
        struct timespec generator_at; // likewise podman's generator, of the version
        ino_t generator_inode;
        char *systemd,
                *podman; // as they called themselves in the last answer; NULL: not yet, or there is none
        bool closing;
        unsigned n_open;
        void (*closed)(void *userdata);
        void *closed_data;
};

static void go_on(UnitVerifier *v);

// --------------------------------------------------------------------------------------- what is remembered

static void forget(UnitVerifier *v, Remembered *m) {
        map_take(&v->remembered, &m->key, sizeof(m->key));
        list_unlink(&m->link);
        v->n_findings -= m->findings.n;
        unit_findings_done(&m->findings);
        free(m);
}

static void forget_all(UnitVerifier *v) {
        while (!list_is_empty(&v->used))
                forget(v, CONTAINER_OF(v->used.next, Remembered, link));
}

// Another systemd says other things.
static void look_at_systemd(UnitVerifier *v) {
        struct stat st = {};

        (void) stat("/usr/bin/systemd-analyze", &st);
        if (st.st_ino == v->systemd_inode && st.st_mtim.tv_sec == v->systemd_at.tv_sec &&
            st.st_mtim.tv_nsec == v->systemd_at.tv_nsec)
                return;
        forget_all(v);
        v->systemd_inode = st.st_ino;
        v->systemd_at = st.st_mtim;
}

// The key of a file's verdict. A template has another one than its instances.
static int key_of(const char *name, const UnitAnalysisFile *f, bool user, Hash *ret) {
        bool template = unit_name_kind(f->name, NULL) == UNIT_NAME_TEMPLATE;
        Hasher h = {};
        int r = hasher_init(&h);

        if (r < 0)
                return r;
        hasher_add(&h, user ? "user" : "system", 4);
        hasher_add(&h, template ? "t" : "u", 1);
        hasher_add(&h, name, strlen(name) + 1);
        hasher_add(&h, f->content, f->len);
        hasher_done(&h, ret);
        return 0;
}

// The key that all instances of a template share.
static int shared_key_of(const UnitAnalysisFile *f, bool user, Hash *ret) {
        _cleanup_free_ char *template = NULL;

        if (unit_name_kind(f->name, NULL) != UNIT_NAME_INSTANCE)
                return key_of(f->name, f, user, ret);
        template = unit_name_template(f->name);
        return template ? key_of(template, f, user, ret) : -ENOMEM;
}

static const UnitFindings *recall(UnitVerifier *v, const Hash *key) {
        Remembered *m = map_find(&v->remembered, key, sizeof(*key));

        if (!m)
                return NULL;
        list_unlink(&m->link);
        list_append(&v->used, &m->link);
        return &m->findings;
}

static void remember(UnitVerifier *v, const Hash *key, const UnitAnalysisFile *f,
                     const UnitFindings *findings) {
        Remembered *m;

        if (findings->refused || quadlet_is(f->content, f->len) ||
            unit_findings_are_of_instance(findings, f->content, f->len) ||
            map_find(&v->remembered, key, sizeof(*key)))
                return;
        m = calloc(1, sizeof(*m));
        if (!m)
                return;
        m->key = *key;
        if (unit_findings_copy(findings, &m->findings) < 0 ||
            map_add(&v->remembered, &m->key, sizeof(m->key), m) < 0) {
                unit_findings_done(&m->findings);
                free(m);
                return;
        }
        list_append(&v->used, &m->link);
        v->n_findings += m->findings.n;
        while (v->remembered.count > REMEMBERED_MAX || v->n_findings > REMEMBERED_FINDINGS_MAX)
                forget(v, CONTAINER_OF(v->used.next, Remembered, link));
}

// ------------------------------------------------------------------------------------------------ questions

static Question *question_free(Question *q) {
        if (!q)
                return NULL;
        list_unlink(&q->link);
        for (size_t i = 0; i < q->n; i++) {
                free((char *) q->files[i].name);
                free((void *) q->files[i].content);
                unit_findings_done(&q->findings[i]);
                buf_done(&q->made[i]);
        }
        free(q->made);
        free(q->files);
        free(q->keys);
        free(q->findings);
        free(q);
        return NULL;
}
DEFINE_CLEANUP(Question *, question_free)

static int copy_file(Question *q, const UnitAnalysisFile *f) {
        char *name = strdup(f->name);
        void *content = malloc(f->len + 1);

        if (!name || !content) {
                free(name);
                free(content);
                return -ENOMEM;
        }
        if (f->len > 0)
                memcpy(content, f->content, f->len);
        q->files[q->n] = (UnitAnalysisFile){name, content, f->len};
        return shared_key_of(f, q->user, &q->keys[q->n++]);
}

static int question_new(const UnitAnalysisFile *files, size_t n, bool user, Question **ret) {
        _cleanup_(question_freep) Question *q = calloc(1, sizeof(*q));
        int r = 0;

        if (!q)
                return -ENOMEM;
        list_init(&q->link);
        list_init(&q->waiters);
        q->user = user;
        q->files = calloc(n + 1, sizeof(*q->files));
        q->keys = calloc(n + 1, sizeof(*q->keys));
        q->findings = calloc(n + 1, sizeof(*q->findings));
        q->made = calloc(n + 1, sizeof(*q->made));
        if (!q->files || !q->keys || !q->findings || !q->made)
                return -ENOMEM;
        for (size_t i = 0; i < n && r == 0; i++)
                r = copy_file(q, &files[i]);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(q);
        return 0;
}

// Others that ask the same wait for its answer. Without memory they ask by themselves.
static void share_question(UnitVerifier *v, Question *q) {
        q->shared = q->n == 1 && map_add(&v->shared, q->keys, sizeof(*q->keys), q) == 0;
}

static void unshare_question(UnitVerifier *v, Question *q) {
        if (q->shared)
                map_take(&v->shared, q->keys, sizeof(*q->keys));
        q->shared = false;
}

// Its waiters are told in the drain.
static void answer(UnitVerifier *v, Question *q, int error) {
        q->answered = true;
        q->error = error;
        if (q->n == 0 && error < 0)
                v->generator_inode = 0; // it is asked again
        if (v->asked == q)
                v->asked = NULL;
        unshare_question(v, q);
        list_unlink(&q->link);
        list_append(&v->answered, &q->link);
        drain_mark(&v->drain);
}

// All that it asks is remembered.
static bool recall_all(UnitVerifier *v, Question *q) {
        if (q->n == 0)
                return false;
        for (size_t i = 0; i < q->n; i++)
                if (!map_find(&v->remembered, &q->keys[i], sizeof(q->keys[i])))
                        return false;
        for (size_t i = 0; i < q->n; i++)
                if (unit_findings_copy(recall(v, &q->keys[i]), &q->findings[i]) < 0)
                        return false;
        return true;
}

// Its place in the queue, also if it has one. due_us 0: it has no limit.
static void enqueue(UnitVerifier *v, Question *q, uint64_t due_us) {
        ListNode *at;

        list_unlink(&q->link);
        q->due_us = due_us;
        if (due_us == 0) {
                list_append(&v->patient, &q->link);
                return;
        }
        for (at = v->queue.prev; at != &v->queue && CONTAINER_OF(at, Question, link)->due_us > due_us;)
                at = at->prev;
        list_insert_before(at->next, &q->link);
}

// One about the same content, that has no answer yet.
static Question *find_alike(const UnitVerifier *v, const Question *q) {
        return q->n == 1 ? map_find(&v->shared, q->keys, sizeof(*q->keys)) : NULL;
}

// It is wanted sooner now than by all who asked before.
static bool is_hastened(const UnitVerifier *v, const Question *q, uint64_t due_us) {
        return q != v->asked && due_us > 0 && (q->due_us == 0 || due_us < q->due_us);
}

// ------------------------------------------------------------------------------------------------ waiters

static void waiter_free(UnitVerifier *v, Waiter *w) {
        list_unlink(&w->link);
        list_unlink(&w->all);
        deadline_heap_clear(&v->limits, &w->limit);
        free(w->name);
        free(w);
}

static void arm(UnitVerifier *v);

static void on_over(void *userdata) {
        UnitVerifier *v = userdata;
        uint64_t now = clock_boot_us();
        Deadline *over;

        while ((over = deadline_heap_pop(&v->limits, now))) {
                Waiter *w = CONTAINER_OF(over, Waiter, limit);
                UnitVerified *done = w->done;
                void *data = w->userdata;

                waiter_free(v, w); // its question is answered for others, or for nobody
                done(-ETIMEDOUT, &(UnitVerdict){.systemd = "", .podman = ""}, data);
        }
        arm(v);
}

static void arm(UnitVerifier *v) {
        uint64_t due = deadline_heap_next(&v->limits), now = clock_boot_us();

        if (v->closing)
                return;
        v->armed_us = due;
        if (due == 0)
                time_limit_stop(&v->limit);
        else
                time_limit_start(&v->limit, due > now ? (due - now) / USEC_PER_MSEC + 1 : 1, on_over);
}

static int wait_for(UnitVerifier *v, Question *q, const char *name, uint64_t due_us, UnitVerified *done,
                    void *userdata, uint64_t *ret) {
        Waiter *w = calloc(1, sizeof(*w));
        int r;

        if (!w)
                return -ENOMEM;
        *w = (Waiter){.number = ++v->last_number,
                      .name = strdup(name),
                      .question = q,
                      .done = done,
                      .userdata = userdata};
        list_append(&q->waiters, &w->link);
        list_append(&v->waiters, &w->all);
        r = !w->name ? -ENOMEM : due_us > 0 ? deadline_heap_set(&v->limits, &w->limit, due_us) : 0;
        if (r < 0) {
                waiter_free(v, w);
                return r;
        }
        if (due_us > 0 && (v->armed_us == 0 || due_us < v->armed_us))
                arm(v);
        *ret = w->number;
        return 0;
}

// It is about that instance alone: asked again, as that.
static bool ask_by_itself(UnitVerifier *v, const Question *q, Waiter *w) {
        UnitAnalysisFile file = q->files[0];
        Question *own;

        file.name = w->name;
        if (question_new(&file, 1, q->user, &own) < 0)
                return false;
        if (key_of(w->name, &file, q->user, own->keys) < 0) {
                question_free(own);
                return false;
        }
        list_unlink(&w->link);
        list_append(&own->waiters, &w->link);
        w->question = own;
        enqueue(v, own, deadline_is_set(&w->limit) ? w->limit.at_us : 0);
        return true;
}

static void tell(UnitVerifier *v, Question *q, Waiter *w) {
        UnitVerified *done = w->done;
        void *data = w->userdata;

        if (q->error == 0 && q->n == 1 && !streq(w->name, q->files[0].name) &&
            unit_findings_are_of_instance(&q->findings[0], q->files[0].content, q->files[0].len) &&
            ask_by_itself(v, q, w))
                return;
        waiter_free(v, w);
        done(q->error,
             &(UnitVerdict){v->systemd ?: "systemd", v->podman ?: "", q->findings, q->made,
                            q->error < 0 ? 0 : q->n},
             data);
}

static void on_drain(void *userdata) {
        UnitVerifier *v = userdata;

        while (!list_is_empty(&v->answered) && !v->closing) {
                Question *q = CONTAINER_OF(v->answered.next, Question, link);

                if (list_is_empty(&q->waiters))
                        question_free(q);
                else
                        tell(v, q, CONTAINER_OF(q->waiters.next, Waiter, link));
        }
        if (!v->closing)
                go_on(v);
}

// ----------------------------------------------------------------------------------------------- the helper

static void verifier_free(UnitVerifier *v) {
        void (*closed)(void *) = v->closed;
        void *data = v->closed_data;

        forget_all(v);
        map_done(&v->remembered);
        map_done(&v->shared);
        deadline_heap_done(&v->limits);
        free(v->systemd);
        free(v->podman);
        free(v);
        if (closed)
                closed(data);
}

static void close_step(UnitVerifier *v) {
        if (--v->n_open == 0)
                verifier_free(v);
}

static void drop_helper(UnitVerifier *v) {
        HelperLink *link = TAKE_PTR(v->link);

        if (link)
                helper_link_close(link);
}

static int take_findings(Question *q, const Argosy__HelperReply *reply) {
        for (size_t i = 0; i < reply->n_findings; i++) {
                const Argosy__HelperFinding *f = reply->findings[i];
                int r = f->file < q->n
                                ? unit_findings_add(&q->findings[f->file], f->line,
                                                    (UnitFindingKind) f->kind, f->text, strlen(f->text))
                                : -EBADMSG;

                if (r < 0)
                        return r;
        }
        return 0;
}

static int take_made(Question *q, const Argosy__HelperReply *reply) {
        int r = 0;

        for (size_t i = 0; i < reply->n_made && i < q->n && r == 0; i++)
                if (reply->made[i].len > UNIT_FILE_MAX)
                        r = -EFBIG;
                else if (reply->made[i].len > 0)
                        r = buf_append(&q->made[i], reply->made[i].data, reply->made[i].len);
        return r;
}

static void note_name(char **where, const char *name) {
        char *clean = str_printable(name, 64);

        if (!clean)
                return;
        free(*where);
        *where = clean;
}

static void on_reply(const Argosy__HelperReply *reply, int fd, void *userdata) {
        UnitVerifier *v = userdata;
        Question *q = v->asked;
        int r = reply->error;

        if (!q)
                return;
        if (r == 0)
                r = take_findings(q, reply) ?: take_made(q, reply);
        if (r == 0) {
                if (q->n > 0)
                        note_name(&v->systemd, reply->systemd);
                note_name(&v->podman, reply->podman);
                for (size_t i = 0; i < q->n; i++)
                        remember(v, &q->keys[i], &q->files[i], &q->findings[i]);
        }
        answer(v, q, r);
}

static void on_ended(int error, void *userdata) {
        UnitVerifier *v = userdata;

        drop_helper(v);
        if (v->asked)
                answer(v, v->asked, error ?: -EPIPE);
}

static void on_link_closed(void *userdata) {
        close_step(userdata);
}

static int start_helper(UnitVerifier *v) {
        static const HelperOps ops = {.reply = on_reply, .ended = on_ended, .closed = on_link_closed};
        const HelperConfig config = {.loop = v->loop,
                                     .command = v->command,
                                     .manager = "system",
                                     .mode = HELPER_VERIFY,
                                     .answer_ms = HELPER_MS};
        int r = helper_link_new(&config, &ops, v, &v->link);

        if (r == 0)
                v->n_open++;
        return r;
}

static int send_question(UnitVerifier *v, const Question *q) {
        Argosy__NamedFile files[HELPER_VERIFY_FILES], *pointers[HELPER_VERIFY_FILES];

        for (size_t i = 0; i < q->n; i++) {
                pointers[i] = &files[i];
                argosy__named_file__init(&files[i]);
                files[i].name = (char *) q->files[i].name;
                files[i].content = (ProtobufCBinaryData){.data = (uint8_t *) q->files[i].content,
                                                         .len = q->files[i].len};
        }
        Argosy__HelperVerify verify =
                MESSAGE_OF(helper_verify, .files = pointers, .n_files = q->n, .user = q->user);
        Argosy__HelperRequest request = MESSAGE_OF(helper_request, .verify = &verify);
        return helper_link_send(v->link, &request);
}

// Taken out of its queue; NULL: nothing is asked.
static Question *take_next(UnitVerifier *v) {
        ListNode *from = list_is_empty(&v->patient) || (!v->patient_next && !list_is_empty(&v->queue))
                                 ? &v->queue
                                 : &v->patient;
        Question *q = list_is_empty(from) ? NULL : CONTAINER_OF(from->next, Question, link);

        if (q)
                list_unlink(&q->link);
        v->patient_next = from == &v->queue;
        return q;
}

// The next one goes to the helper; one that nobody waits for any more does not.
static void go_on(UnitVerifier *v) {
        Question *q;

        while (!v->asked && (q = take_next(v))) {
                int r;

                if (list_is_empty(&q->waiters)) {
                        unshare_question(v, q);
                        question_free(q);
                        continue;
                }
                r = v->link ? 0 : start_helper(v);
                if (r == 0)
                        r = send_question(v, q);
                if (r == 0)
                        v->asked = q;
                else
                        answer(v, q, r);
        }
}

// --------------------------------------------------------------------------------------------- from outside

static int ask(UnitVerifier *v, const UnitAnalysisFile *files, size_t n, bool user, unsigned patience_ms,
               UnitVerified *done, void *userdata, uint64_t *ret) {
        _cleanup_(question_freep) Question *q = NULL;
        uint64_t due_us = patience_ms > 0 ? clock_boot_us() + patience_ms * USEC_PER_MSEC : 0;
        Question *alike;
        int r;

        if (due_us > 0 && v->limits.n >= UNIT_VERIFIER_WAITING_MAX)
                return -EBUSY;
        r = question_new(files, n, user, &q);
        if (r < 0)
                return r;
        look_at_systemd(v);
        alike = find_alike(v, q);
        r = wait_for(v, alike ?: q, n > 0 ? files[0].name : "", due_us, done, userdata, ret);
        if (r >= 0 && alike && is_hastened(v, alike, due_us))
                enqueue(v, alike, due_us);
        if (r < 0 || alike)
                return r;
        if (recall_all(v, q)) {
                answer(v, q, 0);
        } else {
                share_question(v, q);
                enqueue(v, q, due_us);
        }
        TAKE_PTR(q);
        drain_mark(&v->drain);
        return 0;
}

int unit_verifier_ask(UnitVerifier *v, const UnitAnalysisFile *files, size_t n, bool user,
                      unsigned patience_ms, UnitVerified *done, void *userdata, uint64_t *ret) {
        size_t bytes = 0;

        for (size_t i = 0; i < n && i < UNIT_VERIFIER_FILES_MAX; i++)
                bytes += files[i].len;
        if (n == 0 || n > UNIT_VERIFIER_FILES_MAX || bytes > UNIT_VERIFIER_BYTES_MAX)
                return -E2BIG;
        return ask(v, files, n, user, patience_ms, done, userdata, ret);
}

int unit_verifier_ask_podman(UnitVerifier *v, unsigned patience_ms, UnitVerified *done, void *userdata,
                             uint64_t *ret) {
        const char *generator = quadlet_generator_path();
        struct stat st;
        int r;

        if (!generator || stat(generator, &st) < 0) {
                v->generator_inode = 0;
                return -ENOENT;
        }
        if (st.st_ino == v->generator_inode && st.st_mtim.tv_sec == v->generator_at.tv_sec &&
            st.st_mtim.tv_nsec == v->generator_at.tv_nsec)
                return -EALREADY;
        r = ask(v, NULL, 0, false, patience_ms, done, userdata, ret);
        if (r == 0) {
                v->generator_inode = st.st_ino;
                v->generator_at = st.st_mtim;
        }
        return r;
}

void *unit_verifier_cancel(UnitVerifier *v, uint64_t number) {
        list_foreach (i, &v->waiters) {
                Waiter *w = CONTAINER_OF(i, Waiter, all);
                void *data = w->userdata;

                if (w->number != number)
                        continue;
                waiter_free(v, w);
                return data;
        }
        return NULL;
}

int unit_verifier_new(uv_loop_t *loop, const char *const *command, UnitVerifier **ret) {
        UnitVerifier *v = calloc(1, sizeof(*v));
        int r;

        if (!v)
                return -ENOMEM;
        *v = (UnitVerifier){.loop = loop, .command = command, .n_open = 2};
        list_init(&v->queue);
        list_init(&v->patient);
        list_init(&v->answered);
        list_init(&v->waiters);
        list_init(&v->used);
        r = drain_init(&v->drain, loop, on_drain, v);
        if (r < 0) {
                free(v);
                return r;
        }
        time_limit_init(&v->limit, loop, v);
        *ret = v;
        return 0;
}

static void on_drain_closed(uv_handle_t *handle) {
        close_step(CONTAINER_OF((uv_idle_t *) handle, UnitVerifier, drain.idle));
}

static void on_limit_closed(uv_handle_t *handle) {
        close_step(CONTAINER_OF((uv_timer_t *) handle, UnitVerifier, limit.timer));
}

void unit_verifier_close(UnitVerifier *v, void (*closed)(void *userdata), void *userdata) {
        v->closing = true;
        v->closed = closed;
        v->closed_data = userdata;
        while (!list_is_empty(&v->waiters))
                waiter_free(v, CONTAINER_OF(v->waiters.next, Waiter, all));
        question_free(TAKE_PTR(v->asked));
        while (!list_is_empty(&v->queue))
                question_free(CONTAINER_OF(v->queue.next, Question, link));
        while (!list_is_empty(&v->patient))
                question_free(CONTAINER_OF(v->patient.next, Question, link));
        while (!list_is_empty(&v->answered))
                question_free(CONTAINER_OF(v->answered.next, Question, link));
        drop_helper(v);
        drain_close(&v->drain, on_drain_closed);
        time_limit_close(&v->limit, on_limit_closed);
}
