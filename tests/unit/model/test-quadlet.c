// SPDX-License-Identifier: LGPL-2.1-or-later
#include "printed.h"
#include "test.h"

#include <errno.h>

#include "quadlet.h"
#include "str.h"
#include "unit-file.h"

#define IMAGE "[Container]\nImage=docker.io/library/web:1\n"
#define DIGEST_START "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
#define DIGEST DIGEST_START "f"
#define WRONG_DIGEST DIGEST_START "g"
#define CAPITAL_DIGEST DIGEST_START "F"

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
                {"Volume=data.volume:/data", "Volume= names data.volume, which did not come"},
                {"Volume=data-%i.volume:/data", "plain name"},
                {"Volume=data@1.volume:/data", "plain name"},
                {"Mount=type=bind,source=./x,destination=/x", "no other node has it"},
                {"Mount=type=volume,source=d.volume,destination=/x", "Mount= names d.volume, which"},
                {"Mount=type=image,source=d.image,destination=/x", "no .image"},
                {"EnvironmentFile=web.env", "no other node has it"},
                {"EnvironmentFile=/etc/web.env \"web.env\"", "no other node has it"},
                {"Mount=type=tmpfs,destination=/x 'type=bind,source=./x,destination=/y'",
                 "no other node has it"},
                {"Mount=type=tmpfs,destination=/x type=volume,source=d.volume,destination=/y",
                 "Mount= names d.volume, which"},
                {"Image=\"web:1\"", "short name"},
                {"Network=front.network:ip=10.0.0.2", "Network= names front.network, which did not come"},
                {"Network=db.container\n\n# db.container\n[Container]", "needs MachineOf="},
                {"Network=container:db", "needs MachineOf="},
                {"Pod=web.pod", "no .pod files"},
                {"Secret=token", "podman's own secrets"},
                {"ServiceName=other", "called as its file"},
                {"Image=web.image", "no .image"},
                {"Image=web.build", "no .build"},
                {"Image=registry/$NAME:1", "only a node knows"},
                {"Image=registry.local:5000/%H:1", "only a node knows"},
                {"Image=web:1", "short name"},
                {"Image=--authfile=a.b/web:1", "no name of an image"},
                {"Image=docker://reg.example/web:1", "no name of an image"},
                {"Image=docker-archive:/root/web.tar", "no name of an image"},
                {"Image=reg.example/web 1", "no name of an image"},
                {"Image=library/web", "short name"},
                {"Image=", "neither Image= nor Rootfs="},
                {"Image=registry.example/a/b@sha256:0123", "a digest is sha256: and 64"},
                {"Image=registry.example/a/b@sha256:" DIGEST "0", "a digest is sha256: and 64"},
                {"Image=registry.example/a/b:1@sha256:" WRONG_DIGEST, "a digest is sha256: and 64"},
                {"Image=localhost/b@sha256:" CAPITAL_DIGEST, "a digest is sha256: and 64"},
                {"[Pod]", "no section [Pod]"},
                {"[Volume]", "no section [Volume]"},
                {"[X-Argosy]\nManager=user@7", "hosts' own managers only"},
                {"[X-Argosy]\nFile=x:/proc/x", "nothing is bound at /proc/x"},
                {"[X-Argosy]\nVolumeLoss=yes", "neither accept nor refuse"},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_refused(printed(IMAGE "%s\n", rows[i].line), rows[i].why);
        }
        assert_refused("[Container]\nExec=x\n", "neither Image= nor Rootfs=");
        assert_refused("[Service]\nExecStart=/bin/x\n[X-Argosy]\nVolumeLoss=accept\n", "is for containers");
        assert_refused("[Service]\nExecStart=/bin/x\n[X-Argosy]\nImagePin=docker.io/library/web:1@sha256:"
                       DIGEST "\n",
                       "is for containers");
}

