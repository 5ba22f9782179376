// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Several hosts on one loop, with real TLS between them. What happens to a host is written into its story, a
// line of words that the tests compare.
#include "loop.h"
#include "members.h"

#include "buf.h"
#include "feature-level.h"
#include "frame.h"
#include "localhost.h"
#include "mesh-private.h"
#include "str.h"
#include "stream.h"

typedef struct Host {
        uint32_t number; // 1 ...
        Mesh *mesh;
        Listener *listener;
        char story[4096];
        unsigned n_told;  // voters_told()
        uint32_t told[8]; // the last list
        size_t n_voters_told;
        char failed[256]; // last link_failed()
        unsigned n_failed;
        unsigned n_drained;
        uint32_t drained; // the last host_drained()
        bool reply_to_attach;               // as a leader would
        bool follow_told;                   // takes over the voters that it is told
        bool give_up;                       // leaves all voters when a link fails
        uint32_t raft_ids[MEMBERS_MAX + 1]; // by host, as its last Hello said
        uint32_t levels[MEMBERS_MAX + 1];   // likewise
        uint32_t feature_level;             // 0: of this build
} Host;

static Host host[MEMBERS_MAX];
static const uint8_t cluster_id[16] = "the cluster's id";

static void tell(Host *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell(Host *h, const char *format, ...) {
        size_t len = strlen(h->story);
        va_list ap;

        va_start(ap, format);
        vsnprintf(h->story + len, sizeof(h->story) - len, format, ap);
        va_end(ap);
}

static void on_leader_changed(uint32_t leader, uint64_t term, void *userdata) {
        tell(userdata, "leader=%u@%u ", leader, (unsigned) term);
}

static void on_to_host(const Argosy__ToHost *m, void *userdata) {
        if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME)
                tell(userdata, "welcome(%u) ", (unsigned) m->welcome->seq);
        else if (m->msg_case == ARGOSY__TO_HOST__MSG_BEAT_ACK)
                tell(userdata, "ack(%u) ", (unsigned) m->beat_ack->seq);
        else if (m->msg_case == ARGOSY__TO_HOST__MSG_REMOVED)
                tell(userdata, "removed(%s) ", m->removed->why);
}

static int send_welcome(Host *h, uint32_t to, uint64_t seq) {
        Argosy__ToHost__Welcome welcome = ARGOSY__TO_HOST__WELCOME__INIT;
        Argosy__ToHost message = ARGOSY__TO_HOST__INIT;

        welcome.seq = seq;
        message.msg_case = ARGOSY__TO_HOST__MSG_WELCOME;
        message.welcome = &welcome;
        return mesh_to_host(h->mesh, to, &message);
}

static int send_ack(Host *h, uint32_t to, uint64_t seq) {
        Argosy__ToHost__BeatAck ack = ARGOSY__TO_HOST__BEAT_ACK__INIT;
        Argosy__ToHost message = ARGOSY__TO_HOST__INIT;

        ack.seq = seq;
        message.msg_case = ARGOSY__TO_HOST__MSG_BEAT_ACK;
        message.beat_ack = &ack;
        return mesh_to_host(h->mesh, to, &message);
}

static void on_to_leader(uint32_t from, const Argosy__ToVoter *m, void *userdata) {
        Host *h = userdata;

        if (m->msg_case == ARGOSY__TO_VOTER__MSG_ATTACH) {
                tell(h, "%u:attach(%u) ", from, (unsigned) m->attach->seq);
                if (h->reply_to_attach)
                        assert_int_equal(send_welcome(h, from, m->attach->seq), 0);
        } else if (m->msg_case == ARGOSY__TO_VOTER__MSG_BEAT)
                tell(h, "%u:beat(%u) ", from, (unsigned) m->beat->seq);
}

static void on_host_link(uint32_t from, const Argosy__ToVoter__Hello *hello, void *userdata) {
        tell(userdata, "%u:%s ", from, hello ? "up" : "down");
        if (hello) {
                assert_int_equal(hello->host, from);
                ((Host *) userdata)->raft_ids[from] = hello->raft_id;
                ((Host *) userdata)->levels[from] = hello->feature_level;
        }
}

static int point_at(Host *h, const uint32_t *numbers, size_t n);

static void on_voters_told(Argosy__Voter *const *voters, size_t n, void *userdata) {
        Host *h = userdata;

        h->n_told++;
        h->n_voters_told = n;
        for (size_t i = 0; i < n && i < 8; i++)
                h->told[i] = voters[i]->host;
        if (h->follow_told)
                point_at(h, h->told, n);
}

