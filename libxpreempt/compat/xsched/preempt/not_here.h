/* SPDX-License-Identifier: MIT */
/* Included by the names of XSched's C++ headers. */
#error "libxpreempt has XSched's C interface only. A hardware abstraction layer in C++ needs XSched itself; libxpreempt/adapters/xsched gives its HIP queues levels 2 and 3. See xpreempt-xsched(7)."
