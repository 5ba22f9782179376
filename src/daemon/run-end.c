// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The end: SIGTERM, the machine, or a new identity -> hand leadership on -> Goodbye -> close everything ->
// all is closed, and what was to be written is. What takes too long is left out at a deadline, and the
// kernel closes the rest.
//
// The pool is not waited for. What must be complete before this process goes has an object that closes only
// then, as the agent (fence, unit files) and the store (the log) do, or is in the state writer's queue. All
// else in the pool may hang for minutes, as a look-up in somebody's directory, and what it finds out is
// nobody's any more.

#include <signal.h>
#include <systemd/sd-daemon.h>

#include "agent.h"
#include "daemon-log.h"
#include "daemon.h"
#include "full-name.h"
#include "http-api.h"
#include "join-server.h"
#include "join.h"
#include "leader.h"
#include "local-api.h"
#include "log.h"
#include "mesh.h"
#include "router.h"
#include "run-private.h"

enum {
        END_DEADLINE_MS = 4000,      // an orderly end takes no longer; the kernel closes the rest
        TRANSFER_DEADLINE_MS = 1000, // of which so long for another voter to take over
};

static void on_deadline(void *userdata);

// The turn of the loop ends with that: run_out() looks whether anything is left.
static void closed_one(Daemon *d) {
        d->closing--;
        uv_stop(d->loop);
}

static void on_closed(void *userdata) {
        closed_one(userdata);
}

static void on_agent_closed(void *userdata) {
        Daemon *d = userdata;

        d->agent = NULL;
        closed_one(d);
}

static void on_mesh_closed(void *userdata) {
        Daemon *d = userdata;

        d->mesh = NULL;
        closed_one(d);
}

static void on_log_closed(Daemon *d) {
        d->closing--;
        mesh_close(d->mesh, on_mesh_closed, d);
        d->closing++;
        run_close_handles(d);
}

static void close_all(Daemon *d) {
        join_close(d);
        address_close(d);
        full_name_close(d);
        if (d->join_server) {
                join_server_close(TAKE_PTR(d->join_server));
                router_close(TAKE_PTR(d->router));
                if (d->http) { // asks the local socket who somebody is
                        d->closing++;
                        http_api_close(TAKE_PTR(d->http), on_closed, d);
                }
                d->closing++;
                local_api_close(TAKE_PTR(d->api), on_closed, d);
                if (d->listener) { // Port=0, and nobody had a reason to come
                        d->closing++;
                        listener_close(d->listener);
                }
        }
        d->closing++;
        agent_close(d->agent, on_agent_closed, d);
        d->closing++;
        daemon_log_close(d, on_log_closed);
        uv_stop(d->loop); // from now on it is run by run_out()
}

static void count_open(uv_handle_t *handle, void *n) {
        *(size_t *) n += uv_is_closing(handle) || (uv_is_active(handle) && uv_has_ref(handle));
}

bool run_is_over(const Daemon *d) {
        size_t n = 0;

        if (d->closing > 0 || work_queue_is_busy(&d->writer.queue))
                return false;
        uv_walk(d->loop, count_open, &n);
        return n == 0;
}

bool run_out(Daemon *d) {
        while (!d->cut_short && !run_is_over(d) && uv_run(d->loop, UV_RUN_ONCE))
                ;
        return d->closing == 0 && !uv_loop_alive(d->loop);
}

// The end with the machine:
//
//   [systemd has not said so, but is asked] ->
//   [lead] -> hand over, if that was not done when the shutdown began -> attached to the successor
//   -> systemd has said what still runs -> Goodbye -> close everything
//
// What takes too long is left out at the deadline; the others then wait for our lease.
static void on_handed_over(int error, void *userdata) {
        Daemon *d = userdata;

        d->handing_over = false;
        d->handed_over = error == 0;
        if (error < 0 && error != -ECANCELED)
                log_info("No other voter took over leadership: %s", strerror(-error));
        run_shut_down_on(d);
}

