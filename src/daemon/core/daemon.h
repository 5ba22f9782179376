// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The one place that knows everyone. Daemon ties the rooms together and decides nothing about units: it
// opens the log where this host is a voter, tells mesh, leader and agent who leads, and hands messages to
// whom they are for. Private to src/daemon.
//
//   core             daemon.c         what every part may have to do: tell systemd how things are, fail
//                    address.c        where others reach this host
//                    refusals.c       which refused connections the journal hears of
//                    socket-access.c  who may do what, as far as this host knows, and use the socket
//                    heap.c           the allocator; what a burst leaves behind is given back
//                    state-writer.c   identity and peers file, written by the pool
//                    config.c, paths.c, state-dir.c
//   requests         route.c          a request on its way, and where it can be
//                    router*.c        to the leader wherever it is, or to this host's agent
//                    join.c           this host joins another cluster, or leaves
//                    managers.c       managers of users and containers that are nodes too
//                    peers.c          which voters this host knows of and finds
//                    counters.c       what was counted
//   on top           join-server.c    a stranger asks to join
//                    daemon-listen.c  who may connect
//                    port.c           the TCP port: which, and whether it is open
//                    daemon-log.c     the replicated log: applying batches, leadership
//                    daemon-log-voter.c  whether this host has one
//                    daemon-secrets.c the secrets of a voter
//                    daemon-ca.c      whose certificates are good
//                    daemon-http.c    HTTP for programs, its names and its certificate
//                    renew.c          the certificate
//                    daemon-mesh.c    messages from the mesh
//                    run*.c           start, signals, orderly end

#include <stdbool.h>
#include <uv.h>

#include "address.h"
#include "arena.h"
#include "argosy.pb-c.h"
#include "capacity.h"
#include "config.h"
#include "counter.h"
#include "heap.h"
#include "identity.h"
#include "list.h"
#include "refusals.h"
#include "state-writer.h"
#include "store.h"
#include "time-histogram.h"
#include "time-limit.h"
#include "uvx.h"
#include "voter-secrets.h"

typedef struct Accounts Accounts;
typedef struct Agent Agent;
typedef struct ClusterState ClusterState;
typedef struct HttpApi HttpApi;
typedef struct Join Join;
typedef struct JoinServer JoinServer;
typedef struct Leader Leader;
typedef struct Listener Listener;
typedef struct LocalApi LocalApi;
typedef struct Mesh Mesh;
typedef struct Paths Paths;
typedef struct Router Router;
typedef struct TlsContext TlsContext;
typedef struct VoterJob VoterJob;

typedef enum DaemonEnd { DAEMON_RUNNING, DAEMON_EXIT, DAEMON_RESTART, DAEMON_FAILED } DaemonEnd;

// What the daemon counts itself.
#define DAEMON_COUNTERS(COUNTER, GAUGE)                                                         \
        GAUGE(turn_max_us, "longest turn of the loop, in microseconds, since SIGUSR1")          \
        GAUGE(turn_cpu_max_us,                                                                  \
              "most CPU time of one turn, in microseconds, since SIGUSR1: without what others " \
              "of this machine took meanwhile")                                                 \
        COUNTER(slow_turns, "turns of the loop of more than 10 ms")

typedef struct DaemonStats {
        DAEMON_COUNTERS(COUNTER_FIELD, COUNTER_FIELD)
} DaemonStats;

typedef struct Daemon Daemon;
typedef enum ShutDown { // how far our end with the machine's has come
        SHUT_DOWN_NOT,
        SHUT_DOWN_ASKING,     // systemd is asked whether the machine ends, or only we do
        SHUT_DOWN_LEAVING,    // another voter is to lead, and to know us
        SHUT_DOWN_REFRESHING, // systemd is asked what still runs
} ShutDown;

typedef struct JoinKey {
        Identity identity; // key and pin
        Buf csr;           // empty: there is none
} JoinKey;

