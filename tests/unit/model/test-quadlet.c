// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <errno.h>

#include "quadlet.h"
#include "str.h"
#include "unit-file.h"

#define IMAGE "[Container]\nImage=docker.io/library/web:1\n"

static UnitFile *parse(const char *text) {
        _cleanup_free_ char *why = NULL;
        UnitFile *f = NULL;

        if (unit_file_parse("web.container", text, strlen(text), &f, &why) < 0)
                fail_msg("%s: %s", text, why);
        return f;
}

static void assert_refused(const char *text, const char *expected) {
        _cleanup_free_ char *why = NULL;
        UnitFile *f = NULL;

        assert_int_equal(unit_file_parse("web.container", text, strlen(text), &f, &why), -EINVAL);
        if (!strstr(why, expected))
                fail_msg("\"%s\" does not say \"%s\"", why, expected);
}

static void names_are_those_of_quadlet(void **state) {
        static const struct {
                const char *file, *unit;
                bool is;
        } rows[] = {
                {"web.container", "web.service", true},       {"work@.container", "work@.service", true},
                {"work@7.container", "work@7.service", true}, {"a.b.container", "a.b.service", true},
                {"web.service", "web.service", false},        {".container", ".container", false},
                {"@.container", "@.service", false},          {"a b.container", "a b.service", false},
                {"data.volume", "data.volume", false},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *unit = quadlet_unit(rows[i].file), *file = quadlet_file(rows[i].unit);

                assert_string_equal(unit, rows[i].unit);
                assert_int_equal(quadlet_is_container(rows[i].file), rows[i].is);
                if (rows[i].is)
                        assert_string_equal(file, rows[i].file);
        }
}

static void a_content_is_a_containers_by_its_section(void **state) {
        static const char service[] =
                "[Service]\nExecStart=/bin/web\n# [Container]\nEnvironment=A=[Container]\n";

        assert_true(quadlet_is(IMAGE, strlen(IMAGE)));
        assert_false(quadlet_is(service, strlen(service)));
        assert_false(quadlet_is(NULL, 0));
}

static void it_is_a_service_as_quadlet_makes_it(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = parse(IMAGE),
                                            *once = parse(IMAGE "[Service]\nType=oneshot\n"),
                                            *unit = parse("[Unit]\nRequires=db.container x.service\n" IMAGE);

        assert_true(f->container);
        assert_false(f->oneshot || f->simple);
        assert_true(once->oneshot);
        assert_string_equal(unit->bound_to, "db.service x.service");
}

static void it_runs_where_podman_is(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = parse(IMAGE "[X-Argosy]\nRequireLabel=disk=ssd\n");
        _cleanup_(unit_options_unrefp) UnitOptions *o = NULL;

        assert_int_equal(unit_file_expand(f, "x", "web.service", &o, NULL), 0);
        assert_string_equal(o->key, "disk=ssd\npodman\n");
}

static void only_services_are_containers(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = parse(IMAGE);
        _cleanup_free_ char *why = NULL;

        assert_int_equal(unit_file_check_name(f, "web@.service", &why), 0);
        assert_int_equal(unit_file_check_name(f, "web.timer", &why), -EINVAL);
        assert_non_null(strstr(why, "web.timer"));
}

static void what_another_node_would_not_have_is_refused(void **state) {
        static const struct {
                const char *line, *why;
        } rows[] = {
                {"Volume=./conf:/etc/web", "no other node has it"},
                {"Volume=data.volume:/data", "no .volume files so far"},
                {"Mount=type=bind,source=./x,destination=/x", "no other node has it"},
                {"Mount=type=volume,source=d.volume,destination=/x", ".volume"},
                {"EnvironmentFile=web.env", "no other node has it"},
                {"Network=front.network", "no .network files so far"},
                {"Network=db.container", "container:NAME"},
                {"Network=container:db", "needs MachineOf="},
                {"Pod=web.pod", "no .pod files"},
                {"Secret=token", "podman's own secrets"},
                {"ServiceName=other", "called as its file"},
                {"Image=web.image", "no .image"},
                {"Image=web.build", "no .build"},
                {"Image=registry/$NAME:1", "only a node knows"},
                {"Image=web:1", "short name"},
                {"Image=library/web", "short name"},
                {"Image=", "neither Image= nor Rootfs="},
                {"[Pod]", "no section [Pod]"},
                {"[Volume]", "no section [Volume]"},
                {"[X-Argosy]\nManager=user@7", "hosts' own managers only"},
                {"[X-Argosy]\nSecret=token", "does not reach into containers"},
                {"[X-Argosy]\nFile=x", "does not reach into containers"},
                {"[X-Argosy]\nVolumeLoss=yes", "neither accept nor refuse"},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *text = str_printf(IMAGE "%s\n", rows[i].line);

                assert_refused(text, rows[i].why);
        }
        assert_refused("[Container]\nExec=x\n", "neither Image= nor Rootfs=");
        assert_refused("[Service]\nExecStart=/bin/x\n[X-Argosy]\nVolumeLoss=accept\n", "is for containers");
}

