// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a fake systemd answers.
#include "clock.h"
#include "fake-systemd-private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"

// ---- method calls

static sd_bus_message *reply_new(sd_bus_message *call) {
        sd_bus_message *reply;

        fake_must(sd_bus_message_new_method_return(call, &reply));
        return reply;
}

static void reply_error(FakeSystemd *f, sd_bus_message *call, const char *name, const char *format,
                        const char *arg) {
        sd_bus_message *reply;

        fake_must(sd_bus_message_new_method_errorf(call, &reply, name, format, arg));
        fake_systemd_send(f, reply);
}

static void append_row(FakeSystemd *f, sd_bus_message *reply, const FakeUnit *u) {
        _cleanup_free_ char *path = fake_unit_path(u->name);
        char job[64];

        snprintf(job, sizeof(job), PATH "/job/%u", u->job);
        fake_must(sd_bus_message_append(reply, "(ssssssouso)", u->name, "a unit", fake_unit_load_word(f, u),
                                        u->active, u->sub, "", path, u->job, u->job ? u->job_type : "",
                                        u->job ? job : "/"));
}

static void do_list_units(FakeSystemd *f, sd_bus_message *call) {
        sd_bus_message *reply = reply_new(call);

        fake_must(sd_bus_message_open_container(reply, 'a', "(ssssssouso)"));
        map_foreach (slot, &f->units) {
                const FakeUnit *u = slot->value;

                if (u->loaded)
                        append_row(f, reply, u);
        }
        fake_must(sd_bus_message_close_container(reply));
        fake_systemd_send(f, reply);
}

static void do_list_filtered(FakeSystemd *f, sd_bus_message *call) {
        sd_bus_message *reply = reply_new(call);
        bool inactive = false, failed = false;
        const char *state;

        fake_must(sd_bus_message_enter_container(call, 'a', "s"));
        while (sd_bus_message_read(call, "s", &state) > 0) {
                inactive |= streq(state, "inactive");
                failed |= streq(state, "failed");
        }
        fake_must(sd_bus_message_open_container(reply, 'a', "(ssssssouso)"));
        map_foreach (slot, &f->units) {
                const FakeUnit *u = slot->value;

                if (u->loaded &&
                    ((inactive && streq(u->active, "inactive")) || (failed && streq(u->active, "failed"))))
                        append_row(f, reply, u);
        }
        fake_must(sd_bus_message_close_container(reply));
        fake_systemd_send(f, reply);
}

static void do_list_by_names(FakeSystemd *f, sd_bus_message *call) {
        sd_bus_message *reply = reply_new(call);
        const char *name;

        fake_must(sd_bus_message_enter_container(call, 'a', "s"));
        fake_must(sd_bus_message_open_container(reply, 'a', "(ssssssouso)"));
        while (sd_bus_message_read(call, "s", &name) > 0) {
                FakeUnit *u = fake_unit_get(f, name);

                fake_unit_load(f, u);
                append_row(f, reply, u);
        }
        fake_must(sd_bus_message_close_container(reply));
        fake_systemd_send(f, reply);
        fake_must(sd_bus_message_rewind(call, true));
        fake_must(sd_bus_message_enter_container(call, 'a', "s"));
        while (sd_bus_message_read(call, "s", &name) > 0)
                fake_unit_collect(f, fake_unit_get(f, name));
}

static void do_get_unit(FakeSystemd *f, sd_bus_message *call, bool loads) {
        _cleanup_free_ char *path = NULL;
        const char *name;

        fake_must(sd_bus_message_read(call, "s", &name));
        FakeUnit *u = fake_unit_get(f, name);
        if (!loads && !u->loaded) {
                reply_error(f, call, NAME ".NoSuchUnit", "Unit %s not loaded.", name);
                return;
        }
        fake_unit_load(f, u);
        path = fake_unit_path(name);
        sd_bus_message *reply = reply_new(call);
        fake_must(sd_bus_message_append(reply, "o", path));
        fake_systemd_send(f, reply);
        fake_unit_collect(f, u);
}

static void cancel_job(FakeSystemd *f, FakeUnit *u) {
        if (u->job)
                fake_unit_job_end(f, u, "canceled");
}

