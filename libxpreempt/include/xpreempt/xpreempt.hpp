// SPDX-License-Identifier: MIT
// C++20 face of the C interface: owners instead of handles, expected values instead of errnos.
//
// Header only; needs tl::expected (libexpected-dev). Classes are named after the objects of the C
// functions, their members after the verbs: xp_xqueue_suspend() is XQueue::suspend(). The C headers
// and the manual pages say what each call does.
//
// Calls that can fail return Expected. Nothing throws but std::bad_alloc, and a callable when it is
// copied or moved.
#pragma once

#include <xpreempt/cxx/control.hpp>
#include <xpreempt/cxx/device.hpp>
#include <xpreempt/cxx/error.hpp>
#include <xpreempt/cxx/hint.hpp>
#include <xpreempt/cxx/queue.hpp>
#include <xpreempt/cxx/sched.hpp>
#include <xpreempt/cxx/stream.hpp>
#include <xpreempt/cxx/xqueue.hpp>
#include <xpreempt/xpreempt.h>
