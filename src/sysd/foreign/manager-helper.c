// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The helper process that argosyd starts for a foreign systemd manager, of a user or a container
// (manager-helper.h).
//
//      argosyd executes itself: MODE MANAGER LEADER BORN -> gives up rights, enters the user or container
//      connect: the manager's socket is handed over    search, write: unit files, request by request
//      journal: the container's journal                   verify: units are checked as nobody
//
// It blocks wherever its user makes it block: argosyd waits with a limit and kills it (helper-link.c).
// Failures: a reply with errno and a sentence, then the process ends with EXIT_FAILURE.

#include "manager-helper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "helper-files.h"
#include "helper-frame.h"
#include "helper-journal.h"
#include "helper-sandbox.h"
#include "helper-verify.h"
#include "manager-connect.h"
#include "manager-enter.h"
#include "manager-name.h"
#include "manager-paths.h"
#include "str.h"
#include "unit-search.h"

enum { LINK = STDIN_FILENO };

// ---- frames, blocking

static int write_all(const uint8_t *data, size_t len) {
        while (len > 0) {
                ssize_t n = send(LINK, data, len, MSG_NOSIGNAL);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                data += n;
                len -= (size_t) n;
        }
        return 0;
}

static int send_reply(const Argosy__HelperReply *reply) {
        _cleanup_buf_ Buf frame = {};
        int r = helper_frame_pack(&reply->base, &frame);

        return r < 0 ? r : write_all(frame.data, frame.len);
}

static int send_failure(int error, const char *what) {
        Argosy__HelperReply reply = ARGOSY__HELPER_REPLY__INIT;
        char why[256];

        str_fit(why, sizeof(why), "%s: %s", what, strerror(-error));
        reply.error = error;
        reply.why = why;
        (void) send_reply(&reply);
        return EXIT_FAILURE;
}

// 1: a request; 0: the link was closed.
static int read_request(Buf *in, Argosy__HelperRequest **ret) {
        const uint8_t *payload;
        size_t len, total;
        int r;

        while ((r = helper_frame_cut(in->data, in->len, HELPER_FRAME_MAX, &payload, &len, &total)) == 0) {
                uint8_t *p = buf_reserve(in, 65536);
                ssize_t n;

                if (!p)
                        return -ENOMEM;
                n = read(LINK, p, 65536);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                in->len += (size_t) n;
        }
        if (r < 0)
                return r;
        *ret = argosy__helper_request__unpack(NULL, len, payload);
        buf_consume(in, total);
        return *ret ? 1 : -EBADMSG;
}

static int serve_requests(int (*answer)(const Argosy__HelperRequest *q, void *data), void *data) {
        _cleanup_buf_ Buf in = {};
        Argosy__HelperRequest *q = NULL;
        int r;

        while ((r = read_request(&in, &q)) > 0) {
                r = answer(q, data);
                argosy__helper_request__free_unpacked(q, NULL);
                if (r < 0)
                        break;
        }
        return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

// ---- connect

static int connect_to(const char *path) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        int fd;

        if (strlen(path) >= sizeof(a.sun_path))
                return -ENAMETOOLONG;
        strcpy(a.sun_path, path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (struct sockaddr *) &a, sizeof(a)) < 0) {
                int r = -errno;

                close(fd);
                return r;
        }
        return fd;
}

