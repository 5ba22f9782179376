// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ctl-main.h"

int main(int argc, char **argv) {
        return ctl_main(argc, argv, stdout, stderr);
}