static void do_job(FakeSystemd *f, sd_bus_message *call, const char *type) {
        const char *name;
        char path[64];

        fake_must(sd_bus_message_read(call, "s", &name));
        FakeUnit *u = fake_unit_get(f, name);
        fake_unit_load(f, u);
        if (streq(type, "stop")
                    ? streq(fake_unit_load_word(f, u), "not-found") && streq(u->active, "inactive")
                    : !streq(fake_unit_load_word(f, u), "loaded") && !streq(u->active, "active")) {
                bool missing = streq(fake_unit_load_word(f, u), "not-found");

                reply_error(f, call, missing ? NAME ".NoSuchUnit" : NAME ".BadUnitSetting",
                            missing ? "Unit %s not found." : "Unit %s has a bad unit file setting.", name);
                fake_unit_collect(f, u);
                return;
        }
        if (u->behaviour == FAKE_REFUSES && !streq(type, "stop")) {
                _cleanup_free_ char *long_name = calloc(1, strlen(name) + f->complaint_bytes + 1);

                memset(strcpy(long_name, name) + strlen(name), 'x', f->complaint_bytes);
                reply_error(f, call, NAME ".OnlyByDependency",
                            "Operation refused, unit %s may be requested by dependency only.", long_name);
                fake_unit_collect(f, u);
                return;
        }
        cancel_job(f, u);
        u->job = ++f->last_job;
        f->n_jobs++;
        f->jobs_peak = MAX_OF(f->jobs_peak, f->n_jobs);
        snprintf(u->job_type, sizeof(u->job_type), "%s", type);
        fake_emit_job(f, u->job, name, "JobNew", NULL);
        snprintf(path, sizeof(path), PATH "/job/%u", u->job);
        sd_bus_message *reply = reply_new(call);
        fake_must(sd_bus_message_append(reply, "o", path));
        if (f->early)
                fake_unit_run_job(f, u);
        fake_systemd_send(f, reply);
        if (!f->early)
                fake_unit_run_job(f, u);
}

static void do_reset_failed(FakeSystemd *f, sd_bus_message *call) {
        const char *name;

        fake_must(sd_bus_message_read(call, "s", &name));
        FakeUnit *u = fake_unit_get(f, name);
        if (!u->loaded) {
                reply_error(f, call, NAME ".NoSuchUnit", "Unit %s not loaded.", name);
                return;
        }
        if (streq(u->active, "failed"))
                fake_unit_change(f, u, "inactive", "dead", NULL);
        fake_systemd_send(f, reply_new(call));
        fake_unit_collect(f, u);
}

static void do_reload(FakeSystemd *f, sd_bus_message *call) {
        fake_systemd_reload_begin(f);
        fake_systemd_reload_end(f);
        fake_systemd_send(f, reply_new(call));
}

static void append_bytes_variant(sd_bus_message *reply, const uint8_t bytes[16]) {
        fake_must(sd_bus_message_open_container(reply, 'v', "ay"));
        fake_must(sd_bus_message_append_array(reply, 'y', bytes, 16));
        fake_must(sd_bus_message_close_container(reply));
}

static bool is_list(const char *property) {
        static const char *const lists[] = {"RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf"};

        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                if (streq(property, lists[i]))
                        return true;
        return false; // it is too old for PropagatesStopTo
}

static void append_list(sd_bus_message *reply, const FakeUnit *u, const char *property) {
        fake_must(sd_bus_message_open_container(reply, 'v', "as"));
        fake_must(sd_bus_message_open_container(reply, 'a', "s"));
        for (size_t i = 0; i < ELEMENTSOF(u->lists); i++) {
                char names[128], *save = NULL;

                if (!streq(u->lists[i].property, property))
                        continue;
                strcpy(names, u->lists[i].names);
                for (char *name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save))
                        fake_must(sd_bus_message_append(reply, "s", name));
        }
        fake_must(sd_bus_message_close_container(reply));
        fake_must(sd_bus_message_close_container(reply));
}

static void do_get(FakeSystemd *f, sd_bus_message *call) {
        sd_bus_message *reply = reply_new(call);
        const char *property;
        _cleanup_free_ char *name = NULL;
        FakeUnit *u = NULL;

        fake_must(sd_bus_message_read(call, "ss", NULL, &property));
        if (sd_bus_path_decode(sd_bus_message_get_path(call), PATH "/unit", &name) > 0) {
                u = fake_unit_get(f, name);
                fake_unit_load(f, u);
        }
        if (streq(property, "SystemState"))
                fake_must(sd_bus_message_append(reply, "v", "s", f->stopping ? "stopping" : "running"));
        else if (u && streq(property, "InvocationID"))
                append_bytes_variant(reply, u->invocation);
        else if (u && streq(property, "InactiveEnterTimestamp"))
                fake_must(sd_bus_message_append(reply, "v", "t", u->since_us));
        else if (u && streq(property, "StateChangeTimestamp"))
                fake_must(sd_bus_message_append(reply, "v", "t", u->changed_us));
        else if (u && streq(property, "NeedDaemonReload"))
                fake_must(sd_bus_message_append(reply, "v", "b", u->file != fake_unit_file(f, u->name)));
        else if (u && streq(property, "Result"))
                fake_must(sd_bus_message_append(reply, "v", "s", u->result));
        else if (u && streq(property, "NRestarts"))
                fake_must(sd_bus_message_append(reply, "v", "u", u->n_restarts));
        else if (u && streq(property, "ActiveEnterTimestamp"))
                fake_must(sd_bus_message_append(reply, "v", "t", u->since_us));
        else if (u && streq(property, "ControlGroup"))
                fake_must(sd_bus_message_append(reply, "v", "s",
                                                streq(u->active, "active") ? "/system.slice/it" : ""));
        else if (u && is_list(property))
                append_list(reply, u, property);
        else if (u && streq(property, "LoadError")) {
                bool bad = streq(fake_unit_load_word(f, u), "bad-setting");

                fake_must(sd_bus_message_append(reply, "v", "(ss)", bad ? NAME ".BadUnitSetting" : "",
                                                bad ? "Unit has a bad unit file setting." : ""));
        } else {
                sd_bus_message_unref(reply);
                reply_error(f, call, "org.freedesktop.DBus.Error.UnknownProperty", "Unknown property %s",
                            property);
                reply = NULL;
        }
        if (reply)
                fake_systemd_send(f, reply);
        if (u)
                fake_unit_collect(f, u);
}

