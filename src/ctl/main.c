// SPDX-License-Identifier: LGPL-2.1-or-later
//
// argosyctl, with standard output and standard error. Everything else is ctl-main.c's, so that tests can
// call it.

#include "ctl-main.h"

int main(int argc, char **argv) {
        return ctl_main(argc, argv, stdout, stderr);
}
