// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The few macros that every file may use. Ownership is visible in the text: `_cleanup_(x)` on a local says
// who frees it, TAKE_PTR() says that it has been handed on.

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _public_ __attribute__((visibility("default")))
#define _unused_ __attribute__((unused))
#define _warn_unused_ __attribute__((warn_unused_result))

#define ELEMENTSOF(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *) ((char *) (ptr) -offsetof(type, member)))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

// Bytes of an object that ends with its `name[]`. What the type has as padding at its end is part of the
// name.
#define SIZE_WITH_NAME(type, len) MAX_OF(sizeof(type), offsetof(type, name) + (len) + 1)

// Takes the pointer out of a variable and leaves NULL there.
#define TAKE_PTR(p)                        \
        ({                                 \
                typeof(p) *_take = &(p);   \
                typeof(p) _taken = *_take; \
                *_take = NULL;             \
                _taken;                    \
        })
#define TAKE_FD(fd)                  \
        ({                           \
                int *_take = &(fd);  \
                int _taken = *_take; \
                *_take = -1;         \
                _taken;              \
        })

// DEFINE_CLEANUP(Buf *, buf_free) makes buf_freep() for use with _cleanup_. `f` must accept NULL.
#define DEFINE_CLEANUP(type, f)                     \
        static inline _unused_ void f##p(type *p) { \
                if (*p)                             \
                        f(*p);                      \
        }

static inline void freep(void *p) {
        free(*(void **) p);
}
#define _cleanup_free_ _cleanup_(freep)

static inline int streq(const char *a, const char *b) {
        return strcmp(a, b) == 0;
}