static void everything_else_is_the_generators(void **state) {
        static const char *const lines[] = {
                "Image=localhost/web:1",
                "Image=10.0.0.1:5000/web",
                "Image=registry.example/a/b@sha256:" DIGEST,
                "Image=registry.example/a/b:1@sha256:" DIGEST,
                "Image=registry.example/a/b@sha256:%i",
                "Image=sha256:0",
                "Image=\"localhost/web:1\"",
                "Image=local\\\n  host/web:1",
                "EnvironmentFile=\"/etc/web.env\" /etc/more.env",
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
                unit_file_free(parse(printed(IMAGE "%s\n", lines[i])));
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
                {"Mount=\"type=bind,source=/srv,destination=/srv\"", true},
                {"Mount=type=tmpfs,destination=/tmp type=bind,source=/srv,destination=/srv", true},
                {"Mount=type=volume,\"source=a,b\",destination=/b", true},
                {"Mount=type=bind,\\\n   source=/srv,\\\n   destination=/srv", true},
                {"Mount=type=bind,source=/srv,\\\n# no \\\n\tdestination=/srv,\\\nro", false},
                {"Mount=type=bind,source=/srv,destination=/srv\nVolume=", true},
                {"Mount=type=bind,source=/srv,destination=/srv\nMount=", false},
                {"Volume=data:/data\nMount=", true},
                {"Volume=:/data", false},
                {"Volume=data:/data:noexec,ro", false},
                {"PodmanArgs=--memory=1g -v data:/data", true},
                {"PodmanArgs=-vdata:/data", true},
                {"PodmanArgs=--volume=data:/data:ro --mount type=bind,src=/srv,dst=/srv", true},
                {"PodmanArgs=\"--mount=type=tmpfs,destination=/srv\" --volume /data", false},
                {"PodmanArgs=-v data:/data\nPodmanArgs=", false},
                {"PodmanArgs=--label v --volumes-from=x:rw", false},
                {"Volume=data:\\\n  /data", true},
                {"Volume=data:/data:\\\n  ro", false},
                {"Volume=data:/data\n[X-Argosy]\nVolumeLoss=accept", false},
                {"Volume=data:/data\n[X-Argosy]\nGlobal=yes", false},
                {"Volume=data:/data\n[X-Argosy]\nNodeLost=never", true},
                {"PublishPort=80", false},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_(unit_file_freep) UnitFile *f = parse(printed(IMAGE "%s\n", rows[i].lines));

                if (f->stays != rows[i].stays ||
                    (f->failing.node_lost == NODE_LOST_NEVER) != rows[i].stays ||
                    (f->failing.has_data && !rows[i].stays))
                        fail_msg("%s", rows[i].lines);
        }
        assert_refused(IMAGE "Volume=data:/data\n[X-Argosy]\nNodeLost=move\n", "would start empty");
        assert_refused(IMAGE "Volume=data:/data\n[X-Argosy]\nRestartElsewhere=2\n", "would start empty");
}

static int note_volume(const char *volume, void *userdata) {
        return buf_printf(userdata, "%s ", volume);
}

static void volumes_are_called_as_podman_calls_them(void **state) {
        static const char *const rows[][2] = {
                {"Volume=cache:/cache", "cache "},
                {"Volume=%p-data:/data\nVolume=/srv:/srv\nVolume=/tmp/x", "web-data "},
                {"Volume=a:/a\nVolume=\nVolume=b:/b:ro", "b "},
                {"Mount=type=volume,source=c,destination=/c", "c "},
                {"Mount=type=bind,source=/srv,destination=/srv\nMount=type=volume,destination=/x", ""},
                {"Mount=\"type=volume,source=c,destination=/c\" type=volume,src=d,destination=/d", "c d "},
                {"Mount=type=volume,source=c,destination=/c\nVolume=a:/a\nVolume=\nMount=", ""},
                {"Mount=type=volume,source=c,destination=/c\nVolume=a:/a\nVolume=", "c "},
                {"Volume=%h/data:/data\nVolume=%S/x:/x", ""},
                {"PodmanArgs=-v c:/c --mount=type=volume,src=d,dst=/d\nMount=\nVolume=", "c d "},
                {"Volume=data.volume:/data\n\n# data.volume\n[Volume]\nLabel=x", "systemd-data "},
                {"Volume=data.volume:/data\n\n# data.volume\n[Volume]\nVolumeName=mine", "mine "},
                {"Volume=data.volume:/data\n\n# data.volume\n[Volume]\nVolumeName=\"mine\"", "mine "},
                {"PublishPort=80", ""},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *text = str_printf(IMAGE "%s\n", rows[i][0]);
                _cleanup_buf_ Buf told = {};

                assert_int_equal(quadlet_volumes("web.service", text, strlen(text), note_volume, &told), 0);
                assert_int_equal(buf_append(&told, "", 1), 0);
                assert_string_equal((const char *) told.data, rows[i][1]);
        }
}

