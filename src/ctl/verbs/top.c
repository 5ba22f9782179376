// SPDX-License-Identifier: LGPL-2.1-or-later
//
// top: what units use, on a terminal drawn again and again, otherwise as tables or JSON one after the other.
//
// The daemon sends readings at the pace that was asked for, each node for itself, until we hang up; nothing
// here asks again and again. What is shown is the newest complete reading of every node. A table is due each
// `delay`, and waits a little for nodes that are late.

#include <errno.h>
#include <unistd.h>

#include "clock.h"
#include "ctl.h"
#include "fields.h"
#include "message-of.h"
#include "screen.h"
#include "str.h"
#include "terminal.h"
#include "verbs.h"

typedef struct Top {
        Ctl *ctl;
        char **patterns;
        size_t n_patterns;
        TopView view;
        const Field *fields[FIELDS_MAX];
        size_t n_fields;
        Screen screen;
        bool on_screen;
        TopOrder order;
        bool reverse;
        uint32_t delay_ms;
        unsigned shown, iterations; // 0: without end
        uint64_t due_us;            // when the next table is due; 0: at the first chance
        uint64_t late_us;           // and when it is shown without nodes that are late
        Patience patience;
        char notice[256]; // what is wrong, on the screen
        bool failed;
        bool warned; // that there is no leader
} Top;

enum {
        READINGS_FOR_RATES = 2,
        DRAW_MS = 100,   // shortest time between two tables on the screen
        SILENCE_SEC = 5, // more than three delays: then a node is no longer shown
};

// ---- showing

static int put_table(Top *t, const TopRow **rows, size_t n, const TextStyle *style, Buf *out) {
        bool legend = !t->ctl->opt.given[OPT_NO_LEGEND];
        Table table = {};
        int r = 0;

        for (size_t i = 0; i < t->n_fields; i++)
                table_add_column(&table, t->fields[i]->header, t->fields[i]->shrink, false);
        for (size_t k = 0; k < n && r == 0; k++)
                for (size_t i = 0; i < t->n_fields && r == 0; i++) {
                        _cleanup_buf_ Buf cell = {};
                        _cleanup_free_ char *text = NULL;

                        r = field_append(t->fields[i], rows[k], &cell);
                        text = r == 0 ? buf_take_string(&cell) : NULL;
                        r = text ? table_add(&table, text, COLOUR_NONE) : -ENOMEM;
                }
        if (r == 0)
                r = table_format(&table, style, legend, out);
        table_done(&table);
        return r;
}

static void print_json(Top *t, const TopRow **rows, size_t n) {
        Json j = {.f = t->ctl->term.out, .pretty = t->ctl->opt.json == JSON_PRETTY};

        json_begin(&j, '[');
        for (size_t k = 0; k < n; k++) {
                json_begin(&j, '{');
                for (size_t i = 0; i < t->n_fields; i++)
                        field_json(t->fields[i], rows[k], &j);
                json_end(&j, '}');
        }
        json_end(&j, ']');
        json_finish(&j);
}

static int print_batch(Top *t, const TopRow **rows, size_t n) {
        _cleanup_buf_ Buf text = {};
        int r;

        if (t->ctl->opt.json != JSON_OFF)
                print_json(t, rows, n);
        else {
                r = put_table(t, rows, n, &t->ctl->term.style, &text);
                if (r < 0)
                        return r;
                if (t->shown > 0)
                        fputc('\n', t->ctl->term.out);
                fwrite(text.data, 1, text.len, t->ctl->term.out);
        }
        return fflush(t->ctl->term.out) == 0 ? 0 : -ECANCELED; // the reader has closed it
}

static int put_notice(Top *t, const TextStyle *style, Buf *out) {
        int r = buf_printf(out, " - ");
        size_t width;

        if (r == 0)
                r = text_append_ellipsised(out, t->notice, t->screen.width / 2, style->utf8, &width);
        return r < 0 ? r : buf_printf(out, "\n");
}

static int draw(Top *t, const TopRow **rows, size_t n) {
        TextStyle style = t->ctl->term.style;
        _cleanup_buf_ Buf text = {};
        size_t nodes = top_view_n_nodes(&t->view);
        int r;

        style.width = t->screen.width;
        r = buf_printf(&text, "%zu unit%s on %zu node%s, by %s%s, every %.1f s", n, n == 1 ? "" : "s", nodes,
                       nodes == 1 ? "" : "s", top_order_to_string(t->order), t->reverse ? " (reversed)" : "",
                       t->delay_ms / 1000.0);
        if (r == 0)
                r = *t->notice ? put_notice(t, &style, &text)
                               : buf_printf(&text, "   keys: p t c m i r + - space q\n");
        // What finds no room on the screen is not made into text either.
        if (r == 0)
                r = put_table(t, rows, MIN_OF(n, (size_t) t->screen.height), &style, &text);
        if (r == 0)
                screen_draw(&t->screen, &text);
        return r;
}