static void on_link_failed(uint32_t to, const char *why, void *userdata) {
        Host *h = userdata;

        h->n_failed++;
        snprintf(h->failed, sizeof(h->failed), "%u: %s", to, why);
        if (h->give_up)
                assert_int_equal(mesh_set_voters(h->mesh, NULL, 0), 0);
}

static void on_host_drained(uint32_t to, void *userdata) {
        Host *h = userdata;

        h->n_drained++;
        h->drained = to;
}

static const MeshOps ops = {.leader_changed = on_leader_changed,
                            .to_host = on_to_host,
                            .to_leader = on_to_leader,
                            .host_link = on_host_link,
                            .voters_told = on_voters_told,
                            .host_drained = on_host_drained,
                            .link_failed = on_link_failed};

// ---- hosts come and go

static void on_accepted(Listener *l, Stream *s, void *userdata) {
        Host *h = userdata;

        for (size_t i = 0; i < MEMBERS_MAX; i++)
                if (hash_equal(&stream_peer(s)->pin, &member[i].pin) && h->mesh)
                        mesh_accept(h->mesh, s, (uint32_t) i + 1);
}

static void on_listener_closed(Listener *l, void *userdata) {
        ((Host *) userdata)->listener = NULL;
}

static const ListenerOps listener_ops = {.accepted = on_accepted, .closed = on_listener_closed};

static void start_as(uint32_t number, uint16_t port, uint64_t generation, const uint8_t *cluster) {
        Host *h = &host[number - 1];
        MeshConfig config = {
                .loop = &test_loop,
                .self = number,
                .tls = member_tls[number - 1],
                .cluster_id = cluster,
                .generation = generation,
                .redial_min_ms = 2,
                .redial_max_ms = 16,
                .feature_level = h->feature_level,
        };

        h->number = number;
        assert_int_equal(mesh_new(&config, &ops, h, &h->mesh), 0);
        assert_int_equal(
                listener_new_tcp(&test_loop, port, member_tls[number - 1], &listener_ops, h, &h->listener),
                0);
}

static void start(uint32_t number) {
        start_as(number, 0, 1, cluster_id);
}

static void on_mesh_closed(void *userdata) {
        ((Host *) userdata)->mesh = NULL;
}

static void stop(uint32_t number) {
        Host *h = &host[number - 1];

        if (h->listener)
                listener_close(h->listener);
        if (h->mesh)
                mesh_close(h->mesh, on_mesh_closed, h);
        loop_until(!h->listener && !h->mesh);
}

static int point_at(Host *h, const uint32_t *numbers, size_t n) {
        MeshPeer peers[MEMBERS_MAX] = {};

        for (size_t i = 0; i < n; i++) {
                Host *to = &host[numbers[i] - 1];

                peers[i] = (MeshPeer){.host = numbers[i],
                                      .address = "127.0.0.1",
                                      .pin = member[numbers[i] - 1].pin,
                                      .raft_id = numbers[i]};
                peers[i].port = to->listener ? listener_port(to->listener) : 9; // discard: nobody listens
        }
        return mesh_set_voters(h->mesh, peers, n);
}

#define VOTERS(h, ...)                                                                         \
        assert_int_equal(point_at(&host[(h) -1], (const uint32_t[]){__VA_ARGS__},              \
                                  sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)), \
                         0)

static void lead(uint32_t number, uint64_t term) {
        mesh_set_leading(host[number - 1].mesh, true, term, number);
}

static void follow(uint32_t number, uint64_t term, uint32_t leader) {
        mesh_set_leading(host[number - 1].mesh, false, term, leader);
}

static int attach(uint32_t number, uint64_t seq) {
        Argosy__ToVoter__Attach attach = ARGOSY__TO_VOTER__ATTACH__INIT;
        Argosy__ToVoter message = ARGOSY__TO_VOTER__INIT;

        attach.seq = seq;
        message.msg_case = ARGOSY__TO_VOTER__MSG_ATTACH;
        message.attach = &attach;
        return mesh_to_leader(host[number - 1].mesh, &message);
}

static bool story_is(uint32_t number, const char *story) {
        return strcmp(host[number - 1].story, story) == 0;
}

static bool story_has(uint32_t number, const char *words) {
        return strstr(host[number - 1].story, words) != NULL;
}

static void new_story(uint32_t number) {
        *host[number - 1].story = 0;
}

static int setup(void **state) {
        memset(host, 0, sizeof(host));
        return loop_setup(state);
}

static int teardown(void **state) {
        for (uint32_t i = 1; i <= MEMBERS_MAX; i++)
                stop(i);
        return loop_teardown(state);
}

// ---- who leads

