// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Start:  configuration -> state directory (a fresh host makes itself the first of a new cluster) -> mesh ->
// log, if a voter -> agent ->
//         local socket, port -> READY
// End:    SIGTERM -> hand leadership on -> Goodbye -> close everything -> all is closed and written -> exit,
//         or
// execute ourselves again
//
// Nothing here stops a unit: units belong to systemd, and this process may come and go.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "accounts.h"
#include "agent.h"
#include "clock.h"
#include "cluster-state.h"
#include "daemon-http.h"
#include "daemon-listen.h"
#include "daemon-log.h"
#include "daemon-mesh.h"
#include "daemon.h"
#include "feature-level.h"
#include "join-server.h"
#include "leader.h"
#include "local-api.h"
#include "log.h"
#include "machine.h"
#include "managers.h"
#include "mesh.h"
#include "oom.h"
#include "message.h"
#include "paths.h"
#include "port.h"
#include "process-end.h"
#include "recovery.h"
#include "router.h"
#include "router-lead.h"
#include "router-dispatch.h"
#include "run-private.h"
#include "run.h"
#include "secret-files.h"
#include "socket-access.h"
#include "start-failure.h"
#include "state-dir.h"
#include "str.h"
#include "stream.h"
#include "tls-context.h"

// Application id of the host id: machine_ids() makes of it and the machine id something that does not give
// the machine id away. Random, fixed for ever. A user's argosyd is a host of its own: it mixes the uid in,
// inverted, so that root's differs from the machine's, too.
static const uint8_t application_id[MACHINE_ID_SIZE] = {0x5c, 0x8e, 0x1f, 0x0b, 0x3a, 0x94, 0x4d, 0x6b,
                                                        0x9d, 0x2e, 0x71, 0xc0, 0x45, 0xaf, 0x18, 0x63};

// ---- requests of local clients

static void on_route_answer(const Argosy__Response *response, void *userdata) {
        Argosy__Response copy = *response;
        Route *route = api_call_data(userdata);

        if (copy.final)
                api_call_set_data(userdata, NULL);
        api_call_respond(userdata, &copy);
        if (!copy.final && route && !api_call_is_full(userdata))
                router_taken(route);
}

static void on_api_drained(ApiCall *call, void *userdata) {
        Route *route = api_call_data(call);

        if (route)
                router_taken(route);
}

static void on_api_request(ApiCall *call, Argosy__Request *request, void *userdata) {
        Daemon *d = userdata;
        Route *route;
        int r = router_submit(d->router, message_take(request), api_call_author(call), on_route_answer, call,
                              &route);

        if (r < 0)
                api_call_fail(call, -r, "%s", strerror(-r));
        else
                api_call_set_data(call, route);
}

static void on_api_cancelled(ApiCall *call, void *userdata) {
        Route *route = api_call_data(call);

        if (route)
                router_cancel(route);
}

static const LocalApiOps api_ops = {
        .request = on_api_request,
        .cancelled = on_api_cancelled,
        .admits = socket_access_admits,
        .drained = on_api_drained,
};

// ---- the agent's words

static int agent_send(const Argosy__ToVoter *message, void *userdata) {
        return mesh_to_leader(((Daemon *) userdata)->mesh, message);
}

static void on_agent_fatal(const char *why, void *userdata) {
        daemon_fail(userdata, why);
}

static void on_agent_attached(bool attached, void *userdata) {
        Daemon *d = userdata;

        d->attached = attached;
        daemon_status(d);
        run_shut_down_on(d);
}

static void on_agent_attaching(AgentSelf *ret, void *userdata) {
        Daemon *d = userdata;

        d->own = address_find(d, NULL);
        d->capacity = capacity_read(CGROUP_ROOT, &d->config);
        *ret = (AgentSelf){
                .cpu_milli = d->capacity.cpu_milli,
                .memory_mib = d->capacity.memory_mib,
                .address = d->own.text,
                .address_name = d->own.name,
                .address_configured = d->own.configured,
                .voters_configured = d->config.voters_given ? (uint32_t) d->config.voters : 0,
        };
}

static void on_agent_beat(uint64_t unanswered_us, void *userdata) {
        Daemon *d = userdata;

        if (d->router)
                router_on_beat(d->router, unanswered_us);
}

