// SPDX-License-Identifier: MIT
// Eight models as PyTorch runs them: eager kernels in the default stream, shortcuts and copies in
// side streams, memory of a caching allocator. The result of each layer is compared with the CPU's.
#include "models/every_model.hpp"

int main(int argc, char** argv) {
    models::OwnProducts products;
    return models::run_every_model("models", argc, argv, products);
}
