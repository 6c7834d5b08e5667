// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * KUnit suites of kfd_preempt. Included at the end of
 * kfd_device_queue_manager.c, whose static functions they call.
 */
#include "kfd_preempt_fake_test.c"
#include "kfd_preempt_call_test.c"
#include "kfd_preempt_wait_test.c"
#include "kfd_preempt_table_test.c"
#include "kfd_preempt_model_test.c"
#include "kfd_preempt_mes_test.c"
#include "kfd_preempt_mm_test.c"

kunit_test_suites(&kfd_preempt_call_suite, &kfd_preempt_wait_suite,
		  &kfd_preempt_table_suite, &kfd_preempt_model_suite,
		  &kfd_preempt_mes_suite, &kfd_preempt_mm_suite);

MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
