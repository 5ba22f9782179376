// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rolling check: finds changes that no signal told of and no missing message number betrayed. A round
// takes check_period_us:
//
//   chunks  every now and then ListUnitsByNames of the next SYSTEMD_CHECK_CHUNK units that are believed
//           loaded. A name that is believed not loaded is never put there, since the question would load it;
//           if its kind of unit has no control group, GetUnit says whether it is in memory.
//   rest    at the end of a round, for those that are believed not loaded: one with a control group (read in
//           the pool) is up, and ListUnitsFiltered names the few that are in memory and down. Each of these
//           is asked for with GetUnit. A control group that is another one than a round ago means another
//           run: the unit is asked for its id.
//
// What an answer says is applied at once: it is true. If no signal tells of it within JUDGE_MS, one was
// lost: that is counted, logged with the unit's name, and a full sync begins. What was sent by then is read
// before, also by a process that stood still.
//
// A lost reply is found too: systemd answers in order, and nothing for check_answer_us is no answer.
//
// The check's own question loads a unit that had left memory unheard, and systemd tells of its coming and
// going again. That does not explain the difference, see `renewed`.

#include <errno.h>

#include "cgroup-path.h"
#include "clock.h"
#include "log.h"
#include "pool.h"
#include "systemd-manager-private.h"

enum {
        CHECK_TICK_MIN_MS = 1,
        JUDGE_MS = 1000,         // how far a signal may lag behind an answer
        JUDGE_AGAIN_MS = 10,     // when not all of those has been read
        CGROUPS_PER_TURN = 5000, // of those found, 0.2 us each
};

static uint64_t interval_ms(const SystemdManager *m) {
        size_t chunks = (m->units.count + SYSTEMD_CHECK_CHUNK - 1) / SYSTEMD_CHECK_CHUNK;

        return MAX_OF(m->check_period_us / 1000 / (chunks + 2), (uint64_t) CHECK_TICK_MIN_MS);
}

// ---- suspects

void manager_suspect(SystemdManager *m, SystemdUnit *w) {
        SystemdUnitWork *work = manager_work(m, w);
        uint64_t delay_ms;

        if (!work || list_is_linked(&work->suspect))
                return;
        list_append(&m->suspects, &work->suspect);
        delay_ms = MIN_OF((uint64_t) JUDGE_MS, interval_ms(m));
        m->judge_ms = uv_now(m->loop) + delay_ms;
        m->judge_read_us = clock_boot_us() + delay_ms * USEC_PER_MSEC;
        manager_arm_check(m);
}

void manager_clear_suspect(SystemdUnit *w) {
        w->renewed = false;
        if (!w->work)
                return;
        list_unlink(&w->work->suspect);
        manager_work_done(w);
}

// Those that are left were not explained by a signal in the meantime.
static void judge_suspects(SystemdManager *m) {
        bool lost = !list_is_empty(&m->suspects);

        while (!list_is_empty(&m->suspects)) {
                SystemdUnit *w = CONTAINER_OF(m->suspects.next, SystemdUnitWork, suspect)->unit;

                manager_clear_suspect(w);
                m->stats.discrepancies++;
                log_unit(LOG_WARNING, w->name, "systemd lost a signal: %s changed without one.", w->name);
        }
        if (lost)
                manager_sync(m, true);
}

static void judge(SystemdManager *m) {
        if (list_is_empty(&m->suspects) || bus_link_drained_us(m->link) >= m->judge_read_us) {
                judge_suspects(m);
                return;
        }
        bus_link_receive(m->link);
        m->judge_ms = uv_now(m->loop) + JUDGE_AGAIN_MS;
}

static void ask(SystemdManager *m, SystemdUnit *w, Want want) {
        SystemdUnitWork *work = w->known && !manager_wanted(w) ? manager_work(m, w) : NULL;

        if (!work)
                return;
        work->checking = true;
        m->stats.check_calls++;
        manager_want(m, w, want);
}