// False: there is nothing to hand over, or nobody to take it.
bool run_hand_over(Daemon *d) {
        uint32_t successor = d->leading ? leader_successor(d->leader) : 0;

        if (d->handing_over)
                return true;
        d->handing_over = successor && store_transfer(d->store, successor, on_handed_over, d) >= 0;
        return d->handing_over;
}

static void send_goodbye(Daemon *d) {
        agent_goodbye(d->agent, true);
        d->shutting_down = SHUT_DOWN_NOT;
        close_all(d);
        time_limit_start(&d->deadline, END_DEADLINE_MS, on_deadline);
}

static void on_refreshed(void *userdata) {
        Daemon *d = userdata;

        if (d->shutting_down == SHUT_DOWN_REFRESHING)
                send_goodbye(d);
}

void run_shut_down_on(Daemon *d) {
        if (d->shutting_down != SHUT_DOWN_LEAVING || d->handing_over)
                return;
        if (d->leading && !d->handed_over && run_hand_over(d))
                return;
        // a leader that cannot hand over leads until the end
        if (d->leading ? d->handed_over : !d->attached || d->known_leader == d->peers->host)
                return; // goes on when the agent is attached
        d->shutting_down = SHUT_DOWN_REFRESHING;
        agent_refresh_before_goodbye(d->agent, on_refreshed, d);
}

static void end_as_known(Daemon *d);

static void on_deadline(void *userdata) {
        Daemon *d = userdata;

        if (d->shutting_down == SHUT_DOWN_ASKING) {
                end_as_known(d);
                return;
        }
        if (d->shutting_down) {
                send_goodbye(d);
                return;
        }
        if (d->transferring) { // no voter took over in time
                d->transferring = false;
                close_all(d);
                time_limit_start(&d->deadline, END_DEADLINE_MS, on_deadline);
                return;
        }
        log_warning("The orderly end takes too long; ending at once.");
        d->cut_short = true;
        uv_stop(d->loop);
}

static void on_transferred(int error, void *userdata) {
        Daemon *d = userdata;

        if (!d->transferring)
                return;
        d->transferring = false;
        close_all(d);
        time_limit_start(&d->deadline, END_DEADLINE_MS, on_deadline);
}

// Whether the machine ends is known, or cannot be found out in time.
static void end_as_known(Daemon *d) {
        time_limit_start(&d->deadline, TRANSFER_DEADLINE_MS, on_deadline);
        if (agent_is_stopping(d->agent)) {
                d->shutting_down = SHUT_DOWN_LEAVING;
                d->handed_over = false; // by now this host may lead again
                run_shut_down_on(d);
                return;
        }
        d->shutting_down = SHUT_DOWN_NOT;
        agent_goodbye(d->agent, false);
        d->transferring = true;
        if (!d->leading || d->peers->n_voters < 2 || store_transfer(d->store, 0, on_transferred, d) < 0)
                on_transferred(0, d);
}

// SIGTERM may be quicker than systemd's word that the machine goes down: both come from there, on two ways.
static void on_asked(void *userdata) {
        Daemon *d = userdata;

        if (d->shutting_down == SHUT_DOWN_ASKING)
                end_as_known(d);
}

// A daemon that is told to end while it begins anew ends: it would not be told again.
void run_end(Daemon *d, DaemonEnd how) {
        if (d->end == DAEMON_RESTART && how == DAEMON_EXIT)
                d->end = how;
        if (d->end != DAEMON_RUNNING)
                return;
        d->end = how;
        (void) sd_notify(0, how == DAEMON_RESTART ? "STATUS=Starting again" : "STOPPING=1\nSTATUS=Ending");
        if (how == DAEMON_RESTART || agent_is_stopping(d->agent)) {
                end_as_known(d);
                return;
        }
        d->shutting_down = SHUT_DOWN_ASKING;
        time_limit_start(&d->deadline, TRANSFER_DEADLINE_MS, on_deadline);
        agent_ask_stopping(d->agent, on_asked, d);
}

// The join, or the reset, that was under way has put a new identity in place.
void run_on_identity_replaced(Daemon *d) {
        run_end(d, DAEMON_RESTART);
}