static int show(Top *t) {
        _cleanup_free_ const TopRow **rows = NULL;
        size_t n;
        int r;

        r = top_view_rows(&t->view, t->order, t->reverse, &rows, &n);
        if (r < 0)
                return r;
        return t->on_screen ? draw(t, rows, n) : print_batch(t, rows, n);
}

// A table that is counted. The screen shows what there is; in print the first one waits for rates.
static int show_due(Top *t, bool late) {
        unsigned readings = t->on_screen || t->shown > 0 ? 1 : READINGS_FOR_RATES;
        uint64_t now = clock_boot_us();
        int r;

        if (now < t->due_us || top_view_n_nodes(&t->view) == 0)
                return 0;
        if (!late && top_view_n_fresh(&t->view, readings) < top_view_n_nodes(&t->view))
                return 0;
        r = show(t);
        if (r < 0)
                return r;
        t->shown++;
        top_view_mark(&t->view);
        t->due_us = now + (t->on_screen ? DRAW_MS : t->delay_ms * 9 / 10) * USEC_PER_MSEC;
        t->late_us = now + 2 * t->delay_ms * USEC_PER_MSEC;
        return t->iterations && t->shown >= t->iterations ? -ECANCELED : 0;
}

// ---- keys

static void change_delay(Top *t, bool longer) {
        uint32_t step = t->delay_ms < 1000 || (t->delay_ms == 1000 && !longer) ? DELAY_MS_MIN : 500;

        if (longer)
                t->delay_ms = MIN_OF(t->delay_ms + step, (uint32_t) DELAY_MS_MAX);
        else
                t->delay_ms = MAX_OF(t->delay_ms, (uint32_t) DELAY_MS_MIN + step) - step;
}

// 0: drawn anew; -ERESTART: the daemon is to be asked anew; -ECANCELED: the end.
static int on_key(Top *t, int key) {
        static const char order_keys[_TOP_ORDER_MAX] = {[TOP_BY_PATH] = 'p',
                                                        [TOP_BY_CPU] = 'c',
                                                        [TOP_BY_MEMORY] = 'm',
                                                        [TOP_BY_TASKS] = 't',
                                                        [TOP_BY_IO] = 'i'};

        switch (key) {
        case 'q':
        case SCREEN_END:
                return -ECANCELED;
        case SCREEN_STOP:
                client_disconnect(&t->ctl->client); // no readings while the process is stopped
                return screen_stop(&t->screen) < 0 ? -ECANCELED : -ERESTART;
        case 'r':
                t->reverse = !t->reverse;
                break;
        case '+':
        case '-':
                change_delay(t, key == '+');
                return -ERESTART;
        case ' ':
                return -ERESTART;
        default:
                for (TopOrder o = 0; o < _TOP_ORDER_MAX; o++)
                        if (order_keys[o] == key)
                                t->order = o;
        }
        return show(t);
}

static int on_keys(Top *t) {
        int key, r = 0, again = 0;

        while (r == 0 && (key = screen_next(&t->screen)) != SCREEN_NOTHING) {
                r = on_key(t, key);
                if (r == -ERESTART) {
                        again = r;
                        r = 0;
                }
        }
        return r ?: again;
}

// ---- asking

// What a daemon says that cannot answer, or a node that cannot. Printed, or shown on the screen.
static void complain(Top *t, const char *text) {
        if (t->on_screen)
                str_fit(t->notice, sizeof(t->notice), "%s", text);
        else
                ctl_fail(t->ctl, "%s", text);
}

// Without a leader the own host answers for its own units, until there is one again.
static void note_who_answers(Top *t, const Argosy__Response *r) {
        if (!r->no_leader)
                *t->notice = 0;
        else if (t->on_screen)
                complain(t, "no leader: only this host's units");
        else if (!t->warned) {
                ctl_warn(t->ctl, "no leader can be reached: only this host's units are shown");
                t->warned = true;
        }
}

static bool may_be_over_soon(const Argosy__Response *r) {
        return r->no_leader || r->status == EHOSTUNREACH || r->status == ECONNRESET || r->status == EAGAIN;
}

// 0: go on; 1: ask again in a while; negative: the end.
static int on_response(Top *t, const Argosy__Response *r) {
        int e;

        if (r->what_case == ARGOSY__RESPONSE__WHAT_USAGE) {
                note_who_answers(t, r);
                t->patience = (Patience){};
                e = top_view_take(&t->view, r->usage, clock_boot_us());
                if (e > 0)
                        e = show_due(t, false);
                return e < 0 ? e : r->final;
        }
        if (r->status == 0)
                return r->final;
        complain(t, status_text(r->status, r->message));
        if (!r->final)
                return 0;
        t->failed = !t->on_screen || !may_be_over_soon(r);
        return t->failed ? -ECANCELED : 1;
}