static void ask_whether_loaded(SystemdManager *m, SystemdUnit *w) {
        m->stats.check_names += w->known && !manager_wanted(w);
        ask(m, w, WANT_LOADED);
}

// ---- answers

static bool row_differs(SystemdManager *m, const UnitRuntime *rt, const UnitRow *row) {
        return rt->active != row->facts.active ||
               !streq(rt->sub, string_interner_get(&m->words, row->facts.sub));
}

static void take_row(SystemdManager *m, const UnitRow *row) {
        SystemdUnit *w = systemd_manager_find(m, row->name);

        if (!w || !w->known || !w->runtime.loaded)
                return;
        if (row_differs(m, &w->runtime, row) ||
            (!list_is_empty(&m->jobs_active) && manager_jobs_miss(m, w->name, row->job)))
                manager_suspect(m, w);
        if (manager_apply(m, w, &row->facts))
                manager_want(m, w, manager_wants_of_loaded(w));
}

static int take_chunk(SystemdManager *m, sd_bus_message *reply) {
        UnitRow row;
        int r;

        if (sd_bus_message_is_method_error(reply,
                                           NULL)) // e.g. too many units loaded: the next chunk comes anyway
                return 0;
        r = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");
        if (r < 0)
                return r;
        while ((r = message_read_row(reply, &row)) > 0)
                take_row(m, &row);
        return r;
}

// systemd answers in the order in which it was asked.
static void note_answer(SystemdManager *m, sd_bus_message *reply) {
        manager_received(m);
        if (m->n_received != m->check_number) // the reply to an earlier call was lost
                manager_fail(m, -ENOBUFS);
        m->check_open--;
        m->stats.check_wait_us += uv_hrtime() / 1000 - m->check_sent_us;
}

static int on_chunk(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdManager *m = userdata;
        uint64_t begin = uv_hrtime();
        int r;

        note_answer(m, reply);
        r = take_chunk(m, reply);
        m->stats.check_us += (uv_hrtime() - begin) / 1000;
        if (r < 0)
                manager_fail(m, r);
        return 1;
}

// Its rows are only looked through for names, later and in portions: by then they may be old.
static int on_resting(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        SystemdManager *m = userdata;
        int r = 0;

        note_answer(m, reply);
        if (!sd_bus_message_is_method_error(reply, NULL))
                r = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");
        if (r < 0)
                manager_fail(m, r);
        else if (r > 0)
                m->resting = sd_bus_message_ref(reply);
        return 1;
}

static void take_resting(SystemdManager *m) {
        UnitRow row;
        int r = 1;

        for (int i = 0; i < SYSTEMD_ROWS_PER_TURN; i++) {
                SystemdUnit *w;

                r = message_read_row(m->resting, &row);
                if (r <= 0)
                        break;
                w = systemd_manager_find(m, row.name);
                if (w && !w->runtime.loaded)
                        ask_whether_loaded(m, w);
        }
        if (r > 0) {
                drain_mark(&m->drain);
                return;
        }
        m->resting = sd_bus_message_unref(m->resting);
        if (r < 0)
                manager_fail(m, r);
}

// ---- control groups

void manager_walk_free(CheckWalk *walk) {
        if (!walk)
                return;
        unit_cgroups_done(&walk->found);
        free(walk->root);
        free(walk);
}

static void run_walk(PoolWork *work) {
        CheckWalk *walk = CONTAINER_OF(work, CheckWalk, work);
        uint64_t begin = uv_hrtime();
        char root[CGROUP_PATH_MAX];

        if (!walk->root)
                walk->error = cgroup_manager_root(walk->pid, root, sizeof(root));
        if (walk->error == 0)
                walk->error = unit_cgroups_list(walk->root ?: root, &walk->found);
        walk->took_us = (uv_hrtime() - begin) / 1000;
}

