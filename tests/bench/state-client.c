// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Clients of the state document, and what they are compared with; one JSON object is printed.
//
//      state-client fetch SOCKET TARGET CLIENTS TIMES    each of them fetches it so often, one after the
//                                                        other, and discards it
//      state-client plain BYTES CLIENTS TIMES            the same, from a loop that does nothing but write
//                                                        these bytes to all of them
//      state-client ask SOCKET TARGET TAG TIMES          one of them, with If-None-Match (TAG "-": without)
//      state-client bare TIMES                           the same, of a libmicrohttpd that answers 304 and
//                                                        nothing else
//
// Times are microseconds: `mean`, `p50`, `p99` and `max` of whole answers, `first` the median until the
// first byte, `wall` from the first request to the last answer.

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 256 * 1024, CLIENTS_MAX = 256, TIMES_MAX = 1000000 };

typedef struct Client {
        pthread_t thread;
        int fd;
        const char *request;
        size_t bytes; // of an answer without a header; 0: HTTP
        unsigned times;
        uint64_t *whole, *first;
        int status;
        uint64_t body;
} Client;

static uint64_t now_us(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

static _Noreturn void give_up(const char *what) {
        fprintf(stderr, "state-client: %s: %s\n", what, strerror(errno));
        exit(1);
}

// ---- a client

static size_t read_some(int fd, char *buffer) {
        ssize_t n = read(fd, buffer, BUFFER - 1);

        if (n <= 0)
                give_up("the answer");
        return (size_t) n;
}

// How much of the answer is left behind its header, which `buffer` has the beginning of.
static uint64_t read_header(Client *c, char *buffer, size_t have) {
        const char *end, *length;
        uint64_t body;

        for (;;) {
                buffer[have] = 0;
                end = strstr(buffer, "\r\n\r\n");
                if (end)
                        break;
                have += read_some(c->fd, buffer + have);
        }
        c->status = atoi(buffer + strlen("HTTP/1.1 "));
        length = strstr(buffer, "Content-Length: ");
        body = length && length < end && c->status != 304
                       ? strtoull(length + strlen("Content-Length: "), NULL, 10)
                       : 0;
        c->body = body;
        return body - (have - (size_t) (end + 4 - buffer));
}

static void *run_client(void *userdata) {
        Client *c = userdata;
        char *buffer = malloc(BUFFER);
        size_t len = strlen(c->request);

        for (unsigned i = 0; i < c->times; i++) {
                uint64_t began = now_us(), left;
                size_t n;

                if (write(c->fd, c->request, len) != (ssize_t) len)
                        give_up("the request");
                n = read_some(c->fd, buffer);
                c->first[i] = now_us() - began;
                left = c->bytes > 0 ? c->bytes - n : read_header(c, buffer, n);
                while (left > 0)
                        left -= read_some(c->fd, buffer);
                c->whole[i] = now_us() - began;
        }
        free(buffer);
        return NULL;
}

static int compare(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return (x > y) - (x < y);
}

static void run_all(Client *clients, unsigned n, unsigned times) {
        size_t all = (size_t) n * times;
        uint64_t *whole = calloc(all, sizeof(*whole)), *first = calloc(all, sizeof(*first)), sum = 0,
                 began = now_us(), wall;

        if (!whole || !first)
                give_up("memory");
        for (unsigned i = 0; i < n; i++) {
                clients[i].times = times;
                clients[i].whole = whole + (size_t) i * times;
                clients[i].first = first + (size_t) i * times;
                if (pthread_create(&clients[i].thread, NULL, run_client, &clients[i]) != 0)
                        give_up("a thread");
        }
        for (unsigned i = 0; i < n; i++)
                pthread_join(clients[i].thread, NULL);
        wall = now_us() - began;
        for (size_t i = 0; i < all; i++)
                sum += whole[i];
        qsort(whole, all, sizeof(*whole), compare);
        qsort(first, all, sizeof(*first), compare);
        printf("{\"status\":%d,\"bytes\":%llu,\"mean\":%.1f,\"p50\":%llu,\"p99\":%llu,\"max\":%llu,"
               "\"first\":%llu,\"wall\":%llu}\n",
               clients[0].status, (unsigned long long) clients[0].body, (double) sum / (double) all,
               (unsigned long long) whole[all / 2], (unsigned long long) whole[all * 99 / 100],
               (unsigned long long) whole[all - 1], (unsigned long long) first[all / 2],
               (unsigned long long) wall);
        free(whole);
        free(first);
}

// ---- of argosyd

static int dial(const char *path) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        if (fd < 0 || connect(fd, (struct sockaddr *) &address, sizeof(address)) < 0)
                give_up(path);
        return fd;
}

