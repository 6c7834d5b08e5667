// SPDX-License-Identifier: MIT
// The type of HIP that the adapter names.
#pragma once

using hipStream_t = struct ihipStream_t*;
