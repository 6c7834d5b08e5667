// SPDX-License-Identifier: MIT
// Interposers of HIP by the table: they say on which stream the calling thread works, and pass on.
#include "hook/interpose.hpp"

// Parameters are numbered from behind: PARAMETERS_2(int, Stream) is "int a2, Stream a1".
#define PARAMETERS_0()
#define PARAMETERS_1(t) t a1
#define PARAMETERS_2(t, ...) t a2, PARAMETERS_1(__VA_ARGS__)
#define PARAMETERS_3(t, ...) t a3, PARAMETERS_2(__VA_ARGS__)
#define PARAMETERS_4(t, ...) t a4, PARAMETERS_3(__VA_ARGS__)
#define PARAMETERS_5(t, ...) t a5, PARAMETERS_4(__VA_ARGS__)
#define PARAMETERS_6(t, ...) t a6, PARAMETERS_5(__VA_ARGS__)
#define PARAMETERS_7(t, ...) t a7, PARAMETERS_6(__VA_ARGS__)
#define PARAMETERS_8(t, ...) t a8, PARAMETERS_7(__VA_ARGS__)
#define PARAMETERS_9(t, ...) t a9, PARAMETERS_8(__VA_ARGS__)
#define PARAMETERS_10(t, ...) t a10, PARAMETERS_9(__VA_ARGS__)
#define PARAMETERS_11(t, ...) t a11, PARAMETERS_10(__VA_ARGS__)
#define PARAMETERS_12(t, ...) t a12, PARAMETERS_11(__VA_ARGS__)
#define PARAMETERS_13(t, ...) t a13, PARAMETERS_12(__VA_ARGS__)
#define PARAMETERS_14(t, ...) t a14, PARAMETERS_13(__VA_ARGS__)
#define ARGUMENTS_0
#define ARGUMENTS_1 , a1
#define ARGUMENTS_2 , a2 ARGUMENTS_1
#define ARGUMENTS_3 , a3 ARGUMENTS_2
#define ARGUMENTS_4 , a4 ARGUMENTS_3
#define ARGUMENTS_5 , a5 ARGUMENTS_4
#define ARGUMENTS_6 , a6 ARGUMENTS_5
#define ARGUMENTS_7 , a7 ARGUMENTS_6
#define ARGUMENTS_8 , a8 ARGUMENTS_7
#define ARGUMENTS_9 , a9 ARGUMENTS_8
#define ARGUMENTS_10 , a10 ARGUMENTS_9
#define ARGUMENTS_11 , a11 ARGUMENTS_10
#define ARGUMENTS_12 , a12 ARGUMENTS_11
#define ARGUMENTS_13 , a13 ARGUMENTS_12
#define ARGUMENTS_14 , a14 ARGUMENTS_13
#define COUNT_(n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11, n12, n13, n14, n, ...) n
#define COUNT(...)                                                                                 \
    COUNT_(__VA_ARGS__ __VA_OPT__(, ) 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define CONCATENATE_(a, b) a##b
#define CONCATENATE(a, b) CONCATENATE_(a, b)

#define ROW(call_class, per_thread, name, ...)                                                     \
    INTERPOSER(Error, name, CONCATENATE(PARAMETERS_, COUNT(__VA_ARGS__))(__VA_ARGS__)) {           \
        NEXT(hip, name);                                                                           \
        return interpose<CallClass::call_class, per_thread>(                                       \
            next, __builtin_return_address(0) CONCATENATE(ARGUMENTS_, COUNT(__VA_ARGS__)));        \
    }
#define HIP_CALL(call_class, name, ...) ROW(call_class, false, name __VA_OPT__(, ) __VA_ARGS__)
#define HIP_CALL_SPT(call_class, name, ...) ROW(call_class, true, name __VA_OPT__(, ) __VA_ARGS__)

using namespace xpreempt::hook;

#include "hook/hip_calls.def"
