// SPDX-License-Identifier: LGPL-2.1-or-later
//
// status and is-active: how units are, on which nodes.
//
//      names -> a request -> a response per unit -> text (status-text.h), JSON, or one word per unit
//
// status goes on after a unit that does not exist and returns the first bad exit code; is-active returns 0
// if any unit is active. Other failures: an exit code after its message.

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "ctl.h"
#include "json.h"
#include "map.h"
#include "message-of.h"
#include "quadlet.h"
#include "status-text.h"
#include "terminal.h"
#include "verbs.h"

typedef struct Status {
        Json json;
        size_t shown;
        int code; // of the first unit that is not active
} Status;

// Writes the values whose bit is set in `known` (argosy.proto); null without a control group.
static void json_usage(Json *j, const Argosy__Response__UsageRow *u) {
        const struct {
                uint32_t bit;
                const char *key;
                uint64_t value;
        } numbers[] = {{1, "cpu_us", u ? u->cpu_us : 0},
                       {2, "tasks", u ? u->tasks : 0},
                       {4, "memory", u ? u->memory : 0},
                       {8, "io_read", u ? u->io_read : 0},
                       {8, "io_written", u ? u->io_write : 0}};

        json_key(j, "usage");
        if (!u) {
                json_null(j);
                return;
        }
        json_begin(j, '{');
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++)
                if (u->known & numbers[i].bit) {
                        json_member_u64(j, numbers[i].key, numbers[i].value);
                }
        json_end(j, '}');
}

// The paths of a content's parts: of those that are volumes and networks of a container, or of the others.
static void json_parts(Json *j, const char *key, const Argosy__Response__Status *s, bool beside) {
        json_member_begin(j, key, '[');
        for (size_t i = 0; i < s->n_drop_ins; i++)
                if (quadlet_is_beside(s->drop_ins[i], strlen(s->drop_ins[i])) == beside)
                        json_string(j, s->drop_ins[i]);
        json_end(j, ']');
}

static void json_status(Json *j, const Argosy__Response__Status *s) {
        json_begin(j, '{');
        if (s->row) {
                const char *const pairs[][2] = {{"unit", s->row->unit},  {"node", s->row->node},
                                                {"load", s->row->load},  {"active", s->row->active},
                                                {"sub", s->row->sub},    {"rev", s->row->spec},
                                                {"error", s->row->error}};

                json_strings(j, pairs, ELEMENTSOF(pairs));
                json_member_bool(j, "drift", s->row->drift);
                json_member_bool(j, "stale", s->row->file_stale);
        }
        json_member_string(j, "desired", s->desired);
        json_member_u64(j, "revision", s->revision);
        if (s->job > 0) {
                json_member_u64(j, "job", s->job);
        }
        json_parts(j, "drop_ins", s, false);
        json_parts(j, "quadlet", s, true);
        json_member_begin(j, "files", '[');
        for (size_t i = 0; i < s->n_files; i++)
                json_string(j, s->files[i]);
        json_end(j, ']');
        json_member_string(j, "image", s->row ? s->row->image : "");
        json_member_string(j, "digest", s->row ? s->row->digest : "");
        json_member_string(j, "outcome", s->outcome);
        json_member_string(j, "why", s->why);
        json_member_begin(j, "refusals", '{');
        for (size_t i = 0; i < s->n_refusals; i++) {
                json_member_string(j, s->refusals[i]->node, s->refusals[i]->reason);
        }
        json_end(j, '}');
        json_member_begin(j, "properties", '{');
        for (size_t i = 0; i < s->n_properties; i++) {
                json_member_string(j, s->properties[i]->key, s->properties[i]->value);
        }
        json_end(j, '}');
        json_usage(j, s->usage);
        json_member_begin(j, "log", '[');
        for (size_t i = 0; i < s->n_log; i++)
                json_string(j, s->log[i]);
        json_end(j, ']');
        json_end(j, '}');
}

