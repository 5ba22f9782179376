// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What podman's generator has made, when argosyd begins anew: what is in place is not made again.
#include "podman-world.h"

#include "carried-files.h"

#define BOX_WITH_DATA \
        "[Container]\nImage=localhost/box\nVolume=data.volume:/data\n\n# data.volume\n[Volume]\n"
#define MAKES_DATA "[Service]\nExecStart=/usr/bin/podman volume create --ignore systemd-data\n"

static void meet_again_with(const char *content, uint64_t revision) {
        forget_reports();
        w.term++;
        meet_leader(&(Order){.name = "box.service", .content = content, .revision = revision, .start = 6},
                    1);
}

static void begin_anew(void) {
        agent_restart();
        meet_again_with(BOX_OF(DIGEST_1), 6);
}

static char *path_of(const char *file) {
        return str_printf("%s/%s", w.unit_dir, file);
}

static void append_to(const char *file) {
        _cleanup_free_ char *path = path_of(file);
        _cleanup_buf_ Buf text = {};

        assert_int_equal(file_read(AT_FDCWD, path, UNIT_FILE_MAX, &text), 0);
        assert_int_equal(buf_printf(&text, "Nice=5\n"), 0);
        assert_int_equal(file_replace(AT_FDCWD, path, text.data, text.len, 0644, 0), 0);
}

static void remove_file(const char *file) {
        _cleanup_free_ char *path = path_of(file);

        assert_int_equal(unlink(path), 0);
}

static void assert_as_made(const char *file) {
        _cleanup_free_ char *path = path_of(file);
        _cleanup_buf_ Buf text = {};
        Hash of;

        assert_int_equal(file_read(AT_FDCWD, path, UNIT_FILE_MAX, &text), 0);
        assert_true(quadlet_made_of(text.data, text.len, &of));
}

static void assert_runs_on(void) {
        loop_until(answered("box.service", 6) && report_of("box.service")->spec.len > 0);
        assert_string_equal(report_of("box.service")->error, "");
        assert_false(report_of("box.service")->file_stale);
        assert_true(pid1_is_active(pid1, "box.service"));
        assert_int_equal(pid1_runs(pid1, "box.service"), 1);
}

// The content is in no file, so a leader has to send it.
static void what_was_made_is_not_made_again(void **state) {
        start_box();
        begin_anew();
        assert_int_equal(w.attach->attach->n_held, 1);
        assert_int_equal(w.attach->attach->held[0]->spec.len, 0);
        assert_runs_on();
        assert_int_equal(generator.number, 1);
        assert_int_equal(n_commands, 1);
        order("box.service", BOX_OF(DIGEST_2), 7); // what was in place is known
        make();
        list(IMAGE_OF(DIGEST_2) "\n");
        loop_until(answered("box.service", 7) && pid1_runs(pid1, "box.service") == 2);
}

static void what_somebody_has_changed_or_removed_is_made_again(void **state) {
        static void (*const done[])(const char *file) = {append_to, remove_file};

        start_box();
        for (size_t i = 0; i < ELEMENTSOF(done); i++) {
                done[i]("box.service");
                begin_anew();
                make();
                list(IMAGE_OF(DIGEST_1) "\n");
                assert_runs_on();
                assert_int_equal(generator.number, 2 + i);
                assert_as_made("box.service");
        }
}

static void another_content_is_made(void **state) {
        start_box();
        agent_restart();
        meet_again_with(BOX_OF(DIGEST_2), 7);
        make();
        list(IMAGE_OF(DIGEST_2) "\n");
        loop_until(answered("box.service", 7) && pid1_runs(pid1, "box.service") == 2);
}

static void what_stands_beside_it_is_looked_at_as_well(void **state) {
        static void (*const done[])(const char *file) = {append_to, remove_file};

        order("box.service", BOX_WITH_DATA, 6);
        make_with(MAKES_DATA);
        list("");
        loop_until(newest("podman volume inspect"));
        end(newest("podman volume inspect"), 0, "= systemd-data\n", "");
        loop_until(answered("box.service", 6) && pid1_runs(pid1, "box.service") == 1);
        agent_restart();
        meet_again_with(BOX_WITH_DATA, 6);
        assert_runs_on();
        assert_int_equal(generator.number, 1);
        for (size_t i = 0; i < ELEMENTSOF(done); i++) {
                agent_down();
                done[i]("data-volume.service");
                agent_up();
                meet_again_with(BOX_WITH_DATA, 6);
                loop_until(generator.n == 1);
        }
}

// An order whose content carries the empty file `data`. `ret`: with a zero behind it.
static void compose_with_file(Buf *ret, Hash *ret_hash) {
        static const char text[] = "[Container]\nImage=localhost/box\n[X-Argosy]\nFile=data\n";
        _cleanup_carried_files_ CarriedFiles files = {};
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        _cleanup_free_ char *why = NULL;

        *ret_hash = hash_of("", 0);
        assert_int_equal(unit_file_parse("box.service", text, strlen(text), &file, &why), 0);
        assert_int_equal(carried_files_add(&files, "data", false, 0, ret_hash), 0);
        assert_int_equal(buf_append(ret, text, strlen(text)), 0);
        assert_int_equal(carried_files_compose("box.service", file, &files, ret, &why), 0);
        assert_int_equal(buf_append(ret, "", 1), 0);
}

static void send_file(const Hash *hash) {
        Argosy__ToHost__FilePiece piece =
                MESSAGE_OF(to_host__file_piece,
                           .hash = (ProtobufCBinaryData){HASH_SIZE, (uint8_t *) hash->bytes}, .there = true);

        agent_on_message(w.agent, A_TO_HOST(FILE_PIECE, file_piece, &piece));
}

static void files_that_go_with_it_are_looked_at_when_the_content_comes(void **state) {
        _cleanup_free_ char *folder = str_printf("%s/units/box.service", w.dir),
                            *data = str_printf("%s/data", folder);
        _cleanup_buf_ Buf content = {};
        Hash hash;

        compose_with_file(&content, &hash);
        order("box.service", (const char *) content.data, 6);
        make();
        loop_until(w.n_file_asks == 1);
        send_file(&hash);
        list("");
        loop_until(answered("box.service", 6) && pid1_runs(pid1, "box.service") == 1);
        agent_restart();
        meet_again_with((const char *) content.data, 6);
        assert_runs_on();
        assert_int_equal(generator.number, 1);
        agent_down();
        assert_int_equal(unlink(data), 0);
        assert_int_equal(rmdir(folder), 0);
        agent_up();
        meet_again_with((const char *) content.data, 6);
        make();
        loop_until(w.n_file_asks == 2);
        send_file(&hash);
        assert_runs_on();
        assert_int_equal(access(data, F_OK), 0);
}

RUN_TESTS(CASE(files_that_go_with_it_are_looked_at_when_the_content_comes),
          CASE(what_was_made_is_not_made_again),
          CASE(what_somebody_has_changed_or_removed_is_made_again), CASE(another_content_is_made),
          CASE(what_stands_beside_it_is_looked_at_as_well))
