// SPDX-License-Identifier: MIT
// The eight models with the products of rocBLAS, as PyTorch's linear layers and its convolutions
// that unfold have them.
#include "../models/every_model.hpp"
#include "integers.hpp"

namespace {

class RocblasProducts : public models::Products {
public:
    // rocBLAS' matrices are by columns, so ours are transposed: y' = x' * weights'.
    void multiply(hipStream_t stream, const float* weights, const float* x, float* y,
                  models::kernels::Matrix size, int depth) override {
        const float one = 1;
        const float zero = 0;
        ROCBLAS_MUST(rocblas_set_stream(handle_.get(), stream));
        ROCBLAS_MUST(rocblas_sgemm(handle_.get(), rocblas_operation_none, rocblas_operation_none,
                                   size.columns, size.rows, depth, &one, x, size.columns, weights,
                                   depth, &zero, y, size.columns));
    }

private:
    test::Handle handle_;
};

} // namespace

int main(int argc, char** argv) {
    RocblasProducts products;
    return models::run_every_model("models_rocblas", argc, argv, products);
}
