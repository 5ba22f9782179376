// SPDX-License-Identifier: LGPL-2.1-or-later
//
// argosyctl, with standard output and standard error. Everything else is ctl-main.c's, so that tests can
// call it.

#include "ctl-main.h"
#include "log.h"

int main(int argc, char **argv) {
        log_set_name("argosyctl"); // who says that the process has to end (process-end.h)
        return ctl_main(argc, argv, stdout, stderr);
}
