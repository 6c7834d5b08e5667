# SPDX-License-Identifier: MIT
"""kernel/probe-kernel and kernel/probe-tree on headers and sources of a few lines."""

import re

from runner.paths import REPO
from runner.testing.commands import CommandTest

MM_4_18 = """
/* get_user_pages_remote(struct mm_struct *mm, struct vm_area_struct **vmas) in a comment */
long get_user_pages_remote(struct task_struct *tsk, struct mm_struct *mm,
			    unsigned long start, struct vm_area_struct **vmas);
struct vm_operations_struct {
	void (*map_pages)(struct vm_fault *vmf,
			pgoff_t start_pgoff, pgoff_t end_pgoff);
};
"""
MM_5_15 = """
long get_user_pages_remote(struct mm_struct *mm,
			    unsigned long start, unsigned long nr_pages,
			    struct vm_area_struct **vmas, int *locked);
struct vm_operations_struct {
	vm_fault_t (*map_pages)(struct vm_fault *vmf, pgoff_t start_pgoff, pgoff_t end_pgoff);
};
"""
MM_6_7 = """
struct vm_fault {
	unsigned long real_address;	/* unmasked */
};
long get_user_pages_remote(struct mm_struct *mm, unsigned long start, int *locked);
long pin_user_pages(struct vm_area_struct **vmas);
"""
DATA_RACE = {"compiler.h": "#define data_race(expr) (expr)\n"}
NEW_HEADERS = {**DATA_RACE, "mm.h": MM_6_7, "uaccess.h": "int copy_struct_from_user(void *dst);\n"}
HAS_NEW = {"HAS_DATA_RACE", "HAS_REAL_ADDRESS", "HAS_COPY_STRUCT_FROM_USER"}


class ProbeKernel(CommandTest):
    def probe(self, directory="headers"):
        return self.succeeds(REPO / "kernel/probe-kernel", self.work / directory).stdout

    def has(self, headers, names):
        for name, text in headers.items():
            self.write(f"headers/include/linux/{name}", text)
        self.assertEqual(set(re.findall(r"^#define KFD_PREEMPT_KERNEL_(.*)", self.probe(), re.MULTILINE)), names)

    def test_kernel_like_4_18(self):
        self.has({"mm.h": MM_4_18}, {"GUP_TAKES_TASK", "MAP_PAGES_IS_VOID"})

    def test_kernel_like_5_15(self):
        self.has({"mm.h": MM_5_15, **DATA_RACE}, {"GUP_GIVES_VMAS", "HAS_DATA_RACE"})

    def test_name_in_a_comment_is_no_function(self):
        string = "extern void *vmemdup_user(const void *);\n/** vmemdup_array_user - of it */\n"
        self.has({**NEW_HEADERS, "string.h": string}, HAS_NEW)

    def test_kernel_like_6_7_has_the_same_in_headers_in_two_parts(self):
        string = "void *vmemdup_array_user(const void *, size_t n);\n"
        self.has({**NEW_HEADERS, "string.h": string}, HAS_NEW | {"HAS_VMEMDUP_ARRAY_USER"})
        self.write("first/Makefile", f"include {self.work}/headers/Makefile\n")  # as Debian's headers
        self.assertEqual(self.probe("first"), self.probe())

    def test_missing_headers(self):
        ran = self.ran(REPO / "kernel/probe-kernel", self.work)
        self.assertNotEqual(ran.status, 0, ran)
        self.assertIn("has no include/linux/mm.h", ran.output)


OPS = "struct device_queue_manager_ops {{\n\t{}\t(*get_queue_checkpoint_info)(struct device_queue_manager *dqm);\n}};\n"
TREE_6_12 = {
    "amdkfd/kfd_priv.h": """
/* int pm_config_dequeue_wait_counts(struct packet_manager *pm) in a comment */
/*
 * extern bool keep_idle_process_evicted; in another
 */
int pm_update_grace_period(struct packet_manager *pm);
""",
    "amdkfd/kfd_device_queue_manager.h": OPS.format("void"),
}
TREE_6_14 = {
    "amdkfd/kfd_priv.h": """
extern bool keep_idle_process_evicted;
int kfd_process_evict_queues(struct kfd_process *p, bool force, uint32_t trigger);
int pm_config_dequeue_wait_counts(struct packet_manager *pm,
		enum kfd_config_dequeue_wait_counts_cmd cmd);
""",
    "amdkfd/kfd_device_queue_manager.h": OPS.format("void"),
    "amdkfd/kfd_device_queue_manager.c": "static bool sdma_has_hang(struct device_queue_manager *dqm)\n{\n}\n",
    "kfd_ioctl.h": """
#define AMDKFD_IOC_PROFILER			\\
		AMDKFD_IOWR(0x86, struct kfd_ioctl_profiler_args)
#define AMDKFD_COMMAND_END_2		0x87
""",
}
TREE_7_1 = {
    **TREE_6_14,
    "amdkfd/kfd_device_queue_manager.h": OPS.format("int"),
    "amdkfd/kfd_chardev.c": "static int kfd_ioctl_create_process(struct file *filep)\n",
    "kfd_ioctl.h": """
#define AMDKFD_IOC_AIS_OP	\\
		AMDKFD_IOWR(0x87, struct kfd_ioctl_ais_args)
/* of another file */
#define KFD_DLOG_STREAM_IOC	_IOWR('K', 0x88, struct kfd_dlog_stream_args)
#define AMDKFD_COMMAND_END_2		0x89
""",
}
HAS_6_14 = {"HAS_DEQUEUE_WAITS", "HAS_SDMA_CHECK", "EVICTION_CAN_BE_FORCED", "TAKES_DOORBELLS"}


class ProbeTree(CommandTest):
    def has(self, tree, names):
        for name, text in tree.items():
            self.write(f"tree/{name}", text)
        probed = self.succeeds(REPO / "kernel/probe-tree", self.work / "tree", self.work / "tree/kfd_ioctl.h").stdout
        self.assertEqual(set(re.findall(r"^#define KFD_PREEMPT_TREE_(.*)", probed, re.MULTILINE)), names)

    def test_tree_like_that_of_6_12(self):
        self.has(TREE_6_12, set())

    def test_tree_like_that_of_rocms_6_14(self):
        self.has(TREE_6_14, HAS_6_14)

    def test_tree_like_that_of_rocms_7_1_where_the_command_decides_and_not_the_end_of_the_numbers(self):
        own = {"CHECKPOINT_SIZE_FAILS", "HAS_CREATE_PROCESS", "COMMAND_0x87 AMDKFD_IOC_AIS_OP"}
        self.has(TREE_7_1, HAS_6_14 | own)