static void on_walked(PoolWork *work) {
        CheckWalk *walk = CONTAINER_OF(work, CheckWalk, work);
        SystemdManager *m = walk->manager;

        m->stats.check_us += walk->took_us;
        if (m->closing == OPEN && walk->error < 0) {
                log_debug("Cannot read the control groups of systemd's units: %s", strerror(-walk->error));
                m->no_cgroups = true; // until the next connection
        }
        m->walked = true;
        if (m->closing == OPEN)
                drain_mark(&m->drain);
        manager_unref(m);
}

static int start_walk(SystemdManager *m) {
        CheckWalk *walk = calloc(1, sizeof(*walk));

        if (!walk)
                return -ENOMEM;
        walk->manager = m;
        walk->pid = systemd_manager_pid(m);
        walk->root = m->cgroup_root ? strdup(m->cgroup_root) : NULL;
        if (m->cgroup_root && !walk->root) {
                manager_walk_free(walk);
                return -ENOMEM;
        }
        pool_add(m->loop, &walk->work, POOL_CLUSTER, run_walk, on_walked);
        manager_ref(m);
        m->walk = walk;
        m->walked = false;
        m->walk_at = 0;
        return 0;
}

static void take_cgroup(SystemdManager *m, SystemdUnit *w, uint32_t id) {
        bool other = w->cgroup != 0 && w->cgroup != id;

        w->cgroup = id;
        m->stats.check_names++;
        if (!w->runtime.loaded)
                ask_whether_loaded(m, w);
        else if (other)
                ask(m, w, WANT_INVOCATION);
}

static void take_walk(SystemdManager *m) {
        uint64_t begin = uv_hrtime();
        const char *name;
        uint32_t id;
        bool more = true;

        for (int i = 0; i < CGROUPS_PER_TURN && more; i++) {
                SystemdUnit *w;

                more = unit_cgroups_next(&m->walk->found, &m->walk_at, &name, &id);
                w = more ? systemd_manager_find(m, name) : NULL;
                if (w)
                        take_cgroup(m, w, id);
        }
        m->stats.check_us += (uv_hrtime() - begin) / 1000;
        if (more) {
                drain_mark(&m->drain);
                return;
        }
        manager_walk_free(m->walk);
        m->walk = NULL;
}

// ---- questions

static int send_chunk(SystemdManager *m, const char *const *names, size_t n) {
        sd_bus_message *call;
        int r = manager_new_list_call(m, names, n, &call);

        return r < 0 ? r : manager_send(m, call, on_chunk, m);
}

static int send_resting(SystemdManager *m) {
        sd_bus_message *call;
        int r;

        r = manager_new_call(m, "ListUnitsFiltered", &call);
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "as", 2, "inactive", "failed");
        if (r < 0) {
                sd_bus_message_unref(call);
                return r;
        }
        return manager_send(m, call, on_resting, m);
}

static void note_question(SystemdManager *m, int r, size_t n_names) {
        if (r < 0) {
                manager_fail(m, r);
                return;
        }
        m->check_open++;
        m->check_sent_us = uv_hrtime() / 1000;
        m->check_number = m->n_sent;
        m->stats.check_calls++;
        m->stats.check_names += n_names;
}

// The next unit of this round. The table may have changed since the last call, and then a walk through it
// may miss some: so it is walked again until there is nobody left.
static SystemdUnit *next_to_check(SystemdManager *m) {
        for (;;) {
                SystemdUnit *w;

                while ((w = systemd_manager_next(m, &m->check_at)))
                        if (w->checked != m->check_round) {
                                w->checked = m->check_round;
                                m->check_found = true;
                                return w;
                        }
                m->check_at = 0;
                if (!m->check_found)
                        return NULL;
                m->check_found = false;
        }
}