static void fetch(const char *path, const char *target, const char *tag, unsigned n, unsigned times) {
        static Client clients[CLIENTS_MAX];
        char request[1024], condition[512] = "";

        if (tag)
                snprintf(condition, sizeof(condition), "If-None-Match: %s\r\n", tag);
        snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", target,
                 condition);
        for (unsigned i = 0; i < n; i++)
                clients[i] = (Client){.fd = dial(path), .request = request};
        run_all(clients, n, times);
}

// ---- a loop that does nothing but write

typedef struct Plain {
        struct pollfd fds[CLIENTS_MAX];
        size_t left[CLIENTS_MAX];
        unsigned n;
        size_t bytes;
        char *data;
} Plain;

static bool write_some(Plain *p, unsigned i) {
        ssize_t n = write(p->fds[i].fd, p->data + (p->bytes - p->left[i]), p->left[i]);

        if (n < 0 && errno != EAGAIN)
                return false;
        p->left[i] -= n > 0 ? (size_t) n : 0;
        p->fds[i].events = p->left[i] > 0 ? POLLOUT : POLLIN;
        return true;
}

static void *run_plain(void *userdata) {
        Plain *p = userdata;
        char byte;

        while (poll(p->fds, p->n, -1) > 0)
                for (unsigned i = 0; i < p->n; i++) {
                        if (p->fds[i].revents & POLLIN) {
                                if (read(p->fds[i].fd, &byte, 1) != 1)
                                        return NULL;
                                p->left[i] = p->bytes;
                        }
                        if (p->fds[i].revents && !write_some(p, i))
                                return NULL;
                }
        return NULL;
}

static void plain(size_t bytes, unsigned n, unsigned times) {
        static Client clients[CLIENTS_MAX];
        static Plain p;
        pthread_t thread;
        int pair[2];

        p = (Plain){.n = n, .bytes = bytes, .data = malloc(bytes)};
        if (!p.data)
                give_up("memory");
        memset(p.data, 'x', bytes);
        for (unsigned i = 0; i < n; i++) {
                if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                        give_up("a socket");
                fcntl(pair[0], F_SETFL, O_NONBLOCK);
                p.fds[i] = (struct pollfd){pair[0], POLLIN, 0};
                clients[i] = (Client){.fd = pair[1], .request = "x", .bytes = bytes};
        }
        if (pthread_create(&thread, NULL, run_plain, &p) != 0)
                give_up("a thread");
        run_all(clients, n, times);
}

// ---- a libmicrohttpd that does nothing else

static enum MHD_Result on_bare(void *userdata, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data, size_t *n_data,
                               void **request) {
        static int seen;
        struct MHD_Response *r;
        enum MHD_Result queued;

        if (!*request) {
                *request = &seen;
                return MHD_YES;
        }
        r = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
        MHD_add_response_header(r, "ETag", "\"0123456789abcdef0123456789abcdef\"");
        MHD_add_response_header(r, "Cache-Control", "no-store");
        queued = MHD_queue_response(connection, MHD_HTTP_NOT_MODIFIED, r);
        MHD_destroy_response(r);
        return queued;
}

static void bare(unsigned times) {
        char path[] = "/tmp/argosy-bare-XXXXXX", name[64];
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct MHD_Daemon *d;

        if (!mkdtemp(path))
                give_up(path);
        snprintf(name, sizeof(name), "%s/http", path);
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", name);
        if (bind(fd, (struct sockaddr *) &address, sizeof(address)) < 0 || listen(fd, 16) < 0)
                give_up(name);
        d = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_bare, NULL,
                             MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_END);
        if (!d)
                give_up("libmicrohttpd");
        fetch(name, "/v1/state", "\"0123456789abcdef0123456789abcdef\"", 1, times);
        MHD_stop_daemon(d);
        unlink(name);
        rmdir(path);
}

static unsigned number(const char *text, unsigned max) {
        unsigned long n = strtoul(text, NULL, 10);

        if (n == 0 || n > max) {
                fprintf(stderr, "state-client: %s is no number from 1 to %u\n", text, max);
                exit(2);
        }
        return (unsigned) n;
}

int main(int argc, char **argv) {
        if (argc == 6 && strcmp(argv[1], "fetch") == 0)
                fetch(argv[2], argv[3], NULL, number(argv[4], CLIENTS_MAX), number(argv[5], TIMES_MAX));
        else if (argc == 5 && strcmp(argv[1], "plain") == 0)
                plain(strtoull(argv[2], NULL, 10), number(argv[3], CLIENTS_MAX), number(argv[4], TIMES_MAX));
        else if (argc == 6 && strcmp(argv[1], "ask") == 0)
                fetch(argv[2], argv[3], strcmp(argv[4], "-") == 0 ? NULL : argv[4], 1,
                      number(argv[5], TIMES_MAX));
        else if (argc == 3 && strcmp(argv[1], "bare") == 0)
                bare(number(argv[2], TIMES_MAX));
        else {
                fprintf(stderr, "usage: state-client fetch|plain|ask|bare ...\n");
                return 2;
        }
        return 0;
}