static void assert_claims(const char *lines, const char *name, const char *key) {
        _cleanup_(unit_file_freep) UnitFile *f = parse(printed(IMAGE "%s\n", lines));
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
        assert_claims("PublishPort=0080:80/UDP", "web.service", "podman\n-@port 80/udp\n");
        assert_claims("ContainerName=\"db\"", "web.service", "podman\n-@container db\n");
        // claims are no names
        assert_refused(IMAGE "[X-Argosy]\nConflicts=@port*\n", "is no pattern of unit names");
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

#define VOLUME "\n# data.volume\n[Volume]\nLabel=of=web\n"
#define NETWORK "\n# front.network\n[Unit]\nDescription=Front\n[Network]\nSubnet=10.7.0.0/24\n"
#define NAMES "Volume=data.volume:/data\nNetwork=front.network\n"

static void what_it_names_goes_with_it(void **state) {
        static const char text[] = IMAGE NAMES VOLUME NETWORK;
        _cleanup_(unit_file_freep) UnitFile *f = parse(text);
        _cleanup_buf_ Buf source = {};
        UnitPart part;

        assert_string_equal(f->description, "");
        assert_true(f->stays);
        assert_int_equal(unit_parts_own_len(text, strlen(text)), strlen(IMAGE NAMES));
        assert_true(quadlet_beside_find(text, strlen(text), "data.volume", &part));
        assert_int_equal(part.len, strlen("[Volume]\nLabel=of=web\n"));
        assert_false(quadlet_beside_find(text, strlen(text), "data.network", &part));
        assert_int_equal(quadlet_source(text, strlen(text), NULL, &source), 0);
        assert_int_equal(source.len, strlen(IMAGE NAMES));
        unit_file_free(parse(
                IMAGE "Network=db.container\n[X-Argosy]\nMachineOf=db.service\n"
                      "\n# db.container\n[Container]\nImage=x\nContainerName=y\n[X-Argosy]\nHost=n1\n"));
        assert_refused(IMAGE VOLUME, "does not name it");
        assert_refused(IMAGE "Volume=data.volume:/data\nVolume=\n" VOLUME, "does not name it");
        assert_refused(IMAGE NAMES VOLUME "[X-Argosy]\nHost=n1\n" NETWORK, "has no meaning here");
        assert_refused(IMAGE NAMES VOLUME "ServiceName=x\n" NETWORK, "called as its file");
        assert_refused(IMAGE NAMES VOLUME "[Service\n" NETWORK, "data.volume:3: this section header");
        assert_refused(IMAGE "\n# data.volume\nVolume=x\n" NAMES VOLUME "[Service]\n", "front.network");
}

static void each_name_is_one_file_on_a_node(void **state) {
        static const char *const texts[] = {IMAGE NAMES VOLUME NETWORK,
                                            IMAGE NAMES VOLUME "Label=more=1\n" NETWORK};
        char *keys[2];

        for (size_t i = 0; i < 2; i++) {
                _cleanup_(unit_file_freep) UnitFile *f = parse(texts[i]);
                _cleanup_(unit_options_unrefp) UnitOptions *o = NULL;

                assert_int_equal(unit_file_expand(f, "x", "web.service", &o, NULL), 0);
                keys[i] = strdup(o->key);
                assert_non_null(strstr(keys[i], "-&network front="));
                assert_non_null(strstr(keys[i], "-&volume data="));
        }
        assert_string_not_equal(keys[0], keys[1]);
        free(keys[0]);
        free(keys[1]);
        assert_refused(IMAGE "[X-Argosy]\nConflicts=&volume*\n", "is no pattern of unit names");
}

static void what_is_there_stays_as_it_was_made(void **state) {
        static const char text[] = IMAGE NAMES VOLUME NETWORK;

        static const struct {
                const char *next, *why;
        } rows[] = {
                {IMAGE NAMES "Exec=x\n" VOLUME NETWORK, NULL},
                {IMAGE NAMES VOLUME "\n" NETWORK "\n\n", NULL},
                {IMAGE, NULL},
                {IMAGE NAMES VOLUME "Label=more=1\n" NETWORK, "data.volume is not as it was"},
                {IMAGE NAMES VOLUME NETWORK "Gateway=10.7.0.1\n", NULL}, // is made anew
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *why = NULL;
                int r = quadlet_beside_check_next(text, strlen(text), rows[i].next, strlen(rows[i].next),
                                                  &why);

                assert_int_equal(r, rows[i].why ? -EINVAL : 0);
                if (rows[i].why)
                        assert_non_null(strstr(why, rows[i].why));
                assert_int_equal(quadlet_beside_check_next(IMAGE, strlen(IMAGE), rows[i].next,
                                                           strlen(rows[i].next), &why),
                                 0);
        }
}

typedef struct Changed {
        const char *file; // the only one
        UnitPart part;
        size_t n;
} Changed;

static int note_changed(const char *file, const UnitPart *part, void *userdata) {
        Changed *c = userdata;

        assert_string_equal(file, c->file);
        c->part = *part;
        c->n++;
        return 0;
}

static Changed changed_in(const char *next) {
        static const char text[] = IMAGE NAMES VOLUME NETWORK;
        Changed c = {.file = "front.network"};

        assert_int_equal(
                quadlet_networks_changed(text, strlen(text), next, strlen(next), note_changed, &c), 0);
        return c;
}

static void a_network_of_another_file_is_told(void **state) {
        assert_int_equal(changed_in(IMAGE NAMES VOLUME "Label=more=1\n" NETWORK "\n\n").n, 0);
        assert_int_equal(changed_in(IMAGE).n, 0); // nothing is made anew for that
        assert_int_equal(changed_in(IMAGE NAMES VOLUME NETWORK "Gateway=10.7.0.1\n").n, 1);
}

static void others_get_its_lines_and_keep_their_own(void **state) {
        static const char next[] = IMAGE NAMES VOLUME NETWORK "Gateway=10.7.0.1";
        static const struct {
                const char *has, *gets;
        } rows[] = {
                {IMAGE "Exec=x\nNetwork=front.network\n" NETWORK,
                 IMAGE "Exec=x\nNetwork=front.network\n" NETWORK "Gateway=10.7.0.1"},
                {IMAGE NETWORK "\n# web.service.d/~argosy.conf\n[X-Argosy]\n",
                 IMAGE NETWORK "Gateway=10.7.0.1\n\n# web.service.d/~argosy.conf\n[X-Argosy]\n"},
        };
        Changed c = changed_in(next);

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const char *has = rows[i].has;
                _cleanup_buf_ Buf got = {};

                assert_int_equal(quadlet_beside_put(has, strlen(has), "front.network", &c.part, &got), 0);
                assert_int_equal(buf_append(&got, "", 1), 0);
                assert_string_equal((const char *) got.data, rows[i].gets);
        }
        assert_int_equal(quadlet_beside_put(IMAGE, strlen(IMAGE), "front.network", &c.part, &(Buf){}),
                         -ENOENT);
}

