// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads the bodies of fleet's API: a unit with options, and patches of a machine's metadata.
//
//      fleet_body_read_unit(), fleet_body_read_patches() -> FleetUnit, FleetPatches -> _done()
//
// Unknown members are ignored, as fleet does: its client sends currentState and machineID. A patch's value
// is a text or {"value":"..."}. Limits: FLEET_OPTIONS_MAX, FLEET_PATCHES_MAX. Failures: -EINVAL and fleet's
// words in *ret_why, -ENOMEM.

#include "fleet-body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "macro.h"
#include "str.h"
#include "unit-name.h"

static const char *text_of(const cJSON *object, const char *name) {
        const cJSON *m = cJSON_GetObjectItemCaseSensitive(object, name);

        return cJSON_IsString(m) ? m->valuestring : NULL;
}

// Whether the member is neither a text nor null nor absent.
static bool is_wrong(const cJSON *object, const char *name) {
        const cJSON *m = cJSON_GetObjectItemCaseSensitive(object, name);

        return m && !cJSON_IsString(m) && !cJSON_IsNull(m);
}

static int read_options(const cJSON *list, FleetOptions *ret, char **ret_why) {
        const char *why;
        int r = 0;

        if (!list || cJSON_IsNull(list))
                return 0;
        if (!cJSON_IsArray(list))
                return str_refuse(ret_why, "unable to decode body: options is an array");
        for (const cJSON *m = list->child; m && r == 0; m = m->next) {
                if (!cJSON_IsObject(m) || is_wrong(m, "section") || is_wrong(m, "name") ||
                    is_wrong(m, "value"))
                        return str_refuse(ret_why,
                                          "unable to decode body: an option has section, name and value");
                if (ret->n == FLEET_OPTIONS_MAX)
                        return str_refuse(ret_why, "a unit has at most %d options", FLEET_OPTIONS_MAX);
                r = fleet_options_add(ret, text_of(m, "section") ?: "", text_of(m, "name") ?: "",
                                      text_of(m, "value") ?: "");
        }
        if (r == 0) {
                r = fleet_options_check(ret, &why);
                if (r == -EINVAL)
                        return str_refuse(ret_why, "%s", why);
        }
        return r;
}

int fleet_body_read_unit(const cJSON *body, const char *name, FleetUnit *ret, char **ret_why) {
        const char *given = text_of(body, "name"), *desired = text_of(body, "desiredState"), *why;

        *ret = (FleetUnit){};
        if (!cJSON_IsObject(body) || is_wrong(body, "name") || is_wrong(body, "desiredState"))
                return str_refuse(ret_why, "unable to decode body: it is no unit");
        if (given && *given && !streq(given, name))
                return str_refuse(ret_why,
                                  "name in URL \"%.128s\" differs from unit name in request body \"%.128s\"",
                                  name, given);
        if (unit_name_kind(name, &why) == UNIT_NAME_INVALID)
                return str_refuse(ret_why, "invalid unit name \"%.128s\": %s", name, why);
        ret->has_desired = desired && *desired;
        if (ret->has_desired && !target_from_string(desired, &ret->desired))
                return str_refuse(ret_why,
                                  "invalid desiredState \"%.64s\": expect inactive, loaded, or launched",
                                  desired);
        return read_options(cJSON_GetObjectItemCaseSensitive(body, "options"), &ret->options, ret_why);
}

void fleet_unit_done(FleetUnit *u) {
        fleet_options_done(&u->options);
        *u = (FleetUnit){};
}

static bool is_key(const char *text) {
        return *text && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") ==
                                strlen(text);
}

// "/MACHINE/metadata/KEY". 0, -EINVAL or -ENOMEM.
static int read_path(const char *path, FleetPatch *ret) {
        static const char middle[] = "/metadata/";
        const char *end = path && *path == '/' ? strchr(path + 1, '/') : NULL;

        if (!end || end == path + 1 || !str_has_prefix(end, middle) || !is_key(end + strlen(middle)))
                return -EINVAL;
        ret->machine = strndup(path + 1, (size_t) (end - path - 1));
        ret->key = strdup(end + strlen(middle));
        return ret->machine && ret->key ? 0 : -ENOMEM;
}

static int read_patch(const cJSON *m, FleetPatch *ret, char **ret_why) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(m, "value");
        const char *op = text_of(m, "op") ?: "",
                   *text = cJSON_IsObject(value) ? text_of(value, "value") : text_of(m, "value");
        int r;

        if (!streq(op, "add") && !streq(op, "remove") && !streq(op, "replace"))
                return str_refuse(ret_why, "invalid op: expect add, remove, or replace");
        r = read_path(text_of(m, "path"), ret);
        if (r == -EINVAL)
                return str_refuse(ret_why, "machine metadata path invalid");
        if (r < 0 || streq(op, "remove"))
                return r;
        if (!text || !*text)
                return str_refuse(ret_why, "invalid value: add and replace require a value");
        ret->value = strdup(text);
        return ret->value ? 0 : -ENOMEM;
}

int fleet_body_read_patches(const cJSON *body, FleetPatches *ret, char **ret_why) {
        int r = 0;

        *ret = (FleetPatches){};
        for (const cJSON *m = body->child; m && r == 0; m = m->next) {
                if (ret->n == FLEET_PATCHES_MAX)
                        return str_refuse(ret_why, "at most %d changes are made at once", FLEET_PATCHES_MAX);
                if (ARRAY_RESERVE(ret->list, ret->n + 1) < 0)
                        return -ENOMEM;
                ret->list[ret->n] = (FleetPatch){};
                r = read_patch(m, &ret->list[ret->n++], ret_why);
        }
        return r;
}

void fleet_patches_done(FleetPatches *p) {
        for (size_t i = 0; i < p->n; i++) {
                free(p->list[i].machine);
                free(p->list[i].key);
                free(p->list[i].value);
        }
        free(p->list);
        *p = (FleetPatches){};
}
