// SPDX-License-Identifier: MIT
// As old_glibc.cpp, for the start of a program: the newest version of __libc_start_main (2.34) runs
// the constructors that it finds in the program, older ones call the function that they are given.
// The start code of a new C library gives none.

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): names for --wrap

extern "C" {
using Function = void(int, char**, char**);
using Main = int(int, char**, char**);

void _init(); // of the start code
extern Function* const __init_array_start[] __attribute__((visibility("hidden")));
extern Function* const __init_array_end[] __attribute__((visibility("hidden")));

int old_start_main(Main* main, int argc, char** argv, Function* init, void (*fini)(),
                   void (*end_of_loader)(), void* stack_end);
__asm__(".symver old_start_main, __libc_start_main@GLIBC_2.2.5");

static void construct(int argc, char** argv, char** environment) {
    _init();
    for (Function* const* each = __init_array_start; each != __init_array_end; ++each)
        (*each)(argc, argv, environment);
}

// The loader runs the destructors, in all versions.
__attribute__((visibility("hidden"))) int
__wrap___libc_start_main(Main* main, int argc, char** argv, Function* /*init*/, void (*fini)(),
                         void (*end_of_loader)(), void* stack_end) {
    return old_start_main(main, argc, argv, construct, fini, end_of_loader, stack_end);
}
}

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