static int on_status(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Status *s = userdata;
        _cleanup_buf_ Buf text = {};
        int code, e;

        if (r->status != 0) {
                ctl_fail(ctl, "%s", status_text(r->status, r->message));
                code = r->status == ENOENT ? EXIT_UNKNOWN : EXIT_FAILED;
                s->code = s->code ?: code;
                return 0;
        }
        if (r->what_case != ARGOSY__RESPONSE__WHAT_STATUS_REPLY)
                return 0;
        code = status_exit_code(r->status_reply->row ? r->status_reply->row->active : "");
        s->code = s->code ?: code;
        if (ctl->opt.json != JSON_OFF) {
                json_status(&s->json, r->status_reply);
                return 0;
        }
        e = status_format(r->status_reply, &ctl->term.style, clock_wall_us(), &text);
        if (e < 0)
                return e;
        pager_open(&ctl->term);
        if (s->shown++ > 0)
                fputc('\n', ctl->term.out);
        fwrite(text.data, 1, text.len, ctl->term.out);
        return 0;
}

int verb_status(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__Status status = ARGOSY__REQUEST__STATUS__INIT;
        Argosy__Request request = REQUEST_OF(STATUS, status, &status);
        Status s = {.json = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY}};
        _cleanup_strv_ char **names = NULL;
        int code;

        code = ctl_names(ctl, args, n, NAMES_NO_TEMPLATES, &names, &status.n_names);
        if (code != EXIT_OK)
                return code;
        status.names = names;
        status.lines = ctl->opt.lines;
        code = ctl_ask_for_list(ctl, &s.json, &request, CALL_STATUS, on_status, &s);
        return code ?: s.code;
}

// ---- is-active

typedef struct UnitActive {
        const char *name; // borrowed
        char *state;      // NULL: no such unit
} UnitActive;

static int on_active(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        const Map *units = userdata;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_UNITS)
                return 0;
        for (size_t i = 0; i < r->units->n_rows; i++) {
                const Argosy__Response__UnitRow *row = r->units->rows[i];
                UnitActive *u = map_find_str(units, row->unit);
                char *state;

                if (!u)
                        continue;
                state = strdup(u->state ? active_state_of_two(u->state, row->active) : row->active);
                if (!state)
                        return -ENOMEM;
                free(u->state);
                u->state = state;
        }
        return 0;
}

static int ask_active(Ctl *ctl, char **names, size_t n, UnitActive *units, ActiveTally *tally) {
        Argosy__Request__ListUnits list = ARGOSY__REQUEST__LIST_UNITS__INIT;
        Argosy__Request request = REQUEST_OF(LIST_UNITS, list_units, &list);
        Map by_name = {};
        int code;

        for (size_t i = 0; i < n; i++) {
                units[i].name = names[i];
                if (map_add_str(&by_name, names[i], &units[i]) == -ENOMEM) {
                        map_done(&by_name);
                        return ctl_oom(ctl);
                }
        }
        list.patterns = names;
        list.n_patterns = n;
        code = ctl_ask(ctl, &request, 0, on_active, &by_name);
        map_done(&by_name);
        for (size_t i = 0; i < n && code == EXIT_OK; i++) {
                const char *state = units[i].state && *units[i].state ? units[i].state : "unknown";

                active_tally_add(tally, state);
                if (!ctl->opt.given[OPT_QUIET])
                        fprintf(ctl->term.out, "%s\n", state);
        }
        return code;
}

int verb_is_active(Ctl *ctl, char **args, size_t n) {
        _cleanup_strv_ char **names = NULL;
        ActiveTally tally = {};
        UnitActive *units;
        size_t n_names;
        int code;

        code = ctl_names(ctl, args, n, NAMES_NO_TEMPLATES, &names, &n_names);
        if (code != EXIT_OK)
                return code;
        if (n_names == 0)
                return EXIT_UNKNOWN;
        units = calloc(n_names, sizeof(UnitActive));
        if (!units)
                return ctl_oom(ctl);
        code = ask_active(ctl, names, n_names, units, &tally);
        for (size_t i = 0; i < n_names; i++)
                free(units[i].state);
        free(units);
        return code ?: active_tally_exit_code(&tally);
}
