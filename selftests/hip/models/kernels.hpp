// SPDX-License-Identifier: MIT
// The kernels of the models. Tensors are matrices of floats, by rows, whose values are integers.
#pragma once

#include "integers.hpp"

namespace models::kernels {

constexpr unsigned lanes = 64;

__device__ inline int index() {
    return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}
__device__ inline int integer(float value) {
    return static_cast<int>(value);
}

struct Matrix {
    int rows, columns;
};

// y = weights * x: an output a lane.
__global__ void multiply(const float* weights, const float* x, float* y, Matrix size, int depth) {
    const int i = index();
    if (i >= size.rows * size.columns)
        return;
    const float* const row = weights + i / size.columns * depth;
    const int column = i % size.columns;
    float sum = 0;
    for (int k = 0; k < depth; ++k)
        sum = fmaf(row[k], x[k * size.columns + column], sum);
    y[i] = sum;
}

struct Window {
    Shape from, to;
    int kernel, stride;

    // The column of x at a place of the window of a column of y, or -1 beside the image.
    [[nodiscard]] __device__ int column(int column, int place) const {
        const int pad = (kernel - 1) / 2;
        const int y = column / to.width % to.height * stride - pad + place / kernel;
        const int x = column % to.width * stride - pad + place % kernel;
        if (y < 0 || y >= from.height || x < 0 || x >= from.width)
            return -1;
        return (column / (to.height * to.width) * from.height + y) * from.width + x;
    }
    [[nodiscard]] __device__ int from_columns() const {
        return from.batch * from.height * from.width;
    }
    [[nodiscard]] __device__ int to_columns() const { return to.batch * to.height * to.width; }
};

// A row for each channel and place of the window, so that a product with it is a convolution.
__global__ void unfold(const float* x, float* y, Window window, int count) {
    const int i = index();
    if (i >= count)
        return;
    const int row = i / window.to_columns();
    const int places = window.kernel * window.kernel;
    const int column = window.column(i % window.to_columns(), row % places);
    y[i] = column < 0 ? 0.0f : x[row / places * window.from_columns() + column];
}

__global__ void depthwise(const float* weights, const float* x, float* y, Window window,
                          int count) {
    const int i = index();
    if (i >= count)
        return;
    const int channel = i / window.to_columns();
    const int places = window.kernel * window.kernel;
    float sum = 0;
    for (int place = 0; place < places; ++place) {
        const int column = window.column(i % window.to_columns(), place);
        if (column >= 0)
            sum = fmaf(weights[channel * places + place],
                       x[channel * window.from_columns() + column], sum);
    }
    y[i] = sum;
}

__global__ void max_pool(const float* x, float* y, Window window, int count) {
    const int i = index();
    if (i >= count)
        return;
    const int channel = i / window.to_columns();
    float greatest = -most;
    for (int place = 0; place < window.kernel * window.kernel; ++place) {
        const int column = window.column(i % window.to_columns(), place);
        if (column >= 0)
            greatest = fmaxf(greatest, x[channel * window.from_columns() + column]);
    }
    y[i] = greatest;
}

__global__ void norm(const float* weights, const float* x, float* y, Matrix size, int addends) {
    const int i = index();
    if (i >= size.rows * size.columns)
        return;
    const int row = i / size.columns;
    y[i] = static_cast<float>(normed(integer(x[i]), scale_of(integer(weights[row])),
                                     integer(weights[size.rows + row]), addends));
}

__global__ void relu(const float* x, float* y, int count) {
    const int i = index();
    if (i < count)
        y[i] = fmaxf(x[i], 0.0f);
}

__global__ void add(const float* x, const float* other, float* y, int count) {
    const int i = index();
    if (i < count)
        y[i] = static_cast<float>(clamped(integer(x[i] + other[i]), -most, most));
}

__global__ void average_pool(const float* x, float* y, int pixels, int count) {
    const int i = index();
    if (i >= count)
        return;
    float sum = 0;
    for (int pixel = 0; pixel < pixels; ++pixel)
        sum += x[i * pixels + pixel];
    y[i] = static_cast<float>(divided(integer(sum), pixels));
}

// The sum over the lanes of a workgroup, in each of them.
__device__ inline int sum_of_lanes(int value, int* shared) {
    shared[threadIdx.x] = value;
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
        __syncthreads();
        if (threadIdx.x < distance)
            shared[threadIdx.x] += shared[threadIdx.x + distance];
    }
    __syncthreads();
    const int sum = shared[0];
    __syncthreads();
    return sum;
}

