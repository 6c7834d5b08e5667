/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of sysfs and tracefs. */
#ifndef SELFTESTS_TEXT_FILE_H
#define SELFTESTS_TEXT_FILE_H

/* Writes all of it in one write(), which is a command there. 0 or a negative errno. */
int text_file_write(const char *path, const char *text);

/* The number that begins the file, or a negative errno. */
int text_file_number(const char *path);

#endif