static bool on_agent_leader_is_watched(void *userdata) {
        const Daemon *d = userdata;

        return d->router && router_leader_is_watched(d->router);
}

// Its units are stopped now: by then another voter is to lead, which moves them.
static void on_agent_stopping(void *userdata) {
        Daemon *d = userdata;

        log_info("%s is shutting down.", d->paths->user ? "This user's systemd" : "The machine");
        (void) run_hand_over(d);
}

static void on_agent_resumed(void *userdata) {
        ((Daemon *) userdata)->handed_over = false; // the next shutdown begins anew
        log_info("The shutdown was cancelled; units that it has stopped are started again.");
}

static void on_agent_rested(size_t n, void *userdata) {
        heap_keeper_note(&((Daemon *) userdata)->heap, n);
}

static void on_agent_manager_gone(const char *manager, void *userdata) {
        managers_on_gone(userdata, manager);
}

static const AgentOps agent_ops = {
        .send = agent_send,
        .attaching = on_agent_attaching,
        .fatal = on_agent_fatal,
        .attached = on_agent_attached,
        .beat = on_agent_beat,
        .leader_is_watched = on_agent_leader_is_watched,
        .stopping = on_agent_stopping,
        .resumed = on_agent_resumed,
        .rested = on_agent_rested,
        .manager_gone = on_agent_manager_gone,
};

// ---- start

static int find_ids(Daemon *d, char **ret_why) {
        uint8_t application[MACHINE_ID_SIZE];
        uint32_t uid = htole32(getuid());
        MachineIds ids;
        int r;

        memcpy(application, application_id, sizeof(application));
        if (d->paths->user)
                for (size_t i = 0; i < sizeof(uid); i++)
                        application[i] ^= (uint8_t) ~((uint8_t *) &uid)[i];
        r = machine_ids(application, &ids);
        if (r < 0) {
                *ret_why = str_printf("This machine has no machine id (/etc/machine-id: %s); "
                                      "systemd-machine-id-setup makes one",
                                      strerror(-r));
                return r;
        }
        memcpy(d->host_id, ids.host, sizeof(d->host_id));
        memcpy(d->boot_id, ids.boot, sizeof(d->boot_id));
        hex_encode(ids.host, sizeof(ids.host), d->host_id_hex);
        hex_encode(ids.machine, sizeof(ids.machine), d->machine_id_hex);
        return 0;
}

static int load_files(Daemon *d, char **ret_why) {
        int r = state_dir_load(d->paths->state_dir, &d->identity, &d->peers, ret_why);

        return r < 0 ? r : voter_secrets_load(d->paths->state_dir, &d->secrets, ret_why);
}

static int load_state(Daemon *d, bool *ret_fresh, char **ret_why) {
        int r;

        r = paths_make(d->paths, ret_why);
        if (r < 0)
                return r;
        r = state_dir_lock(d->paths->state_dir);
        if (r < 0) {
                *ret_why = str_printf("Cannot lock %s: %s", d->paths->state_dir,
                                      r == -EBUSY ? "another argosyd uses it" : strerror(-r));
                return r;
        }
        r = state_dir_is_writable(d->paths->state_dir, ret_why);
        if (r >= 0)
                r = state_dir_settle(d->paths->state_dir, ret_why);
        if (r >= 0)
                r = recovery_settle(d->paths->state_dir, ret_why);
        if (r >= 0)
                r = port_reserve(d, ret_why);
        if (r < 0)
                return r;
        r = load_files(d, ret_why);
        *ret_fresh = r == -ENOENT;
        if (!*ret_fresh)
                return r;
        log_notice("This is a fresh host: making it the first of a new cluster.");
        r = state_dir_create(d->paths->state_dir, d->config.name, d->own.text, d->port, ret_why);
        if (r < 0)
                return r;
        return load_files(d, ret_why);
}

// The machine's argosyd has its helpers started by a service of theirs. One that no systemd has started, or
// a user's, may do it itself.
static int find_helper_service(Daemon *d) {
        if (d->paths->user)
                return 0;
        *d->helper = str_printf("@%s/helper.sock", d->paths->runtime_dir);
        if (!*d->helper)
                return -ENOMEM;
        if (access(*d->helper + 1, F_OK) < 0)
                free(TAKE_PTR(*d->helper));
        return 0;
}

