// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which units systemd would stop with one. A survey walks along the dependents (stop-propagation.h): five
// properties of each that is up, then the states of those that are new in one ListUnitsByNames. All of them
// are in systemd's memory, since only loaded units have dependents there, so nothing is loaded for it: 40 us
// of systemd for a unit without any.
//
// What systemd does not answer is not known: a property that this systemd does not have names no unit. A
// lost connection ends the survey with -ECONNRESET; the caller asks again.

#include <errno.h>

#include "stop-propagation.h"
#include "systemd-manager-private.h"

enum { SURVEYS_MAX = 4 };

typedef struct StopSurvey {
        ListNode link; // in surveys_waiting, surveys_sent, surveys_finished
        SystemdManager *manager;
        StopPropagation found;
        unsigned n_open; // properties that are asked for and not answered
        size_t n_unknown; // states likewise
        int error;
        SystemdStoppedWith done;
        void *userdata;
} StopSurvey;

typedef struct StopQuestion {
        StopSurvey *survey;
        const StopKind *kind;
} StopQuestion;

static void survey_step(StopSurvey *s);

int systemd_manager_stopped_with(SystemdManager *m, const char *name, SystemdStoppedWith done,
                                 void *userdata) {
        StopSurvey *s;
        int r;

        if (m->closing != OPEN)
                return -ESHUTDOWN;
        s = calloc(1, sizeof(*s));
        if (!s)
                return -ENOMEM;
        s->manager = m;
        s->done = done;
        s->userdata = userdata;
        r = stop_propagation_init(&s->found, name);
        if (r < 0) {
                free(s);
                return r;
        }
        list_append(&m->surveys_waiting, &s->link);
        drain_mark(&m->drain);
        return 0;
}

static void finish(StopSurvey *s, int error) {
        s->error = error;
        list_unlink(&s->link);
        list_append(&s->manager->surveys_finished, &s->link);
        drain_mark(&s->manager->drain);
}

// ---- properties

static int take_names(StopSurvey *s, const StopKind *kind, sd_bus_message *reply) {
        const char *name;
        int r = sd_bus_message_enter_container(reply, 'v', "as");

        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'a', "s");
        while (r >= 0 && (r = sd_bus_message_read(reply, "s", &name)) > 0)
                r = stop_propagation_add(&s->found, kind, name);
        return r;
}

static int on_names(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        StopQuestion *q = userdata;
        StopSurvey *s = q->survey;
        int r = 0;

        manager_received(s->manager);
        s->n_open--;
        if (!sd_bus_message_is_method_error(reply, NULL))
                r = take_names(s, q->kind, reply);
        if (r < 0 && s->error == 0)
                s->error = r;
        if (s->n_open == 0)
                survey_step(s);
        return 1;
}

static int ask_names(StopSurvey *s, const char *unit, const StopKind *kind) {
        SystemdManager *m = s->manager;
        StopQuestion *q = malloc(sizeof(*q));
        sd_bus_message *call;
        int r;

        if (!q)
                return -ENOMEM;
        *q = (StopQuestion){s, kind};
        r = manager_new_property_call(m, unit, SYSTEMD_UNIT, kind->property, &call);
        if (r >= 0)
                r = manager_send_owned(m, call, on_names, q);
        if (r < 0) {
                free(q);
                return r;
        }
        s->n_open++;
        return 0;
}

// ---- states

static int on_states(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        StopSurvey *s = userdata;
        const char *names[SYSTEMD_CHECK_CHUNK];
        size_t n = stop_propagation_unknown(&s->found, names, s->n_unknown);
        UnitRow row;
        int r = 1;

        manager_received(s->manager);
        if (!sd_bus_message_is_method_error(reply, NULL))
                r = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");
        for (size_t i = 0; i < n; i++) { // a row for each name, in their order
                if (r > 0)
                        r = message_read_row(reply, &row);
                stop_propagation_state(&s->found, names[i],
                                       r > 0 && row.facts.active != ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN
                                               ? row.facts.active
                                               : ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        }
        if (r < 0 && s->error == 0)
                s->error = r;
        survey_step(s);
        return 1;
}

static int ask_states(StopSurvey *s, const char *const *names, size_t n) {
        sd_bus_message *call;
        int r = manager_new_list_call(s->manager, names, n, &call);

        s->n_unknown = n;
        return r < 0 ? r : manager_send(s->manager, call, on_states, s);
}

// ---- the walk

static void survey_step(StopSurvey *s) {
        const char *names[SYSTEMD_CHECK_CHUNK], *unit;
        size_t n = stop_propagation_unknown(&s->found, names, SYSTEMD_CHECK_CHUNK);
        int r = s->error;

        if (r == 0 && n > 0) {
                r = ask_states(s, names, n);
        } else if (r == 0 && (unit = stop_propagation_next(&s->found))) {
                for (size_t i = 0; i < STOP_KINDS && r >= 0; i++)
                        r = ask_names(s, unit, &stop_kinds[i]);
        } else {
                finish(s, r);
                return;
        }
        if (r < 0)
                manager_fail(s->manager, r); // which ends the survey
}

static size_t count_sent(const SystemdManager *m) {
        size_t n = 0;

        list_foreach (l, &m->surveys_sent)
                n++;
        return n;
}

void manager_pump_stops(SystemdManager *m) {
        for (size_t n = count_sent(m); n < SURVEYS_MAX && m->link && !list_is_empty(&m->surveys_waiting);
             n++) {
                StopSurvey *s = CONTAINER_OF(m->surveys_waiting.next, StopSurvey, link);

                list_unlink(&s->link);
                list_append(&m->surveys_sent, &s->link);
                survey_step(s);
        }
}

void manager_stops_lost(SystemdManager *m) {
        list_foreach_safe (n, &m->surveys_sent)
                finish(CONTAINER_OF(n, StopSurvey, link), -ECONNRESET);
        list_foreach_safe (n, &m->surveys_waiting)
                finish(CONTAINER_OF(n, StopSurvey, link), -ECONNRESET);
}

static void notify(StopSurvey *s) {
        _cleanup_free_ SystemdDependent *list = NULL;
        int n = s->error < 0 ? s->error : stop_propagation_list(&s->found, &list);

        list_unlink(&s->link);
        s->done(MIN_OF(n, 0), list, (size_t) MAX_OF(n, 0), s->userdata);
        stop_propagation_done(&s->found);
        free(s);
}

void manager_stops_notify(SystemdManager *m) {
        while (!list_is_empty(&m->surveys_finished) && m->closing == OPEN)
                notify(CONTAINER_OF(m->surveys_finished.next, StopSurvey, link));
}

void manager_stops_abandon(SystemdManager *m) {
        list_splice(&m->surveys_finished, &m->surveys_sent);
        list_splice(&m->surveys_finished, &m->surveys_waiting);
        while (!list_is_empty(&m->surveys_finished)) {
                StopSurvey *s = CONTAINER_OF(m->surveys_finished.next, StopSurvey, link);

                s->error = -ECANCELED;
                notify(s);
        }
}