static void a_host_finds_the_leader_and_talks_to_it(void **state) {
        start(1);
        start(2);
        start(3);
        host[0].reply_to_attach = true;
        lead(1, 4);
        loop_until(story_is(1, "1:up leader=1@4 "));
        follow(2, 4, 1);
        VOTERS(3, 1, 2);
        loop_until(story_is(3, "leader=1@4 "));
        loop_until(story_has(1, "3:up") && story_has(2, "3:up"));
        new_story(1);
        assert_int_equal(attach(3, 17), 0);
        loop_until(story_is(3, "leader=1@4 welcome(17) "));
        assert_string_equal(host[0].story, "3:attach(17) ");
        assert_int_equal(mesh_leader(host[2].mesh), 1);
        assert_int_equal(attach(2, 1), -ENOTCONN); // it dials nobody
}

static void the_leader_talks_to_its_own_agent_the_same_way(void **state) {
        start(1);
        host[0].reply_to_attach = true;
        assert_int_equal(attach(1, 1), -ENOTCONN);
        lead(1, 2);
        assert_int_equal(attach(1, 1), -ENOTCONN); // before leader_changed()
        loop_until(story_is(1, "1:up leader=1@2 "));
        assert_int_equal(attach(1, 9), 0);
        assert_string_equal(host[0].story, "1:up leader=1@2 "); // never from inside the call
        loop_until(story_is(1, "1:up leader=1@2 1:attach(9) welcome(9) "));
}

static void both_ends_of_a_link_know_what_the_other_understands(void **state) {
        host[0].feature_level = 7;
        host[2].feature_level = 5;
        start(1);
        start(2);
        start(3);
        assert_int_equal(mesh_leader_level(host[2].mesh), FEATURE_BASE);
        lead(1, 4);
        VOTERS(2, 1);
        VOTERS(3, 1, 2);
        loop_until(story_has(2, "leader=1@4 ") && story_has(3, "leader=1@4 "));
        loop_until(story_has(1, "1:up") && story_has(1, "2:up") && story_has(1, "3:up"));
        assert_int_equal(host[0].levels[1], 7);
        assert_int_equal(host[0].levels[2], FEATURE_LEVEL);
        assert_int_equal(host[0].levels[3], 5);
        assert_int_equal(mesh_leader_level(host[0].mesh), 7);
        assert_int_equal(mesh_leader_level(host[1].mesh), 7);
        lead(2, 6); // and a leader of another build
        loop_until(story_has(3, "leader=2@6 "));
        assert_int_equal(mesh_leader_level(host[2].mesh), FEATURE_LEVEL);
        stop(2);
        loop_until(story_has(3, "leader=0@0 "));
        assert_int_equal(mesh_leader_level(host[2].mesh), FEATURE_BASE);
}