static int open_agent(Daemon *d, char **ret_why) {
        const ManagerPaths *manager = &d->paths->manager;
        AgentConfig config = {
                .loop = d->loop,
                .state_dir = d->paths->state_dir,
                .runtime_dir = d->paths->runtime_dir,
                .unit_dir = manager->unit_dir,
                .secrets_dir = d->paths->user ? NULL : SECRET_FILES_DIR,
                .foreign_dirs = (const char *const *) manager->search_dirs,
                .take_from = d->config.fleet_take_over,
                .systemd = {.loop = d->loop,
                            .socket_path = manager->socket,
                            .check_period_us = d->config.check_us},
                .user = d->paths->user,
                .verifies = true,
                .helper = *d->helper ? (const char *const *) d->helper : NULL,
                .host_name = d->config.name,
                .port = d->port,
                .labels = (const Argosy__Label *const *) d->config.labels,
                .n_labels = d->config.n_labels,
                .nodes = d->peers->nodes,
                .n_nodes = d->peers->n_nodes,
        };

        return agent_new(&config, &agent_ops, d, &d->agent, ret_why);
}

static int open_socket(Daemon *d, char **ret_why) {
        _cleanup_free_ char *path = str_printf("%s/argosy.sock", d->paths->runtime_dir);
        int r, fd = -1;

        if (!path)
                return -ENOMEM;
        if (sd_listen_fds(0) > 0) {
                fd = SD_LISTEN_FDS_START;
                r = sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0);
                if (r <= 0) {
                        *ret_why = str_printf("The socket from systemd is not a listening unix socket.");
                        return r < 0 ? r : -EINVAL;
                }
                r = fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0;
        } else
                r = listener_bind_unix(path, d->paths->socket_mode, (gid_t) -1, &fd);
        if (r >= 0) {
                d->socket_fd = fcntl(fd, F_DUPFD_CLOEXEC, 10);
                r = d->socket_fd < 0 ? -errno : 0;
        }
        if (r >= 0)
                r = local_api_new(d->loop, fd, d->accounts, &api_ops, d, &d->api);
        if (r < 0)
                *ret_why = str_printf("Cannot listen on %s: %s", path, strerror(-r));
        return r;
}

// A voter without its log has lost it: to start an empty one would forget what it voted for and
// acknowledged.
static int refuse_lost_log(Daemon *d, bool fresh, char **ret_why) {
        if (fresh || d->peers->raft_id == 0 || store_exists(d->log_dir))
                return 0;
        if (state_dir_may_begin_log(d->peers))
                return 0; // stopped between state_dir_create() and the log's first write
        *ret_why = state_dir_lost_log(d->paths->state_dir, d->log_dir, d->config.name, d->peers);
        return -EBADMSG;
}

// The log of a cluster that has gone on to a level which this build does not have. What stands in the log is
// checked as well; this says so before anybody is connected to.
static int refuse_newer_log(Daemon *d, char **ret_why) {
        if (d->peers->raft_id == 0 || d->peers->feature_level <= FEATURE_LEVEL)
                return 0;
        *ret_why =
                str_printf("The log in %s cannot be read: the cluster is at feature level %u, this argosyd "
                           "has %u. Install the newer one again.",
                           d->log_dir, d->peers->feature_level, FEATURE_LEVEL);
        return -EPROTONOSUPPORT;
}

static int start(Daemon *d, char **ret_why) {
        bool fresh;
        int r;

        d->own = address_find(d, NULL);
        d->accounts = oom_checked(accounts_new(&account_limits));
        r = find_ids(d, ret_why);
        if (r >= 0)
                r = load_state(d, &fresh, ret_why);
        if (r >= 0)
                r = refuse_lost_log(d, fresh, ret_why);
        if (r >= 0)
                r = refuse_newer_log(d, ret_why);
        if (r >= 0)
                daemon_log_tidy(d);
        if (r >= 0)
                r = tls_context_new(&d->identity, daemon_listen_judge, d, &d->tls);
        if (r >= 0)
                r = router_new(d, &d->router);
        if (r >= 0)
                r = join_server_new(d, &d->join_server);
        if (r >= 0)
                r = find_helper_service(d);
        if (r >= 0)
                r = open_agent(d, ret_why);
        if (r >= 0)
                managers_open(d);
        if (r >= 0)
                r = daemon_mesh_open(d);
        if (r >= 0 && d->peers->raft_id > 0)
                r = daemon_log_open(d, d->peers->raft_id == 1 && d->peers->host == 1, ret_why);
        if (r >= 0)
                r = port_open_if_wanted(d, ret_why);
        if (r >= 0)
                r = open_socket(d, ret_why);
        if (r >= 0)
                daemon_http_open(d);
        if (r >= 0)
                socket_access_update(d);
        if (r >= 0)
                address_open(d);
        return r;
}

