// SPDX-License-Identifier: MIT
// Finds the loaded HIP runtime, and the two HIP calls that take more than one step.
#include "hip/runtime.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace xpreempt::hip {

namespace {

// HIP's own files have a number that changes, those of a wheel a hash besides, and no search finds
// their directory.
bool is_runtime(std::string_view path) {
    return path.substr(path.rfind('/') + 1).starts_with("libamdhip64");
}

// The path is that of a C string. A link with the name of XSched's shim is the hook too; XSched's
// own shim is not.
bool is_hook(std::string_view path) {
    constexpr std::string_view hook = "libxpreempt-hook.so";
    if (path.find(hook) != std::string_view::npos)
        return true;
    char target[PATH_MAX];
    return path.ends_with("/libshimhip.so") &&
           ::realpath(std::string(path).c_str(), target) != nullptr &&
           std::string_view(target).find(hook) != std::string_view::npos;
}

struct Search {
    bool (*matches)(std::string_view path);
    const char* path; // of the first library that matches; a string would need memory
};

int visit_object(dl_phdr_info* info, std::size_t, void* argument) {
    Search& search = *static_cast<Search*>(argument);
    const std::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
    if (!search.matches(path))
        return 0;
    search.path = info->dlpi_name;
    return 1;
}

// The library that is mapped already, the first where several match; RTLD_NOLOAD never maps
// another. Null where there is none. It may be loaded with RTLD_LOCAL, where no search order finds
// it.
void* handle_of_mapped(bool (*matches)(std::string_view path)) {
    Search search{matches, nullptr};
    return dl_iterate_phdr(visit_object, &search) != 0
               ? dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD)
               : nullptr;
}

// The library that the function is of, "" if none is known.
std::string_view file_of(void* function) {
    Dl_info info{};
    return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

} // namespace

void* loaded_hook() {
    return handle_of_mapped(is_hook);
}

bool is_runtime_loaded() {
    Search search{is_runtime, nullptr};
    return dl_iterate_phdr(visit_object, &search) != 0;
}

namespace {

using Lookup = void*(void*, const char*);

// The C library's own, where its version is known: a library in front of the hook may replace dlsym
// with one that returns its own functions, as XSched's libshimhip does.
Lookup* real_dlsym() {
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5"})
        if (void* found = dlvsym(RTLD_DEFAULT, "dlsym", version); found != nullptr)
            return reinterpret_cast<Lookup*>(found);
    return dlsym;
}

struct Libraries {
    void* runtime;
    void* hook; // null where it isn't loaded
};

// Through the hook where it is loaded, else as the program calls HIP. With the hook, no other
// library comes between: one in front of it would keep our calls from the hook, or delay them.
template <typename Function>
bool find(const Libraries& libraries, const char* name, Function*& function) {
    void* found =
        libraries.hook == nullptr ? dlsym(RTLD_DEFAULT, name) : real_dlsym()(libraries.hook, name);
    // A symbol of the hook's dependencies isn't the hook's.
    if (found == nullptr || (libraries.hook != nullptr && !is_hook(file_of(found))))
        found = real_dlsym()(libraries.runtime, name);
    function = reinterpret_cast<Function*>(found);
    return function != nullptr;
}

constexpr int attribute_compute_units = 63; // hipDeviceAttributeMultiprocessorCount, 5.0 to 7.x

} // namespace

