// SPDX-License-Identifier: MIT
// Interposers of HIP by the table: they say on which stream the calling thread works, and pass on.
#include "hook/interpose.hpp"

// PARAMETERS(int, Stream) is "int a, Stream aa", and ARGUMENTS(int, Stream) ", a, aa". A macro
// names itself again only in a further scan, of which there are enough here.
#define SCAN(...) SCAN_3(SCAN_3(SCAN_3(__VA_ARGS__)))
#define SCAN_3(...) SCAN_1(SCAN_1(SCAN_1(__VA_ARGS__)))
#define SCAN_1(...) __VA_ARGS__
#define PARENTHESES ()
#define PARAMETERS(...) __VA_OPT__(SCAN(NEXT_PARAMETER(a, __VA_ARGS__)))
#define NEXT_PARAMETER(name, type, ...)                                                            \
    type name __VA_OPT__(, PARAMETER_AGAIN PARENTHESES(name##a, __VA_ARGS__))
#define PARAMETER_AGAIN() NEXT_PARAMETER
#define ARGUMENTS(...) __VA_OPT__(SCAN(NEXT_ARGUMENT(a, __VA_ARGS__)))
#define NEXT_ARGUMENT(name, type, ...)                                                             \
    , name __VA_OPT__(ARGUMENT_AGAIN PARENTHESES(name##a, __VA_ARGS__))
#define ARGUMENT_AGAIN() NEXT_ARGUMENT

#define ROW(call_class, per_thread, name, ...)                                                     \
    INTERPOSER(Error, name, PARAMETERS(__VA_ARGS__)) {                                             \
        NEXT(hip, name);                                                                           \
        return interpose<CallClass::call_class, per_thread>(next, __builtin_return_address(0)      \
                                                                      ARGUMENTS(__VA_ARGS__));     \
    }
#define HIP_CALL(call_class, name, ...) ROW(call_class, false, name __VA_OPT__(, ) __VA_ARGS__)
#define HIP_CALL_SPT(call_class, name, ...) ROW(call_class, true, name __VA_OPT__(, ) __VA_ARGS__)

using namespace xpreempt::hook;

#include "hook/hip_calls.def"
