// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The architecture that this build is for, as the kernel tells a seccomp filter: a system call's number
// means nothing without it (seccomp(2)). 0: none that is known here, and nothing can be filtered.

#include <linux/audit.h>

#if defined(__x86_64__)
#define SECCOMP_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SECCOMP_ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define SECCOMP_ARCHITECTURE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SECCOMP_ARCHITECTURE AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define SECCOMP_ARCHITECTURE AUDIT_ARCH_S390X
#elif defined(__i386__)
#define SECCOMP_ARCHITECTURE AUDIT_ARCH_I386
#elif defined(__arm__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SECCOMP_ARCHITECTURE AUDIT_ARCH_ARM
#else
#define SECCOMP_ARCHITECTURE 0
#endif
