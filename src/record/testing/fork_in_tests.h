// For tests that fork a process with threads.
//
// The sanitizers' runtimes do not survive that: ThreadSanitizer cannot make threads in the child,
// and AddressSanitizer's allocator keeps locked there what another thread held at that moment.
// These tests run in the plain program.
#pragma once

#include <gtest/gtest.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SONDE_SKIP_UNDER_SANITIZERS() GTEST_SKIP() << "fork in a process with threads"
#else
#define SONDE_SKIP_UNDER_SANITIZERS() static_cast<void>(0)
#endif
