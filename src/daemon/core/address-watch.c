// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   rtnetlink: an address came or went -> what is there is read and thrown away -> a moment later, changed()
//
// The messages' contents are not read, as the callback looks at all addresses anyway; so it does not matter
// either if the kernel had to drop some (ENOBUFS). Changes are collected for a moment: bringing an interface
// up is several of them.
#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address-watch.h"
#include "macro.h"
#include "uvx.h"

enum { MOMENT_MS = 100 };

struct AddressWatch {
        uv_poll_t poll;
        uv_timer_t moment;
        int fd;
        unsigned n_handles;
        void (*changed)(void *userdata);
        void (*closed)(void *userdata);
        void *userdata, *closed_data;
};

static void on_moment(uv_timer_t *timer) {
        AddressWatch *w = timer->data;

        w->changed(w->userdata);
}

static void on_readable(uv_poll_t *poll, int status, int events) {
        AddressWatch *w = poll->data;
        char thrown_away[4096];
        ssize_t n;

        do
                n = recv(w->fd, thrown_away, sizeof(thrown_away), MSG_DONTWAIT | MSG_TRUNC);
        while (n > 0 || (n < 0 && (errno == EINTR || errno == ENOBUFS)));
        if (!uv_is_active((uv_handle_t *) &w->moment))
                uv_timer_start(&w->moment, on_moment, MOMENT_MS, 0);
}

static int open_netlink(void) {
        struct sockaddr_nl groups = {.nl_family = AF_NETLINK,
                                     .nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
        int r, fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

        if (fd < 0)
                return -errno;
        if (bind(fd, (struct sockaddr *) &groups, sizeof(groups)) == 0)
                return fd;
        r = -errno;
        close(fd);
        return r;
}

static void on_handle_closed(uv_handle_t *handle) {
        AddressWatch *w = handle->data;

        if (--w->n_handles > 0)
                return;
        close(w->fd);
        if (w->closed)
                w->closed(w->closed_data);
        free(w);
}

int address_watch_new(uv_loop_t *loop, void (*changed)(void *userdata), void *userdata, AddressWatch **ret) {
        AddressWatch *w = calloc(1, sizeof(*w));
        int r;

        if (!w)
                return -ENOMEM;
        *w = (AddressWatch){.changed = changed, .userdata = userdata, .n_handles = 2};
        w->fd = open_netlink();
        r = w->fd < 0 ? w->fd : uvx_errno(uv_poll_init(loop, &w->poll, w->fd));
        if (r < 0) {
                if (w->fd >= 0)
                        close(w->fd);
                free(w);
                return r;
        }
        (void) uv_timer_init(loop, &w->moment); // cannot fail
        w->poll.data = w->moment.data = w;
        (void) uv_poll_start(&w->poll, UV_READABLE, on_readable); // nor this, on a handle that was just made
        *ret = w;
        return 0;
}

void address_watch_close(AddressWatch *w, void (*closed)(void *userdata), void *userdata) {
        w->closed = closed;
        w->closed_data = userdata;
        uv_close((uv_handle_t *) &w->poll, on_handle_closed);
        uv_close((uv_handle_t *) &w->moment, on_handle_closed);
}
