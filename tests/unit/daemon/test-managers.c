// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which managers are served, and that the file which keeps it says the same, whatever the disk does. The
// agent is the test's.
#include "tmpdir.h"

#include <errno.h>

#include "agent.h"
#include "daemon.h"
#include "fileio.h"
#include "managers.h"
#include "paths.h"

#define MANAGER "user@1000"

static Paths paths;
static Daemon d;
static bool is_served, is_full;
static int status, refusal;
static void (*detached)(int error, void *userdata);
static void *detached_data;

int __real_file_replace(int dirfd, const char *path, const void *data, size_t len, mode_t mode, int flags);
int __wrap_file_replace(int dirfd, const char *path, const void *data, size_t len, mode_t mode, int flags);
int __wrap_file_replace(int dirfd, const char *path, const void *data, size_t len, mode_t mode, int flags) {
        return is_full ? -ENOSPC : __real_file_replace(dirfd, path, data, len, mode, flags);
}

int agent_manager_attach(Agent *a, const char *manager, pid_t leader, char **ret_why) {
        assert_string_equal(manager, MANAGER);
        if (is_served)
                return -EEXIST;
        is_served = true;
        return 0;
}

int agent_manager_detach(Agent *a, const char *manager, bool force, void (*done)(int, void *),
                         void *userdata) {
        if (refusal < 0)
                return refusal;
        detached = done;
        detached_data = userdata;
        return is_served ? 0 : -ENOENT;
}

void agent_managers_let_go(Agent *a) {
}

size_t agent_managers(const Agent *a, AgentManagerInfo *ret, size_t max) {
        return 0;
}

// As the agent says it when the last unit has gone.
static void end_detaching(void) {
        is_served = false;
        TAKE_PTR(detached)(0, detached_data);
        managers_on_gone(&d, MANAGER);
}

static void on_response(const Argosy__Response *response, void *userdata) {
        status = response->status;
}

static void ask(bool attach) {
        Argosy__Request__ManagerAttach in = ARGOSY__REQUEST__MANAGER_ATTACH__INIT;
        Argosy__Request__ManagerDetach out = ARGOSY__REQUEST__MANAGER_DETACH__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        status = -1;
        in.manager = out.manager = (char *) MANAGER;
        request.what_case =
                attach ? ARGOSY__REQUEST__WHAT_MANAGER_ATTACH : ARGOSY__REQUEST__WHAT_MANAGER_DETACH;
        if (attach)
                request.manager_attach = &in;
        else
                request.manager_detach = &out;
        managers_request(&d, &request, on_response, NULL);
}

// What is served after the next start.
static void begin_anew(void) {
        is_served = false;
        managers_open(&d);
}

static int begin(void **state) {
        int r = tmpdir_make(state);

        paths = (Paths){.state_dir = *state};
        d = (Daemon){.paths = &paths};
        list_init(&d.detaching);
        is_served = is_full = false;
        refusal = 0;
        detached = NULL;
        return r;
}

static void what_is_attached_stays_until_it_is_detached(void **state) {
        ask(true);
        assert_int_equal(status, 0);
        begin_anew();
        assert_true(is_served);
        ask(false);
        assert_int_equal(status, -1); // it waits for the units there
        end_detaching();
        assert_int_equal(status, 0);
        assert_false(is_served);
        begin_anew();
        assert_false(is_served);
}

// argosyd began anew before the units there had gone: the agent goes on with what nobody names any more.
static void what_is_being_detached_is_not_attached_by_the_next_start(void **state) {
        ask(true);
        ask(false);
        begin_anew();
        assert_false(is_served);
        end_detaching();
}

static void what_could_not_be_attached_is_forgotten(void **state) {
        ask(true);
        is_served = false;
        ask(false);
        assert_int_equal(status, 0);
        begin_anew();
        assert_false(is_served);
        ask(false);
        assert_int_equal(status, ENOENT);
}

static void what_cannot_be_forgotten_is_not_detached(void **state) {
        ask(true);
        is_full = true;
        ask(false);
        assert_int_equal(status, ENOSPC);
        assert_null(detached);
        begin_anew();
        assert_true(is_served);
}

static void what_the_agent_keeps_is_kept(void **state) {
        ask(true);
        refusal = -ENOSPC; // it is to be let go by force
        ask(false);
        assert_int_equal(status, ENOSPC);
        begin_anew();
        assert_true(is_served);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, tmpdir_drop)

RUN_TESTS(
        CASE(what_is_attached_stays_until_it_is_detached),
        CASE(what_is_being_detached_is_not_attached_by_the_next_start),
        CASE(what_could_not_be_attached_is_forgotten),
        CASE(what_cannot_be_forgotten_is_not_detached),
        CASE(what_the_agent_keeps_is_kept)
)