static void everything_else_is_the_generators(void **state) {
        static const char *const lines[] = {
                "Image=localhost/web:1",
                "Image=10.0.0.1:5000/web",
                "Image=registry.example/a/b@sha256:0",
                "Image=sha256:0",
                "Rootfs=/srv/root\nImage=",
                "Volume=/anonymous",
                "EnvironmentFile=/etc/web.env",
                "Network=host",
                "Network=bridge:ip=10.0.0.2",
                "PublishPort=8080:80",
                "Unheard=of",
                "Network=container:db\n[X-Argosy]\nMachineOf=db.service",
                "Network=front.network\nNetwork=",
                "Secret=",
        };

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_free_ char *text = str_printf(IMAGE "%s\n", lines[i]);

                if (strstr(lines[i], "front.network")) // each line is judged by itself
                        assert_refused(text, ".network");
                else
                        unit_file_free(parse(text));
        }
}

static void data_keeps_a_container_on_its_node(void **state) {
        static const struct {
                const char *lines;
                bool stays;
        } rows[] = {
                {"Volume=data:/data", true},
                {"Volume=/srv/data:/data:Z", true},
                {"Volume=%S/data:/data", true},
                {"Volume=/etc/localtime:/etc/localtime:ro", false},
                {"Volume=/data", false},
                {"Volume=data:/data\nVolume=", false},
                {"Mount=type=bind,source=/srv,destination=/srv", true},
                {"Mount=type=bind,source=/srv,destination=/srv,ro=true", false},
                {"Mount=type=bind,source=/srv,destination=/srv,readonly=false", true},
                {"Mount=type=tmpfs,destination=/tmp", false},
                {"Volume=data:/data\n[X-Argosy]\nVolumeLoss=accept", false},
                {"Volume=data:/data\n[X-Argosy]\nGlobal=yes", false},
                {"Volume=data:/data\n[X-Argosy]\nNodeLost=never", true},
                {"PublishPort=80", false},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *text = str_printf(IMAGE "%s\n", rows[i].lines);
                _cleanup_(unit_file_freep) UnitFile *f = parse(text);

                if (f->stays != rows[i].stays || (f->failing.node_lost == NODE_LOST_NEVER) != rows[i].stays)
                        fail_msg("%s", rows[i].lines);
        }
        assert_refused(IMAGE "Volume=data:/data\n[X-Argosy]\nNodeLost=move\n", "would start empty");
        assert_refused(IMAGE "Volume=data:/data\n[X-Argosy]\nRestartElsewhere=2\n", "would start empty");
}

static void assert_claims(const char *lines, const char *name, const char *key) {
        _cleanup_free_ char *text = str_printf(IMAGE "%s\n", lines);
        _cleanup_(unit_file_freep) UnitFile *f = parse(text);
        _cleanup_(unit_options_unrefp) UnitOptions *o = NULL;

        assert_int_equal(unit_file_expand(f, "x", name, &o, NULL), 0);
        assert_string_equal(o->key, key);
}

static void what_a_host_has_once_is_claimed(void **state) {
        assert_claims("PublishPort=8080:80", "web.service", "podman\n-@port 8080/tcp\n");
        assert_claims("PublishPort=8080:80/udp\nPublishPort=127.0.0.1:53:53", "web.service",
                      "podman\n-@port 127.0.0.1:53/tcp\n-@port 8080/udp\n");
        assert_claims("PublishPort=0.0.0.0:80:80\nPublishPort=[::]:81:81", "web.service",
                      "podman\n-@port 80/tcp\n-@port 81/tcp\n");
        assert_claims("PublishPort=[::1]:82:82", "web.service", "podman\n-@port [::1]:82/tcp\n");
        assert_claims("PublishPort=80", "web.service", "podman\n");
        assert_refused(IMAGE "[X-Argosy]\nConflicts=@port*\n", "is no pattern of unit names"); // claims are no names
        assert_claims("PublishPort=127.0.0.1::80", "web.service", "podman\n");
        assert_claims("PublishPort=8080:80\nPublishPort=", "web.service", "podman\n");
        assert_claims("PublishPort=8000-8001:80-81", "web.service",
                      "podman\n-@port 8000/tcp\n-@port 8001/tcp\n");
        assert_claims("PublishPort=1-65535:1-65535", "web.service", "podman\n");
        assert_claims("PublishPort=%i:80", "web@8081.service", "podman\n-@port 8081/tcp\n");
        assert_claims("ContainerName=db-%i", "web@1.service", "podman\n-@container db-1\n");
        assert_claims("ContainerName=db\nContainerName=%H", "web.service",
                      "podman\n"); // which only a node fills in
}