Result<Functions> loaded_runtime(const hook::Table* hook) {
    const Libraries from{hook != nullptr ? hook->runtime() : handle_of_mapped(is_runtime),
                         loaded_hook()};
    if (from.runtime == nullptr)
        return fail(ENOENT, Op::find_hip);
    Functions hip{};
#define NEEDED(member, name, ...)                                                                  \
    if (!find(from, #name, hip.member))                                                            \
        return fail(ENOENT, Op::find_hip);
#define OPTIONAL(member, name, ...) (void)find(from, #name, hip.member);
    XPREEMPT_HIP_FUNCTIONS(NEEDED, OPTIONAL)
#undef NEEDED
#undef OPTIONAL
    return hip;
}

tl::unexpected<Error> failed_call(int hip_error) {
    int errno_value = EIO;
    switch (hip_error) {
    case 1: errno_value = EINVAL; break; // hipErrorInvalidValue
    case 2: errno_value = ENOMEM; break; // hipErrorOutOfMemory
    case 100:
    case 101: errno_value = ENODEV; break;     // hipErrorNoDevice, hipErrorInvalidDevice
    case 400: errno_value = EINVAL; break;     // hipErrorInvalidHandle
    case 801: errno_value = EOPNOTSUPP; break; // hipErrorNotSupported
    default: break;
    }
    return fail(errno_value, Op::call_hip, static_cast<std::uint32_t>(hip_error));
}

Result<int> device_of(const Functions& hip, Stream stream) {
    int count = 0;
    if (hip.get_device_count == nullptr || hip.set_device == nullptr)
        return any_device;
    TRY(check(hip.get_device_count(&count)));
    if (count <= 1)
        return any_device;
    int device = 0;
    TRY(check(is_handle(stream) && hip.stream_get_device != nullptr
                  ? hip.stream_get_device(stream, &device)
                  : hip.get_device(&device)));
    return device;
}

OnDevice::OnDevice(const Functions& hip, int device) : hip_(hip) {
    if (device == any_device)
        return;
    int current = any_device;
    result_ = check(hip.get_device(&current));
    if (result_ && current != device) {
        result_ = check(hip.set_device(device));
        if (result_)
            outer_ = current;
    }
}

OnDevice::~OnDevice() {
    if (outer_ != any_device)
        (void)hip_.set_device(outer_); // it was the current one
}

bool is_captured(const Functions& hip, Stream stream) {
    int status = 0;
    return is_handle(stream) && hip.stream_is_capturing(stream, &status) == success &&
           status == capture_status_active;
}

bool is_usable(const Functions& hip, Stream stream) {
    int status = 0;
    return !is_handle(stream) ||
           (hip.stream_is_capturing(stream, &status) == success && status == 0);
}

AsideOfCaptures::AsideOfCaptures(const Functions& hip) : hip_(hip) {
    if (hip_.exchange_capture_mode != nullptr && hip_.exchange_capture_mode(&outer_) != success)
        outer_ = capture_mode_relaxed; // it is as it was
}

AsideOfCaptures::~AsideOfCaptures() {
    if (outer_ != capture_mode_relaxed)
        (void)hip_.exchange_capture_mode(&outer_);
}

Result<Stream> create_own_queue_stream(const Functions& hip) {
    int device = 0;
    int compute_units = 0;
    TRY(check(hip.get_device(&device)));
    TRY(check(hip.get_device_attribute(&compute_units, attribute_compute_units, device)));
    if (compute_units <= 0)
        return fail(ENODEV, Op::call_hip);
    const auto count = static_cast<unsigned>(compute_units);
    std::vector<unsigned> mask((count + 31) / 32, ~0U);
    if (count % 32 != 0)
        mask.back() = (1U << (count % 32)) - 1;
    Stream stream = nullptr;
    TRY(check(
        hip.stream_create_with_cu_mask(&stream, static_cast<unsigned>(mask.size()), mask.data())));
    return stream;
}

namespace {

constexpr std::size_t word_bytes = 4;

// Once hipFreeAsync() was called, HIP 5.2 hangs in each hipStreamDestroy(). 6.4 doesn't; those
// between weren't tried.
constexpr int frees_in_order_since = 60'000'000;

// Null: memory can't be freed in stream order here.
void* allocate_in_order(const Functions& hip, Stream stream) {
    int version = 0;
    if (hip.malloc_async == nullptr || hip.free_async == nullptr ||
        hip.runtime_get_version == nullptr || hip.runtime_get_version(&version) != success ||
        version < frees_in_order_since)
        return nullptr;
    void* word = nullptr;
    return hip.malloc_async(&word, word_bytes, stream) == success ? word : nullptr;
}

// hipFree() waits for every stream of the device, also for a held one: where memory can't be freed
// in stream order, one word of each device is kept until a reset, see forget_kept_word().
struct KeptWords {
    std::mutex mutex;
    std::map<int, void*> of; // by device
};
KeptWords& kept_words() {
    static auto* const words = new KeptWords; // used until the process ends
    return *words;
}

int fill_kept_word(const Functions& hip, int device, Stream stream) {
    KeptWords& words = kept_words();
    std::unique_lock lock(words.mutex);
    void* word = words.of[device];
    lock.unlock();
    if (word != nullptr && hip.memset_async(word, 0, word_bytes, stream) == success)
        return success;
    if (const int error = hip.malloc(&word, word_bytes); error != success)
        return error;
    lock.lock();
    words.of[device] = word;
    lock.unlock();
    return hip.memset_async(word, 0, word_bytes, stream);
}

int fill_word(const Functions& hip, int device, Stream stream) {
    void* word = allocate_in_order(hip, stream);
    if (word == nullptr)
        return fill_kept_word(hip, device, stream);
    const int error = hip.memset_async(word, 0, word_bytes, stream);
    const int free_error = hip.free_async(word, stream);
    return error != success ? error : free_error;
}

} // namespace

void forget_kept_word(const Functions& hip) {
    KeptWords& words = kept_words();
    int device = any_device;
    (void)hip.get_device(&device);
    const std::lock_guard lock(words.mutex);
    words.of.erase(device);
    words.of.erase(any_device); // of the only device
}

Result<void> touch_stream(const Functions& hip, Stream stream) {
    if (!is_usable(hip, stream))
        return fail(EBUSY, Op::call_hip);
    const auto device = TRY(device_of(hip, stream));
    const AsideOfCaptures aside(hip);
    const OnDevice scope(hip, device); // the memory must be its own
    TRY(scope.result());
    return check(fill_word(hip, device, stream));
}

} // namespace xpreempt::hip
