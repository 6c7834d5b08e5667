// SPDX-License-Identifier: MIT
// rocSPARSE: a sparse matrix in rows times a vector, in small integers, so that it is exact.
#include "status.hpp"

#include <rocsparse/rocsparse.h>

namespace {

constexpr rocsparse_int rows = 3000;
constexpr rocsparse_int columns = 1000;

struct Matrix {
    std::vector<rocsparse_int> begins{0};
    std::vector<rocsparse_int> places;
    std::vector<float> values;
};

// Rows of very different lengths: from none to some hundreds.
Matrix matrix() {
    Matrix made;
    for (rocsparse_int row = 0; row < rows; ++row) {
        const std::uint32_t bits = test::scramble(static_cast<std::uint32_t>(row));
        const auto step = static_cast<rocsparse_int>(1 + (bits >> 8) % (row % 10 == 0 ? 8 : 400));
        for (auto column = static_cast<rocsparse_int>(bits % 1500); column < columns;
             column += step) {
            made.places.push_back(column);
            made.values.push_back(
                static_cast<float>((static_cast<int>(bits >> 4) + column) % 9 - 4));
        }
        made.begins.push_back(static_cast<rocsparse_int>(made.places.size()));
    }
    return made;
}

std::vector<float> expected(const Matrix& matrix, const std::vector<float>& vector) {
    std::vector<float> product(rows, 0.0f);
    for (std::size_t row = 0; row < rows; ++row)
        for (auto i = static_cast<std::size_t>(matrix.begins[row]);
             i < static_cast<std::size_t>(matrix.begins[row + 1]); ++i)
            product[row] += matrix.values[i] * vector[static_cast<std::size_t>(matrix.places[i])];
    return product;
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("sparse", argc, argv, 3);
    const Matrix a = matrix();
    std::vector<float> x(columns);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(test::scramble(static_cast<std::uint32_t>(i)) % 15) - 7.0f;
    const std::vector<float> want = expected(a, x);

    rocsparse_handle handle = nullptr;
    rocsparse_mat_descr description = nullptr;
    rocsparse_mat_info info = nullptr;
    MUST(rocsparse_create_handle(&handle));
    MUST(rocsparse_create_mat_descr(&description));
    MUST(rocsparse_create_mat_info(&info));
    const test::DeviceArray<rocsparse_int> begins(a.begins);
    const test::DeviceArray<rocsparse_int> places(a.places);
    const test::DeviceArray<float> values(a.values);
    const test::DeviceArray<float> vector(x);
    test::DeviceArray<float> product(rows);
    const auto entries = static_cast<rocsparse_int>(a.values.size());
    MUST(rocsparse_scsrmv_analysis(handle, rocsparse_operation_none, rows, columns, entries,
                                   description, values.get(), begins.get(), places.get(), info));
    test::Digest digest;
    digest.add(want);
    const float one = 1;
    const float zero = 0;
    while (rounds.next()) {
        for (rocsparse_mat_info analysed : {info, rocsparse_mat_info{nullptr}}) {
            product.clear();
            MUST(rocsparse_scsrmv(handle, rocsparse_operation_none, rows, columns, entries, &one,
                                  description, values.get(), begins.get(), places.get(), analysed,
                                  vector.get(), &zero, product.get()));
            HIP_MUST(hipDeviceSynchronize());
            test::must_equal("element of the product", product.to_host(), want);
        }
    }
    MUST(rocsparse_destroy_mat_info(info));
    MUST(rocsparse_destroy_mat_descr(description));
    MUST(rocsparse_destroy_handle(handle));
    return test::passed(rounds, digest, "3000 rows of up to 1000 entries");
}
