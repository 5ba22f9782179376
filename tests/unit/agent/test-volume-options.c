// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Options of volumes: those of the unit that podman's generator makes, beside those of what is there.
#include "test.h"

#include <errno.h>

#include "volume-options.h"

#define UNIT(exec) "[Unit]\nAfter=x.target\n\n[Service]\nType=oneshot\nExecStart=" exec "\n"
#define CREATE "/usr/bin/podman volume create --ignore "

static void a_unit_says_how_a_volume_is_made(void **state) {
        static const struct {
                const char *exec, *name, *text;
        } rows[] = {
                {CREATE "systemd-data", "systemd-data", "local\n"},
                {CREATE "--label a=b --opt type=tmpfs --opt device=tmpfs mine", "mine",
                 "local\ndevice=tmpfs\ntype=tmpfs\n"},
                {CREATE "--driver=image --opt image=x/y:1 data", "data", "image\nimage=x/y:1\n"},
                {CREATE "--opt \"o=uid=7,mode=0700 \" \"a b\"", "a b", "local\no=uid=7,mode=0700 \n"},
                {CREATE "--label \"x=\\\"y\" data", "data", "local\n"},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char unit[512];
                VolumeOptions o;

                snprintf(unit, sizeof(unit), UNIT("%s"), rows[i].exec);
                assert_int_equal(volume_options_read(unit, strlen(unit), &o), 0);
                assert_string_equal(o.name, rows[i].name);
                assert_string_equal(o.text, rows[i].text);
                volume_options_done(&o);
        }
}

static void what_makes_no_volume_says_nothing(void **state) {
        static const char *const rows[] = {"", "[Service]\nExecStart=/bin/true\n", UNIT(CREATE),
                                           UNIT(CREATE "--opt"), UNIT(CREATE "--other")};

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                VolumeOptions o;

                assert_int_equal(volume_options_read(rows[i], strlen(rows[i]), &o), -ENOENT);
                volume_options_done(&o);
        }
}

static void what_is_there_is_adopted_if_it_is_alike(void **state) {
        VolumeOptions o = {"systemd-data", "local\ndevice=tmpfs\ntype=tmpfs\n"};
        static const struct {
                const char *seen, *says;
        } rows[] = {
                {"", NULL},
                {"local\ndevice=tmpfs\ntype=tmpfs", NULL},
                {"local\ndevice=tmpfs\ntype=tmpfs\n\n", NULL},
                {"local", "it has driver local, and the file says driver local, device=tmpfs, type=tmpfs"},
                {"local\ndevice=tmpfs\ntype=ext4\n", "it has driver local, device=tmpfs, type=ext4, and"},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *why = NULL;

                assert_int_equal(
                        volume_options_compare(&o, "data.volume", rows[i].seen, strlen(rows[i].seen), &why),
                        0);
                assert_true(!why == !rows[i].says);
                if (why && (!strstr(why, rows[i].says) || !strstr(why, "systemd-data") ||
                            !strstr(why, "data.volume")))
                        fail_msg("%s", why);
        }
}

RUN_TESTS(
        cmocka_unit_test(a_unit_says_how_a_volume_is_made),
        cmocka_unit_test(what_makes_no_volume_says_nothing),
        cmocka_unit_test(what_is_there_is_adopted_if_it_is_alike)
)