struct Daemon {
        uv_loop_t *loop;
        const Paths *paths;
        const char *user_name; // NULL: the machine's argosyd
        char *log_dir;
        char *helper[2]; // HelperConfig.command, of argosy-helper.service; {NULL}: there is none
        uint8_t host_id[16]; // application-specific machine id
        uint8_t boot_id[16];
        char host_id_hex[33], machine_id_hex[33];
        char full_name[256]; // of this machine, as the resolver says (full-name.h); empty: it says none
        uv_getaddrinfo_t *full_name_lookup;
        Config config;
        Identity identity;
        VoterSecrets secrets; // of a voter, as they are on its disk
        bool log_is_complete; // what lay in it when it was opened has been applied
        // that alone seals secrets in the log's snapshot: released last, on the disk; 0: several do
        uint32_t snapshot_key, compacted;
        Argosy__PeersFile *peers;
        StateWriter writer; // of all three
        TlsContext *tls;
        OwnAddress own;              // as others were told last
        AddressWatch *address_watch; // NULL: no news of changes
        uint16_t port; // ours, see port.h
        int port_fd;   // as long as nobody can connect, then -1 and the listener's
        Listener *listener;
        Refusals refusals; // of connections: what the journal has of them
        Accounts *accounts; // of all who ask
        LocalApi *api;
        HttpApi *http; // NULL: there is no socket for it
        JoinServer *join_server;
        Router *router;
        Mesh *mesh;
        Agent *agent;
        int socket_fd; // a second descriptor of the local socket, handed on over a restart of ourselves
        uint64_t access_revision; // of the rights by which the socket is as it is

        // Where this host is a voter, or becoming one; else NULL.
        Store *store;
        ClusterState *state;
        Leader *leader;
        uint64_t hosts_revision; // of the voters that were published
        Drain hosts_drain;       // they are to be published
        Drain reclaim_drain;     // of what snapshots kept, a part is to be freed
        uint64_t store_term;
        StoreRole store_role;
        bool leading;        // told to mesh, agent and leader
        bool leader_builds;  // was told, and makes its tables before anybody else is
        bool init_in_flight; // the batch that must come before leading
        bool store_closing;
        void (*log_closed)(Daemon *d);      // what follows it
        uint32_t voters_warned; // number of voters that Voters= was compared with last
        char *log_unreadable;               // why this build cannot read the log; NULL: it can
        bool raft_id_unsure;         // a write failed: the peers file may have one that memory has not
        bool log_untidy;             // this host does not vote, and something of a voter's could not be
                                     // cleared away
        VoterJob *voter_job;         // daemon-log-voter.c: a log is being made or cleared away by the pool
        Argosy__ToHost *voter_order; // StoreOpen or StoreClose that waits for the end of what goes on
        Argosy__ToHost__Leader *voters_said; // daemon-voters.c: by the leader last, while there was a log
        Argosy__ToHost__Leader *voters_named; // named-voters.c

        uint32_t known_leader;   // host number, 0: nobody
        uint64_t leader_term;    // of the last one
        uint64_t leader_seen_us; // boot clock: when there was one last
        bool attached;
        // Set at the start: this host has another identity on disk, which a new process finds, or has given
        // up its units for one in vain.
        void (*identity_replaced)(Daemon *d);
        void (*address_changed)(Daemon *d); // `own` is another one
        ListNode detaching; // managers.c: who waits for a manager to be detached
        Join *joining;      // join.c is at work: one at a time
        JoinKey join_key;   // with which it asked to join, and heard no answer

        uv_signal_t sigterm, sigint, sighup, sigusr1;
        uv_timer_t watchdog, daily, minutely, status;
        Capacity capacity; // that the leader was told last
        TimeLimit deadline; // of the end
        size_t notified_units, notified_hosts; // in the status that systemd was told
        uv_prepare_t turn_end;                      // measures how long one turn of the loop takes
        uint64_t turn_end_ns, turn_cpu_ns, idle_ns; // when the last one ended
        uv_timer_t records;                         // see tls_memory_keep_records()
        uint64_t records_wiped_ns;
        HeapKeeper heap;
        Arena applied; // the entry of the log that is being applied
        bool turn_uncounted; // of the turn under way
        DaemonStats stats;
        TimeHistogram turns;
        DaemonEnd end;
        bool transferring;
        bool handing_over, handed_over; // leadership, since the machine is shutting down
        ShutDown shutting_down;
        int closing;    // objects that have not called back yet
        bool cut_short; // the deadline of the end came first
};

// The process ends at once, with a line in the journal; systemd starts it again.
void daemon_fail(Daemon *d, const char *why);
// Likewise, with the exit status after which systemd does not start it again: only a person can help.
void daemon_fail_for_good(Daemon *d, const char *why);
void daemon_status(Daemon *d); // tells systemd our role
// As the log calls the host, or "host N"; in `buf`.
const char *daemon_host_name(Daemon *d, uint32_t host, char *buf, size_t size);