static int hand_over(int fd) {
        Argosy__HelperReply reply = ARGOSY__HELPER_REPLY__INIT;
        _cleanup_buf_ Buf frame = {};
        union {
                struct cmsghdr header;
                char bytes[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec iov;
        struct msghdr m = {.msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof(control)};
        int r = helper_frame_pack(&reply.base, &frame);

        if (r < 0)
                return r;
        iov = (struct iovec){frame.data, frame.len};
        control.header = (struct cmsghdr){
                .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
        return sendmsg(LINK, &m, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int serve_connect(const ManagerPaths *paths) {
        int fd = connect_to(paths->socket);

        if (fd < 0)
                return send_failure(fd, "cannot connect to its systemd");
        return hand_over(fd) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

// ---- write

static int answer_write(const Argosy__HelperRequest *q, void *data) {
        Argosy__HelperReply reply = ARGOSY__HELPER_REPLY__INIT;
        int failed = helper_files_answer(q, data, &reply), r = send_reply(&reply);

        return failed < 0 ? failed : r;
}

int manager_helper_write(const char *base, const char *below, uid_t owner, const char *const *search_dirs) {
        _cleanup_(helper_files_done) HelperFiles files = {
                .base = base, .below = below, .owner = owner, .search_dirs = search_dirs};

        return serve_requests(answer_write, &files);
}

// ---- look

static int answer_search(const Argosy__HelperRequest *q, void *data) {
        Argosy__HelperReply reply = ARGOSY__HELPER_REPLY__INIT;
        _cleanup_free_ Argosy__LoadState *loads = calloc(q->n_look + 1, sizeof(*loads));

        if (!loads)
                return -ENOMEM;
        reply.error = unit_search_run(data, q->look, q->n_look, loads);
        reply.loads = loads;
        reply.n_loads = reply.error < 0 ? 0 : q->n_look;
        return send_reply(&reply);
}

int manager_helper_search(const char *const *search_dirs) {
        return serve_requests(answer_search, (void *) search_dirs);
}

// ---- journal

static int answer_journal(const Argosy__HelperRequest *q, void *data) {
        Argosy__HelperReply reply = ARGOSY__HELPER_REPLY__INIT;
        int r = helper_journal_answer(data, q, LINK, &reply);

        if (r < 0)
                return r;
        r = send_reply(&reply);
        return reply.error < 0 ? reply.error : r;
}

// The mode `journal`.
static int manager_helper_journal(void) {
        _cleanup_(helper_journal_done) HelperJournal j = {};

        return serve_requests(answer_journal, &j);
}

// ---- verify

static int answer_verify(const Argosy__HelperRequest *q, void *data) {
        _cleanup_helper_verified_ HelperVerified v = {};
        Argosy__HelperReply reply = ARGOSY__HELPER_REPLY__INIT;
        int r = helper_verify_answer(q, &v, &reply);

        return r < 0 ? r : send_reply(&reply);
}

// This process parses no unit file: helper_verify_answer() starts one as nobody for each request.
static int serve_verify(void) {
        int r = enter_lock_down();

        return r < 0 ? send_failure(r, "cannot be locked down") : serve_requests(answer_verify, NULL);
}

// ---- the whole

static int serve_files(HelperMode mode, const char *base, const char *below, uid_t owner,
                       const ManagerPaths *paths) {
        const char *const *dirs = (const char *const *) paths->search_dirs;

        return mode == HELPER_SEARCH ? manager_helper_search(dirs)
                                     : manager_helper_write(base, below, owner, dirs);
}

static int paths_of_user(uid_t uid, const char *runtime_dir, const char *home, ManagerPaths *ret) {
        _cleanup_free_ char *variable = str_printf("XDG_RUNTIME_DIR=%s", runtime_dir);
        char *environment[] = {variable, NULL};
        Xdg xdg;
        int r;

        if (!variable)
                return -ENOMEM;
        r = xdg_init(&xdg, environment, home);
        if (r < 0)
                return r;
        r = manager_paths_init_user(ret, &xdg);
        xdg_done(&xdg);
        return r;
}

static int serve_user(uid_t uid, HelperMode mode) {
        _cleanup_free_ char *home = NULL, *runtime_dir = str_printf("/run/user/%u", (unsigned) uid);
        ManagerPaths paths = {};
        int r;

        r = runtime_dir ? enter_user(uid, &home) : -ENOMEM;
        if (r >= 0)
                r = paths_of_user(uid, runtime_dir, home, &paths);
        if (r < 0)
                return send_failure(r, "cannot become the user");
        r = mode == HELPER_CONNECT ? serve_connect(&paths)
                                   : serve_files(mode, runtime_dir, "user", uid, &paths);
        manager_paths_done(&paths);
        return r;
}

static int connect_to_container(pid_t leader, uint64_t born, const char *path) {
        static const char *const steps[] = {[CONNECTOR_PREPARES] = "cannot prepare to enter the container",
                                            [CONNECTOR_ENTERS] = "cannot enter the container",
                                            [CONNECTOR_CONNECTS] = "cannot connect to its systemd"};
        ConnectorStep step;
        int fd = manager_connect(leader, born, path, &step);

        if (fd < 0)
                return send_failure(fd, steps[step]);
        return hand_over(fd) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

// The journal's files are the container root's and may attack their parser, so this process has only the
// rights that the container's root has anyhow.
static int serve_journal(pid_t leader, uint64_t born) {
        int r = helper_journal_prepare();

        if (r >= 0)
                r = enter_container(leader, born, 0);
        if (r < 0)
                return send_failure(r, "cannot enter the container");
        r = helper_sandbox_enter();
        if (r < 0)
                return send_failure(r, "cannot give up system calls");
        return manager_helper_journal();
}

static int serve_container(pid_t leader, uint64_t born, HelperMode mode) {
        bool connecting = mode == HELPER_CONNECT;
        ManagerPaths paths = {};
        int r;

        r = connecting ? enter_lock_down() : enter_container(leader, born, 0);
        if (r >= 0)
                r = manager_paths_init_system(&paths);
        if (r < 0)
                return send_failure(r, "cannot enter the container");
        r = connecting ? connect_to_container(leader, born, paths.socket)
                       : serve_files(mode, "/run", "system", 0, &paths);
        manager_paths_done(&paths);
        return r;
}

int manager_helper_main(int argc, char **argv) {
        uint64_t leader, born;
        HelperMode mode;

        if (argc != 4 || !helper_mode_from_string(argv[0], &mode) ||
            !parse_u64(argv[2], INT32_MAX, &leader) || !parse_u64(argv[3], UINT64_MAX, &born))
                return EXIT_FAILURE;
        signal(SIGPIPE, SIG_IGN);
        if (mode == HELPER_VERIFY)
                return serve_verify();
        switch (manager_name_kind(argv[1])) {
        case MANAGER_USER: // a user's journal is part of the host's
                return mode == HELPER_JOURNAL ? EXIT_FAILURE
                                              : serve_user(manager_name_uid(argv[1]), mode);
        case MANAGER_CONTAINER:
                return mode == HELPER_JOURNAL ? serve_journal((pid_t) leader, born)
                                              : serve_container((pid_t) leader, born, mode);
        default:
                return EXIT_FAILURE;
        }
}