static void what_is_queued_for_ourselves_is_dropped_when_we_step_down(void **state) {
        start(1);
        lead(1, 2);
        loop_until(story_is(1, "1:up leader=1@2 "));
        assert_int_equal(attach(1, 9), 0);
        assert_int_equal(send_ack(&host[0], 1, 3), 0);
        follow(1, 3, 0);
        assert_int_equal(attach(1, 10), -ENOTCONN);
        assert_int_equal(send_ack(&host[0], 1, 4), -ENOTCONN);
        loop_until(story_is(1, "1:up leader=1@2 1:down leader=0@0 "));
        for (int i = 0; i < 5; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_true(story_is(1, "1:up leader=1@2 1:down leader=0@0 "));
}

static void a_new_term_of_our_own_is_a_new_session(void **state) {
        start(1);
        lead(1, 2);
        loop_until(story_is(1, "1:up leader=1@2 "));
        new_story(1);
        assert_int_equal(attach(1, 9), 0);
        lead(1, 5); // stepped down and won again within one turn
        loop_until(story_is(1, "1:down 1:up leader=1@5 "));
}

// A frame of some voter may come between the call and the turn in which it is told.
static void we_are_not_the_leader_before_our_link_is_up(void **state) {
        start(1);
        lead(1, 2);
        mesh_reconsider(host[0].mesh);
        assert_string_equal(host[0].story, "");
        loop_until(story_is(1, "1:up leader=1@2 "));
        new_story(1);
        lead(1, 5);
        mesh_reconsider(host[0].mesh);
        assert_int_equal(attach(1, 1), -ENOTCONN); // it would be lost
        loop_until(story_is(1, "leader=0@0 1:down 1:up leader=1@5 "));
        assert_int_equal(attach(1, 2), 0);
        loop_until(story_has(1, "1:attach(2) "));
}

static void a_host_follows_from_leader_to_leader(void **state) {
        start(1);
        start(2);
        start(3);
        lead(1, 4);
        follow(2, 4, 1);
        VOTERS(3, 1, 2);
        loop_until(story_is(3, "leader=1@4 ") && story_has(2, "3:up"));
        follow(1, 5, 0);
        loop_until(story_is(3, "leader=1@4 leader=0@0 "));
        assert_int_equal(attach(3, 1), -ENOTCONN);
        lead(2, 6);
        loop_until(story_is(3, "leader=1@4 leader=0@0 leader=2@6 "));
}

static void a_leader_of_an_older_term_is_not_believed(void **state) {
        start(1);
        start(2);
        start(3);
        lead(1, 4); // cut off from the others, it does not know better
        lead(2, 6);
        VOTERS(3, 1, 2);
        loop_until(story_has(3, "leader=2@6 ") && story_has(1, "3:up"));
        new_story(3);
        stop(2);
        loop_until(story_is(3, "leader=0@0 "));
        assert_int_equal(send_ack(&host[0], 3, 1), 0); // and its orders are not heard
        lead(1, 7);
        loop_until(story_is(3, "leader=0@0 leader=1@7 "));
}

// Else the next leader would take it for one that came back with an empty disk, and demote it.
static void every_voter_hears_of_a_new_voter(void **state) {
        start(1);
        start(2);
        start(3);
        lead(1, 4);
        follow(2, 4, 1);
        VOTERS(3, 1, 2);
        loop_until(story_is(3, "leader=1@4 ") && story_has(2, "3:up"));
        assert_int_equal(host[1].raft_ids[3], 0);
        mesh_set_raft_id(host[2].mesh, 7);
        loop_until(host[1].raft_ids[3] == 7);
        assert_false(story_has(1, "3:down"));
        assert_int_equal(attach(3, 1), 0);
}

// A port of 127.0.0.1 that the kernel gives to nobody else: bound, and never listened at, so that a listener
// may have it and whoever dials it meanwhile is refused.
static int reserve_port(uint16_t *ret) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t size = sizeof(at);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)), 0);
        assert_int_equal(bind(fd, (struct sockaddr *) &at, sizeof(at)), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *) &at, &size), 0);
        *ret = ntohs(at.sin_port);
        return fd;
}

static void a_link_that_comes_back_is_told_as_a_new_one(void **state) {
        uint16_t port;
        int reserved = reserve_port(&port);

        start_as(1, port, 1, cluster_id);
        start(2);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(story_is(2, "leader=1@4 "));
        stop(1);
        loop_until(story_is(2, "leader=1@4 leader=0@0 "));
        loop_until(host[1].n_failed == 2);
        assert_string_equal(host[1].failed, "1: cannot connect: Connection refused");
        start_as(1, port, 1, cluster_id);
        lead(1, 4);
        loop_until(story_is(2, "leader=1@4 leader=0@0 leader=1@4 "));
        assert_int_equal(host[1].n_failed, 2); // each reason once, however often it was dialled
        close(reserved);
}

// ---- sessions

static void on_older_closed(void *userdata) {
        *(Mesh **) userdata = NULL;
}

static void the_newest_session_of_a_host_wins(void **state) {
        Mesh *older;

        start(1);
        start(2);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(story_is(1, "1:up leader=1@4 2:up "));
        listener_close(host[1].listener);
        loop_until(!host[1].listener);
        // Host 2 again, as after a power cut that the leader's kernel has not noticed.
        older = host[1].mesh;
        start(2);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:up 2:down 2:up "));
        mesh_close(older, on_older_closed, &older);
        loop_until(!older);
        // The two have thrown each other out in turn; the one that is left stays.
        loop_until(story_has(2, "ack(5)") || send_ack(&host[0], 2, 5) > 0);
}

typedef struct Raw {
        Stream *stream;
        bool opened, closed;
        int error;
} Raw;

static void raw_opened(Stream *s, void *userdata) {
        ((Raw *) userdata)->opened = true;
}

static int raw_frame(Stream *s, const uint8_t *payload, size_t len, void *userdata) {
        return 0;
}

static void raw_closed(Stream *s, int error, void *userdata) {
        *(Raw *) userdata = (Raw){.opened = true, .closed = true, .error = error};
}

static const StreamOps raw_ops = {.opened = raw_opened, .frame = raw_frame, .closed = raw_closed};

static void dial_raw(Raw *raw) {
        assert_int_equal(stream_dial(&test_loop, "127.0.0.1", listener_port(host[0].listener), member_tls[1],
                                     ALPN_MESH, &member[0].pin, &raw_ops, raw, &raw->stream),
                         0);
        stream_set_frames(raw->stream, FRAME_MAX);
}

