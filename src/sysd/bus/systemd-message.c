// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What systemd answers on D-Bus (man 5 org.freedesktop.systemd1): object paths, rows of ListUnits, single
// properties.
//
//      unit_path_decode(), message_read_row(), message_read_value()
//          -> UnitFacts that say what they have (`has`)
//
// Signals are read in systemd-signal.c. Texts are borrowed from the message. Failures: sd-bus's errno;
// -EBADMSG for an invocation id that is not 16 bytes; false for a path of something else.

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

static int read_result(sd_bus_message *message, UnitFacts *ret) {
        int r = sd_bus_message_read(message, "v", "s", &ret->result);

        ret->has |= r < 0 ? 0 : UNIT_FACT_RESULT;
        return r;
}

// 16 bytes, or none for a unit that never ran.
static int read_invocation(sd_bus_message *message, UnitFacts *ret) {
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

static int read_time(sd_bus_message *message, int which, UnitFacts *ret) {
        return sd_bus_message_read(message, "v", "t", &ret->times[which]);
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

bool interface_has_result(const char *interface) {
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

int message_read_value(sd_bus_message *message, const char *property, UnitFacts *ret) {
        *ret = (UnitFacts){};
        if (streq(property, "InvocationID"))
                return read_invocation(message, ret);
        if (streq(property, "Result"))
                return read_result(message, ret);
        if (streq(property, "NRestarts")) {
                ret->has = UNIT_FACT_RESTARTS;
                return sd_bus_message_read(message, "v", "u", &ret->n_restarts);
        }
        if (streq(property, "ActiveEnterTimestamp")) {
                ret->has = UNIT_FACT_SINCE;
                return read_time(message, UNIT_TIME_ACTIVE_ENTER, ret);
        }
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
