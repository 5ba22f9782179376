// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// x509.h again for a world: keys, requests and certificates are text, made of the key's name alone, so the
// same story has the same ones. What is checked of them is checked here, too: whose key a certificate is
// for, which CA has signed it, until when it is good, and that nothing of it is missing. Anybody could write
// one; nobody does.
//
//      key           "the key ..."                                 what begins so is one; random_bytes()
//                                                                  names a new one
//      request       the public key, the name that it asks for     the public key is the SHA-256 of the key,
//                                                                  and so is the pin
//      certificate   the public key, that of whoever signed it, whether it is a CA's, until when it is good,
//                    a name
//
// Linked before the room trust it takes the place of x509.c, and of the few functions of GnuTLS that
// identity.c and ca.c call themselves.

#include "buf.h"

typedef struct Ca Ca;

// A key of that name, appended to *ret.
void sim_x509_key(const char *name, Buf *ret);
// The CA with a key of that name. `ret` must be empty.
void sim_x509_ca(const char *name, Ca *ret);