static void an_unknown_first_frame_closes(const Argosy__ToVoter *first) {
        Raw raw = {};

        dial_raw(&raw);
        assert_int_equal(stream_send(raw.stream, &first->base), 0);
        loop_until(raw.closed);
        assert_int_equal(raw.error, -ECONNRESET);
        assert_string_equal(host[0].story, "");
}

static void a_first_frame_that_is_not_hello_ends_the_session(void **state) {
        Argosy__ToVoter__Beat beat = ARGOSY__TO_VOTER__BEAT__INIT;
        Argosy__ToVoter message = ARGOSY__TO_VOTER__INIT;

        start(1);
        an_unknown_first_frame_closes(&message); // no message at all
        message.msg_case = ARGOSY__TO_VOTER__MSG_BEAT;
        message.beat = &beat;
        an_unknown_first_frame_closes(&message);
}

static void garbage_ends_the_session(void **state) {
        Raw raw = {};

        start(1);
        dial_raw(&raw);
        assert_int_equal(stream_write(raw.stream, "\0\0\0\3\xff\xff\xff", 7), 0);
        loop_until(raw.closed);
        assert_string_equal(host[0].story, "");
}

static void another_cluster_is_refused_with_the_reason(void **state) {
        static const uint8_t other[16] = "somebody else's ";

        start(1);
        start_as(2, 0, 1, other);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(host[1].n_failed && host[0].n_failed);
        assert_string_equal(host[1].failed, "1: it belongs to another cluster");
        assert_string_equal(host[0].failed, "2: it belongs to another cluster");
        for (int i = 0; i < 20; i++) // it goes on trying, and is told once
                uv_run(&test_loop, UV_RUN_ONCE);
        assert_int_equal(host[0].n_failed, 1);
        assert_string_equal(host[1].story, "");
}

static void generations_meet(void **state) {
        start_as(1, 0, 2, cluster_id); // recovered
        start_as(2, 0, 1, cluster_id); // slept through it
        start_as(3, 0, 3, cluster_id); // saw the next recovery
        lead(1, 4);
        VOTERS(2, 1);
        VOTERS(3, 1);
        loop_until(story_is(2, "leader=1@4 "));
        loop_until(host[2].n_failed);
        assert_non_null(strstr(host[2].failed, "recovered without this voter"));
        assert_string_equal(host[2].story, "");
}

static void a_removed_host_hears_why_before_its_session_ends(void **state) {
        Argosy__ToHost__Removed removed = ARGOSY__TO_HOST__REMOVED__INIT;
        Argosy__ToHost message = ARGOSY__TO_HOST__INIT;

        start(1);
        start(2);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:up") && story_has(2, "leader=1@4 "));
        removed.why = (char *) "retired";
        message.msg_case = ARGOSY__TO_HOST__MSG_REMOVED;
        message.removed = &removed;
        assert_int_equal(mesh_to_host(host[0].mesh, 2, &message), 0);
        mesh_drop_host(host[0].mesh, 2);
        assert_int_equal(mesh_to_host(host[0].mesh, 2, &message), -ENOTCONN);
        loop_until(story_has(2, "removed(retired) leader=0@0 "));
        loop_until(story_has(1, "2:down "));
}

static void our_own_agent_can_be_dropped_like_any_other(void **state) {
        start(1);
        lead(1, 2);
        loop_until(story_is(1, "1:up leader=1@2 "));
        new_story(1);
        assert_int_equal(attach(1, 9), 0);
        mesh_drop_host(host[0].mesh, 1);
        loop_until(story_is(1, "1:down 1:up leader=1@2 "));
        assert_int_equal(attach(1, 10), 0);
        loop_until(story_is(1, "1:down 1:up leader=1@2 1:attach(10) "));
}

static bool knows_all_but_two(uint32_t number, const Hash *pin, void *userdata) {
        return number != 2 && hash_equal(pin, &member[number - 1].pin);
}

static void who_is_no_member_any_more_loses_its_session(void **state) {
        start(1);
        start(2);
        start(3);
        VOTERS(2, 1);
        VOTERS(3, 1);
        loop_until(story_has(1, "2:up") && story_has(1, "3:up"));
        new_story(1);
        member_trusted[1] = false;
        mesh_recheck(host[0].mesh, knows_all_but_two, NULL);
        loop_until(story_is(1, "2:down "));
        loop_until(host[1].n_failed > 1); // the handshake refuses it from now on
        assert_non_null(strstr(host[1].failed, "Access was denied"));
        assert_string_equal(host[0].story, "2:down ");
        member_trusted[1] = true;
}