// Takes as many units as make up a chunk, and looks at those that no call can name. Returns the names of the
// chunk in `ret`; false if the round has no more units.
static bool next_chunk(SystemdManager *m, const char *ret[static SYSTEMD_CHECK_CHUNK], size_t *ret_n) {
        size_t n = 0, n_asked = 0;
        SystemdUnit *w;

        while (n < SYSTEMD_CHECK_CHUNK && n_asked < SYSTEMD_CHECK_CHUNK && (w = next_to_check(m))) {
                if (!w->known)
                        continue;
                if (w->runtime.loaded)
                        ret[n++] = w->name;
                else if (m->no_cgroups || !cgroup_is_for(w->name)) {
                        n_asked++;
                        ask_whether_loaded(m, w);
                }
        }
        *ret_n = n;
        return n + n_asked > 0;
}

static void begin_rest(SystemdManager *m) {
        m->check_rest = true;
        manager_jobs_suspect(m);
        note_question(m, send_resting(m), 0);
        if (!m->no_cgroups && !m->walk)
                (void) start_walk(m); // out of memory: the next round tries again
}

static void end_round(SystemdManager *m) {
        m->stats.checks++;
        m->check_rest = false;
        m->check_round = !m->check_round;
}

static void check_on(SystemdManager *m) {
        const char *names[SYSTEMD_CHECK_CHUNK];
        size_t n;

        if (m->check_open > 0 && uv_hrtime() / 1000 - m->check_sent_us > m->check_answer_us)
                manager_fail(m, -ETIMEDOUT); // its reply was lost
        if (m->check_open > 0 || m->resting || m->walk)
                return;
        if (m->check_rest)
                end_round(m);
        else if (next_chunk(m, names, &n)) {
                if (n > 0)
                        note_question(m, send_chunk(m, names, n), n);
        } else if (m->units.count > 0)
                begin_rest(m);
}

// ---- time

static void on_check(uv_timer_t *timer) {
        SystemdManager *m = timer->data;
        uint64_t begin = uv_hrtime();

        if (!m->synced) // the end of the sync starts it again
                return;
        if (uv_now(m->loop) >= m->judge_ms)
                judge(m);
        if (m->synced && !m->reloading && uv_now(m->loop) >= m->check_due_ms) {
                m->check_due_ms = uv_now(m->loop) + interval_ms(m);
                check_on(m);
        }
        m->stats.check_us += (uv_hrtime() - begin) / 1000;
        manager_arm_check(m);
        manager_flush(m);
}

// When there are suspects the timer fires earlier than the next part is due.
void manager_arm_check(SystemdManager *m) {
        uint64_t now = uv_now(m->loop), due;

        if (m->closing != OPEN)
                return;
        if (!uv_is_active((uv_handle_t *) &m->check) && m->check_due_ms <= now)
                m->check_due_ms = now + interval_ms(m);
        due = m->check_due_ms > now ? m->check_due_ms - now : 0;
        if (!list_is_empty(&m->suspects))
                due = MIN_OF(due, m->judge_ms > now ? m->judge_ms - now : 0);
        if (!uv_is_active((uv_handle_t *) &m->check) || uv_timer_get_due_in(&m->check) > due)
                uv_timer_start(&m->check, on_check, due, 0);
}

void manager_hasten_check(SystemdManager *m) {
        if (m->closing != OPEN || !uv_is_active((uv_handle_t *) &m->check))
                return;
        m->check_due_ms = MIN_OF(m->check_due_ms, uv_now(m->loop) + interval_ms(m));
        manager_arm_check(m);
}

void manager_check_step(SystemdManager *m) {
        if (m->walk && m->walked)
                take_walk(m);
        if (m->resting && m->link)
                take_resting(m);
}

void manager_check_lost(SystemdManager *m) {
        m->resting = sd_bus_message_unref(m->resting);
        m->check_open = 0;
        m->check_rest = m->no_cgroups = false;
        while (!list_is_empty(&m->suspects))
                manager_clear_suspect(CONTAINER_OF(m->suspects.next, SystemdUnitWork, suspect)->unit);
}