static void all_that_is_made_is_one_text(void **state) {
        _cleanup_buf_ Buf made = {};
        QuadletMade m;

        assert_int_equal(buf_append(&made, "unit", 4), 0);
        assert_int_equal(quadlet_made_len(made.data, made.len), 4);
        assert_int_equal(quadlet_made_len(NULL, 0), 0);
        assert_int_equal(quadlet_made_add(&made, "a-volume.service", "one", 3), 0);
        assert_int_equal(quadlet_made_add(&made, "b-network.service", "", 0), 0);
        size_t at = quadlet_made_len(made.data, made.len);
        assert_int_equal(at, 4);
        assert_true(quadlet_made_next(made.data, made.len, &at, &m));
        assert_string_equal(m.name, "a-volume.service");
        assert_int_equal(m.len, 3);
        assert_memory_equal(m.unit, "one", 3);
        assert_true(quadlet_made_next(made.data, made.len, &at, &m));
        assert_string_equal(m.name, "b-network.service");
        assert_int_equal(m.len, 0);
        assert_false(quadlet_made_next(made.data, made.len, &at, &m));
        at = 4;
        assert_false(quadlet_made_next(made.data, 8, &at, &m)); // cut off
}

static int collect(const char *file, void *userdata) {
        return buf_printf(userdata, "%s ", file);
}