static void a_host_that_takes_nothing_is_cut_and_comes_back(void **state) {
        Argosy__ToHost__Welcome welcome = ARGOSY__TO_HOST__WELCOME__INIT;
        Argosy__ToHost message = ARGOSY__TO_HOST__INIT;
        Argosy__Spec spec = ARGOSY__SPEC__INIT, *specs[] = {&spec};
        static uint8_t content[8 * 1024 * 1024];
        int r = 0;

        start(1);
        start(2);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:up") && story_has(2, "leader=1@4 "));
        new_story(1);
        new_story(2);
        spec.content = (ProtobufCBinaryData){sizeof(content), content};
        welcome.specs = specs;
        welcome.n_specs = 1;
        message.msg_case = ARGOSY__TO_HOST__MSG_WELCOME;
        message.welcome = &welcome;
        for (int i = 0; i < 20 && r == 0; i++) // within one turn: nothing is taken
                r = mesh_to_host(host[0].mesh, 2, &message);
        assert_int_equal(r, -ENOBUFS);
        assert_int_equal(mesh_to_host(host[0].mesh, 2, &message), -ENOTCONN);
        loop_until(story_has(1, "2:down 2:up "));
        loop_until(story_has(2, "leader=0@0 leader=1@4 "));
}

static void who_has_much_to_say_hears_when_it_was_taken(void **state) {
        Argosy__ToHost__Removed removed = ARGOSY__TO_HOST__REMOVED__INIT;
        Argosy__ToHost message = ARGOSY__TO_HOST__INIT;
        _cleanup_free_ char *text = calloc(1, STREAM_LOW_WATER + 1);

        memset(text, 'x', STREAM_LOW_WATER);
        removed.why = text;
        message.msg_case = ARGOSY__TO_HOST__MSG_REMOVED;
        message.removed = &removed;
        start(1);
        start(2);
        lead(1, 4);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:up") && story_has(1, "leader=1@4 "));
        for (uint32_t to = 1; to <= 2; to++) {
                unsigned before = host[0].n_drained;

                assert_int_equal(send_ack(&host[0], to, 1), 0);
                assert_false(mesh_host_is_full(host[0].mesh, to));
                assert_int_equal(mesh_to_host(host[0].mesh, to, &message), 0);
                assert_true(mesh_host_is_full(host[0].mesh, to));
                loop_until(host[0].n_drained > before);
                assert_int_equal(host[0].drained, to);
                assert_false(mesh_host_is_full(host[0].mesh, to));
        }
}

// ---- voters

static void voters_that_are_no_longer_named_are_left(void **state) {
        start(1);
        start(2);
        start(3);
        lead(1, 4);
        VOTERS(3, 1, 2);
        loop_until(story_has(1, "3:up") && story_has(2, "3:up") && story_is(3, "leader=1@4 "));
        VOTERS(3, 2);
        loop_until(story_has(1, "3:down") && story_is(3, "leader=1@4 leader=0@0 "));
        assert_false(story_has(2, "3:down"));
}

static void voters_may_change_while_they_are_dialled(void **state) {
        start(1);
        start(2);
        start(3);
        lead(2, 4);
        for (int i = 0; i < 50; i++) {
                VOTERS(3, 1);
                VOTERS(3, 1, 2, 3);
                if (i % 3 == 0)
                        uv_run(&test_loop, UV_RUN_NOWAIT);
                VOTERS(3, 2);
        }
        loop_until(story_has(3, "leader=2@4 "));
}

static void a_voter_that_moved_is_dialled_at_its_new_address(void **state) {
        start(1);
        start(2);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:up"));
        listener_close(host[0].listener);
        loop_until(!host[0].listener);
        assert_int_equal(
                listener_new_tcp(&test_loop, 0, member_tls[0], &listener_ops, &host[0], &host[0].listener),
                0);
        new_story(1);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:down 2:up "));
}

static void the_leader_tells_the_voters_and_tells_them_again(void **state) {
        start(1);
        start(2);
        start(3);
        VOTERS(1, 1, 2);
        lead(1, 4);
        VOTERS(3, 1);
        loop_until(host[2].n_told == 1);
        assert_int_equal(host[2].n_voters_told, 2);
        assert_int_equal(host[2].told[1], 2);
        VOTERS(1, 1, 2, 3);
        loop_until(host[2].n_told == 2);
        assert_int_equal(host[2].n_voters_told, 3);
}

// The host was away while every voter but one was replaced; that one knows who leads.
static void a_host_that_was_away_finds_the_new_voters(void **state) {
        start(1);
        start(2);
        start(3);
        host[2].follow_told = true;
        VOTERS(1, 1, 2);
        VOTERS(2, 1, 2);
        follow(1, 4, 2);
        lead(2, 4);
        VOTERS(3, 1);
        loop_until(story_is(3, "leader=2@4 "));
        loop_until(host[2].n_told == 1); // by the leader only
        assert_int_equal(host[2].n_voters_told, 2);
}

