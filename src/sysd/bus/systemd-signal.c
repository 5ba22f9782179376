// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What we read of a PropertiesChanged, by interface (man 5 org.freedesktop.systemd1):
//
//   org.freedesktop.systemd1.Unit      ActiveState, SubState, InvocationID, the four times of the last
//                                      changes of
//                                      ActiveState, Job, and what came of its conditions
//   org.freedesktop.systemd1.Service   Result, NRestarts, how its main process has ended, and since systemd
//                                      256 when that began with its program
//   Socket, Timer, Path, Mount, Automount, Swap   Result
//
// systemd sends the type's message first and the Unit's behind it, so a Result is known when the ActiveState
// changes.

#include "systemd-signal.h"

#include <errno.h>
#include <string.h>

#include "systemd-message.h"
#include "unit-state.h"

// A variant that must be of this type.
static void expect(BusReader *r, const char *type) {
        if (!streq(bus_read_signature(r), type))
                r->error = -EBADMSG;
}

// A word of systemd's: it is shown to people, and may come from a stranger's.
static const char *read_word(BusReader *r) {
        const char *word;

        expect(r, "s");
        word = bus_read_string(r);
        for (const char *p = word; *p; p++)
                if (*p <= ' ' || *p > '~')
                        r->error = -EBADMSG;
        return word;
}

static void read_active(BusReader *r, int argument, UnitFacts *ret) {
        ret->active = active_state_from_string(read_word(r));
        ret->has |= UNIT_FACT_ACTIVE;
}

static void read_sub(BusReader *r, int argument, UnitFacts *ret) {
        ret->sub = read_word(r);
        ret->has |= UNIT_FACT_SUB;
}

static void read_result(BusReader *r, int argument, UnitFacts *ret) {
        ret->result = read_word(r);
        ret->has |= UNIT_FACT_RESULT;
}

// 16 bytes, or none for a unit that never ran.
static void read_invocation(BusReader *r, int argument, UnitFacts *ret) {
        size_t end;

        expect(r, "ay");
        end = bus_read_array(r, 'y');
        memset(ret->invocation_id, 0, sizeof(ret->invocation_id));
        if (r->error == 0 && end - r->at == sizeof(ret->invocation_id))
                memcpy(ret->invocation_id, r->data + r->at, sizeof(ret->invocation_id));
        else if (end != r->at)
                r->error = -EBADMSG;
        r->at = end;
        ret->has |= UNIT_FACT_INVOCATION;
}

static void read_time(BusReader *r, int argument, UnitFacts *ret) {
        expect(r, "t");
        ret->times[argument] = bus_read_u64(r);
}

static void read_exec(BusReader *r, int argument, UnitFacts *ret) {
        read_time(r, argument, ret);
        ret->has |= UNIT_FACT_EXEC;
}

static void read_restarts(BusReader *r, int argument, UnitFacts *ret) {
        expect(r, "u");
        ret->n_restarts = bus_read_u32(r);
        ret->has |= UNIT_FACT_RESTARTS;
}

static void read_job(BusReader *r, int argument, UnitFacts *ret) {
        expect(r, "(uo)");
        bus_read_align(r, 8);
        ret->job = bus_read_u32(r);
        (void) bus_read_string(r); // its path
        ret->has |= UNIT_FACT_JOB;
}

static void read_condition(BusReader *r, int argument, UnitFacts *ret) {
        expect(r, "b");
        ret->condition = bus_read_u32(r) != 0;
        ret->has |= UNIT_FACT_CONDITION;
}

static void read_exit(BusReader *r, int argument, UnitFacts *ret) {
        expect(r, "i");
        ret->exit_code = bus_read_u32(r);
        ret->has |= UNIT_FACT_EXIT;
}

typedef struct Property {
        const char *name;
        size_t len;
        void (*read)(BusReader *r, int argument, UnitFacts *ret);
        int argument;
        bool optional; // not every version has it, and it stands before others that are read
} Property;

#define NAME(name) name, sizeof(name) - 1

static const Property unit_properties[] = {
        {NAME("ActiveState"), read_active, 0},
        {NAME("SubState"), read_sub, 0},
        {NAME("InvocationID"), read_invocation, 0},
        {NAME("ActiveEnterTimestamp"), read_time, UNIT_TIME_ACTIVE_ENTER},
        {NAME("ActiveExitTimestamp"), read_time, UNIT_TIME_ACTIVE_EXIT},
        {NAME("InactiveEnterTimestamp"), read_time, UNIT_TIME_INACTIVE_ENTER},
        {NAME("InactiveExitTimestamp"), read_time, UNIT_TIME_INACTIVE_EXIT},
        {NAME("Job"), read_job, 0},
        {NAME("ConditionResult"), read_condition, 0},
        {NAME("ConditionTimestamp"), read_time, UNIT_TIME_CONDITION},
};
static const Property type_properties[] = {
        {NAME("Result"), read_result, 0},
        {NAME("NRestarts"), read_restarts, 0}, // this and what follows: only a service has it
        {NAME("ExecMainHandoffTimestamp"), read_exec, UNIT_TIME_EXEC, true},
        {NAME("ExecMainCode"), read_exit, 0},
};

static size_t count_certain(const Property *properties, size_t n) {
        size_t count = 0;

        for (size_t i = 0; i < n; i++)
                count += !properties[i].optional;
        return count;
}

static const Property *find_property(const Property *properties, size_t n, const char *name, size_t len) {
        for (size_t i = 0; i < n; i++)
                if (len == properties[i].len && memcmp(name, properties[i].name, len) == 0)
                        return &properties[i];
        return NULL;
}

int signal_read_changes(BusSignal *signal, UnitFacts *ret) {
        BusReader *r = &signal->body;
        const Property *properties;
        const char *interface;
        size_t n, n_left, end;

        *ret = (UnitFacts){};
        interface = bus_read_string(r);
        if (streq(interface, SYSTEMD_UNIT)) {
                properties = unit_properties;
                n = ELEMENTSOF(unit_properties);
        } else if (interface_has_result(interface)) {
                properties = type_properties;
                n = streq(interface, SYSTEMD_SERVICE) ? ELEMENTSOF(type_properties) : 1;
        } else
                return r->error;
        end = bus_read_array(r, '{');
        // of an interface's properties only the front is read: what we want stands there
        for (n_left = count_certain(properties, n); r->error == 0 && r->at < end && n_left > 0;) {
                size_t len;
                const char *name = bus_read_key(r, &len);
                const Property *p = find_property(properties, n, name, len);

                if (p)
                        p->read(r, p->argument, ret);
                else
                        bus_skip_variant(r);
                n_left -= p && !p->optional;
        }
        return r->error < 0 || r->at > end ? -EBADMSG : 0;
}