static void files_beside_are_known_by_what_names_them(void **state) {
        static const char text[] =
                IMAGE "Volume=gone.volume:/x\nVolume=\nVolume=/srv/x.volume:/y\nVolume=b.volume:/b\n"
                      "Mount=type=volume,source=b.volume,destination=/c\nNetwork=n.network:alias=x\n"
                      "Network=db.container\n[Service]\nVolume=no.volume:/x\n";
        _cleanup_buf_ Buf said = {};

        assert_int_equal(quadlet_beside_each(text, strlen(text), collect, &said), 0);
        assert_int_equal(buf_append(&said, "", 1), 0);
        assert_string_equal((const char *) said.data, "b.volume n.network db.container ");
        assert_true(quadlet_is_beside("a.volume", 8));
        assert_false(quadlet_is_beside(".volume", 7));
        assert_false(quadlet_is_beside("a@.volume", 9));
        assert_false(quadlet_is_beside("a/b.volume", 10));
        assert_false(quadlet_is_beside("a.pod", 5));
}

static void what_a_container_brings_is_bound_into_it(void **state) {
        static const char content[] =
                IMAGE "[X-Argosy]\nFile=conf:/usr/share/web x.conf:/etc/x/%i.conf other\nSecret=token";
        _cleanup_(unit_file_freep) UnitFile *made = NULL;
        _cleanup_buf_ Buf binds = {}, none = {};
        static const char was_made[] =
                "[X-Argosy]\nFile=conf:/usr/share/web\nSecret=token\n[X-Container]\nImage=x\n"
                "[Install]\nWantedBy=a.target\n";

        unit_file_free(parse(content));
        assert_int_equal(quadlet_binds(content, strlen(content), &binds), 0);
        assert_int_equal(buf_append(&binds, "", 1), 0);
        assert_string_equal((const char *) binds.data,
                            "\n\n[Container]\n"
                            "Volume=/run/argosy/units/%n:/run/argosy/units/%n:ro,z\n"
                            "Environment=ARGOSY_FILES=/run/argosy/units/%n\n"
                            "Volume=/run/argosy/units/%n/conf:/usr/share/web:ro,z\n"
                            "Volume=/run/argosy/units/%n/x.conf:/etc/x/%i.conf:ro,z\n"
                            "Volume=/run/argosy/secrets/units/%n:/run/credentials/%n:ro,z\n"
                            "Environment=CREDENTIALS_DIRECTORY=/run/credentials/%n\n");
        assert_int_equal(quadlet_binds(IMAGE, strlen(IMAGE), &none), 0);
        assert_int_equal(none.len, 0);
        assert_int_equal(unit_file_parse("x", was_made, strlen(was_made), &made, NULL), 0);
        assert_true(made->made && made->n_install > 0);
}

static void a_generator_reads_units_where_the_file_names_containers(void **state) {
        static const char
                content[] = "# a [Unit] of mine\n[Unit]\nAfter = db.container  x.service d.volume\n; "
                            "After=y.container\nWants=a.container \\\n"
                            "# between\n  b.container\nDescription=x.container\n" IMAGE
                            "AutoUpdate=registry\nExec=c.container\n"
                            "[X-Argosy]\nAfter=d.service",
                expected[] = "# a [Unit] of mine\n[Unit]\nAfter = db.service  x.service d-volume.service\n; "
                             "After=y.container\nWants=a.service \\\n"
                             "# between\n  b.service\nDescription=x.container\n" IMAGE "Exec=c.container\n"
                             "[X-Argosy]\nAfter=d.service";
        _cleanup_buf_ Buf text = {};

        assert_int_equal(quadlet_source(content, strlen(content), NULL, &text), 0);
        assert_int_equal(buf_append(&text, "", 1), 0);
        assert_string_equal((const char *) text.data, expected);
}