static void an_address_that_is_none_is_told(void **state) {
        MeshPeer peer = {.host = 2, .address = "", .port = 1};

        start(1);
        assert_int_equal(mesh_set_voters(host[0].mesh, &peer, 1), 0);
        assert_int_equal(host[0].n_failed, 0); // never from inside the call
        loop_until(host[0].n_failed == 1);
        assert_string_equal(host[0].failed, "2: its address is not known");
}

// ---- a voter that is not where the log says. Nobody listens on port 9.

static MeshPeer lost_peer(uint32_t number, const char *address) {
        MeshPeer peer = {.host = number, .pin = member[number - 1].pin, .raft_id = number};

        peer.port = listener_port(host[number - 1].listener);
        assert_true(str_copy(peer.address, sizeof(peer.address), address));
        return peer;
}

// A sanitizer sees whether anything is begun for the link that has just been given up.
static void a_voter_may_be_left_when_its_link_fails(void **state) {
        MeshPeer peer;

        start(1);
        start(2);
        peer = lost_peer(2, "127.0.0.1");
        peer.pin = member[2].pin; // another one answers there
        strcpy(peer.host_name, "127.0.0.2");
        host[0].give_up = true;
        assert_int_equal(mesh_set_voters(host[0].mesh, &peer, 1), 0);
        loop_until(host[0].n_failed == 1);
        assert_int_equal(mesh_links(host[0].mesh, (MeshLinkInfo[1]){}, 1), 0);
}

static void a_voter_is_found_by_its_name(void **state) {
        MeshPeer peer;

        NEEDS_LOCALHOST();
        start(1);
        start(2);
        peer = lost_peer(1, "");
        strcpy(peer.host_name, "localhost");
        assert_int_equal(mesh_set_voters(host[1].mesh, &peer, 1), 0);
        loop_until(story_has(1, "2:up"));
}

static void a_voter_that_was_configured_with_a_name_is_dialled_by_it_first(void **state) {
        MeshPeer peer;

        NEEDS_LOCALHOST();
        start(1);
        start(2);
        peer = lost_peer(1, "127.0.0.9"); // would answer, too
        strcpy(peer.name, "localhost");
        assert_int_equal(mesh_set_voters(host[1].mesh, &peer, 1), 0);
        loop_until(story_has(1, "2:up"));
        assert_int_equal(host[1].n_failed, 0);
}

static void a_voter_is_found_whence_it_dialled(void **state) {
        MeshPeer peer;
        MeshAddress at;

        start(1);
        start(2);
        peer = lost_peer(1, "");
        assert_int_equal(mesh_set_voters(host[1].mesh, &peer, 1), 0);
        loop_until(host[1].n_failed == 1);
        assert_false(mesh_where(host[1].mesh, 1, &at));
        VOTERS(1, 2);
        loop_until(story_has(2, "1:up") && story_has(1, "2:up"));
        assert_true(mesh_where(host[1].mesh, 1, &at)); // the log's connections go there, too
        assert_string_equal(at.text, "127.0.0.1");
        assert_int_equal(at.port, peer.port);
}

static void a_voter_is_found_where_another_one_says(void **state) {
        MeshPeer peers[2];

        start(1);
        start(2);
        start(3);
        VOTERS(2, 1, 2);
        peers[0] = lost_peer(1, "");
        peers[1] = lost_peer(2, "127.0.0.1");
        assert_int_equal(mesh_set_voters(host[2].mesh, peers, 2), 0);
        loop_until(story_has(1, "3:up"));
}

static void a_voter_is_found_where_somebody_says(void **state) {
        const MeshAddress wrong = {"127.0.0.1", 9};
        MeshAddress right = {"127.0.0.1", 0}, both[2];
        MeshPeer peer;

        start(1);
        start(2);
        start(3);
        right.port = listener_port(host[0].listener);
        both[0] = (MeshAddress){"127.0.0.1", listener_port(host[2].listener)}; // another host
        both[1] = right;
        peer = lost_peer(1, "127.0.0.1");
        peer.port = 9;
        assert_int_equal(mesh_set_voters(host[1].mesh, &peer, 1), 0);
        mesh_look_at(host[1].mesh, &wrong, 1);
        loop_until(host[1].n_failed == 1);
        mesh_look_at(host[1].mesh, both, 2);
        loop_until(story_has(1, "2:up"));
        assert_int_equal(host[1].n_failed, 1); // what is tried besides is nobody's news
}