// The same program with the same arguments, which then finds the new identity. The local socket goes along,
// so that no client is refused.
static void execute_again(Daemon *d, char **argv) {
        char pid[16];

        if (d->socket_fd >= 0 && dup2(d->socket_fd, SD_LISTEN_FDS_START) == SD_LISTEN_FDS_START) {
                if (d->socket_fd == SD_LISTEN_FDS_START)
                        (void) fcntl(SD_LISTEN_FDS_START, F_SETFD, 0);
                snprintf(pid, sizeof(pid), "%i", (int) getpid());
                setenv("LISTEN_PID", pid, 1);
                setenv("LISTEN_FDS", "1", 1);
        }
        execv("/proc/self/exe", argv);
        log_error("Cannot execute argosyd again: %s", strerror(errno));
}

// A process that ends need not free anything. But so a leak checker sees what was lost on the way.
static void forget_everything(Daemon *d) {
        tls_context_unref(d->tls);
        accounts_free(d->accounts);
        argosy__peers_file__free_unpacked(d->peers, NULL);
        message_free(d->voter_order);
        message_free(d->voters_said);
        message_free(d->voters_named);
        free(d->log_unreadable);
        identity_done(&d->identity);
        voter_secrets_done(&d->secrets);
        identity_done(&d->join_key.identity);
        buf_done(&d->join_key.csr);
        config_done(&d->config);
        free(d->log_dir);
        free(*d->helper);
        if (d->port_fd >= 0)
                close(d->port_fd);
        memset(d, 0, sizeof(*d));
}

int daemon_start(Daemon *d, uv_loop_t *loop, const RunOptions *options, char **ret_why) {
        int r;

        d->loop = loop;
        d->paths = &options->paths;
        d->user_name = options->user_name;
        d->port_fd = -1;
        d->socket_fd = -1;
        list_init(&d->detaching);
        d->identity_replaced = run_on_identity_replaced;
        d->address_changed = daemon_http_update;
        d->log_dir = str_printf("%s/log", d->paths->state_dir);
        d->leader_seen_us = clock_boot_us();
        r = d->log_dir ? run_load_config(d, &d->config) : -ENOMEM;
        if (r < 0)
                return r;
        log_set_level(options->debug ? LOG_DEBUG : (int) d->config.log_level);
        run_open_handles(d);
        return start(d, ret_why);
}

int daemon_run(const RunOptions *options, char **argv) {
        _cleanup_free_ char *why = NULL;
        static Daemon daemon; // handles inside must outlive the loop
        Daemon *d = &daemon;
        uv_loop_t *loop = uv_default_loop();
        int r, status;
        bool complete;

        (void) prctl(PR_SET_NAME, "argosyd"); // executed again by its link in /proc, it is called "exe"
        (void) uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
        run_watch_signals(d, loop);
        r = daemon_start(d, loop, options, &why);
        if (r < 0)
                return start_failed(d->paths->runtime_dir, r, why ?: strerror(-r), d->api);
        start_succeeded(d->paths->runtime_dir);
        log_info("argosyd %s is up: host %u, %s, port %u.", ARGOSY_VERSION, d->peers->host,
                 *d->own.name       ? d->own.name
                 : *d->own.text ? d->own.text
                                : "no address yet",
                 (unsigned) d->port);
        (void) sd_notify(0, "READY=1");
        daemon_status(d);
        uv_run(d->loop, UV_RUN_DEFAULT);
        complete = run_out(d);
        if (d->end == DAEMON_RESTART)
                execute_again(d, argv);
        status = d->end == DAEMON_EXIT ? EXIT_SUCCESS : EXIT_FAILURE;
        if (!complete)
                process_end(status);
        forget_everything(d);
        return status;
}