static int note(unsigned line, const char *text, void *userdata) {
        return buf_printf(userdata, "%u %.12s\n", line, text);
}

static void what_a_user_may_not_expect_is_said(void **state) {
        static const char content[] = IMAGE
                "AutoUpdate=registry\nUserNS=keep-id\nVolume=%h/x:/x\n[Install]\nWantedBy=default.target\n",
                          local[] = "[Container]\nImage=\"localhost/web:1\"\nRootfs=/srv/web\n",
                          plain[] = "[Container]\nImage=docker.io/library/web:1\n";
        _cleanup_buf_ Buf said = {}, of_local = {}, nothing = {};

        assert_int_equal(quadlet_warnings(content, strlen(content), note, &said), 0);
        assert_int_equal(buf_append(&said, "", 1), 0);
        assert_string_equal((const char *) said.data,
                            "3 AutoUpdate= \n4 UserNS=keep-\n5 %h and %U ar\n7 default.targ\n");
        assert_int_equal(quadlet_warnings(local, strlen(local), note, &of_local), 0);
        assert_int_equal(buf_append(&of_local, "", 1), 0);
        assert_string_equal((const char *) of_local.data, "2 Image=localh\n3 Rootfs= is n\n");
        assert_int_equal(quadlet_warnings(plain, strlen(plain), note, &nothing), 0);
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

static void assert_container(const char *unit, const char *lines, const char *expected) {
        _cleanup_free_ char *text = str_printf(IMAGE "%s", lines), *name = NULL;

        assert_int_equal(quadlet_container_name(unit, text, strlen(text), &name), 0);
        assert_string_equal(name ?: "unknown", expected);
}

static void a_container_is_called_as_podman_calls_it(void **state) {
        assert_container("web.service", "", "systemd-web");
        assert_container("work@7.service", "", "systemd-work_7");
        assert_container("web.service", "ContainerName=db\n", "db");
        assert_container("web.service", "ContainerName=db\nContainerName=\n", "systemd-web");
        assert_container("work@7.service", "ContainerName=db-%i\n", "db-7");
        assert_container("work@7.service", "ContainerName=\"db-%i\"\n", "db-7");
        assert_container("web.service", "ContainerName=d\\\n  b\n", "db");
        assert_container("web.service", "ContainerName=db-%H\n", "unknown");
        assert_container("web.service", "[Service]\nContainerName=db\n", "systemd-web");
}

RUN_TESTS(
        cmocka_unit_test(names_are_those_of_quadlet),
        cmocka_unit_test(a_container_is_called_as_podman_calls_it),
        cmocka_unit_test(a_content_is_a_containers_by_its_section),
        cmocka_unit_test(it_is_a_service_as_quadlet_makes_it),
        cmocka_unit_test(it_runs_where_podman_is),
        cmocka_unit_test(only_services_are_containers),
        cmocka_unit_test(what_another_node_would_not_have_is_refused),
        cmocka_unit_test(everything_else_is_the_generators),
        cmocka_unit_test(data_keeps_a_container_on_its_node),
        cmocka_unit_test(volumes_are_called_as_podman_calls_them),
        cmocka_unit_test(what_a_host_has_once_is_claimed),
        cmocka_unit_test(what_it_names_goes_with_it),
        cmocka_unit_test(each_name_is_one_file_on_a_node),
        cmocka_unit_test(what_is_there_stays_as_it_was_made),
        cmocka_unit_test(a_network_of_another_file_is_told),
        cmocka_unit_test(others_get_its_lines_and_keep_their_own),
        cmocka_unit_test(all_that_is_made_is_one_text),
        cmocka_unit_test(files_beside_are_known_by_what_names_them),
        cmocka_unit_test(what_a_container_brings_is_bound_into_it),
        cmocka_unit_test(a_generator_reads_units_where_the_file_names_containers),
        cmocka_unit_test(what_a_user_may_not_expect_is_said),
        cmocka_unit_test(versions_before_5_are_too_old),
        cmocka_unit_test(what_was_made_says_of_what_until_somebody_changes_it)
)
