# SPDX-License-Identifier: MIT
"""The patched amdgpu.ko of the tests, made of Debian's and of the objects that the patches change."""
