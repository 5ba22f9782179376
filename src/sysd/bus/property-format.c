// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Properties in the words of `systemctl show`:
//
//   b                  yes, no
//   s, o, g            as is
//   numbers            decimal; the largest value means "not set", or "infinity" for time spans
//   *Timestamp         "Fri 2026-11-20 18:12:09 UTC" in local time, empty for 0
//   *USec              "1min 30s"
//   as                 joined by blanks
//   ay                 hexadecimal digits
//   Job (uo)           its number, left out if 0
// Others are left out. Of a text that is longer than PROPERTY_TEXT_MAX the beginning is shown, with "..."
// behind it: any user may own the manager, and its messages have room for millions of bytes. Behind a list
// of strings that is longer, and behind PROPERTIES_MAX of them, nothing is read: to find the end of the list
// would take as long.

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "array.h"
#include "buf.h"
#include "local-time.h"
#include "property-format.h"
#include "str.h"

static int format_timestamp(uint64_t us, Buf *ret) {
        struct tm tm;
        char text[64];

        if (us == 0 || us == UINT64_MAX)
                return 0;
        if (!local_time(us, &tm) || strftime(text, sizeof(text), "%a %Y-%m-%d %H:%M:%S %Z", &tm) == 0)
                return -EBADMSG;
        return buf_printf(ret, "%s", text);
}

static int format_span(uint64_t us, Buf *ret) {
        static const struct {
                const char *suffix;
                uint64_t us;
        } units[] = {
                {"d", UINT64_C(86400000000)},
                {"h", UINT64_C(3600000000)},
                {"min", 60000000},
                {"s", 1000000},
                {"ms", 1000},
                {"us", 1},
        };
        const char *space = "";
        int r = 0;

        if (us == UINT64_MAX)
                return buf_printf(ret, "infinity");
        if (us == 0)
                return buf_printf(ret, "0");
        for (size_t i = 0; i < ELEMENTSOF(units) && r == 0; i++) {
                if (us < units[i].us)
                        continue;
                r = buf_printf(ret, "%s%" PRIu64 "%s", space, us / units[i].us, units[i].suffix);
                us %= units[i].us;
                space = " ";
        }
        return r;
}

static int format_u64(const char *name, uint64_t v, Buf *ret) {
        if (str_has_suffix(name, "Timestamp"))
                return format_timestamp(v, ret);
        if (str_has_suffix(name, "USec"))
                return format_span(v, ret);
        if (v == UINT64_MAX)
                return buf_printf(ret, str_has_prefix(name, "Limit") || str_has_suffix(name, "Max")
                                               ? "infinity"
                                               : "[not set]");
        return buf_printf(ret, "%" PRIu64, v);
}

static int format_basic(sd_bus_message *m, const char *name, char type, Buf *ret) {
        union {
                const char *s;
                int b;
                uint8_t y;
                int16_t n;
                uint16_t q;
                int32_t i;
                uint32_t u;
                int64_t x;
                uint64_t t;
                double d;
        } v;
        int r = sd_bus_message_read_basic(m, type, &v);

        if (r < 0)
                return r;
        switch (type) {
        case 's':
        case 'o':
        case 'g':
                return buf_append(ret, v.s, strnlen(v.s, PROPERTY_TEXT_MAX + 1));
        case 'b':
                return buf_printf(ret, "%s", v.b ? "yes" : "no");
        case 'y':
                return buf_printf(ret, "%u", v.y);
        case 'n':
                return buf_printf(ret, "%d", v.n);
        case 'q':
                return buf_printf(ret, "%u", v.q);
        case 'i':
                return buf_printf(ret, "%" PRIi32, v.i);
        case 'u':
                return buf_printf(ret, "%" PRIu32, v.u);
        case 'x':
                return buf_printf(ret, "%" PRIi64, v.x);
        case 't':
                return format_u64(name, v.t, ret);
        default:
                return buf_printf(ret, "%g", v.d);
        }
}

static int format_strings(sd_bus_message *m, Buf *ret) {
        const char *s, *space = "";
        int r = sd_bus_message_enter_container(m, 'a', "s");

        if (r < 0)
                return r;
        while ((r = sd_bus_message_read_basic(m, 's', &s)) > 0) {
                r = buf_append(ret, space, strlen(space));
                if (r >= 0)
                        r = buf_append(ret, s, strnlen(s, PROPERTY_TEXT_MAX + 1));
                if (r < 0)
                        return r;
                if (ret->len > PROPERTY_TEXT_MAX)
                        return -EOVERFLOW;
                space = " ";
        }
        return r < 0 ? r : sd_bus_message_exit_container(m);
}

