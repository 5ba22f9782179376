// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What we read of a PropertiesChanged, by interface (man 5 org.freedesktop.systemd1):
//
//   org.freedesktop.systemd1.Unit      ActiveState, SubState, InvocationID, and the four times of the last
//                                      changes of ActiveState
//   org.freedesktop.systemd1.Service   Result; likewise Socket, Timer, Path, Mount, Automount, Swap
//
// systemd sends the type's message first and the Unit's behind it, so a Result is known when the ActiveState
// changes.

#include <errno.h>

#include "systemd-message.h"
#include "unit-state.h"

#define UNIT_PATH_PREFIX SYSTEMD_PATH "/unit/"
#define JOB_PATH_PREFIX SYSTEMD_PATH "/job/"

static int hex_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return -1;
}

bool unit_path_decode(const char *path, char ret_name[UNIT_NAME_MAX + 1]) {
        size_t n = 0;

        if (strncmp(path, UNIT_PATH_PREFIX, strlen(UNIT_PATH_PREFIX)) != 0)
                return false;
        for (const char *p = path + strlen(UNIT_PATH_PREFIX); *p; p++) {
                char c = *p;

                if (n >= UNIT_NAME_MAX)
                        return false;
                if (c == '_') {
                        int high = hex_digit(p[1]), low = high < 0 ? -1 : hex_digit(p[2]);

                        if (low < 0)
                                return false;
                        c = (char) (high << 4 | low);
                        p += 2;
                }
                if (c == 0)
                        return false;
                ret_name[n++] = c;
        }
        ret_name[n] = 0;
        return n > 0;
}

char *unit_path_encode(const char *name) {
        char *path = NULL;

        return sd_bus_path_encode(SYSTEMD_PATH "/unit", name, &path) < 0 ? NULL : path;
}

bool job_path_decode(const char *path, uint32_t *ret_id) {
        uint64_t id = 0;
        const char *p;

        if (strncmp(path, JOB_PATH_PREFIX, strlen(JOB_PATH_PREFIX)) != 0)
                return false;
        p = path + strlen(JOB_PATH_PREFIX);
        if (!*p)
                return false;
        for (; *p; p++) {
                if (*p < '0' || *p > '9')
                        return false;
                id = id * 10 + (uint64_t) (*p - '0');
                if (id > UINT32_MAX)
                        return false;
        }
        *ret_id = (uint32_t) id;
        return id > 0;
}

// ---- properties

typedef int (*ReadProperty)(sd_bus_message *message, int argument, UnitFacts *ret);

static int read_active(sd_bus_message *message, int argument, UnitFacts *ret) {
        const char *word;
        int r = sd_bus_message_read(message, "v", "s", &word);

        if (r < 0)
                return r;
        ret->active = active_state_from_string(word);
        ret->has |= UNIT_FACT_ACTIVE;
        return 0;
}

static int read_sub(sd_bus_message *message, int argument, UnitFacts *ret) {
        int r = sd_bus_message_read(message, "v", "s", &ret->sub);

        ret->has |= r < 0 ? 0 : UNIT_FACT_SUB;
        return r;
}

static int read_result(sd_bus_message *message, int argument, UnitFacts *ret) {
        int r = sd_bus_message_read(message, "v", "s", &ret->result);

        ret->has |= r < 0 ? 0 : UNIT_FACT_RESULT;
        return r;
}

// 16 bytes, or none for a unit that never ran.
static int read_invocation(sd_bus_message *message, int argument, UnitFacts *ret) {
        const void *bytes;
        size_t len;
        int r;

        r = sd_bus_message_enter_container(message, 'v', "ay");
        if (r < 0)
                return r;
        r = sd_bus_message_read_array(message, 'y', &bytes, &len);
        if (r < 0)
                return r;
        if (len != 0 && len != sizeof(ret->invocation_id))
                return -EBADMSG;
        memset(ret->invocation_id, 0, sizeof(ret->invocation_id));
        if (len > 0)
                memcpy(ret->invocation_id, bytes, len);
        ret->has |= UNIT_FACT_INVOCATION;
        return sd_bus_message_exit_container(message);
}

static int read_time(sd_bus_message *message, int argument, UnitFacts *ret) {
        return sd_bus_message_read(message, "v", "t", &ret->times[argument]);
}

