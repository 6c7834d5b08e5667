// SPDX-License-Identifier: MIT
// XSched 1.2 asks libamd_comgr for the code object hipv4-amdgcn-amd-amdhsa-gfx942..., which that of
// LLVM 21 does not find: there is a second dash before the GPU. With XSCHED_HIP_COMGR_LIB=this it
// finds it.
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <string>
#include <vector>

struct Action {
    std::uint64_t handle;
};

extern "C" int amd_comgr_action_info_set_bundle_entry_ids(Action action, const char* ids[],
                                                          std::size_t count) {
    using Function = int(Action, const char*[], std::size_t);
    static auto* const real = reinterpret_cast<Function*>(
        dlsym(dlopen("libamd_comgr.so.3", RTLD_NOW), "amd_comgr_action_info_set_bundle_entry_ids"));
    std::vector<std::string> right(ids, ids + count);
    std::vector<const char*> pointers;
    for (std::string& id : right) {
        if (const auto at = id.find("-amdhsa-gfx"); at != id.npos)
            id.insert(at + 8, "-");
        pointers.push_back(id.c_str());
    }
    return real(action, pointers.data(), count);
}
