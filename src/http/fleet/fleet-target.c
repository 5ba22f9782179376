// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      /fleet/v1/units/web%401.service?nextPageToken=...        /v1-alpha is the same
//
// As fleet does, parameters that mean nothing are left alone: its client sends alt=json with everything. A
// method that a thing does not know is 405, but 400 of the discovery document; what is no thing is 404, and
// the roots are 405.

#include "fleet-target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet-page.h"
#include "macro.h"
#include "str.h"

static const char *const roots[] = {"/fleet/v1", "/v1-alpha"};

static const char only_get[] = "only GET supported against this resource";

static const struct {
        const char *path;
        FleetResource resource;
        bool has_name;
        unsigned methods; // bits
        unsigned status;  // of all others
        const char *why;
} things[] = {
        {"/discovery", FLEET_DISCOVERY, false, 1 << FLEET_GET, 400,
         "only HTTP GET supported against this resource"},
        {"/units", FLEET_UNITS, false, 1 << FLEET_GET, 405, only_get},
        {"/units/", FLEET_UNIT, true, 1 << FLEET_GET | 1 << FLEET_PUT | 1 << FLEET_DELETE, 405,
         "only GET, PUT and DELETE supported against this resource"},
        {"/state", FLEET_STATES, false, 1 << FLEET_GET, 405, only_get},
        {"/state/", FLEET_STATE, true, 1 << FLEET_GET, 405, only_get},
        {"/machines", FLEET_MACHINES, false, 1 << FLEET_GET | 1 << FLEET_PATCH, 405,
         "only GET and PATCH supported against this resource"},
};

static const char no_memory[] = "this host has no memory for the request";

// 0, -EINVAL or -ENOMEM.
static int unescape(const char *text, size_t len, bool query, char **ret) {
        _cleanup_free_ char *out = NULL;
        int r = percent_decode(text, len, query, &out);

        if (r < 0)
                return r;
        if (!str_is_plain(out))
                return -EINVAL;
        *ret = TAKE_PTR(out);
        return 0;
}

static int find_method(const char *text) {
        static const char *const names[] = {[FLEET_GET] = "GET",
                                            [FLEET_PUT] = "PUT",
                                            [FLEET_DELETE] = "DELETE",
                                            [FLEET_PATCH] = "PATCH"};

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(text, names[i]))
                        return (int) i;
        return -1;
}

static bool is_word(const char *text, size_t len, const char *word) {
        return strlen(word) == len && memcmp(text, word, len) == 0;
}

// Takes one parameter. Of several values of a filter the first counts, as with fleet.
static unsigned take_parameter(FleetTarget *t, const char *text, size_t len, bool *has_page,
                               const char **ret_why) {
        const char *equals = memchr(text, '=', len);
        size_t key = equals ? (size_t) (equals - text) : len;
        _cleanup_free_ char *value = NULL;
        char **filter = is_word(text, key, "machineID")  ? &t->machine_id
                        : is_word(text, key, "unitName") ? &t->unit_name
                                                         : NULL;
        bool is_page = is_word(text, key, "nextPageToken");
        int r;

        if (!is_page && !filter)
                return 0;
        r = unescape(equals ? equals + 1 : "", equals ? len - key - 1 : 0, true, &value);
        *ret_why = r == -ENOMEM ? no_memory : "a parameter has no proper value";
        if (r < 0)
                return r == -ENOMEM ? 503 : 400;
        if (is_page && *has_page) {
                *ret_why = "too many values for page token";
                return 400;
        }
        if (is_page) {
                *has_page = true;
                return fleet_page_parse(value, &t->page, ret_why) < 0 ? 400 : 0;
        }
        if (!*filter && *value)
                *filter = TAKE_PTR(value);
        return 0;
}

static unsigned take_query(FleetTarget *t, const char *query, const char **ret_why) {
        bool has_page = false;
        unsigned status = 0;

        t->page = 1;
        for (const char *p = query; *p && status == 0;) {
                size_t len = strcspn(p, "&");

                status = len > 0 ? take_parameter(t, p, len, &has_page, ret_why) : 0;
                p += len + (p[len] == '&');
        }
        return status;
}

// Takes a unit's name. An invalid name is treated like a unit that does not exist.
static unsigned take_name(FleetTarget *t, const char *text, size_t len, const char **ret_why) {
        int r = unescape(text, len, false, &t->name);

        *ret_why = r == -ENOMEM ? no_memory : "";
        return r == -ENOMEM ? 503 : r < 0 || strchr(t->name, '/') ? 404 : 0;
}

static unsigned parse_under(const char *path, size_t len, int method, FleetTarget *t, const char **ret_why) {
        for (size_t i = 0; i < ELEMENTSOF(things); i++) {
                size_t front = strlen(things[i].path);
                bool is = things[i].has_name ? len > front && memcmp(path, things[i].path, front) == 0
                                             : is_word(path, len, things[i].path);

                if (!is)
                        continue;
                *ret_why = things[i].why;
                if (method < 0 || !(things[i].methods & 1U << method))
                        return things[i].status;
                t->resource = things[i].resource;
                t->method = (FleetMethod) method;
                return things[i].has_name ? take_name(t, path + front, len - front, ret_why) : 0;
        }
        return 404;
}

unsigned fleet_target_parse(const char *text, const char *method, FleetTarget *ret, const char **ret_why) {
        size_t len = strcspn(text, "?");
        FleetTarget t = {};
        unsigned status = is_word(text, len, "/") ? 405 : 404;

        *ret_why = "";
        for (size_t i = 0; i < ELEMENTSOF(roots); i++) {
                size_t root = strlen(roots[i]);

                if (len < root || memcmp(text, roots[i], root) != 0 || (len > root && text[root] != '/'))
                        continue;
                status = len == root
                                 ? 405
                                 : parse_under(text + root, len - root, find_method(method), &t, ret_why);
        }
        if (status == 0)
                status = take_query(&t, text[len] ? text + len + 1 : "", ret_why);
        if (status == 0)
                *ret = t;
        else
                fleet_target_done(&t);
        return status;
}

bool fleet_target_has_body(const FleetTarget *t) {
        return t->method == FLEET_PUT || t->method == FLEET_PATCH;
}

void fleet_target_done(FleetTarget *t) {
        free(t->name);
        free(t->machine_id);
        free(t->unit_name);
        *t = (FleetTarget){};
}
