// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a file's RegistryAuth= -> the newest value of that secret, opened -> ToHost.Call -> wiped
//
// Opened for each message, and kept for none. A secret that is missing, or that this leader cannot open, is
// told to whoever asked, and no host is asked without it: the registry's word would be about nobody.

#include "image-auth.h"

#include <errno.h>

#include "secret-orders.h"
#include "str.h"

int image_auth_open(Leader *l, const char *name, ImageAuth *ret, char **ret_why) {
        int r = name ? secret_orders_registry_auth(l, name, &ret->of, &ret->bytes) : 0;

        if (name && r == 0)
                ret->value = &ret->of;
        if (r == 0 || r == -ENOMEM)
                return r;
        *ret_why = r == -ENOENT ? str_printf("RegistryAuth=%s: there is no such secret; `argosyctl secret "
                                             "set %s` makes it",
                                             name, name)
                                : str_printf("RegistryAuth=%s: the leader cannot read that secret", name);
        return *ret_why ? -EINVAL : -ENOMEM;
}

void image_auth_done(ImageAuth *a) {
        secret_bytes_done(&a->bytes);
        *a = (ImageAuth){};
}