// A workgroup for each column.
__global__ void layer_norm(const float* x, float* y, Matrix size) {
    __shared__ int shared[lanes];
    const int column = static_cast<int>(blockIdx.x);
    const int first = static_cast<int>(threadIdx.x);
    int sum = 0;
    for (int row = first; row < size.rows; row += static_cast<int>(lanes))
        sum += integer(x[row * size.columns + column]);
    const int mean = divided(sum_of_lanes(sum, shared), size.rows);
    int deviations = 0;
    for (int row = first; row < size.rows; row += static_cast<int>(lanes))
        deviations += abs(integer(x[row * size.columns + column]) - mean);
    const int deviation = sum_of_lanes(deviations, shared) / size.rows + 1;
    for (int row = first; row < size.rows; row += static_cast<int>(lanes))
        y[row * size.columns + column] = static_cast<float>(
            layer_normed(integer(x[row * size.columns + column]), mean, deviation));
}

__global__ void embedding(const float* table, const float* tokens, float* y, Matrix size) {
    const int i = index();
    if (i < size.rows * size.columns)
        y[i] = table[integer(tokens[i % size.columns]) * size.rows + i / size.columns];
}

struct Heads {
    int size; // features of a head
    int tokens;
    int columns;
    bool causal;
};

// A workgroup for each column and head, a lane for each token of its sequence.
__global__ void attention(const float* query, const float* key, const float* value, float* y,
                          Heads heads) {
    __shared__ int shared[lanes];
    __shared__ int weights[lanes];
    const int column = static_cast<int>(blockIdx.x);
    const int head = static_cast<int>(blockIdx.y) * heads.size;
    const int lane = static_cast<int>(threadIdx.x);
    const int first = column / heads.tokens * heads.tokens;
    const int seen = heads.causal ? column - first + 1 : heads.tokens;
    float score = 0;
    if (lane < seen)
        for (int i = head; i < head + heads.size; ++i)
            score = fmaf(query[i * heads.columns + column], key[i * heads.columns + first + lane],
                         score);
    const int shifted = lane < seen ? integer(score) >> bits_of(heads.size) : -(1 << 20);
    int greatest = shifted;
    for (int distance = static_cast<int>(lanes) / 2; distance > 0; distance /= 2)
        greatest = max(greatest, __shfl_xor(greatest, distance, static_cast<int>(lanes)));
    weights[lane] = lane < seen ? softmax_weight(shifted, greatest) : 0;
    const int all = sum_of_lanes(weights[lane], shared);
    if (lane >= heads.size)
        return;
    int sum = 0;
    for (int other = 0; other < seen; ++other)
        sum += weights[other] * integer(value[(head + lane) * heads.columns + first + other]);
    y[(head + lane) * heads.columns + column] = static_cast<float>(divided(sum, all));
}

struct Step {
    int width, batch, tokens, token;
    int bits;
};

// One token of each sequence: gates has a column for each token, state one for each sequence.
__global__ void lstm_cell(const float* gates, const float* recurrent, float* cells, float* hidden,
                          float* y, Step step) {
    const int i = index();
    if (i >= step.width * step.batch)
        return;
    const int sequence = i % step.batch;
    const int columns = step.batch * step.tokens;
    const int column = sequence * step.tokens + step.token;
    int sum[4];
    for (int gate = 0; gate < 4; ++gate) {
        const int row = gate * step.width + i / step.batch;
        sum[gate] = integer(gates[row * columns + column] + recurrent[row * step.batch + sequence]);
    }
    const Cell next = stepped(sum[0], sum[1], sum[2], sum[3], integer(cells[i]), step.bits);
    cells[i] = static_cast<float>(next.cell);
    hidden[i] = static_cast<float>(next.hidden);
    y[i / step.batch * columns + column] = static_cast<float>(next.hidden);
}

// The fold of a layer's result. One workgroup.
__global__ void fold(const float* values, int count, unsigned long long* word) {
    __shared__ unsigned long long shared[lanes];
    unsigned long long sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(lanes))
        sum += folded(i, __float_as_uint(values[i]));
    shared[threadIdx.x] = sum;
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
        __syncthreads();
        if (threadIdx.x < distance)
            shared[threadIdx.x] += shared[threadIdx.x + distance];
    }
    if (threadIdx.x == 0)
        *word = shared[0];
}

// Acts as a defect that changes one number.
__global__ void spoil(float* values) {
    values[0] += 1;
}

} // namespace models::kernels