// The leader hears where it is now and says so: that is no reason to leave it for a moment.
static void a_voter_that_was_found_is_not_left_when_the_log_learns_its_address(void **state) {
        MeshLinkInfo link;
        MeshPeer peer;

        start(1);
        start(2);
        peer = lost_peer(1, "");
        assert_int_equal(mesh_set_voters(host[1].mesh, &peer, 1), 0);
        VOTERS(1, 2);
        loop_until(mesh_links(host[1].mesh, &link, 1) == 1 && link.up);
        new_story(1);
        VOTERS(2, 1);
        for (int i = 0; i < 20; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_string_equal(host[0].story, "");
}

static bool ours = true;
static bool is_ours(const char *address, void *userdata) {
        assert_string_equal(address, "127.0.0.1");
        return ours;
}

static void a_link_from_an_address_that_is_no_longer_ours_is_made_anew(void **state) {
        char local[4][STREAM_ADDRESS_SIZE];

        start(1);
        start(2);
        VOTERS(2, 1);
        loop_until(story_has(1, "2:up"));
        lead(1, 1);
        loop_until(story_has(2, "leader=1@1"));
        assert_int_equal(mesh_local_addresses(host[1].mesh, local, 4), 1);
        assert_string_equal(local[0], "127.0.0.1");
        new_story(1);
        ours = true;
        mesh_on_network(host[1].mesh, is_ours, NULL);
        for (int i = 0; i < 20; i++)
                uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_false(story_has(1, "2:down"));
        ours = false;
        mesh_on_network(host[1].mesh, is_ours, NULL);
        loop_until(story_has(1, "2:down 2:up"));
}

static void too_many_voters_are_refused_whole(void **state) {
        static MeshPeer many[MESH_VOTERS_MAX + 1];

        start(1);
        assert_int_equal(mesh_set_voters(host[0].mesh, many, MESH_VOTERS_MAX + 1), -E2BIG);
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                LOOP_TEST(a_host_finds_the_leader_and_talks_to_it),
                LOOP_TEST(the_leader_talks_to_its_own_agent_the_same_way),
                LOOP_TEST(both_ends_of_a_link_know_what_the_other_understands),
                LOOP_TEST(what_is_queued_for_ourselves_is_dropped_when_we_step_down),
                LOOP_TEST(a_new_term_of_our_own_is_a_new_session),
                LOOP_TEST(we_are_not_the_leader_before_our_link_is_up),
                LOOP_TEST(a_host_follows_from_leader_to_leader),
                LOOP_TEST(a_leader_of_an_older_term_is_not_believed),
                LOOP_TEST(every_voter_hears_of_a_new_voter),
                LOOP_TEST(a_link_that_comes_back_is_told_as_a_new_one),
                LOOP_TEST(the_newest_session_of_a_host_wins),
                LOOP_TEST(a_first_frame_that_is_not_hello_ends_the_session),
                LOOP_TEST(garbage_ends_the_session),
                LOOP_TEST(another_cluster_is_refused_with_the_reason),
                LOOP_TEST(generations_meet),
                LOOP_TEST(a_removed_host_hears_why_before_its_session_ends),
                LOOP_TEST(our_own_agent_can_be_dropped_like_any_other),
                LOOP_TEST(who_is_no_member_any_more_loses_its_session),
                LOOP_TEST(a_host_that_takes_nothing_is_cut_and_comes_back),
                LOOP_TEST(who_has_much_to_say_hears_when_it_was_taken),
                LOOP_TEST(voters_that_are_no_longer_named_are_left),
                LOOP_TEST(voters_may_change_while_they_are_dialled),
                LOOP_TEST(a_voter_that_moved_is_dialled_at_its_new_address),
                LOOP_TEST(the_leader_tells_the_voters_and_tells_them_again),
                LOOP_TEST(a_host_that_was_away_finds_the_new_voters),
                LOOP_TEST(an_address_that_is_none_is_told),
                LOOP_TEST(a_voter_may_be_left_when_its_link_fails),
                LOOP_TEST(a_voter_is_found_by_its_name),
                LOOP_TEST(a_voter_that_was_configured_with_a_name_is_dialled_by_it_first),
                LOOP_TEST(a_voter_is_found_whence_it_dialled),
                LOOP_TEST(a_voter_is_found_where_another_one_says),
                LOOP_TEST(a_voter_is_found_where_somebody_says),
                LOOP_TEST(a_voter_that_was_found_is_not_left_when_the_log_learns_its_address),
                LOOP_TEST(a_link_from_an_address_that_is_no_longer_ours_is_made_anew),
                LOOP_TEST(too_many_voters_are_refused_whole),
        };

        return cmocka_run_group_tests(tests, members_setup, members_teardown);
}