static int send_request(Top *t) {
        Argosy__Request__Top top = ARGOSY__REQUEST__TOP__INIT;
        Argosy__Request request = REQUEST_OF(TOP, top, &top);

        top.patterns = t->patterns;
        top.n_patterns = t->n_patterns;
        top.node = (char *) (t->ctl->opt.node ?: "");
        top.interval_ms = t->delay_ms;
        top.local = t->ctl->opt.given[OPT_LOCAL];
        return client_send(&t->ctl->client, &request, clock_boot_us() + ANSWER_SEC * USEC_PER_SEC);
}

// A node that went away while we were not connected is not named by anybody.
static void forget_silent(Top *t) {
        uint64_t now = clock_boot_us(), span = 3 * t->delay_ms * USEC_PER_MSEC + SILENCE_SEC * USEC_PER_SEC;

        if (now > span)
                top_view_forget(&t->view, now - span);
}

static int receive(Top *t) {
        Argosy__Response *response;
        uint64_t until = MIN_OF(t->ctl->deadline_us, t->late_us);
        int r = client_receive(&t->ctl->client, until, &response);

        if (r == 0) {
                r = on_response(t, response);
                argosy__response__free_unpacked(response, NULL);
                return r;
        }
        if (r == -EALREADY)
                return on_keys(t);
        if (r != -ETIMEDOUT || clock_boot_us() >= t->ctl->deadline_us)
                return r;
        forget_silent(t);
        t->late_us = clock_boot_us() + 2 * t->delay_ms * USEC_PER_MSEC;
        return show_due(t, true);
}

// One connection. 1: it ended and may come back.
static int ask(Top *t) {
        int r = send_request(t);

        top_view_begin(&t->view);
        t->late_us = clock_boot_us() + MAX_OF(2 * t->delay_ms, (uint32_t) TICK_MS) * USEC_PER_MSEC;
        while (r == 0)
                r = receive(t);
        client_disconnect(&t->ctl->client); // which also tells the daemon that nobody looks any more
        return r;
}

// Waits before asking again, with the keys alive. False: it is over.
static bool wait_a_little(Top *t, int *error) {
        uint64_t until = clock_boot_us() + TICK_MS * USEC_PER_MSEC;

        if (!t->on_screen)
                return ctl_try_again(t->ctl, &t->patience, error);
        (void) show(t);
        while ((*error = client_pause(&t->ctl->client, until)) == -EALREADY) {
                *error = on_keys(t);
                if (*error == -ECANCELED)
                        return false;
        }
        return true;
}

static int run(Top *t) {
        for (;;) {
                int r = ask(t);

                if (r == -ERESTART)
                        continue; // a key asked for it
                if (r == -ECANCELED)
                        return t->failed ? EXIT_FAILED : EXIT_OK;
                if (r == -ENOMEM)
                        return ctl_oom(t->ctl);
                if (r < 0 && !client_is_lost(&t->ctl->client, r)) {
                        t->failed = true;
                        complain(t, t->ctl->client.why);
                        return EXIT_FAILED;
                }
                if (r < 0 && t->on_screen)
                        complain(t, t->ctl->client.why);
                if (!wait_a_little(t, &r)) {
                        if (r == -ECANCELED)
                                return EXIT_OK;
                        return ctl_fail(t->ctl, "%s", t->ctl->client.why);
                }
        }
}

// On the screen if somebody watches.
static void begin(Top *t) {
        const CtlOptions *o = &t->ctl->opt;

        t->on_screen =
                t->ctl->term.out_tty && isatty(STDIN_FILENO) && o->json == JSON_OFF && !o->given[OPT_BATCH];
        t->iterations = o->iterations > 0 || t->ctl->term.out_tty ? o->iterations : 1;
        if (t->on_screen && screen_enter(&t->screen, STDIN_FILENO, STDOUT_FILENO) < 0)
                t->on_screen = false;
        if (t->on_screen)
                t->ctl->client.wake_fd = t->screen.wake_fd;
}

int verb_top(Ctl *ctl, char **args, size_t n) {
        Top t = {.ctl = ctl,
                 .order = ctl->opt.order,
                 .delay_ms = ctl->opt.delay_ms,
                 .screen = {.wake_fd = -1}};
        _cleanup_strv_ char **patterns = NULL;
        _cleanup_buf_ Buf why = {};
        int code;

        if (fields_select(&top_fields, ctl->opt.fields, ctl->opt.json != JSON_OFF, t.fields, &t.n_fields,
                          &why) < 0) {
                return ctl_usage(ctl, "%.*s", (int) why.len, (const char *) why.data);
        }
        code = ctl_patterns(ctl, args, n, &patterns, &t.n_patterns);
        if (code != EXIT_OK)
                return code;
        t.patterns = patterns;
        begin(&t);
        code = run(&t);
        ctl->client.wake_fd = -1;
        if (t.on_screen)
                screen_leave(&t.screen);
        if (t.on_screen && t.failed)
                ctl_fail(ctl, "%s", t.notice);
        top_view_done(&t.view);
        return code;
}