static const struct {
        const char *property;
        ReadProperty read;
        int argument;
} unit_properties[] = {
        {"ActiveState", read_active, 0},
        {"SubState", read_sub, 0},
        {"InvocationID", read_invocation, 0},
        {"ActiveEnterTimestamp", read_time, UNIT_TIME_ACTIVE_ENTER},
        {"ActiveExitTimestamp", read_time, UNIT_TIME_ACTIVE_EXIT},
        {"InactiveEnterTimestamp", read_time, UNIT_TIME_INACTIVE_ENTER},
        {"InactiveExitTimestamp", read_time, UNIT_TIME_INACTIVE_EXIT},
};

static int read_unit_property(sd_bus_message *message, const char *property, UnitFacts *ret) {
        for (size_t i = 0; i < ELEMENTSOF(unit_properties); i++)
                if (streq(property, unit_properties[i].property))
                        return unit_properties[i].read(message, unit_properties[i].argument, ret);
        return sd_bus_message_skip(message, "v");
}

static int read_type_property(sd_bus_message *message, const char *property, UnitFacts *ret) {
        return streq(property, "Result") ? read_result(message, 0, ret) : sd_bus_message_skip(message, "v");
}

static const struct {
        const char *suffix, *interface;
} types[] = {
        {".service", "org.freedesktop.systemd1.Service"},
        {".socket", "org.freedesktop.systemd1.Socket"},
        {".timer", "org.freedesktop.systemd1.Timer"},
        {".path", "org.freedesktop.systemd1.Path"},
        {".mount", "org.freedesktop.systemd1.Mount"},
        {".automount", "org.freedesktop.systemd1.Automount"},
        {".swap", "org.freedesktop.systemd1.Swap"},
};

static bool is_type_interface(const char *interface) {
        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                if (streq(interface, types[i].interface))
                        return true;
        return false;
}

const char *unit_result_interface(const char *name) {
        const char *suffix = strrchr(name, '.');

        for (size_t i = 0; suffix && i < ELEMENTSOF(types); i++)
                if (streq(suffix, types[i].suffix))
                        return types[i].interface;
        return NULL;
}

int message_read_changes(sd_bus_message *message, UnitFacts *ret) {
        int (*read)(sd_bus_message *, const char *, UnitFacts *);
        const char *interface, *property;
        int r;

        *ret = (UnitFacts){};
        r = sd_bus_message_read(message, "s", &interface);
        if (r < 0)
                return r;
        if (streq(interface, SYSTEMD_UNIT))
                read = read_unit_property;
        else if (is_type_interface(interface))
                read = read_type_property;
        else
                return 0;
        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
                r = sd_bus_message_read(message, "s", &property);
                if (r < 0)
                        return r;
                r = read(message, property, ret);
                if (r < 0)
                        return r;
                if (ret->has &
                    UNIT_FACT_RESULT) // all that a type's message has for us; it stands near the front
                        return 0;
                r = sd_bus_message_exit_container(message);
                if (r < 0)
                        return r;
        }
        return r;
}

int message_read_value(sd_bus_message *message, const char *property, UnitFacts *ret) {
        *ret = (UnitFacts){};
        if (streq(property, "InvocationID"))
                return read_invocation(message, 0, ret);
        if (streq(property, "Result"))
                return read_result(message, 0, ret);
        if (streq(property, "InactiveEnterTimestamp")) {
                ret->has = UNIT_FACT_ENTERED;
                return read_time(message, UNIT_TIME_INACTIVE_ENTER, ret);
        }
        ret->has = UNIT_FACT_CHANGED;
        return read_time(message, UNIT_TIME_STATE_CHANGE, ret);
}

int message_read_row(sd_bus_message *message, UnitRow *ret) {
        const char *active;
        int r;

        *ret = (UnitRow){.facts.has = UNIT_FACT_LOAD | UNIT_FACT_ACTIVE | UNIT_FACT_SUB};
        r = sd_bus_message_read(message, "(ssssssouso)", &ret->name, NULL, &ret->load_word, &active,
                                &ret->facts.sub, NULL, NULL, &ret->job, NULL, NULL);
        if (r <= 0)
                return r;
        ret->facts.load = load_state_from_string(ret->load_word);
        ret->facts.active = active_state_from_string(active);
        return 1;
}
