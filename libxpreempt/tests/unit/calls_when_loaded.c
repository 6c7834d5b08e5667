// SPDX-License-Identifier: MIT
// A library with a constructor, which calls the program.
void called_when_loaded(void);

__attribute__((constructor)) static void call(void) {
    called_when_loaded();
}
