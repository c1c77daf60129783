// Threads that stay ready between calls.
//
// A helper that has nothing to do watches its mailbox for some microseconds, then sleeps, and after some seconds ends.
// Helpers block all signals, follow the affinity mask of the thread that they help, and compute in the default
// floating-point environment. A forked child starts with none and makes its own; when the library is closed or the
// process exits they are ended first, and calls that come later do without.
#pragma once

#include <cstddef>

namespace wr::host {

using Work = void (*)(void *context, std::size_t place);

// Calls work(context, 0) on this thread and meanwhile work(context, p) on up to `helpers` others, each with a place p
// of its own from 1 to `helpers`; returns when all that began have returned. Fewer help where the system gives no
// threads, or where other calls need the cores: work must be such that any of the places can do all of it. Any number
// of threads may call, work itself too. Work must not throw.
void run_with_helpers(std::size_t helpers, Work work, void *context);

} // namespace wr::host