static int format_bytes(sd_bus_message *m, Buf *ret) {
        const uint8_t *bytes;
        size_t n;
        int r = sd_bus_message_read_array(m, 'y', (const void **) &bytes, &n);

        for (size_t i = 0; r >= 0 && i < n && ret->len <= PROPERTY_TEXT_MAX; i++)
                r = buf_printf(ret, "%02x", bytes[i]);
        return r;
}

static int format_job(sd_bus_message *m, Buf *ret) {
        uint32_t id;
        int r = sd_bus_message_read(m, "(uo)", &id, NULL);

        return r < 0 ? r : id > 0 ? buf_printf(ret, "%" PRIu32, id) : 0;
}

// Reads one variant. 1 and the text in *ret; 0 if the type is one of those left out.
static int format_variant(sd_bus_message *m, const char *name, Buf *ret) {
        const char *type;
        int r = sd_bus_message_peek_type(m, NULL, &type);

        if (r < 0)
                return r;
        bool basic = strlen(type) == 1 && strchr("sogbynqiuxtd", *type),
             job = streq(name, "Job") && streq(type, "(uo)");

        if (!basic && !job && !streq(type, "as") && !streq(type, "ay"))
                return sd_bus_message_skip(m, "v") < 0 ? -EBADMSG : 0;
        r = sd_bus_message_enter_container(m, 'v', type);
        if (r < 0)
                return r;
        if (basic)
                r = format_basic(m, name, *type, ret);
        else if (job)
                r = format_job(m, ret);
        else
                r = streq(type, "as") ? format_strings(m, ret) : format_bytes(m, ret);
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(m);
        return r < 0 ? r : 1;
}

static Argosy__Response__Property *property_new(const char *name, Buf *value) {
        Argosy__Response__Property *p = malloc(sizeof(*p));

        if (!p)
                return NULL;
        argosy__response__property__init(p);
        p->key = strdup(name);
        p->value = buf_take_string(value);
        if (p->key && p->value)
                return p;
        free(p->key);
        free(p->value);
        free(p);
        return NULL;
}

void properties_free(Argosy__Response__Property **properties, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(properties[i]->key);
                free(properties[i]->value);
                free(properties[i]);
        }
        free(properties);
}

static int cut(Buf *value) {
        if (value->len <= PROPERTY_TEXT_MAX)
                return 0;
        value->len = PROPERTY_TEXT_MAX;
        while (value->len > 0 && (value->data[value->len] & 0xc0) == 0x80) // in the middle of a character
                value->len--;
        return buf_append(value, "...", 3);
}

static int add_property(Argosy__Response__Property ***list, size_t *n, const char *name, Buf *value) {
        if (ARRAY_RESERVE(*list, *n + 1) < 0)
                return -ENOMEM;
        (*list)[*n] = property_new(name, value);
        if (!(*list)[*n])
                return -ENOMEM;
        (*n)++;
        return 0;
}

static int read_all(sd_bus_message *reply, Argosy__Response__Property ***list, size_t *n) {
        int r = sd_bus_message_enter_container(reply, 'a', "{sv}");

        if (r < 0)
                return r;
        while (*n < PROPERTIES_MAX && (r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
                _cleanup_buf_ Buf value = {};
                const char *name;
                bool endless;

                r = sd_bus_message_read_basic(reply, 's', &name);
                if (r >= 0)
                        r = format_variant(reply, name, &value);
                endless = r == -EOVERFLOW;
                if (r > 0 || endless) {
                        r = cut(&value);
                        if (r >= 0)
                                r = add_property(list, n, name, &value);
                }
                if (r >= 0 && endless)
                        return 0;
                if (r >= 0)
                        r = sd_bus_message_exit_container(reply);
                if (r < 0)
                        return r;
        }
        return r;
}

int properties_format(sd_bus_message *reply, Argosy__Response__Property ***ret, size_t *ret_n) {
        Argosy__Response__Property **list = NULL;
        size_t n = 0;
        int r = read_all(reply, &list, &n);

        if (r < 0) {
                properties_free(list, n);
                return r;
        }
        *ret = list;
        *ret_n = n;
        return 0;
}