static void a_generator_reads_units_where_the_file_names_containers(void **state) {
        static const char content[] = "# a [Unit] of mine\n[Unit]\nAfter = db.container  x.service\n; "
                                      "After=y.container\nWants=a.container \\\n"
                                      "# between\n  b.container\nDescription=x.container\n" IMAGE
                                      "AutoUpdate=registry\nExec=c.container\n"
                                      "[X-Argosy]\nAfter=d.service",
                          expected[] = "# a [Unit] of mine\n[Unit]\nAfter = db.service  x.service\n; "
                                       "After=y.container\nWants=a.service \\\n"
                                       "# between\n  b.service\nDescription=x.container\n" IMAGE
                                       "Exec=c.container\n"
                                       "[X-Argosy]\nAfter=d.service";
        _cleanup_buf_ Buf text = {};

        assert_int_equal(quadlet_source(content, strlen(content), &text), 0);
        assert_int_equal(buf_append(&text, "", 1), 0);
        assert_string_equal((const char *) text.data, expected);
}

static int note(unsigned line, const char *text, void *userdata) {
        return buf_printf(userdata, "%u %.12s\n", line, text);
}

static void what_a_user_may_not_expect_is_said(void **state) {
        static const char content[] = IMAGE
                "AutoUpdate=registry\nUserNS=keep-id\nVolume=%h/x:/x\n[Install]\nWantedBy=default.target\n",
                          pinned[] = "[Container]\nImage=docker.io/library/web@sha256:0\n";
        _cleanup_buf_ Buf said = {}, nothing = {};

        assert_int_equal(quadlet_warnings(content, strlen(content), note, &said), 0);
        assert_int_equal(buf_append(&said, "", 1), 0);
        assert_string_equal(
                (const char *) said.data,
                "2 Image=docker\n3 AutoUpdate= \n4 UserNS=keep-\n5 %h and %U ar\n7 default.targ\n");
        assert_int_equal(quadlet_warnings(pinned, strlen(pinned), note, &nothing), 0);
        assert_int_equal(nothing.len, 0);
}

static void versions_before_5_are_too_old(void **state) {
        char version[16];

        assert_true(quadlet_version("5.4.2\n", version));
        assert_string_equal(version, "5.4");
        assert_true(quadlet_version("podman version 10.0.0-dev", version));
        assert_string_equal(version, "10.0");
        assert_false(quadlet_version("4.9.4", version));
        assert_false(quadlet_version("quadlet", version));
        assert_false(quadlet_version("", version));
}

static void what_was_made_says_of_what_until_somebody_changes_it(void **state) {
        static const char generated[] =
                "[Unit]\nSourcePath=/tmp/x/web.container\nDescription=x\n[Service]\nExecStart=/usr/bin/"
                "podman\n";
        Hash content = hash_of(IMAGE, strlen(IMAGE)), of;
        _cleanup_buf_ Buf made = {};

        assert_int_equal(quadlet_made_compose(&content, "5.4", generated, strlen(generated), &made), 0);
        assert_null(memmem(made.data, made.len, "SourcePath", strlen("SourcePath")));
        assert_true(quadlet_made_of(made.data, made.len, &of));
        assert_true(hash_equal(&of, &content));
        assert_false(quadlet_made_of(made.data, made.len - 1, &of));
        made.data[made.len - 2] ^= 1;
        assert_false(quadlet_made_of(made.data, made.len, &of));
        assert_false(quadlet_made_of(generated, strlen(generated), &of));
        assert_false(quadlet_made_of(NULL, 0, &of));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_are_those_of_quadlet),
                cmocka_unit_test(a_content_is_a_containers_by_its_section),
                cmocka_unit_test(it_is_a_service_as_quadlet_makes_it),
                cmocka_unit_test(it_runs_where_podman_is),
                cmocka_unit_test(only_services_are_containers),
                cmocka_unit_test(what_another_node_would_not_have_is_refused),
                cmocka_unit_test(everything_else_is_the_generators),
                cmocka_unit_test(data_keeps_a_container_on_its_node),
                cmocka_unit_test(what_a_host_has_once_is_claimed),
                cmocka_unit_test(a_generator_reads_units_where_the_file_names_containers),
                cmocka_unit_test(what_a_user_may_not_expect_is_said),
                cmocka_unit_test(versions_before_5_are_too_old),
                cmocka_unit_test(what_was_made_says_of_what_until_somebody_changes_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