static void append_ties(sd_bus_message *reply, const FakeUnit *u) {
        uint64_t ago_us = clock_wall_us() - u->since_us;

        fake_must(sd_bus_message_append(
                reply, "{sv}{sv}", "InactiveEnterTimestampMonotonic", "t",
                streq(u->active, "inactive") && u->since_us > 0 ? clock_monotonic_us() - ago_us : 0, "Job",
                "(uo)", u->job, "/"));
        for (size_t i = 0; i < ELEMENTSOF(u->lists) && *u->lists[i].property; i++) {
                fake_must(sd_bus_message_open_container(reply, 'e', "sv"));
                fake_must(sd_bus_message_append(reply, "s", u->lists[i].property));
                append_list(reply, u, u->lists[i].property);
                fake_must(sd_bus_message_close_container(reply));
        }
}

static void do_get_all(FakeSystemd *f, sd_bus_message *call) {
        sd_bus_message *reply = reply_new(call);
        _cleanup_free_ char *name = NULL;

        if (sd_bus_path_decode(sd_bus_message_get_path(call), PATH "/unit", &name) <= 0)
                abort();
        FakeUnit *u = fake_unit_get(f, name);
        fake_unit_load(f, u);
        fake_must(sd_bus_message_open_container(reply, 'a', "{sv}"));
        fake_must(sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}{sv}", "Id", "s", u->name, "ActiveState",
                                        "s", u->active, "LoadState", "s", fake_unit_load_word(f, u),
                                        "SubState", "s", u->sub, "Result", "s", u->result));
        fake_must(sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}{sv}", "MainPID", "u", 4711, "MemoryCurrent",
                                        "t", UINT64_MAX, "ActiveEnterTimestamp", "t", UINT64_C(0),
                                        "TimeoutStartUSec", "t", UINT64_C(90000000), "NeedDaemonReload", "b",
                                        0));
        fake_must(sd_bus_message_append(reply, "{sv}{sv}{sv}", "After", "as", 2, "a.target", "b.target",
                                        "LoadError", "(ss)", "", "", "LimitNOFILE", "t", UINT64_MAX));
        fake_must(sd_bus_message_open_container(reply, 'e', "sv"));
        fake_must(sd_bus_message_append(reply, "s", "InvocationID"));
        append_bytes_variant(reply, u->invocation);
        fake_must(sd_bus_message_close_container(reply));
        append_ties(reply, u);
        fake_must(sd_bus_message_close_container(reply));
        fake_systemd_send(f, reply);
        fake_unit_collect(f, u);
}

static void count(FakeSystemd *f, const char *member) {
        Count *c = map_find_str(&f->counts, member);

        if (!c) {
                c = calloc(1, sizeof(*c));
                if (!c)
                        abort();
                snprintf(c->member, sizeof(c->member), "%s", member);
                fake_must(map_add_str(&f->counts, c->member, c));
        }
        c->n++;
}

int fake_on_message(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        FakeSystemd *f = userdata;
        const char *member = sd_bus_message_get_member(call);
        uint8_t type;

        fake_must(sd_bus_message_get_type(call, &type));
        if (type != SD_BUS_MESSAGE_METHOD_CALL || f->cut)
                return 1;
        count(f, member);
        if (streq(member, "Subscribe"))
                fake_systemd_send(f, reply_new(call));
        else if (streq(member, "ListUnits"))
                do_list_units(f, call);
        else if (streq(member, "ListUnitsFiltered"))
                do_list_filtered(f, call);
        else if (streq(member, "ListUnitsByNames"))
                do_list_by_names(f, call);
        else if (streq(member, "GetUnit") || streq(member, "LoadUnit"))
                do_get_unit(f, call, streq(member, "LoadUnit"));
        else if (streq(member, "StartUnit"))
                do_job(f, call, "start");
        else if (streq(member, "StopUnit"))
                do_job(f, call, "stop");
        else if (streq(member, "RestartUnit"))
                do_job(f, call, "restart");
        else if (streq(member, "ResetFailedUnit"))
                do_reset_failed(f, call);
        else if (streq(member, "Reload"))
                do_reload(f, call);
        else if (streq(member, "Get"))
                do_get(f, call);
        else if (streq(member, "GetAll"))
                do_get_all(f, call);
        else
                reply_error(f, call, "org.freedesktop.DBus.Error.UnknownMethod", "Unknown method %s",
                            member);
        return 1;
}
