// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pins a DMA buffer as a network adapter without page faults does: an importer without callbacks for
 * moves, for which the exporter pins the memory.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/version.h>

#include "probes.h"

static struct platform_device *importer;
static struct dma_buf_attachment *attached;

static void unpin(void)
{
	struct dma_buf *buffer;

	if (!attached)
		return;
	buffer = attached->dmabuf;
	dma_buf_detach(buffer, attached);
	dma_buf_put(buffer);
	attached = NULL;
}

static int pin(int fd)
{
	struct dma_buf_attachment *attachment;
	struct dma_buf *buffer = dma_buf_get(fd);

	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	attachment = dma_buf_attach(buffer, &importer->dev);
	if (IS_ERR(attachment)) {
		dma_buf_put(buffer);
		return PTR_ERR(attachment);
	}
	attached = attachment;
	return 0;
}

/* The file is one of the writer. */
static int pin_set(const char *val, const struct kernel_param *kp)
{
	int fd, ret = kstrtoint(val, 0, &fd);

	if (ret)
		return ret;
	unpin();
	return fd < 0 ? 0 : pin(fd);
}

static const struct kernel_param_ops pin_ops = { .set = pin_set };
module_param_cb(pin, &pin_ops, NULL, 0200);
MODULE_PARM_DESC(pin, "File of a DMA buffer to pin in place of the one before, or -1");

int pin_init(void)
{
	importer = platform_device_register_simple("kfd_probes", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(importer))
		return PTR_ERR(importer);
	return dma_coerce_mask_and_coherent(&importer->dev, DMA_BIT_MASK(64));
}

void pin_exit(void)
{
	unpin();
	platform_device_unregister(importer);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS("DMA_BUF");
#else
MODULE_IMPORT_NS(DMA_BUF);
#endif
