// SPDX-License-Identifier: MIT
// The kernel of walk.hpp as a code object, for programs that load it at run time.
#include "../../examples/walk.hpp"

extern "C" __global__ void walk_to_the_end(Walk* shared) {
    walk_lane(shared);
}
